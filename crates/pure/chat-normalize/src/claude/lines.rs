//! Which of Claude Code's dialects a line speaks.

use serde_json::Value;

use super::side_lines::is_side_line;
use crate::dialect::Naming;
use crate::value::{str_of, text_of};

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
            "conversation_reset" => true,
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

/// What a line of a stream says of its session. `init` names it. Hooks run before: where a session is taken up again, their
/// lines bear an id that nothing else has (seen in 2.1.330), and behind `/clear` that of the session which begins.
pub(crate) fn naming(value: &Value) -> Naming<'_> {
    let Some(id) = text_of(value, "session_id") else {
        return Naming::Untold;
    };
    match (str_of(value, "type"), str_of(value, "subtype")) {
        (Some("system"), Some("init")) => Naming::Begins(id),
        (Some("system"), Some(kind)) if kind.starts_with("hook_") => Naming::Before(id),
        _ => Naming::Untold,
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
