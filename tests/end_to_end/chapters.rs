//! Chapters, the poster, and the way back while a session goes on: by pointer and by keys, with names for those who listen.

use serde_json::{Value, json};

use crate::SHORT;
use crate::made_logs::Writer;
use crate::stage::{Stage, on_stage};

const FEED: &str = "<agent-feed></agent-feed>";

/// Three prompts, each with an answer; one of them would be markup.
fn three_prompts() -> String {
    let mut writer = Writer::new("chapters");
    writer.event(
        "session_start",
        &json!({}),
        &json!({"title": "Three prompts"}),
    );
    let prompts = [
        "Count the files",
        "<b>Second</b> thoughts",
        "Write them down",
    ];
    for (nth, prompt) in (1..).zip(prompts) {
        let turn = json!({"turnId": format!("t{nth}")});
        writer.event("turn_start", &turn, &json!({"trigger": "user"}));
        writer.event("user_message", &turn, &json!({"text": prompt}));
        writer.event(
            "assistant_done",
            &json!({"turnId": format!("t{nth}"), "responseId": format!("r{nth}")}),
            &json!({"text": format!("Answer number {nth}"), "part": 0}),
        );
        writer.event("turn_end", &turn, &json!({"outcome": "completed"}));
    }
    writer.take()
}

/// What is said of the chapter that is shown, and what the menu lists.
const CHAPTERS: &str = "(() => ({
    here: __test.one('#chapters-opener')?.textContent ?? '',
    listed: __test.all('#chapters-menu button').map((item) => item.textContent),
    current: __test.all('#chapters-menu [aria-current=true]').map((item) => item.textContent),
    covers: __test.one('#chapters-menu').getBoundingClientRect().bottom > __test.one('.transport').getBoundingClientRect().top,
}))()";

/// What stands over the rows, what is shown, and whether it stands still.
const POSTER: &str = "(() => ({
    poster: __test.one('.poster')?.textContent ?? '',
    now: Number(__test.one('.strip')?.getAttribute('aria-valuenow') ?? -1),
    most: Number(__test.one('.strip')?.getAttribute('aria-valuemax') ?? -1),
    paused: __test.feed().paused,
}))()";

async fn told(stage: &Stage, what: &str) -> Value {
    stage.rest().await;
    stage.tab.eval(what).await
}

#[test]
fn each_prompt_is_a_chapter_to_go_to() {
    let files = vec![("/three.jsonl", three_prompts())];
    on_stage("chapters", FEED, files, async |stage| {
        stage.show("/three.jsonl").await;
        let end = told(&stage, CHAPTERS).await;
        assert_eq!(end["here"], "Chapter 3 of 3: Write them down");
        stage.tab.click("__test.visible('#chapters-opener')").await;
        let open = told(&stage, CHAPTERS).await;
        let listed = open["listed"].as_array().expect("a list").clone();
        assert_eq!(listed.len(), 3, "{open}");
        assert!(
            listed[1]
                .as_str()
                .is_some_and(|text| text.contains("<b>Second</b> thoughts")),
            "{open}"
        );
        assert_eq!(open["current"], json!([listed[2]]));
        assert_eq!(open["covers"], false, "all of the player is still seen");
        stage
            .tab
            .click("__test.all('#chapters-menu button')[1]")
            .await;
        let second = told(&stage, CHAPTERS).await;
        assert_eq!(second["here"], "Chapter 2 of 3: <b>Second</b> thoughts");
        let shown: String = stage.tab.eval("__test.text(__test.feed())").await;
        assert!(
            shown.contains("Answer number 1") && !shown.contains("Answer number 2"),
            "{shown}"
        );
        // By keys: the menu opens, and its first chapter is the next stop of Tab.
        stage
            .tab
            .run("__test.one('#chapters-opener').focus()")
            .await;
        stage.tab.press("Enter").await;
        stage
            .tab
            .wait_for(
                "the menu",
                SHORT,
                "__test.one('#chapters-menu').matches(':popover-open')",
            )
            .await;
        stage.tab.press("Tab").await;
        stage.tab.press("Enter").await;
        let first = told(&stage, CHAPTERS).await;
        assert_eq!(first["here"], "Chapter 1 of 3: Count the files");
        // Arrows go from the chapter that is shown to others, and stay at the last.
        stage
            .tab
            .run("__test.one('#chapters-opener').focus()")
            .await;
        stage.tab.press("Enter").await;
        for key in [
            "ArrowDown",
            "ArrowDown",
            "ArrowDown",
            "ArrowDown",
            "ArrowUp",
        ] {
            stage.tab.press(key).await;
        }
        stage.tab.press("Enter").await;
        let second = told(&stage, CHAPTERS).await;
        assert_eq!(second["here"], "Chapter 2 of 3: <b>Second</b> thoughts");
        let is_back = "!!__test.one('#chapters-opener:focus')";
        assert!(stage.tab.eval::<bool>(is_back).await, "focus");
        stage.assert_no_request_out();
    });
}

