//! What a script can do with a feed beyond showing a log: find, filter, step, open and close, copy links; and what it is
//! told while the reader does the same by hand.

use serde_json::{Value, json};

use crate::made_logs::{Writer, log_of};
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// With all that folds and groups.
const FOLDING_FEED: &str = "<agent-feed></agent-feed>";

/// Keeps what the feed tells.
pub(crate) async fn listen(stage: &Stage, names: &[&str]) {
    let names = json!(names);
    stage
        .tab
        .run(&format!(
            "window.told = []; for (const name of {names}) __test.feed().addEventListener(name, (event) => {{ window.told.push([name, event.detail ?? null]); if (name === 'af-link') event.preventDefault(); }})"
        ))
        .await;
}

pub(crate) async fn wait_for_told(stage: &Stage, name: &str) {
    let told = format!("window.told.some(([name]) => name === '{name}')");
    stage.tab.wait_for(name, SHORT, &told).await;
}

#[test]
fn a_script_finds_and_filters_in_all_of_the_session() {
    let mut writer = Writer::new("found");
    for number in 1..=60 {
        writer.turn(number);
        if number % 7 == 0 {
            let place = json!({"turnId": format!("q{number}")});
            writer.event(
                "user_message",
                &place,
                &json!({"text": format!("a quokka, number {number}")}),
            );
        }
    }
    let files = vec![("/log", writer.take())];
    on_stage("script_find", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        listen(&stage, &["af-filter"]).await;
        stage.tab.run("document.body.append(Object.assign(document.createElement('input'), { id: 'mine' })); document.querySelector('#mine').focus()").await;
        let n_found: usize = stage.tab.eval("__test.feed().search('quokka')").await;
        assert_eq!(n_found, 8);
        stage
            .tab
            .wait_for(
                "the bar to say so",
                SHORT,
                "__test.text(__test.one('.find__status')).includes('8 found')",
            )
            .await;
        let words: String = stage.tab.eval("__test.one('.find__field').value").await;
        assert_eq!(words, "quokka");
        let focus: String = stage.tab.eval("document.activeElement.id").await;
        assert_eq!(focus, "mine", "the focus stays where the page has it");
        let n_all: usize = stage.tab.eval("__test.feed().rowCount").await;
        let n_left: usize = stage.tab.eval("__test.feed().filter('quokka')").await;
        assert_eq!(n_left, 8);
        stage
            .tab
            .wait_for(
                "other rows to go",
                SHORT,
                &format!("__test.feed().rowCount < {n_all} / 4"),
            )
            .await;
        let told: Value = stage.tab.eval("window.told.at(-1)[1]").await;
        assert_eq!(told["hits"], 8, "{told}");
        assert_eq!(
            (&told["question"], &told["only"]),
            (&json!("quokka"), &json!("hits"))
        );
        let why: String = stage
            .tab
            .eval("__test.feed().search('/(/').catch((why) => why.message)")
            .await;
        assert!(why.starts_with("could not search: "), "{why}");
        let n_none: usize = stage.tab.eval("__test.feed().filter('')").await;
        assert_eq!(n_none, 0);
        let focus: String = stage.tab.eval("document.activeElement.id").await;
        assert_eq!(focus, "mine", "who asks for nothing stays in their field");
        stage
            .tab
            .wait_for(
                "all rows again",
                SHORT,
                &format!("__test.feed().rowCount === {n_all} && !__test.visible('.find__field')"),
            )
            .await;
    });
}

