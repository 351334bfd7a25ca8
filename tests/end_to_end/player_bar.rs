//! The bar of the player: what is dragged on it and what is dragged across it, what its button does to a session that goes
//! on, and how often it tells where it stands.

use serde_json::{Value, json};

use crate::made_logs::log_of;
use crate::stage::{Stage, on_stage};
use crate::{FEED, SHORT};

/// Where the thumb stands, of how much, and what the bar says.
const BAR: &str = "(() => {
    const told = (name) => Number(__test.one('.strip')?.getAttribute(name) ?? -1);
    return {
        now: told('aria-valuenow'),
        most: told('aria-valuemax'),
        play: __test.one('.transport__play')?.ariaLabel ?? '',
        behind: __test.one('.transport__behind')?.textContent ?? '',
    };
})()";

async fn bar(stage: &Stage) -> Value {
    stage.rest().await;
    stage.tab.eval(BAR).await
}

/// Gives the first lines as a session that goes on, and opens its bar.
async fn open_bar(stage: &Stage, lines: &[&str]) {
    stage.append(&(lines.join("\n") + "\n")).await;
    let rewind = "__test.visible('#rewind')";
    stage.tab.wait_for("the button", SHORT, rewind).await;
    stage.tab.click(rewind).await;
    let strip =
        "!!__test.one('.strip') && __test.one('.strip') === __test.feed().shadowRoot.activeElement";
    stage.tab.wait_for("the strip", SHORT, strip).await;
}

#[test]
fn what_is_dragged_across_the_strip_seeks_nothing() {
    let files = vec![("/log.jsonl", log_of("dragged", 60))];
    on_stage("bar_dragged", FEED, files, async |stage| {
        stage.show("/log.jsonl").await;
        let before = bar(&stage).await;
        let n_rows: usize = stage.tab.eval("__test.feed().rowCount").await;
        // Its first letters: the middle of a row may lie between two lines, and behind the end of the last.
        let text = "(() => {
            const seen = __test.feed().scroller.getBoundingClientRect();
            const row = __test.all('.assistant-text').find((row) => { const box = row.getBoundingClientRect(); return box.top >= seen.top && box.bottom <= seen.bottom; });
            const letters = document.createRange();
            const node = document.createTreeWalker(row, NodeFilter.SHOW_TEXT).nextNode();
            letters.setStart(node, 0);
            letters.setEnd(node, 10);
            return letters;
        })()";
        stage.tab.drag(text, "__test.one('.strip')").await;
        assert_eq!(bar(&stage).await, before, "nobody looks back");
        assert_eq!(
            stage.tab.eval::<usize>("__test.feed().rowCount").await,
            n_rows
        );
        let selected = "__test.feed().shadowRoot.getSelection().toString()";
        assert_ne!(stage.tab.eval::<String>(selected).await, "");
        // What begins on it does, wherever it ends.
        stage.tab.drag("__test.one('.strip')", text).await;
        let dragged = bar(&stage).await;
        assert!(
            dragged["now"].as_u64() < before["now"].as_u64(),
            "{dragged}"
        );
    });
}

#[test]
fn the_word_loop_goes_later_than_the_count_of_events() {
    let files = vec![("/log.jsonl", log_of("words", 60))];
    on_stage("bar_words", FEED, files, async |stage| {
        stage.show("/log.jsonl").await;
        // Whether the word has room, whether the count is there, and whether the row is as wide as what is in it.
        let looks = "(() => { const row = __test.one('.transport__row'), words = __test.all('.transport__toggle > .transport__word'); return [words.at(-1).getBoundingClientRect().width > 8, __test.one('.transport__count').checkVisibility(), row.scrollWidth <= row.clientWidth]; })()";
        for (width_px, has_word) in [(1_150, true), (1_010, true), (890, false)] {
            stage.tab.look(false, (width_px, 700)).await;
            stage.rest().await;
            let told: (bool, bool, bool) = stage.tab.eval(looks).await;
            assert_eq!(told, (has_word, false, true), "{width_px} px wide");
        }
        // A long name gives way, and no button does.
        stage
            .tab
            .run("__test.one('.transport__chapter-title').textContent = 'Words of a prompt '.repeat(20)")
            .await;
        let narrow = "__test.all('.transport__row .icon-button').filter((it) => it.checkVisibility() && it.getBoundingClientRect().width < 24).map((it) => it.ariaLabel)";
        for width_px in [1_150, 1_110, 1_010] {
            stage.tab.look(false, (width_px, 700)).await;
            stage.rest().await;
            let narrow: Vec<String> = stage.tab.eval(narrow).await;
            assert_eq!(narrow, [""; 0], "{width_px} px wide");
        }
    });
}

