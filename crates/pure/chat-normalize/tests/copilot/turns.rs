//! Where turns begin and end, and what goes into them.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{event, steering};
use crate::support::{assert_sound, read_lines, told};

fn user(n: u64, text: &str, delivery: &str) -> Value {
    event(
        n,
        "user.message",
        json!({"content": text, "delivery": delivery}),
    )
}

fn answer(n: u64, text: &str) -> [Value; 3] {
    let turn = json!({"turnId": format!("t{n}")});
    let data = json!({"messageId": format!("m{n}"), "content": text, "toolRequests": [], "turnId": format!("t{n}")});
    [
        event(n, "assistant.turn_start", turn.clone()),
        event(n + 1, "assistant.message", data),
        event(n + 2, "assistant.turn_end", turn),
    ]
}

#[test]
fn a_turn_ends_with_the_answer_that_has_no_calls_and_a_new_one_begins_without_a_prompt() {
    let mut lines = vec![
        event(0, "session.start", json!({"sessionId": "s1"})),
        user(1, "Go", "idle"),
    ];
    lines.extend(answer(2, "Done."));
    lines.push(event(
        5,
        "user.message",
        json!({"content": "", "source": "autopilot", "isAutopilotContinuation": true, "delivery": "idle"}),
    ));
    lines.extend(answer(6, "More."));
    lines.push(event(
        9,
        "system.notification",
        json!({"content": "It has ended."}),
    ));
    lines.extend(answer(10, "Good."));
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("turns", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "done Done.",
            "end completed",
            "turn system",
            "done More.",
            "end completed",
            "notice It has ended.",
            "turn system",
            "done Good.",
            "end completed",
        ]
    );
    let guessed = read.events.iter().any(
        |event| matches!(&event.payload, Payload::SessionStatus(status) if status.guessed.is_some()),
    );
    assert!(!guessed);
    // Going back behind the first leaves those that nobody asked for, too.
    lines.push(event(
        13,
        "session.snapshot_rewind",
        json!({"upToEventId": "e1"}),
    ));
    let events = read_lines(Dialect::Copilot, &lines).events;
    let left = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => chat_event::SetBack::of(notice),
        _ => None,
    });
    assert_eq!(left.unwrap().left, ["e1", "e6", "e10"]);
}

#[test]
fn what_steers_goes_into_its_turn_also_where_no_call_runs() {
    let call = json!({"toolCallId": "c1", "name": "bash", "arguments": {"command": "make"}});
    let mut lines = vec![
        event(0, "session.start", json!({"sessionId": "s1"})),
        user(1, "Go", "idle"),
        event(
            2,
            "assistant.message",
            json!({"messageId": "m", "content": "", "toolRequests": [call], "turnId": "0"}),
        ),
        event(
            3,
            "tool.execution_complete",
            json!({"toolCallId": "c1", "success": true, "result": {"content": "moved to the background"}}),
        ),
        event(4, "assistant.turn_end", json!({"turnId": "0"})),
        user(5, "this, too", "steering"),
    ];
    lines.extend(answer(6, "Done."));
    // None is open.
    lines.push(user(9, "Now this", "steering"));
    let events = read_lines(Dialect::Copilot, &lines).events;
    assert_sound("steered", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Go",
            "call c1 bash",
            "result c1 moved to the background",
            "user this, too",
            "done Done.",
            "end completed",
            "turn user",
            "user Now this",
            "end interrupted",
        ]
    );
    assert_eq!(steering(&events), [None, Some(true), None]);
}

#[test]
fn what_is_attached_is_told_with_its_bytes_where_they_were_told() {
    let attached = json!([{"path": "/w/p.png", "displayName": "p.png", "assetId": "sha256:1", "mimeType": "image/png"},
        {"path": "/w/q.png", "displayName": "q.png", "assetId": "sha256:2", "mimeType": "image/png"}]);
    let image = json!([{"type": "image", "assetId": "sha256:1", "mimeType": "image/png", "description": "p"}]);
    let lines = [
        event(0, "session.start", json!({"sessionId": "s1"})),
        event(
            1,
            "session.binary_asset",
            json!({"assetId": "sha256:1", "data": "aW1n"}),
        ),
        event(
            2,
            "user.message",
            json!({"content": "See", "attachments": attached}),
        ),
        event(
            3,
            "tool.execution_start",
            json!({"toolCallId": "c1", "toolName": "view", "arguments": {"path": "/w/p.png"}}),
        ),
        event(
            4,
            "tool.execution_complete",
            json!({"toolCallId": "c1", "success": true, "result": {"content": "Viewed", "binaryResultsForLlm": image}}),
        ),
    ];
    let events = read_lines(Dialect::Copilot, &lines).events;
    assert_sound("attached", &events);
    let attached = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => message.attachments.as_ref().map(|it| it.to_value()),
        Payload::ToolResult(result) => result.extra.get("attachments").map(|it| it.to_value()),
        _ => None,
    });
    let image = |name: &str| json!({"name": name, "mediaType": "image/png", "data": "aW1n"});
    assert_eq!(
        attached.collect::<Vec<_>>(),
        [
            json!([image("p.png"), {"name": "q.png", "mediaType": "image/png", "ref": "/w/q.png"}]),
            json!([image("p")]),
        ]
    );
}

#[test]
fn a_run_works_where_it_was_started_and_names_its_model() {
    let lines = [
        super::passing(0, "session.tools_updated", json!({"model": "made"})),
        user(1, "Go", "idle"),
        super::passing(2, "session.tools_updated", json!({"model": "made"})),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let context = chat_normalize::Context {
        cwd: Some("/w".to_owned()),
        title: Some("A title".to_owned()),
        ..chat_normalize::Context::default()
    };
    let mut reader = chat_normalize::SessionReader::with_dialect(context, Dialect::Copilot);
    let mut events = Vec::new();
    reader.push(text.as_bytes(), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    let starts = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.cwd.as_deref(), start.model.as_deref())),
        _ => None,
    });
    assert_eq!(starts.collect::<Vec<_>>(), [(Some("/w"), Some("made"))]);
}
