//! The parts of messages: texts, and what is none.

use chat_event::payload::Notice;
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::FORMAT;
use super::events::SandboxAgent;
use super::results::Beside;
use crate::emit::{Emitter, hash};
use crate::speech::Kind;
use crate::value::{str_of, text_of};

impl SandboxAgent {
    /// A part of a message that is no text.
    pub(super) fn other_part(&mut self, emitter: &mut Emitter, key: &str, part: &Value) {
        match str_of(part, "type") {
            Some("tool_call") => self.call_part(emitter, key, part, None, true),
            Some("tool_result") => self.result_part(emitter, part, Beside::default()),
            Some("status") => self.status_part(emitter, part),
            Some("image" | "file_ref") => {
                let place = self.place(emitter);
                let mut extra = Extra::default();
                if let Some(attachment) = attachment(part) {
                    extra.insert("attachments", Json::from(Value::Array(vec![attachment])));
                }
                let notice = Notice {
                    level: "info".to_owned(),
                    text: text_of(part, "path").unwrap_or("a file").to_owned(),
                    source: Some("agent".to_owned()),
                    extra,
                    ..Notice::default()
                };
                emitter.add("file", &place, notice);
            }
            Some(_) | None => {
                let place = self.quiet_place();
                emitter.raw(&place, FORMAT, "a part of a message", part);
            }
        }
    }
}

/// The text of a part: said, or thought. Old converters keep a thought as `json`.
pub(super) fn text_part(part: &Value) -> Option<(Kind, String)> {
    match str_of(part, "type") {
        Some("text") => Some((Kind::Text, str_of(part, "text")?.to_owned())),
        Some("reasoning") => Some((Kind::Thinking, str_of(part, "text")?.to_owned())),
        Some("json") => {
            let held = part.get("json")?;
            let thought =
                str_of(held, "thinking").filter(|_| str_of(held, "type") == Some("thinking"));
            Some((Kind::Thinking, thought?.to_owned()))
        }
        Some(_) | None => None,
    }
}

pub(super) fn text_hash(text: &(Kind, String)) -> u64 {
    hash(format!("{:?}:{}", text.0, text.1).as_bytes())
}

/// A picture or a file, as a reference.
pub(super) fn attachment(part: &Value) -> Option<Value> {
    let path = text_of(part, "path")?;
    let mut made = Map::new();
    made.insert("name".to_owned(), path.into());
    let media = text_of(part, "mime").unwrap_or("application/octet-stream");
    made.insert("mediaType".to_owned(), media.into());
    made.insert("ref".to_owned(), path.into());
    Some(Value::Object(made))
}
