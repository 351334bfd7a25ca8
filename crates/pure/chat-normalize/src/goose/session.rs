//! Whole sessions: an export, the outcome of a run, the lines of a `.jsonl` file, of which the first is about the session.

use chat_event::payload::{SessionStart, Usage};
use serde_json::{Map, Value};

use super::FORMAT;
use super::lines::{is_about, is_message, is_of_session, session_of};
use super::talk::Talk;
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::{Emitter, Place, clean_id};
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
    /// The tokens that the session is said to have used.
    used: Option<Usage>,
}

impl GooseSession {
    fn new() -> Self {
        GooseSession {
            talk: Talk::new(RunTrack::new(&Context::default()), false),
            n_messages: 0,
            used: None,
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
        self.talk.run.facts(emitter, facts, Map::new());
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
        if is_about(value) {
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
        for message in messages {
            self.message(emitter, message);
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.run.at(emitter, None);
        self.talk.close(emitter);
        if let Some(usage) = self.used.take() {
            emitter.add_as("session:usage", &Place::default(), usage);
        }
    }
}
