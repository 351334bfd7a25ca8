//! `agent.*` events of sandbox workers: `{event_type, event_data}`, flat, in a `SystemEvent` envelope, or in batches.
//!
//! | `event_type` (and its older name) | event |
//! |---|---|
//! | `agent.tool_use` (`TOOL_STARTED`) | `tool_call` |
//! | `agent.tool_completed`, `agent.tool_failed` (`TOOL_COMPLETED`, `TOOL_FAILED`) | `tool_result`, with its call where none was seen |
//! | `agent.file_edited`, `…_created`, `…_deleted`, `file_modified` (`FILE_EDITED` …) | `file_edit` |
//! | `agent.thinking_start`, `agent.thinking_end` (`AGENT_THINKING_START` …) | what comes between is thinking |
//! | `agent.message_chunk`, `agent.message_end` (`AGENT_MESSAGE_CHUNK` …) | chunks and their `_done` |
//! | `step_completed`, `error`, `info` | `progress`, `error`, `notice` |
//! | `TOOL_EVENTS_BATCH` | each of its events |
//!
//! The source has no turns of a person; all of it is one turn. A call without an id is known by its tool and input.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::{
    AssistantChunk, AssistantDone, ErrorEvent, FileEdit, Progress, SessionEnd, SessionStart,
    ThinkingChunk, ThinkingDone, ToolCall, ToolError, ToolResult, TurnEnd, TurnStart,
};
use chat_event::{Body, Extra, Json};
use serde_json::Value;

use crate::claude::{tool_kind, tool_title};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_true, list_of, millis_of_rfc3339, str_of, text_of};

const FORMAT: &str = "agent-events";

/// How deep batches may hold batches.
const MAX_NESTING: usize = 4;

/// Whether a value is one of these events.
pub(crate) fn is_agent_event(value: &Value) -> bool {
    let Some(kind) = str_of(value, "event_type") else {
        return false;
    };
    canonical(kind).is_some()
        || kind.starts_with("agent.")
        || ["event_data", "payload"]
            .iter()
            .any(|key| value.get(*key).is_some_and(Value::is_object))
}

/// The session an event belongs to: its sandbox or task.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    if !is_agent_event(value) {
        return None;
    }
    let data = data_of(value);
    ["entity_id", "task_id", "sandbox_id", "session_id"]
        .iter()
        .find_map(|key| text_of(value, key).or_else(|| text_of(data, key)))
        .map(str::to_owned)
}

/// The name that is written, for a name that is read.
fn canonical(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "agent.tool_use" | "agent.tool_started" | "TOOL_STARTED" => "tool_use",
        "agent.tool_completed" | "TOOL_COMPLETED" => "tool_completed",
        "agent.tool_failed" | "TOOL_FAILED" => "tool_failed",
        "agent.file_edited" | "FILE_EDITED" | "file_modified" => "file_edited",
        "agent.file_created" | "FILE_CREATED" => "file_created",
        "agent.file_deleted" | "FILE_DELETED" => "file_deleted",
        "agent.thinking_start" | "AGENT_THINKING_START" => "thinking_start",
        "agent.thinking_end" | "AGENT_THINKING_END" => "thinking_end",
        "agent.message_chunk" | "AGENT_MESSAGE_CHUNK" => "message_chunk",
        "agent.message_end" | "AGENT_MESSAGE_END" => "message_end",
        "step_completed" => "step_completed",
        "error" | "agent.error" => "error",
        "info" | "agent.info" => "info",
        "TOOL_EVENTS_BATCH" | "agent.tool_events_batch" => "batch",
        _ => return None,
    })
}

/// Where an event's fields stand.
fn data_of(value: &Value) -> &Value {
    ["event_data", "payload"]
        .iter()
        .find_map(|key| value.get(*key).filter(|data| data.is_object()))
        .unwrap_or(value)
}

/// Reads these events.
#[derive(Debug, Default)]
pub(crate) struct AgentEvents {
    begun: bool,
    failed: bool,
    calls: Vec<OpenCall>,
    n_calls: u64,
    messages: BTreeMap<String, OpenMessage>,
    current: Option<String>,
    n_messages: u64,
    thinking: bool,
    done: BTreeSet<String>,
}

#[derive(Debug)]
struct OpenCall {
    id: String,
    named: bool,
    tool: String,
    args: Value,
}

/// Chunks by their index, in whichever order they come.
#[derive(Debug, Default)]
struct OpenMessage {
    text: BTreeMap<u64, String>,
    thinking: BTreeMap<u64, String>,
    n_chunks: u64,
}

