//! Which of Droid's dialects a line speaks, and what it is about.

use serde_json::Value;

use crate::value::{list_of, str_of, text_of};

/// Members that lines of other programs have which look alike.
const NOT_DROIDS: [&str; 12] = [
    "uuid",
    "parentUuid",
    "parent_tool_use_id",
    "message",
    "payload",
    "jsonrpc",
    "hook_event_name",
    "apiKeySource",
    "mcp_servers",
    "permissionMode",
    "claude_code_version",
    "qwen_code_version",
];

/// With this the id of the word begins that a task in the background is over.
pub(super) const TASK: &str = "task-completion:";

/// Whether a line is of a stream, and whether that is sure.
pub(crate) fn is_stream_line(value: &Value) -> Option<bool> {
    run_of(value)?;
    let has = |key: &&str| value.get(*key).is_some();
    let kind = str_of(value, "type")?;
    if kind != "error" && NOT_DROIDS.iter().any(has) {
        return None;
    }
    let is_text = |key: &str| str_of(value, key).is_some();
    let is = match kind {
        "system" if has(&"reasoning_effort") => true,
        "system" => {
            let begins = is_text("model") && is_text("cwd");
            return begins.then_some(false);
        }
        "message" => matches!(str_of(value, "role"), Some("user" | "assistant")) && is_text("text"),
        "reasoning" => is_text("text"),
        "tool_call" => is_text("toolName") && has(&"parameters"),
        "tool_result" => (has(&"value") || has(&"error")) && call_id(value).is_some(),
        "completion" => is_text("finalText"),
        _ => false,
    };
    is.then_some(true)
}

/// The session that a line of a stream names.
pub(super) fn run_of(value: &Value) -> Option<&str> {
    text_of(value, "session_id").or_else(|| text_of(value, "sessionId"))
}

/// The call that a line is about; older versions call it otherwise, and the line itself `id`.
pub(super) fn call_id(line: &Value) -> Option<&str> {
    text_of(line, "toolCallId").or_else(|| text_of(line, "id"))
}

/// Whether a line is of a session file, and whether that is sure.
pub(crate) fn is_session_line(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    if ["payload", "sessionId", "session_id", "uuid"]
        .into_iter()
        .any(has)
    {
        return None;
    }
    match str_of(value, "type")? {
        "session_start" => {
            text_of(value, "id")?;
            let is = has("cwd") && (has("owner") || has("title") || has("sessionTitle"));
            is.then_some(true)
        }
        "message" => {
            text_of(value, "id")?;
            let message = value.get("message")?;
            // Pi's messages have a time of their own, and other blocks.
            if message.get("timestamp").is_some()
                || !matches!(str_of(message, "role"), Some("user" | "assistant"))
            {
                return None;
            }
            text_of(value, "timestamp")?;
            let of_calls =
                |block: &Value| matches!(str_of(block, "type"), Some("tool_use" | "tool_result"));
            Some(list_of(message, "content").iter().any(of_calls))
        }
        "todo_state" => has("todos").then_some(false),
        "compaction_state" => has("summaryKind").then_some(false),
        _ => None,
    }
}

/// The session that a line of a session file names.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    let begins = str_of(value, "type") == Some("session_start");
    let id = text_of(value, "id").filter(|_| begins && is_session_line(value).is_some());
    id.map(str::to_owned)
}