#[test]
fn a_script_opens_closes_links_and_gives_the_focus() {
    let files = vec![("/log", log_of("opened", 400))];
    on_stage("script_open", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        listen(&stage, &["af-link", "af-follow", "af-event"]).await;
        let folded: usize = stage.tab.eval("__test.feed().rowCount").await;
        stage.tab.run("await __test.feed().expandAll()").await;
        let unfolded: usize = stage.tab.eval("__test.feed().rowCount").await;
        assert!(unfolded > folded, "{folded} rows, then {unfolded}");
        stage.rest().await;
        let n_closed: usize = stage
            .tab
            .eval("__test.all('.row [aria-expanded=false].line').length")
            .await;
        assert_eq!(n_closed, 0);
        stage.tab.run("await __test.feed().collapseAll()").await;
        stage.rest().await;
        let n_rows: usize = stage.tab.eval("__test.feed().rowCount").await;
        assert_eq!(n_rows, folded);
        let n_open: usize = stage
            .tab
            .eval("__test.all('.row [aria-expanded=true].line').length")
            .await;
        assert_eq!(n_open, 0);
        // Thousands of rows take a while; what is asked for meanwhile ends what was asked for before.
        stage
            .tab
            .run("__test.feed().expandAll(); await __test.feed().collapseAll()")
            .await;
        stage.rest().await;
        let n_rows: usize = stage.tab.eval("__test.feed().rowCount").await;
        assert_eq!(n_rows, folded, "all is closed");
        let link: String = stage.tab.eval("__test.feed().copyLink('e9')").await;
        assert!(link.ends_with("#e=e9"), "{link}");
        let told: Value = stage
            .tab
            .eval("window.told.find(([name]) => name === 'af-link')[1]")
            .await;
        assert_eq!(
            (told["eventId"].as_str(), told["href"].as_str()),
            (Some("e9"), Some(link.as_str()))
        );
        let why: String = stage
            .tab
            .eval("__test.feed().copyLink('nobody').catch((why) => why.message)")
            .await;
        assert_eq!(why, "could not copy a link: no such event is here: nobody");
        stage.tab.run("await __test.feed().focusFeed()").await;
        let focused: bool = stage
            .tab
            .eval("__test.feed().shadowRoot.activeElement?.classList.contains('row')")
            .await;
        assert!(focused, "a row has the focus");
        stage
            .tab
            .run("__test.feed().setAttribute('follow', 'off'); await __test.frames(3); __test.feed().setAttribute('follow', '')")
            .await;
        wait_for_told(&stage, "af-follow").await;
    });
}

#[test]
fn a_script_steps_and_hears_of_playing_as_of_a_media_element() {
    let files = vec![("/log", log_of("played", 60))];
    on_stage("script_play", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        stage.tab.run("await __test.feed().focusFeed()").await;
        listen(
            &stage,
            &[
                "play",
                "pause",
                "seeked",
                "ratechange",
                "timeupdate",
                "ended",
            ],
        )
        .await;
        let end: f64 = stage.tab.eval("__test.feed().currentTime").await;
        stage.tab.run("__test.feed().step(-3)").await;
        let back: f64 = stage.tab.eval("__test.feed().currentTime").await;
        assert!(back < end, "{back} of {end}");
        wait_for_told(&stage, "seeked").await;
        stage.tab.run("__test.feed().step()").await;
        let on: f64 = stage.tab.eval("__test.feed().currentTime").await;
        assert!(back < on && on < end, "{back}, {on}, {end}");
        stage.tab.run("__test.feed().step(1000)").await;
        let last: f64 = stage.tab.eval("__test.feed().currentTime").await;
        assert!((last - end).abs() < 0.001, "{last} of {end}");
        // Several at once lead where they do one by one.
        for (at_once, by_one) in [(-7, -1), (4, 1)] {
            let leads = |to: &str| {
                format!(
                    "(() => {{ const feed = __test.feed(); feed.seek(30); {to}; return feed.currentTime; }})()"
                )
            };
            let there: f64 = stage
                .tab
                .eval(&leads(&format!("feed.step({at_once})")))
                .await;
            let one_by_one = format!(
                "for (let n = 0; n < {}; n += 1) feed.step({by_one})",
                at_once / by_one
            );
            let expected: f64 = stage.tab.eval(&leads(&one_by_one)).await;
            assert!(
                (there - expected).abs() < 0.001,
                "{at_once}: {there}, {expected}"
            );
        }
        stage.tab.run("__test.feed().step(-1000)").await;
        let first: f64 = stage.tab.eval("__test.feed().currentTime").await;
        assert!(first < 0.001, "{first}");
        stage
            .tab
            .run("const feed = __test.feed(); feed.seek(0); feed.playbackRate = 2; feed.play()")
            .await;
        for name in ["play", "ratechange", "timeupdate"] {
            wait_for_told(&stage, name).await;
        }
        stage.tab.run("__test.feed().pause()").await;
        wait_for_told(&stage, "pause").await;
        stage.tab.run("const feed = __test.feed(); feed.seek(feed.duration - 0.2); feed.playbackRate = 10; feed.play()").await;
        wait_for_told(&stage, "ended").await;
    });
}

#[test]
fn all_rows_can_be_asked_for_twice_at_once() {
    let files = vec![("/log", log_of("twice", 600))];
    on_stage("script_twice", FEED, files, async |stage| {
        stage.show("/log").await;
        let same: bool = stage
            .tab
            .eval(
                "(async () => {
                    const rows = () => __test.feed().serializeRows({ maskTimes: true });
                    const alone = await rows();
                    const both = await Promise.all([rows(), rows()]);
                    return alone.length > 10_000 && both.every((text) => text === alone);
                })()",
            )
            .await;
        assert!(same);
    });
}

