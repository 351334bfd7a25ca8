//! Chat Completions: answers in chunks or whole, and the requests between them.
//!
//! A choice is a response. Its text, its refusal and its reasoning (`reasoning_content` or `reasoning` of compatible
//! servers) are texts of it; its calls are told apart by their `index`. `finish_reason` ends it. The tokens come with
//! that, or behind it in a chunk without choices: such a one is announced by `"usage": null` in all others.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::Json;
use chat_event::payload::Usage;
use serde_json::{Map, Value};

use super::chat_messages;
use super::chat_pieces::says;
use super::chat_prints::{Prints, Said};
use super::session::Session;
use super::tokens::usage_of;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, list_of, str_of, text_of};

pub(super) const FORMAT: &str = "openai-chat";

/// Answers that are written at the same time, at most: where there are more, the older ones were left.
const MAX_STREAMS: usize = 64;

/// Reads the values of Chat Completions.
#[derive(Debug)]
pub(crate) struct OpenAiChat {
    pub(super) session: Session,
    /// Answers in chunks of which more may come.
    streams: BTreeMap<String, Stream>,
    newest: Option<String>,
    pub(super) prints: Prints,
    /// Tokens came behind an answer before: its turn waits for them.
    tokens_follow: bool,
}

/// An answer in chunks.
#[derive(Debug, Default)]
struct Stream {
    open: BTreeSet<u64>,
    ended: BTreeSet<u64>,
    asks: bool,
    usage: Option<Usage>,
    usage_said: bool,
    n_sounds: u64,
    /// It ended, and the client went on.
    over: bool,
}

impl Stream {
    /// Whether all that began of it ended.
    fn ended(&self) -> bool {
        self.open.is_empty() && !self.ended.is_empty()
    }

    /// Whether a chunk begins another answer under the id of this one, which ended: some servers give all the same, or
    /// none. Who speaks says that only where the client went on: some servers say it again with the tokens.
    fn begins_anew(&self, choices: &[Value]) -> bool {
        let begins = |choice: &Value| {
            let delta = choice.get("delta").unwrap_or(&Value::Null);
            let says_little =
                || text_of(delta, "role").is_some() || text_of(choice, "finish_reason").is_some();
            self.ended.contains(&index_of(choice)) && (says(delta) || (self.over && says_little()))
        };
        self.ended() && choices.iter().any(begins)
    }
}

impl OpenAiChat {
    /// `prompt` is what the user asked, which a stream alone does not say.
    pub(crate) fn new(prompt: Option<String>) -> Self {
        OpenAiChat {
            session: Session::new(FORMAT, prompt),
            streams: BTreeMap::new(),
            newest: None,
            prints: Prints::default(),
            tokens_follow: false,
        }
    }

    fn chunk(&mut self, emitter: &mut Emitter, chunk: &Value) {
        let id = match text_of(chunk, "id") {
            Some(id) => id.to_owned(),
            None => match &self.newest {
                Some(id) => id.clone(),
                None => format!("r-{}", emitter.line_id()),
            },
        };
        let choices = list_of(chunk, "choices");
        if choices.is_empty() && chunk.get("usage").is_none_or(Value::is_null) {
            return emitter.pass_over("a chunk without choices");
        }
        let stream = self.streams.get(&id);
        if stream.is_none_or(|stream| stream.begins_anew(choices)) {
            if choices.is_empty() && !self.session.knows_answer(&id) {
                return emitter.raw(&self.session.place(), FORMAT, "tokens of no answer", chunk);
            }
            self.begin(emitter, &id, chunk);
        }
        self.newest = Some(id.clone());
        let announced = chunk.get("usage").is_some_and(Value::is_null);
        let waits = announced || (self.tokens_follow && usage_of(chunk).is_none());
        if let Some(usage) = usage_of(chunk)
            && let Some(stream) = self.streams.get_mut(&id)
        {
            stream.usage = Some(usage);
        }
        for choice in choices {
            self.choice(emitter, &id, choice, chunk, waits);
        }
        if choices.is_empty() {
            self.tokens_follow = true;
            self.say_usage(emitter, &id);
            self.settle(emitter, &id, false);
        }
    }

