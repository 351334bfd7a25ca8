//! The way back: ChatEvents as `agent.*` events, field by field as seed 000 has them.
//!
//! | ChatEvent | event |
//! |---|---|
//! | `tool_call` | `agent.tool_use` |
//! | `tool_result` | `agent.tool_completed`, `agent.tool_failed` |
//! | `file_edit` | `agent.file_edited`; `agent.file_deleted` |
//! | `thinking_chunk`, `thinking_done` | `agent.thinking_start`, chunks with `is_thinking`, `agent.thinking_end` |
//! | `assistant_chunk`, `assistant_done` | `agent.message_chunk`, the last with `is_final`; `agent.message_end` |
//! | `progress`, `error`, `notice` | `step_completed`, `error`, `info` |
//! | `turn_start` | counted: `turn` |
//!
//! What the vocabulary has no name for is left out and counted. A chunk holds 1000 characters at most, a response 2000, a
//! preview 5000, an embedded diff 50,000. Upper-case names are never written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::payload::{FileEdit, ToolResult};
use chat_event::{Body, ChatEvent, Json, Payload};
use serde_json::{Map, Value, json};

use super::adapter::{AgentEventAdapter, cut_chars, report, sanitized};
use crate::emit::hash;

const MAX_CHUNK_CHARS: usize = 1000;
const MAX_RESPONSE_CHARS: usize = 2000;
const MAX_PREVIEW_CHARS: usize = 5000;
const MAX_DIFF_CHARS: usize = 50_000;

/// Tells a session as `agent.*` events, one ChatEvent after the other.
///
/// ```
/// use chat_normalize::AgentEventsOut;
/// let event = r#"{"id":"e1","timestamp":5,"sessionId":"s","type":"tool_call","payload":{"toolCallId":"t","toolName":"Bash","args":{"command":"ls"}}}"#;
/// let event = serde_json::from_str(event).unwrap();
/// let mut told = Vec::new();
/// AgentEventsOut::new().push(&event, &mut told);
/// assert_eq!(told[0]["event_type"], "agent.tool_use");
/// assert_eq!(told[0]["event_data"]["tool_args"]["command"], "ls");
/// ```
#[derive(Debug, Default)]
pub struct AgentEventsOut {
    adapter: AgentEventAdapter,
    /// Tools by the id of their open call.
    calls: HashMap<String, (String, Value)>,
    /// What calls gave that go on in the background, by their ids.
    given: HashMap<String, Json>,
    messages: BTreeMap<String, Message>,
    seen: BTreeSet<u64>,
    /// Hashes of what was said as a whole: a second whole of it is said by its end alone.
    ended: BTreeSet<u64>,
    left_out: BTreeMap<String, u64>,
}

/// A message that is written.
#[derive(Debug, Default)]
struct Message {
    text: String,
    thinking: String,
    next: u64,
    thinks: bool,
    /// The chunks bear numbers of their own and may be out of order: what they build is not known here.
    numbered: bool,
}

/// The events of one session as `agent.*` events.
pub fn to_agent_events(events: &[ChatEvent]) -> Vec<Value> {
    let mut out = AgentEventsOut::new();
    let mut told = Vec::new();
    for event in events {
        out.push(event, &mut told);
    }
    told
}

impl AgentEventsOut {
    /// Begins a session.
    pub fn new() -> Self {
        AgentEventsOut::default()
    }

    /// Takes the next event of the log and appends what is told of it: `{event_id, timestamp, event_type, event_data}`.
    ///
    /// An event whose id came before is passed over.
    pub fn push(&mut self, event: &ChatEvent, told: &mut Vec<Value>) {
        if !self.seen.insert(hash(event.id.as_bytes())) {
            return;
        }
        let made = self.made(event);
        let n_made = made.len();
        for (at, mut report) in made.into_iter().enumerate() {
            let id = if n_made == 1 {
                event.id.clone()
            } else {
                format!("{}.{at}", event.id)
            };
            report["event_id"] = id.into();
            report["timestamp"] = event.timestamp.into();
            told.push(report);
        }
    }

    /// What the vocabulary has no name for, by type.
    pub fn left_out(&self) -> &BTreeMap<String, u64> {
        &self.left_out
    }

