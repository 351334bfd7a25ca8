//! `goose run … --output-format stream-json`: an event a line.
//!
//! | line | what it gives |
//! |---|---|
//! | `message` | what its blocks give; texts of one message come piece by piece |
//! | `notification` | what the newest call says meanwhile |
//! | `error` | an error |
//! | `complete` | tokens; the turn's end |
//!
//! Prompt, folder and model are not in it.

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Progress, SessionStart, Usage};
use serde_json::{Map, Value};

use super::FORMAT;
use super::lines::is_of_stream;
use super::talk::Talk;
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::{Emitter, clean_id};
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::value::{count_of, str_of, text_of};

pub(crate) static STREAM: Profile = Profile {
    word: "goose-stream",
    name: "Goose stream-json",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of_stream,
    session_of: |_| None,
    make: |context| Box::new(GooseStream::new(context)),
};

/// Reads it.
#[derive(Debug)]
struct GooseStream {
    talk: Talk,
    failed: bool,
    n_messages: u64,
}

impl GooseStream {
    fn new(context: &Context) -> Self {
        GooseStream {
            talk: Talk::new(RunTrack::new(context), true),
            failed: false,
            n_messages: 0,
        }
    }

    fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        let stem = match text_of(message, "id") {
            Some(id) => clean_id(id),
            None => {
                self.n_messages += 1;
                format!("{}.m{}", emitter.line_id(), self.n_messages)
            }
        };
        self.talk.message(emitter, message, &stem);
    }

    fn notified(&mut self, emitter: &mut Emitter, line: &Value) {
        let text = str_of(line, "message").unwrap_or("");
        if text.is_empty() {
            return emitter.pass_over("notification without words");
        }
        let track = &self.talk.run.track;
        let newest = track.newest();
        let call = newest.and_then(|id| track.waiting(&id));
        let progress = Progress {
            message: text.to_owned(),
            tool_call_id: call.map(|call| call.id.clone()),
            ..Progress::default()
        };
        let place = call.map_or_else(|| track.place(), |call| call.place.clone());
        emitter.add("progress", &place, progress);
    }

    fn complete(&mut self, emitter: &mut Emitter, line: &Value) {
        self.talk.end_part(emitter);
        let place = self.talk.run.track.place();
        let count = |key: &str| count_of(line, key);
        let told = (count("input_tokens"), count("output_tokens"));
        if let (Some(input_tokens), Some(output_tokens)) = told {
            let usage = Usage {
                scope: "turn".to_owned(),
                input_tokens,
                output_tokens,
                ..Usage::default()
            };
            emitter.add("usage", &place, usage);
        } else if let Some(total) = count("total_tokens") {
            let usage = Usage {
                scope: "turn".to_owned(),
                context_used: Some(total),
                ..Usage::default()
            };
            emitter.add("usage", &place, usage);
        }
        self.talk.outcome = if self.failed { "failed" } else { "completed" };
        self.failed = false;
        self.talk.close(emitter);
    }
}

impl Normalizer for GooseStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if !self.talk.run.track.facts.begun() {
            let first = line.get("message").and_then(Talk::time_of);
            self.talk.run.at(emitter, first);
            let facts = SessionStart {
                agent: Some("Goose".to_owned()),
                provider: Some(FORMAT.to_owned()),
                ..SessionStart::default()
            };
            self.talk.run.facts(emitter, facts, Map::new());
        }
        let kind = str_of(line, "type").unwrap_or("");
        match kind {
            "message" => {
                let message = line.get("message").unwrap_or(&Value::Null);
                self.message(emitter, message);
            }
            "notification" => self.notified(emitter, line),
            "error" => {
                self.failed = true;
                self.talk.end_part(emitter);
                let error = ErrorEvent {
                    code: "error".to_owned(),
                    message: str_of(line, "error").unwrap_or("").to_owned(),
                    extra: Extra::default(),
                };
                emitter.add("error", &self.talk.run.track.place(), error);
            }
            "complete" => self.complete(emitter, line),
            _ => emitter.raw(&self.talk.run.track.place(), FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.talk.end_part(emitter);
        self.talk.run.at(emitter, None);
        if self.failed {
            self.talk.outcome = "failed";
            self.talk.close(emitter);
        }
        self.talk.run.finish(emitter);
    }
}