    /// The client says something: what ended before is not what answers that.
    pub(super) fn went_on(&mut self) {
        self.prints.request();
        for stream in self.streams.values_mut() {
            stream.over |= stream.ended();
        }
    }

    /// Where a request is the newest one again, the answers to it that did not end broke off.
    pub(super) fn broke_off(&mut self, emitter: &mut Emitter, prints: &[u64]) {
        let open = self.streams.iter().filter(|(_, it)| !it.open.is_empty());
        let open: Vec<String> = open.map(|(id, _)| id.clone()).collect();
        if open.is_empty() || !self.session.is_newest(prints) {
            return;
        }
        self.session.close_answers(emitter);
        let behind = self.session.whole_conversation();
        self.session.broke_off(emitter, prints, &behind);
        for id in open {
            self.say_usage(emitter, &id);
            self.streams.remove(&id);
        }
    }

    /// A new answer begins: the client went on, so what it was asked for will not be answered any more.
    fn begin(&mut self, emitter: &mut Emitter, id: &str, chunk: &Value) {
        let over: Vec<String> = self
            .streams
            .iter()
            .filter(|(_, stream)| stream.open.is_empty())
            .map(|(id, _)| id.clone())
            .collect();
        for id in over {
            self.say_usage(emitter, &id);
            self.streams.remove(&id);
        }
        if self.streams.len() >= MAX_STREAMS {
            self.session.close_answers(emitter);
            self.streams.clear();
        }
        if self.streams.is_empty() {
            self.session.close_calls(emitter);
        }
        self.session
            .about(emitter, text_of(chunk, "model"), Map::new());
        self.streams.insert(id.to_owned(), Stream::default());
    }

    fn choice(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        choice: &Value,
        chunk: &Value,
        waits: bool,
    ) {
        let index = index_of(choice);
        let native_id = native_id(id, index);
        let Some(stream) = self.streams.get_mut(id) else {
            return;
        };
        if stream.ended.contains(&index) {
            return emitter.pass_over("a piece behind the end of its answer");
        }
        stream.open.insert(index);
        self.session.answer(emitter, &native_id);
        let delta = choice.get("delta").unwrap_or(&Value::Null);
        self.delta(emitter, id, &native_id, delta, chunk);
        let Some(reason) = text_of(choice, "finish_reason") else {
            return;
        };
        if index == 0 {
            let said = Said::by_pieces(&self.session, &native_id);
            let print = self.prints.answer(id, &said);
            self.session.history.answer(print);
        }
        if matches!(reason, "length" | "content_filter") {
            self.session.cut_short(emitter, &native_id, reason);
        }
        if reason == "error" {
            let error = choice.get("error").or_else(|| chunk.get("error"));
            self.streams.remove(id);
            return self.error(emitter, error.unwrap_or(&Value::Null));
        }
        let asks = self.session.end_answer(emitter, &native_id);
        if let Some(stream) = self.streams.get_mut(id) {
            stream.open.remove(&index);
            stream.ended.insert(index);
            stream.asks |= asks;
        }
        if chunk.get("usage").is_some_and(Value::is_object) {
            self.say_usage(emitter, id);
        }
        self.settle(emitter, id, waits);
    }

    /// The turn is over where no choice is open and none asks the client for something.
    fn settle(&mut self, emitter: &mut Emitter, id: &str, waits: bool) {
        let Some(stream) = self.streams.get(id) else {
            return;
        };
        let ended = stream.open.is_empty() && !stream.over;
        if ended && !stream.asks && self.session.turn.is_some() {
            // Other choices may begin late.
            let waits = waits || stream.ended.range(1..).next().is_some() && !stream.usage_said;
            self.session.turn_over(emitter, "completed", waits);
        }
    }

    /// Says the tokens of an answer, once: some servers repeat them with every chunk.
    fn say_usage(&mut self, emitter: &mut Emitter, id: &str) {
        let Some(stream) = self.streams.get_mut(id) else {
            return;
        };
        if let Some(usage) = stream.usage.take()
            && !std::mem::replace(&mut stream.usage_said, true)
        {
            self.session.usage(emitter, id, usage);
        }
    }