    fn made(&mut self, event: &ChatEvent) -> Vec<Value> {
        match &event.payload {
            Payload::TurnStart(_) => {
                self.adapter.turn = self.adapter.turn.saturating_add(1);
                Vec::new()
            }
            Payload::ToolCall(call) => {
                let args = call.args.to_value();
                let name = call.tool_name.clone();
                let made = self.adapter.on_tool_start(&call.tool_call_id, &name, &args);
                self.calls.insert(call.tool_call_id.clone(), (name, args));
                vec![made]
            }
            // It is completed when what it began in the background is.
            Payload::ToolResult(result) if result.goes_on() => {
                let id = result.tool_call_id.clone();
                self.given.insert(id, result.result.clone());
                Vec::new()
            }
            Payload::ToolResult(result) => vec![self.result(result)],
            Payload::FileEdit(edit) => vec![self.edit(edit)],
            Payload::AssistantChunk(chunk) => {
                self.chunk(event, chunk.part, &chunk.text, chunk.index, false)
            }
            Payload::ThinkingChunk(chunk) => {
                self.chunk(event, chunk.part, &chunk.text, chunk.index, true)
            }
            Payload::AssistantDone(done) => self.done(event, done.part, &done.text),
            Payload::ThinkingDone(done) => self.thought(event, done.part, &done.text),
            Payload::Progress(progress) => {
                let mut data = json!({"message": progress.message});
                if let Some(percent) = progress.percent {
                    data["progress_percent"] = percent.into();
                }
                vec![report("step_completed", data)]
            }
            Payload::ErrorEvent(error) => {
                let data = json!({"message": error.message, "code": error.code});
                vec![report("error", data)]
            }
            Payload::Notice(notice) => {
                let data = json!({"message": notice.text, "level": notice.level});
                vec![report("info", data)]
            }
            _ => {
                let kind = event.event_type().to_owned();
                *self.left_out.entry(kind).or_default() += 1;
                Vec::new()
            }
        }
    }

    fn result(&mut self, result: &ToolResult) -> Value {
        let (name, args) = self
            .calls
            .remove(&result.tool_call_id)
            .unwrap_or((String::new(), Value::Null));
        let given = self.given.remove(&result.tool_call_id);
        let given = result.given(given.as_ref());
        let text = match given.is_null() {
            true => std::borrow::Cow::Borrowed(""),
            false => given.display_text(),
        };
        let summary = result
            .summary
            .clone()
            .unwrap_or_else(|| AgentEventAdapter::summarize_result(&name, &text, result.exit_code));
        let success = result.error.is_none();
        let id = &result.tool_call_id;
        let mut made = self
            .adapter
            .on_tool_complete(id, result.duration_ms, &summary, success);
        let data = &mut made["event_data"];
        data["tool_name"] = name.as_str().into();
        // What the seed's worker calls them.
        data["tool"] = name.into();
        data["tool_input"] = sanitized(&args);
        data["tool_response"] = cut_chars(&text, MAX_RESPONSE_CHARS).into();
        data["result_preview"] = cut_chars(&text, MAX_PREVIEW_CHARS).into();
        if let Some(code) = result.exit_code {
            data["exit_code"] = code.into();
        }
        if let Some(error) = &result.error {
            data["error_message"] = cut_chars(&error.message, MAX_PREVIEW_CHARS).into();
            if let Some(code) = &error.code {
                data["error_code"] = code.as_str().into();
            }
        }
        made
    }

    fn edit(&self, edit: &FileEdit) -> Value {
        let mut info = Map::new();
        let mut put = |key: &str, value: Value| info.insert(key.to_owned(), value);
        if let Some(turn) = edit.extra.get("turn") {
            put("turn", turn.to_value());
        }
        put("tool_use_id", edit.tool_call_id.as_str().into());
        put("lines_added", edit.lines_added.into());
        put("lines_removed", edit.lines_removed.into());
        put("diff_preview", (*edit.diff_preview.read()).into());
        if let Some(Body::Inline(diff)) = &edit.full_diff
            && diff.len() <= MAX_DIFF_CHARS
        {
            put("full_diff", (*diff.read()).into());
        }
        put("full_diff_available", edit.full_diff_available.into());
        put("full_diff_size", edit.full_diff_size.into());
        if let Some(old_path) = &edit.old_path {
            put("old_path", old_path.as_str().into());
        }
        if edit.binary == Some(true) {
            put("binary", true.into());
        }
        self.adapter
            .on_file_changed(&edit.file_path, &edit.change_type, info)
    }

