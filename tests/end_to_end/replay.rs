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
        stage.tab.press("L").await;
        stage.rest().await;
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
        stage.tab.run("__test.seen = new Set(); const look = () => { __test.seen.add(Number(__test.one('.strip').getAttribute('aria-valuenow'))); requestAnimationFrame(look); }; look();").await;
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
