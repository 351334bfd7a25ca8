//! Promises of time travel that only a browser can keep: a moment looks as its lines look, to the byte; what comes in
//! moves neither the thumb nor what is shown; what plays goes at its pace and asks nobody for anything.

use serde_json::{Value, json};

use crate::SHORT;
use crate::compare::difference;
use crate::made_logs::{Writer, log_of};
use crate::stage::{Stage, on_stage};

/// With all that folds and groups.
const FEED: &str = "<agent-feed></agent-feed>";

async fn rows_of(stage: &Stage) -> String {
    stage
        .tab
        .eval("__test.feed().serializeRows({ maskTimes: false })")
        .await
}

/// Shows a log as if it came live, so that nothing is said by its being at its end.
async fn tell(stage: &Stage, lines: &[&str]) {
    stage.tab.run("__test.feed().clear()").await;
    stage.append(&(lines.join("\n") + "\n")).await;
    let here = format!("__test.feed().eventCount === {}", lines.len());
    stage.tab.wait_for("the lines", SHORT, &here).await;
    stage.rest().await;
}

/// Where the thumb stands, what the bar says, and which moment is shown.
const BAR: &str = "(() => {
    const thumb = __test.one('.strip__thumb')?.getBoundingClientRect();
    const slider = __test.one('.strip');
    return {
        thumb: thumb ? thumb.left : -1,
        now: Number(slider?.getAttribute('aria-valuenow') ?? -1),
        most: Number(slider?.getAttribute('aria-valuemax') ?? -1),
        text: slider?.getAttribute('aria-valuetext') ?? '',
        behind: __test.one('.transport__behind')?.textContent ?? '',
    };
})()";

async fn bar(stage: &Stage) -> Value {
    stage.tab.eval(BAR).await
}

#[test]
fn a_moment_is_shown_as_its_lines_are_to_the_byte() {
    let log = log_of("moments", 300);
    let files = vec![("/log.jsonl", log.clone())];
    on_stage("replay_to_the_byte", FEED, files, async |stage| {
        let lines: Vec<&str> = log.lines().collect();
        stage.show("/log.jsonl").await;
        let whole = rows_of(&stage).await;
        // There and back, near and far, the same twice.
        let n = lines.len();
        let visits = [
            n / 2,
            3,
            n - 2,
            n / 2,
            1,
            n / 3,
            n / 3 + 1,
            n - 7,
            40,
            41,
            39,
        ];
        let mut moments = Vec::new();
        for visit in visits {
            stage
                .tab
                .run(&format!("__test.feed().viewAsOf({})", visit - 1))
                .await;
            stage.rest().await;
            moments.push((visit, rows_of(&stage).await));
        }
        stage.tab.run("__test.feed().viewAsOf(null)").await;
        stage.rest().await;
        let again = rows_of(&stage).await;
        let mut differences: Vec<String> = difference("the end again", &whole, &again)
            .into_iter()
            .collect();
        for (visit, moment) in moments {
            tell(&stage, &lines[..visit]).await;
            let plain = rows_of(&stage).await;
            differences.extend(difference(&format!("after {visit} lines"), &plain, &moment));
        }
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
        stage.assert_no_request_out();
    });
}

