//! Where turns and responses of a task begin and end, and what they cost.

use chat_event::Extra;
use chat_event::payload::{ErrorEvent, Interrupt, SessionStart, Usage};
use serde_json::{Map, Value};

use super::asks::answer_question;
use super::lines::{LOADING, Message};
use super::requests::folder;
use super::said::by_person;
use super::task::ClineTask;
use crate::emit::Emitter;
use crate::track::ended;
use crate::value::{amount_of, count_of, text_of};

impl ClineTask {
    /// Work: it stands in the response that is open.
    pub(super) fn response(&mut self, emitter: &mut Emitter) -> String {
        self.run.response(emitter, self.response.as_deref())
    }

    /// A person asks, or says something to the agent at work.
    pub(super) fn person_speaks(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        self.speech.end(emitter);
        let said = by_person(message);
        if let Some(question) = self.question.take() {
            answer_question(emitter, question, message.text);
            if said.attachments.is_empty() {
                return;
            }
        }
        let is_at_work = self.run.track.turn_id().is_some() && self.outcome == "interrupted";
        if said.text.is_empty() && said.attachments.is_empty() {
            return emitter.pass_over("no words of the user");
        }
        if is_at_work {
            self.calls.person_speaks();
            let id = format!("{}:user", emitter.line_id());
            return self.run.track.steer(emitter, &id, said);
        }
        self.close(emitter);
        self.run.ask(emitter, None, said);
    }

    /// The model is asked: what it was told of the calls before stands in the request, and what it cost comes into it later.
    pub(super) fn request(&mut self, emitter: &mut Emitter, message: &Message<'_>) {
        let told = message.json();
        let id = format!("r{}", message.ts);
        if self.response.as_ref() == Some(&id) {
            return self.figures(told);
        }
        self.end_response(emitter);
        let request = text_of(&told, "request");
        let request = request.map(|it| it.strip_suffix(LOADING).unwrap_or(it));
        let track = &mut self.run.track;
        self.calls.answer(emitter, track, request, false);
        self.expire(emitter);
        self.folder_of(emitter, &told);
        self.response = Some(id);
        self.request = Some(told);
        self.speech.forget();
        // Whatever went wrong before: work goes on.
        self.outcome = "interrupted";
        self.response(emitter);
    }

    /// Takes the folder that a request tells.
    pub(super) fn folder_of(&mut self, emitter: &mut Emitter, told: &Value) {
        if let Some(cwd) = text_of(told, "request").and_then(folder) {
            let facts = SessionStart {
                cwd: Some(cwd.to_owned()),
                ..SessionStart::default()
            };
            self.run.facts(emitter, facts, Map::new());
        }
    }

    /// What is known of the request by now.
    pub(super) fn figures(&mut self, told: Value) {
        let (Some(Value::Object(known)), Value::Object(told)) = (&mut self.request, told) else {
            return;
        };
        known.extend(told.into_iter().filter(|(name, _)| name != "request"));
    }

    /// The response is over: what it used, and how it broke off.
    fn end_response(&mut self, emitter: &mut Emitter) {
        self.speech.end(emitter);
        let (Some(id), Some(told)) = (self.response.take(), self.request.take()) else {
            return;
        };
        let place = self.run.track.place().in_response(&id);
        match usage_of(&told) {
            Some(usage) => {
                emitter.add_as(&format!("{id}:usage"), &place, usage);
            }
            None => self.sight.is_unpriced(id.clone(), place.clone()),
        }
        match text_of(&told, "cancelReason") {
            Some("user_cancelled") => {
                let interrupt = Interrupt {
                    reason: "cancelled by the user".to_owned(),
                    ..Interrupt::default()
                };
                emitter.add_as(&format!("{id}:interrupt"), &place, interrupt);
            }
            Some(reason) => {
                let message = match text_of(&told, "streamingFailedMessage") {
                    Some(message) => message.to_owned(),
                    None => reason.replace('_', " "),
                };
                let error = ErrorEvent {
                    code: reason.to_owned(),
                    message,
                    extra: Extra::default(),
                };
                emitter.add_as(&format!("{id}:error"), &place, error);
                self.outcome = "failed";
            }
            None => {}
        }
    }

    /// What was spent beside the responses.
    pub(super) fn spend(&mut self, emitter: &mut Emitter, tag: &str, cost: Option<f64>) {
        if let Some(cost) = cost.filter(|cost| *cost > 0.0) {
            let usage = Usage {
                scope: "response".to_owned(),
                cost_usd: Some(cost),
                ..Usage::default()
            };
            emitter.add(&format!("{tag}:usage"), &self.run.track.place(), usage);
        }
    }

    /// A question waits no more.
    pub(super) fn expire(&mut self, emitter: &mut Emitter) {
        if let Some(question) = self.question.take() {
            question.expire(emitter);
        }
    }

    /// The turn is over, since the last message: the next may come days later.
    pub(super) fn close(&mut self, emitter: &mut Emitter) {
        let now_ms = emitter.time_ms;
        emitter.time_ms = self.worked_ms.unwrap_or(now_ms);
        self.end_response(emitter);
        let stopped = self.outcome != "completed";
        let track = &mut self.run.track;
        self.calls.answer(emitter, track, None, stopped);
        self.expire(emitter);
        self.run.close(emitter, ended(self.outcome));
        self.outcome = "interrupted";
        self.speech.forget();
        emitter.time_ms = now_ms;
    }
}

/// What a request used, as far as it says it.
pub(super) fn usage_of(told: &Value) -> Option<Usage> {
    let count = |key: &str| count_of(told, key);
    let (read, written) = (count("cacheReads"), count("cacheWrites"));
    let input = count("tokensIn").unwrap_or(0);
    // Roo Code counts what came from the cache and went into it, too.
    let in_cache = match told.get("apiProtocol") {
        Some(_) => read.unwrap_or(0).saturating_add(written.unwrap_or(0)),
        None => 0,
    };
    let usage = Usage {
        scope: "response".to_owned(),
        input_tokens: input.saturating_sub(in_cache),
        output_tokens: count("tokensOut").unwrap_or(0),
        cache_read_tokens: read,
        cache_write_tokens: written,
        cost_usd: amount_of(told, "cost"),
        ..Usage::default()
    };
    (input > 0 || usage.output_tokens > 0).then_some(usage)
}