/// A page that opens the next session when one has ended would pass over that which its reader asked for.
#[test]
fn a_log_that_is_taken_away_while_it_plays_has_not_ended() {
    let files = vec![
        ("/log", log_of("played", 60)),
        ("/other", log_of("other", 60)),
    ];
    on_stage("script_taken", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        listen(&stage, &["play", "pause", "ended"]).await;
        for take in ["feed.setAttribute('src', '/other')", "feed.clear()"] {
            stage
                .tab
                .run("window.told.length = 0; const feed = __test.feed(); feed.seek(0); await feed.play()")
                .await;
            wait_for_told(&stage, "play").await;
            stage
                .tab
                .run(&format!(
                    "const feed = __test.feed(); {take}; await __test.rest()"
                ))
                .await;
            wait_for_told(&stage, "pause").await;
            let told: String = stage.tab.eval("JSON.stringify(window.told)").await;
            assert!(!told.contains("ended"), "{take}: {told}");
        }
    });
}

#[test]
fn what_is_set_or_asked_later_counts_at_once() {
    let files = vec![("/log", log_of("later", 60))];
    on_stage("script_later", FOLDING_FEED, files, async |stage| {
        stage.show("/log").await;
        let player = "!!__test.visible('.transport')";
        stage.tab.wait_for("the player", SHORT, player).await;
        stage
            .tab
            .run("__test.feed().setAttribute('controls', 'none')")
            .await;
        let none = "!__test.one('.transport')";
        stage.tab.wait_for("no player", SHORT, none).await;
        stage
            .tab
            .run("__test.feed().removeAttribute('controls')")
            .await;
        stage.tab.wait_for("the player again", SHORT, player).await;
        // What a link could not find is said until one finds its event.
        let says = "__test.one('.note')?.textContent.includes('No row of this session')";
        stage.tab.run("__test.feed().goTo('nowhere')").await;
        stage.tab.wait_for("a word", SHORT, says).await;
        stage
            .tab
            .run("const feed = __test.feed(); feed.goTo(__test.rows().find((row) => row.dataset.eventId)?.dataset.eventId ?? 'e1')")
            .await;
        let gone = "!__test.one('.note')";
        stage.tab.wait_for("the word to go", SHORT, gone).await;
    });
}

#[test]
fn a_script_hears_of_markers_and_playing_pauses_on_each_where_it_is_told_to() {
    let files = vec![("/log", log_of("marked", 60))];
    on_stage("script_markers", FOLDING_FEED, files, async |stage| {
        stage
            .tab
            .run("__test.feed().setAttribute('pause-on-markers', '')")
            .await;
        stage.show("/log").await;
        stage.tab.run("await __test.feed().focusFeed()").await;
        listen(&stage, &["af-marker", "pause", "ended"]).await;
        stage
            .tab
            .run("const feed = __test.feed(); feed.seek(0); feed.playbackRate = 10; feed.play()")
            .await;
        wait_for_told(&stage, "pause").await;
        let told: Vec<(String, Value)> = stage.tab.eval("window.told").await;
        // What the turn begins with comes at once; what is behind it in time is the edit.
        let markers: Vec<&Value> = told
            .iter()
            .filter(|(name, _)| name == "af-marker")
            .map(|(_, detail)| detail)
            .collect();
        let last = markers.last().expect("a marker was passed");
        let stands_at: f64 = stage.tab.eval("__test.feed().currentTime").await;
        let (ids, n_told) = (last["eventId"].clone(), markers.len());
        assert!(ids.is_string() && stands_at > 0.0, "{markers:?}");
        // Without it playing goes on to the end, past the others.
        stage
            .tab
            .run("const feed = __test.feed(); feed.removeAttribute('pause-on-markers'); feed.playbackRate = 1000; feed.play()")
            .await;
        wait_for_told(&stage, "ended").await;
        let kinds: Vec<String> = stage
            .tab
            .eval("window.told.filter(([name]) => name === 'af-marker').map(([, detail]) => detail.kind)")
            .await;
        assert!(kinds.len() > n_told, "{kinds:?}");
        for kind in ["prompt", "edit"] {
            assert!(kinds.iter().any(|it| it == kind), "{kinds:?}");
        }
    });
}

