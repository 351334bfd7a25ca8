//! `cline --json` of today: an event a line.
//!
//! | line | what it gives |
//! |---|---|
//! | `run_start`, with `--verbose` | `session_start` |
//! | `agent_event` of `content_start` | a piece of a text or a thought; a call |
//! | `agent_event` of `content_update`, `content_end` | what a call prints; the whole of a text; a call's result |
//! | `agent_event` of `iteration_start`, `usage`, `notice`, `error` | a response, its tokens, a notice, an error |
//! | `agent_event` of `done`, `run_result` | the turn's end |
//! | `run_abort_requested`, `run_aborted` | an interrupt |
//! | `hook_event` | whose events come (`whose`), see `helpers` |
//!
//! The prompt and the folder are not in it, nor the session's id; the model stands in its last line. Stopped by a signal it
//! just ends. Seen in runs of 3.0.65.

mod calls;
mod ends;
mod event;
mod texts;
mod whose;

use chat_event::payload::SessionStart;
use serde_json::{Map, Value};

use super::FORMAT;
use super::helpers::Helpers;
use super::talk::Talk;
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::speech::Part;
use crate::track::ended;
use crate::value::{millis_of_rfc3339, str_of, text_of};

pub(crate) static STREAM: Profile = Profile {
    word: "cline-stream",
    name: "Cline JSON",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |value| {
        is_of(value)?;
        text_of(value, "sessionId").map(str::to_owned)
    },
    make: |context| Box::new(ClineStream::new(context)),
};

/// Whether a line is of such a stream.
fn is_of(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    text_of(value, "ts")?;
    let is = match str_of(value, "type")? {
        "run_start" => has("providerId") && has("modelId"),
        "agent_event" => value
            .get("event")
            .is_some_and(|event| text_of(event, "type").is_some()),
        "run_result" => has("finishReason") && has("iterations"),
        "hook_event" => has("hookEventName"),
        _ => false,
    };
    is.then_some(true)
}

/// Reads it.
#[derive(Debug)]
struct ClineStream {
    talk: Talk,
    /// The text or the thought that grows.
    part: Option<Part>,
    /// The last text, which the end says again.
    last_text: String,
    /// The last thought: where a text follows it, its end comes after that.
    last_thought: String,
    helpers: Helpers,
    failed: bool,
    began: bool,
}

impl ClineStream {
    fn new(context: &Context) -> Self {
        ClineStream {
            talk: Talk::new(RunTrack::new(context)),
            part: None,
            last_text: String::new(),
            last_thought: String::new(),
            helpers: Helpers::default(),
            failed: false,
            began: false,
        }
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        self.began = true;
        let facts = SessionStart {
            agent: Some("Cline".to_owned()),
            native_id: text_of(line, "sessionId").map(str::to_owned),
            model: text_of(line, "modelId").map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        self.talk.run.facts(emitter, facts, Map::new());
    }

    fn model(&mut self, emitter: &mut Emitter, line: &Value) {
        let model = line.get("model").and_then(|told| text_of(told, "id"));
        if let Some(model) = model {
            let facts = SessionStart {
                model: Some(model.to_owned()),
                ..SessionStart::default()
            };
            self.talk.run.facts(emitter, facts, Map::new());
        }
    }
}

impl Normalizer for ClineStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let time_ms = text_of(line, "ts").and_then(millis_of_rfc3339);
        self.talk.run.at(emitter, time_ms);
        let kind = str_of(line, "type").unwrap_or("");
        if !self.began && kind != "run_start" {
            self.begin(emitter, line);
        }
        match kind {
            "run_start" => self.begin(emitter, line),
            "agent_event" => {
                let event = line.get("event").unwrap_or(&Value::Null);
                self.event(emitter, event, line);
            }
            "run_result" => {
                self.lead(emitter);
                self.model(emitter, line);
                self.done(emitter, str_of(line, "finishReason"), line);
            }
            "run_aborted" if self.talk.run.track.turn_id().is_none() => emitter.pass_over(kind),
            "run_abort_requested" | "run_aborted" => self.interrupt(emitter, line),
            "error" => self.failure(emitter, line),
            "hook_event" => {
                self.turn_to(emitter, line);
                emitter.pass_over(kind);
            }
            "team_restored" => emitter.pass_over(kind),
            _ => emitter.raw(&self.talk.run.track.place(), FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.end_part(emitter);
        self.talk.run.at(emitter, None);
        self.talk.expire(emitter);
        if self.failed {
            self.talk.run.close(emitter, ended("failed"));
        }
        self.talk.run.finish(emitter);
    }
}
