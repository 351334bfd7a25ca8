//! Chat Completions: answers in chunks or whole, and the requests between them.
//!
//! A choice is a response. Its text, its refusal and its reasoning (`reasoning_content` or `reasoning` of compatible
//! servers) are texts of it; its calls are told apart by their `index`. `finish_reason` ends it. The tokens come with
//! that, or behind it in a chunk without choices: such a one is announced by `"usage": null` in all others.

use std::collections::{BTreeMap, BTreeSet};

use chat_event::payload::{AudioChunk, Usage};
use chat_event::{Extra, Json};
use serde_json::{Map, Value};

use super::chat_messages::{self, fingerprint_of_answer};
use super::session::{Key, Session};
use super::tokens::usage_of;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, list_of, str_of, text_of};

pub(super) const FORMAT: &str = "openai-chat";

/// Answers that are written at the same time, at most: where there are more, the older ones were left.
const MAX_STREAMS: usize = 64;

/// Members of a delta that have a rule, or say nothing of the answer.
const KNOWN_OF_DELTA: [&str; 11] = [
    "role",
    "content",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "tool_calls",
    "function_call",
    "audio",
    "annotations",
    "name",
];

/// Reads the values of Chat Completions.
#[derive(Debug)]
pub(crate) struct OpenAiChat {
    pub(super) session: Session,
    /// Answers in chunks of which more may come.
    streams: BTreeMap<String, Stream>,
    newest: Option<String>,
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
}

