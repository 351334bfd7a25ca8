//! What is stored of a text that comes in pieces while it is masked.

use chat_event::{ChatEvent, Payload};
use chat_feed::mask::LiveMasker;
use serde_json::json;

/// The pieces as they are stored, put together.
pub(crate) fn stored_live(pieces: &[&str]) -> String {
    let mut masker = LiveMasker::new();
    let mut stored = String::new();
    let mut take = |events: Vec<ChatEvent>| {
        for event in events {
            let Payload::AssistantChunk(chunk) = event.payload else {
                panic!("{event:?} is no piece");
            };
            stored.push_str(&chunk.text);
        }
    };
    for (nth, piece) in pieces.iter().enumerate() {
        let line = json!({"id": format!("e{nth}"), "timestamp": 1, "sessionId": "s", "type": "assistant_chunk", "turnId": "t", "responseId": "r", "payload": {"text": piece, "index": nth}});
        let event = ChatEvent::from_json(&line.to_string()).expect("an event");
        take(masker.push(event));
    }
    take(masker.finish());
    assert!(!masker.holds(), "all was told");
    stored
}
