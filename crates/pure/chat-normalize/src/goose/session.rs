//! Whole sessions: an export, the outcome of a run, the lines of a `.jsonl` file, of which the first is about the session.
//!
//! What is about a session may come again while it goes on, as who follows the program's database tells it: its title and
//! its tokens are then those. With `stands`, the ids of the messages that stand, or as another export, it says that the
//! conversation was written anew (`rewritten`).

use chat_event::Extra;
use chat_event::payload::{Compaction, SessionStart, Usage};
use serde_json::{Map, Value};

use super::FORMAT;
use super::lines::{is_about, is_message, is_of_session, session_of};
use super::rewritten::{Change, Nth, Rewritten, Stands};
use super::talk::Talk;
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::{Emitter, Place, clean_id, short_hash};
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::value::{amount_of, count_of, list_of, text_of};

pub(crate) static SESSION: Profile = Profile {
    word: "goose-session",
    name: "Goose session",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_of_session,
    session_of,
    make: |_| Box::new(GooseSession::new()),
};

/// Reads them.
#[derive(Debug)]
struct GooseSession {
    talk: Talk,
    n_messages: u64,
    told: Rewritten,
    /// The tokens that the session is said to have used, and those that were told.
    used: Option<Usage>,
    told_used: Option<Usage>,
}

impl GooseSession {
    fn new() -> Self {
        GooseSession {
            talk: Talk::new(RunTrack::new(&Context::default()), false),
            n_messages: 0,
            told: Rewritten::default(),
            used: None,
            told_used: None,
        }
    }

    fn about(&mut self, emitter: &mut Emitter, value: &Value) {
        let title = ["name", "description"]
            .iter()
            .find_map(|key| text_of(value, key));
        let model = value
            .get("model_config")
            .and_then(|it| text_of(it, "model_name"));
        let facts = SessionStart {
            agent: Some("Goose".to_owned()),
            native_id: text_of(value, "id").map(str::to_owned),
            title: title.map(str::to_owned),
            model: model.map(str::to_owned),
            cwd: text_of(value, "working_dir").map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        if let Some(kind) = text_of(value, "session_type").filter(|it| *it != "user") {
            rest.insert("sessionType".to_owned(), kind.into());
        }
        if let Some(parent) = text_of(value, "parent_session_id") {
            rest.insert("parentSession".to_owned(), parent.into());
        }
        self.talk.run.facts(emitter, facts, rest);
        let count = |key: &str| count_of(value, &format!("accumulated_{key}"));
        if count("input_tokens").is_some() || count("output_tokens").is_some() {
            self.used = Some(Usage {
                scope: "session".to_owned(),
                cumulative: Some(true),
                input_tokens: count("input_tokens").unwrap_or(0),
                output_tokens: count("output_tokens").unwrap_or(0),
                cost_usd: amount_of(value, "accumulated_cost"),
                ..Usage::default()
            });
        }
        // An export says them at its end: who follows a session says them as they are.
        let is_line = text_of(value, "id").is_some() && value.get("conversation").is_none();
        if is_line {
            self.tell_used(emitter, "usage");
        }
    }

    /// Says the tokens, where others were told.
    fn tell_used(&mut self, emitter: &mut Emitter, tag: &str) {
        if self.used != self.told_used {
            self.told_used.clone_from(&self.used);
            if let Some(usage) = self.used.clone() {
                emitter.add(tag, &Place::default(), usage);
            }
        }
    }

    fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        let nth = self.n_messages;
        self.n_messages += 1;
        let stem = match text_of(message, "id") {
            Some(id) => clean_id(id),
            None => format!("m{nth}"),
        };
        emitter.begin_line(Some(&stem));
        self.talk.message(emitter, message, &stem);
        self.told.note(message, self.talk.run.track.turn_id());
    }

    /// The conversation was written anew: these messages stand of those that were told.
    fn rewrite(&mut self, emitter: &mut Emitter, stands: &Stands<'_>) {
        let Some(change) = self.told.keep(stands) else {
            return;
        };
        self.talk.close(emitter);
        match change {
            Change::SetBack(left) => {
                let text = "the user went back: what stands behind that place was left";
                emitter.set_back(text, left);
            }
            Change::Cleared(left) => emitter.cleared(left),
            Change::Compacted => {
                let payload = Compaction {
                    trigger: "auto".to_owned(),
                    summary: None,
                    tokens_before: None,
                    extra: Extra::default(),
                };
                emitter.add("compaction", &Place::default(), payload);
            }
        }
    }
}

impl Normalizer for GooseSession {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        let messages = match value.get("conversation") {
            Some(_) => list_of(value, "conversation"),
            None => list_of(value, "messages"),
        };
        let first = messages.first().unwrap_or(value);
        self.talk.run.at(emitter, Talk::time_of(first));
        let is_begun = self.talk.run.track.facts.begun();
        let again = value.get("conversation").filter(|_| is_begun);
        if is_about(value) {
            let is_line = value.get("conversation").is_none();
            if (is_begun || is_line) && text_of(value, "id").is_some() {
                // Where among the lines it comes is not the same for who reads the session again.
                let said = short_hash(&value.to_string());
                emitter.begin_line(Some(&format!("about.{said}")));
            }
            if let Some(stands) = Stands::of(value).filter(|_| is_begun) {
                self.rewrite(emitter, &stands);
            }
            self.about(emitter, value);
        } else if !self.talk.run.track.facts.begun() {
            self.about(emitter, &Value::Null);
        }
        if is_message(value).is_some() {
            self.message(emitter, value);
        } else if messages.is_empty() && !is_about(value) {
            let place = self.talk.run.track.place();
            emitter.raw(&place, FORMAT, "no message", value);
        }
        let mut seen = Nth::default();
        for message in messages {
            // Of an export that comes again what is new is told.
            if again.is_none() || !self.told.has(&seen.key(message)) {
                self.message(emitter, message);
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.run.at(emitter, None);
        self.talk.close(emitter);
        if self.told_used.is_none()
            && let Some(usage) = self.used.take()
        {
            emitter.add_as("session:usage", &Place::default(), usage);
        } else {
            self.tell_used(emitter, "usage");
        }
    }
}
