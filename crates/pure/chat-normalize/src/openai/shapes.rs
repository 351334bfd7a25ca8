//! Which values speak for these APIs.
//!
//! A message or a request that both vendors could have made is taken for Chat Completions, if nothing better comes.

use serde_json::Value;

use crate::value::{list_of, str_of, text_of};

/// Whether a value is of Chat Completions.
pub(crate) fn is_chat(value: &Value) -> Option<bool> {
    match str_of(value, "object") {
        Some("chat.completion.chunk" | "chat.completion") => return Some(true),
        Some(_) => return None,
        None => {}
    }
    let choices = list_of(value, "choices");
    if choices.iter().any(is_choice) {
        return Some(text_of(value, "id").is_some() || text_of(value, "model").is_some());
    }
    if value.get("type").is_some() {
        return None;
    }
    let messages = list_of(value, "messages");
    if !messages.is_empty() && value.get("sessionId").is_none() && value.get("info").is_none() {
        let verdicts: Option<Vec<bool>> = messages.iter().map(is_message).collect();
        let sure = verdicts?.contains(&true);
        return Some(sure || has_functions(value) || text_of(value, "model").is_some());
    }
    is_message(value)
}

fn is_choice(choice: &Value) -> bool {
    ["delta", "message"]
        .iter()
        .any(|name| choice.get(*name).is_some_and(Value::is_object))
        && (choice.get("finish_reason").is_some() || choice.get("index").is_some())
}

fn has_functions(request: &Value) -> bool {
    let tools = list_of(request, "tools").iter();
    tools.into_iter().any(|tool| tool.get("function").is_some())
}

/// Members that a message of Chat Completions has beside its role.
const OF_MESSAGE: [&str; 17] = [
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "refusal",
    "audio",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "id",
    "prefix",
    "partial",
    "provider_specific_fields",
    "cache_control",
];

fn is_message(message: &Value) -> Option<bool> {
    let members = message.as_object()?;
    if !members
        .keys()
        .all(|name| OF_MESSAGE.contains(&name.as_str()))
    {
        return None;
    }
    let content = message.get("content");
    let calls = list_of(message, "tool_calls");
    let with_calls = !calls.is_empty() && calls.iter().all(Value::is_object);
    let fits = match content {
        Some(Value::String(_) | Value::Array(_)) => true,
        Some(Value::Null) | None => with_calls || message.get("function_call").is_some(),
        Some(_) => false,
    };
    match str_of(message, "role")? {
        "tool" if text_of(message, "tool_call_id").is_some() && fits => Some(true),
        "assistant" if with_calls => Some(true),
        "function" if text_of(message, "name").is_some() && fits => Some(true),
        "user" | "assistant" | "system" | "developer" if fits => {
            let parts = content.and_then(Value::as_array).into_iter().flatten();
            let kinds: Option<Vec<bool>> = parts.map(part_speaks).collect();
            Some(kinds?.contains(&true))
        }
        _ => None,
    }
}

/// Whether a part of a content is of this API alone; `None` where it is of another.
fn part_speaks(part: &Value) -> Option<bool> {
    match str_of(part, "type")? {
        "image_url" | "refusal" | "file" => Some(true),
        "input_audio" => Some(part.get("input_audio").is_some()),
        "text" => Some(false),
        _ => None,
    }
}

