//! Transcripts.

use chat_event::Json;
use serde_json::{Map, Value};

use crate::emit::{Emitter, Place};
use crate::value::str_of;

pub(crate) fn is_side_line(kind: &str) -> bool {
    matches!(kind, "queue-operation" | "last-prompt" | "mode")
}

#[derive(Debug)]
pub(crate) struct ClaudeTranscript;

impl ClaudeTranscript {
    pub(crate) fn new() -> Self {
        ClaudeTranscript
    }
    pub(crate) fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        emitter.raw(
            &Place::default(),
            "claude-transcript",
            str_of(line, "type").unwrap_or(""),
            line,
        );
    }
    pub(crate) fn finish(&mut self, _emitter: &mut Emitter) {}
}

/// Pictures and documents beside a user's words: `[{name?, mediaType, data}]`.
pub(crate) fn attachments(blocks: &[Value]) -> Option<Json> {
    let mut found = Vec::new();
    for block in blocks {
        if !matches!(str_of(block, "type"), Some("image" | "document")) {
            continue;
        }
        let source = block.get("source").unwrap_or(&Value::Null);
        let mut attachment = Map::new();
        if let Some(name) = str_of(block, "title") {
            attachment.insert("name".to_owned(), Value::from(name));
        }
        attachment.insert(
            "mediaType".to_owned(),
            Value::from(str_of(source, "media_type").unwrap_or("application/octet-stream")),
        );
        let key = if str_of(source, "type") == Some("base64") {
            "data"
        } else {
            "ref"
        };
        let value = ["data", "url", "file_id"]
            .iter()
            .find_map(|key| source.get(*key))
            .cloned()
            .unwrap_or(Value::Null);
        attachment.insert(key.to_owned(), value);
        found.push(Value::Object(attachment));
    }
    (!found.is_empty()).then(|| Json::from(Value::Array(found)))
}
