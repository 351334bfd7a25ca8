//! `crush session show ID --json` and `crush session last --json`: `{meta, messages}`.
//!
//! `meta` has the session under `uuid`; its `id` is a hash of that. Which message is a summary is not printed: one that
//! comes though nothing was asked, or before the program asks itself to go on, is taken for one.

use serde_json::Value;

use super::FORMAT;
use super::message::{Message, part};
use super::rows::{about, usage_of};
use super::shapes::is_shown;
use super::talk::{Talk, is_own_prompt};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::value::{list_of, millis_of_rfc3339, str_of, text_of};

/// The session that is printed.
pub(super) fn session_of(value: &Value) -> Option<String> {
    let meta = value.get("meta").filter(|_| is_shown(value))?;
    text_of(meta, "uuid").map(str::to_owned)
}

/// Reads what is printed.
#[derive(Debug)]
pub(super) struct CrushShow {
    talk: Talk,
}

impl CrushShow {
    pub(super) fn new() -> Self {
        CrushShow {
            talk: Talk::new(RunTrack::new(&Context::default())),
        }
    }

    fn message(&mut self, emitter: &mut Emitter, message: &Value, is_summary: bool) {
        let Some(id) = text_of(message, "id") else {
            return emitter.raw(&Place::default(), FORMAT, "message without an id", message);
        };
        let created = text_of(message, "created").and_then(millis_of_rfc3339);
        let message = Message {
            id,
            role: text_of(message, "role").unwrap_or(""),
            parts: list_of(message, "parts"),
            model: text_of(message, "model"),
            provider: text_of(message, "provider"),
            is_summary,
            created_ms: created,
            updated_ms: None,
            within: None,
        };
        self.talk.message(emitter, &message);
    }
}

impl Normalizer for CrushShow {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        let meta = value.get("meta").unwrap_or(&Value::Null);
        if !is_shown(value) {
            // One that is cut off has its messages one by one.
            return self.message(emitter, value, false);
        }
        let id = text_of(meta, "uuid");
        emitter.begin_line(id);
        let created = text_of(meta, "created").and_then(millis_of_rfc3339);
        self.talk.run.at(emitter, created);
        about(emitter, &mut self.talk, meta, id);
        let messages = list_of(value, "messages");
        if messages.is_empty() {
            emitter.pass_over("a session without messages");
        }
        for (at, message) in messages.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| messages.get(at));
            let is_summary = is_summary(before, message, messages.get(at + 1));
            self.message(emitter, message, is_summary);
        }
        if let Some(usage) = usage_of(meta) {
            emitter.begin_line(id);
            emitter.add("usage", &Place::default(), usage);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.finish(emitter);
    }
}

/// Whether a message stands in for those before it, by those beside it.
fn is_summary(before: Option<&Value>, message: &Value, after: Option<&Value>) -> bool {
    let is_of = |message: &Value, role: &str| str_of(message, "role") == Some(role);
    let parts = list_of(message, "parts").iter().map(part);
    let mut kinds = parts.map(|(kind, _)| kind);
    if !is_of(message, "assistant") || kinds.any(|kind| kind == "tool_call") {
        return false;
    }
    let ended = |message: &Value| {
        let parts = list_of(message, "parts").iter().map(part);
        let mut ends = parts.filter(|(kind, _)| *kind == "finish");
        ends.any(|(_, finish)| str_of(finish, "reason") == Some("end_turn"))
    };
    let goes_on = |message: &Value| {
        let parts = list_of(message, "parts").iter().map(part);
        let mut texts = parts.filter_map(|(_, text)| str_of(text, "text"));
        is_of(message, "user") && texts.any(is_own_prompt)
    };
    let is_unasked = before.is_some_and(|it| is_of(it, "assistant") && ended(it));
    is_unasked || after.is_some_and(goes_on)
}
