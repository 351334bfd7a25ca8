//! The Responses API: its streaming events, whole responses, and the requests between them.
//!
//! | event | meaning |
//! |---|---|
//! | `response.created`, `.queued`, `.in_progress` | an answer begins |
//! | `response.output_item.added` | an item begins; calls get their input from now on |
//! | `response.….delta` | a piece of a text, of a call's input, of what a tool prints |
//! | `response.….done` | a text is whole |
//! | `response.output_item.done` | an item is whole: what it says wins |
//! | `response.completed`, `.incomplete`, `.failed`, `.cancelled` | the answer is whole; items that were not said are said now |
//!
//! What an item means stands in `items`, which item an event is of in `known`. Pieces are shown in the order they came;
//! `sequence_number` is asked for where a stream begins anew, to say nothing of it twice.

mod events;
mod known;
mod pieces;
mod repeats;

use std::collections::{BTreeMap, HashSet};

use chat_event::Extra;
use chat_event::payload::Interrupt;
use serde_json::{Map, Value};

use super::session::Session;
use super::tokens::usage_of;
use crate::dialect::Normalizer;
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_time, list_of, str_of, text_of};
use known::Items;
use repeats::Repeats;

pub(super) const FORMAT: &str = "openai-responses";

/// Reads the values of the Responses API.
#[derive(Debug)]
pub(crate) struct OpenAiResponses {
    pub(super) session: Session,
    /// The answer that is being written, by its id.
    pub(super) current: Option<String>,
    /// It comes as events, and not as items that say what was said.
    pub(super) streams: bool,
    /// Its items.
    pub(super) items: Items,
    repeats: Repeats,
    /// The answer that an error ended. A stream says so once more, of the response.
    pub(super) failed: Option<String>,
    /// How the last response failed that no other came behind. A stream may say so once more, as an error.
    pub(super) failure: Option<String>,
    /// Reasoning that was said: clients send it again, or leave it out.
    pub(super) thoughts: HashSet<u64>,
    /// Approvals that were asked for, and where.
    pub(super) asked: BTreeMap<String, Place>,
    /// Searches for tools whose output did not come.
    pub(super) searches: Vec<String>,
    /// Where in the conversation reasoning without an id stood last, and how many stood there.
    pub(super) unnamed_thoughts: (usize, u32),
    n_sounds: u64,
}

impl OpenAiResponses {
    /// `prompt` is what the user asked, which a stream alone does not say.
    pub(crate) fn new(prompt: Option<String>) -> Self {
        OpenAiResponses {
            session: Session::new(FORMAT, prompt),
            current: None,
            streams: false,
            items: Items::default(),
            repeats: Repeats::default(),
            failed: None,
            failure: None,
            thoughts: HashSet::new(),
            asked: BTreeMap::new(),
            searches: Vec::new(),
            unnamed_thoughts: (usize::MAX, 0),
            n_sounds: 0,
        }
    }

    /// The id of the answer that is being written.
    pub(super) fn answer_id(&self) -> String {
        self.current.clone().unwrap_or_else(|| "answer".to_owned())
    }

    /// The place of what belongs to the answer that is being written.
    pub(super) fn place(&self) -> Place {
        let answer = self
            .current
            .as_ref()
            .and_then(|id| self.session.answers.get(id));
        answer.map_or_else(|| self.session.place(), |answer| answer.place.clone())
    }

    /// An answer begins, where it did not yet.
    fn begin(&mut self, emitter: &mut Emitter, response: &Value) {
        self.session
            .tell_time(emitter, count_of(response, "created_at"));
        self.session
            .about(emitter, text_of(response, "model"), Map::new());
        let id = match text_of(response, "id") {
            Some(id) => id.to_owned(),
            None if self.current.is_some() => return,
            None => format!("r-{}", emitter.line_id()),
        };
        if self.current.as_ref() == Some(&id) {
            return emitter.pass_over("an answer that began before");
        }
        self.leave(emitter);
        self.failed = None;
        self.failure = None;
        self.session.close_calls(emitter);
        self.session.answer(emitter, &id);
        self.repeats.begin();
        self.streams = true;
        self.current = Some(id);
    }

