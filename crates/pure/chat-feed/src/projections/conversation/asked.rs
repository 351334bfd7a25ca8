//! What calls have to wait for: they run from the answer on.

use std::collections::VecDeque;

use chat_event::{ChatEvent, Payload};

use super::Conversation;
use crate::projections::early_answers::EarlyAnswers;
use crate::renderer::seen::hash;

/// So many requests may wait for their answers.
const MOST_ASKS: usize = 256;

/// Requests that wait for their answer, and answers that wait for their call.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: VecDeque<Ask>,
    pub(super) early: EarlyAnswers,
}

/// A request for a call.
#[derive(Debug)]
struct Ask {
    /// Its kind and the hash of its id: each kind counts its ids for itself.
    name: (bool, u64),
    call_id: Box<str>,
    turn: u64,
}

impl Conversation {
    /// Notes what is asked for a call, or the answer to it.
    pub(super) fn note_ask(&mut self, event: &ChatEvent) {
        match &event.payload {
            Payload::PermissionRequest(request) => {
                self.asked_for(event, &request.request_id, request.tool_call_id.as_deref());
            }
            Payload::QuestionRequest(request) => {
                self.asked_for(event, &request.request_id, request.tool_call_id.as_deref());
            }
            Payload::PermissionResolved(resolved) => self.answered(event, &resolved.request_id),
            Payload::QuestionResolved(resolved) => self.answered(event, &resolved.request_id),
            _ => {}
        }
    }

    /// `request_id` is asked for a call, as an event tells that may call the request otherwise.
    pub(in crate::projections) fn asked_for(
        &mut self,
        event: &ChatEvent,
        request_id: &str,
        call_id: Option<&str>,
    ) {
        let Some(call_id) = call_id else { return };
        if self.asks.open.len() == MOST_ASKS {
            self.asks.open.pop_front();
        }
        self.asks.open.push_back(Ask {
            name: (is_question(event), hash(request_id)),
            call_id: call_id.into(),
            turn: self.turn,
        });
    }

    fn answered(&mut self, event: &ChatEvent, request_id: &str) {
        let name = (is_question(event), hash(request_id));
        // The newest counts: it may be told again, with another call.
        let mut asks = self.asks.open.iter();
        let Some(at) = asks.rposition(|ask| ask.name == name) else {
            return;
        };
        let Some(ask) = self.asks.open.remove(at) else {
            return;
        };
        let call = self.call_ids.get(&ask.call_id);
        let Some(call) = call.and_then(|key| self.calls.get_mut(key)) else {
            let turn = Some(ask.turn);
            return self.asks.early.note(&ask.call_id, turn, event.timestamp);
        };
        if call.result.is_none() {
            call.allowed_ms = event.timestamp.max(call.allowed_ms);
        }
    }
}

fn is_question(event: &ChatEvent) -> bool {
    matches!(
        event.payload,
        Payload::QuestionRequest(_) | Payload::QuestionResolved(_)
    )
}