    fn chunk(
        &mut self,
        event: &ChatEvent,
        part: Option<u32>,
        text: &str,
        index: Option<u64>,
        thinking: bool,
    ) -> Vec<Value> {
        let id = message_id(event, part);
        let message = self.messages.entry(id.clone()).or_default();
        let mut made = Vec::new();
        if thinking && !std::mem::replace(&mut message.thinks, true) {
            made.push(report(
                "agent.thinking_start",
                json!({"turn": self.adapter.turn, "message_id": id}),
            ));
        }
        message.numbered |= index.is_some();
        if thinking {
            message.thinking.push_str(text);
        } else {
            message.text.push_str(text);
        }
        for piece in pieces(text) {
            let number = index
                .filter(|_| piece.len() == text.len())
                .unwrap_or(message.next);
            message.next = message.next.max(number.saturating_add(1));
            made.push(
                self.adapter
                    .on_message_chunk(&id, piece, number, thinking, false),
            );
        }
        made
    }

    fn done(&mut self, event: &ChatEvent, part: Option<u32>, text: &str) -> Vec<Value> {
        let id = message_id(event, part);
        let mut message = self.messages.remove(&id).unwrap_or_default();
        let mut made = Vec::new();
        // What the chunks did not say is said by more of them, or where they said otherwise, by the end.
        let rest = text.strip_prefix(message.text.as_str());
        let rest = rest.filter(|_| !message.numbered || message.text == text);
        let first = self.ended.insert(hash(format!("text:{id}").as_bytes()));
        let rest = rest.filter(|_| first);
        for piece in rest.map(pieces).into_iter().flatten() {
            made.push(
                self.adapter
                    .on_message_chunk(&id, piece, message.next, false, false),
            );
            message.next = message.next.saturating_add(1);
        }
        let mut end = json!({"message_id": id});
        if rest.is_none() {
            end["text"] = text.into();
        } else {
            made.push(
                self.adapter
                    .on_message_chunk(&id, "", message.next, false, true),
            );
        }
        made.push(report("agent.message_end", end));
        made
    }

    fn thought(&mut self, event: &ChatEvent, part: Option<u32>, text: &str) -> Vec<Value> {
        let id = message_id(event, part);
        let message = self.messages.entry(id.clone()).or_default();
        let mut made = Vec::new();
        if !std::mem::replace(&mut message.thinks, false) {
            made.push(report(
                "agent.thinking_start",
                json!({"turn": self.adapter.turn, "message_id": id}),
            ));
        }
        let said = std::mem::take(&mut message.thinking);
        let mut end = json!({"turn": self.adapter.turn, "message_id": id});
        let first = self.ended.insert(hash(format!("thought:{id}").as_bytes()));
        let over = self.ended.contains(&hash(format!("text:{id}").as_bytes()));
        if first && !over && said.is_empty() && !message.numbered {
            for piece in pieces(text) {
                made.push(
                    self.adapter
                        .on_message_chunk(&id, piece, message.next, true, false),
                );
                message.next = message.next.saturating_add(1);
            }
        } else if !first || over || said != text {
            end["thinking"] = text.into();
        }
        made.push(report("agent.thinking_end", end));
        made
    }
}

/// The message that a part of a response is.
fn message_id(event: &ChatEvent, part: Option<u32>) -> String {
    let id = event
        .response_id
        .as_deref()
        .or(event.turn_id.as_deref())
        .unwrap_or("message");
    match part.unwrap_or(0) {
        0 => id.to_owned(),
        part => format!("{id}.{part}"),
    }
}

/// A text in pieces that a chunk may hold.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let piece = cut_chars(rest, MAX_CHUNK_CHARS);
        pieces.push(piece);
        rest = rest.get(piece.len()..).unwrap_or("");
    }
    pieces
}
