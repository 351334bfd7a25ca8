//! Which value is what, the turns they make, and what requests say.
//!
//! | state | what happens | next |
//! |---|---|---|
//! | any | a user's message with words and without results | the open turn ends, a new one begins |
//! | no turn, or one that is over | an answer begins | a turn begins, its prompt guessed |
//! | turn open | an answer ends with `tool_use` or `pause_turn` | turn open: results and the next answer belong to it |
//! | turn open | an answer ends otherwise | the turn ends |
//! | any | an error | turn failed; it ends with what comes next |
//! | turn failed | the same request again | turn open |
//! | turn open, a call runs | a request of another conversation | what is said in that stands in the turn and ends nothing |
//! | any | the source ended | an open turn ends as interrupted |

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use chat_event::payload::{ErrorEvent, SessionStart, TurnEnd, UserMessage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value, json};

use super::stream::{Writing, put_together};
use crate::claude::{Session, attachments, usage_of};
use crate::dialect::Normalizer;
use crate::emit::{Emitter, hash};
use crate::history::History;
use crate::tries::Tries;
use crate::value::{list_of, str_of, text_of};

pub(super) const FORMAT: &str = "anthropic-messages";

/// Reads the values of the Messages API.
#[derive(Debug)]
pub(crate) struct AnthropicMessages {
    pub(super) session: Session,
    /// The answer that is being written.
    pub(super) writing: Option<Writing>,
    history: History,
    tries: Tries,
    /// What tells the conversation that the turn is of from others.
    main: u64,
    /// What is said now is of another conversation, while a call of the main one runs.
    aside: bool,
    prompt: Option<String>,
    /// An answer ended its turn, which ends with what comes next.
    over: bool,
    /// Calls for the client that the newest answer made.
    asked: VecDeque<String>,
    /// The ids of answers, hashed.
    known: HashSet<u64>,
    turn_ids: HashSet<u64>,
    /// The ids of calls that began or have a result, hashed.
    called: HashSet<u64>,
}

impl AnthropicMessages {
    /// `prompt` is what the user asked, which a stream alone does not say.
    pub(crate) fn new(prompt: Option<String>) -> Self {
        AnthropicMessages {
            session: Session::new(FORMAT, false),
            writing: None,
            history: History::default(),
            tries: Tries::default(),
            main: 0,
            aside: false,
            prompt,
            over: false,
            asked: VecDeque::new(),
            known: HashSet::new(),
            turn_ids: HashSet::new(),
            called: HashSet::new(),
        }
    }

    pub(super) fn about(
        &mut self,
        emitter: &mut Emitter,
        model: Option<&str>,
        rest: Map<String, Value>,
    ) {
        let facts = SessionStart {
            model: model.map(str::to_owned),
            provider: Some(FORMAT.to_owned()),
            timestamp_source: Some("arrival".to_owned()),
            ..SessionStart::default()
        };
        self.session.facts.say(emitter, facts, rest);
    }

    fn open_turn(&mut self, emitter: &mut Emitter, stem: &str) {
        let mut id = format!("t-{stem}");
        let mut n = 1;
        while !self.turn_ids.insert(hash(id.as_bytes())) {
            n += 1;
            id = format!("t-{stem}~{n}");
        }
        emitter.begin_line(Some(&id));
        self.over = false;
        self.session.open_turn(emitter, &id, "user");
    }

