//! Actions and observations of OpenHands: what the user says, what is asked, delegates, failures.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use super::event;
use crate::support::{assert_sound, read_lines, told};

#[test]
fn questions_delegates_and_states_are_told() {
    let state = |id: u64, state: &str| {
        event(
            id,
            "environment",
            json!({"observation": "agent_state_changed", "content": "", "extras": {"agent_state": state, "reason": "why"}}),
        )
    };
    let lines = [
        event(
            0,
            "agent",
            json!({"action": "system", "args": {"content": "You are"}}),
        ),
        event(
            1,
            "user",
            json!({"action": "message", "args": {"content": "Go", "image_urls": ["data:image/png;base64,AA"]}}),
        ),
        event(2, "user", json!({"action": "recall", "args": {}})),
        event(
            3,
            "agent",
            json!({"action": "run", "args": {"command": "rm x", "thought": "Delete.", "confirmation_state": "awaiting_confirmation"}}),
        ),
        state(4, "awaiting_user_confirmation"),
        state(5, "user_rejected"),
        event(
            6,
            "user",
            json!({"observation": "user_rejected", "content": "no", "cause": 3, "extras": {}}),
        ),
        event(
            7,
            "agent",
            json!({"action": "delegate", "args": {"agent": "Browser", "inputs": {"task": "look"}}}),
        ),
        event(
            8,
            "user",
            json!({"action": "message", "args": {"content": "look"}}),
        ),
        event(
            9,
            "agent",
            json!({"action": "browse", "args": {"url": "http://x"}}),
        ),
        event(
            10,
            "agent",
            json!({"observation": "browse", "content": "page", "cause": 9, "extras": {}}),
        ),
        event(
            11,
            "agent",
            json!({"action": "finish", "args": {"final_thought": "Looked."}}),
        ),
        event(
            12,
            "agent",
            json!({"observation": "delegate", "content": "Looked.", "cause": 7, "extras": {}}),
        ),
        event(
            13,
            "agent",
            json!({"action": "think", "args": {"thought": "Hm."}}),
        ),
        event(
            14,
            "agent",
            json!({"observation": "think", "content": "logged", "cause": 13}),
        ),
        event(
            15,
            "agent",
            json!({"action": "task_tracking", "args": {"command": "plan", "task_list": [{"title": "a", "status": "done"}]}}),
        ),
        event(
            16,
            "agent",
            json!({"observation": "error", "content": "bad", "cause": 15}),
        ),
        event(
            17,
            "agent",
            json!({"action": "run", "args": {"command": "sleep 9"}}),
        ),
        state(18, "error"),
        event(
            19,
            "user",
            json!({"action": "message", "args": {"content": "Again"}}),
        ),
        event(
            20,
            "agent",
            json!({"action": "message", "args": {"content": "Sure?", "wait_for_response": true}}),
        ),
        state(21, "awaiting_user_input"),
        state(22, "awaiting_user_input"),
    ];
    let read = read_lines(Dialect::OpenHands, &lines);
    assert_sound("states", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "done Delete.",
            "call e3 run",
            "asked e3:ask",
            "answered deny",
            "failed e3 rejected",
            "call e7 delegate",
            "user look",
            "call e9 browse",
            "result e9 page",
            "done Looked.",
            "result e7 Looked.",
            "thinking Hm.",
            "call e15 task_tracking",
            "plan 1",
            "failed e15 error",
            "call e17 run",
            "error  why",
            "failed e17 no_result",
            "end failed",
            "turn user",
            "user Again",
            "done Sure?",
            "end completed",
        ]
    );
    let within: Vec<&str> = read
        .events
        .iter()
        .filter(|event| event.parent_tool_call_id.as_deref() == Some("e7"))
        .map(ChatEvent::event_type)
        .collect();
    assert_eq!(
        within,
        ["user_message", "tool_call", "tool_result", "assistant_done"]
    );
}

#[test]
fn words_of_the_user_while_a_call_runs_leave_it_running() {
    let lines = [
        event(
            0,
            "user",
            json!({"action": "message", "args": {"content": "Test"}}),
        ),
        event(
            1,
            "agent",
            json!({"action": "run", "args": {"command": "pytest"}}),
        ),
        event(
            2,
            "user",
            json!({"action": "message", "args": {"content": "also lint"}}),
        ),
        event(
            3,
            "agent",
            json!({"observation": "run", "content": "3 passed", "cause": 1, "extras": {"exit_code": 0}}),
        ),
        event(
            4,
            "agent",
            json!({"action": "message", "args": {"content": "ok"}}),
        ),
        event(
            5,
            "user",
            json!({"action": "message", "args": {"content": "Now this"}}),
        ),
    ];
    let events = read_lines(Dialect::OpenHands, &lines).events;
    assert_sound("steered", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Test",
            "call e1 run",
            "user also lint",
            "result e1 3 passed",
            "done ok",
            "end completed",
            "turn user",
            "user Now this",
            "end interrupted",
        ]
    );
    let steered: Vec<bool> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::UserMessage(message) => Some(message.extra.get("steering").is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(steered, [false, true, false]);
}

