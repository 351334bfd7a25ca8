//! What sandbox workers report of a task: progress, tool events, message chunks. A task is a session; its sandbox is a
//! label on it, by default the task's own id.
//!
//! Limits and names are those of the workers' backend. What is in a report is translated by `crate::sandbox`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as FromState;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use chat_store::SessionId;
use serde_json::{Map, Value, json};

use super::address::Path;
use super::body;
use super::fields::{Fields, unprocessable};
use crate::error::ApiError;
use crate::ingest;
use crate::rate::Rate;
use crate::sandbox::{Key, Report};
use crate::scope::Grant;
use crate::state::State;

const TOOL_NAME_CHARS: usize = 100;
const RESULT_SUMMARY_CHARS: usize = 500;
const RESULT_PREVIEW_CHARS: usize = 5000;
const CHUNK_CHARS: usize = 1000;
/// Ids have no limit there; here they become parts of event ids.
const ID_CHARS: usize = 200;

/// Events of one batch.
const MAX_EVENTS: usize = 100;

pub(super) async fn progress(
    state: FromState<State>,
    grant: Extension<Arc<Grant>>,
    task: Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    take(state, grant, task, headers, body, read_progress).await
}

pub(super) async fn tool_event(
    state: FromState<State>,
    grant: Extension<Arc<Grant>>,
    task: Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    take(state, grant, task, headers, body, read_tool_event).await
}

pub(super) async fn message_chunk(
    state: FromState<State>,
    grant: Extension<Arc<Grant>>,
    task: Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, ApiError> {
    take(state, grant, task, headers, body, read_chunk).await
}

/// A body that was looked at: what it says, how many events it counts as, and whether they are chunks.
struct Taken {
    report: Report,
    n_events: usize,
    is_chunk: bool,
}

async fn take(
    FromState(state): FromState<State>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(task): Path<String>,
    headers: HeaderMap,
    body: Body,
    read: fn(Map<String, Value>) -> Result<Taken, ApiError>,
) -> Result<Json<Value>, ApiError> {
    let id = SessionId::parse(&chat_event::session_id::from_native(&task))?;
    body::must_be_json(&state, &headers)?;
    let settings = state.settings;
    let bytes = body::read(&state, &headers, body, settings.body_bytes).await?;
    let fields = body::object(&bytes, settings.depth).map_err(|why| {
        let detail = json!({"type": "json_invalid", "loc": ["body"], "msg": why.message});
        unprocessable(vec![detail])
    })?;
    let mut taken = read(fields)?;
    let sandbox = sandbox_of(&state, &id, &task, &taken.report.event);
    let (bucket, per_minute) = if taken.is_chunk {
        ("chunks", settings.sandbox_chunks_per_minute)
    } else {
        ("events", settings.sandbox_events_per_minute)
    };
    let rate = Rate::per_minute(per_minute);
    let sender = ingest::sender_of(&grant, &id);
    let of_sandbox = format!("{bucket} of {sandbox}");
    // The token's own first: nobody makes buckets, or empties another's, beyond what it may send.
    let senders = [(&*sender, settings.events_rate()), (&*of_sandbox, rate)];
    state.rates.take_all(&senders, taken.n_events)?;
    let event = &mut taken.report.event;
    let said = event.get("event_type").and_then(Value::as_str);
    let said = said.unwrap_or_default().to_owned();
    event.insert("sandbox_id".to_owned(), sandbox.clone().into());
    event.insert("task_id".to_owned(), task.into());
    let reported = state
        .tasks
        .report(state.clone(), id.clone(), taken.report)
        .await?;
    state.metrics.reported(&sandbox, &said, taken.n_events);
    Ok(Json(json!({
        "success": true,
        "session": id.as_str(),
        "events": reported.events,
        "first": reported.first,
        "duplicate": reported.duplicate,
    })))
}

/// What the log says of the session, else what the worker says, else the task.
fn sandbox_of(state: &State, id: &SessionId, task: &str, event: &Map<String, Value>) -> String {
    let known = state
        .live(id)
        .and_then(|live| live.row().1.sandbox_id.clone());
    let said = || {
        let said = event.get("sandbox_id")?.as_str()?;
        let fits = !said.is_empty() && said.chars().count() <= ID_CHARS;
        fits.then(|| said.to_owned())
    };
    known.or_else(said).unwrap_or_else(|| task.to_owned())
}

fn read_chunk(mut body: Map<String, Value>) -> Result<Taken, ApiError> {
    let mut fields = Fields::new(&body);
    let key = chunk_key(&mut fields);
    fields.check()?;
    body.insert("event_type".to_owned(), "agent.message_chunk".into());
    Ok(Taken {
        report: Report { event: body, key },
        n_events: 1,
        is_chunk: true,
    })
}

fn chunk_key(fields: &mut Fields<'_>) -> Option<Key> {
    let message = fields.name(&["message_id"], ID_CHARS);
    fields.text(&["chunk", "chunk_text"], CHUNK_CHARS, true);
    let index = fields.count("chunk_index", true);
    let thinking = fields.flag("is_thinking");
    fields.flag("is_final");
    Some(Key::Chunk {
        message: message?.to_owned(),
        index: index?,
        thinking,
    })
}

/// The kinds of events that have rules of their own, under their names and their older names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    Result,
    File,
    Chunk,
    Batch,
    Other,
}