    /// The number of the next sound of an answer.
    pub(super) fn next_sound(&mut self, id: &str) -> Option<u64> {
        let stream = self.streams.get_mut(id)?;
        stream.n_sounds += 1;
        Some(stream.n_sounds - 1)
    }

    /// A whole answer.
    fn completion(&mut self, emitter: &mut Emitter, answer: &Value) {
        let id = text_of(answer, "id")
            .unwrap_or_else(|| emitter.line_id())
            .to_owned();
        let choices = list_of(answer, "choices");
        let first = choices.iter().find(|choice| index_of(choice) == 0);
        let first = first.and_then(|choice| choice.get("message"));
        let said = Said::of(first.unwrap_or(&Value::Null));
        let is_written = self.session.answers.contains_key(&id);
        if is_written || self.prints.knows(&id, &said) {
            return emitter.pass_over("an answer that was said before");
        }
        self.begin(emitter, &id, answer);
        for choice in choices {
            let index = index_of(choice);
            let native_id = native_id(&id, index);
            let message = choice.get("message").unwrap_or(&Value::Null);
            self.session.answer(emitter, &native_id);
            if index == 0 {
                let print = self.prints.answer(&id, &said);
                self.session.history.answer(print);
            }
            chat_messages::answer(&mut self.session, emitter, &native_id, message);
            if let Some(reason @ ("length" | "content_filter")) = text_of(choice, "finish_reason") {
                self.session.cut_short(emitter, &native_id, reason);
            }
            let asks = self.session.end_answer(emitter, &native_id);
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.ended.insert(index);
                stream.asks |= asks;
                stream.usage = usage_of(answer);
            }
        }
        self.say_usage(emitter, &id);
        self.settle(emitter, &id, false);
        self.streams.remove(&id);
    }

    fn error(&mut self, emitter: &mut Emitter, error: &Value) {
        let message = error.as_str().or_else(|| str_of(error, "message"));
        let code = text_of(error, "code")
            .or_else(|| text_of(error, "type"))
            .map(str::to_owned)
            .or_else(|| count_of(error, "code").map(|code| code.to_string()));
        let code = code.unwrap_or_else(|| "error".to_owned());
        self.session.error(emitter, &code, message.unwrap_or(""));
        self.streams.clear();
    }
}

fn index_of(choice: &Value) -> u64 {
    count_of(choice, "index").unwrap_or(0)
}

fn native_id(id: &str, index: u64) -> String {
    if index == 0 {
        id.to_owned()
    } else {
        format!("{id}:c{index}")
    }
}

impl Normalizer for OpenAiChat {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        self.session.tell_time(emitter, count_of(value, "created"));
        let choices = list_of(value, "choices");
        let is_whole = choices.iter().any(|choice| choice.get("message").is_some());
        if str_of(value, "object") == Some("chat.completion") || is_whole {
            self.session
                .about(emitter, text_of(value, "model"), Map::new());
            self.completion(emitter, value);
        } else if value.get("choices").is_some_and(Value::is_array) {
            self.chunk(emitter, value);
        } else if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            self.session.about(emitter, None, Map::new());
            self.error(emitter, error);
        } else if value.get("messages").is_some_and(Value::is_array) {
            self.request(emitter, value);
        } else if text_of(value, "role").is_some() {
            self.session.about(emitter, None, Map::new());
            self.message(emitter, value);
        } else {
            self.session.about(emitter, None, Map::new());
            let kind = text_of(value, "object").or_else(|| text_of(value, "type"));
            emitter.raw(&Place::default(), FORMAT, kind.unwrap_or("value"), value);
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        self.session.rest(emitter);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        let ids: Vec<String> = self.streams.keys().cloned().collect();
        self.session.tell_time(emitter, None);
        for id in ids {
            self.say_usage(emitter, &id);
        }
        self.session.finish(emitter);
    }
}

/// A JSON `true`, for what is said of a text.
pub(super) fn yes() -> Json {
    Json::from(&Value::Bool(true))
}
