//! Agents that work for a call: their conversations' events come between the call and its result, marked (`weave`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::session::Session;
use super::weave::WeaveLine;
use crate::emit::Emitter;
use crate::track::Worker;
use crate::value::{str_of, text_of};

/// So many agents' conversations are told apart; what comes of more is told in the session's own.
const MOST: usize = 1000;

/// The agents, by their conversations.
#[derive(Debug, Default)]
pub(super) struct Helpers(BTreeMap<String, Helper>);

#[derive(Debug)]
struct Helper {
    session: Session,
    /// Whose call it works for, where that is no call of the session's own agent, and which.
    by: Option<String>,
    call: Option<String>,
}

impl Helpers {
    /// The conversation that an event is of, where it is an agent's; `main` is the session's own.
    pub(super) fn of(&mut self, main: &Session, event: &Value) -> Option<&mut Session> {
        let mark = event.get(WeaveLine::AGENT)?;
        let agent_id = text_of(mark, "id")?;
        let by = text_of(mark, "by");
        let call = text_of(mark, "call");
        let knows = self.0.get(agent_id);
        if knows.is_none() && self.0.len() >= MOST {
            return None;
        }
        if knows.is_none_or(|helper| helper.call.as_deref() != call) {
            let of = match by {
                Some(by) => self.0.get(by).map(|helper| &helper.session),
                None => Some(main),
            };
            let waiting = of.and_then(|of| of.track.waiting(call?));
            let worker = Worker {
                agent_id: agent_id.to_owned(),
                call: waiting.map(|call| call.id.clone()),
                turn: waiting.and_then(|call| call.place.turn_id.clone()),
            };
            let session = match self.0.remove(agent_id) {
                // It goes on for another call.
                Some(mut helper) => {
                    helper.session.track.work_for(worker);
                    helper.session
                }
                None => Session::of(worker),
            };
            let helper = Helper {
                session,
                by: by.map(str::to_owned),
                call: call.map(str::to_owned),
            };
            self.0.insert(agent_id.to_owned(), helper);
        }
        let session = &mut self.0.get_mut(agent_id)?.session;
        session.zone.clone_from(&main.zone);
        Some(session)
    }

    /// A call has its result: what works for it is over. `event` is the one that says so, of the agent it names.
    pub(super) fn end_with(&mut self, emitter: &mut Emitter, event: &Value) {
        let is_result = matches!(
            str_of(event, "kind"),
            Some("ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation")
        );
        let call = text_of(event, "tool_call_id").filter(|_| is_result);
        let by = event
            .get(WeaveLine::AGENT)
            .and_then(|mark| text_of(mark, "id"));
        if call.is_none() {
            return;
        }
        for helper in self.0.values_mut() {
            if helper.call.as_deref() == call && helper.by.as_deref() == by {
                helper.session.close(emitter);
            }
        }
    }

    /// Nothing more comes.
    pub(super) fn end_all(&mut self, emitter: &mut Emitter) {
        for helper in self.0.values_mut() {
            helper.session.close(emitter);
        }
    }
}
