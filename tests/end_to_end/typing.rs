//! Promises of typing in a replay that only a browser can keep: a compacted log looks at any time as its original does, and
//! a text that came whole is typed, which is said to be made up.

use chat_event::ChatEvent;
use chat_event::compaction::{Compactor, Out};
use serde_json::{Value, json};

use crate::SHORT;
use crate::compare::difference;
use crate::made_logs::Writer;
use crate::stage::{Stage, on_stage};

/// With all that folds and groups.
const FEED: &str = "<agent-feed></agent-feed>";

fn compacted(log: &str) -> String {
    let mut lines = Vec::new();
    let mut compactor = Compactor::new();
    let mut write = |out| {
        lines.push(match out {
            Out::AsItWas(line) => String::from(line),
            Out::Folded(event) => event.to_line(),
        });
    };
    for line in log.lines() {
        compactor.push(line, ChatEvent::from_json(line).ok(), &mut write);
    }
    compactor.finish(&mut write);
    lines.join("\n") + "\n"
}

/// A log with thinking, an answer and a command that came piece by piece, in the midst of others.
fn typed() -> String {
    let mut writer = Writer::new("typed");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    writer.event(
        "user_message",
        &json!({"turnId": "t1"}),
        &json!({"text": "Tell"}),
    );
    let pieces =
        |words: &str| -> Vec<String> { words.split_inclusive(' ').map(str::to_owned).collect() };
    let thought = "First one looks at what there is, then one thinks again";
    for piece in pieces(thought) {
        writer.event("thinking_chunk", &place, &json!({"text": piece, "part": 0}));
    }
    writer.event(
        "thinking_done",
        &place,
        &json!({"text": thought, "part": 0}),
    );
    let answer = "# What there is\n\nSome *words* and\n\n- a list\n- of things\n\n```rust\nfn main() {}\n```\n\nThe end";
    for piece in pieces(answer) {
        writer.event(
            "assistant_chunk",
            &place,
            &json!({"text": piece, "part": 0}),
        );
    }
    writer.event(
        "assistant_done",
        &place,
        &json!({"text": answer, "part": 0}),
    );
    writer.event(
        "tool_call",
        &place,
        &json!({"toolCallId": "c1", "toolName": "Bash", "kind": "execute", "args": {"command": "make"}}),
    );
    let printed: Vec<String> = (0..9).map(|nth| format!("line {nth}\n")).collect();
    for line in &printed {
        writer.event(
            "tool_output_chunk",
            &place,
            &json!({"toolCallId": "c1", "chunk": line}),
        );
    }
    writer.event(
        "tool_result",
        &place,
        &json!({"toolCallId": "c1", "result": printed.concat(), "exitCode": 0}),
    );
    writer.event("turn_end", &json!({"turnId": "t1"}), &json!({}));
    writer.take()
}

/// All that is shown at each of these times, in seconds, and what the bar says.
async fn shown_at(stage: &Stage, times: &[f64]) -> Vec<(String, Value)> {
    let mut shown = Vec::new();
    for seconds in times {
        let seek = format!("__test.feed().currentTime = {seconds}");
        stage.tab.run(&seek).await;
        stage.rest().await;
        let rows = stage
            .tab
            .eval("__test.feed().serializeRows({ maskTimes: false })")
            .await;
        let bar = stage
            .tab
            .eval("['valuenow', 'valuemax', 'valuetext'].map((name) => __test.one('.strip').getAttribute('aria-' + name))")
            .await;
        shown.push((rows, bar));
    }
    shown
}

