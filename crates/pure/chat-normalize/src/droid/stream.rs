//! `droid exec --output-format stream-json`: one run, its texts whole.
//!
//! | line | what it gives |
//! |---|---|
//! | `system` | `session_start` |
//! | `message` of the user | the turn before ends, a turn begins; so it does with the word that a task in the background is over |
//! | `message` of the assistant, `reasoning` | a whole text, a whole thought; the same one again says nothing |
//! | `tool_call`, `tool_result` | the call and its result |
//! | `error` | an error |
//! | `completion` | what was not told of its last words, usage, the turn's end |

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, SessionStart, TurnEnd, Usage};
use serde_json::{Map, Value};

use super::FORMAT;
use super::lines::{TASK, call_id, run_of};
use super::talk::{Given, Talk};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, hash};
use crate::reader::Context;
use crate::recent::{LATE_LARGE, Recent};
use crate::run_track::RunTrack;
use crate::track::{Said, ended};
use crate::value::{count_of, is_true, millis, millis_of_rfc3339, str_of, text_of};

/// Reads it.
#[derive(Debug)]
pub(crate) struct DroidStream {
    talk: Talk,
    /// What was told under an id, by its hash: thoughts come twice.
    told: Recent<u64, LATE_LARGE>,
    /// The last text, which `completion` says once more.
    last_text: String,
    /// Nothing came behind it.
    is_said: bool,
    failed: bool,
}

