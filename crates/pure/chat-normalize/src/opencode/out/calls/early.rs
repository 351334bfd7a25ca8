//! Results that came before their call.

use chat_event::{ChatEvent, Payload};

use super::Call;
use crate::opencode::out::OpenCodeOut;

/// Results that wait for their call, and what they may hold; with more, the first is told without one.
const MAX_EARLY: usize = 1024;
const MAX_EARLY_BYTES: usize = 4 * 1024 * 1024;

impl OpenCodeOut {
    /// Keeps a result whose call may still come.
    pub(super) fn keep_early(&mut self, id: &str, event: &ChatEvent) {
        self.early_bytes += early_bytes(event);
        if let Some(before) = self.early.insert(id.to_owned(), event.clone()) {
            self.early_bytes -= early_bytes(&before);
        }
        while self.early.len() > MAX_EARLY || self.early_bytes > MAX_EARLY_BYTES {
            let Some((id, event)) = self.early.pop_first() else {
                break;
            };
            self.early_bytes -= early_bytes(&event);
            self.settle(&id, event);
        }
    }

    /// Results of calls that never came get a call without arguments.
    pub(in crate::opencode::out) fn settle_early(&mut self, turn: u64) {
        let early = std::mem::take(&mut self.early);
        self.early_bytes = 0;
        for (id, event) in early {
            let of_other = event.turn_id.as_ref().is_some_and(|_| {
                self.open_turn_of(event.turn_id.as_ref())
                    .is_some_and(|no| no != turn)
            });
            if of_other {
                self.early_bytes += early_bytes(&event);
                self.early.insert(id, event);
                continue;
            }
            self.settle(&id, event);
        }
    }

    /// Tells a result whose call never came.
    fn settle(&mut self, id: &str, mut event: ChatEvent) {
        self.event_id.clone_from(&event.id);
        if self.open_turn_of(event.turn_id.as_ref()).is_none() {
            event.turn_id = None;
        }
        if self.calls.get(id).is_none_or(Call::is_over) {
            self.new_call(&event, id, "unknown");
        }
        if let Payload::ToolResult(result) = &event.payload
            && self.calls.contains_key(id)
        {
            self.result(&event, result);
        }
    }

    pub(super) fn take_early(&mut self, id: &str) -> Option<ChatEvent> {
        let event = self.early.remove(id)?;
        self.early_bytes -= early_bytes(&event);
        Some(event)
    }
}

/// About how much a result holds that waits for its call.
fn early_bytes(event: &ChatEvent) -> usize {
    match &event.payload {
        Payload::ToolResult(result) => result.result.text_len(),
        _ => 0,
    }
}