#[test]
fn a_poster_stands_until_it_plays_or_is_read() {
    let log = three_prompts();
    let files = ["/three.jsonl", "/again.jsonl", "/third.jsonl"];
    let files = files.map(|path| (path, log.clone())).to_vec();
    on_stage("poster", FEED, files, async |stage| {
        stage
            .tab
            .run("__test.feed().setAttribute('poster', 'end')")
            .await;
        stage.show("/three.jsonl").await;
        let shown = told(&stage, POSTER).await;
        assert_eq!(shown["now"], shown["most"], "it shows the end");
        let words = shown["poster"].as_str().unwrap_or_default();
        assert!(
            words.contains("Three prompts") && words.contains("3 prompts"),
            "{shown}"
        );
        // Who came to read goes on from what is shown.
        stage.tab.run("__test.one('.poster__play').focus()").await;
        stage.tab.press("Escape").await;
        let read = told(&stage, POSTER).await;
        assert_eq!(read["poster"], "");
        wait_for_keys_in_rows(&stage).await;
        assert_eq!(
            (&read["now"], &read["paused"]),
            (&read["most"], &json!(true))
        );

        // A moment of its own, and the start it plays from.
        stage
            .tab
            .run("__test.feed().setAttribute('poster', 'npt:0:04')")
            .await;
        stage.show("/again.jsonl").await;
        let shown = told(&stage, POSTER).await;
        let (now, most) = (shown["now"].as_u64(), shown["most"].as_u64());
        assert!(now > Some(0) && now < most, "{shown}");
        stage
            .tab
            .run("__test.feed().playbackRate = 10; window.__least = Infinity; const look = () => { const now = Number(__test.one('.strip')?.getAttribute('aria-valuenow')); if (!__test.feed().paused) __least = Math.min(__least, now); requestAnimationFrame(look); }; look();")
            .await;
        stage.tab.click("__test.visible('.poster__play')").await;
        stage
            .tab
            .wait_for(
                "the end of playing",
                SHORT,
                &format!("__test.feed().paused && ({POSTER}).now === ({POSTER}).most"),
            )
            .await;
        let least: u64 = stage.tab.eval("window.__least").await;
        assert!(least <= 1, "it played from event {least} on");
        let ended = told(&stage, POSTER).await;
        assert_eq!(ended["poster"], "", "it does not come again");

        // Without a word of the page there is none.
        stage
            .tab
            .run("__test.feed().removeAttribute('poster')")
            .await;
        stage.show("/third.jsonl").await;
        assert_eq!(told(&stage, POSTER).await["poster"], "");

        // It goes with its attribute, and with its session.
        let tab = &stage.tab;
        let is_here = "!!__test.one('.poster')";
        let set = "__test.feed().setAttribute('poster', 'end')";
        tab.run(set).await;
        stage.show("/three.jsonl").await;
        assert!(tab.eval::<bool>(is_here).await);
        tab.run("__test.feed().removeAttribute('poster'); await __test.frames(2)")
            .await;
        assert!(!tab.eval::<bool>(is_here).await, "it was taken back");
        tab.run(set).await;
        stage.show("/again.jsonl").await;
        assert!(tab.eval::<bool>(is_here).await);
        tab.run("__test.feed().src = '/nowhere.jsonl'").await;
        let failed = "__test.feed().state === 'error'";
        tab.wait_for("the error", SHORT, failed).await;
        assert!(!tab.eval::<bool>(is_here).await, "it is of another session");
    });
}