    /// Something comes of an answer: where none is open, one begins.
    pub(super) fn need_answer(&mut self, emitter: &mut Emitter) -> String {
        if self.current.is_none() {
            self.begin(emitter, &Value::Null);
        }
        self.answer_id()
    }

    /// An answer that was not said to be whole is left.
    pub(super) fn leave(&mut self, emitter: &mut Emitter) {
        self.items = Items::default();
        self.n_sounds = 0;
        if let Some(id) = self.current.take()
            && !self.end_answer(emitter, &id)
        {
            self.session.turn_over(emitter, "interrupted", true);
        }
    }

    /// An answer ends; whether it leaves work for the client. What the service runs itself gives nothing afterwards.
    pub(super) fn end_answer(&mut self, emitter: &mut Emitter, id: &str) -> bool {
        let calls: Vec<String> = match self.session.answers.get(id) {
            Some(answer) => answer.calls.ids.clone(),
            None => Vec::new(),
        };
        let mut asks = self.session.end_answer(emitter, id);
        for call in calls {
            match self.session.calls.get(&call).map(|call| call.hosted) {
                Some(true) => self.session.calls.close_one(emitter, &call),
                Some(false) => asks = true,
                None => {}
            }
        }
        self.searches.clear();
        asks
    }

    /// Whether an answer is being written whose events come, and did not come to their end.
    pub(super) fn is_broken_off(&self) -> bool {
        self.streams && self.current.is_some()
    }

    /// Whether all of this response was said, and it did not begin anew: a client may log the last word twice. Some
    /// servers give all responses the same id.
    fn is_over(&self, response: &Value) -> bool {
        let id = text_of(response, "id").filter(|id| self.current.as_deref() != Some(*id));
        id.is_some_and(|id| self.repeats.say(id, list_of(response, "output")))
    }

    /// Whether an error said before that this response failed: then only what it used is news.
    fn has_failed(&self, response: &Value, status: &str) -> bool {
        let id = text_of(response, "id");
        id.is_some()
            && id == self.failed.as_deref()
            && matches!(status, "failed" | "incomplete" | "cancelled")
    }

    /// What a response used that an error ended.
    fn end_failed(&mut self, emitter: &mut Emitter, response: &Value) {
        let Some(id) = self.failed.take() else {
            return;
        };
        self.repeats.end(&id, &Items::default());
        match usage_of(response) {
            Some(usage) => self.session.usage(emitter, &id, usage),
            None => emitter.pass_over("an answer that an error ended"),
        }
    }

