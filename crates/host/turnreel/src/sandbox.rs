//! Sandbox workers' bodies as ChatEvents: one reader a task, so that what belongs together is put together.
//!
//! What the bodies mean is for `chat-normalize`; what of them is taken is for `routes::sandbox`. A reader's state is not
//! kept on the disk: after a restart it is made again from the task's log, by feeding it what the log says was reported.

mod task;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_store::{ItemResult, SessionId, now_ms};
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::ingest;
use crate::removed;
use crate::state::{State, stopped};
use task::{Task, hash};

/// Tasks whose readers are kept; the others' can be made again.
const MAX_TASKS: usize = 256;

/// One report of a worker, after its fields were looked at.
#[derive(Debug)]
pub(crate) struct Report {
    /// The event as the reader takes it: `{event_type, …}`.
    pub(crate) event: Map<String, Value>,
    /// What makes it the same report when it comes again; `None` where nothing does.
    pub(crate) key: Option<Key>,
}

/// What a report is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Chunk {
        message: String,
        index: u64,
        thinking: bool,
    },
    Call(String),
    Result(String),
    Event(String),
}

/// What became of a report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reported {
    /// How many events were stored.
    pub(crate) events: usize,
    /// The number of the first.
    pub(crate) first: Option<u64>,
    /// Whether it came before.
    pub(crate) duplicate: bool,
}

type Slot = Arc<tokio::sync::Mutex<Option<Task>>>;

/// The readers of all tasks.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<HashMap<SessionId, Slot>>);

impl Tasks {
    /// Stores what the report says. Reports of one task are taken one after the other.
    ///
    /// # Errors
    ///
    /// Where the log cannot be read or written; then nothing of it was taken.
    pub(crate) async fn report(
        &self,
        state: State,
        id: SessionId,
        report: Report,
    ) -> Result<Reported, ApiError> {
        let slot = self.slot(&id);
        let again = slot.clone();
        // On a task of its own: a client that goes away must not leave a reader that has seen what is not stored.
        let storing = tokio::spawn(async move {
            let mut slot = slot.lock().await;
            let is_repeated = slot.as_ref().is_some_and(|task| task.has_seen(&report));
            if is_repeated && removed::is_gone(&state, &id).await {
                // The log that had it is not there any more.
                *slot = None;
            }
            if slot.is_none() {
                // What the reader is to go on behind may be elsewhere.
                state.fetch_to_write(&id).await?;
                let session = state.live(&id).map(|live| live.session.clone());
                let session_id = id.clone();
                let made =
                    tokio::task::spawn_blocking(move || Task::new(&session_id, session.as_deref()));
                *slot = Some(made.await??);
            }
            let Some(task) = slot.as_mut() else {
                return Ok(Reported::default());
            };
            if task.has_seen(&report) {
                return Ok(Reported {
                    duplicate: true,
                    ..Reported::default()
                });
            }
            let events = task.read(report.event)?;
            let stored = store(&state, id.clone(), events).await;
            task.last = Instant::now();
            if !std::mem::replace(&mut task.watched, true) {
                tokio::spawn(end_when_quiet(state, id, again));
            }
            match (&stored, report.key) {
                (Ok(_), Some(key)) => {
                    task.seen.insert(hash(&key));
                }
                (Ok(_), None) => {}
                // The reader knows of what is not stored: the next report begins with one that does not.
                (Err(_), _) => *slot = None,
            }
            stored
        });
        storing.await?
    }

    /// The session's log was taken away: the next report's reader begins with what is there then.
    pub(crate) fn forget(&self, id: &SessionId) {
        let tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = tasks.get(id).cloned() else {
            return;
        };
        drop(tasks);
        if let Ok(mut task) = slot.try_lock() {
            *task = None;
            return;
        }
        // A report is being stored, and may wait for who calls.
        tokio::spawn(async move { *slot.lock().await = None });
    }

    fn slot(&self, id: &SessionId) -> Slot {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tasks.len() >= MAX_TASKS && !tasks.contains_key(id) {
            // One makes room: each that comes back reads its log from the beginning.
            let mut idle: Vec<(Option<Instant>, &SessionId)> = tasks
                .iter()
                .filter(|(_, slot)| Arc::strong_count(slot) <= 1)
                .map(|(id, slot)| {
                    let task = slot.try_lock().ok();
                    (
                        task.and_then(|task| task.as_ref().map(|task| task.last)),
                        id,
                    )
                })
                .collect();
            idle.sort();
            if let Some(longest) = idle.first().map(|(_, id)| (*id).clone()) {
                tasks.remove(&longest);
            }
        }
        tasks.entry(id.clone()).or_default().clone()
    }
}

/// Workers do not say when they are done: a quiet period is taken for the end, and marked as a guess.
async fn end_when_quiet(state: State, id: SessionId, slot: Slot) {
    let quiet = Duration::from_millis(state.settings.quiet_ms);
    let mut stopping = state.stopping.subscribe();
    let mut wait = quiet;
    loop {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopped(&mut stopping) => return,
        }
        let mut slot = slot.lock().await;
        let Some(task) = slot.as_mut() else { return };
        wait = quiet.saturating_sub(task.last.elapsed());
        if !wait.is_zero() {
            continue;
        }
        task.watched = false;
        let mut events = Vec::new();
        task.reader.quiet(now_ms(), &mut events);
        if let Err(why) = store(&state, id, events).await {
            tracing::warn!("could not store that a task is quiet: {}", why.message);
            *slot = None;
        }
        return;
    }
}

async fn store(state: &State, id: SessionId, events: Vec<ChatEvent>) -> Result<Reported, ApiError> {
    if events.is_empty() {
        return Ok(Reported::default());
    }
    let mut reported = Reported::default();
    let mut left = events;
    while !left.is_empty() {
        let published = ingest::append(state, id.clone(), left.clone(), false).await?;
        reported.first = reported.first.or(published.first);
        let mut again = Vec::new();
        for (mut event, result) in left.into_iter().zip(published.results) {
            match result {
                ItemResult::Stored { .. } => reported.events += 1,
                ItemResult::Duplicate { .. } => {}
                // Somebody else's event has its id. It is stored all the same, under one that the log gives.
                ItemResult::Conflict { .. } => {
                    event.id = String::new();
                    again.push(event);
                }
            }
        }
        left = again;
    }
    Ok(reported)
}
