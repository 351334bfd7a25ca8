//! What finding promises: that slices, and events that come meanwhile, do not change what is found; and what each part
//! of a question means.

use crate::support::log;
use chat_event::{BodyRef, ChatEvent, Json, Payload, bodies};
use chat_feed::find::{Find, How, Kinds, Query, Totals};
use chat_feed::{BlockId, ChatRenderer, Feed};
use proptest::prelude::*;
use serde_json::{Value, json};

mod cost;
mod elsewhere;
mod laws;
mod questions;

fn ids(find: &Find) -> Vec<BlockId> {
    find.hits().collect()
}

/// A search that was never interrupted.
fn from_scratch(feed: &Feed, question: &str, chips: Kinds) -> Find {
    let mut find = Find::new(Query::parse(question).unwrap());
    find.choose(feed, chips);
    assert!(find.search(feed, usize::MAX, &mut Vec::new()));
    find
}

fn event(nth: usize, event_type: &str, payload: Value) -> ChatEvent {
    let payload = Payload::from_json(event_type, Json::from(payload));
    let mut event = ChatEvent::new(format!("e{nth}"), 0, "s", payload);
    event.turn_id = Some("t1".to_owned());
    event
}

/// A session with one of each that is asked for below.
fn story() -> ChatRenderer {
    let events = [
        (
            "user_message",
            json!({"text": "Mend the Größe of the lamp"}),
        ),
        ("thinking_done", json!({"text": "It may be the fuse."})),
        (
            "tool_call",
            json!({"toolCallId": "c1", "toolName": "Bash", "args": {"command": "cargo test -q"}}),
        ),
        (
            "tool_output_chunk",
            json!({"toolCallId": "c1", "chunk": "running\n\u{1b}[31mwarn\u{1b}[0ming: lamp"}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "c1", "result": {"out": "line\nfuse blown", "n": 4711}, "error": {"message": "exit 1"}}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c2", "toolName": "Edit", "args": {"file_path": "/w/src/lamp.rs", "old_string": "fuse"}}),
        ),
        (
            "tool_result",
            json!({"toolCallId": "c2", "result": "edited"}),
        ),
        (
            "file_edit",
            json!({"toolCallId": "c2", "filePath": "/w/src/lamp.rs", "changeType": "modified", "linesAdded": 1, "diffPreview": "+wire"}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c3", "toolName": "Task", "args": {"subagent_type": "Explore", "description": "look"}}),
        ),
        (
            "permission_request",
            json!({"requestId": "p1", "toolName": "Bash", "title": "rm -rf build?"}),
        ),
        ("assistant_done", json!({"text": "Done: the lamp."})),
    ];
    let mut renderer = ChatRenderer::new();
    for (nth, (event_type, payload)) in events.into_iter().enumerate() {
        renderer.render_event(&event(nth, event_type, payload));
    }
    let mut inside = event(
        20,
        "tool_call",
        json!({"toolCallId": "c4", "toolName": "Read", "args": {"path": "docs/x.md"}}),
    );
    inside.parent_tool_call_id = Some("c3".to_owned());
    renderer.render_event(&inside);
    renderer
}

#[test]
fn a_call_and_its_changed_file_are_one_hit_when_what_lay_between_them_goes() {
    let call = json!({"toolCallId": "c", "toolName": "Edit", "args": {"file_path": "lamp.rs"}});
    let edit = json!({"toolCallId": "c", "filePath": "lamp.rs", "changeType": "modified", "diffPreview": "+wire"});
    let mut note = event(2, "notice", json!({"level": "info", "text": "checked"}));
    note.parent_tool_call_id = Some("c".to_owned());
    let events = [
        event(0, "tool_call", call),
        event(
            1,
            "tool_result",
            json!({"toolCallId": "c", "result": "edited"}),
        ),
        note,
        event(3, "file_edit", edit),
        event(4, "retract", json!({"eventIds": ["e2"]})),
    ];
    let mut renderer = ChatRenderer::new();
    let mut find = Find::new(Query::parse("lamp").unwrap());
    for (event, n_hits) in events.iter().zip([1, 1, 1, 2, 1]) {
        let patches = renderer.render_event(event);
        find.note(renderer.feed(), &patches);
        find.search(renderer.feed(), usize::MAX, &mut Vec::new());
        assert_eq!(find.len(), n_hits, "{}", event.id);
        let anew = from_scratch(renderer.feed(), "lamp", Kinds::default());
        assert_eq!(ids(&find), ids(&anew), "{}", event.id);
    }
}
