//! The projections of a log: small cases word for word, and what holds of every log.

mod claude_prompt;
mod laws;
mod markdown;
mod openai;
mod outside;
mod recorded;
mod summary;

use chat_event::{ChatEvent, Json, Payload};
use serde_json::Value;

/// Events from lines of `type turn response payload`; `-` stands for no turn, no response.
fn log(lines: &[(&str, &str, &str, Value)]) -> Vec<ChatEvent> {
    let event =
        |(nth, (event_type, turn, response, payload)): (usize, &(&str, &str, &str, Value))| {
            let payload = Payload::from_json(event_type, Json::from(payload));
            assert!(!matches!(payload, Payload::Malformed { .. }), "{payload:?}");
            let mut event = ChatEvent::new(format!("e{nth}"), nth as i64 * 1_000, "s", payload);
            let named = |name: &str| (name != "-").then(|| name.to_owned());
            event.turn_id = named(turn);
            event.response_id = named(response);
            event
        };
    lines.iter().enumerate().map(event).collect()
}

/// The same, all by the sub-agent of a call.
fn within(call: &str, events: Vec<ChatEvent>) -> Vec<ChatEvent> {
    let inside = |(nth, event): (usize, ChatEvent)| ChatEvent {
        id: format!("{call}-{nth}"),
        parent_tool_call_id: Some(call.to_owned()),
        ..event
    };
    events.into_iter().enumerate().map(inside).collect()
}
