//! What was asked and not answered yet, and the events that answers are.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::{PermissionResolved, QuestionResolved};
use chat_event::{Extra, Json};

use crate::emit::{Emitter, Place};

#[derive(Debug)]
pub(super) struct Ask {
    pub(super) request_id: String,
    pub(super) call_id: Option<String>,
    pub(super) place: Place,
    pub(super) turn: String,
    pub(super) is_question: bool,
}

/// What is open, by the server's number.
#[derive(Debug, Default)]
pub(super) struct OpenAsks {
    asks: BTreeMap<String, Ask>,
    /// Calls with what was asked about them: each piece of a call's output looks here.
    by_call: BTreeMap<String, BTreeSet<String>>,
}

impl OpenAsks {
    pub(super) fn get(&self, native_id: &str) -> Option<&Ask> {
        self.asks.get(native_id)
    }

    pub(super) fn insert(&mut self, native_id: &str, ask: Ask) {
        if let Some(call_id) = &ask.call_id {
            let of_call = self.by_call.entry(call_id.clone()).or_default();
            of_call.insert(native_id.to_owned());
        }
        self.asks.insert(native_id.to_owned(), ask);
    }

    pub(super) fn remove(&mut self, native_id: &str) -> Option<Ask> {
        let ask = self.asks.remove(native_id)?;
        if let Some(call_id) = &ask.call_id
            && let Some(of_call) = self.by_call.get_mut(call_id)
        {
            of_call.remove(native_id);
            if of_call.is_empty() {
                self.by_call.remove(call_id);
            }
        }
        Some(ask)
    }

    /// Takes out what was asked about a call.
    pub(super) fn take_of_call(&mut self, call_id: &str) -> Vec<Ask> {
        let ids = self.by_call.remove(call_id).unwrap_or_default();
        ids.iter().filter_map(|id| self.asks.remove(id)).collect()
    }

    /// Takes out what was asked in `turn`, or all.
    pub(super) fn take_of_turn(&mut self, turn: Option<&str>) -> Vec<Ask> {
        let asks = self.asks.iter();
        let ids: Vec<String> = asks
            .filter(|(_, ask)| turn.is_none_or(|turn| ask.turn == turn))
            .map(|(id, _)| id.clone())
            .collect();
        ids.iter().filter_map(|id| self.remove(id)).collect()
    }
}

impl Ask {
    pub(super) fn resolve(
        self,
        emitter: &mut Emitter,
        decision: &str,
        scope: Option<&str>,
        by: Option<&str>,
        answers: Option<Json>,
    ) {
        let id = format!("{}:answer", self.request_id);
        if self.is_question {
            let outcome = match decision {
                "allow" => "answered",
                "deny" => "rejected",
                _ => "expired",
            };
            let payload = QuestionResolved {
                request_id: self.request_id,
                answers,
                outcome: outcome.to_owned(),
                extra: Extra::default(),
            };
            emitter.add_as(&id, &self.place, payload);
        } else {
            let payload = PermissionResolved {
                request_id: self.request_id,
                decision: decision.to_owned(),
                scope: scope.map(str::to_owned),
                by: by.map(str::to_owned),
                ..PermissionResolved::default()
            };
            emitter.add_as(&id, &self.place, payload);
        }
    }
}
