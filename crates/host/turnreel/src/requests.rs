//! What agents ask, and the first answer to each: permissions and questions, as the logs have them.
//!
//! The log decides. A session's requests are read from it when somebody first asks for one, and kept up with what is
//! stored from then on, whoever resolves them: the page, a hook, or the agent itself.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use chat_event::{ChatEvent, Payload};
use chat_store::{SessionId, Stored};
use serde_json::Value;
use tokio::sync::watch;

use crate::error::ApiError;
use crate::live::Live;
use crate::locked::locked;

/// Sessions whose requests are kept; they can be read again.
const MAX_SESSIONS: usize = 256;

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Permission,
    Question,
}

/// One request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Where it is asked, once it is: an answer may come before it.
    pub(crate) request: Option<Request>,
    /// The payload of the first answer, and its number.
    pub(crate) outcome: Option<(Value, u64)>,
}

/// What of the event that asks is needed for its answer; what it asks may be long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) turn_id: Option<String>,
    pub(crate) agent_id: Option<String>,
    pub(crate) parent_tool_call_id: Option<String>,
    /// An answer from here would not reach who asks.
    pub(crate) is_answered_elsewhere: bool,
}

type OfSession = BTreeMap<(Kind, String), Asked>;

/// The requests of the sessions that were asked about.
#[derive(Default)]
pub(crate) struct Requests {
    sessions: Mutex<Sessions>,
    /// Counts answers; waking is all it is for.
    answered: watch::Sender<u64>,
}

/// Those that are kept; the one that was read the longest ago makes room.
#[derive(Default)]
struct Sessions {
    requests: HashMap<SessionId, OfSession>,
    /// In the order in which they were read.
    order: VecDeque<SessionId>,
}

impl Sessions {
    fn keep(&mut self, id: &SessionId, requests: OfSession) {
        self.forget(id);
        if self.order.len() == MAX_SESSIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.requests.remove(&oldest);
        }
        self.order.push_back(id.clone());
        self.requests.insert(id.clone(), requests);
    }

    fn forget(&mut self, id: &SessionId) {
        if self.requests.remove(id).is_some() {
            self.order.retain(|other| other != id);
        }
    }
}

impl Requests {
    /// Takes what was stored.
    pub(crate) fn note(&self, id: &SessionId, stored: &[Stored]) {
        let mut sessions = locked(&self.sessions);
        let mut nobodys = OfSession::new();
        // Who waits for an answer of a session that made room looks for it in the log.
        let requests = sessions.requests.get_mut(id).unwrap_or(&mut nobodys);
        let mut n_answers = 0;
        for stored in stored {
            n_answers += u64::from(take(requests, &stored.event));
        }
        drop(sessions);
        if n_answers > 0 {
            self.answered.send_modify(|n| *n += n_answers);
        }
    }

    /// Wakes with each answer, to whatever request.
    pub(crate) fn answers(&self) -> watch::Receiver<u64> {
        self.answered.subscribe()
    }

    /// The request, where the session has it.
    ///
    /// # Errors
    ///
    /// Where the log cannot be read.
    pub(crate) async fn find(
        self: &Arc<Self>,
        live: &Arc<Live>,
        kind: Kind,
        request_id: &str,
    ) -> Result<Option<Asked>, ApiError> {
        if let Some(known) = self.known(live, kind, request_id) {
            return Ok(known);
        }
        // Most of a long log is read while others write to it.
        let epoch = live.session.position().0;
        let (mut requests, mut head) = read(live, 0, OfSession::new()).await?;
        let _writer = live.writer.lock().await;
        if let Some(known) = self.known(live, kind, request_id) {
            return Ok(known);
        }
        if live.session.position().0 != epoch {
            // It goes on under another one: what was read may not be in it.
            (requests, head) = Default::default();
        }
        (requests, _) = read(live, head, requests).await?;
        let asked = requests.get(&(kind, request_id.to_owned())).cloned();
        locked(&self.sessions).keep(live.session.id(), requests);
        Ok(asked)
    }

