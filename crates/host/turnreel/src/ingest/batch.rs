//! Reading a batch: each item is an event, or says why not. What it is is decided here; storing it is for `ingest`.

use axum::http::StatusCode;
use chat_event::compaction::Folded;
use chat_event::{ChatEvent, Payload};
use chat_store::SessionId;
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::error::ApiError;
use crate::fleet::NotTaken;
use crate::state::State;

/// Keys that one event may have: objects of more are no message but an attack on who builds a tree of them.
const MAX_KEYS: usize = 10_000;

/// Events that a batch may stand for, where others were folded into its items: of the longest run, which is one item, all.
const MOST_FOLDED: usize = 64 * 1024 + 1000;

/// No id of a request is longer, in bytes.
const REQUEST_BYTES: usize = 1024;

/// No name of a turn, a response, an agent or a call is longer, in bytes: some are kept in memory. Gateways put what a model
/// signed into the ids of its calls, which is some thousand bytes.
const NAME_BYTES: usize = 64 * 1024;

/// How long an id may be.
const ID_BYTES: usize = 128;

const TOO_DEEP: &str = "nested deeper than";

/// Why an item is no event.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rejected {
    pub(super) index: usize,
    pub(crate) code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) field: Option<String>,
    pub(super) message: String,
}

impl Rejected {
    /// Which item it is.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// What is wrong, in words of our own: what is wrong with a field may quote what was read, and its name does not.
    pub(crate) fn kind(&self) -> String {
        match &self.field {
            Some(field) => format!("{} in {field}", self.code),
            None if self.message.starts_with(TOO_DEEP) => {
                format!("{} ({})", self.code, self.message)
            }
            None => self.code.to_owned(),
        }
    }
}

impl From<NotTaken> for Rejected {
    fn from(why: NotTaken) -> Self {
        Rejected {
            index: why.index,
            code: "bad_event",
            field: why.field,
            message: why.message,
        }
    }
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
    let limit = state.settings.batch_events;
    let mut reader = serde_json::Deserializer::from_str(text);
    let items = UpTo(limit).deserialize(&mut reader);
    let (items, n_items) = items
        .and_then(|items| reader.end().map(|()| items))
        .map_err(|why| {
            ApiError::bad_request("bad_json", format!("the body is no JSON array: {why}"))
        })?;
    if n_items > limit {
        let message = format!("the batch has {n_items} events, over the limit of {limit}");
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
    let items: Vec<_> = items.iter().enumerate().map(read).collect();
    let n_bytes = folded_bytes(&items);
    if n_bytes > Folded::MOST_BYTES {
        let message = format!(
            "the batch stands for {n_bytes} bytes of events, over the limit of {}",
            Folded::MOST_BYTES
        );
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            message,
        ));
    }
    let n_events = n_events(&items);
    if n_events > limit.max(MOST_FOLDED) {
        let message = format!(
            "the batch stands for {n_events} events, over the limit of {}",
            limit.max(MOST_FOLDED)
        );
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            message,
        ));
    }
    Ok(items)
}

/// Reads the items of an array up to so many, and counts the others: a list of millions of nothings is long in memory.
struct UpTo(usize);

