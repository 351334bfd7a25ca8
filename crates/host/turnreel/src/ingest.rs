//! Taking events in: read, refuse what is none, append, publish.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use chat_event::ChatEvent;
use chat_store::{Appended, ItemResult, SessionId};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::ApiError;
use crate::state::State;

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

/// Why an item is no event.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rejected {
    index: usize,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    message: String,
}

/// Reads the items of a batch: each is an event, or says why not.
///
/// # Errors
///
/// Where the body is no JSON array, with the place, or has too many items.
pub(crate) fn read_batch(
    body: &[u8],
    session: &SessionId,
    state: &State,
) -> Result<Vec<Result<ChatEvent, Rejected>>, ApiError> {
    let text = std::str::from_utf8(body).map_err(|why| {
        ApiError::bad_request("bad_json", format!("the body is not UTF-8: {why}"))
    })?;
    let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|why| {
        ApiError::bad_request("bad_json", format!("the body is no JSON array: {why}"))
    })?;
    let limit = state.settings.batch_events;
    if items.len() > limit {
        let message = format!(
            "the batch has {} events, over the limit of {limit}",
            items.len()
        );
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            message,
        ));
    }
    let read = |(index, item): (usize, &&RawValue)| {
        read_event(item.get(), session, state.settings.depth).map_err(|(field, message)| Rejected {
            index,
            code: "bad_event",
            field,
            message,
        })
    };
    Ok(items.iter().enumerate().map(read).collect())
}

type FieldAndReason = (Option<String>, String);

fn read_event(text: &str, session: &SessionId, depth: usize) -> Result<ChatEvent, FieldAndReason> {
    if chat_event::depth::exceeds(text, depth) {
        return Err((None, format!("nested deeper than {depth}")));
    }
    let event = ChatEvent::from_json(text).map_err(|why| {
        let reason = match why {
            chat_event::Error::NoEvent { reason } => reason,
            other => other.to_string(),
        };
        (field_of(&reason), reason)
    })?;
    if let Some(reason) = event.problem() {
        return Err((field_of(&reason), reason));
    }
    let refuse = |field: &str, message: &str| Err((Some(field.to_owned()), message.to_owned()));
    if event.is_control() {
        return refuse("type", "type: only the server writes about its log");
    }
    if !event.session_id.is_empty() && event.session_id != session.as_str() {
        return refuse("sessionId", "sessionId: another session's than the address");
    }
    if !is_event_id(&event.id) {
        return refuse("id", "id: expected at most 128 of [A-Za-z0-9_.:-]");
    }
    Ok(event)
}

/// An id is given by the producer, or by us where it is empty.
fn is_event_id(id: &str) -> bool {
    id.len() <= 128
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-'))
}

/// The field that a reason begins with: `timestamp: missing`, or serde's "missing field `type`".
fn field_of(reason: &str) -> Option<String> {
    if let Some((_, rest)) = reason.split_once("missing field `") {
        return rest.split('`').next().map(str::to_owned);
    }
    let (field, _) = reason.split_once(": ")?;
    let is_name = field
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'[' | b']'));
    (is_name && !field.is_empty()).then(|| field.to_owned())
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
struct Published {
    epoch: String,
    first: Option<u64>,
    last: Option<u64>,
    results: Vec<ItemResult>,
    synced: bool,
    refused: bool,
}

async fn append(
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
        let session = live.session.clone();
        let appending =
            tokio::task::spawn_blocking(move || session.append(events, atomic, now_ms()));
        let Appended {
            epoch,
            results,
            stored,
            summary,
            synced,
            refused,
        } = appending.await??;
        let published = Published {
            first: stored.first().map(|stored| stored.seq),
            last: stored.last().map(|stored| stored.seq),
            epoch,
            results,
            synced,
            refused,
        };
        live.publish(&published.epoch, stored, summary, &state.list);
        Ok(published)
    });
    storing.await?
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
