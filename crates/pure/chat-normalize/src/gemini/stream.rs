//! `gemini -o stream-json`: one run, its texts in pieces without ids, its calls and results as a whole.
//!
//! | line | what it gives |
//! |---|---|
//! | `init` | `session_start` |
//! | `message` of the user | the turn before ends, a turn begins |
//! | `message` of the assistant | a piece where it says `delta`, else a whole text |
//! | `tool_use`, `tool_result` | the call and its result; an edit is told as far as the call's arguments say it |
//! | `error` | a notice, or an error where its `severity` says so |
//! | `result` | usage, the error where it has one, the turn's end |
//!
//! Pieces have no end: the next line that is none ends them. Thoughts are not in the stream.

use chat_event::payload::{AssistantChunk, ErrorEvent, SessionStart, ToolResult, Usage};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::tools;
use crate::dialect::Normalizer;
use crate::emit::Emitter;
use crate::facts::guessed;
use crate::reader::Context;
use crate::track::{NewCall, Said, Track, ended, tool_error};
use crate::untold_edits::edit_by_args;
use crate::value::{count_of, is_true, millis_of_rfc3339, str_of, text_of};
use crate::words::printed;

const FORMAT: &str = "gemini-stream";

/// Whether a line is of this dialect.
pub(crate) fn is_stream_line(value: &Value) -> Option<bool> {
    text_of(value, "timestamp")?;
    if value.get("subtype").is_some() || value.get("uuid").is_some() {
        return None;
    }
    let is = match str_of(value, "type")? {
        "init" => text_of(value, "session_id").is_some() && str_of(value, "model").is_some(),
        "tool_use" => text_of(value, "tool_id").is_some() && str_of(value, "tool_name").is_some(),
        "tool_result" => text_of(value, "tool_id").is_some() && str_of(value, "status").is_some(),
        "result" => str_of(value, "status").is_some() && value.get("stats").is_some(),
        "message" => {
            let plain = value.get("session_id").is_none() && value.get("id").is_none();
            let said = matches!(str_of(value, "role"), Some("user" | "assistant"))
                && str_of(value, "content").is_some();
            return (plain && said).then_some(false);
        }
        _ => false,
    };
    is.then_some(true)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct GeminiStream {
    track: Track,
    /// What the user asked, where the stream does not say it.
    prompt: Option<String>,
    /// Where the program runs, which the stream does not say.
    cwd: Option<String>,
    /// The response that is open, and how many the turn had.
    response: Option<String>,
    n_responses: u64,
    /// The text whose pieces come, and how many texts the response had.
    text: Option<String>,
    n_texts: u32,
    last_ms: Option<i64>,
}

impl GeminiStream {
    pub(crate) fn new(context: &Context) -> Self {
        GeminiStream {
            track: Track::new(),
            prompt: context.prompt.clone(),
            cwd: context.cwd.clone(),
            response: None,
            n_responses: 0,
            text: None,
            n_texts: 0,
            last_ms: None,
        }
    }

    /// An id for a turn: the time of its first line, which is the same whenever the stream is read.
    fn turn_stem(&self, emitter: &Emitter) -> String {
        match self.last_ms {
            Some(time_ms) => format!("t{time_ms}"),
            None => format!("t-l{}", emitter.line_no),
        }
    }

    fn open_turn(&mut self, emitter: &mut Emitter, trigger: &str) {
        let stem = self.turn_stem(emitter);
        self.n_responses = 0;
        self.track.open_turn(emitter, &stem, trigger);
    }

    /// Work: it stands in a turn and a response.
    fn response(&mut self, emitter: &mut Emitter) -> String {
        if self.track.turn_id().is_none() {
            match self.prompt.take() {
                Some(prompt) => self.ask(emitter, prompt),
                None => self.open_turn(emitter, "system"),
            }
        }
        if self.response.is_none() {
            let turn = self.track.turn_id().unwrap_or("");
            self.response = Some(format!("{turn}.r{}", self.n_responses));
            self.n_responses += 1;
            self.n_texts = 0;
        }
        self.response.clone().unwrap_or_default()
    }

    fn ask(&mut self, emitter: &mut Emitter, text: String) {
        self.open_turn(emitter, "user");
        let id = format!("{}:user", self.track.turn_id().unwrap_or(""));
        let said = Said {
            text,
            attachments: Vec::new(),
        };
        self.track.user(emitter, &id, said);
    }

    fn piece(&mut self, emitter: &mut Emitter, piece: &str) {
        let response = self.response(emitter);
        let part = self.n_texts;
        self.text.get_or_insert_default().push_str(piece);
        let chunk = AssistantChunk {
            text: piece.to_owned(),
            part: Some(part),
            ..AssistantChunk::default()
        };
        let place = self.track.place().in_response(&response);
        emitter.add_as(
            &format!("{response}:chunk{}", emitter.line_no),
            &place,
            chunk,
        );
    }

    /// The pieces are at their end.
    fn close_text(&mut self, emitter: &mut Emitter) {
        if let Some(text) = self.text.take() {
            self.whole(emitter, &text);
        }
    }

    fn whole(&mut self, emitter: &mut Emitter, text: &str) {
        let response = self.response(emitter);
        self.track.text(emitter, &response, self.n_texts, text);
        self.n_texts = self.n_texts.saturating_add(1);
    }

    fn message(&mut self, emitter: &mut Emitter, line: &Value) {
        let text = str_of(line, "content").unwrap_or("");
        match (str_of(line, "role"), line.get("content")) {
            (Some("user"), Some(Value::String(_))) => {
                self.close(emitter, "interrupted");
                self.prompt = None;
                self.ask(emitter, text.to_owned());
            }
            (Some("assistant"), Some(Value::String(_))) if is_true(line, "delta") => {
                self.piece(emitter, text);
            }
            (Some("assistant"), Some(Value::String(_))) => {
                self.close_text(emitter);
                self.whole(emitter, text);
            }
            _ => emitter.raw(&self.track.place(), FORMAT, "message", line),
        }
    }

    fn call(&mut self, emitter: &mut Emitter, line: &Value) {
        let Some(id) = text_of(line, "tool_id") else {
            return emitter.raw(&self.track.place(), FORMAT, "tool_use without an id", line);
        };
        let response_id = self.response(emitter);
        let name = str_of(line, "tool_name").unwrap_or("");
        let args = line.get("parameters").unwrap_or(&Value::Null);
        let call = NewCall {
            id,
            response_id: &response_id,
            name,
            args,
            title: tools::title(name, args),
            kind: tools::kind(name),
        };
        self.track.call(emitter, call);
        if let Some(plan) = tools::plan(name, args) {
            let place = self.track.place().in_response(&response_id);
            emitter.add_as(&format!("{id}:plan"), &place, plan);
        }
    }

    fn result(&mut self, emitter: &mut Emitter, line: &Value) {
        let id = text_of(line, "tool_id").unwrap_or("");
        let output = str_of(line, "output");
        let failed = str_of(line, "status") != Some("success");
        let error = line.get("error").unwrap_or(&Value::Null);
        let result = ToolResult {
            result: match line.get("output") {
                // What the screen shows of a file that was read is nothing, which does not say that it is empty.
                Some(Value::String(text)) if text.is_empty() => Json::default(),
                Some(Value::String(text)) => Json::string(text),
                Some(other) => Json::from(other),
                None => Json::default(),
            },
            error: failed.then(|| {
                let message = str_of(error, "message").or(output).unwrap_or("");
                let status = str_of(line, "status").unwrap_or("error");
                tool_error(text_of(error, "type").unwrap_or(status), message)
            }),
            summary: output.filter(|_| !failed).and_then(printed),
            ..ToolResult::default()
        };
        // The model is asked again with what the calls gave: what comes next is another response.
        self.response = None;
        let Some(call) = self.track.result(emitter, id, result) else {
            return emitter.raw(
                &self.track.place(),
                FORMAT,
                "tool_result without a call",
                line,
            );
        };
        if let Some(path) = tools::edited_path(&call.name, &call.args).filter(|_| !failed) {
            let edit = edit_by_args(&call.id, &call.name, &call.args, path);
            self.track.edit(emitter, &call, edit);
        }
    }

    fn end(&mut self, emitter: &mut Emitter, line: &Value) {
        let failed = str_of(line, "status") != Some("success");
        let turn = match self.track.turn_id() {
            Some(turn) => turn.to_owned(),
            // A run that fails before it says the prompt.
            None => {
                self.response(emitter);
                self.track.turn_id().unwrap_or("").to_owned()
            }
        };
        let place = self.track.place();
        if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
            let payload = ErrorEvent {
                code: text_of(error, "type").unwrap_or("error").to_owned(),
                message: str_of(error, "message")
                    .unwrap_or("the run failed")
                    .to_owned(),
                extra: Extra::default(),
            };
            emitter.add_as(&format!("{turn}:error"), &place, payload);
        }
        let stats = line.get("stats").unwrap_or(&Value::Null);
        let input = count_of(stats, "input_tokens").unwrap_or(0);
        let cached = count_of(stats, "cached");
        let output = count_of(stats, "output_tokens").unwrap_or(0);
        // The thoughts are told in the total alone.
        let total = count_of(stats, "total_tokens").unwrap_or(0);
        let output = output.max(total.saturating_sub(input));
        if input > 0 || output > 0 {
            let usage = Usage {
                scope: "turn".to_owned(),
                input_tokens: input.saturating_sub(cached.unwrap_or(0)),
                output_tokens: output,
                cache_read_tokens: cached,
                ..Usage::default()
            };
            emitter.add_as(&format!("{turn}:usage"), &place, usage);
        }
        let mut end = ended(if failed { "failed" } else { "completed" });
        // A run that fails says 0.
        end.duration_ms = count_of(stats, "duration_ms").filter(|took| *took > 0);
        self.response = None;
        self.track.close_turn(emitter, end);
    }

    fn close(&mut self, emitter: &mut Emitter, outcome: &str) {
        self.close_text(emitter);
        self.response = None;
        self.track.close_turn(emitter, ended(outcome));
    }
}