#[test]
fn who_reads_instead_of_playing_has_all_of_it() {
    let files = vec![
        ("/three.jsonl", three_prompts()),
        ("/again.jsonl", three_prompts()),
    ];
    on_stage("poster_read", FEED, files, async |stage| {
        stage
            .tab
            .run("__test.feed().setAttribute('poster', 'start')")
            .await;
        for (log, leave) in [
            ("/three.jsonl", "__test.one('.poster__read').click()"),
            ("/again.jsonl", "__test.feed().removeAttribute('poster')"),
        ] {
            stage.show(log).await;
            let shown = told(&stage, POSTER).await;
            assert_ne!(shown["poster"], "");
            assert_eq!(stage.tab.eval::<usize>("__test.feed().rowCount").await, 0);
            stage.tab.run(leave).await;
            let read = told(&stage, POSTER).await;
            assert_eq!(
                (&read["poster"], &read["now"], &read["paused"]),
                (&json!(""), &read["most"], &json!(true)),
                "{leave}"
            );
            let n_rows: usize = stage.tab.eval("__test.rows().length").await;
            assert!(n_rows > 0, "{leave}");
        }
    });
}

#[test]
fn what_a_script_gives_is_played_as_the_page_asks_once_it_has_ended() {
    let files = vec![("/three.jsonl", three_prompts())];
    on_stage("poster_given", FEED, files, async |stage| {
        let tab = &stage.tab;
        tab.run("window.log = await (await fetch('/three.jsonl')).text(); window.end = JSON.stringify({ ...JSON.parse(log.split('\\n')[0]), id: 'last', timestamp: Date.now(), type: 'session_end', turnId: undefined, payload: { reason: 'done' } }) + '\\n';")
            .await;
        tab.run("const feed = __test.feed(); feed.poster = 'start'; feed.append(log); await __test.frames(3)")
            .await;
        let is_here = "!!__test.one('.poster')";
        assert!(!tab.eval::<bool>(is_here).await, "more may come");
        tab.run("__test.feed().append(end)").await;
        tab.wait_for("the poster", SHORT, is_here).await;
        // Once: what is played goes on.
        tab.run("__test.feed().returnToLive(); __test.feed().append(end.replace('last', 'later')); await __test.frames(3)")
            .await;
        assert!(!tab.eval::<bool>(is_here).await);
        tab.run("__test.feed().events = new Blob([log])").await;
        tab.wait_for("the poster of a stream", SHORT, is_here).await;
        tab.run("const feed = __test.feed(); feed.removeAttribute('poster'); feed.startAt = '0:02'; feed.events = new Blob([log])")
            .await;
        let there = "Math.abs(__test.feed().currentTime - 2) < 0.01";
        tab.wait_for("the moment to start at", SHORT, there).await;
        tab.run("const feed = __test.feed(); feed.removeAttribute('start-at'); feed.autoplay = true; feed.events = new Blob([log])")
            .await;
        tab.wait_for("it to play", SHORT, "!__test.feed().paused")
            .await;
    });
}

/// Waits until the rows have the focus.
async fn wait_for_keys_in_rows(stage: &Stage) {
    let scroller = "__test.feed().scroller === __test.feed().shadowRoot.activeElement";
    let what = "the rows to have the focus";
    stage.tab.wait_for(what, SHORT, scroller).await;
}