#[test]
fn what_comes_moves_neither_the_thumb_nor_what_is_shown() {
    let log = log_of("behind", 240);
    on_stage("replay_while_live", FEED, Vec::new(), async |stage| {
        let lines: Vec<&str> = log.lines().collect();
        tell(&stage, &lines[..120]).await;
        assert_eq!(bar(&stage).await["now"], -1, "nobody looks back yet");
        stage.tab.run("__test.feed().scroller.focus()").await;
        for _ in 0..3 {
            stage.tab.press("ArrowLeft").await;
        }
        stage.rest().await;
        let before = bar(&stage).await;
        let rows = rows_of(&stage).await;
        for piece in lines[120..].chunks(20) {
            stage.append(&(piece.join("\n") + "\n")).await;
            stage.rest().await;
            let now = bar(&stage).await;
            let moved = now["thumb"].as_f64().expect("a place")
                - before["thumb"].as_f64().expect("a place");
            assert!(moved.abs() <= 1.0, "the thumb moved by {moved} px");
            assert_eq!(now["now"], before["now"]);
        }
        assert_eq!(rows_of(&stage).await, rows);
        let after = bar(&stage).await;
        assert_eq!(after["most"], lines.len());
        assert!(
            after["behind"]
                .as_str()
                .is_some_and(|text| text.ends_with("behind live")),
            "{after}"
        );
        // What came since is on the strip once it is pointed at, and the end of it is live.
        stage
            .tab
            .run("const box = __test.one('.strip').getBoundingClientRect(); __test.one('.strip').dispatchEvent(new PointerEvent('pointerenter', { clientX: box.left, clientY: box.top }))")
            .await;
        stage.rest().await;
        let pointed = bar(&stage).await;
        let moved = pointed["thumb"].as_f64().zip(after["thumb"].as_f64());
        assert!(
            moved.is_some_and(|(now, before)| now < before - 50.0),
            "{pointed} after {after}"
        );
        assert_eq!(pointed["now"], before["now"]);
        stage.tab.run("__test.one('.strip').focus()").await;
        stage.tab.press("End").await;
        stage.rest().await;
        let end = bar(&stage).await;
        assert_eq!(
            (&end["now"], &end["behind"]),
            (&end["most"], &Value::from("")),
            "{end}"
        );
        let live = rows_of(&stage).await;
        tell(&stage, &lines).await;
        assert_eq!(
            difference("live again", &rows_of(&stage).await, &live),
            None
        );
    });
}

/// A prompt, then an answer in ten pieces, a second apart.
fn paced() -> String {
    let mut writer = Writer::new("paced");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    writer.event(
        "user_message",
        &json!({"turnId": "t1"}),
        &json!({"text": "Count"}),
    );
    for nth in 0..10 {
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": format!("word{nth} ")}),
        );
    }
    writer.take()
}

#[test]
fn playing_goes_by_the_keys_types_as_it_was_typed_and_stops_at_the_end() {
    let files = vec![("/paced.jsonl", paced())];
    on_stage("replay_by_keys", FEED, files, async |stage| {
        stage.show("/paced.jsonl").await;
        let opened = bar(&stage).await;
        assert_eq!(opened["now"], opened["most"], "it opens at its end");
        stage.tab.run("__test.feed().scroller.focus()").await;
        stage.tab.press("0").await;
        stage.rest().await;
        let first = bar(&stage).await;
        assert!(first["now"].as_u64() <= Some(1), "{first}");
        // One by one as far as the second piece: the prompt and two pieces.
        for now in first["now"].as_u64().unwrap_or(0) + 1..=3 {
            stage.tab.press(".").await;
            stage.rest().await;
            assert_eq!(bar(&stage).await["now"], now);
        }
        let typed: String = stage.tab.eval("__test.text(__test.feed())").await;
        assert!(
            typed.contains("word1") && !typed.contains("word2"),
            "{typed}"
        );
        // What is played comes piece by piece, and stands still at the end.
        stage.tab.run("__test.seen = new Set(); const look = () => { __test.seen.add(__test.one('.strip__thumb').style.insetInlineStart); requestAnimationFrame(look); }; look();").await;
        // With another key held it is the browser's.
        let kept: bool = stage
            .tab
            .eval("['shiftKey', 'ctrlKey'].every((held) => __test.one('.strip').dispatchEvent(new KeyboardEvent('keydown', { key: ' ', [held]: true, bubbles: true, composed: true, cancelable: true }))) && __test.feed().paused")
            .await;
        assert!(kept, "Shift and the space bar play");
        stage.tab.press(" ").await;
        stage
            .tab
            .wait_for(
                "the end",
                SHORT,
                &format!("({BAR}).now === ({BAR}).most && __test.feed().paused"),
            )
            .await;
        let seen: usize = stage.tab.eval("__test.seen.size").await;
        assert!(seen >= 5, "{seen} moments were shown");
        stage.assert_no_request_out();
    });
}