impl OpenAiChat {
    /// `prompt` is what the user asked, which a stream alone does not say.
    pub(crate) fn new(prompt: Option<String>) -> Self {
        OpenAiChat {
            session: Session::new(FORMAT, prompt),
            streams: BTreeMap::new(),
            newest: None,
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
        if !self.streams.contains_key(&id) {
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
        let index = count_of(choice, "index").unwrap_or(0);
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
            let fingerprint = self.fingerprint(&native_id);
            self.session.history.answer(fingerprint);
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
        if stream.open.is_empty() && !stream.asks && self.session.turn.is_some() {
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

    fn fingerprint(&self, native_id: &str) -> u64 {
        let built = |name: &str| self.session.built(native_id, &Key::text(name));
        let text = format!(
            "{}{}{}",
            built("content"),
            built("refusal"),
            built("transcript")
        );
        let calls = self.session.answers.get(native_id);
        let calls = calls.into_iter().flat_map(|answer| &answer.calls.ids);
        fingerprint_of_answer(&text, calls.map(String::as_str))
    }

    fn delta(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        native_id: &str,
        delta: &Value,
        chunk: &Value,
    ) {
        let session = &mut self.session;
        let thought = chat_messages::reasoning_of(delta);
        if !thought.is_empty() {
            let key = session.thought_key(native_id, "reasoning");
            session.chunk(emitter, native_id, key, &thought);
        }
        let text = match delta.get("content") {
            Some(Value::Array(parts)) => {
                let thought: String = parts.iter().map(chat_messages::thinking_of_part).collect();
                let key = session.thought_key(native_id, "reasoning");
                session.chunk(emitter, native_id, key, &thought);
                super::content::texts_of(&Value::Array(parts.clone())).concat()
            }
            Some(Value::String(text)) => text.clone(),
            Some(_) | None => String::new(),
        };
        let refusal = str_of(delta, "refusal").unwrap_or("");
        let calls = list_of(delta, "tool_calls");
        if !text.is_empty() || !refusal.is_empty() || !calls.is_empty() {
            session.close_texts(emitter, native_id, true);
        }
        session.chunk(emitter, native_id, Key::text("content"), &text);
        session.chunk(emitter, native_id, Key::text("refusal"), refusal);
        if let Some(audio) = delta.get("audio").filter(|audio| audio.is_object()) {
            self.audio(emitter, id, native_id, audio);
        }
        for piece in calls {
            self.call_piece(emitter, native_id, piece);
        }
        if let Some(call) = delta.get("function_call").filter(|call| call.is_object()) {
            let piece = serde_json::json!({"index": 0, "function": call});
            self.call_piece(emitter, native_id, &piece);
        }
        let unknown = delta
            .as_object()
            .into_iter()
            .flatten()
            .find(|(name, value)| {
                !KNOWN_OF_DELTA.contains(&name.as_str())
                    && !value.is_null()
                    && value.as_str() != Some("")
                    && value.as_array().is_none_or(|items| !items.is_empty())
            });
        if let Some((name, _)) = unknown {
            emitter.raw(
                &self.session.place(),
                FORMAT,
                &format!("delta {name}"),
                chunk,
            );
        }
    }

    fn audio(&mut self, emitter: &mut Emitter, id: &str, native_id: &str, audio: &Value) {
        let transcript = str_of(audio, "transcript").unwrap_or("");
        let session = &mut self.session;
        session.chunk(emitter, native_id, Key::text("transcript"), transcript);
        let place = session.answer(emitter, native_id).place.clone();
        if let Some(data) = text_of(audio, "data")
            && let Some(stream) = self.streams.get_mut(id)
        {
            let seq = stream.n_sounds;
            stream.n_sounds += 1;
            let sound = AudioChunk {
                data: Some(data.to_owned()),
                audio_ref: None,
                seq,
                extra: Extra::default(),
            };
            emitter.add_as(&format!("{native_id}:audio.{seq}"), &place, sound);
        }
    }

    /// A piece of a call: `id` and `name` come with the first, for some servers with all, for some never.
    fn call_piece(&mut self, emitter: &mut Emitter, native_id: &str, piece: &Value) {
        let function = piece.get("function").or_else(|| piece.get("custom"));
        let function = function.unwrap_or(&Value::Null);
        let said_id = text_of(piece, "id");
        let name = text_of(function, "name");
        let answer = self.session.answer(emitter, native_id);
        let place = answer.place.clone();
        let of_id = said_id.and_then(|id| answer.calls.index_of(id));
        let index = count_of(piece, "index").unwrap_or(match (of_id, answer.calls.last()) {
            (Some(index), _) => index,
            (None, Some(last)) if said_id.is_none() && name.is_none() => last,
            (None, _) => answer.calls.next(),
        });
        let known = answer.calls.at(index).cloned();
        let response_id = place.response_id.as_deref().unwrap_or(native_id);
        let call_id = match (&known, said_id) {
            (_, Some(id)) => id.to_owned(),
            (Some(known), None) => known.clone(),
            (None, None) => format!("{response_id}:call{index}"),
        };
        answer.asks = true;
        answer.calls.put(index, &call_id);
        let calls = &mut self.session.calls;
        if let Some(before) = known.filter(|before| *before != call_id) {
            // Another call at the same index.
            calls.announce(emitter, &before, None);
        }
        calls.open(&call_id, name.unwrap_or(""), &place);
        match function.get("arguments").or_else(|| function.get("input")) {
            Some(Value::String(text)) => calls.input(emitter, &call_id, text),
            Some(args @ Value::Object(_)) => calls.announce(emitter, &call_id, Some(args.clone())),
            Some(_) | None => {}
        }
    }

    /// A whole answer.
    fn completion(&mut self, emitter: &mut Emitter, answer: &Value) {
        let id = text_of(answer, "id")
            .unwrap_or_else(|| emitter.line_id())
            .to_owned();
        if self.session.knows_answer(&id) {
            return emitter.pass_over("an answer that was said before");
        }
        self.begin(emitter, &id, answer);
        for choice in list_of(answer, "choices") {
            let index = count_of(choice, "index").unwrap_or(0);
            let native_id = native_id(&id, index);
            let message = choice.get("message").unwrap_or(&Value::Null);
            self.session.answer(emitter, &native_id);
            if index == 0 {
                let fingerprint = chat_messages::fingerprint(message);
                self.session.history.answer(fingerprint);
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
