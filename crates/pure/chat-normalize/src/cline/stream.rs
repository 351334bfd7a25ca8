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
//! | `hook_event` | whose events come, see `helpers` |
//!
//! The prompt and the folder are not in it, nor the session's id; the model stands in its last line. Stopped by a signal it
//! just ends. Seen in runs of 3.0.65.

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, SessionStart, ToolOutputChunk, TurnEnd};
use serde_json::{Map, Value};

use super::FORMAT;
use super::helpers::Helpers;
use super::talk::{Given, Talk, is_redacted, starts_agent, usage};
use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::speech::{Kind, Part};
use crate::track::ended;
use crate::value::{count_of, is_true, millis_of_rfc3339, str_of, text_of};

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

    fn event(&mut self, emitter: &mut Emitter, event: &Value, line: &Value) {
        let kind = str_of(event, "type").unwrap_or("");
        let about = str_of(event, "contentType").unwrap_or("");
        match (kind, about) {
            ("iteration_start", _) => {
                self.end_part(emitter);
                self.last_thought.clear();
                match self.helpers.call() {
                    Some(_) => self.helpers.next_response(),
                    None => self.talk.run.next_response(),
                }
                self.response(emitter);
            }
            ("iteration_end", _) => self.end_part(emitter),
            ("content_start", "text") => self.grow(emitter, Kind::Text, str_of(event, "text")),
            ("content_start", "reasoning") if is_redacted(event) => {
                self.end_part(emitter);
                let response = self.response(emitter);
                self.talk.run.thought(emitter, &response, "", true);
            }
            ("content_start", "reasoning") => {
                self.grow(emitter, Kind::Thinking, str_of(event, "reasoning"));
            }
            ("content_end", "text") => self.whole(emitter, Kind::Text, str_of(event, "text")),
            ("content_end", "reasoning") => {
                self.whole(emitter, Kind::Thinking, str_of(event, "reasoning"));
            }
            ("content_start", "tool") => {
                self.end_part(emitter);
                let id = text_of(event, "toolCallId").unwrap_or("");
                let name = str_of(event, "toolName").unwrap_or("");
                let args = event.get("input").unwrap_or(&Value::Null);
                let response = self.response(emitter);
                self.talk.call(emitter, &response, id, name, args);
                if starts_agent(name) {
                    self.helpers.expect(id);
                }
            }
            ("content_update", _) => self.prints(emitter, event),
            ("content_end", "tool") => {
                let given = Given {
                    value: event.get("output").unwrap_or(&Value::Null),
                    error: text_of(event, "error"),
                    failed: false,
                    duration_ms: count_of(event, "durationMs"),
                };
                let id = str_of(event, "toolCallId").unwrap_or("");
                self.talk.result(emitter, id, &given, line);
                if self.helpers.done(id) {
                    self.talk.run.track.within(None);
                }
            }
            ("usage", _) => {
                if let Some(usage) = usage("response", event) {
                    let response = self.response(emitter);
                    let place = self.talk.run.track.place().in_response(&response);
                    emitter.add_as(&format!("{response}:usage"), &place, usage);
                }
                // Of several, the next one may be another's, and adds to this.
                if self.helpers.are_many() {
                    self.helpers.next_response();
                }
            }
            ("notice", _) => {
                let text = str_of(event, "message").unwrap_or("");
                emitter.notice("info", &self.talk.run.track.place(), FORMAT, text);
            }
            ("error", _) => self.failure(emitter, event),
            ("done", _) if self.helpers.call().is_some() => {
                self.end_part(emitter);
                emitter.pass_over("the end of a sub-agent");
            }
            ("done", _) => self.done(emitter, str_of(event, "reason"), event),
            _ => emitter.raw(&self.talk.run.track.place(), FORMAT, kind, line),
        }
    }

    /// A line that says whose events come.
    fn turn_to(&mut self, emitter: &mut Emitter, line: &Value) {
        let before = self.helpers.call().map(str::to_owned);
        self.helpers.hook(line);
        let call = self.helpers.call();
        if call != before.as_deref() {
            let call = call.map(str::to_owned);
            self.end_part(emitter);
            self.talk.run.track.within(call.as_deref());
        }
    }

    /// The events that come are of the agent that leads.
    fn lead(&mut self, emitter: &mut Emitter) {
        self.end_part(emitter);
        self.helpers.all_done();
        self.talk.run.track.within(None);
    }

    /// The response that is open, of the agent whose events come.
    fn response(&mut self, emitter: &mut Emitter) -> String {
        let of_helper = self.helpers.response();
        self.talk.run.response(emitter, of_helper.as_deref())
    }

    fn grow(&mut self, emitter: &mut Emitter, kind: Kind, piece: Option<&str>) {
        let piece = piece.unwrap_or("");
        if self.part.as_ref().is_some_and(|part| part.kind != kind) {
            self.end_part(emitter);
        }
        if piece.is_empty() {
            return;
        }
        if self.helpers.are_many() {
            return emitter.pass_over("a piece of one of several");
        }
        if self.part.is_none() {
            let response = self.response(emitter);
            let run = &mut self.talk.run;
            let number = run.next_part(&response, kind);
            let place = run.track.place().in_response(&response);
            self.part = Some(Part::new(place, kind, number));
        }
        if let Some(part) = &mut self.part {
            part.add(emitter, piece);
        }
    }

    fn whole(&mut self, emitter: &mut Emitter, kind: Kind, text: Option<&str>) {
        let text = text.unwrap_or("");
        match self.part.take_if(|part| part.kind == kind) {
            Some(part) => {
                let text = if text.is_empty() { part.text() } else { text }.to_owned();
                if kind == Kind::Text {
                    self.last_text.clone_from(&text);
                }
                part.end_as(emitter, text);
            }
            None if kind == Kind::Thinking && text == self.last_thought => {
                emitter.pass_over("the end of a thought that is told");
            }
            None => {
                self.end_part(emitter);
                let response = self.response(emitter);
                let run = &mut self.talk.run;
                if kind == Kind::Text {
                    text.clone_into(&mut self.last_text);
                    run.text(emitter, &response, text);
                } else {
                    run.thought(emitter, &response, text, false);
                }
            }
        }
    }

    fn end_part(&mut self, emitter: &mut Emitter) {
        if let Some(part) = self.part.take() {
            let last = match part.kind {
                Kind::Text => &mut self.last_text,
                Kind::Thinking => &mut self.last_thought,
            };
            part.text().clone_into(last);
            part.end(emitter);
        }
    }

    fn prints(&mut self, emitter: &mut Emitter, event: &Value) {
        let update = event.get("update").unwrap_or(&Value::Null);
        let keys = ["chunk", "text", "output"];
        let text = update
            .as_str()
            .or_else(|| keys.iter().find_map(|key| str_of(update, key)));
        let id = str_of(event, "toolCallId").unwrap_or("");
        match (text, self.talk.run.track.waiting(id)) {
            (Some(text), Some(call)) if !text.is_empty() => {
                let chunk = ToolOutputChunk {
                    tool_call_id: call.id.clone(),
                    chunk: text.to_owned(),
                    stream: text_of(update, "stream").map(str::to_owned),
                    ..ToolOutputChunk::default()
                };
                emitter.add_as(&format!("{}:output", call.id), &call.place, chunk);
            }
            _ => emitter.pass_over("content_update"),
        }
    }

    fn failure(&mut self, emitter: &mut Emitter, event: &Value) {
        let told = event.get("error").unwrap_or(event);
        let message = told
            .as_str()
            .or_else(|| str_of(told, "message"))
            .unwrap_or("");
        let place = self.talk.run.track.place();
        if is_true(event, "recoverable") {
            if message.contains(" tool call(s) failed") {
                return emitter.pass_over("calls that failed, as their results say");
            }
            return emitter.retrying(&place, Some(message.to_owned()));
        }
        self.failed |= self.helpers.call().is_none();
        let code = text_of(event, "errorClass").unwrap_or("error");
        emitter.add("error", &place, error(code, message));
    }

    fn done(&mut self, emitter: &mut Emitter, reason: Option<&str>, told: &Value) {
        self.end_part(emitter);
        if self.talk.run.track.turn_id().is_none() {
            self.failed = false;
            return emitter.pass_over("the end of what is over");
        }
        let text = str_of(told, "text").unwrap_or("");
        let outcome = match reason {
            _ if self.failed => "failed",
            Some("completed") => "completed",
            Some("error" | "mistake_limit") => "failed",
            _ => "interrupted",
        };
        if outcome == "completed" && !text.is_empty() && text.trim() != self.last_text.trim() {
            let response = self.response(emitter);
            self.talk.run.text(emitter, &response, text);
        }
        if outcome == "failed" && !self.failed && !text.is_empty() {
            let place = self.talk.run.track.place();
            emitter.add("error", &place, error("error", text));
        }
        self.last_text.clear();
        self.failed = false;
        self.talk.expire(emitter);
        self.lead(emitter);
        let end = TurnEnd {
            duration_ms: count_of(told, "durationMs"),
            ..ended(outcome)
        };
        self.talk.run.close(emitter, end);
    }
}

fn error(code: &str, message: &str) -> ErrorEvent {
    ErrorEvent {
        code: code.to_owned(),
        message: message.to_owned(),
        extra: Extra::default(),
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
            "run_abort_requested" | "run_aborted" => {
                self.end_part(emitter);
                let interrupt = Interrupt {
                    reason: text_of(line, "message")
                        .or_else(|| text_of(line, "reason"))
                        .unwrap_or("stopped")
                        .to_owned(),
                    ..Interrupt::default()
                };
                emitter.add("interrupt", &self.talk.run.track.place(), interrupt);
            }
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
