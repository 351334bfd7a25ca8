//! `AgentEventAdapter` of seed 000: the events a worker reports, made of what its hooks know.
//!
//! Names are the snake_case ones; long arguments are said by their length, so that a report stays small.

use serde_json::{Map, Value, json};

/// Strings among arguments longer than this, in characters, are said by their length.
const MAX_ARG_CHARS: usize = 1000;

/// What a summary and a message hold at most, in characters.
const MAX_SUMMARY_CHARS: usize = 500;

/// Makes reports: `{event_type, event_data}`.
///
/// ```
/// use chat_normalize::AgentEventAdapter;
/// let mut adapter = AgentEventAdapter::default();
/// adapter.turn = 3;
/// let report = adapter.on_tool_start("t1", "Read", &serde_json::json!({"path": "x".repeat(2000)}));
/// assert_eq!(report["event_type"], "agent.tool_use");
/// assert_eq!(report["event_data"]["tool_args"]["path"], "<2000 chars>");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentEventAdapter {
    /// The turn of the agent's loop, from 1; it goes out with every report about a tool or a file.
    pub turn: u64,
}

impl AgentEventAdapter {
    /// A tool is called.
    pub fn on_tool_start(&self, tool_id: &str, tool_name: &str, tool_args: &Value) -> Value {
        let data = json!({"turn": self.turn, "tool_id": tool_id, "tool_name": tool_name,
            "tool_args": sanitized(tool_args)});
        report("agent.tool_use", data)
    }

    /// A tool has ended; `success` tells which of the two events it is.
    pub fn on_tool_complete(
        &self,
        tool_id: &str,
        duration_ms: Option<u64>,
        result_summary: &str,
        success: bool,
    ) -> Value {
        let summary = cut_chars(result_summary, MAX_SUMMARY_CHARS);
        let mut data = json!({"turn": self.turn, "tool_id": tool_id, "result_summary": summary,
            "success": success});
        if let Some(duration_ms) = duration_ms {
            data["duration_ms"] = duration_ms.into();
        }
        let kind = if success {
            "agent.tool_completed"
        } else {
            "agent.tool_failed"
        };
        report(kind, data)
    }

    /// A file was changed; `diff_info` has the figures and the diff, as the seed names them.
    pub fn on_file_changed(
        &self,
        path: &str,
        change_type: &str,
        diff_info: Map<String, Value>,
    ) -> Value {
        let mut data = Map::new();
        data.insert("turn".to_owned(), self.turn.into());
        data.insert("file_path".to_owned(), path.into());
        data.insert("change_type".to_owned(), change_type.into());
        data.extend(diff_info);
        let kind = if change_type == "deleted" {
            "agent.file_deleted"
        } else {
            "agent.file_edited"
        };
        report(kind, Value::Object(data))
    }

    /// The agent writes or thinks.
    pub fn on_message_chunk(
        &self,
        message_id: &str,
        chunk: &str,
        chunk_index: u64,
        is_thinking: bool,
        is_final: bool,
    ) -> Value {
        let data = json!({"message_id": message_id, "chunk": chunk, "chunk_index": chunk_index,
            "is_thinking": is_thinking, "is_final": is_final});
        report("agent.message_chunk", data)
    }

    /// One line for what a tool gave, after the seed: lines read, the exit code of a command.
    pub fn summarize_result(tool_name: &str, result: &str, exit_code: Option<i64>) -> String {
        match tool_name {
            "Read" | "read" | "read_file" => {
                let n_lines = result.matches('\n').count() + 1;
                format!("{n_lines} lines")
            }
            "Write" | "write" | "write_file" => "File written".to_owned(),
            "Edit" | "edit" | "MultiEdit" | "NotebookEdit" => "File edited".to_owned(),
            "Bash" | "bash" | "shell" => match exit_code {
                Some(code) => format!("Exit code: {code}"),
                None => "Exit code: unknown".to_owned(),
            },
            _ => "Completed".to_owned(),
        }
    }
}

/// A report in the envelope of the seed's event bus.
///
/// ```
/// use chat_normalize::system_event;
/// let report = serde_json::json!({"event_type": "agent.tool_use", "event_data": {"tool_id": "t"}});
/// let sent = system_event("sandbox", "s1", &report);
/// assert_eq!(sent["entity_id"], "s1");
/// assert_eq!(sent["payload"]["tool_id"], "t");
/// ```
pub fn system_event(entity_type: &str, entity_id: &str, report: &Value) -> Value {
    let mut sent = Map::new();
    for key in ["event_id", "timestamp", "event_type"] {
        if let Some(held) = report.get(key) {
            sent.insert(key.to_owned(), held.clone());
        }
    }
    sent.insert("entity_type".to_owned(), entity_type.into());
    sent.insert("entity_id".to_owned(), entity_id.into());
    let payload = report.get("event_data").cloned().unwrap_or(json!({}));
    sent.insert("payload".to_owned(), payload);
    Value::Object(sent)
}

/// `{event_type, event_data}`.
pub(super) fn report(kind: &str, data: Value) -> Value {
    json!({"event_type": kind, "event_data": data})
}

/// Arguments with long strings said by their length, at any depth.
pub(super) fn sanitized(args: &Value) -> Value {
    match args {
        Value::String(text) => {
            // A string of few bytes has no more characters.
            let n_chars = if text.len() <= MAX_ARG_CHARS {
                0
            } else {
                text.chars().count()
            };
            if n_chars > MAX_ARG_CHARS {
                Value::String(format!("<{n_chars} chars>"))
            } else {
                args.clone()
            }
        }
        Value::Array(items) => items.iter().map(sanitized).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let sanitized = members.map(|(name, value)| (name.clone(), sanitized(value)));
            Value::Object(sanitized.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => args.clone(),
    }
}

/// The first `max` characters.
pub(super) fn cut_chars(text: &str, max: usize) -> &str {
    match text.char_indices().nth(max) {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    }
}