#[test]
fn the_focus_goes_on_where_what_had_it_is_of_no_more_use() {
    let files = vec![("/long.jsonl", crate::made_logs::log_of("long", 400))];
    on_stage("focus goes on", FEED, files, async |stage| {
        let tab = &stage.tab;
        stage.show("/long.jsonl").await;
        tab.run("__test.feed().viewAsOf(40); await __test.rest(); __test.one('.transport__live').focus()")
            .await;
        tab.press("Enter").await;
        let strip = "__test.one('.transport__live').disabled && __test.one('.strip') === __test.feed().shadowRoot.activeElement";
        tab.wait_for("the strip to have the focus", SHORT, strip)
            .await;
        // Pressed, and by a key that leads where it does.
        for key in ["Enter", "End"] {
            tab.run("__test.feed().scroller.dispatchEvent(new WheelEvent('wheel')); __test.feed().scroller.scrollTop = 0; await __test.rest(); __test.one('.pill').focus()")
                .await;
            tab.press(key).await;
            tab.wait_for("the end", SHORT, "__test.one('.pill').hidden")
                .await;
            wait_for_keys_in_rows(&stage).await;
        }
    });
}

#[test]
fn the_focus_goes_on_in_the_rows_where_the_end_is_followed_no_more() {
    let log = three_prompts();
    on_stage("follow goes", FEED, Vec::new(), async |stage| {
        stage.append(&log).await;
        let toggle = "__test.visible('.controls__follow')";
        stage.tab.wait_for("the button", SHORT, toggle).await;
        stage.tab.run(&format!("{toggle}.focus()")).await;
        stage.tab.press("5").await;
        stage
            .tab
            .wait_for("it to be gone", SHORT, &format!("!{toggle}"))
            .await;
        wait_for_keys_in_rows(&stage).await;
    });
}

#[test]
fn a_button_leads_back_while_the_session_goes_on() {
    let log = three_prompts();
    on_stage("rewind", FEED, Vec::new(), async |stage| {
        let lines: Vec<&str> = log.lines().collect();
        stage.append(&(lines[..9].join("\n") + "\n")).await;
        stage
            .tab
            .wait_for("the button", SHORT, "__test.visible('#rewind')")
            .await;
        let pressed = "__test.one('#rewind').getAttribute('aria-pressed')";
        assert_eq!(stage.tab.eval::<String>(pressed).await, "false");
        assert_eq!(told(&stage, POSTER).await["now"], -1, "no bar yet");
        stage.tab.click("__test.visible('#rewind')").await;
        stage
            .tab
            .wait_for(
                "the strip to have the focus",
                SHORT,
                "__test.one('.strip') && __test.one('.strip') === __test.feed().shadowRoot.activeElement",
            )
            .await;
        assert_eq!(stage.tab.eval::<String>(pressed).await, "true");
        for _ in 0..3 {
            stage.tab.press("ArrowLeft").await;
        }
        let back = told(&stage, POSTER).await;
        assert!(back["now"].as_u64() < Some(9), "{back}");
        // What comes meanwhile is known, and not shown.
        stage.append(&(lines[9..].join("\n") + "\n")).await;
        let still = told(&stage, POSTER).await;
        assert_eq!(still["now"], back["now"]);
        assert_eq!(still["most"], lines.len());
        // The same button leads to the newest again.
        stage.tab.click("__test.visible('#rewind')").await;
        stage
            .tab
            .wait_for("the bar to be gone", SHORT, "!__test.one('.strip')")
            .await;
        // By the way back in the bar, and by its key: what had the focus is gone, and keys go on in the rows.
        for leave in ["Enter", "L"] {
            stage.tab.click("__test.visible('#rewind')").await;
            let strip = "!!__test.visible('.transport__live')";
            stage.tab.wait_for("the bar", SHORT, strip).await;
            stage
                .tab
                .run("__test.one('.transport__live').focus()")
                .await;
            stage.tab.press(leave).await;
            let gone = "!__test.one('.strip')";
            stage.tab.wait_for("the bar to be gone", SHORT, gone).await;
            wait_for_keys_in_rows(&stage).await;
        }
        stage.rest().await;
        let shown: String = stage.tab.eval("__test.text(__test.feed())").await;
        assert!(shown.contains("Answer number 3"), "{shown}");
        assert_eq!(stage.tab.eval::<String>(pressed).await, "false");
    });
}
