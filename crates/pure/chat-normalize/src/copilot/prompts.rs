//! Prompts, and what is attached to them.
//!
//! | `user.message` | what it does |
//! |---|---|
//! | `delivery: "steering"` while a turn is open | it goes into that turn |
//! | `delivery: "idle"`, or none is open | the turn before ends, a turn begins |
//! | nothing is said of it, as before 1.0.102 | it steers while a call runs, else it begins a turn |
//! | `isAutopilotContinuation` | nobody wrote it: passed over |

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::Copilot;
use crate::emit::Emitter;
use crate::track::Said;
use crate::value::{is_true, list_of, str_of, text_of};

/// So many bytes of attachments are kept: an image has some megabytes at most.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// So many an attachment counts beside its own: many small ones take room and time, too.
const EACH_BYTES: usize = 1024;

/// What `session.binary_asset` tells once: the bytes of attachments, before what names them the first time.
#[derive(Debug, Default)]
pub(super) struct Assets {
    /// Their ids and bytes (Base64), the oldest first.
    all: VecDeque<(String, String)>,
    bytes: usize,
}

impl Assets {
    pub(super) fn take(&mut self, emitter: &mut Emitter, data: &Value) {
        emitter.pass_over("session.binary_asset");
        let (Some(id), Some(bytes)) = (text_of(data, "assetId"), text_of(data, "data")) else {
            return;
        };
        self.bytes += EACH_BYTES + id.len() + bytes.len();
        self.all.push_back((id.to_owned(), bytes.to_owned()));
        while self.bytes > MOST_BYTES
            && let Some((id, bytes)) = self.all.pop_front()
        {
            self.bytes -= EACH_BYTES + id.len() + bytes.len();
        }
    }

    fn of(&self, id: &str) -> Option<&str> {
        let mut all = self.all.iter();
        all.find(|(it, _)| it == id)
            .map(|(_, bytes)| bytes.as_str())
    }
}

impl Copilot {
    /// `user.message`, of the main agent.
    pub(super) fn prompt(&mut self, emitter: &mut Emitter, id: &str, data: &Value) {
        if is_true(data, "isAutopilotContinuation") {
            return emitter.pass_over("the agent goes on by itself");
        }
        let attachments = list_of(data, "attachments")
            .iter()
            .map(|it| self.attached(it));
        let said = Said {
            text: str_of(data, "content").unwrap_or("").to_owned(),
            attachments: attachments.collect(),
        };
        let is_open = self.track.turn_id().is_some() && !self.stopped;
        let steers = match str_of(data, "delivery") {
            Some("steering") => is_open,
            Some("idle") => false,
            _ => self.track.waits() && !self.stopped,
        };
        if steers {
            (self.answered, self.is_answered) = (None, false);
            return self.track.steer(emitter, &format!("{id}:user"), said);
        }
        self.close(emitter);
        self.open_turn(emitter, id, "user");
        let id = format!("{}:user", self.track.turn_id().unwrap_or(""));
        self.track.user(emitter, &id, said);
    }

    /// What is attached to a prompt or a result. Its bytes stand in it, as a run prints it, or were told before.
    pub(super) fn attached(&self, attachment: &Value) -> Value {
        let media_type = text_of(attachment, "mimeType").unwrap_or("application/octet-stream");
        let name =
            text_of(attachment, "displayName").or_else(|| text_of(attachment, "description"));
        let asset = text_of(attachment, "assetId").and_then(|id| self.assets.of(id));
        let places = ["path", "filePath", "url"];
        let place = places.iter().find_map(|key| text_of(attachment, key));
        match text_of(attachment, "data").or(asset) {
            Some(data) => json!({"name": name, "mediaType": media_type, "data": data}),
            None => json!({
                "name": name,
                "mediaType": media_type,
                "ref": place.unwrap_or(""),
            }),
        }
    }
}
