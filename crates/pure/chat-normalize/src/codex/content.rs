//! What messages hold: texts, and what was attached to them.

use chat_event::Json;
use serde_json::Value;

use crate::value::{list_of, str_of, text_of};

/// Texts in a list of texts, of `{text}`s, or a single one.
pub(crate) fn texts_of(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text.as_str()],
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str().or_else(|| str_of(item, "text")))
            .collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    }
}

/// The text of an agent's message.
pub(crate) fn message_text(item: &Value) -> String {
    match str_of(item, "text") {
        Some(text) => text.to_owned(),
        None => texts_of(item.get("content")).concat(),
    }
}

/// What a person wrote: the text, and what was attached.
pub(crate) fn content_of(item: &Value) -> (String, Option<Json>) {
    let mut texts: Vec<&str> = Vec::new();
    let mut attached: Vec<Value> = Vec::new();
    let content = item.get("content").unwrap_or(&Value::Null);
    if let Some(text) = content.as_str() {
        texts.push(text);
    }
    for entry in content.as_array().into_iter().flatten() {
        if let Some(text) = str_of(entry, "text") {
            texts.push(text);
            continue;
        }
        let path = text_of(entry, "path");
        let url = text_of(entry, "url").or_else(|| text_of(entry, "image_url"));
        match path.or(url) {
            Some(at) => attached.push(attachment(at, str_of(entry, "type").unwrap_or(""))),
            None => texts.extend(text_of(entry, "name")),
        }
    }
    let attached = (!attached.is_empty()).then(|| Json::from(Value::Array(attached)));
    (texts.join("\n"), attached)
}

/// Images (old versions) beside a message.
pub(crate) fn images_of(message: &Value) -> Option<Json> {
    let images = list_of(message, "images")
        .iter()
        .chain(list_of(message, "local_images"));
    let attached: Vec<Value> = images
        .filter_map(Value::as_str)
        .map(|at| attachment(at, "image"))
        .collect();
    (!attached.is_empty()).then(|| Json::from(Value::Array(attached)))
}

/// An attachment from a data URL, another URL or a path.
fn attachment(at: &str, kind: &str) -> Value {
    let data = at
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    if let Some((media_type, data)) = data {
        return serde_json::json!({"mediaType": media_type, "data": data});
    }
    let ending = at.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
    let media_type = match ending.as_str() {
        "png" | "gif" | "webp" => format!("image/{ending}"),
        "jpg" | "jpeg" => "image/jpeg".to_owned(),
        "wav" | "ogg" => format!("audio/{ending}"),
        "mp3" => "audio/mpeg".to_owned(),
        _ if kind.to_ascii_lowercase().contains("audio") => "audio/*".to_owned(),
        _ => "image/*".to_owned(),
    };
    let name = at.rsplit('/').next().unwrap_or(at);
    serde_json::json!({"name": name, "mediaType": media_type, "ref": at})
}
