//! Cursor's CLI: `cursor-agent -p … --output-format stream-json`, with and without `--stream-partial-output`.
//!
//! | line | what it gives |
//! |---|---|
//! | `system/init` | `session_start` |
//! | `user` | a turn begins |
//! | `thinking` | pieces of a thought, and its end |
//! | `assistant` | a whole text; with `timestamp_ms` and no `model_call_id` a piece of one |
//! | `tool_call` | `started` the call, `completed` its result and its edit |
//! | `result` | usage, the turn's end |
//!
//! Its frame is Claude Code's, without `uuid` and `parent_tool_use_id`. A text that came in pieces is said once more as a
//! whole, or with all that was said before it. After the program's documentation, and lines of 2025.10 to 2026.08 in public
//! repositories.

mod calls;

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, SessionStart, TurnEnd, Usage};
use serde_json::{Map, Value};

use crate::dialect::{Form, Normalizer, Origin, Profile, Sessions};
use crate::emit::Emitter;
use crate::reader::Context;
use crate::run_track::RunTrack;
use crate::speech::{Kind, Part};
use crate::track::{Said, ended};
use crate::value::{count_of, is_true, list_of, millis, str_of, text_of};

pub(crate) static PROFILE: Profile = Profile {
    word: "cursor-stream",
    name: "Cursor stream-json",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_of,
    session_of: |_| None,
    make: |context| Box::new(Cursor::new(context)),
};

const FORMAT: &str = "cursor";

/// Whether a line is of this dialect.
fn is_of(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    if has("uuid") || has("parent_tool_use_id") || has("parentUuid") || has("jsonrpc") {
        return None;
    }
    let kind = str_of(value, "type")?;
    if kind == "tool_call" {
        let is = text_of(value, "call_id").is_some()
            && value.get("tool_call").is_some_and(Value::is_object);
        return is.then_some(true);
    }
    text_of(value, "session_id")?;
    let is = match (kind, str_of(value, "subtype")) {
        ("system", Some("init")) => {
            let others = [
                "tools",
                "claude_code_version",
                "qwen_code_version",
                "reasoning_effort",
            ];
            has("apiKeySource") && has("permissionMode") && !others.into_iter().any(has)
        }
        ("thinking", Some("delta" | "completed")) => true,
        ("user" | "assistant", None) => {
            let message = value.get("message")?;
            let plain = message.get("id").is_none() && message.get("usage").is_none();
            let content = list_of(message, "content");
            let is_text = |block: &Value| str_of(block, "type") == Some("text");
            let texts = !content.is_empty() && content.iter().all(is_text);
            return (plain && texts).then_some(false);
        }
        ("result", Some(_)) => has("request_id") && !has("num_turns"),
        _ => false,
    };
    is.then_some(true)
}

/// Reads it.
#[derive(Debug)]
pub(crate) struct Cursor {
    run: RunTrack,
    /// The text or the thought whose pieces come.
    open: Option<Part>,
    /// What was told of the response, for a whole that says it once more.
    told: String,
}

impl Cursor {
    pub(crate) fn new(context: &Context) -> Self {
        Cursor {
            run: RunTrack::new(context),
            open: None,
            told: String::new(),
        }
    }

    fn begin(&mut self, emitter: &mut Emitter, line: &Value) {
        let facts = SessionStart {
            agent: Some("Cursor".to_owned()),
            native_id: text_of(line, "session_id").map(str::to_owned),
            model: text_of(line, "model").map(str::to_owned),
            cwd: text_of(line, "cwd").map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            ..SessionStart::default()
        };
        let mut rest = Map::new();
        for key in ["permissionMode", "apiKeySource"] {
            if let Some(value) = line.get(key) {
                rest.insert(key.to_owned(), value.clone());
            }
        }
        self.run.facts(emitter, facts, rest);
    }

    fn user(&mut self, emitter: &mut Emitter, line: &Value) {
        self.close_part(emitter);
        self.run.close(emitter, ended("interrupted"));
        self.told.clear();
        let content = content_of(line);
        let said = Said {
            text: texts(content),
            attachments: content.iter().flat_map(attachment).collect(),
        };
        self.run.ask(emitter, None, said);
    }

