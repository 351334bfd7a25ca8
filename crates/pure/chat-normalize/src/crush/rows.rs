//! Rows of the tables `sessions` and `messages`, an object a row with the names of its columns, as who follows the database
//! hands them on and as `sqlite3 -json crush.db "SELECT * FROM messages"` prints them.
//!
//! A row comes again as often as it changes. The project's folder is no column; who follows its database knows it
//! ([`Context::cwd`]). Tokens of a session are those of its last request alone, which stand in its context then; its cost
//! is that of all, with those of the agents that it started.

use chat_event::payload::{SessionStart, Usage};
use serde_json::{Map, Value};

use super::FORMAT;
use super::message::Message;
use super::shapes::{is_message_row, is_row, is_session_row, parts_of, starting_call, time_of};
use super::talk::Talk;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place, short_hash};
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::value::{amount_of, count_of, text_of};

/// What sessions are called before they have a title.
const UNTITLED: [&str; 3] = ["New Session", "Untitled Session", "non-interactive"];

/// The session that a row names: what works for another is part of that one's.
pub(super) fn session_of(value: &Value) -> Option<String> {
    if !is_row(value) {
        return None;
    }
    let id = match is_session_row(value) {
        true => text_of(value, "parent_session_id").or_else(|| text_of(value, "id")),
        false => text_of(value, "session_id").filter(|id| starting_call(id).is_none()),
    };
    id.map(str::to_owned)
}

/// Reads rows.
#[derive(Debug)]
pub(super) struct CrushRows {
    talk: Talk,
}

impl CrushRows {
    pub(super) fn new(context: &Context) -> Self {
        CrushRows {
            talk: Talk::new(RunTrack::new(context)),
        }
    }

    fn session(&mut self, emitter: &mut Emitter, row: &Value) {
        if text_of(row, "parent_session_id").is_some() {
            return emitter.pass_over("session of an agent");
        }
        // What is told of it is called by what it says: the same whenever it is read.
        let title = short_hash(text_of(row, "title").unwrap_or(""));
        emitter.begin_line(Some(&format!("session-{title}")));
        self.talk.run.at(emitter, time_of(row, "created_at"));
        about(emitter, &mut self.talk, row, text_of(row, "id"));
        if let Some(usage) = usage_of(row) {
            let used = format!("{:?} {:?}", usage.context_used, usage.cost_usd);
            emitter.begin_line(Some(&format!("used-{}", short_hash(&used))));
            emitter.add("usage", &Place::default(), usage);
        }
    }

    fn message(&mut self, emitter: &mut Emitter, row: &Value) {
        let id = text_of(row, "id").unwrap_or("");
        emitter.begin_line(Some(id));
        if !self.talk.run.track.facts.begun() {
            self.talk.run.at(emitter, time_of(row, "created_at"));
            let session = text_of(row, "session_id").filter(|id| starting_call(id).is_none());
            about(emitter, &mut self.talk, &Value::Null, session);
        }
        let parts = match parts_of(row) {
            Ok(parts) => parts,
            Err(why) => return emitter.unreadable(&why, &row.to_string()),
        };
        let message = Message {
            id,
            role: text_of(row, "role").unwrap_or(""),
            parts: &parts,
            model: text_of(row, "model"),
            provider: text_of(row, "provider"),
            is_summary: row.get("is_summary_message").is_some_and(is_set),
            created_ms: time_of(row, "created_at"),
            updated_ms: time_of(row, "updated_at"),
            within: text_of(row, "session_id").and_then(starting_call),
        };
        self.talk.message(emitter, &message);
    }
}

impl Normalizer for CrushRows {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        if is_message_row(value) {
            self.message(emitter, value);
        } else if is_session_row(value) {
            self.session(emitter, value);
        } else {
            emitter.raw(&Place::default(), FORMAT, "no row", value);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.finish(emitter);
    }
}

fn is_set(value: &Value) -> bool {
    value.as_i64().is_some_and(|it| it != 0) || value.as_bool() == Some(true)
}

/// What is known of a session.
pub(super) fn about(emitter: &mut Emitter, talk: &mut Talk, of: &Value, id: Option<&str>) {
    let title = text_of(of, "title").filter(|title| !UNTITLED.contains(title));
    let facts = SessionStart {
        agent: Some("Crush".to_owned()),
        native_id: id.map(str::to_owned),
        title: title.map(str::to_owned),
        provider: Some(FORMAT.to_owned()),
        ..SessionStart::default()
    };
    talk.run.facts(emitter, facts, Map::new());
}

/// What a session used, where it used something.
pub(super) fn usage_of(of: &Value) -> Option<Usage> {
    let count = |key: &str| count_of(of, key).unwrap_or(0);
    let context_used = count("prompt_tokens").saturating_add(count("completion_tokens"));
    let cost_usd = amount_of(of, "cost").filter(|cost| *cost > 0.0);
    (context_used > 0 || cost_usd.is_some()).then(|| Usage {
        scope: "session".to_owned(),
        cumulative: Some(true),
        context_used: Some(context_used).filter(|used| *used > 0),
        cost_usd,
        ..Usage::default()
    })
}
