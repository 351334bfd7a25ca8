//! Texts and thoughts of the agent.

use chat_event::payload::{AssistantDone, ThinkingDone};

use super::Track;
use crate::emit::{Emitter, Place};

impl Track {
    /// A whole text of the assistant; an empty one says nothing.
    pub(crate) fn text(&mut self, emitter: &mut Emitter, response_id: &str, part: u32, text: &str) {
        if !text.is_empty() {
            let place = self.place().in_response(response_id);
            text_in(emitter, &place, part, text);
        }
    }

    /// A whole thought of the assistant; an empty one says nothing, unless it was withheld.
    pub(crate) fn thought(
        &mut self,
        emitter: &mut Emitter,
        response_id: &str,
        part: u32,
        text: &str,
        redacted: bool,
    ) {
        if !text.is_empty() || redacted {
            let place = self.place().in_response(response_id);
            thought_in(emitter, &place, part, text, redacted);
        }
    }
}

/// A whole text of the response that `place` names, which may be of any turn; the id of its event.
pub(crate) fn text_in(emitter: &mut Emitter, place: &Place, part: u32, text: &str) -> String {
    let done = AssistantDone {
        text: text.to_owned(),
        part: Some(part),
        ..AssistantDone::default()
    };
    let response_id = place.response_id.as_deref().unwrap_or("");
    let id = format!("{response_id}:text{part}");
    emitter.add_as(&id, place, done).id.clone()
}

/// As [`text_in`], of a thought.
pub(crate) fn thought_in(
    emitter: &mut Emitter,
    place: &Place,
    part: u32,
    text: &str,
    redacted: bool,
) -> String {
    let done = ThinkingDone {
        text: text.to_owned(),
        part: Some(part),
        redacted: redacted.then_some(true),
        ..ThinkingDone::default()
    };
    let response_id = place.response_id.as_deref().unwrap_or("");
    let id = format!("{response_id}:thinking{part}");
    emitter.add_as(&id, place, done).id.clone()
}
