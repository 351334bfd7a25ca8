//! `to_session_summary`, case by case.

use chat_feed::projections::{SessionOutcome, SessionSummarizer, to_session_summary};
use serde_json::{Value, json};

use super::{log, within};

fn usage(scope: &str, input: u64, output: u64) -> Value {
    json!({"scope": scope, "inputTokens": input, "outputTokens": output, "costUsd": 0.1})
}

#[test]
fn a_session_in_figures() {
    let mut events = log(&[
        (
            "session_start",
            "-",
            "-",
            json!({"agent": "A 1", "provider": "a", "model": "m1", "cwd": "/w", "gitBranch": "main"}),
        ),
        ("turn_start", "t1", "-", json!({"trigger": "user"})),
        (
            "user_message",
            "t1",
            "-",
            json!({"text": "\n  Fix it \nplease"}),
        ),
        ("thinking_done", "t1", "r1", json!({"text": "hm"})),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {}}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c2", "toolName": "Edit", "args": {}}),
        ),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c3", "toolName": "Task", "args": {}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "c1", "result": "", "error": {"message": "no"}}),
        ),
        (
            "tool_result",
            "t1",
            "r1",
            json!({"toolCallId": "c2", "result": "ok"}),
        ),
        (
            "file_edit",
            "t1",
            "r1",
            json!({"toolCallId": "c2", "filePath": "b", "changeType": "created", "linesAdded": 3}),
        ),
        (
            "file_edit",
            "t1",
            "r1",
            json!({"toolCallId": "c9", "filePath": "b", "changeType": "modified", "linesAdded": 1, "linesRemoved": 2}),
        ),
        (
            "file_edit",
            "t1",
            "r1",
            json!({"toolCallId": "c2", "filePath": "a", "changeType": "deleted", "linesRemoved": 5}),
        ),
        (
            "error",
            "t1",
            "-",
            json!({"code": "x", "message": "overloaded"}),
        ),
        (
            "turn_end",
            "t1",
            "-",
            json!({"outcome": "failed", "durationMs": 700}),
        ),
        ("compaction", "-", "-", json!({"trigger": "auto"})),
        ("log_gap", "-", "-", json!({"from": 3, "to": 5})),
    ]);
    events.extend(within(
        "c3",
        log(&[
            ("assistant_done", "t1", "r9", json!({"text": "sub"})),
            (
                "tool_call",
                "t1",
                "r9",
                json!({"toolCallId": "c4", "toolName": "Read", "args": {}}),
            ),
            (
                "tool_result",
                "t1",
                "r9",
                json!({"toolCallId": "c4", "result": "x"}),
            ),
        ]),
    ));
    let summary = serde_json::to_value(to_session_summary(&events)).unwrap();
    assert_eq!(
        summary,
        json!({
            "sessionId": "s", "title": "Fix it", "provider": "a", "agents": ["A 1"], "models": ["m1"],
            "cwd": "/w", "gitBranch": "main", "startedMs": 0, "endedMs": 15000, "durationMs": 15000, "busyMs": 700,
            "outcome": "failed", "turns": 1, "undoneTurns": 0, "userMessages": 1, "responses": 1, "subAgentResponses": 1,
            "toolCalls": {"total": 4, "failed": 1, "denied": 0, "withoutResult": 1,
                          "byKind": {"agent": 1, "edit": 1, "execute": 1, "read": 1}},
            "errors": 1, "interrupts": 0, "compactions": 1, "lostEvents": 3,
            "files": [
                {"path": "a", "changeType": "deleted", "edits": 1, "linesAdded": 0, "linesRemoved": 5},
                {"path": "b", "changeType": "created", "edits": 2, "linesAdded": 4, "linesRemoved": 2},
            ],
            "filesChanged": 2, "linesAdded": 4, "linesRemoved": 7,
        }),
        "{summary:#}"
    );
}

#[track_caller]
fn check_usage(lines: &[(&str, &str, &str, Value)], input: u64, output: u64, cost: f64) {
    let summary = to_session_summary(&log(lines));
    let tokens = summary.usage.unwrap();
    assert_eq!((tokens.input_tokens, tokens.output_tokens), (input, output));
    assert_eq!(summary.cost_usd, Some(cost));
}