impl AgentEvents {
    pub(crate) fn new() -> Self {
        AgentEvents::default()
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        if self.begun {
            return;
        }
        self.begun = true;
        let data = data_of(line);
        let has_time = time_of(line).is_some();
        let start = SessionStart {
            native_id: session_of(line),
            provider: Some("agent-events".to_owned()),
            sandbox_id: text_of(line, "sandbox_id")
                .or_else(|| text_of(data, "sandbox_id"))
                .map(str::to_owned),
            timestamp_source: (!has_time).then(|| "arrival".to_owned()),
            ..SessionStart::default()
        };
        emitter.add("start", &Place::default(), start);
        emitter.add(
            "turn",
            &place(),
            TurnStart {
                trigger: "user".to_owned(),
                ..TurnStart::default()
            },
        );
    }

    fn event(&mut self, emitter: &mut Emitter, event: &Value, tag: &str, depth: usize) {
        let kind = str_of(event, "event_type").unwrap_or("");
        let data = data_of(event);
        if let Some(time_ms) = time_of(event) {
            emitter.time_ms = time_ms;
        }
        match canonical(kind) {
            Some("tool_use") => self.tool_use(emitter, data),
            Some(result @ ("tool_completed" | "tool_failed")) => {
                self.tool_result(emitter, data, result == "tool_failed")
            }
            Some(change @ ("file_edited" | "file_created" | "file_deleted")) => {
                file_edit(emitter, data, change, tag)
            }
            Some("thinking_start") => self.thinking = true,
            Some("thinking_end") => {
                self.thinking = false;
                self.close_thinking(emitter, data);
            }
            Some("message_chunk") => self.chunk(emitter, data, tag),
            Some("message_end") => {
                let id = text_of(data, "message_id")
                    .map(str::to_owned)
                    .or_else(|| self.current.clone());
                match id {
                    Some(id) => self.close_message(emitter, &id, ""),
                    None => emitter.pass_over("message_end without a message"),
                }
            }
            Some("step_completed") => {
                let percent = crate::value::amount_of(data, "progress_percent");
                let message = text_of(data, "message")
                    .unwrap_or("a step is done")
                    .to_owned();
                emitter.add(
                    &tagged("progress", tag),
                    &place(),
                    Progress {
                        message,
                        percent,
                        ..Progress::default()
                    },
                );
            }
            Some("error") => {
                self.failed = true;
                let message = ["message", "error", "error_message"]
                    .iter()
                    .find_map(|key| text_of(data, key));
                let message = message.map_or_else(|| data.to_string(), str::to_owned);
                let code = text_of(data, "code").unwrap_or("error").to_owned();
                emitter.add(
                    &tagged("error", tag),
                    &place(),
                    ErrorEvent {
                        code,
                        message,
                        extra: Extra::default(),
                    },
                );
            }
            Some("info") => {
                let text = text_of(data, "message").map_or_else(|| data.to_string(), str::to_owned);
                emitter.notice("info", &place(), "agent", text);
            }
            Some("batch") if depth < MAX_NESTING => {
                for (at, inner) in list_of(data, "events").iter().enumerate() {
                    self.event(emitter, inner, &format!("{tag}{at}."), depth + 1);
                }
            }
            Some(_) | None => emitter.raw(&place(), FORMAT, kind, event),
        }
    }

    fn tool_use(&mut self, emitter: &mut Emitter, data: &Value) {
        let tool = tool_of(data);
        let args = args_of(data);
        let id = self.open(call_id_of(data), &tool, &args);
        write_call(emitter, &id, &tool, &args);
    }

    fn open(&mut self, id: Option<String>, tool: &str, args: &Value) -> String {
        self.n_calls += 1;
        let named = id.is_some();
        let id = id.unwrap_or_else(|| format!("call-{}", self.n_calls));
        self.calls.push(OpenCall {
            id: id.clone(),
            named,
            tool: tool.to_owned(),
            args: args.clone(),
        });
        id
    }