/// What the bar says of the time, and whether that can be said another way.
const READOUT: &str = "(() => {
    const time = __test.one('.transport__time');
    const strip = __test.one('.strip').getBoundingClientRect();
    const thumb = __test.one('.strip__thumb').getBoundingClientRect();
    return {
        said: time.textContent,
        one_way: time.disabled,
        share: (thumb.left + thumb.width / 2 - strip.left) / strip.width,
        bars: new Set([...__test.all('.strip__bars path')].flatMap((path) => path.getAttribute('d').match(/M\\d+ [\\d.]+h/g) ?? [])).size,
    };
})()";

#[test]
fn many_events_within_a_moment_are_gone_through_by_their_number() {
    let mut writer = Writer::new("sudden");
    writer.turn(1).turn(2);
    let n_events = writer.n_events();
    let now = json!({"timestamp": 1_703_001_234_000_u64});
    let log: String = writer.take().lines().fold(String::new(), |log, line| {
        let mut event: Value = serde_json::from_str(line).expect("an event");
        event["timestamp"] = now["timestamp"].clone();
        log + &event.to_string() + "\n"
    });
    let files = vec![("/sudden.jsonl", log)];
    on_stage("replay_sudden", FEED, files, async |stage| {
        stage.show("/sudden.jsonl").await;
        let end: Value = stage.tab.eval(READOUT).await;
        assert_eq!(end["said"], format!("event {n_events} / {n_events}"));
        assert_eq!(end["one_way"], true);
        assert!(end["bars"].as_u64() > Some(10), "{end}");
        // Each step is as long as any other.
        let half = (n_events - 1) / 2;
        stage
            .tab
            .run(&format!("__test.feed().viewAsOf({half})"))
            .await;
        stage.rest().await;
        let middle: Value = stage.tab.eval(READOUT).await;
        assert_eq!(middle["said"], format!("event {} / {n_events}", half + 1));
        let share = middle["share"].as_f64().expect("a place");
        assert!((share - 0.5).abs() < 0.05, "{middle}");
    });
}

#[test]
fn the_bar_shows_any_speed_and_its_slider_takes_all_arrows() {
    let files = vec![("/log.jsonl", log_of("bar", 60))];
    on_stage("replay_bar", FEED, files, async |stage| {
        stage.show("/log.jsonl").await;
        let said = "__test.one('.transport__speed').selectedOptions[0]?.text ?? ''";
        for (speed, words) in [("1.5", "1.5×"), ("3", "3×"), ("2", "2×")] {
            stage
                .tab
                .run(&format!("__test.feed().speed = '{speed}'"))
                .await;
            let shown = format!("{said} === '{words}'");
            stage.tab.wait_for(words, SHORT, &shown).await;
        }
        stage.tab.run("__test.one('.strip').focus()").await;
        let mut moments = Vec::new();
        for key in ["ArrowDown", "ArrowDown", "ArrowUp"] {
            stage.tab.press(key).await;
            stage.rest().await;
            moments.push(bar(&stage).await["now"].as_u64().expect("a moment"));
        }
        let [back, further, on] = moments[..] else {
            unreachable!("three keys were pressed");
        };
        assert!(further < back && on == back, "{moments:?}");
        let stays = "!!__test.one('.strip:focus')";
        assert!(stage.tab.eval::<bool>(stays).await);
    });
}