impl DroidStream {
    pub(crate) fn new(context: &Context) -> Self {
        DroidStream {
            talk: Talk::new(RunTrack::new(context)),
            told: Recent::default(),
            last_text: String::new(),
            is_said: false,
            failed: false,
        }
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        let facts = SessionStart {
            agent: Some("Droid".to_owned()),
            native_id: run_of(line).map(str::to_owned),
            model: text_of(line, "model").map(str::to_owned),
            cwd: text_of(line, "cwd").map(str::to_owned),
            tools: line
                .get("tools")
                .filter(|tools| !tools.is_null())
                .map(chat_event::Json::from),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        if let Some(effort) = line.get("reasoning_effort") {
            rest.insert("reasoningEffort".to_owned(), effort.clone());
        }
        self.talk.run.facts(emitter, facts, rest);
    }

    /// Whether a line's words were told before.
    fn is_repeated(&mut self, emitter: &mut Emitter, line: &Value, text: &str) -> bool {
        let Some(id) = text_of(line, "id") else {
            return false;
        };
        let kind = str_of(line, "type").unwrap_or("");
        let key = hash(format!("{kind}:{id}").as_bytes());
        let print = hash(text.as_bytes());
        let is_repeated = self.told.at(key) == Some(&print);
        self.told.put(key, print);
        if is_repeated {
            emitter.report.repeated += 1;
        }
        is_repeated
    }

    fn message(&mut self, emitter: &mut Emitter, line: &Value) {
        let text = str_of(line, "text").unwrap_or("");
        if self.is_repeated(emitter, line, text) {
            return;
        }
        let run = &mut self.talk.run;
        let id = text_of(line, "id");
        match str_of(line, "role") {
            Some("user") => {
                let is_done = std::mem::take(&mut self.is_said);
                let outcome = if is_done { "completed" } else { "interrupted" };
                run.close(emitter, ended(outcome));
                self.failed = false;
                if id.is_some_and(|id| id.starts_with(TASK)) {
                    run.open_turn(emitter, id, "system");
                    return self.talk.notice(emitter, "task", text.to_owned());
                }
                let said = Said {
                    text: text.to_owned(),
                    ..Said::default()
                };
                run.ask(emitter, id, said);
            }
            Some("assistant") => {
                let response = run.response(emitter, id);
                run.text(emitter, &response, text);
                text.clone_into(&mut self.last_text);
                self.is_said = true;
            }
            _ => emitter.raw(&run.track.place(), FORMAT, "message", line),
        }
    }

    fn thought(&mut self, emitter: &mut Emitter, line: &Value) {
        let text = str_of(line, "text").unwrap_or("");
        if !self.is_repeated(emitter, line, text) {
            let id = text_of(line, "messageId").or_else(|| text_of(line, "id"));
            let response = self.talk.run.response(emitter, id);
            self.talk.run.thought(emitter, &response, text, false);
        }
    }

    fn call(&mut self, emitter: &mut Emitter, line: &Value) {
        let Some(id) = call_id(line) else {
            let place = self.talk.run.track.place();
            return emitter.raw(&place, FORMAT, "tool_call without an id", line);
        };
        self.is_said = false;
        let response = self.talk.run.response(emitter, text_of(line, "messageId"));
        let name = text_of(line, "toolName").or_else(|| text_of(line, "toolId"));
        let args = line.get("parameters").unwrap_or(&Value::Null);
        self.talk
            .call(emitter, &response, id, name.unwrap_or(""), args);
    }

    fn result(&mut self, emitter: &mut Emitter, line: &Value) {
        let given = Given {
            value: line.get("value").unwrap_or(&Value::Null),
            failed: is_true(line, "isError"),
            error: line.get("error").unwrap_or(&Value::Null),
        };
        let id = call_id(line).unwrap_or("");
        self.talk.result(emitter, id, &given, line);
    }

    fn failure(&mut self, emitter: &mut Emitter, line: &Value) {
        self.failed = true;
        let error = ErrorEvent {
            code: text_of(line, "source").unwrap_or("error").to_owned(),
            message: str_of(line, "message").unwrap_or("").to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &self.talk.run.track.place(), error);
    }

    fn end(&mut self, emitter: &mut Emitter, line: &Value) {
        let run = &mut self.talk.run;
        let text = str_of(line, "finalText").unwrap_or("");
        if !text.is_empty() && text.trim() != self.last_text.trim() {
            let response = run.response(emitter, None);
            run.text(emitter, &response, text);
        }
        self.last_text.clear();
        let place = run.track.place();
        if let Some(usage) = line.get("usage").filter(|usage| usage.is_object()) {
            let turn = run.track.turn_id().unwrap_or("run").to_owned();
            let usage = Usage {
                scope: "turn".to_owned(),
                input_tokens: count_of(usage, "input_tokens").unwrap_or(0),
                output_tokens: count_of(usage, "output_tokens").unwrap_or(0),
                cache_read_tokens: count_of(usage, "cache_read_input_tokens"),
                cache_write_tokens: count_of(usage, "cache_creation_input_tokens"),
                reasoning_tokens: count_of(usage, "thinking_tokens"),
                ..Usage::default()
            };
            emitter.add_as(&format!("{turn}:usage"), &place, usage);
        }
        let failed = self.failed || is_true(line, "isError");
        let end = TurnEnd {
            duration_ms: count_of(line, "durationMs"),
            ..ended(if failed { "failed" } else { "completed" })
        };
        run.close(emitter, end);
        self.failed = false;
    }
}

impl Normalizer for DroidStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        let time = line.get("timestamp").unwrap_or(&Value::Null);
        let time_ms = millis(time).or_else(|| time.as_str().and_then(millis_of_rfc3339));
        self.talk.run.at(emitter, time_ms);
        let kind = str_of(line, "type").unwrap_or("");
        match kind {
            "system" => self.begin(emitter, line),
            "message" => self.message(emitter, line),
            "reasoning" => self.thought(emitter, line),
            "tool_call" => self.call(emitter, line),
            "tool_result" => self.result(emitter, line),
            "error" => self.failure(emitter, line),
            "completion" => self.end(emitter, line),
            _ => emitter.raw(&self.talk.run.track.place(), FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if self.failed {
            self.talk.run.at(emitter, None);
            self.talk.run.close(emitter, ended("failed"));
        }
        self.talk.run.finish(emitter);
    }
}
