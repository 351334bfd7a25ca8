//! What agents ask, and the first answer to each: permissions and questions, as the logs have them.
//!
//! The log decides. A session's requests are read from it when somebody first asks for one, and kept up with what is
//! stored from then on, whoever resolves them: the page, a hook, or the agent itself.

mod kept;
mod of_session;
mod said;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat_event::ChatEvent;
use chat_store::{Session, SessionId, Stored};
use serde_json::Value;

use crate::error::ApiError;
use crate::live::Live;
use crate::locked::locked;
use crate::readers::{self, Reader, Readers};
use crate::turns::Turns;
use kept::{Sessions, Waiting};
use of_session::{OfSession, payload_of};
use said::Said;

/// Logs that are read whole at once to find what is asked in them.
const AT_ONCE: usize = 2;

/// Who looks for a request waits for others to have read their logs for so long: after a start all agents ask at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A log that begins anew while it is read is read again, so often.
const TRIES: usize = 3;

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
    /// The payload of the first answer, and its number. A long one is kept in the log alone, and is null meanwhile.
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
    /// How many questions are asked together; 0 of a permission.
    pub(crate) n_questions: usize,
}

/// The requests of the sessions that were asked about.
pub(crate) struct Requests {
    sessions: Mutex<Sessions>,
    /// Answers as they were given, where the log has them masked.
    pub(crate) said: Said,
    /// Of those who look into the same session one reads its log, for all.
    turns: Turns,
    readers: Readers,
}

impl Default for Requests {
    fn default() -> Self {
        Requests {
            sessions: Mutex::default(),
            said: Said::default(),
            turns: Turns::default(),
            readers: Readers::new(AT_ONCE, PATIENCE),
        }
    }
}

impl Requests {
    /// Takes what was stored.
    pub(crate) fn note(&self, id: &SessionId, stored: &[Stored]) {
        locked(&self.sessions).note(id, stored);
    }

    /// To wait for answers of the session, to whatever request.
    pub(crate) fn wait_on(self: &Arc<Self>, session: &SessionId) -> Waiting {
        Waiting::new(self, session)
    }

    /// The request, where the session has it.
    ///
    /// # Errors
    ///
    /// Where the log cannot be read, and 503 where others read theirs for too long.
    pub(crate) async fn find(
        self: &Arc<Self>,
        live: &Arc<Live>,
        kind: Kind,
        request_id: &str,
    ) -> Result<Option<Asked>, ApiError> {
        let asked = self.find_kept(live, kind, request_id).await?;
        with_outcome(live, asked).await
    }

    async fn find_kept(
        self: &Arc<Self>,
        live: &Arc<Live>,
        kind: Kind,
        request_id: &str,
    ) -> Result<Option<Asked>, ApiError> {
        if let Some(known) = self.known(live, kind, request_id) {
            return Ok(known);
        }
        let turn = self.turns.of(live.session.id());
        let Ok(_turn) = tokio::time::timeout(PATIENCE, turn).await else {
            return Err(readers::too_many());
        };
        if let Some(known) = self.known(live, kind, request_id) {
            return Ok(known);
        }
        for _ in 0..TRIES {
            // Most of a long log is read while others write to it.
            let read = self.read(live).await?;
            let _writer = live.writer.lock().await;
            if let Some(known) = self.known(live, kind, request_id) {
                return Ok(known);
            }
            // What came meanwhile is short. It waits for no place: who has one may wait for the writer.
            let session = live.session.clone();
            let reading = tokio::task::spawn_blocking(move || read.finish(&session));
            // Under another epoch what was read may not be in it.
            let Some(requests) = reading.await?? else {
                continue;
            };
            let asked = requests.get(kind, request_id);
            locked(&self.sessions).keep(live.session.id(), requests);
            return Ok(asked);
        }
        Err(readers::too_many())
    }

    /// As [`Requests::find`], for who holds the session's `writer`.
    pub(crate) async fn find_as_writer(
        self: &Arc<Self>,
        live: &Arc<Live>,
        kind: Kind,
        request_id: &str,
    ) -> Result<Option<Asked>, ApiError> {
        if let Some(known) = self.known(live, kind, request_id) {
            return with_outcome(live, known).await;
        }
        let requests = self.read(live).await?.requests;
        let asked = requests.get(kind, request_id);
        locked(&self.sessions).keep(live.session.id(), requests);
        with_outcome(live, asked).await
    }

    /// Reads the requests of a session's whole log.
    async fn read(&self, live: &Live) -> Result<Read, ApiError> {
        let session = live.session.clone();
        let reading = move |reader: &Reader| {
            let mut read = Read {
                epoch: session.position().0,
                head: 0,
                requests: OfSession::default(),
            };
            read.go_on(&session, &|| reader.go_on())?;
            Ok(read)
        };
        self.readers.read(reading).await
    }

    /// Its log is read anew when something of it is asked for: it may have more than we were told of.
    pub(crate) fn forget(&self, session: &SessionId) {
        let mut sessions = locked(&self.sessions);
        sessions.forget(session);
        // What they wait for may never come.
        sessions.wake(session);
    }

    /// The request, as far as is known without reading the log; `None` where nothing of its session is.
    fn known(&self, live: &Live, kind: Kind, request_id: &str) -> Option<Option<Asked>> {
        let sessions = locked(&self.sessions);
        let requests = sessions.requests.get(live.session.id())?;
        Some(requests.get(kind, request_id))
    }
}

/// The requests of a session's log, as far as it was read.
struct Read {
    epoch: String,
    head: u64,
    requests: OfSession,
}

impl Read {
    /// Reads on behind its head, as long as it is to go on.
    fn go_on(
        &mut self,
        session: &Session,
        go_on: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<(), ApiError> {
        let Read { head, requests, .. } = self;
        session.walk(*head, &mut |seq, line| {
            *head = seq;
            // Lines are compact, so this finds all there are, and spares the others the parser.
            let may_be =
                line.contains(r#""type":"permission_"#) || line.contains(r#""type":"question_"#);
            if may_be && let Ok(event) = ChatEvent::from_json(line) {
                requests.take(&event);
            }
            go_on()
        })?;
        Ok(())
    }

    /// All of the log's requests; `None` where it goes on under another epoch.
    fn finish(mut self, session: &Session) -> Result<Option<OfSession>, ApiError> {
        if session.position().0 != self.epoch {
            return Ok(None);
        }
        self.go_on(session, &|| ControlFlow::Continue(()))?;
        Ok(Some(self.requests))
    }
}

/// The request with its answer, where that is in the log alone.
async fn with_outcome(live: &Live, asked: Option<Asked>) -> Result<Option<Asked>, ApiError> {
    let Some(mut asked) = asked else {
        return Ok(None);
    };
    if let Some((payload, seq)) = &mut asked.outcome
        && payload.is_null()
    {
        let (session, seq) = (live.session.clone(), *seq);
        let reading = move || {
            let mut found = Value::Null;
            session.walk(seq.saturating_sub(1), &mut |at, line| {
                if at == seq
                    && let Ok(event) = ChatEvent::from_json(line)
                {
                    found = payload_of(&event);
                }
                ControlFlow::Break(())
            })?;
            Ok::<_, ApiError>(found)
        };
        *payload = tokio::task::spawn_blocking(reading).await??;
    }
    Ok(Some(asked))
}

#[cfg(test)]
mod tests;
