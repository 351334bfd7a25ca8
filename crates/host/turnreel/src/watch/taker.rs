//! What is told of agents' sessions, on its way into the store: as what is sent, but without a request.

use chat_capture::{Error, Progress, Taker};
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

    fn store(&self, id: &SessionId, lines: &[String], newest_ms: Option<i64>) -> Result<(), Error> {
        let body = format!("[{}]", lines.join(","));
        let items = ingest::read_batch(body.as_bytes(), id, &self.state).map_err(refused)?;
        let now_ms = now_ms();
        let recv_ms = newest_ms
            .filter(|&at_ms| at_ms < now_ms - RECENT_MS && at_ms > 0)
            .unwrap_or(now_ms);
        let storing = ingest::ingest_at(&self.state, id.clone(), items, false, recv_ms);
        match self.runtime.block_on(storing) {
            Ok(answer) => {
                let n_refused = answer.refused().len();
                if n_refused > 0 {
                    // Their ids are of events that stand there, as where a file was read by another way before.
                    tracing::debug!(
                        session = id.as_str(),
                        "{n_refused} events stood there in other words"
                    );
                }
                Ok(())
            }
            // It would be the same each time.
            Err(why) if why.status.is_client_error() => {
                tracing::debug!(session = id.as_str(), "events are left out: {}", why.code);
                Ok(())
            }
            Err(why) => Err(refused(why)),
        }
    }
}

fn refused(why: ApiError) -> Error {
    Error::Later {
        why: why.message,
        after_ms: None,
        status: None,
    }
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
            let line = event.to_line();
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
        read_log(&self.state, session_id, after)
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
            tracing::info!(
                "read {all_sessions} sessions, {} MB, {events} events; what comes now is followed",
                mb(all_bytes)
            );
        }
    }
}