    fn tool_result(&mut self, emitter: &mut Emitter, data: &Value, failed: bool) {
        let tool = tool_of(data);
        let args = args_of(data);
        let wanted = call_id_of(data);
        let open = self.calls.iter().position(|call| match &wanted {
            Some(id) => call.id == *id,
            None => !call.named && call.tool == tool && (call.args == args || args.is_null()),
        });
        let id = match open {
            Some(at) => self.calls.remove(at).id,
            None => {
                if let Some(id) = wanted.as_ref().filter(|id| self.done.contains(*id)) {
                    emitter.raw(&place(), FORMAT, &format!("second result of {id}"), data);
                    return;
                }
                // Workers that report only what is done still show a call.
                let id = self.open(wanted, &tool, &args);
                self.calls.pop();
                write_call(emitter, &id, &tool, &args);
                id
            }
        };
        self.done.insert(id.clone());
        let failed = failed || data.get("success") == Some(&Value::Bool(false));
        let result = ["tool_response", "result_preview", "result"]
            .iter()
            .find_map(|key| data.get(*key).filter(|value| !value.is_null()));
        let message = text_of(data, "error_message")
            .or_else(|| text_of(data, "error"))
            .unwrap_or("the tool failed");
        let payload = ToolResult {
            tool_call_id: id.clone(),
            result: result.map_or_else(|| Json::string(""), Json::from),
            error: failed.then(|| ToolError {
                code: None,
                message: message.to_owned(),
                extra: Extra::default(),
            }),
            summary: text_of(data, "result_summary").map(str::to_owned),
            duration_ms: count_of(data, "duration_ms"),
            ..ToolResult::default()
        };
        emitter.add_as(&format!("{id}:result"), &place(), payload);
    }

    fn chunk(&mut self, emitter: &mut Emitter, data: &Value, tag: &str) {
        let id = match text_of(data, "message_id") {
            Some(id) => id.to_owned(),
            None => self.current.clone().unwrap_or_else(|| {
                self.n_messages += 1;
                format!("message-{}", self.n_messages)
            }),
        };
        self.current = Some(id.clone());
        let text = str_of(data, "chunk")
            .or_else(|| str_of(data, "chunk_text"))
            .or_else(|| str_of(data, "text"))
            .unwrap_or("");
        let thinking = self.thinking || is_true(data, "is_thinking");
        let message = self.messages.entry(id.clone()).or_default();
        let index = count_of(data, "chunk_index").unwrap_or(message.n_chunks);
        message.n_chunks = message.n_chunks.max(index.saturating_add(1));
        if !text.is_empty() {
            let place = place().in_response(&id);
            let chunk_id = tagged(&format!("{id}:{index}"), tag);
            let chunks = if thinking {
                &mut message.thinking
            } else {
                &mut message.text
            };
            // A chunk that is sent again is not put together twice.
            chunks.entry(index).or_insert_with(|| text.to_owned());
            let (text, part, index) = (text.to_owned(), Some(0), Some(index));
            if thinking {
                emitter.add_as(
                    &chunk_id,
                    &place,
                    ThinkingChunk {
                        text,
                        part,
                        index,
                        extra: Extra::default(),
                    },
                );
            } else {
                emitter.add_as(
                    &chunk_id,
                    &place,
                    AssistantChunk {
                        text,
                        part,
                        index,
                        extra: Extra::default(),
                    },
                );
            }
        }
        if is_true(data, "is_final") {
            self.close_message(emitter, &id, tag);
        }
    }

    fn close_thinking(&mut self, emitter: &mut Emitter, data: &Value) {
        let id = text_of(data, "message_id")
            .map(str::to_owned)
            .or_else(|| self.current.clone());
        let Some(id) = id else { return };
        let Some(message) = self.messages.get_mut(&id) else {
            return;
        };
        let chunks = std::mem::take(&mut message.thinking);
        thinking_done(emitter, &id, &chunks);
    }

    fn close_message(&mut self, emitter: &mut Emitter, id: &str, _tag: &str) {
        let Some(message) = self.messages.remove(id) else {
            emitter.pass_over("message_end of a message that is over");
            return;
        };
        if self.current.as_deref() == Some(id) {
            self.current = None;
        }
        thinking_done(emitter, id, &message.thinking);
        if !message.text.is_empty() {
            let text = message.text.into_values().collect();
            let done = AssistantDone {
                text,
                part: Some(0),
                ..AssistantDone::default()
            };
            emitter.add_as(&format!("{id}:done"), &place().in_response(id), done);
        }
    }
}

