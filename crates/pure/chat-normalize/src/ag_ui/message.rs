//! What a message holds: its text, what is attached to it, the calls it makes or answers.

use chat_event::Json;
use serde_json::{Map, Value};

use super::events::{id_hash, text_key};
use super::names::field;
use crate::speech::Kind;
use crate::value::{list_of, str_of, text_of};

/// Under what a message may have been told: as words, as a thought, by its calls or as the result of one.
pub(super) fn keys_of(message: &Value) -> impl Iterator<Item = u64> {
    let id = text_of(message, "id").unwrap_or("");
    let texts = [Kind::Text, Kind::Thinking].map(|kind| text_key(kind, id));
    let calls = calls_named(message).map(|call| id_hash("call", call));
    texts.into_iter().chain(calls)
}

/// The calls that a message makes, or of one the call whose result it is.
pub(super) fn calls_named(message: &Value) -> impl Iterator<Item = &str> {
    let made = calls_of(message).iter();
    let made = made.filter_map(|call| text_of(call, "id"));
    made.chain(field(message, "toolCallId", "tool_call_id"))
}

/// The calls of an assistant's message.
pub(super) fn calls_of(message: &Value) -> &[Value] {
    match list_of(message, "toolCalls") {
        [] => list_of(message, "tool_calls"),
        calls => calls,
    }
}

/// Whether a message gives its turn something to show; a result stands with its call, wherever that is.
pub(super) fn shows(message: &Value) -> bool {
    let content = message.get("content").unwrap_or(&Value::Null);
    match str_of(message, "role") {
        Some("system" | "developer" | "tool") => false,
        Some("assistant" | "reasoning") => {
            !content_of(content).0.is_empty() || !calls_of(message).is_empty()
        }
        Some(_) | None => true,
    }
}

/// The text of a message's content, and what stands beside it.
pub(super) fn content_of(content: &Value) -> (String, Option<Json>) {
    let mut text = String::new();
    let mut attached: Vec<Value> = Vec::new();
    match content {
        Value::String(whole) => text.push_str(whole),
        Value::Array(parts) => {
            for part in parts {
                match str_of(part, "text").or_else(|| part.as_str()) {
                    Some(more) => {
                        if !text.is_empty() {
                            text.push('\n');
                        }
                        text.push_str(more);
                    }
                    None => attached.push(attachment(part)),
                }
            }
        }
        Value::Null => {}
        other => text.push_str(&other.to_string()),
    }
    let attached = (!attached.is_empty()).then(|| Json::from(Value::Array(attached)));
    (text, attached)
}

/// `{type: "image", source: {type: "data"|"url", value, mimeType}}`, and the older `{type: "binary", …}`.
fn attachment(part: &Value) -> Value {
    let source = part.get("source").unwrap_or(part);
    let kind = str_of(part, "type").unwrap_or("file");
    let media = text_of(source, "mimeType")
        .map(str::to_owned)
        .unwrap_or_else(|| match kind {
            "image" | "audio" | "video" => format!("{kind}/*"),
            _ => "application/octet-stream".to_owned(),
        });
    let mut made = Map::new();
    if let Some(name) = text_of(part, "filename") {
        made.insert("name".to_owned(), name.into());
    }
    made.insert("mediaType".to_owned(), media.into());
    let url = text_of(source, "url")
        .or_else(|| text_of(source, "value").filter(|_| str_of(source, "type") == Some("url")));
    let data = text_of(source, "data").or_else(|| text_of(source, "value"));
    match (url, data) {
        (Some(url), _) => made.insert("ref".to_owned(), url.into()),
        (None, Some(data)) => made.insert("data".to_owned(), data.into()),
        (None, None) => None,
    };
    Value::Object(made)
}
