//! What waits for an answer.

use std::collections::VecDeque;

use chat_event::{ChatEvent, Payload};

use crate::projections::trace::calls::TurnNth;
use crate::renderer::hash;

/// So many requests may wait for their answer.
const MOST_ASKS: usize = 256;

/// What a request is known by: whether it is a question, and the hash of its id. Each kind counts its ids for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(bool, u64);

impl Name {
    /// That of the request that `event` brings, answers, or tells of again.
    pub(super) fn of(event: &ChatEvent, request_id: &str) -> Name {
        let is_question = matches!(
            event.payload,
            Payload::QuestionRequest(_) | Payload::QuestionResolved(_)
        );
        Name(is_question, hash(request_id))
    }
}

/// One that waits.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) name: Name,
    pub(super) what: String,
    pub(super) turn: Option<TurnNth>,
    /// The call that has to wait for it.
    pub(super) call_id: Option<String>,
}

/// Those that wait, the oldest first: where there are too many it is the oldest that is waited for no longer.
#[derive(Debug, Default)]
pub(super) struct Asks(VecDeque<Asked>);

impl Asks {
    /// Adds one; what is asked again is asked anew.
    pub(super) fn add(&mut self, asked: Asked) {
        self.take(asked.name);
        if self.0.len() == MOST_ASKS {
            self.0.pop_front();
        }
        self.0.push_back(asked);
    }

    pub(super) fn get_mut(&mut self, name: Name) -> Option<&mut Asked> {
        self.0.iter_mut().rfind(|asked| asked.name == name)
    }

    /// Takes one that is answered.
    pub(super) fn take(&mut self, name: Name) -> Option<Asked> {
        let at = self.0.iter().rposition(|asked| asked.name == name)?;
        self.0.remove(at)
    }

    /// Whether a turn waits for any.
    pub(super) fn any_in(&self, turn: TurnNth) -> bool {
        self.0.iter().any(|asked| asked.turn == Some(turn))
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
