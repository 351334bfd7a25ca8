//! Answers as they were given: where secrets are masked before they are stored, who asked for one could not go on with what the
//! log says. They are kept in memory only, and given to who may send to the session.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use chat_store::SessionId;
use serde_json::Value;

use super::Kind;
use crate::locked::locked;

/// So many are kept, of all sessions, for so long; who asks takes his within seconds.
const MOST: usize = 256;
const PATIENCE: Duration = Duration::from_secs(600);

/// The session, what was asked there, and the payload of the answer.
type Answer = (SessionId, Kind, String, Value);

/// The newest answers.
#[derive(Default)]
pub(crate) struct Said(Mutex<VecDeque<(Instant, Answer)>>);

impl Said {
    /// Keeps an answer, which is about to be stored.
    pub(crate) fn keep(&self, session: &SessionId, kind: Kind, request_id: &str, payload: Value) {
        let mut said = locked(&self.0);
        forget_old(&mut said);
        if said.len() >= MOST {
            said.pop_front();
        }
        let answer = (session.clone(), kind, request_id.to_owned(), payload);
        said.push_back((Instant::now(), answer));
    }

    /// The answer, where it is kept.
    pub(crate) fn of(&self, session: &SessionId, kind: Kind, request_id: &str) -> Option<Value> {
        let mut said = locked(&self.0);
        forget_old(&mut said);
        let mut newest = said.iter().rev();
        let found = newest.find(|(_, answer)| is_to(answer, session, kind, request_id));
        found.map(|(_, (.., payload))| payload.clone())
    }

    /// It was not stored, or stands in the log as it was given.
    pub(crate) fn forget(&self, session: &SessionId, kind: Kind, request_id: &str) {
        locked(&self.0).retain(|(_, answer)| !is_to(answer, session, kind, request_id));
    }

    /// The session's log is another one.
    pub(crate) fn forget_session(&self, session: &SessionId) {
        locked(&self.0).retain(|(_, (of, ..))| of != session);
    }
}

fn is_to((of, to, id, _): &Answer, session: &SessionId, kind: Kind, request_id: &str) -> bool {
    (of, *to, id.as_str()) == (session, kind, request_id)
}

fn forget_old(said: &mut VecDeque<(Instant, Answer)>) {
    while said.front().is_some_and(|(at, _)| at.elapsed() > PATIENCE) {
        said.pop_front();
    }
}
