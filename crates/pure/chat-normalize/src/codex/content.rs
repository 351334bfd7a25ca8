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
    let content = item.get("content").unwrap_or(&Value::Null);
    if let Some(text) = content.as_str() {
        texts.push(text);
    }
    let entries = content.as_array().map_or(&[][..], Vec::as_slice);
    for (n, entry) in entries.iter().enumerate() {
        let is_image = |n: usize| {
            entries
                .get(n)
                .is_some_and(|entry| address_of(entry).is_some())
        };
        match str_of(entry, "text") {
            // The model is told so where an image begins and ends; nobody typed it.
            Some(text) if is_image_begin(text) && is_image(n + 1) => {}
            Some("</image>") if n > 0 && is_image(n - 1) => {}
            Some(text) => texts.push(text),
            None if is_image(n) => {}
            None => texts.extend(text_of(entry, "name")),
        }
    }
    (texts.join("\n"), attachments_of(content))
}

/// What a list holds beside its texts.
pub(crate) fn attachments_of(content: &Value) -> Option<Json> {
    let entries = content.as_array().into_iter().flatten();
    attached(entries.filter_map(attachment_of))
}

/// Whether a list holds nothing but texts and what can be attached.
pub(crate) fn is_known(content: &Value) -> bool {
    let mut entries = content.as_array().into_iter().flatten();
    entries.all(|entry| {
        let is_text = entry.is_string() || str_of(entry, "text").is_some();
        is_text || attachment_of(entry).is_some()
    })
}

/// The image or the sound that an entry is: at an address, or as servers of the Model Context Protocol give it.
fn attachment_of(entry: &Value) -> Option<Value> {
    let kind = str_of(entry, "type").unwrap_or("");
    if let Some(at) = address_of(entry) {
        return Some(attachment(at, kind));
    }
    let data = text_of(entry, "data").filter(|_| matches!(kind, "image" | "audio"))?;
    let media_type = text_of(entry, "mimeType").or_else(|| text_of(entry, "mime_type"));
    let media_type = media_type.map_or_else(|| format!("{kind}/*"), str::to_owned);
    Some(serde_json::json!({"mediaType": media_type, "data": data}))
}

/// An image that was made, as a result in parts; it goes by the name of the file that it was saved as.
pub(crate) fn made_image(data: &str, saved: Option<&str>) -> Value {
    let named = saved.map(|path| media_type_of(path, "image"));
    let media_type = named.filter(|named| named != "image/*");
    let mut part = serde_json::json!({
        "type": "image",
        "mimeType": media_type.as_deref().unwrap_or("image/png"),
        "data": data,
    });
    if let Some(path) = saved {
        part["name"] = Value::from(path);
    }
    Value::Array(vec![part])
}

/// Images (old versions) beside a message.
pub(crate) fn images_of(message: &Value) -> Option<Json> {
    let images = list_of(message, "images")
        .iter()
        .chain(list_of(message, "local_images"));
    let images = images.filter_map(Value::as_str);
    attached(images.map(|at| attachment(at, "image")))
}

/// A list of attachments, where there are any.
fn attached(attachments: impl Iterator<Item = Value>) -> Option<Json> {
    let attached: Vec<Value> = attachments.collect();
    (!attached.is_empty()).then(|| Json::from(Value::Array(attached)))
}

/// Where the image or the sound is that an entry stands for.
fn address_of(entry: &Value) -> Option<&str> {
    if str_of(entry, "text").is_some() {
        return None;
    }
    let keys = [
        "path",
        "url",
        "image_url",
        "audio_url",
        "imageUrl",
        "audioUrl",
    ];
    keys.iter().find_map(|key| text_of(entry, key))
}

/// `<image>`, `<image name=[Image #1]>`, `<image name=[Image #1] path="…">`.
fn is_image_begin(text: &str) -> bool {
    let rest = text.strip_prefix("<image");
    rest.is_some_and(|rest| {
        rest.starts_with(['>', ' ']) && rest.ends_with('>') && !rest.contains('\n')
    })
}

/// An attachment from a data URL, another URL or a path.
fn attachment(at: &str, kind: &str) -> Value {
    let data = at
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"));
    if let Some((media_type, data)) = data {
        return serde_json::json!({"mediaType": media_type, "data": data});
    }
    let name = at.rsplit('/').next().unwrap_or(at);
    serde_json::json!({"name": name, "mediaType": media_type_of(at, kind), "ref": at})
}

/// What lies at an address, as far as its ending says it.
fn media_type_of(at: &str, kind: &str) -> String {
    let ending = at.rsplit('.').next().unwrap_or("").to_ascii_lowercase();
    match ending.as_str() {
        "png" | "gif" | "webp" => format!("image/{ending}"),
        "jpg" | "jpeg" => "image/jpeg".to_owned(),
        "wav" | "ogg" => format!("audio/{ending}"),
        "mp3" => "audio/mpeg".to_owned(),
        _ if kind.to_ascii_lowercase().contains("audio") => "audio/*".to_owned(),
        _ => "image/*".to_owned(),
    }
}