#[test]
fn a_row_is_copied_as_it_is_and_an_answer_by_its_row_or_whole() {
    let mut writer = Writer::new("copies");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    writer.event(
        "user_message",
        &json!({"turnId": "t1"}),
        &json!({"text": "Do it"}),
    );
    let args = json!({"file_path": "a.rs"});
    let diff = "@@ -1,2 +1,2 @@\n \n-fn b() {}\n+fn c() {}\n";
    writer.event(
        "tool_call",
        &place,
        &json!({"toolCallId": "e", "toolName": "Edit", "kind": "edit", "args": args}),
    );
    writer.event("file_edit", &place, &json!({"toolCallId": "e", "filePath": "a.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiffAvailable": false, "fullDiffSize": diff.len()}));
    writer.event(
        "tool_result",
        &place,
        &json!({"toolCallId": "e", "result": "done"}),
    );
    let answer = "It is **done**.\n\n1. one\n2. two";
    let place = json!({"turnId": "t1", "responseId": "r2"});
    writer.event("assistant_done", &place, &json!({"text": answer}));
    let files = vec![("/log", writer.take())];
    on_stage("copies", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run("window.copied = ''; navigator.clipboard.writeText = async (text) => { copied = text; };")
            .await;
        stage.show("/log").await;
        let edit = format!("--- a/a.rs\n+++ b/a.rs\n{}", diff.trim_end());
        for (row, key, text) in [
            (".file-edit", "y", edit.as_str()),
            (".assistant-text", "y", "It is **done**."),
            (".assistant-text", "Y", answer),
        ] {
            tab.run(&format!("copied = ''; __test.one('{row}').focus()"))
                .await;
            tab.press(key).await;
            tab.wait_for("what is copied", SHORT, "copied !== ''").await;
            let copied: String = tab.eval("copied").await;
            assert_eq!(copied, text, "{row} {key}");
        }
        // A page that came over plain HTTP has no clipboard: the browser copies as by the keys.
        tab.run(
            "copied = ''; window.had = Object.getOwnPropertyDescriptor(Navigator.prototype, 'clipboard');
             Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined, configurable: true });
             const set = DataTransfer.prototype.setData;
             DataTransfer.prototype.setData = function (type, text) { copied = text; set.call(this, type, text); };",
        )
        .await;
        tab.press("Y").await;
        let copied = format!("copied === {}", json!(answer));
        tab.wait_for("the answer, by the other way", SHORT, &copied)
            .await;
        tab.run("Object.defineProperty(Navigator.prototype, 'clipboard', had)")
            .await;
        let whole = "__test.one('.row:focus .row-actions__answer')";
        let shown = format!("{whole}?.checkVisibility() === true");
        tab.wait_for("a button for it", SHORT, &shown).await;
        tab.run(&format!("copied = ''; {whole}.click()")).await;
        tab.wait_for(
            "the answer",
            SHORT,
            &format!("copied === {}", json!(answer)),
        )
        .await;
    });
}

#[test]
fn a_page_is_asked_to_open_the_file_of_a_row_and_else_its_path_is_copied() {
    let mut writer = Writer::new("files");
    writer.turn(1);
    let place = json!({"turnId": "t2"});
    writer.event("user_message", &place, &json!({"text": "no file here"}));
    let files = vec![("/log", writer.take())];
    on_stage("open_file", FEED, files, async |stage| {
        stage
            .tab
            .run(
                "__test.feed().setAttribute('opens-files', '');
                 window.asked = []; window.copied = []; window.takes = true;
                 __test.feed().addEventListener('af-open-file', (event) => {
                     asked.push(event.detail);
                     if (window.takes) event.preventDefault();
                 });
                 navigator.clipboard.writeText = async (text) => { copied.push(text); };",
            )
            .await;
        stage.show("/log").await;
        let edit = "__test.rows().find((row) => row.textContent.includes('+2'))";
        stage.tab.run(&format!("{edit}.focus()")).await;
        let file_button = "__test.one('.row:focus .row-actions__file')";
        let shown = format!("{file_button}?.checkVisibility() === true");
        stage.tab.wait_for("its buttons", SHORT, &shown).await;
        let name: String = stage.tab.eval(&format!("{file_button}.title")).await;
        assert_eq!(name, "Open file (o)");
        stage.tab.press("o").await;
        let asked: Value = stage.tab.eval("window.asked").await;
        assert_eq!(asked[0]["path"], "src/part_1.rs");
        assert_eq!(asked[0]["line"], 2, "the first line that changed");
        // Nobody takes it: what can be done is to copy the path.
        stage.tab.run("window.takes = false").await;
        stage.tab.run(&format!("{file_button}.click()")).await;
        let told: (usize, Vec<String>) = stage.tab.eval("[asked.length, copied]").await;
        assert_eq!(told, (2, vec!["src/part_1.rs".to_owned()]));
        // A page may say later that it opens none.
        stage
            .tab
            .run(&format!("__test.feed().removeAttribute('opens-files'); __test.one('.row:not(:focus)').focus(); {edit}.focus()"))
            .await;
        let says_so = format!("{file_button}.title === 'Copy path (o)'");
        stage.tab.wait_for("another name", SHORT, &says_so).await;
        // A row about no file has no such button, and the key does nothing.
        stage
            .tab
            .run("__test.rows().find((row) => row.textContent.includes('no file here')).focus()")
            .await;
        let hidden = "__test.one('.row:focus .row-actions__file')?.checkVisibility() === false";
        stage.tab.wait_for("its other buttons", SHORT, hidden).await;
        stage.tab.press("o").await;
        let n_asked: usize = stage.tab.eval("asked.length").await;
        assert_eq!(n_asked, 2);
        stage.assert_no_request_out();
    });
}

