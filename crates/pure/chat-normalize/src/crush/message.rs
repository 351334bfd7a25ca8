//! A message as both forms bring it, and what of it was told: one of the database comes again as often as it grows.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::speech::Grown;
use crate::value::text_of;

/// A message as it is now.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) id: &'a str,
    pub(super) role: &'a str,
    pub(super) parts: &'a [Value],
    pub(super) model: Option<&'a str>,
    pub(super) provider: Option<&'a str>,
    pub(super) is_summary: bool,
    /// When it began and when it was written last, in milliseconds.
    pub(super) created_ms: Option<i64>,
    pub(super) updated_ms: Option<i64>,
    /// The call that started the agent whose message it is.
    pub(super) within: Option<&'a str>,
}

/// A part: what kind it is of, and what it holds.
pub(super) fn part(part: &Value) -> (&str, &Value) {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or("");
    // The result of a call has `data` of its own, which is a picture's.
    let data = part.get("data").filter(|data| data.is_object());
    (kind, data.unwrap_or(part))
}

impl Message<'_> {
    /// The parts, each with its kind.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.parts.iter().map(part)
    }

    /// The part that says how it ended.
    pub(super) fn finish(&self) -> Option<&Value> {
        let mut parts = self.parts();
        parts
            .find(|(kind, _)| *kind == "finish")
            .map(|(_, data)| data)
    }

    /// Whether it has a part of this kind.
    pub(super) fn has(&self, kind: &str) -> bool {
        self.parts().any(|(own, _)| own == kind)
    }
}

/// What was told of a message.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Texts, and apart thoughts, in their order.
    pub(super) grown: [Vec<Grown>; 2],
    /// Calls, by their ids.
    pub(super) calls: HashSet<String>,
    /// Pictures and what no rule knows: how many of its parts.
    pub(super) n_others: usize,
    /// How it ended.
    pub(super) finish: Option<String>,
}

/// A file or a picture that a message holds; what is printed says only how long it is.
pub(super) fn attachment(kind: &str, part: &Value) -> Option<Value> {
    match kind {
        "binary" => {
            let media_type = text_of(part, "MIMEType").or_else(|| text_of(part, "mime_type"));
            let path = text_of(part, "Path").unwrap_or("");
            let name = path
                .rsplit(['/', '\\'])
                .next()
                .filter(|name| !name.is_empty());
            let mut held = json!({"mediaType": media_type.unwrap_or("application/octet-stream")});
            if let Some(name) = name {
                held["name"] = Value::from(name);
            }
            held["data"] = Value::from(text_of(part, "Data").unwrap_or(""));
            Some(held)
        }
        "image_url" => {
            let url = text_of(part, "url")?;
            let data = url.split_once(";base64,");
            let data = data.and_then(|(kind, data)| Some((kind.strip_prefix("data:")?, data)));
            Some(match data {
                Some((media_type, data)) => json!({"mediaType": media_type, "data": data}),
                None => json!({"mediaType": "image/*", "ref": url}),
            })
        }
        _ => None,
    }
}