fn kind_of(event_type: &str) -> Kind {
    match event_type {
        "TOOL_STARTED" | "agent.tool_use" | "agent.tool_started" => Kind::Call,
        "TOOL_COMPLETED" | "TOOL_FAILED" | "agent.tool_completed" | "agent.tool_failed" => {
            Kind::Result
        }
        "FILE_CREATED" | "FILE_EDITED" | "FILE_DELETED" | "agent.file_created"
        | "agent.file_edited" | "agent.file_deleted" | "file_modified" => Kind::File,
        "AGENT_MESSAGE_CHUNK" | "agent.message_chunk" => Kind::Chunk,
        "TOOL_EVENTS_BATCH" | "agent.tool_events_batch" => Kind::Batch,
        _ => Kind::Other,
    }
}

/// Tool events, and the file events that go with them.
fn read_tool_event(body: Map<String, Value>) -> Result<Taken, ApiError> {
    let mut fields = Fields::new(&body);
    let event_type = fields.name(&["event_type"], ID_CHARS).unwrap_or_default();
    let kind = kind_of(event_type);
    if !event_type.is_empty() && !matches!(kind, Kind::Call | Kind::Result | Kind::File) {
        let msg = "Input should be 'TOOL_STARTED', 'TOOL_COMPLETED' or 'TOOL_FAILED', or their agent.* names";
        fields.wrong("event_type", "literal_error", msg);
    }
    let data = data_of(&mut fields);
    let mut inner = data.map(|(name, data)| fields.within(name, data));
    let key = if kind == Kind::File {
        file_fields(inner.as_mut().unwrap_or(&mut fields));
        event_key(&body)
    } else {
        tool_key(inner.as_mut().unwrap_or(&mut fields), kind, true)
    };
    fields.check()?;
    inner.map_or(Ok(()), Fields::check)?;
    Ok(Taken {
        report: Report { event: body, key },
        n_events: 1,
        is_chunk: false,
    })
}

/// How many events a batch has, itself among them where it has none, with those of the batches in it.
fn n_within(events: &[Value]) -> usize {
    let of_one = |event: &Value| {
        let event_type = event.get("event_type").and_then(Value::as_str);
        if event_type.map(kind_of) != Some(Kind::Batch) {
            return 1;
        }
        let inner = ["event_data", "payload"]
            .iter()
            .filter_map(|name| event.get(name))
            .find(|inner| inner.is_object());
        let events = inner.unwrap_or(event).get("events");
        events
            .and_then(Value::as_array)
            .map_or(1, |events| n_within(events))
    };
    events.iter().map(of_one).sum::<usize>().max(1)
}