#[test]
fn tokens_are_counted_once() {
    // The figures of a response come again as it goes on; a turn's own stand for its responses'.
    let responses = [
        ("usage", "t1", "r1", usage("response", 10, 1)),
        ("usage", "t1", "r1", usage("response", 10, 5)),
        ("usage", "t1", "r2", usage("response", 20, 5)),
    ];
    check_usage(&responses, 30, 10, 0.2);
    let mut turns = responses.to_vec();
    turns.push((
        "turn_end",
        "t1",
        "-",
        json!({"usage": {"scope": "turn", "inputTokens": 40, "outputTokens": 11}, "costUsd": 0.5}),
    ));
    turns.push(("usage", "t2", "r3", usage("response", 1, 1)));
    check_usage(&turns, 41, 12, 0.6);
    // What the session says counts, over a source that began anew, too.
    let mut session = turns.clone();
    session.push(("usage", "-", "-", usage("session", 50, 20)));
    session.push(("usage", "-", "-", usage("session", 70, 30)));
    check_usage(&session, 70, 30, 0.1);
    session.push(("usage", "-", "-", usage("session", 5, 1)));
    check_usage(&session, 75, 31, 0.2);
}

#[test]
fn the_outcome_is_that_of_the_newest_turn() {
    let start = ("turn_start", "t1", "-", json!({"trigger": "user"}));
    let call = (
        "tool_call",
        "t1",
        "-",
        json!({"toolCallId": "c", "toolName": "Bash", "args": {}}),
    );
    let end = ("session_end", "-", "-", json!({"reason": "x"}));
    let of = |lines: &[(&str, &str, &str, Value)]| to_session_summary(&log(lines)).outcome;
    assert_eq!(of(&[]), None);
    assert_eq!(
        of(std::slice::from_ref(&start)),
        Some(SessionOutcome::Running)
    );
    assert_eq!(
        of(&[start.clone(), end.clone()]),
        Some(SessionOutcome::Completed)
    );
    assert_eq!(
        of(&[start.clone(), call, end]),
        Some(SessionOutcome::Interrupted)
    );
    let stopped = ("interrupt", "t1", "-", json!({"reason": "user_cancel"}));
    let over = ("turn_end", "t1", "-", json!({}));
    assert_eq!(
        of(&[start.clone(), stopped.clone(), over.clone()]),
        Some(SessionOutcome::Interrupted)
    );
    let again = ("turn_start", "t2", "-", json!({"trigger": "user"}));
    assert_eq!(
        of(&[start, stopped, over, again]),
        Some(SessionOutcome::Running)
    );
}

#[test]
fn a_summary_can_be_asked_for_at_any_time() {
    let events = log(&[
        ("user_message", "t1", "-", json!({"text": "one"})),
        (
            "tool_call",
            "t1",
            "r1",
            json!({"toolCallId": "c", "toolName": "Bash", "args": {}}),
        ),
        ("retract", "t1", "-", json!({"eventIds": ["e1"]})),
    ]);
    let mut summarizer = SessionSummarizer::new();
    let mut n_calls = Vec::new();
    for event in &events {
        summarizer.push(event);
        n_calls.push(summarizer.summary().tool_calls.total);
    }
    assert_eq!(n_calls, [0, 1, 0]);
}

#[test]
fn responses_that_are_told_of_in_turns_are_counted_once() {
    let told = |response, output| ("usage", "t1", response, usage("response", 10, output));
    let events = log(&[
        ("turn_start", "t1", "-", json!({"trigger": "user"})),
        told("r1", 1),
        told("r2", 2),
        told("r1", 5),
        told("r2", 6),
        told("r1", 7),
    ]);
    let tokens = to_session_summary(&events).usage.unwrap();
    assert_eq!((tokens.input_tokens, tokens.output_tokens), (20, 7 + 6));
}