    /// As [`Requests::find`], for who holds the session's `writer`.
    pub(crate) async fn find_as_writer(
        self: &Arc<Self>,
        live: &Arc<Live>,
        kind: Kind,
        request_id: &str,
    ) -> Result<Option<Asked>, ApiError> {
        if let Some(known) = self.known(live, kind, request_id) {
            return Ok(known);
        }
        let (requests, _) = read(live, 0, OfSession::new()).await?;
        let asked = requests.get(&(kind, request_id.to_owned())).cloned();
        locked(&self.sessions).keep(live.session.id(), requests);
        Ok(asked)
    }

    /// Its log is read anew when something of it is asked for: it may have more than we were told of.
    pub(crate) fn forget(&self, session: &SessionId) {
        locked(&self.sessions).forget(session);
    }

    /// The request, as far as is known without reading the log; `None` where nothing of its session is.
    fn known(&self, live: &Live, kind: Kind, request_id: &str) -> Option<Option<Asked>> {
        let sessions = locked(&self.sessions);
        let requests = sessions.requests.get(live.session.id())?;
        Some(requests.get(&(kind, request_id.to_owned())).cloned())
    }
}

/// Adds the requests of a session's log behind `after`, and says how far it was read.
async fn read(
    live: &Live,
    after: u64,
    mut requests: OfSession,
) -> Result<(OfSession, u64), ApiError> {
    let session = live.session.clone();
    let reading = move || -> Result<(OfSession, u64), ApiError> {
        let mut head = after;
        session.walk(after, &mut |seq, line| {
            head = seq;
            // Lines are compact, so this finds all there are, and spares the others the parser.
            let may_be =
                line.contains(r#""type":"permission_"#) || line.contains(r#""type":"question_"#);
            if may_be && let Ok(event) = ChatEvent::from_json(line) {
                take(&mut requests, &event);
            }
            ControlFlow::Continue(())
        })?;
        Ok((requests, head))
    };
    tokio::task::spawn_blocking(reading).await?
}

/// Whether the event is the first answer to a request.
fn take(requests: &mut OfSession, event: &ChatEvent) -> bool {
    let (kind, id, asks) = match &event.payload {
        Payload::PermissionRequest(it) => (Kind::Permission, &it.request_id, Some(it.answerable)),
        Payload::PermissionResolved(it) => (Kind::Permission, &it.request_id, None),
        Payload::QuestionRequest(it) => (Kind::Question, &it.request_id, Some(it.answerable)),
        Payload::QuestionResolved(it) => (Kind::Question, &it.request_id, None),
        _ => return false,
    };
    let asked = requests.entry((kind, id.clone())).or_default();
    if let Some(answerable) = asks {
        asked.request.get_or_insert_with(|| Request {
            turn_id: event.turn_id.clone(),
            agent_id: event.agent_id.clone(),
            parent_tool_call_id: event.parent_tool_call_id.clone(),
            is_answered_elsewhere: answerable == Some(false),
        });
        return false;
    }
    if asked.outcome.is_some() {
        return false;
    }
    let mut line = serde_json::to_value(event).unwrap_or_default();
    asked.outcome = Some((line["payload"].take(), event.seq.unwrap_or_default()));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_that_was_read_first_makes_room_and_no_other() {
        let mut sessions = Sessions::default();
        let ids: Vec<_> = (0..=MAX_SESSIONS)
            .filter_map(|nth| SessionId::parse(&format!("s{nth}")).ok())
            .collect();
        ids[..MAX_SESSIONS]
            .iter()
            .for_each(|id| sessions.keep(id, OfSession::new()));
        // Read again, the first is the newest.
        sessions.keep(&ids[0], OfSession::new());
        sessions.keep(&ids[MAX_SESSIONS], OfSession::new());
        let gone: Vec<_> = ids
            .iter()
            .filter(|id| !sessions.requests.contains_key(id))
            .collect();
        assert_eq!(gone, [&ids[1]]);
        assert_eq!(sessions.order.len(), sessions.requests.len());
    }
}