    fn end_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
        self.over = false;
        let failed_ms = self.tries.end();
        let outcome = failed_ms.map_or(outcome, |_| "failed");
        let end = TurnEnd {
            outcome: Some(outcome.to_owned()),
            ..TurnEnd::default()
        };
        let now_ms = emitter.time_ms;
        emitter.time_ms = failed_ms.unwrap_or(now_ms);
        self.session.close_turn(emitter, end);
        emitter.time_ms = now_ms;
    }

    /// The turn whose request failed ends: what comes is another.
    fn end_failed(&mut self, emitter: &mut Emitter) {
        if self.tries.failed() {
            self.end_turn(emitter, "failed");
        }
    }

    fn need_turn(&mut self, emitter: &mut Emitter, stem: &str) {
        self.end_failed(emitter);
        if self.over {
            self.end_turn(emitter, "completed");
        }
        if !self.session.in_turn() {
            self.open_turn(emitter, stem);
            if let Some(prompt) = self.prompt.take() {
                self.say_user(emitter, &prompt, None);
            }
        }
    }

    fn say_user(&mut self, emitter: &mut Emitter, text: &str, attachments: Option<Json>) {
        let message = UserMessage {
            text: text.into(),
            attachments,
            extra: Extra::default(),
        };
        emitter.add("user", &self.session.place(None, None), message);
    }

    /// An answer begins: the client went on, so calls of the answer before will not get a result any more.
    pub(super) fn begin(&mut self, emitter: &mut Emitter, id: &str, message: &Value) {
        self.leave(emitter);
        self.about(emitter, text_of(message, "model"), Map::new());
        if !self.aside {
            for call in std::mem::take(&mut self.asked) {
                self.session.close_call(emitter, &call);
            }
        }
        self.need_turn(emitter, id);
        self.known.insert(hash(id.as_bytes()));
        self.writing = Some(Writing::new(id, message));
    }

    /// The answer that is being written is left as it is.
    pub(super) fn leave(&mut self, emitter: &mut Emitter) {
        if self.writing.is_some() {
            self.end_answer(emitter, None);
        }
    }

    /// The answer is whole; `stop_reason` says why, where it does.
    pub(super) fn end_answer(&mut self, emitter: &mut Emitter, stop_reason: Option<&str>) {
        self.close_blocks(emitter);
        let Some(writing) = self.writing.take() else {
            return;
        };
        emitter.begin_line(Some(&writing.id));
        let place = self.session.place(None, None);
        let response_id = self
            .session
            .message(&writing.id, &place)
            .response_id
            .clone();
        let place = place.in_response(&response_id);
        if !writing.tokens.is_empty() {
            let tokens = Value::Object(writing.tokens);
            let usage = usage_of("response", &tokens, writing.model.as_deref());
            emitter.add("usage", &place, usage);
        }
        self.history
            .answer(fingerprint_of("assistant", &writing.text, &writing.calls));
        let asks = !writing.asked.is_empty();
        self.note_asked(writing.asked);
        let why = stop_reason
            .or(writing.stop_reason.as_deref())
            .map(str::to_owned);
        match why.as_deref() {
            Some("tool_use" | "pause_turn") => {}
            Some(why @ ("max_tokens" | "model_context_window_exceeded" | "refusal")) => {
                let text = format!("the answer was cut short: {why}");
                emitter.notice("warning", &place, FORMAT, text);
                if !self.aside {
                    self.end_turn(emitter, "completed");
                }
            }
            // Forced to call a tool, it says that it ended its turn.
            Some(_) if asks || self.aside => {}
            Some(_) => self.end_turn(emitter, "completed"),
            None => {}
        }
    }

    /// Whether a result comes for a call that has one, or was told that it will get none. Takes note of calls.
    pub(super) fn is_late(&mut self, block: &Value) -> bool {
        if let Some(id) = text_of(block, "tool_use_id") {
            let is_new = self.called.insert(hash(id.as_bytes()));
            return !is_new && !self.session.calls.contains_key(id);
        }
        if let Some(id) = text_of(block, "id") {
            self.called.insert(hash(id.as_bytes()));
        }
        false
    }

    /// A whole answer.
    fn whole(&mut self, emitter: &mut Emitter, message: &Value) {
        let id = text_of(message, "id")
            .unwrap_or_else(|| emitter.line_id())
            .to_owned();
        if self.known.contains(&hash(id.as_bytes())) {
            return emitter.pass_over("an answer that was said before");
        }
        self.begin(emitter, &id, message);
        if let Some(writing) = &mut self.writing {
            for block in list_of(message, "content") {
                writing.note(block);
            }
        }
        for block in list_of(message, "content") {
            self.is_late(block);
        }
        emitter.begin_line(Some(&id));
        let place = self.session.place(None, None);
        self.session
            .assistant_blocks(emitter, &place, &put_together(message));
        let stop_reason = text_of(message, "stop_reason").unwrap_or("end_turn");
        self.end_answer(emitter, Some(stop_reason));
    }

    /// A request: of its messages those that are new.
    fn request(&mut self, emitter: &mut Emitter, request: &Value) {
        self.leave(emitter);
        let mut rest = Map::new();
        if let Some(system) = request.get("system") {
            let text = words_of(system);
            if !text.is_empty() {
                rest.insert("instructions".to_owned(), Value::from(text));
            }
        }
        self.about(emitter, text_of(request, "model"), rest);
        let names = list_of(request, "tools").iter();
        let names: Vec<&str> = names.filter_map(|tool| text_of(tool, "name")).collect();
        if !names.is_empty() {
            let facts = SessionStart {
                tools: Some(Json::from(json!(names))),
                ..SessionStart::default()
            };
            self.session.facts.say(emitter, facts, Map::new());
        }
        let messages = list_of(request, "messages");
        let prints: Vec<u64> = messages.iter().map(fingerprint).collect();
        let n_said = self.history.request(&prints, 0);
        self.is_asked(n_said, messages.get(n_said..).unwrap_or_default());
        if !self.aside {
            let why = self.tries.begin(&prints, "");
            if why.is_some() {
                emitter.retrying(&self.session.place(None, None), why);
            }
            self.end_failed(emitter);
        }
        for (at, (message, print)) in messages.iter().zip(prints).enumerate() {
            if self.history.was_said(print) {
                emitter.pass_over("a message that was said before");
            } else {
                self.said(emitter, message, &format!("m{at}"));
            }
        }
    }

    /// Whether a request that says `news` behind what was said is an aside: while a call runs a program may ask for a
    /// title, or let a sub-agent work. Who is asked something a second time there is none, and the call will get no result.
    fn is_asked(&mut self, n_said: usize, news: &[Value]) {
        let root = self.history.root();
        let is_prompt = |message: &Value| {
            let mut blocks = list_of(message, "content").iter();
            let answers = blocks.any(|block| text_of(block, "tool_use_id").is_some());
            str_of(message, "role") == Some("user") && !answers
        };
        let goes_on = n_said > 0 && news.iter().any(is_prompt);
        let calls = &self.session.calls;
        while self
            .asked
            .pop_front_if(|call| !calls.contains_key(call.as_str()))
            .is_some()
        {}
        let waits = !self.asked.is_empty() && self.session.in_turn();
        self.aside = root != self.main && !goes_on && waits;
        if !self.aside {
            self.main = root;
        }
    }

    /// Calls for the client that were made last.
    fn note_asked(&mut self, asked: Vec<String>) {
        if self.aside {
            self.asked.extend(asked);
        } else {
            self.asked = asked.into();
        }
    }

    /// A message that stands by itself.
    fn message(&mut self, emitter: &mut Emitter, message: &Value) {
        self.aside = false;
        self.end_failed(emitter);
        let stem = format!("m{}", self.history.len());
        self.history.say(fingerprint(message));
        self.said(emitter, message, &stem);
    }

    fn said(&mut self, emitter: &mut Emitter, message: &Value, stem: &str) {
        let content = message.get("content").unwrap_or(&Value::Null);
        match str_of(message, "role").unwrap_or("") {
            "assistant" => {
                self.over = false;
                self.need_turn(emitter, stem);
                for block in list_of(message, "content") {
                    self.is_late(block);
                }
                emitter.begin_line(Some(stem));
                let place = self.session.place(None, None);
                self.session
                    .assistant_blocks(emitter, &place, &put_together(message));
                let calls = list_of(message, "content").iter();
                let calls = calls.filter(|block| str_of(block, "type") == Some("tool_use"));
                let asked: Vec<String> = calls
                    .filter_map(|call| text_of(call, "id").map(str::to_owned))
                    .collect();
                // The next message may belong to the same turn.
                self.over = asked.is_empty() && !self.aside;
                self.note_asked(asked);
            }
            "user" => self.user(emitter, content, stem),
            "system" => {
                let place = self.session.place(None, None);
                emitter.notice("info", &place, "system", words_of(content));
            }
            role => {
                let place = self.session.place(None, None);
                emitter.raw(&place, FORMAT, &format!("message of {role}"), message);
            }
        }
    }

    /// What the client says: results of tools, and what the user wrote.
    fn user(&mut self, emitter: &mut Emitter, content: &Value, stem: &str) {
        let mut answers = false;
        emitter.begin_line(Some(stem));
        for block in content.as_array().into_iter().flatten() {
            let place = self.session.place(None, None);
            match str_of(block, "type").unwrap_or("") {
                kind if kind.ends_with("tool_result") => {
                    answers = true;
                    if self.is_late(block) {
                        emitter.raw(&place, FORMAT, "result of no open call", block);
                        continue;
                    }
                    self.session.tool_result(emitter, &place, block, None, None);
                }
                "text" | "image" | "document" => {}
                kind => emitter.raw(&place, FORMAT, &format!("block {kind}"), block),
            }
        }
        let text = words_of(content);
        let attached = content.as_array().and_then(|blocks| attachments(blocks));
        if answers && text.is_empty() && attached.is_none() {
            return;
        }
        if (!answers && !self.aside) || !self.session.in_turn() {
            let outcome = if self.over {
                "completed"
            } else {
                "interrupted"
            };
            self.end_turn(emitter, outcome);
            self.open_turn(emitter, stem);
        }
        self.prompt = None;
        self.say_user(emitter, &text, attached);
    }

    fn error(&mut self, emitter: &mut Emitter, error: &Value) {
        self.about(emitter, None, Map::new());
        let line_id = emitter.line_id().to_owned();
        self.leave(emitter);
        self.need_turn(emitter, &line_id);
        emitter.begin_line(Some(&line_id));
        let code = str_of(error, "type").unwrap_or("error");
        let message = error.as_str().or_else(|| str_of(error, "message"));
        let message = message.unwrap_or("");
        let place = self.session.place(None, None);
        if self.aside {
            emitter.notice("warning", &place, FORMAT, format!("{code}: {message}"));
            return;
        }
        let payload = ErrorEvent {
            code: code.to_owned(),
            message: message.to_owned(),
            extra: Extra::default(),
        };
        emitter.add("error", &place, payload);
        for call in std::mem::take(&mut self.asked) {
            self.session.close_call(emitter, &call);
        }
        self.tries.fail(emitter, code, message);
    }
}

