//! Which value is what, the turns they make, and whole answers; what requests say stands in `requests`.
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

use std::collections::{HashMap, HashSet, VecDeque};

use chat_event::payload::{ErrorEvent, SessionStart, TurnEnd, UserMessage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::requests::{fingerprint, fingerprint_of};
use super::stream::{Writing, put_together};
use crate::claude::{Session, usage_of};
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
    pub(super) history: History,
    pub(super) tries: Tries,
    /// What tells the conversation that the turn is of from others.
    pub(super) main: u64,
    /// What is said now is of another conversation, while a call of the main one runs.
    pub(super) aside: bool,
    pub(super) prompt: Option<String>,
    /// An answer ended its turn, which ends with what comes next.
    pub(super) over: bool,
    /// Calls for the client that the newest answer made.
    pub(super) asked: VecDeque<String>,
    /// How many answers bore an id, by its hash: some servers give all the same.
    known: HashMap<u64, u32>,
    /// What the answers behind the newest request say, by the hash of their id.
    pub(super) newest: HashMap<u64, u64>,
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
            known: HashMap::new(),
            newest: HashMap::new(),
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

    pub(super) fn open_turn(&mut self, emitter: &mut Emitter, stem: &str) {
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

    pub(super) fn end_turn(&mut self, emitter: &mut Emitter, outcome: &str) {
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
    pub(super) fn end_failed(&mut self, emitter: &mut Emitter) {
        if self.tries.failed() {
            self.end_turn(emitter, "failed");
        }
    }

    pub(super) fn need_turn(&mut self, emitter: &mut Emitter, stem: &str) {
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

    pub(super) fn say_user(
        &mut self,
        emitter: &mut Emitter,
        text: &str,
        attachments: Option<Json>,
    ) {
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
        let n = self.known.entry(hash(id.as_bytes())).or_default();
        *n += 1;
        let response_id = match *n {
            1 => id.to_owned(),
            n => format!("{id}~{n}"),
        };
        self.writing = Some(Writing::new(id, &response_id, message));
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
        let half_calls: Vec<String> = writing.half_calls().collect();
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
        let print = fingerprint_of("assistant", &writing.text, &writing.calls);
        self.history.answer(print);
        self.newest
            .insert(hash(writing.native_id.as_bytes()), print);
        let why = stop_reason
            .or(writing.stop_reason.as_deref())
            .map(str::to_owned);
        let mut asked = writing.asked;
        if why.is_some() {
            asked.extend(half_calls);
        } else {
            // The answer broke off: what it did not say whole no client runs.
            for call in half_calls {
                self.session.close_call(emitter, &call);
            }
        }
        let asks = !asked.is_empty();
        self.note_asked(asked);
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
        let is_written = self.writing.as_ref().is_some_and(|it| it.native_id == id);
        let before = self.newest.get(&hash(id.as_bytes()));
        if is_written || before == Some(&fingerprint(message)) {
            return emitter.pass_over("an answer that was said before");
        }
        self.begin(emitter, &id, message);
        let mut response_id = id;
        if let Some(writing) = &mut self.writing {
            response_id.clone_from(&writing.id);
            for block in list_of(message, "content") {
                writing.note(block);
            }
        }
        for block in list_of(message, "content") {
            self.is_late(block);
        }
        emitter.begin_line(Some(&response_id));
        let place = self.session.place(None, None);
        let mut whole = put_together(message);
        whole["id"] = Value::from(response_id);
        self.session.assistant_blocks(emitter, &place, &whole);
        let stop_reason = text_of(message, "stop_reason").unwrap_or("end_turn");
        self.end_answer(emitter, Some(stop_reason));
    }

    /// Calls for the client that were made last.
    pub(super) fn note_asked(&mut self, asked: Vec<String>) {
        if self.aside {
            self.asked.extend(asked);
        } else {
            self.asked = asked.into();
        }
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