/// Whatever a worker reports in `{event_type, …}`: its fields beside the type, or in `event_data` or `payload`.
fn read_progress(body: Map<String, Value>) -> Result<Taken, ApiError> {
    let mut fields = Fields::new(&body);
    let event_type = fields.name(&["event_type"], ID_CHARS).unwrap_or_default();
    let kind = kind_of(event_type);
    let data = data_of(&mut fields);
    let mut n_events = 1;
    let mut inner = data.map(|(name, data)| fields.within(name, data));
    let it = inner.as_mut().unwrap_or(&mut fields);
    let key = match kind {
        Kind::Call | Kind::Result => tool_key(it, kind, false),
        Kind::Chunk => chunk_key(it),
        Kind::File => {
            file_fields(it);
            event_key(&body)
        }
        Kind::Batch => {
            let events = data.map_or(&body, |(_, data)| data).get("events");
            match events.and_then(Value::as_array) {
                Some(events) if n_within(events) <= MAX_EVENTS => n_events = n_within(events),
                Some(_) => {
                    let msg = format!("List should have at most {MAX_EVENTS} items");
                    it.wrong("events", "too_long", msg);
                }
                None => it.wrong("events", "list_type", "Input should be a valid list"),
            }
            event_key(&body)
        }
        Kind::Other => {
            it.text(&["message"], usize::MAX, false);
            it.percent("progress_percent");
            event_key(&body)
        }
    };
    fields.check()?;
    inner.map_or(Ok(()), Fields::check)?;
    Ok(Taken {
        report: Report { event: body, key },
        n_events,
        is_chunk: kind == Kind::Chunk,
    })
}

/// Where the fields stand, if not beside the type.
fn data_of<'b>(fields: &mut Fields<'b>) -> Option<(&'static str, &'b Map<String, Value>)> {
    ["event_data", "payload"]
        .into_iter()
        .find_map(|name| Some((name, fields.object(name)?)))
}

/// Looks at a tool event's fields. On their own route calls must be named; workers that report them as progress may not.
fn tool_key(fields: &mut Fields<'_>, kind: Kind, named: bool) -> Option<Key> {
    let ids = ["tool_id", "tool_use_id", "tool_call_id"];
    let id = if named {
        fields.name(&ids, ID_CHARS)
    } else {
        fields
            .text(&ids, ID_CHARS, false)
            .filter(|id| !id.is_empty())
    };
    if named {
        fields.name(&["tool_name", "tool"], TOOL_NAME_CHARS);
    } else {
        fields.text(&["tool_name", "tool"], TOOL_NAME_CHARS, false);
    }
    fields.object("tool_args");
    fields.count("duration_ms", false);
    fields.text(&["result_summary"], RESULT_SUMMARY_CHARS, false);
    fields.text(&["result_preview"], RESULT_PREVIEW_CHARS, false);
    fields.flag("success");
    fields.text(&["error_message"], usize::MAX, false);
    let id = id?.to_owned();
    Some(if kind == Kind::Call {
        Key::Call(id)
    } else {
        Key::Result(id)
    })
}

fn file_fields(fields: &mut Fields<'_>) {
    fields.name(&["file_path", "path"], 4096);
    fields.count("lines_added", false);
    fields.count("lines_removed", false);
    fields.count("full_diff_size", false);
    fields.text(&["diff_preview"], usize::MAX, false);
    fields.text(&["full_diff"], usize::MAX, false);
}

/// A report with an id of its own is one report however often it comes.
fn event_key(body: &Map<String, Value>) -> Option<Key> {
    let id = body.get("event_id").or_else(|| body.get("id"))?.as_str()?;
    Some(Key::Event(id.to_owned()))
}