#[test]
fn a_script_sets_and_reads_properties_and_gives_events_as_a_stream() {
    let files = vec![("/log", log_of("read", 60))];
    on_stage("script_properties", FOLDING_FEED, files, async |stage| {
        stage
            .tab
            .run("window.early = __test.feed().ready.then(() => __test.feed().rowCount); __test.feed().src = '/log'")
            .await;
        let n_rows: usize = stage.tab.eval("window.early").await;
        assert!(n_rows > 0, "what is promised is there");
        let read: Value = stage
            .tab
            .eval("(({ src, state, startAt, autoplay, follow }) => [src, state, startAt, autoplay, follow])(__test.feed())")
            .await;
        assert_eq!(read, json!(["/log", "ready", "", false, ""]));
        let is = |state: &str| format!("__test.feed().matches(':state({state})')");
        for state in ["replay", "following"] {
            stage.tab.wait_for(state, SHORT, &is(state)).await;
        }
        stage
            .tab
            .run("const feed = __test.feed(); feed.autoplay = true; feed.diffView = 'split'; feed.loop = false; feed.theme = null")
            .await;
        let written: Value = stage
            .tab
            .eval("['autoplay', 'diff-view', 'loop', 'theme'].map((name) => __test.feed().getAttribute(name))")
            .await;
        assert_eq!(written, json!(["", "split", null, null]));
        assert!(stage.tab.eval::<bool>("__test.feed().ended").await);
        stage.tab.run("__test.feed().step(-3)").await;
        assert!(!stage.tab.eval::<bool>("__test.feed().ended").await);
        let n_events: usize = stage.tab.eval("__test.feed().eventCount").await;
        stage
            .tab
            .run("__test.feed().events = (await fetch('/log')).body")
            .await;
        let all = format!(
            "__test.feed().eventCount === {n_events} && __test.feed().state === 'live' && {}",
            is("live")
        );
        stage.tab.wait_for("all of the stream", SHORT, &all).await;
        // Another one ends it; pieces of text may break anywhere.
        stage
            .tab
            .run("const text = await (await fetch('/log')).text();
                  async function* pieces() { for (let at = 0; at < text.length; at += 1000) yield text.slice(at, at + 1000); }
                  __test.feed().events = new ReadableStream({ pull: () => new Promise(() => {}) });
                  __test.feed().events = pieces();")
            .await;
        stage.tab.wait_for("all pieces", SHORT, &all).await;
        stage
            .tab
            .run("__test.feed().events = (await (await fetch('/log')).text()).trim().split('\\n').map((line) => JSON.parse(line))")
            .await;
        stage.tab.wait_for("all events", SHORT, &all).await;
        stage.tab.run("__test.feed().src = '/nothing'").await;
        stage.tab.wait_for("the failure", SHORT, &is("error")).await;
    });
}

#[test]
fn a_stream_that_breaks_off_is_told_and_what_came_stays() {
    let line = log_of("stream", 1)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    on_stage("script_stream", FEED, Vec::new(), async |stage| {
        listen(&stage, &["af-error"]).await;
        let give = format!(
            "__test.feed().events = (async function* () {{ yield {}; throw new Error('the cable is out'); }})()",
            json!(format!("{line}\n"))
        );
        stage.tab.run(&give).await;
        wait_for_told(&stage, "af-error").await;
        let told: Value = stage.tab.eval("window.told[0][1].message").await;
        assert_eq!(told, "the stream broke off: the cable is out");
        let kept: usize = stage.tab.eval("__test.feed().eventCount").await;
        assert_eq!(kept, 1);
        let state: String = stage.tab.eval("__test.feed().state").await;
        assert_eq!(state, "error");
    });
}
