//! What a call gave, as one text.

use chat_event::Json;
use serde_json::Value;

use crate::value::{list_of, str_of};

/// OpenCode's words for a call that was not allowed; its pages look for them.
const REFUSED: &str = "The user rejected permission to use this specific tool call.";

/// What a call that failed says: OpenCode has one text for the reason and for what was printed.
pub(super) fn failure(code: Option<&str>, message: &str, output: &str) -> String {
    let refused = matches!(
        code,
        Some("rejected" | "declined" | "denied" | "user-rejected")
    );
    if refused && !message.starts_with("The user ") {
        return format!("{REFUSED}\n{message}").trim_end().to_owned();
    }
    if output.is_empty() || message.contains(output) {
        return message.to_owned();
    }
    if output.contains(message) {
        return output.to_owned();
    }
    format!("{message}\n{output}")
}

/// A result as text: a string as it is, blocks of text in a row, anything else as JSON.
pub(super) fn text_of_result(result: &Json) -> String {
    if let Some(text) = result.as_str() {
        return text.into_owned();
    }
    if result.is_null() {
        return String::new();
    }
    let value = result.to_value();
    if let Some(body) = value.get("$body") {
        return str_of(body, "preview").unwrap_or("").to_owned();
    }
    let blocks = match &value {
        Value::Array(blocks) => blocks.as_slice(),
        _ => list_of(&value, "content"),
    };
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| str_of(block, "type") == Some("text"))
        .filter_map(|block| str_of(block, "text"))
        .collect();
    if texts.is_empty() {
        result.as_text().into_string()
    } else {
        texts.join("\n")
    }
}