    fn piece(&mut self, emitter: &mut Emitter, kind: Kind, piece: &str) {
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            self.close_part(emitter);
            let response = self.run.response(emitter, None);
            let number = self.run.next_part(&response, kind);
            let place = self.run.track.place().in_response(&response);
            self.open = Some(Part::new(place, kind, number));
        }
        if let Some(open) = &mut self.open {
            open.add(emitter, piece);
        }
    }

    fn close_part(&mut self, emitter: &mut Emitter) {
        if let Some(part) = self.open.take() {
            if part.kind == Kind::Text {
                self.told.push_str(part.text());
            }
            part.end(emitter);
        }
    }

    fn assistant(&mut self, emitter: &mut Emitter, line: &Value) {
        let content = content_of(line);
        for block in content {
            if str_of(block, "text").is_none() {
                let place = self.run.track.place();
                emitter.raw(&place, FORMAT, "block of an answer", block);
            }
        }
        let text = texts(content);
        let has = |key: &str| line.get(key).is_some_and(|value| !value.is_null());
        if has("timestamp_ms") && !has("model_call_id") {
            return self.piece(emitter, Kind::Text, &text);
        }
        let came_in_pieces = self
            .open
            .as_ref()
            .is_some_and(|open| open.kind == Kind::Text);
        self.close_part(emitter);
        let is_told = (came_in_pieces || has("model_call_id") || !self.told.is_empty())
            && self.told.trim_end().ends_with(text.trim_end());
        if is_told && !text.is_empty() {
            return emitter.pass_over("a text told in pieces");
        }
        let response = self.run.response(emitter, None);
        self.run.text(emitter, &response, &text);
    }

    fn end(&mut self, emitter: &mut Emitter, line: &Value) {
        self.close_part(emitter);
        self.told.clear();
        let response = self.run.response(emitter, None);
        let turn = self.run.track.turn_id().unwrap_or("").to_owned();
        let place = self.run.track.place();
        let failed = is_true(line, "is_error");
        let said = str_of(line, "result").unwrap_or("");
        if failed {
            let error = ErrorEvent {
                code: text_of(line, "subtype").unwrap_or("error").to_owned(),
                message: said.to_owned(),
                extra: Extra::default(),
            };
            emitter.add_as(&format!("{turn}:error"), &place, error);
        }
        if let Some(told) = line.get("usage").filter(|usage| usage.is_object()) {
            let usage = Usage {
                scope: "turn".to_owned(),
                input_tokens: count_of(told, "inputTokens").unwrap_or(0),
                output_tokens: count_of(told, "outputTokens").unwrap_or(0),
                cache_read_tokens: count_of(told, "cacheReadTokens"),
                cache_write_tokens: count_of(told, "cacheWriteTokens"),
                ..Usage::default()
            };
            let place = place.in_response(&response);
            emitter.add_as(&format!("{turn}:usage"), &place, usage);
        }
        let end = TurnEnd {
            duration_ms: count_of(line, "duration_ms"),
            ..ended(if failed { "failed" } else { "completed" })
        };
        self.run.close(emitter, end);
    }
}

fn content_of(line: &Value) -> &[Value] {
    line.get("message")
        .map_or(&[], |message| list_of(message, "content"))
}

fn texts(content: &[Value]) -> String {
    content
        .iter()
        .filter_map(|block| str_of(block, "text"))
        .collect()
}

/// What the user attached.
fn attachment(block: &Value) -> Vec<Value> {
    let held = crate::claude::attachments(std::slice::from_ref(block));
    match held.map(|held| held.to_value()) {
        Some(Value::Array(held)) => held,
        _ => Vec::new(),
    }
}

impl Normalizer for Cursor {
    fn line(&mut self, emitter: &mut Emitter, line: &Value) {
        self.run
            .at(emitter, line.get("timestamp_ms").and_then(millis));
        let kind = str_of(line, "type").unwrap_or("");
        match (kind, str_of(line, "subtype")) {
            ("system", Some("init")) => self.begin(emitter, line),
            ("user", _) if line.get("message").is_some() => self.user(emitter, line),
            ("assistant", _) if line.get("message").is_some() => self.assistant(emitter, line),
            ("thinking", Some("delta")) => {
                let piece = str_of(line, "text").unwrap_or("");
                self.piece(emitter, Kind::Thinking, piece);
            }
            ("thinking", Some("completed")) => self.close_part(emitter),
            ("tool_call", Some("started")) => {
                self.close_part(emitter);
                self.told.clear();
                self.called(emitter, line);
            }
            ("tool_call", Some("completed")) => {
                self.close_part(emitter);
                self.completed(emitter, line);
            }
            ("result", _) => self.end(emitter, line),
            _ => emitter.raw(&self.run.track.place(), FORMAT, kind, line),
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.run.at(emitter, None);
        self.close_part(emitter);
        self.run.finish(emitter);
    }
}