#[test]
fn a_compacted_text_began_with_its_first_piece() {
    let lines = [
        r#"{"seq":3,"id":"d","timestamp":6000,"sessionId":"s","turnId":"t","type":"assistant_done","payload":{"text":"Hello","timing":[[0,2],[4000,3],[5000,0]],"span":[1,3],"ids":[["c",1,2]]}}"#,
        r#"{"seq":4,"id":"e","timestamp":6500,"sessionId":"s","turnId":"t","type":"turn_end","payload":{}}"#,
    ];
    let events = lines.map(|line| chat_event::ChatEvent::from_json(line).unwrap());
    let summary = to_session_summary(&events);
    assert_eq!(
        (summary.started_ms, summary.ended_ms, summary.busy_ms),
        (Some(1000), Some(6500), 5500)
    );
}

#[test]
fn a_session_lasts_as_long_as_its_own_events_whenever_its_log_was_begun() {
    let lines = [
        r#"{"seq":0,"id":"log-0","timestamp":9000000,"sessionId":"s","type":"log_start","payload":{"schema":2}}"#,
        r#"{"seq":1,"id":"a","timestamp":1000,"sessionId":"s","type":"user_message","payload":{"text":"Hello"}}"#,
        r#"{"seq":2,"id":"b","timestamp":3000,"sessionId":"s","type":"session_end","payload":{}}"#,
        r#"{"seq":2,"id":"log-1","timestamp":9900000,"sessionId":"s","type":"log_end","payload":{"clean":true}}"#,
    ];
    let events = lines.map(|line| chat_event::ChatEvent::from_json(line).unwrap());
    let summary = to_session_summary(&events);
    assert_eq!(
        (summary.started_ms, summary.ended_ms, summary.duration_ms),
        (Some(1000), Some(3000), Some(2000))
    );
}

#[test]
fn files_are_changed_in_the_order_of_the_log_whoever_changes_them() {
    let edit = |call: &str, path: &str, old: Option<&str>, how: &str| {
        let payload = json!({"toolCallId": call, "filePath": path, "oldPath": old, "changeType": how, "linesAdded": 1});
        ("file_edit", "t1", "r1", payload)
    };
    let call = |id: &str| {
        let payload = json!({"toolCallId": id, "toolName": "Edit", "args": {}});
        ("tool_call", "t1", "r1", payload)
    };
    let files = |events: &[(&str, &str, &str, Value)]| {
        let summary = to_session_summary(&log(events));
        let files = summary.files.iter();
        files
            .map(|file| format!("{} {} {}", file.path, file.change_type, file.edits))
            .collect::<Vec<_>>()
    };
    let renamed = files(&[
        call("c1"),
        edit("c1", "a.txt", None, "modified"),
        edit("", "b.txt", Some("a.txt"), "renamed"),
    ]);
    assert_eq!(renamed.len(), 1, "{renamed:?}");
    assert!(renamed[0].starts_with("b.txt "), "{renamed:?}");
    let deleted = files(&[
        call("c1"),
        edit("c1", "x", None, "created"),
        edit("", "x", None, "deleted"),
    ]);
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    assert!(deleted[0].starts_with("x deleted"), "{deleted:?}");
    let beside = files(&[
        call("c1"),
        call("c2"),
        edit("c2", "a", None, "modified"),
        edit("c1", "b", Some("a"), "renamed"),
    ]);
    assert_eq!(beside.len(), 1, "{beside:?}");
}

#[test]
fn events_that_all_have_one_time_tell_not_how_long_the_session_lasted() {
    let mut events = log(&[
        ("turn_start", "t1", "-", json!({"trigger": "user"})),
        ("turn_end", "t1", "-", json!({"durationMs": 400})),
        ("turn_start", "t2", "-", json!({"trigger": "user"})),
        ("turn_end", "t2", "-", json!({"durationMs": 300})),
    ]);
    for event in &mut events {
        event.timestamp = Some(1_700_000_000_000);
    }
    let summary = to_session_summary(&events);
    assert_eq!((summary.duration_ms, summary.busy_ms), (None, 700));
    for event in &mut events {
        event.timestamp = None;
    }
    let summary = to_session_summary(&events);
    assert_eq!((summary.started_ms, summary.duration_ms), (None, None));
    assert_eq!(summary.busy_ms, 700);
}
