//! How turns end: what goes wrong, who was stopped, what was not answered.

use chat_event::{ChatEvent, Payload};
use serde_json::{Value, json};

use super::{bus, busy, ends, info, read, text};

#[test]
fn what_goes_wrong_is_of_the_turn_that_runs_and_not_of_the_prompt_that_waits() {
    let lines = |name: &str| {
        let error = json!({"name": name, "data": {"message": "quota"}});
        let done = json!({"error": error, "time": {"created": 1, "completed": 2_000}});
        vec![
            info("msg_1", None, json!({})),
            text("prt_1", "msg_1", "First"),
            busy(),
            info("msg_2", Some("msg_1"), json!({})),
            info("msg_3", None, json!({})),
            text("prt_3", "msg_3", "Waits"),
            busy(),
            bus("session.error", json!({"error": error})),
            info("msg_2", Some("msg_1"), done),
            busy(),
            info("msg_4", Some("msg_3"), json!({})),
            text("prt_4", "msg_4", "Answer"),
            info(
                "msg_4",
                Some("msg_3"),
                json!({"finish": "stop", "time": {"created": 1, "completed": 3_000}}),
            ),
            bus("session.idle", json!({})),
        ]
    };
    assert_eq!(
        ends(&lines("APIError")),
        ["msg_1: APIError", "msg_1 failed", "msg_3 completed"]
    );
    assert_eq!(
        ends(&lines("MessageAbortedError")),
        ["msg_1: interrupt", "msg_1 interrupted", "msg_3 completed"]
    );
}

#[test]
fn a_run_that_was_killed_and_gone_on_with_was_interrupted() {
    let begun_ms = 1_770_361_000_000_i64;
    let at = |mut event: Value, ms: i64| {
        event["properties"]["time"] = json!(begun_ms + ms);
        event
    };
    let whole = json!({"finish": "stop", "time": {"created": 1, "completed": 9_000}});
    let runs = json!({"id": "prt_3", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool", "tool": "bash",
        "callID": "call_1", "state": {"status": "running", "input": {"command": "sleep 20"}, "time": {"start": 3_000}}});
    let lines = [
        at(info("msg_1", None, json!({})), 1_000),
        at(text("prt_1", "msg_1", "First"), 1_001),
        at(info("msg_2", Some("msg_1"), json!({})), 2_000),
        at(bus("message.part.updated", json!({"part": runs})), 3_000),
        // Another program goes on with the session.
        at(info("msg_3", None, json!({})), 7_000),
        at(text("prt_4", "msg_3", "Go on"), 7_001),
        at(info("msg_4", Some("msg_3"), json!({})), 8_000),
        at(text("prt_5", "msg_4", "Went on."), 8_500),
        at(info("msg_4", Some("msg_3"), whole), 9_000),
        at(bus("session.idle", json!({})), 9_001),
    ];
    assert_eq!(ends(&lines), ["msg_1 interrupted", "msg_3 completed"]);
    let events = read(&lines).0;
    let at_end = |event: &&ChatEvent| {
        let result = matches!(event.payload, Payload::ToolResult(_));
        result || event.id == "msg_1:end"
    };
    // It was over when it last said something.
    let times: Vec<_> = events
        .iter()
        .filter(at_end)
        .map(|event| event.timestamp)
        .collect();
    assert_eq!(times, [Some(begun_ms + 3_000); 2]);
}

#[test]
fn a_prompt_that_waited_and_was_not_answered_is_not_completed() {
    let whole = json!({"finish": "stop", "time": {"created": 1, "completed": 2_000}});
    let mut lines = vec![
        info("msg_1", None, json!({})),
        text("prt_1", "msg_1", "First"),
        busy(),
        info("msg_2", Some("msg_1"), json!({})),
        info("msg_3", None, json!({})),
        text("prt_3", "msg_3", "Waits"),
        info("msg_2", Some("msg_1"), whole.clone()),
    ];
    let mut left = lines.clone();
    left.push(bus("session.idle", json!({})));
    assert_eq!(ends(&left), ["msg_1 completed", "msg_3 interrupted"]);
    // The next prompt is answered, and this one passed over.
    lines.extend([
        info("msg_4", None, json!({})),
        text("prt_4", "msg_4", "Waits, too"),
        info("msg_5", Some("msg_4"), json!({})),
        info("msg_5", Some("msg_4"), whole),
        bus("session.idle", json!({})),
    ]);
    assert_eq!(
        ends(&lines),
        ["msg_1 completed", "msg_3 interrupted", "msg_4 completed"]
    );
}

#[test]
fn answers_to_one_prompt_after_the_session_rested_are_turns_with_ids_of_their_own() {
    let whole = json!({"finish": "stop", "time": {"created": 1, "completed": 2_000}});
    let answer = |n: u64, prompt: &str| {
        [
            info(&format!("msg_a{n}"), Some(prompt), whole.clone()),
            bus("session.idle", json!({})),
        ]
    };
    let prompts = ["msg_1", "msg_1~2", "msg_1", "msg_1", "msg_1~2"];
    let lines: Vec<Value> = (0..)
        .zip(prompts)
        .flat_map(|(n, prompt)| answer(n, prompt))
        .collect();
    let wanted = ["msg_1", "msg_1~2", "msg_1~3", "msg_1~4", "msg_1~2~2"];
    let wanted = wanted.map(|id| format!("{id} completed"));
    assert_eq!(ends(&lines), wanted);
}

#[test]
fn a_turn_that_recovers_did_not_fail() {
    let whole = |id: &str, mut held: Value| {
        held["time"] = json!({"created": 1, "completed": 2_000});
        info(id, Some("msg_1"), held)
    };
    let mut lines = vec![
        info("msg_1", None, json!({})),
        text("prt_1", "msg_1", "Long"),
        busy(),
        info("msg_2", Some("msg_1"), json!({})),
        bus(
            "session.error",
            json!({"error": {"name": "ContextOverflowError", "data": {"message": "too long"}}}),
        ),
        whole("msg_2", json!({})),
        whole("msg_3", json!({"summary": true, "finish": "stop"})),
    ];
    let idle = bus("session.idle", json!({}));
    let mut stopped = lines.clone();
    stopped.push(idle.clone());
    assert_eq!(
        ends(&stopped),
        ["msg_1: ContextOverflowError", "msg_1 failed"]
    );
    lines.push(info("msg_4", Some("msg_1"), json!({})));
    lines.push(text("prt_4", "msg_4", "Done"));
    lines.push(whole("msg_4", json!({"finish": "stop"})));
    lines.push(idle);
    assert_eq!(
        ends(&lines),
        ["msg_1: ContextOverflowError", "msg_1 completed"]
    );
}
