//! What was asked and waits for an answer.

use std::collections::{BTreeMap, HashMap};

use chat_event::Json;
use chat_event::payload::{PermissionResolved, QuestionResolved};
use serde_json::Value;

use crate::acp::wire::Asked;
use crate::emit::{Emitter, Place};

/// What was asked and is not answered, by the id of the request.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    pub(super) open: BTreeMap<String, Ask>,
    /// The requests about a call.
    pub(super) about: BTreeMap<String, Vec<String>>,
    /// The requests that were made in a turn.
    of_turn: HashMap<String, Vec<String>>,
    /// How often the wire's id was used.
    uses: BTreeMap<String, u32>,
}

#[derive(Debug)]
pub(super) struct Ask {
    pub(super) place: Place,
    pub(super) question: bool,
    /// The call it is about, by the agent's id.
    pub(super) call: Option<String>,
    /// Option id → kind.
    pub(super) options: BTreeMap<String, String>,
    /// The id by which it is said to be complete.
    pub(super) elicitation: Option<String>,
}

impl Asks {
    /// The wire counts anew in each connection.
    pub(super) fn new_id(&mut self, wire_id: &str) -> String {
        let n = self.uses.entry(wire_id.to_owned()).or_default();
        *n += 1;
        if *n == 1 {
            wire_id.to_owned()
        } else {
            format!("{wire_id}~{n}")
        }
    }

    /// The request waits for its answer.
    pub(super) fn wait(&mut self, request_id: &str, ask: Ask) {
        if let Some(turn_id) = &ask.place.turn_id {
            let of_turn = self.of_turn.entry(turn_id.clone()).or_default();
            of_turn.push(request_id.to_owned());
        }
        self.open.insert(request_id.to_owned(), ask);
    }

    pub(super) fn note(&mut self, call: Option<String>, request_id: &str) {
        if let Some(call) = call {
            let about = self.about.entry(call).or_default();
            about.push(request_id.to_owned());
        }
    }

    pub(super) fn of_answer(&self, asked: &Asked, id: &str) -> String {
        let about = Some(asked.about.clone()).filter(|about| !about.is_empty());
        about.unwrap_or_else(|| id.to_owned())
    }

    /// The call succeeded or failed: what was asked about it is settled.
    pub(in crate::acp) fn settle_call(
        &mut self,
        emitter: &mut Emitter,
        call: &str,
        decision: Option<&str>,
    ) {
        for id in self.about.remove(call).unwrap_or_default() {
            if let Some(ask) = self.open.remove(&id) {
                ask.close(emitter, &id, decision);
            }
        }
    }

    /// The turn is over, and with it all that was asked in it.
    pub(in crate::acp) fn expire_turn(&mut self, emitter: &mut Emitter, turn_id: &str) {
        let mut of_turn = self.of_turn.remove(turn_id).unwrap_or_default();
        of_turn.sort_unstable();
        for id in of_turn {
            if let Some(ask) = self.open.remove(&id) {
                ask.close(emitter, &id, None);
            }
        }
    }

    pub(in crate::acp) fn expire_all(&mut self, emitter: &mut Emitter) {
        for (id, ask) in std::mem::take(&mut self.open) {
            ask.close(emitter, &id, None);
        }
    }
}

impl Ask {
    /// Closes what nobody answered; `decision` where it is plain from what followed.
    pub(super) fn close(self, emitter: &mut Emitter, request_id: &str, decision: Option<&str>) {
        let id = format!("answer-{request_id}");
        if self.question {
            let payload = QuestionResolved {
                request_id: request_id.to_owned(),
                outcome: "expired".to_owned(),
                ..QuestionResolved::default()
            };
            emitter.add_as(&id, &self.place, payload);
            return;
        }
        let mut payload = resolved(request_id, decision.unwrap_or("cancel"), None, None);
        if decision.is_some() {
            payload
                .extra
                .insert("guessed", Json::from(Value::Bool(true)));
        }
        emitter.add_as(&id, &self.place, payload);
    }
}

pub(super) fn resolved(
    request_id: &str,
    decision: &str,
    scope: Option<&str>,
    by: Option<&str>,
) -> PermissionResolved {
    PermissionResolved {
        request_id: request_id.to_owned(),
        decision: decision.to_owned(),
        scope: scope.map(str::to_owned),
        by: by.map(str::to_owned),
        ..PermissionResolved::default()
    }
}