    /// The answer is whole, or failed.
    fn end(&mut self, emitter: &mut Emitter, response: &Value, status: &str) {
        let id = self.answer_id();
        for (at, item) in list_of(response, "output").iter().enumerate() {
            self.item_whole(emitter, item, Some(at as u64), true);
        }
        if let Some(completed_at) = count_of(response, "completed_at") {
            let ms = i64::try_from(completed_at).ok();
            let ms = ms.map(|seconds| seconds.saturating_mul(1000));
            if let Some(ms) = ms.filter(|ms| is_time(*ms)) {
                emitter.time_ms = emitter.time_ms.max(ms);
            }
        }
        if let Some(usage) = usage_of(response) {
            self.session.usage(emitter, &id, usage);
        }
        if status == "incomplete" {
            let details = response.get("incomplete_details").unwrap_or(&Value::Null);
            let why = text_of(details, "reason")
                .unwrap_or("incomplete")
                .to_owned();
            self.session.cut_short(emitter, &id, &why);
        }
        let asks = self.end_answer(emitter, &id);
        self.repeats.end(&id, &std::mem::take(&mut self.items));
        self.current = None;
        self.n_sounds = 0;
        match status {
            "failed" => {
                let error = response.get("error").unwrap_or(&Value::Null);
                self.error(emitter, error);
                self.failure = str_of(error, "message").map(str::to_owned);
            }
            "cancelled" => {
                let interrupt = Interrupt {
                    reason: "user_cancel".to_owned(),
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{id}:interrupt"), &self.session.place(), interrupt);
                self.turn_over(emitter, "interrupted");
            }
            _ if asks => {}
            _ => self.turn_over(emitter, "completed"),
        }
    }

    fn turn_over(&mut self, emitter: &mut Emitter, outcome: &'static str) {
        if !self.session.is_aside() {
            self.cancel_asked(emitter);
        }
        self.session.turn_over(emitter, outcome, false);
    }

    fn error(&mut self, emitter: &mut Emitter, error: &Value) {
        let failure = self.failure.take();
        if failure.is_some() && failure.as_deref() == str_of(error, "message") {
            return emitter.pass_over("an error that was said before");
        }
        if !self.session.is_aside() {
            self.cancel_asked(emitter);
        }
        self.items = Items::default();
        self.searches.clear();
        self.failed = self.current.take();
        let code = text_of(error, "code").or_else(|| text_of(error, "type"));
        let message = error.as_str().or_else(|| str_of(error, "message"));
        self.session.error(
            emitter,
            code.unwrap_or("error"),
            message.unwrap_or("the response failed"),
        );
    }

    /// An item begins.
    fn item_began(&mut self, emitter: &mut Emitter, item: &Value, event: &Value) {
        let answer_id = self.need_answer(emitter);
        let call = self.open_call(emitter, &answer_id, item);
        // What a tool prints comes as pieces of its output, which names the call.
        let call = call.or_else(|| text_of(item, "call_id").map(str::to_owned));
        self.items
            .begin(item, count_of(event, "output_index"), call);
        emitter.pass_over("response.output_item.added");
    }

    /// An item is whole; that of an answer which was said before is not said again.
    fn item_whole(
        &mut self,
        emitter: &mut Emitter,
        item: &Value,
        output_index: Option<u64>,
        in_response: bool,
    ) {
        let answer_id = self.need_answer(emitter);
        let Some(key) = self.items.end(item, output_index, in_response) else {
            return emitter.pass_over("an item that was said before");
        };
        self.remember(item);
        self.write_item(emitter, &answer_id, item, &key);
    }

    /// A whole response.
    fn response(&mut self, emitter: &mut Emitter, response: &Value) {
        if self.is_over(response) {
            return emitter.pass_over("an answer that was said before");
        }
        let status = text_of(response, "status")
            .unwrap_or("completed")
            .to_owned();
        if self.has_failed(response, &status) {
            return self.end_failed(emitter, response);
        }
        self.begin(emitter, response);
        if !matches!(status.as_str(), "queued" | "in_progress") {
            self.end(emitter, response, &status);
        }
    }
}

impl Normalizer for OpenAiResponses {
    fn line(&mut self, emitter: &mut Emitter, value: &Value) {
        self.session.tell_time(emitter, None);
        let kind = str_of(value, "type").unwrap_or("");
        if kind == "response.create" {
            self.request(emitter, value.get("response").unwrap_or(value));
        } else if let Some(kind) = kind.strip_prefix("response.") {
            self.event(emitter, kind, value);
        } else if str_of(value, "object") == Some("response") {
            self.response(emitter, value);
        } else if value
            .get("input")
            .is_some_and(|input| input.is_array() || input.is_string())
            && kind.is_empty()
        {
            self.request(emitter, value);
        } else if kind == "error"
            || (kind.is_empty() && value.get("error").is_some_and(Value::is_object))
        {
            self.session.about(emitter, None, Map::new());
            let error = value.get("error").filter(|error| error.is_object());
            self.error(emitter, error.unwrap_or(value));
        } else if kind == "keepalive" || kind == "ping" {
            emitter.pass_over(kind);
        } else {
            self.session.about(emitter, None, Map::new());
            self.bare_item(emitter, value);
        }
    }

    fn rest(&mut self, emitter: &mut Emitter) {
        self.session.rest(emitter);
    }

    fn finish(&mut self, emitter: &mut Emitter) {
        self.session.tell_time(emitter, None);
        if let Some(id) = self.current.take() {
            self.end_answer(emitter, &id);
        }
        self.cancel_asked(emitter);
        self.session.finish(emitter);
    }
}