#[test]
fn the_newest_of_a_session_is_paused_and_played_on_from_there() {
    let log = log_of("newest", 60);
    on_stage("bar_newest", FEED, Vec::new(), async |stage| {
        let lines: Vec<&str> = log.lines().collect();
        open_bar(&stage, &lines[..30]).await;
        let told = |now: usize, play: &str, behind: &str| json!({"now": now, "most": now, "play": play, "behind": behind});
        assert_eq!(bar(&stage).await, told(30, "Pause", ""));
        stage.tab.press("k").await;
        let paused = told(30, "Play", "Paused at the newest");
        assert_eq!(bar(&stage).await, paused);
        stage.tab.press("k").await;
        assert_eq!(bar(&stage).await, told(30, "Pause", "At the newest"));
        stage.tab.run("__test.feed().playbackRate = 10").await;
        stage.append(&(lines[30..40].join("\n") + "\n")).await;
        let played = format!("({BAR}).now === 40 && ({BAR}).behind === 'At the newest'");
        stage.tab.wait_for("what came", SHORT, &played).await;
        stage.tab.press("L").await;
        let gone = "!__test.one('.strip')";
        stage.tab.wait_for("the bar to be gone", SHORT, gone).await;
    });
}

#[test]
fn what_comes_is_told_once_a_second_and_what_the_reader_does_at_once() {
    let log = log_of("told", 200);
    on_stage("bar_told", FEED, Vec::new(), async |stage| {
        let lines: Vec<&str> = log.lines().take(200).collect();
        open_bar(&stage, &lines[..60]).await;
        stage.rest().await;
        let (n_changes, took_s): (f64, f64) = stage
            .tab
            .eval(&format!(
                "(async () => {{
                    let changes = 0;
                    const watched = new MutationObserver((list) => {{ changes += list.length; }});
                    watched.observe(__test.one('.strip'), {{ attributeFilter: ['aria-valuenow', 'aria-valuetext'] }});
                    const from = performance.now();
                    for (const line of {}) {{ __test.feed().append(line + '\\n'); await __test.frame(); }}
                    return [changes, (performance.now() - from) / 1000];
                }})()",
                json!(lines[60..])
            ))
            .await;
        assert!(
            n_changes <= 2.0 * (took_s + 2.0),
            "{n_changes} in {took_s} s"
        );
        // What came last is told, too.
        let all = format!("({BAR}).now === 200 && ({BAR}).most === 200");
        stage.tab.wait_for("all of it", SHORT, &all).await;
        stage.tab.press("ArrowLeft").await;
        stage.tab.run("await __test.frames(4)").await;
        let back: Value = stage.tab.eval(BAR).await;
        assert!(back["now"].as_u64() < Some(200), "{back}");
    });
}

#[test]
fn a_page_s_own_button_pauses_what_follows_and_plays_it_on() {
    let log = log_of("own button", 60);
    on_stage("bar_own", FEED, Vec::new(), async |stage| {
        let tab = &stage.tab;
        let lines: Vec<&str> = log.lines().collect();
        open_bar(&stage, &lines[..30]).await;
        stage.rest().await;
        tab.run("window.told = []; for (const name of ['play', 'pause', 'ended']) __test.feed().addEventListener(name, () => told.push(name)); window.own = async () => { const feed = __test.feed(); feed.paused ? await feed.play() : feed.pause(); await __test.frames(3); return [feed.paused, feed.ended]; }")
            .await;
        for stands in [[true, false], [false, false]] {
            assert_eq!(tab.eval::<[bool; 2]>("own()").await, stands);
        }
        let told: Value = tab.eval("told").await;
        assert_eq!(told, json!(["pause", "play"]));
        // Who reads farther up stays there.
        tab.run("__test.feed().returnToLive(); await __test.rest()")
            .await;
        tab.wheel((500.0, 300.0), -400.0).await;
        stage.rest().await;
        let top = "__test.feed().scroller.scrollTop";
        let before: f64 = tab.eval(top).await;
        tab.run("await __test.feed().play(); await __test.rest()")
            .await;
        let after: f64 = tab.eval(top).await;
        assert!((after - before).abs() < 1.0, "{before} {after}");
    });
}

#[test]
fn what_plays_is_told_where_it_waits_for_what_comes() {
    let log = log_of("waits", 60);
    on_stage("bar_waits", FEED, Vec::new(), async |stage| {
        let lines: Vec<&str> = log.lines().collect();
        open_bar(&stage, &lines[..30]).await;
        // Within a second of what was told last.
        stage
            .tab
            .run("const feed = __test.feed(); feed.seek(feed.duration - 2); feed.playbackRate = 10; await feed.play()")
            .await;
        let all = format!("({BAR}).now === 30 && ({BAR}).behind === 'At the newest'");
        stage.tab.wait_for("the newest", SHORT, &all).await;
    });
}