#[test]
fn one_event_has_no_other_moment() {
    let mut writer = Writer::new("one");
    let turn = json!({"turnId": "t1"});
    writer.event("user_message", &turn, &json!({"text": "Only this"}));
    let files = vec![("/one.jsonl", writer.take())];
    let feed = "<agent-feed poster=\"start\"></agent-feed>";
    on_stage("replay_one", feed, files, async |stage| {
        stage.show("/one.jsonl").await;
        let seen = "({ bar: !!__test.one('.strip'), poster: !!__test.one('.poster'), rows: __test.rows().length })";
        let opened: Value = stage.tab.eval(seen).await;
        assert_eq!(opened["bar"], false);
        assert_eq!(opened["poster"], false);
        stage.tab.run("__test.feed().scroller.focus()").await;
        for key in ["ArrowLeft", "0", " "] {
            stage.tab.press(key).await;
        }
        stage.rest().await;
        assert_eq!(stage.tab.eval::<Value>(seen).await, opened);
    });
}

/// What a feed of 480 × 600 leaves to its rows, and how high a closed row is.
const ROOM: &str = "(() => {
    const rows = __test.feed().scroller.clientHeight / __test.feed().clientHeight;
    const play = __test.one('.transport__play').getBoundingClientRect();
    const speed = __test.one('.transport__speed').getBoundingClientRect();
    return {
        chrome: 1 - rows,
        line: Number.parseFloat(getComputedStyle(__test.one('.tool-call .line')).minHeight),
        beside: speed.top < play.bottom && play.top < speed.bottom,
        end: !!__test.visible('.transport__live'),
    };
})()";

#[test]
fn a_small_feed_leaves_its_room_to_the_rows() {
    let files = vec![("/log.jsonl", log_of("small", 60))];
    on_stage("replay_small", FEED, files, async |stage| {
        stage.tab.look(false, (480, 600)).await;
        stage
            .tab
            .run("document.body.style.margin = 0; __test.feed().style.height = '600px'; __test.feed().setAttribute('fold', 'none')")
            .await;
        stage.show("/log.jsonl").await;
        let at_end: Value = stage.tab.eval(ROOM).await;
        assert!(at_end["chrome"].as_f64() < Some(0.3), "{at_end}");
        assert_eq!(at_end["line"], 28.0);
        assert_eq!(at_end["beside"], true, "one row of controls");
        assert_eq!(at_end["end"], false, "it is at its end");
        stage
            .tab
            .run("__test.feed().viewAsOf(9); __test.feed().setAttribute('density', 'cozy'); await __test.rest()")
            .await;
        let back: Value = stage.tab.eval(ROOM).await;
        assert_eq!(back["line"], 36.0, "the page says so");
        assert_eq!(
            (&back["beside"], &back["end"]),
            (&json!(true), &json!(true))
        );
    });
}

#[test]
fn at_four_times_its_size_the_player_has_a_menu_of_what_has_no_room() {
    let files = vec![("/log.jsonl", log_of("low", 60))];
    on_stage("replay_low", FEED, files, async |stage| {
        stage.tab.look(false, (360, 225)).await;
        stage
            .tab
            .run("document.body.style.margin = 0; __test.feed().style.height = '225px'")
            .await;
        stage.show("/log.jsonl").await;
        let seen = "['.transport__speed', '#chapters-opener', '.transport__live', ...__test.all('.transport__toggle')].filter((it) => (typeof it === 'string' ? __test.one(it) : it)?.checkVisibility()).length";
        assert_eq!(stage.tab.eval::<usize>(seen).await, 0, "they have no room");
        stage.tab.click("__test.visible('#player-opener')").await;
        stage
            .tab
            .wait_for("all of them", SHORT, &format!("{seen} === 5"))
            .await;
        let within: bool = stage
            .tab
            .eval("(({ top, left, right, bottom }) => top >= 0 && left >= 0 && right <= innerWidth && bottom <= innerHeight)(__test.one('#player-menu').getBoundingClientRect())")
            .await;
        assert!(within, "the menu is on the screen");
    });
}
