//! Masks the events of a session as they come, before they are stored.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};

use super::finder::{Finder, id_label};
use super::flows::{Flows, take_text};
use super::parts::piece_of;
use super::plan::read;
use super::write::replaced;

/// Masks the secrets of a session while it goes on. What is masked is gone: there is no second look.
///
/// Each event comes out as one of the same id, in its order; before it there may be some that bring what was held back of
/// others. Of a text that comes in pieces the last word waits until it is whole, and what waits is told by
/// [`LiveMasker::finish`] where nothing follows. The same value has the same label everywhere, and so have all others of its kind: labels
/// say the kind alone.
///
/// ```
/// use chat_event::ChatEvent;
/// use chat_feed::mask::LiveMasker;
/// let mut masker = LiveMasker::new();
/// let mut said = String::new();
/// for piece in ["export API_TOKEN=s3cr", "3t9x7q and", " go"] {
///     let line = format!(r#"{{"id":"e","timestamp":1,"sessionId":"s","type":"tool_output_chunk","payload":{{"toolCallId":"c","chunk":"{piece}"}}}}"#);
///     for event in masker.push(ChatEvent::from_json(&line).unwrap()) {
///         let chat_event::Payload::ToolOutputChunk(chunk) = event.payload else { panic!() };
///         said.push_str(&chunk.chunk);
///     }
/// }
/// assert_eq!(said, "export API_TOKEN=[masked: secret] and ");
/// assert!(masker.holds());
/// ```
#[derive(Debug, Default)]
pub struct LiveMasker {
    flows: Flows,
    finder: Finder,
}

impl LiveMasker {
    /// A masker of a session of which nothing came yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event that is stored already, where the session began before: who asks for secrets, and which texts are not
    /// whole yet.
    pub fn resume(&mut self, stored: &ChatEvent) {
        self.finder.answers.note(stored);
        if piece_of(stored).is_some() {
            self.flows.resume(stored);
        } else {
            self.flows.forget_whole_of(stored);
            if let Some(ends) = ended_by(stored) {
                self.flows.forget(ends);
            }
        }
    }

    /// The name of an event as it is stored: some hold secrets.
    pub fn id(&self, id: &str) -> Option<String> {
        let found = self.finder.in_id(id);
        let stretches = found.iter().map(|found| (&found.range, id_label(found)));
        (!found.is_empty()).then(|| replaced(id, &read(id), stretches))
    }

    /// The event as it is to be stored, the last of these; others before it bring what waited.
    pub fn push(&mut self, mut event: ChatEvent) -> Vec<ChatEvent> {
        self.finder.answers.note(&event);
        if let Some(text) = take_text(&mut event) {
            // What it says beside is looked at as in any other event.
            let event = self.finder.event(event);
            return self.flows.push(event, text, &mut self.finder);
        }
        let says_all = matches!(
            event.payload,
            Payload::AssistantDone(_) | Payload::ThinkingDone(_) | Payload::ToolCall(_)
        );
        let mut events = Vec::new();
        if says_all {
            self.flows.forget_whole_of(&event);
        } else if let Some(ends) = ended_by(&event) {
            events = self.flows.finish(&ends, &mut self.finder);
            self.flows.forget(&ends);
        }
        events.push(self.finder.event(event));
        events
    }

    /// Whether a part of some text waits for what follows.
    pub fn holds(&self) -> bool {
        self.flows.hold()
    }

    /// What waits, where nothing will follow.
    pub fn finish(&mut self) -> Vec<ChatEvent> {
        self.flows.finish(|_| true, &mut self.finder)
    }

    /// What waits, where nothing followed for long. Texts may go on behind it; a word that may be half of a secret is masked.
    pub fn pause(&mut self) -> Vec<ChatEvent> {
        self.flows.pause(&mut self.finder)
    }

    /// How often something was masked since this was last asked, by its kind.
    pub fn take_masked(&mut self) -> BTreeMap<&'static str, u64> {
        std::mem::take(&mut self.finder.masked)
    }
}

/// Whose texts an event ends.
fn ended_by(event: &ChatEvent) -> Option<Box<dyn Fn(&ChatEvent) -> bool + '_>> {
    match &event.payload {
        Payload::ToolResult(result) => {
            let of_call = |piece: &ChatEvent| match &piece.payload {
                Payload::ToolOutputChunk(chunk) => chunk.tool_call_id == result.tool_call_id,
                _ => false,
            };
            Some(Box::new(of_call))
        }
        Payload::TurnStart(_)
        | Payload::TurnEnd(_)
        | Payload::Interrupt(_)
        | Payload::ErrorEvent(_) => {
            let turn = event.turn_id.as_ref();
            let of_turn = move |piece: &ChatEvent| {
                let is_other = matches!(event.payload, Payload::TurnStart(_));
                let is_same = piece.turn_id.as_ref() == turn;
                // Another turn of the same agent begins where this one has ended.
                turn.is_none() || is_same != is_other && piece.agent_id == event.agent_id
            };
            Some(Box::new(of_turn))
        }
        Payload::SessionEnd(_) => Some(Box::new(|_| true)),
        _ => None,
    }
}