/// Whether a value is of the Responses API.
pub(crate) fn is_responses(value: &Value) -> Option<bool> {
    if str_of(value, "object") == Some("response") {
        return value
            .get("output")
            .is_some_and(Value::is_array)
            .then_some(true);
    }
    let kind = str_of(value, "type").unwrap_or("");
    if kind == "response.create" {
        return Some(true);
    }
    if kind.starts_with("response.") {
        let said = [
            "sequence_number",
            "response",
            "item",
            "delta",
            "item_id",
            "output_index",
        ];
        return said
            .iter()
            .any(|name| value.get(*name).is_some())
            .then_some(true);
    }
    if kind == "error" {
        return value.get("sequence_number").map(|_| true);
    }
    if kind.is_empty() && value.get("messages").is_none() {
        match value.get("input") {
            Some(Value::Array(items)) if !items.is_empty() => {
                let verdicts: Option<Vec<bool>> = items.iter().map(is_item).collect();
                let sure = verdicts?.contains(&true);
                return Some(sure || text_of(value, "model").is_some());
            }
            Some(Value::String(_)) => {
                let known = [
                    "instructions",
                    "tools",
                    "stream",
                    "store",
                    "reasoning",
                    "previous_response_id",
                ];
                let is_request = known.iter().any(|name| value.get(*name).is_some());
                return (text_of(value, "model").is_some() && is_request).then_some(false);
            }
            Some(_) | None => {}
        }
    }
    is_item(value)
}

/// Whether a value is an item; sure where no other API has such.
fn is_item(item: &Value) -> Option<bool> {
    let has = |name: &str| item.get(name).is_some();
    match str_of(item, "type").unwrap_or("") {
        "function_call" => (has("call_id") && has("arguments")).then_some(true),
        "custom_tool_call" => (has("call_id") && has("input")).then_some(true),
        "function_call_output"
        | "custom_tool_call_output"
        | "shell_call_output"
        | "local_shell_call_output"
        | "apply_patch_call_output"
        | "computer_call_output" => (has("output") || has("status")).then_some(true),
        "web_search_call"
        | "file_search_call"
        | "code_interpreter_call"
        | "image_generation_call"
        | "computer_call"
        | "local_shell_call"
        | "shell_call"
        | "apply_patch_call"
        | "mcp_call"
        | "mcp_list_tools"
        | "mcp_approval_request"
        | "mcp_approval_response"
        | "tool_search_call"
        | "tool_search_output" => {
            (has("id") || has("call_id") || has("approval_request_id")).then_some(true)
        }
        "reasoning" => item
            .get("summary")
            .is_some_and(Value::is_array)
            .then_some(true),
        "item_reference" => has("id").then_some(false),
        "compaction" => has("encrypted_content").then_some(false),
        "message" => {
            let role = matches!(
                str_of(item, "role")?,
                "user" | "assistant" | "system" | "developer"
            );
            let sure = |part: &Value| {
                matches!(
                    str_of(part, "type"),
                    Some("input_text" | "output_text" | "refusal" | "input_image")
                )
            };
            match item.get("content")? {
                Value::String(_) if role => Some(false),
                Value::Array(parts) if role && parts.iter().any(sure) => Some(true),
                _ => None,
            }
        }
        "" => {
            let parts = list_of(item, "content").iter();
            let role = matches!(
                str_of(item, "role")?,
                "user" | "assistant" | "system" | "developer"
            );
            let is_part = |part: &Value| {
                matches!(
                    str_of(part, "type"),
                    Some("input_text" | "output_text" | "input_image" | "input_file")
                )
            };
            match item.get("content")? {
                Value::String(_) if role => Some(false),
                Value::Array(_) if role && parts.clone().any(is_part) => Some(true),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The session that an answer names: the answer itself, for the API knows no other.
pub(crate) fn chat_session(value: &Value) -> Option<String> {
    matches!(
        str_of(value, "object"),
        Some("chat.completion.chunk" | "chat.completion")
    )
    .then(|| text_of(value, "id").map(str::to_owned))
    .flatten()
}

/// The conversation that an answer names, or the answer itself.
pub(crate) fn responses_session(value: &Value) -> Option<String> {
    let is_event = str_of(value, "type").is_some_and(|kind| kind.starts_with("response."));
    let response = match is_event {
        true => value.get("response")?,
        false if str_of(value, "object") == Some("response") => value,
        false => return None,
    };
    let conversation = response
        .get("conversation")
        .and_then(|conversation| text_of(conversation, "id"));
    conversation
        .or_else(|| text_of(response, "id"))
        .map(str::to_owned)
}