impl<'de> DeserializeSeed<'de> for UpTo {
    type Value = (Vec<&'de RawValue>, usize);

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for UpTo {
    type Value = (Vec<&'de RawValue>, usize);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let (mut items, mut n_items) = (Vec::new(), 0);
        while let Some(item) = list.next_element::<&RawValue>()? {
            n_items += 1;
            if n_items <= self.0 {
                items.push(item);
            }
        }
        Ok((items, n_items))
    }
}

/// How many bytes the events are together that others were folded into: each repeats what names its turn and its call.
fn folded_bytes(items: &[Result<ChatEvent, Rejected>]) -> usize {
    let folded = items
        .iter()
        .filter_map(|item| Folded::of(item.as_ref().ok()?));
    folded.map(|folded| folded.n_bytes()).sum()
}

/// How many events a batch stands for: those that were folded into one count each.
pub(crate) fn n_events(items: &[Result<ChatEvent, Rejected>]) -> usize {
    let of_item = |item: &Result<ChatEvent, Rejected>| {
        let folded = item.as_ref().ok().and_then(Folded::of);
        folded.map_or(1, |folded| folded.n_events())
    };
    items.iter().map(of_item).sum()
}

type FieldAndReason = (Option<String>, String);

fn read_event(text: &str, session: &SessionId, depth: usize) -> Result<ChatEvent, FieldAndReason> {
    if chat_event::depth::exceeds(text, depth) {
        return Err((None, format!("{TOO_DEEP} {depth}")));
    }
    if has_too_many_keys(text) {
        return Err((None, format!("more than {MAX_KEYS} keys")));
    }
    let mut event = ChatEvent::from_json(text).map_err(|why| {
        let reason = why.reason();
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
    // Its numbers are another log's. Without them all is known of it that is known here.
    event.seq = None;
    for (field, name, most_bytes) in names_of(&event) {
        if name.is_some_and(|name| name.len() > most_bytes) {
            let why = format!("{field}: over the limit of {most_bytes} bytes");
            return refuse(field, &why);
        }
    }
    let folded = Folded::of(&event);
    if folded
        .iter()
        .flat_map(Folded::ids)
        .any(|id| !is_event_id(&id))
    {
        return refuse(
            "payload.ids",
            "payload.ids: expected at most 128 of [A-Za-z0-9_.:-]",
        );
    }
    if event.id.is_empty() {
        let last = folded.and_then(|folded| folded.events().last());
        let id = derived_id(last.as_ref().unwrap_or(&event));
        event.id = id.filter(|id| is_event_id(id)).unwrap_or_default();
    }
    Ok(event)
}

/// By what other events know what this one is about, the fields that say it, and how long it may be.
fn names_of(event: &ChatEvent) -> [(&'static str, Option<&str>, usize); 6] {
    let (call, request) = match &event.payload {
        Payload::ToolCall(it) => (Some(&it.tool_call_id), None),
        Payload::ToolInputChunk(it) => (Some(&it.tool_call_id), None),
        Payload::ToolOutputChunk(it) => (Some(&it.tool_call_id), None),
        Payload::ToolResult(it) => (Some(&it.tool_call_id), None),
        Payload::FileEdit(it) => (Some(&it.tool_call_id), None),
        Payload::Progress(it) => (it.tool_call_id.as_ref(), None),
        Payload::PermissionRequest(it) => (it.tool_call_id.as_ref(), Some(&it.request_id)),
        Payload::PermissionResolved(it) => (None, Some(&it.request_id)),
        Payload::QuestionRequest(it) => (it.tool_call_id.as_ref(), Some(&it.request_id)),
        Payload::QuestionResolved(it) => (None, Some(&it.request_id)),
        _ => (None, None),
    };
    [
        ("turnId", event.turn_id.as_deref(), NAME_BYTES),
        ("responseId", event.response_id.as_deref(), NAME_BYTES),
        ("agentId", event.agent_id.as_deref(), NAME_BYTES),
        (
            "parentToolCallId",
            event.parent_tool_call_id.as_deref(),
            NAME_BYTES,
        ),
        ("payload.toolCallId", call.map(String::as_str), NAME_BYTES),
        (
            "payload.requestId",
            request.map(String::as_str),
            REQUEST_BYTES,
        ),
    ]
}

/// The id of an event that came without one, where it says what it is: the same event sent again has the same id, and is
/// stored once. Others get an id of the log's, and are stored as often as they come.
fn derived_id(event: &ChatEvent) -> Option<String> {
    let in_response = |part: Option<u32>, index: Option<u64>, kind: &str| {
        let response = event.response_id.as_deref()?;
        let index = index?;
        Some(match part.unwrap_or(0) {
            0 if kind.is_empty() => format!("{response}:{index}"),
            part => format!("{response}:{kind}{part}.{index}"),
        })
    };
    let kind = event.event_type();
    match &event.payload {
        Payload::AssistantChunk(chunk) => in_response(chunk.part, chunk.index, ""),
        Payload::ThinkingChunk(chunk) => in_response(chunk.part, chunk.index, "thinking"),
        Payload::ToolCall(call) => Some(format!("{}:{kind}", call.tool_call_id)),
        Payload::ToolResult(result) => Some(format!("{}:{kind}", result.tool_call_id)),
        Payload::ToolInputChunk(chunk) => {
            let offset = chunk.offset?;
            Some(format!("{}:{kind}:{offset}", chunk.tool_call_id))
        }
        Payload::PermissionRequest(request) => Some(format!("{}:{kind}", request.request_id)),
        Payload::PermissionResolved(answer) => Some(format!("{}:{kind}", answer.request_id)),
        Payload::QuestionRequest(request) => Some(format!("{}:{kind}", request.request_id)),
        Payload::QuestionResolved(answer) => Some(format!("{}:{kind}", answer.request_id)),
        _ => None,
    }
}

/// Counts colons outside of strings, where the text is long enough to have so many.
fn has_too_many_keys(text: &str) -> bool {
    // The shortest member is `"":0`.
    if text.len() < MAX_KEYS * 4 {
        return false;
    }
    let mut n_keys = 0;
    let mut inside = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => inside = !inside,
            b'\\' if inside => {
                bytes.next();
            }
            b':' if !inside => n_keys += 1,
            _ => {}
        }
    }
    n_keys > MAX_KEYS
}

/// Whether a producer may give that id; the empty one is given by us.
pub(crate) fn is_event_id(id: &str) -> bool {
    id.len() <= ID_BYTES
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

#[cfg(test)]
mod tests;
