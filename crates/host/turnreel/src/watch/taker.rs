//! What is told of agents' sessions, on its way into the store: as what is sent, but without a request.

use axum::http::StatusCode;
use chat_capture::{Error, Progress, Taker, line_of};
use chat_event::ChatEvent;
use chat_store::{SessionId, now_ms};
use tokio::runtime::Handle;

use crate::error::ApiError;
use crate::ingest;
use crate::leftovers::read_log;
use crate::state::State;

/// Events of one batch, and their bytes: who follows the session is not kept waiting.
const BATCH_EVENTS: usize = 500;
const BATCH_BYTES: usize = 2 * 1024 * 1024;

/// What happened longer ago was not told just now: it is listed by when it happened.
const RECENT_MS: i64 = 60_000;

pub(super) struct Store {
    state: State,
    runtime: Handle,
}

impl Store {
    pub(super) fn new(state: State, runtime: Handle) -> Store {
        Store { state, runtime }
    }

    /// Stores a batch, in parts where it is too much for one.
    fn store(&self, id: &SessionId, lines: &[String], newest_ms: Option<i64>) -> Result<(), Error> {
        match self.store_at_once(id, lines, newest_ms) {
            Err(why) if why.status == StatusCode::PAYLOAD_TOO_LARGE && lines.len() > 1 => {
                let (first, second) = lines.split_at(lines.len() / 2);
                self.store(id, first, newest_ms)?;
                self.store(id, second, newest_ms)
            }
            // All of them stand there in other words, as where a file was read by another way before.
            Err(why) if why.status == StatusCode::CONFLICT => Ok(()),
            Err(why) if why.is_for_good() => {
                let (n, code) = (lines.len(), why.code);
                tracing::warn!(session = id.as_str(), "{n} events are left out: {code}");
                Ok(())
            }
            stored => stored.map_err(|why| Error::Later {
                why: why.message,
                after_ms: None,
                status: None,
            }),
        }
    }

    fn store_at_once(
        &self,
        id: &SessionId,
        lines: &[String],
        newest_ms: Option<i64>,
    ) -> Result<(), ApiError> {
        let body = format!("[{}]", lines.join(","));
        let items = ingest::read_batch(body.as_bytes(), id, &self.state)?;
        let now_ms = now_ms();
        let recv_ms = newest_ms
            .filter(|&at_ms| at_ms < now_ms - RECENT_MS && at_ms > 0)
            .unwrap_or(now_ms);
        let storing = ingest::ingest_at(&self.state, id.clone(), items, false, recv_ms);
        let answer = self.runtime.block_on(storing)?;
        if let Some((first, n)) = answer.rejected() {
            let event = lines.get(first.index());
            tracing::warn!(
                session = id.as_str(),
                "{n} events are left out, the first of them {}: {}",
                event.map_or_else(String::new, |line| named(line)),
                first.kind()
            );
        }
        Ok(())
    }
}

/// Which event a line is, for a log.
fn named(line: &str) -> String {
    let event = ChatEvent::from_json(line).ok();
    let event = event.map(|event| format!("{} {}", event.payload.event_type(), event.id));
    chat_feed::projections::trace::clean(&event.unwrap_or_default()).to_string()
}

impl Taker for Store {
    fn take(&mut self, session_id: &str, events: Vec<ChatEvent>) -> Result<(), Error> {
        let id = SessionId::parse(session_id).map_err(|why| Error::Refused {
            why: why.to_string(),
        })?;
        let mut lines = Vec::new();
        let mut bytes = 0;
        let mut newest_ms = None;
        for event in events {
            newest_ms = newest_ms.max(event.timestamp);
            let line = line_of(&event);
            bytes += line.len();
            lines.push(line);
            if lines.len() >= BATCH_EVENTS || bytes >= BATCH_BYTES {
                self.store(&id, &lines, newest_ms)?;
                lines.clear();
                (bytes, newest_ms) = (0, None);
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.store(&id, &lines, newest_ms)
    }

    fn log_after(
        &mut self,
        session_id: &str,
        after: &str,
    ) -> Result<(Vec<ChatEvent>, String), Error> {
        read_log(&self.state, &self.runtime, session_id, after)
    }

    fn has_log(&mut self, session_id: &str) -> bool {
        SessionId::parse(session_id).is_ok_and(|id| self.state.may_have_log(&id))
    }

    fn warn(&mut self, what: &str) {
        // A path comes from whoever makes files there.
        tracing::warn!("{}", chat_feed::projections::trace::clean(what));
    }

    fn progress(&mut self, progress: &Progress) {
        let Progress {
            sessions,
            all_sessions,
            bytes,
            all_bytes,
            events,
        } = progress;
        let mb = |bytes: &u64| bytes / 1_000_000;
        if sessions < all_sessions {
            tracing::info!(
                "read {sessions} of {all_sessions} sessions, {} of {} MB, {events} events",
                mb(bytes),
                mb(all_bytes)
            );
        } else {
            let sessions = match all_sessions {
                1 => "1 session".to_owned(),
                n => format!("{n} sessions"),
            };
            tracing::info!(
                "read {sessions}, {} MB, {events} events; what comes now is followed",
                mb(all_bytes)
            );
        }
    }
}
