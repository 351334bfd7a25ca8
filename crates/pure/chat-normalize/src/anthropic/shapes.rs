//! Which values speak for the Messages API.

use serde_json::Value;

use crate::value::{list_of, str_of, text_of};

/// Whether a value is of the Messages API.
pub(crate) fn is_of(value: &Value) -> Option<bool> {
    let is_object = |name: &str| value.get(name).is_some_and(Value::is_object);
    // Lines of programs that hand the API's messages on have members of their own.
    let foreign = [
        "session_id",
        "sessionId",
        "uuid",
        "sessionID",
        "timestamp",
        "jsonrpc",
    ];
    if foreign.iter().any(|name| value.get(*name).is_some()) {
        return None;
    }
    match str_of(value, "type") {
        Some("message_start") => {
            let message = value.get("message")?;
            (str_of(message, "type") == Some("message") || message.get("usage").is_some())
                .then_some(true)
        }
        Some("content_block_start") => is_object("content_block").then_some(true),
        Some("content_block_delta") => is_object("delta").then_some(true),
        Some("message_delta") => (is_object("delta") && is_object("usage")).then_some(true),
        Some("message") => is_answer(value).then_some(true),
        Some("error") => {
            let error = value.get("error")?;
            (text_of(error, "type").is_some() && error.get("message").is_some()).then_some(false)
        }
        Some(_) => None,
        None => {
            if value.get("messages").is_some() {
                return is_request(value);
            }
            let only = value
                .as_object()?
                .keys()
                .all(|name| matches!(name.as_str(), "role" | "content"));
            (only && is_message(value) == Some(true)).then_some(true)
        }
    }
}

fn is_answer(message: &Value) -> bool {
    str_of(message, "role") == Some("assistant")
        && message.get("content").is_some_and(Value::is_array)
        && (message.get("stop_reason").is_some() || message.get("usage").is_some())
}

fn is_request(request: &Value) -> Option<bool> {
    let messages = list_of(request, "messages");
    let verdicts: Option<Vec<bool>> = messages.iter().map(is_message).collect();
    let of_messages = verdicts?.contains(&true);
    let has = |name: &str| request.get(name).is_some();
    let tools = list_of(request, "tools").iter();
    let of_tools = tools
        .into_iter()
        .any(|tool| tool.get("input_schema").is_some());
    (of_messages || of_tools || has("system") || has("anthropic_version")).then_some(true)
}

/// Whether a message has blocks of this API alone; `None` where it is none of it.
fn is_message(message: &Value) -> Option<bool> {
    let of_role = matches!(str_of(message, "role")?, "user" | "assistant");
    if !of_role || message.get("tool_calls").is_some() {
        return None;
    }
    match message.get("content")? {
        Value::String(_) => Some(false),
        Value::Array(blocks) => {
            let verdicts: Option<Vec<bool>> = blocks.iter().map(block_speaks).collect();
            Some(verdicts?.contains(&true))
        }
        _ => None,
    }
}

fn block_speaks(block: &Value) -> Option<bool> {
    let has = |name: &str| block.get(name).is_some();
    match str_of(block, "type")? {
        "text" => Some(false),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => Some(has("id") && has("name")),
        "image" | "document" => Some(has("source")),
        "thinking" => Some(has("thinking") && has("signature")),
        "redacted_thinking" => Some(has("data")),
        "compaction" | "container_upload" => Some(true),
        "fallback" => Some(has("from") && has("to")),
        kind if kind.ends_with("tool_result") => Some(has("tool_use_id")),
        _ => None,
    }
}

/// The session that an answer names: the answer itself, for the API knows no other.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    is_of(value)?;
    let message = match str_of(value, "type")? {
        "message_start" => value.get("message")?,
        "message" => value,
        _ => return None,
    };
    text_of(message, "id").map(str::to_owned)
}
