//! What the Agent Client Protocol's reader holds: over recordings and fixtures, and on small inputs of kinds they lack.
//! What all of it is made of, the same few lines of one wire, is in `wire`; what is of no single kind is here.

mod calls;
mod recorded;
mod sessions;
mod turns;
mod wire;

use chat_event::Payload;
use chat_normalize::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, read_lines_as_one, sessions_of};
use wire::{answer, prompt, request, stop, text, told, update};

#[test]
fn a_thought_and_its_message_are_one_response_and_what_follows_a_result_another() {
    let lines = [
        prompt(1, "Go"),
        text("agent_thought_chunk", "Hm.", None),
        text("agent_message_chunk", "I ", None),
        text("agent_message_chunk", "read.", None),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "read_file-1795295217430", "title": "a.txt", "kind": "read", "status": "in_progress"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "read_file-1795295217430", "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "A"}}]}),
        ),
        text("agent_message_chunk", "Done.", None),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "thought Hm. in t1.r1",
            "said I read. in t1.r1",
            "call read_file-1795295217430 read_file",
            "result read_file-1795295217430 A",
            "said Done. in t1.r2",
            "end completed",
        ]
    );
}

#[test]
fn requests_are_answered_by_what_the_answer_holds_where_both_sides_use_an_id() {
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": {"sessionId": "s",
        "toolCall": {"toolCallId": "write_file-1795295217430", "title": "a.txt", "kind": "edit", "rawInput": {"path": "a.txt"}},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_always"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let chosen = |option: &str| {
        answer(
            1,
            json!({"outcome": {"outcome": "selected", "optionId": option}}),
        )
    };
    let lines = [
        prompt(1, "Go"),
        ask.clone(),
        chosen("y"),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "write_file-1795295217430", "status": "completed",
            "content": [{"type": "diff", "path": "/w/a.txt", "oldText": null, "newText": "a\nb\n"}]}),
        ),
        stop(1, "end_turn"),
        prompt(2, "And"),
        ask,
        answer(1, json!({"outcome": {"outcome": "cancelled"}})),
        request(9, "session/cancel", json!({})),
        stop(2, "cancelled"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "call write_file-1795295217430 write_file",
            "asks 1",
            "answer 1 allow",
            "result write_file-1795295217430 ",
            "edit created /w/a.txt +2 -0 true",
            "end completed",
            "turn t2",
            "user And",
            "asks 1~2",
            "answer 1~2 cancel",
            "Interrupt",
            "end interrupted",
        ]
    );
}

#[test]
fn questions_plans_compactions_and_failures_are_told() {
    let lines = [
        prompt(1, "Go"),
        update(
            json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "pending", "priority": "high"}]}),
        ),
        update(
            json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "pending", "priority": "high"}]}),
        ),
        request(
            5,
            "elicitation/create",
            json!({"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
            "sure": {"type": "boolean"}, "name": {"type": "string"}}}}),
        ),
        answer(5, json!({"action": "accept", "content": {"colour": "r"}})),
        request(
            6,
            "elicitation/create",
            json!({"mode": "url", "message": "Log in", "url": "https://x", "elicitationId": "E"}),
        ),
        json!({"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": "E"}}),
        update(
            json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"}),
        ),
        update(
            json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": {"type": "text", "text": "All so far."}}),
        ),
        update(
            json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}),
        ),
        update(
            json!({"sessionUpdate": "notice", "severity": "warning", "title": "Slow", "description": "very"}),
        ),
        update(json!({"sessionUpdate": "_vendor/thing", "x": 1})),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Internal error", "data": {"details": "overloaded"}}}),
        prompt(2, "Go on"),
        stop(2, "max_tokens"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "plan 1",
            "questions colour[2]sure[2]name[0]",
            "answers answered",
            "questions [0]",
            "answers answered",
            "compaction All so far.",
            "Notice",
            "Raw",
            "error -32603 Internal error: overloaded",
            "end failed",
            "turn t2",
            "user Go on",
            "error max_tokens the answer grew too long",
            "end failed",
        ]
    );
}

#[test]
fn a_message_that_comes_whole_again_replaces_what_it_was() {
    let whole = |kind: &str, text: &str| {
        update(
            json!({"sessionUpdate": kind, "messageId": "m", "content": [{"type": "text", "text": text}]}),
        )
    };
    let lines = [
        prompt(1, "Go"),
        text("agent_message_chunk", "Hel", Some("m")),
        whole("agent_message", "Hello"),
        whole("agent_message", "Hello, world"),
        text("agent_message_chunk", "And more.", Some("m")),
        stop(1, "end_turn"),
    ];
    let events = read_lines(Dialect::Acp, &lines).events;
    assert_sound("whole again", &events);
    let parts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) => Some((done.text.as_str(), done.part)),
            _ => None,
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("Hello", Some(0)),
            ("Hello, world", Some(0)),
            ("And more.", Some(1)),
        ]
    );
}

proptest! {
    #[test]
    fn any_order_of_messages_ends_what_it_begins(
        picks in proptest::collection::vec((0usize..18, 0usize..3, 0usize..3), 1..50)
    ) {
        let mut lines = Vec::new();
        for (kind, at, other) in picks {
            let id = u64::try_from(at).unwrap();
            let call = format!("c{at}");
            let native = ["s", "s", "child"][other];
            let status = ["completed", "failed", "in_progress"][other];
            let state = ["running", "idle", "requires_action"][other];
            let meta = json!({"claudeCode": {"parentToolUseId": format!("c{other}")}});
            let mut line = match kind {
                0 => prompt(id, "Go"),
                1 => stop(id, ["end_turn", "cancelled", "refusal"][other]),
                2 => text("agent_message_chunk", "Hi", Some(&format!("m{at}"))),
                3 => text("agent_thought_chunk", "Hm", None),
                4 => text("user_message_chunk", "Go", None),
                5 => update(json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "t", "status": "pending", "rawInput": {}, "_meta": meta})),
                6 => update(json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "rawInput": {"a": 1}, "content": 5})),
                7 => update(json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "rawOutput": {"metadata": {"sessionId": "child"}}})),
                8 => request(id, "session/load", json!({"cwd": "/w"})),
                9 => answer(id, json!({"configOptions": []})),
                10 => request(id, "session/request_permission", json!({"toolCall": {"toolCallId": call}, "options": [{"optionId": "y", "kind": "allow_once"}]})),
                11 => answer(id, json!({"outcome": {"outcome": "selected", "optionId": "y"}})),
                12 => answer(id, Value::Null),
                13 => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000}}),
                14 => request(id, "session/cancel", Value::Object(serde_json::Map::new())),
                15 => request(id, "fs/write_text_file", json!({"path": "/a", "content": "x"})),
                16 => update(json!({"sessionUpdate": "state_update", "state": state})),
                _ => update(json!({"sessionUpdate": "agent_message", "messageId": "m", "content": [{"type": "image"}]})),
            };
            if line["params"]["sessionId"] == "s" {
                line["params"]["sessionId"] = native.into();
            }
            lines.push(line);
        }
        // Each by itself, and all in one.
        sessions_of(Dialect::Acp, &lines);
        let read = read_lines_as_one(Dialect::Acp, &lines);
        prop_assert_eq!(read.verdict, Ok(()));
        assert_sound("any order", &read.events);
        let count = |of: fn(&Payload) -> bool| read.events.iter().filter(|event| of(&event.payload)).count();
        prop_assert!(
            count(|payload| matches!(payload, Payload::PermissionRequest(_)))
                <= count(|payload| matches!(payload, Payload::PermissionResolved(_)))
        );
    }
}