impl Normalizer for AgentEvents {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if let Some(id) = ["event_id", "id"].iter().find_map(|key| text_of(line, key)) {
            emitter.begin_line(Some(id));
        }
        self.begin(emitter, line);
        self.event(emitter, line, "", 0);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        for id in self.messages.keys().cloned().collect::<Vec<_>>() {
            self.close_message(emitter, &id, "");
        }
        let cut_off = !self.calls.is_empty();
        for call in std::mem::take(&mut self.calls) {
            let message = "no result recorded".to_owned();
            let error = ToolError {
                code: Some("no_result".to_owned()),
                message,
                extra: Extra::default(),
            };
            let result = ToolResult {
                tool_call_id: call.id.clone(),
                result: Json::string(""),
                error: Some(error),
                ..ToolResult::default()
            };
            emitter.add_as(&format!("{}:closed", call.id), &place(), result);
        }
        let outcome = if cut_off {
            "interrupted"
        } else if self.failed {
            "failed"
        } else {
            "completed"
        };
        emitter.add(
            "turn-end",
            &place(),
            TurnEnd {
                outcome: Some(outcome.to_owned()),
                ..TurnEnd::default()
            },
        );
        emitter.add(
            "session-end",
            &Place::default(),
            SessionEnd {
                reason: "end of stream".to_owned(),
                extra: Extra::default(),
            },
        );
    }
}

fn thinking_done(emitter: &mut Emitter, id: &str, chunks: &BTreeMap<u64, String>) {
    if !chunks.is_empty() {
        let text = chunks.values().map(String::as_str).collect();
        let done = ThinkingDone {
            text,
            part: Some(0),
            ..ThinkingDone::default()
        };
        emitter.add_as(&format!("{id}:thought"), &place().in_response(id), done);
    }
}

/// All of it is one turn.
fn place() -> Place {
    Place {
        turn_id: Some("t1".to_owned()),
        ..Place::default()
    }
}

fn tagged(stem: &str, tag: &str) -> String {
    if tag.is_empty() {
        stem.to_owned()
    } else {
        format!("{stem}:{}", tag.trim_end_matches('.'))
    }
}

fn tool_of(data: &Value) -> String {
    text_of(data, "tool_name")
        .or_else(|| text_of(data, "tool"))
        .unwrap_or("")
        .to_owned()
}

fn args_of(data: &Value) -> Value {
    ["tool_args", "tool_input", "args"]
        .iter()
        .find_map(|key| data.get(*key))
        .cloned()
        .unwrap_or(Value::Null)
}

fn call_id_of(data: &Value) -> Option<String> {
    ["tool_id", "tool_use_id", "tool_call_id"]
        .iter()
        .find_map(|key| text_of(data, key))
        .map(str::to_owned)
}

fn write_call(emitter: &mut Emitter, id: &str, tool: &str, args: &Value) {
    let call = ToolCall {
        tool_call_id: id.to_owned(),
        tool_name: tool.to_owned(),
        args: Json::from(args),
        title: tool_title(tool, args),
        kind: Some(tool_kind(tool).to_owned()),
        extra: Extra::default(),
    };
    emitter.add_as(&format!("{id}:call"), &place(), call);
}

fn file_edit(emitter: &mut Emitter, data: &Value, change: &str, tag: &str) {
    let default = match change {
        "file_created" => "created",
        "file_deleted" => "deleted",
        _ => "modified",
    };
    let lines = |key: &str| {
        count_of(data, key)
            .and_then(|lines| u32::try_from(lines).ok())
            .unwrap_or(0)
    };
    let full_diff = text_of(data, "full_diff");
    let preview = text_of(data, "diff_preview")
        .or(full_diff.map(chat_diff::preview))
        .unwrap_or("");
    let edit = FileEdit {
        tool_call_id: call_id_of(data).unwrap_or_default(),
        file_path: text_of(data, "file_path")
            .or_else(|| text_of(data, "path"))
            .unwrap_or("")
            .to_owned(),
        change_type: text_of(data, "change_type").unwrap_or(default).to_owned(),
        lines_added: lines("lines_added"),
        lines_removed: lines("lines_removed"),
        diff_preview: preview.to_owned(),
        // What the worker kept back cannot be had here, whatever it says.
        full_diff_available: full_diff.is_some(),
        full_diff_size: count_of(data, "full_diff_size")
            .unwrap_or(full_diff.map_or(0, str::len) as u64),
        full_diff: full_diff.map(Body::from),
        ..FileEdit::default()
    };
    emitter.add(&tagged("edit", tag), &place(), edit);
}

/// The event's own time.
fn time_of(event: &Value) -> Option<i64> {
    let value = ["timestamp", "created_at"]
        .iter()
        .find_map(|key| event.get(*key).or_else(|| data_of(event).get(*key)))?;
    match value {
        Value::String(text) => millis_of_rfc3339(text),
        Value::Number(number) => {
            let number = number.as_f64()?;
            // Seconds of this century are below what milliseconds of 1973 are.
            let millis = if number.abs() < 1e11 {
                number * 1000.0
            } else {
                number
            };
            #[allow(clippy::cast_possible_truncation)]
            let millis = millis as i64;
            Some(millis)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
