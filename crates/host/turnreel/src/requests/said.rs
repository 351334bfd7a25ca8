//! Answers as they were given: where secrets are masked before they are stored, who asked for one could not go on with what the
//! log says. They are kept in memory only, and given to who may send to the session.

use std::collections::VecDeque;
use std::sync::Mutex;

use chat_store::SessionId;
use serde_json::Value;

use super::Kind;
use crate::locked::locked;

/// So many are kept, of all sessions; who asks takes his within seconds.
const MOST: usize = 256;

/// The session, what was asked there, and the payload of the answer.
type Answer = (SessionId, Kind, String, Value);

/// The newest answers.
#[derive(Default)]
pub(crate) struct Said(Mutex<VecDeque<Answer>>);

impl Said {
    /// Keeps an answer, which is about to be stored.
    pub(crate) fn keep(&self, session: &SessionId, kind: Kind, request_id: &str, payload: Value) {
        let mut said = locked(&self.0);
        if said.len() >= MOST {
            said.pop_front();
        }
        said.push_back((session.clone(), kind, request_id.to_owned(), payload));
    }

    /// The answer, where it is kept.
    pub(crate) fn of(&self, session: &SessionId, kind: Kind, request_id: &str) -> Option<Value> {
        let said = locked(&self.0);
        let mut newest = said.iter().rev();
        let found =
            newest.find(|(of, to, id, _)| (of, *to, id.as_str()) == (session, kind, request_id));
        found.map(|(.., payload)| payload.clone())
    }

    /// It was not stored.
    pub(crate) fn forget(&self, session: &SessionId, kind: Kind, request_id: &str) {
        locked(&self.0)
            .retain(|(of, to, id, _)| (of, *to, id.as_str()) != (session, kind, request_id));
    }

    /// The session's log is another one.
    pub(super) fn forget_session(&self, session: &SessionId) {
        locked(&self.0).retain(|(of, ..)| of != session);
    }
}
