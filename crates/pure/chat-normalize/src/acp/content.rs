//! Content blocks: text, and what is kept beside it.

use serde_json::{Map, Value};

use crate::value::{str_of, text_of};

/// What one block holds.
#[derive(Debug, PartialEq)]
pub(crate) enum Held {
    Text(String),
    /// `{name?, mediaType, data | ref}`.
    Attachment(Value),
    /// Sound: its data, base64.
    Audio(String),
    Unknown,
}

/// Reads a block.
pub(crate) fn held(block: &Value) -> Held {
    match str_of(block, "type") {
        Some("text") => Held::Text(str_of(block, "text").unwrap_or("").to_owned()),
        Some("image") => Held::Attachment(attachment(block, "image/*")),
        Some("audio") => match text_of(block, "data") {
            Some(data) => Held::Audio(data.to_owned()),
            None => Held::Unknown,
        },
        Some("resource_link") => Held::Attachment(attachment(block, "application/octet-stream")),
        Some("resource") => match block.get("resource").filter(|held| held.is_object()) {
            Some(resource) => Held::Attachment(attachment(resource, "text/plain")),
            None => Held::Unknown,
        },
        Some(_) | None => Held::Unknown,
    }
}

/// The text of blocks, and what stands beside it.
pub(crate) fn of_blocks(blocks: &[Value]) -> (String, Vec<Value>) {
    let mut text = String::new();
    let mut attached = Vec::new();
    let mut behind_text = false;
    for block in blocks {
        match held(block) {
            Held::Text(more) => {
                let touches = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
                if behind_text && touches(text.chars().last()) && touches(more.chars().next()) {
                    text.push('\n');
                }
                text.push_str(&more);
                behind_text = true;
            }
            Held::Attachment(attachment) => {
                behind_text = false;
                attached.push(attachment);
            }
            Held::Audio(_) => attached.push(attachment(block, "audio/*")),
            // Kept as it is: nobody knows what it says.
            Held::Unknown => attached.push(block.clone()),
        }
    }
    (text, attached)
}

/// The texts of blocks, one after the other.
pub(crate) fn text_of_blocks(blocks: &[Value]) -> String {
    let texts = blocks.iter().filter_map(|block| match held(block) {
        Held::Text(text) => Some(text),
        Held::Attachment(_) | Held::Audio(_) | Held::Unknown => None,
    });
    texts.collect()
}

/// A picture, a sound or a file.
pub(crate) fn attachment(block: &Value, media_type: &str) -> Value {
    let mut made = Map::new();
    let uri = text_of(block, "uri");
    if let Some(name) = text_of(block, "name").or(uri) {
        made.insert("name".to_owned(), name.into());
    }
    let media_type = text_of(block, "mimeType").unwrap_or(media_type);
    made.insert("mediaType".to_owned(), media_type.into());
    let data = ["data", "text", "blob"]
        .iter()
        .find_map(|key| text_of(block, key));
    match (data, uri) {
        (Some(data), _) => made.insert("data".to_owned(), data.into()),
        (None, Some(uri)) => made.insert("ref".to_owned(), uri.into()),
        (None, None) => None,
    };
    Value::Object(made)
}
