//! Blocks of a message: its words, and what is attached to them.

use serde_json::{Value, json};

use crate::track::Said;
use crate::value::{str_of, text_of};

/// What the blocks say; and those that no rule reads.
pub(super) fn said(blocks: &[Value]) -> (Said, Vec<&Value>) {
    let mut said = Said::default();
    let mut others = Vec::new();
    for block in blocks {
        match str_of(block, "type") {
            Some("text") => {
                if !said.text.is_empty() {
                    said.text.push_str("\n\n");
                }
                said.text.push_str(str_of(block, "text").unwrap_or(""));
            }
            _ => match attachment(block) {
                Some(attachment) => said.attachments.push(attachment),
                None => others.push(block),
            },
        }
    }
    (said, others)
}

/// A picture or a file: `{name?, mediaType, data | ref}`.
fn attachment(block: &Value) -> Option<Value> {
    let held = match str_of(block, "type")? {
        "image" => block.get("attachment").unwrap_or(block),
        "resource" => block.get("resource").unwrap_or(block),
        "resource_link" | "embedded_resource" => block,
        _ => return None,
    };
    let source = held.get("source").unwrap_or(held);
    let one_of = |of: &Value, keys: &[&str]| -> Option<String> {
        keys.iter()
            .find_map(|key| text_of(of, key).map(str::to_owned))
    };
    let kind = one_of(held, &["mediaType", "media_type", "mimeType", "mime_type"]);
    let is_image = str_of(block, "type") == Some("image");
    let otherwise = if is_image { "image/*" } else { "text/plain" };
    let mut made = json!({"mediaType": kind.as_deref().unwrap_or(otherwise)});
    let name = one_of(held, &["alias", "name", "title", "altText", "alt_text"]);
    let place = one_of(source, &["uri", "path", "url"]);
    let inline = place
        .as_deref()
        .and_then(|uri| uri.strip_prefix("data:")?.split_once(";base64,"));
    if let Some(name) = name {
        made["name"] = name.into();
    }
    if let Some((kind, data)) = inline {
        made["mediaType"] = kind.into();
        made["data"] = data.into();
    } else if let Some(data) = one_of(source, &["data", "blob"]) {
        made["data"] = data.into();
    } else if let Some(place) = place {
        made["ref"] = place.into();
    } else {
        return None;
    }
    Some(made)
}