/// A log whose second half happened two days and some hours later.
fn over_days() -> (String, [i64; 2]) {
    const LATER_MS: i64 = (2 * 24 + 3) * 3_600_000;
    let mut times = [i64::MAX, i64::MIN];
    let lines = log_of("days", 60);
    let lines = lines.lines().enumerate().map(|(nth, line)| {
        let mut event: Value = serde_json::from_str(line).expect("an event");
        let at_ms = event["timestamp"].as_i64().expect("a time");
        let at_ms = at_ms + if nth < 30 { 0 } else { LATER_MS };
        times = [times[0].min(at_ms), times[1].max(at_ms)];
        event["timestamp"] = json!(at_ms);
        event.to_string() + "\n"
    });
    let log = lines.collect();
    (log, times)
}

#[test]
fn a_session_of_several_days_says_which_day_it_is() {
    let (log, times) = over_days();
    on_stage("bar_days", FEED, vec![("/log.jsonl", log)], async |stage| {
        let tab = &stage.tab;
        stage.show("/log.jsonl").await;
        let days: [String; 2] = tab
            .eval(&format!(
                "{times:?}.map((at) => new Intl.DateTimeFormat([], {{ day: 'numeric', month: 'short', year: 'numeric' }}).format(at))"
            ))
            .await;
        // The day of the moment, and whether the end says its own.
        let told = "[__test.one('.transport__day')?.textContent ?? '', __test.one('.transport__of').textContent]";
        let (day, of): (String, String) = tab.eval(told).await;
        assert_eq!(day, days[1]);
        assert!(!of.contains(&days[1]), "it is said once: {of}");
        tab.run("__test.feed().viewAsOf(3)").await;
        stage.rest().await;
        let (day, of): (String, String) = tab.eval(told).await;
        assert_eq!(day, days[0]);
        assert!(of.contains(&days[1]), "{of}");
        let heard: String = tab
            .eval("__test.one('.strip').getAttribute('aria-valuetext')")
            .await;
        assert!(heard.contains(&days[0]), "{heard}");
        // It has room wherever the time has: above it in a narrow feed.
        for width_px in [1_150, 760, 560, 380] {
            tab.look(false, (width_px, 700)).await;
            stage.rest().await;
            let fits = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(__test.one('.transport__row'))";
            assert!(tab.eval::<bool>(fits).await, "{width_px} px wide");
        }
        // Of what passed the days are counted.
        tab.run("__test.one('.transport__time').click()").await;
        let passed = "__test.one('.transport__of').textContent.startsWith(' / 2d 3:0')";
        tab.wait_for("the time that passed", SHORT, passed).await;
        assert!(!tab.eval::<bool>("!!__test.one('.transport__day')").await);
    });
}

#[test]
fn the_list_of_speeds_has_its_own_keys() {
    let files = vec![("/log.jsonl", log_of("speeds", 60))];
    on_stage("bar_speeds", FEED, files, async |stage| {
        stage.show("/log.jsonl").await;
        stage.tab.run("__test.feed().viewAsOf(20)").await;
        let before = bar(&stage).await;
        stage
            .tab
            .run("__test.one('.transport__speed').focus()")
            .await;
        for key in ["Home", "PageUp", "End"] {
            stage.tab.press(key).await;
            assert_eq!(bar(&stage).await["now"], before["now"], "{key}");
        }
    });
}

#[test]
fn what_is_said_of_a_place_is_put_away_until_the_pointer_is_at_another() {
    let files = vec![("/log.jsonl", log_of("put_away", 60))];
    on_stage("bar_put_away", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/log.jsonl").await;
        let point = |share: f64| {
            format!(
                "(() => {{
                    const strip = __test.one('.strip'), box = strip.getBoundingClientRect();
                    strip.dispatchEvent(new PointerEvent('pointermove', {{ clientX: box.left + box.width * {share}, clientY: box.top + 4, bubbles: true, composed: true }}));
                }})()"
            )
        };
        let is_said = "!!__test.one('.strip__hover')";
        tab.run("__test.feed().scroller.focus()").await;
        tab.run(&point(0.5)).await;
        tab.wait_for("what is said", SHORT, is_said).await;
        tab.press("Escape").await;
        let is_gone = format!("!({is_said})");
        tab.wait_for("it to be gone", SHORT, &is_gone).await;
        tab.run(&point(0.5)).await;
        tab.run("await __test.frames(2)").await;
        assert!(!tab.eval::<bool>(is_said).await, "the same place");
        tab.run(&point(0.25)).await;
        tab.wait_for("another place", SHORT, is_said).await;
    });
}
