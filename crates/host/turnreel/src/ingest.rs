//! Taking events in: read, refuse what is none, append, publish.

mod batch;

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use chat_event::ChatEvent;
use chat_store::{Appended, ItemResult, SessionId};
use serde::Serialize;

use crate::error::ApiError;
use crate::live::Live;
use crate::scope::Grant;
use crate::state::State;

pub(crate) use batch::{Rejected, is_event_id, read_batch};

/// What a batch is answered.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    epoch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<u64>,
    dups: usize,
    results: Vec<Item>,
    durable: &'static str,
}

impl Answer {
    /// To a numbered batch that was stored before.
    pub(crate) fn repeated(epoch: String, n_items: usize) -> Self {
        Answer {
            epoch,
            first: None,
            last: None,
            dups: n_items,
            results: Vec::new(),
            durable: "written",
        }
    }
}

/// What became of one item of a batch.
#[derive(Debug, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(crate) enum Item {
    Stored {
        seq: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Present, and false, where the event came without an id.
        #[serde(skip_serializing_if = "Option::is_none")]
        idempotent: Option<bool>,
    },
    Duplicate {
        seq: u64,
    },
    Conflict {
        index: usize,
        code: &'static str,
        id: String,
        seq: u64,
    },
    Rejected(Rejected),
}

/// Whose share of what may be sent a batch is taken from.
pub(crate) fn sender_of(grant: &Grant, id: &SessionId) -> String {
    if grant.is_startup() {
        // All agents of this machine send with it: each of their sessions has a share.
        format!("session {id}")
    } else {
        format!("token {}", grant.id)
    }
}

/// Stores a batch and tells those who follow. The answer comes after the events are in the log, and they are followed
/// only after that too.
///
/// # Errors
///
/// Where the disk refuses, where the whole batch is bad, and with `atomic` where any of it is.
pub(crate) async fn ingest(
    state: &State,
    id: SessionId,
    items: Vec<Result<ChatEvent, Rejected>>,
    atomic: bool,
) -> Result<Answer, ApiError> {
    let mut events = Vec::with_capacity(items.len());
    let mut rejected = Vec::new();
    let n_items = items.len();
    for item in items {
        match item {
            Ok(event) => events.push(event),
            Err(why) => rejected.push(why),
        }
    }
    state.metrics.rejected(rejected.len());
    if !rejected.is_empty() && (atomic || events.is_empty()) {
        let status = if atomic {
            StatusCode::UNPROCESSABLE_ENTITY
        } else {
            StatusCode::BAD_REQUEST
        };
        return Err(refuse_batch(
            status,
            "bad_event",
            rejected.into_iter().map(Item::Rejected),
        ));
    }
    let appended = append(state, id, events, atomic).await?;
    let first = appended.first;
    let last = appended.last;
    let mut rejected = rejected.into_iter().peekable();
    let mut results = Vec::with_capacity(n_items);
    let mut stored = appended.results.into_iter();
    let mut dups = 0;
    let mut conflicts = 0;
    for index in 0..n_items {
        if let Some(why) = rejected.next_if(|why| why.index == index) {
            results.push(Item::Rejected(why));
            continue;
        }
        let Some(result) = stored.next() else { break };
        results.push(match result {
            ItemResult::Stored {
                seq,
                id,
                idempotent,
            } => Item::Stored {
                seq,
                id: (!idempotent).then_some(id),
                idempotent: (!idempotent).then_some(false),
            },
            ItemResult::Duplicate { seq } => {
                dups += 1;
                Item::Duplicate { seq }
            }
            ItemResult::Conflict { id, seq } => {
                conflicts += 1;
                Item::Conflict {
                    index,
                    code: "id_conflict",
                    id,
                    seq,
                }
            }
        });
    }
    if appended.refused {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let conflicts = results
            .into_iter()
            .filter(|item| matches!(item, Item::Conflict { .. }));
        return Err(refuse_batch(status, "id_conflict", conflicts));
    }
    if conflicts > 0 && conflicts == n_items {
        return Err(refuse_batch(
            StatusCode::CONFLICT,
            "id_conflict",
            results.into_iter(),
        ));
    }
    Ok(Answer {
        epoch: appended.epoch,
        first,
        last,
        dups,
        results,
        durable: if appended.synced { "synced" } else { "written" },
    })
}

/// What is left of [`Appended`] once its events are published.
pub(crate) struct Published {
    epoch: String,
    pub(crate) first: Option<u64>,
    last: Option<u64>,
    pub(crate) results: Vec<ItemResult>,
    synced: bool,
    refused: bool,
}

/// Appends and publishes. The session is made where there is none.
///
/// # Errors
///
/// Where the disk refuses.
pub(crate) async fn append(
    state: &State,
    id: SessionId,
    events: Vec<ChatEvent>,
    atomic: bool,
) -> Result<Published, ApiError> {
    let making = state.clone();
    let live = tokio::task::spawn_blocking(move || making.live_or_new(&id)).await??;
    // On a task of its own: a client that goes away must not leave events that are stored but never told of.
    let state = state.clone();
    let storing = tokio::spawn(async move {
        let _writer = live.writer.lock().await;
        append_as_writer(&state, &live, events, atomic).await
    });
    storing.await?
}

/// Stores and publishes. The caller holds the session's `writer`, and is on a task that is not given up half way.
pub(crate) async fn append_as_writer(
    state: &State,
    live: &Arc<Live>,
    events: Vec<ChatEvent>,
    atomic: bool,
) -> Result<Published, ApiError> {
    let session = live.session.clone();
    let began = Instant::now();
    let appending = tokio::task::spawn_blocking(move || session.append(events, atomic, now_ms()));
    let Appended {
        epoch,
        results,
        stored,
        summary,
        synced,
        refused,
    } = appending.await??;
    let bytes = stored.iter().map(|stored| stored.line.len() as u64 + 1);
    state
        .metrics
        .appended(&results, bytes.sum(), began.elapsed());
    let published = Published {
        first: stored.first().map(|stored| stored.seq),
        last: stored.last().map(|stored| stored.seq),
        epoch,
        results,
        synced,
        refused,
    };
    state.requests.note(live.session.id(), &stored);
    live.publish(&published.epoch, stored, summary, &state.list);
    Ok(published)
}

/// A batch of which nothing was stored, with what is wrong with each item.
fn refuse_batch(
    status: StatusCode,
    code: &'static str,
    items: impl Iterator<Item = Item>,
) -> ApiError {
    let items: Vec<Item> = items.collect();
    let first = match items.first() {
        Some(Item::Rejected(why)) => format!("item {}: {}", why.index, why.message),
        Some(Item::Conflict { index, id, seq, .. }) => {
            format!("item {index}: event {seq} has the id {id}, and says something else")
        }
        _ => "the batch is bad".to_owned(),
    };
    let mut refusal = ApiError::new(status, code, format!("nothing was stored: {first}"));
    if let Ok(items) = serde_json::to_value(items) {
        let more = serde_json::Map::from_iter([("results".to_owned(), items)]);
        refusal.more = Some(Box::new(more));
    }
    refusal
}

/// The server's clock, Unix epoch in milliseconds.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
