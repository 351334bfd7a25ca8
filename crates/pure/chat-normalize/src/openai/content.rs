//! What messages hold: texts, and what was attached to them.

use chat_event::Json;
use serde_json::{Map, Value, json};

use crate::value::{str_of, text_of};

/// The texts of a content, which is a text or a list of parts.
pub(super) fn texts_of(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| str_of(part, "text")))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// What a user wrote: the text, and what was attached.
pub(super) fn said_of(content: &Value) -> (String, Option<Json>) {
    let attached: Vec<Value> = content
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(attachment)
        .collect();
    let attached = (!attached.is_empty()).then(|| Json::from(Value::Array(attached)));
    (texts_of(content).join("\n"), attached)
}

/// The parts of what a user wrote that are neither text nor known to be attached.
pub(super) fn unread_of(content: &Value) -> impl Iterator<Item = &Value> {
    let parts = content.as_array().into_iter().flatten();
    parts.filter(|part| {
        !part.is_string() && str_of(part, "text").is_none() && attachment(part).is_none()
    })
}

/// What a tool gave, as a text where it is nothing else.
pub(super) fn given_of(content: &Value) -> Value {
    let only_texts = |parts: &[Value]| {
        parts.iter().all(|part| {
            part.is_string() || (str_of(part, "text").is_some() && attachment(part).is_none())
        })
    };
    match content {
        Value::Array(parts) if only_texts(parts) => Value::from(texts_of(content).join("\n")),
        Value::Null => Value::from(""),
        other => other.clone(),
    }
}

/// An image, a sound or a file, as an attachment.
fn attachment(part: &Value) -> Option<Value> {
    match str_of(part, "type").unwrap_or("") {
        "image_url" | "input_image" => {
            let image = part.get("image_url").unwrap_or(&Value::Null);
            let at = image.as_str().or_else(|| text_of(image, "url"));
            let at = at.or_else(|| text_of(part, "file_id"))?;
            Some(of_url(at, "image/*", None))
        }
        "input_audio" => {
            let sound = part.get("input_audio").unwrap_or(part);
            let format = text_of(sound, "format").unwrap_or("*");
            let data = text_of(sound, "data")?;
            Some(json!({"mediaType": format!("audio/{format}"), "data": data}))
        }
        "file" | "input_file" => {
            let file = part.get("file").unwrap_or(part);
            let name = text_of(file, "filename");
            let at = ["file_data", "file_url", "file_id"]
                .iter()
                .find_map(|key| text_of(file, key))?;
            Some(of_url(at, "application/octet-stream", name))
        }
        _ => None,
    }
}

/// A data URL's data, or a reference.
fn of_url(at: &str, media_type: &str, name: Option<&str>) -> Value {
    let mut made = Map::new();
    if let Some(name) = name {
        made.insert("name".to_owned(), Value::from(name));
    }
    let data = at
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    let (media_type, key, value) = match data {
        Some((media_type, data)) => (media_type, "data", data),
        None => (media_type, "ref", at),
    };
    made.insert("mediaType".to_owned(), Value::from(media_type));
    made.insert(key.to_owned(), Value::from(value));
    Value::Object(made)
}