impl Normalizer for AnthropicMessages {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        let kind = str_of(value, "type").unwrap_or("");
        match kind {
            "error" => self.error(emitter, value.get("error").unwrap_or(value)),
            "message" => self.whole(emitter, value),
            "" if value.get("messages").is_some_and(Value::is_array) => {
                self.request(emitter, value)
            }
            "" if text_of(value, "role").is_some() => {
                self.leave(emitter);
                self.about(emitter, None, Map::new());
                self.message(emitter, value);
            }
            _ => self.event(emitter, kind, value),
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        if self.tries.failed() {
            emitter.quiet();
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        let line_id = emitter.line_id().to_owned();
        self.leave(emitter);
        self.end_failed(emitter);
        if self.over {
            self.end_turn(emitter, "completed");
        }
        emitter.begin_line(Some(&line_id));
        self.session.close_all(emitter, |_| "interrupted");
    }
}

/// The texts of a content, joined by newlines.
fn words_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks
                .iter()
                .filter(|block| str_of(block, "type") == Some("text"));
            let texts: Vec<&str> = texts.filter_map(|block| str_of(block, "text")).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// What tells a message from others, however it is written.
fn fingerprint(message: &Value) -> u64 {
    let content = message.get("content").unwrap_or(&Value::Null);
    let ids = content
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|block| text_of(block, "tool_use_id").or_else(|| text_of(block, "id")));
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    let text = match content {
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| str_of(block, "text"))
            .collect(),
        _ => words_of(content),
    };
    fingerprint_of(str_of(message, "role").unwrap_or(""), &text, &ids)
}

/// Clients trim answers, and join their texts by lines: white space does not tell those apart.
fn fingerprint_of(role: &str, text: &str, ids: &[String]) -> u64 {
    let text: Cow<'_, str> = match role {
        "assistant" => text.split_whitespace().collect(),
        _ => text.into(),
    };
    hash(format!("{role}\n{}\n{text}", ids.join(" ")).as_bytes())
}
