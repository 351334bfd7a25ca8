//! Which of Claude Code's dialects a line speaks.

use serde_json::Value;

use super::side_lines::is_side_line;
use crate::value::str_of;

/// Whether a line is of a stream, and whether that is sure.
pub(crate) fn is_stream_line(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type").unwrap_or("");
    let has = |key: &str| value.get(key).is_some();
    let is_object = |key: &str| value.get(key).is_some_and(Value::is_object);
    if has("jsonrpc") || has("hook_event_name") {
        return None;
    }
    if has("session_id") || has("parent_tool_use_id") {
        let known = match kind {
            "stream_event" => is_object("event"),
            "system" => has("subtype"),
            "result" => has("subtype") || has("is_error"),
            "user" | "assistant" => is_object("message") && !has("parentUuid"),
            "rate_limit_event" | "tool_progress" | "tool_use_summary" | "auth_status" => true,
            _ => false,
        };
        if known && !(has("parentUuid") || has("sessionId")) {
            return Some(true);
        }
    }
    match kind {
        "control_request" if is_object("request") => Some(false),
        "control_response" if is_object("response") => Some(false),
        "system" if str_of(value, "subtype") == Some("init") && has("claude_code_version") => {
            Some(true)
        }
        _ => None,
    }
}

/// Whether a line is of a transcript, and whether that is sure.
pub(crate) fn is_transcript_line(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type").unwrap_or("");
    let has = |key: &str| value.get(key).is_some();
    let is_object = |key: &str| value.get(key).is_some_and(Value::is_object);
    if has("jsonrpc") || has("hook_event_name") {
        return None;
    }
    let message = value.get("message");
    // Qwen Code's logs have the same envelope with `message.parts`.
    let claude_message =
        message.is_some_and(|message| message.is_object() && message.get("parts").is_none());
    match kind {
        "user" | "assistant" if claude_message => {
            Some(has("parentUuid") || has("sessionId") || has("uuid"))
        }
        "summary" if has("leafUuid") => Some(true),
        "file-history-snapshot" if has("snapshot") => Some(true),
        "attachment" if is_object("attachment") => Some(has("parentUuid") || has("sessionId")),
        // Qwen Code's again.
        "system" if has("systemPayload") => None,
        "system" | "progress" if has("parentUuid") && has("uuid") => Some(true),
        _ if is_side_line(kind) && has("sessionId") => Some(true),
        _ => None,
    }
}