#[test]
fn a_compacted_log_is_shown_at_any_time_as_its_original_is() {
    let log = typed();
    let short = compacted(&log);
    let (n_long, n_short) = (log.lines().count(), short.lines().count());
    assert!(n_long > n_short + 25, "{n_long} lines to {n_short}");
    let files = vec![("/long.jsonl", log), ("/short.jsonl", short)];
    on_stage("typing_compacted", FEED, files, async |stage| {
        // There and back, within texts and between them.
        let times = [
            4.2, 14.5, 9.0, 17.3, 30.1, 26.0, 35.9, 21.5, 38.4, 40.2, 3.0,
        ];
        stage.show("/long.jsonl").await;
        let long = shown_at(&stage, &times).await;
        stage.tab.run("__test.feed().clear()").await;
        stage.show("/short.jsonl").await;
        let short = shown_at(&stage, &times).await;
        let mut differences = Vec::new();
        for ((long, short), seconds) in long.iter().zip(&short).zip(times) {
            let what = format!("at {seconds} s");
            differences.extend(difference(&what, &long.0, &short.0));
            assert_eq!(long.1, short.1, "{what}");
        }
        assert!(differences.is_empty(), "{}", differences.join("\n\n"));
        let distinct: std::collections::BTreeSet<_> = long.iter().map(|it| &it.0).collect();
        assert!(distinct.len() >= 9, "{} moments", distinct.len());
        // Steps go by what came, also within what is one line.
        stage.tab.run("__test.feed().scroller.focus()").await;
        let now = "Number(__test.one('.strip').getAttribute('aria-valuenow'))";
        let before: u32 = stage.tab.eval(now).await;
        for (key, by) in [(".", 1), (".", 2), (".", 3), (",", 2), (",", 1)] {
            stage.tab.press(key).await;
            let there = format!("{now} === {}", before + by);
            stage.tab.wait_for("the next piece", SHORT, &there).await;
        }
        stage.assert_no_request_out();
    });
}

/// A prompt, and a second later the whole answer.
fn told_whole(answer: &str) -> String {
    let mut writer = Writer::new("whole");
    let place = json!({"turnId": "t1", "responseId": "r1"});
    writer.event(
        "user_message",
        &json!({"turnId": "t1"}),
        &json!({"text": "Tell"}),
    );
    writer.event("assistant_done", &place, &json!({"text": answer}));
    writer.event("turn_end", &json!({"turnId": "t1"}), &json!({}));
    writer.take()
}

#[test]
fn a_text_that_came_whole_is_typed_and_said_to_be_made_up() {
    let answer = "One sees it grow word by word, as if somebody wrote it. ".repeat(8);
    let files = vec![("/whole.jsonl", told_whole(answer.trim_end()))];
    on_stage("typing_made_up", FEED, files, async |stage| {
        stage.show("/whole.jsonl").await;
        let mut shown = Vec::new();
        // There and back.
        for seconds in [0.1, 0.5, 0.9, 0.3, 0.7, 1.0] {
            let seek = format!("__test.feed().currentTime = {seconds}");
            stage.tab.run(&seek).await;
            stage.rest().await;
            let text: String = stage
                .tab
                .eval("__test.one('.assistant-text')?.textContent.trim() ?? ''")
                .await;
            let noted: bool = stage
                .tab
                .eval("getComputedStyle(__test.one('.transport__note')).visibility === 'visible' && __test.one('.transport__note').dataset.on === 'true'")
                .await;
            assert!(answer.starts_with(&text), "{text}");
            assert_eq!(noted, seconds < 1.0, "the pace is made up at {seconds} s");
            shown.push(text.len());
        }
        let [a, c, e, b, d, whole] = shown[..] else {
            panic!("{shown:?}")
        };
        let grows = [0, a, b, c, d, e, whole].is_sorted_by(|one, next| one < next);
        assert!(grows, "{shown:?}");
        assert_eq!(whole, answer.trim_end().len());
        // Played, it comes in many steps.
        stage.tab.run("__test.feed().currentTime = 0.05; __test.seen = new Set(); const look = () => { __test.seen.add(__test.one('.assistant-text')?.textContent.length ?? 0); requestAnimationFrame(look); }; look();").await;
        stage
            .tab
            .run("__test.feed().playbackRate = 0.5; __test.feed().play()")
            .await;
        let over =
            "__test.feed().paused && __test.one('.assistant-text').textContent.trim().length";
        let over = format!("({over}) === {whole}");
        stage.tab.wait_for("the end", SHORT, &over).await;
        let seen: usize = stage.tab.eval("__test.seen.size").await;
        assert!(seen >= 4, "{seen} lengths were shown");
        stage.assert_no_request_out();
    });
}
