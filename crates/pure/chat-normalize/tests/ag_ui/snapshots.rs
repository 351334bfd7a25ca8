//! Snapshots of messages: what of them was not told.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::json;

use super::{event, run, said};
use crate::support::{assert_sound, read_lines, taken_back};

#[test]
fn a_snapshot_tells_what_was_not_told() {
    let messages = json!([
        {"id": "u1", "role": "user", "content": "Before"},
        {"id": "a1", "role": "assistant", "content": "Yes", "toolCalls": [{"id": "k", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}}]},
        {"id": "t1", "role": "tool", "toolCallId": "k", "content": "", "error": "no file"},
        {"id": "u2", "role": "user", "content": [{"type": "text", "text": "Now"}, {"type": "image", "source": {"type": "url", "value": "http://x/a.png"}}]},
        {"id": "m", "role": "assistant", "content": "Hello"},
    ]);
    let lines = run(vec![
        event(
            "TEXT_MESSAGE_START",
            json!({"messageId": "m", "role": "assistant"}),
        ),
        event(
            "TEXT_MESSAGE_CONTENT",
            json!({"messageId": "m", "delta": "Hello"}),
        ),
        event("TEXT_MESSAGE_END", json!({"messageId": "m"})),
        event("MESSAGES_SNAPSHOT", json!({"messages": messages})),
        event("MESSAGES_SNAPSHOT", json!({"messages": messages})),
        event("RUN_FINISHED", json!({"threadId": "t", "runId": "r"})),
    ]);
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "done Hello",
            "turn user",
            "user Before",
            "done Yes",
            "call k read",
            "failed k ?",
            "end completed",
            "user Now",
            "end completed",
        ]
    );
}

/// What the model is told of its work begins most conversations, and is nothing to show.
#[test]
fn a_snapshot_that_begins_with_instructions_makes_no_turn_of_them() {
    let all = [
        json!({"id": "s0", "role": "system", "content": "You help."}),
        json!({"id": "u1", "role": "user", "content": "Hi"}),
        json!({"id": "a1", "role": "assistant", "content": "Hello"}),
        json!({"id": "u2", "role": "user", "content": "More"}),
    ];
    let snapshot = |n: usize| event("MESSAGES_SNAPSHOT", json!({"messages": all[..n]}));
    let say = |id: &str, text: &str| {
        let held = json!({"messageId": id, "role": "assistant", "delta": text});
        event("TEXT_MESSAGE_CHUNK", held)
    };
    let lines = [
        event(
            "RUN_STARTED",
            json!({"threadId": "t", "runId": "r1", "input": {"messages": all[..2]}}),
        ),
        say("a1", "Hello"),
        snapshot(3),
        event("RUN_FINISHED", json!({"threadId": "t", "runId": "r1"})),
        event(
            "RUN_STARTED",
            json!({"threadId": "t", "runId": "r2", "input": {"messages": all}}),
        ),
        snapshot(4),
        say("a2", "Yes"),
        event("RUN_FINISHED", json!({"threadId": "t", "runId": "r2"})),
    ];
    let expected = [
        "turn user",
        "user Hi",
        "done Hello",
        "end completed",
        "turn user",
        "user More",
        "done Yes",
        "end completed",
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn a_turn_of_a_snapshot_ends_its_own_calls_and_no_others() {
    let call = |id: &str| json!([{"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}]);
    let messages = json!([
        {"id": "u1", "role": "user", "content": "Before"},
        {"id": "a1", "role": "assistant", "content": "", "toolCalls": call("old")},
        {"id": "u2", "role": "user", "content": "Now"},
    ]);
    let begun = json!({"toolCallId": "k", "toolCallName": "ls"});
    let result = json!({"messageId": "x", "toolCallId": "k", "content": "a.rs"});
    let lines = run(vec![
        event("TOOL_CALL_START", begun),
        event("MESSAGES_SNAPSHOT", json!({ "messages": messages })),
        event("TOOL_CALL_RESULT", result),
        event("RUN_FINISHED", json!({"threadId": "t", "runId": "r"})),
    ]);
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "turn user",
            "user Before",
            "call old ls",
            "failed old no_result",
            "end completed",
            "user Now",
            "call k ls",
            "result k a.rs",
            "end completed",
        ]
    );
}

#[test]
fn a_snapshot_that_says_a_message_otherwise_takes_back_all_its_parts() {
    for n_parts in [1, 2] {
        let mut lines = run(Vec::new());
        for text in &["One. ", "Two."][..n_parts] {
            for (kind, delta) in [("START", ""), ("CONTENT", *text), ("END", "")] {
                let held = json!({"messageId": "m", "delta": delta});
                lines.push(event(&format!("TEXT_MESSAGE_{kind}"), held));
            }
        }
        let said = |text: &str| {
            let messages = json!([{"id": "m", "role": "assistant", "content": text}]);
            event("MESSAGES_SNAPSHOT", json!({ "messages": messages }))
        };
        lines.extend([said("Other."), said("Other."), said("Another.")]);
        let events = read_lines(Dialect::AgUi, &lines).events;
        assert_sound("otherwise", &events);
        // What stands in the end, once what was taken back is gone.
        let retracted: Vec<&str> = taken_back(&events).collect();
        let stands = events.iter().filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) if !retracted.contains(&event.id.as_str()) => {
                Some((done.text.as_str(), event.response_id.as_deref(), done.part))
            }
            _ => None,
        });
        let stands: Vec<_> = stands.collect();
        assert_eq!(stands, [("Another.", Some("m"), Some(0))], "{n_parts}");
        assert_eq!(retracted.len(), n_parts + 1);
    }
}