impl Normalizer for GeminiStream {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        if let Some(time_ms) = text_of(line, "timestamp").and_then(millis_of_rfc3339) {
            self.last_ms = Some(time_ms);
        }
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        let kind = str_of(line, "type").unwrap_or("");
        if kind != "message" {
            self.close_text(emitter);
        }
        match kind {
            "init" => {
                let facts = SessionStart {
                    agent: Some("Gemini CLI".to_owned()),
                    native_id: text_of(line, "session_id").map(str::to_owned),
                    model: text_of(line, "model").map(str::to_owned),
                    cwd: self.cwd.take(),
                    provider: Some("gemini".to_owned()),
                    ..SessionStart::default()
                };
                let guessed = guessed(facts.cwd.as_ref());
                self.track.facts.say(emitter, facts, guessed);
            }
            "message" => self.message(emitter, line),
            "tool_use" => self.call(emitter, line),
            "tool_result" => self.result(emitter, line),
            "error" => {
                let message = str_of(line, "message").unwrap_or("");
                let place = self.track.place();
                if str_of(line, "severity") == Some("error") {
                    let payload = ErrorEvent {
                        code: "error".to_owned(),
                        message: message.to_owned(),
                        extra: Extra::default(),
                    };
                    emitter.add("error", &place, payload);
                } else {
                    emitter.notice("warning", &place, "gemini", message);
                }
            }
            "result" => self.end(emitter, line),
            _ => emitter.raw(&self.track.place(), FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        if let Some(time_ms) = self.last_ms {
            emitter.time_ms = time_ms;
        }
        let cut_off = self.track.turn_id().is_some();
        self.close(emitter, "interrupted");
        emitter.end_of_stream(cut_off);
    }
}
