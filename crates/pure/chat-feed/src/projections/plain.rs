//! Bodies, results and attachments as plain text: what a reader or a model is told where the whole is not at hand.

use chat_event::payload::ToolResult;
use chat_event::{Body, BodyRef, Json};
use serde_json::Value;

use crate::media::Attachment;

/// The text of a body; where only its beginning is here, that and how much is left out.
pub(super) fn body_text(body: &Body) -> String {
    match body {
        Body::Inline(text) => text.read().into_string(),
        Body::Ref { body } => reference_text(body),
    }
}

pub(crate) fn reference_text(body: &BodyRef) -> String {
    let here = body.preview.len() as u64;
    if !body.truncated && here >= body.bytes {
        return body.preview.clone();
    }
    let bytes = body.bytes;
    format!(
        "{}\n[Cut: the first {here} of {bytes} bytes.]",
        body.preview
    )
}

/// The value as a tree, each body reference in it as its text.
pub(super) fn value_of(json: &Json) -> Value {
    let mut value = json.to_value();
    // Looking first saves a walk for nearly everything.
    if json.as_text().contains("\"$body\"") {
        put_bodies(&mut value);
    }
    value
}

/// Values are never deeper than [`chat_event::MAX_DEPTH`].
fn put_bodies(value: &mut Value) {
    if let Some(text) = as_reference(value) {
        *value = Value::String(text);
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(put_bodies),
        Value::Object(members) => members.values_mut().for_each(put_bodies),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn as_reference(value: &Value) -> Option<String> {
    value
        .as_object()
        .filter(|members| members.len() == 1 && members.contains_key("$body"))?;
    Json::from(value).body_ref().as_ref().map(reference_text)
}

/// A value as a reader would want to see it: texts as they are, content blocks as their texts, the rest as JSON.
pub(super) fn json_text(json: &Json) -> String {
    if let Some(text) = json.as_str() {
        return text.into_owned();
    }
    if json.is_null() {
        return String::new();
    }
    if let Some(body) = json.body_ref() {
        return reference_text(&body);
    }
    let value = value_of(json);
    if let Some(text) = blocks_text(&value) {
        return text;
    }
    match json.as_text().contains("\"$body\"") {
        true => value.to_string(),
        false => json.as_text().into_string(),
    }
}

/// The texts of content blocks, `[{"type": "text", "text": …}, …]`; `None` where these are none.
pub(crate) fn blocks_text(value: &Value) -> Option<String> {
    let blocks = value.as_array().filter(|blocks| !blocks.is_empty())?;
    let mut texts = Vec::new();
    for block in blocks {
        let kind = block.get("type")?.as_str()?;
        texts.push(match block.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None if matches!(kind, "image" | "audio" | "document" | "resource_link") => {
                format!("[{kind}]")
            }
            None => return None,
        });
    }
    Some(texts.join("\n"))
}

/// What a call gave: its result with its error, or what it printed where it gave none.
pub(super) fn result_text(result: &ToolResult, output: &str) -> String {
    let mut text = json_text(&result.result);
    if text.is_empty() {
        text = output.to_owned();
    }
    match &result.error {
        Some(error) if error.message.is_empty() && text.is_empty() => "Error".to_owned(),
        // Most results of calls that failed say why in their own words.
        Some(error) if text.contains(error.message.as_str()) => text,
        Some(error) if text.is_empty() => format!("Error: {}", error.message),
        Some(error) => format!("Error: {}\n{text}", error.message),
        None => text,
    }
}

/// What is sent with a prompt, for readers that take text or addresses.
impl Attachment {
    /// The image as a `data:` URL, where it is one that models take and its data is here.
    pub(super) fn image_url(&self) -> Option<String> {
        let Some(Body::Inline(data)) = &self.data else {
            return None;
        };
        let data = data.read();
        let (media_type, base64) = match data.strip_prefix("data:") {
            Some(url) => url.split_once(";base64,")?,
            None => (self.media_type.as_str(), &*data),
        };
        let subtype = media_type.strip_prefix("image/")?;
        let is_taken = IMAGES.iter().any(|it| it.eq_ignore_ascii_case(subtype));
        (is_taken && is_base64(base64)).then(|| format!("data:image/{subtype};base64,{base64}"))
    }

    /// What is told of it where it cannot be given.
    pub(super) fn note(&self) -> String {
        let what = match (&self.name, self.media_type.as_str()) {
            (Some(name), "") => name.clone(),
            (Some(name), media_type) => format!("{name}, {media_type}"),
            (None, "") => "a file".to_owned(),
            (None, media_type) => media_type.to_owned(),
        };
        format!("[Attached: {what}]")
    }
}

/// The kinds of images that models take; a message with another is refused as a whole.
const IMAGES: [&str; 5] = ["png", "jpeg", "jpg", "gif", "webp"];

/// Whether it is the Base64 of anything.
fn is_base64(text: &str) -> bool {
    let unpadded = text.trim_end_matches('=');
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    !unpadded.is_empty()
        && text.len() - unpadded.len() <= 2
        && text.len().is_multiple_of(4)
        && unpadded.bytes().all(is_of_it)
}
