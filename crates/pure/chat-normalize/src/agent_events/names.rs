//! The names of events, and where their fields stand.

use serde_json::Value;

use crate::value::{is_time, millis_of_rfc3339, str_of, text_of};

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
pub(super) fn canonical(kind: &str) -> Option<&'static str> {
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
pub(super) fn data_of(value: &Value) -> &Value {
    ["event_data", "payload"]
        .iter()
        .find_map(|key| value.get(*key).filter(|data| data.is_object()))
        .unwrap_or(value)
}

/// The event's own time.
pub(super) fn time_of(event: &Value) -> Option<i64> {
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
            is_time(millis).then_some(millis)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