#[test]
fn a_yes_that_nobody_gave_was_not_refused_by_the_user() {
    let lines = [
        event(
            0,
            "user",
            json!({"action": "message", "args": {"content": "rm it"}}),
        ),
        event(
            1,
            "agent",
            json!({"action": "run", "args": {"command": "rm x", "confirmation_state": "awaiting_confirmation"}}),
        ),
    ];
    let events = read_lines(Dialect::OpenHands, &lines).events;
    assert_sound("unanswered", &events);
    let answers: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::PermissionResolved(answer) => {
                Some((answer.decision.as_str(), answer.by.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(answers, [("cancel", None)]);
}

fn told_of(lines: &[Value]) -> Vec<String> {
    let read = read_lines(Dialect::OpenHands, lines);
    assert_sound("openhands", &read.events);
    told(&read.events)
}

#[test]
fn a_failure_is_told_once_with_its_reason_and_in_its_turn() {
    let event = |at: u64, kind: &str, mut rest: Value| {
        rest["kind"] = kind.into();
        rest["id"] = format!("{kind}{at}").into();
        rest["source"] = "environment".into();
        rest["timestamp"] = format!("2026-01-01T00:00:0{at}").into();
        rest
    };
    let go = |at: u64| {
        let mut go = event(
            at,
            "MessageEvent",
            json!({"llm_message": {"role": "user", "content": "Go"}}),
        );
        go["source"] = "user".into();
        go
    };
    let failed = event(
        1,
        "ConversationStateUpdateEvent",
        json!({"key": "execution_status", "value": "error"}),
    );
    let why = event(
        2,
        "ConversationErrorEvent",
        json!({"code": "LLMAuthenticationError", "detail": "bad key"}),
    );
    let with_reason = [
        "turn user",
        "user Go",
        "error LLMAuthenticationError bad key",
        "end failed",
    ];
    let without = [
        "turn user",
        "user Go",
        "error  the agent failed",
        "end failed",
    ];
    assert_eq!(told_of(&[go(0), failed.clone(), why.clone()]), with_reason);
    assert_eq!(told_of(&[go(0), why, failed.clone()]), with_reason);
    assert_eq!(told_of(&[go(0), failed.clone()])[..], without);
    // The next event ends the turn, at the time at which it failed.
    let lines = [go(0), failed.clone(), go(9)];
    assert_eq!(told_of(&lines)[..4], without);
    let events = read_lines(Dialect::OpenHands, &lines).events;
    let mut ends = events.iter();
    let end = ends.find(|event| matches!(event.payload, Payload::TurnEnd(_)));
    assert_eq!(end.unwrap().timestamp, Some(1_767_225_601_000));
    // So does a quiet period.
    let context = Context {
        session_id: Some("s".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::OpenHands);
    let mut events = Vec::new();
    for line in [go(0), failed] {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
    }
    assert_eq!(told(&events).len(), 2);
    reader.quiet(5_000, &mut events);
    assert_eq!(told(&events), without);
}

#[test]
fn histories_of_pairs_are_read_and_many_open_calls_cost_no_more() {
    let pair = |n: u64| json!([{"action": "run", "args": {"command": format!("{n}")}}, {"observation": "run", "content": "x", "extras": {"exit_code": 0}}]);
    let history: Vec<Value> = (0..3).map(pair).collect();
    let line =
        json!({"instance_id": "django__django-1", "history": history, "error": "out of budget"});
    let read = read_lines(Dialect::OpenHands, &[line]);
    assert_sound("pairs", &read.events);
    assert_eq!(
        told(&read.events)
            .iter()
            .filter(|line| line.starts_with("result"))
            .count(),
        3
    );
    assert!(told(&read.events).contains(&"end failed".to_owned()));
    assert_eq!(read.events[0].session_id, "django__django-1");
    let mut flat: Vec<Value> = (0..10_000)
        .map(|_| json!({"action": "run", "command": "x"}))
        .collect();
    flat.extend((0..10_000).map(|_| json!({"observation": "run", "content": "x"})));
    let read = read_lines(
        Dialect::OpenHands,
        &[json!({"instance_id": "i", "history": flat})],
    );
    assert_sound("many", &read.events);
}

#[test]
fn a_delegate_that_is_done_ends_no_turn() {
    let state = |id: u64, state: &str| {
        event(
            id,
            "agent",
            json!({"observation": "agent_state_changed", "content": "", "extras": {"agent_state": state, "reason": "why"}}),
        )
    };
    let story = |states: &[&str], kind: &str| {
        let mut lines = vec![
            event(
                1,
                "user",
                json!({"action": "message", "args": {"content": "Go"}}),
            ),
            event(
                2,
                "agent",
                json!({"action": "delegate", "args": {"agent": "Browser", "inputs": {}}}),
            ),
        ];
        lines.extend((3..).zip(states).map(|(id, name)| state(id, name)));
        lines.push(event(
            8,
            "agent",
            match kind {
                "delegate" => json!({"observation": kind, "content": "Looked.", "extras": {}}),
                _ => json!({"observation": kind, "content": "Looked.", "cause": 2, "extras": {}}),
            },
        ));
        lines.push(event(
            9,
            "agent",
            json!({"action": "run", "args": {"command": "ls"}}),
        ));
        let read = read_lines(Dialect::OpenHands, &lines);
        assert_sound("a delegate", &read.events);
        let of_run = read.events.iter().find(
            |event| matches!(&event.payload, Payload::ToolCall(call) if call.tool_name == "run"),
        );
        assert_eq!(of_run.unwrap().parent_tool_call_id, None);
        let mut told = told(&read.events);
        told.truncate(told.len() - 2);
        told
    };
    let begun = ["turn user", "user Go", "call e2 delegate"];
    let ended = ["result e2 Looked.", "call e9 run"];
    assert_eq!(
        story(&["finished", "stopped"], "delegate"),
        [&begun[..], &ended[..]].concat()
    );
    assert_eq!(
        story(&["error", "stopped"], "delegate"),
        [&begun[..], &["error  why"], &ended[..]].concat()
    );
    let refused = ["failed e2 rejected", "call e9 run"];
    assert_eq!(
        story(&["finished"], "user_rejected"),
        [&begun[..], &refused[..]].concat()
    );
}
