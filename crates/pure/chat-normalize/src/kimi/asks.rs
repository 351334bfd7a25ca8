//! What Kimi Code asks a person: leave for a call, and questions.
//!
//! Since protocol 1.5 a request and its answer are lines of their own (`interaction.*`); before, and beside these, the log has
//! both of a leave in one (`permission.record_approval_result`).

use std::collections::{BTreeMap, BTreeSet};

use chat_event::Extra;
use chat_event::payload::{PermissionRequest, PermissionResolved, Question, QuestionRequest};
use serde_json::Value;

use super::Kimi;
use crate::ask::{Ask, option_of};
use crate::emit::{Emitter, Place};
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::one_line;

/// What waits for an answer, by its own id.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: BTreeMap<String, Ask>,
    /// Calls of this turn whose leave was asked for in a line of its own.
    of_calls: BTreeSet<String>,
}

impl Kimi {
    /// `interaction.request`.
    pub(super) fn asked(&mut self, emitter: &mut Emitter, line: &Value) {
        let native = text_of(line, "id").unwrap_or("").to_owned();
        let kind = str_of(line, "kind").unwrap_or("");
        if !matches!(kind, "approval" | "question") || self.asks.open.contains_key(&native) {
            return emitter.pass_over("interaction.request");
        }
        let request = line.get("request").unwrap_or(&Value::Null);
        let call = text_of(line, "toolCallId").or_else(|| text_of(request, "toolCallId"));
        let place = self.track.place();
        let is_question = kind == "question";
        let request_id = if is_question {
            let request_id = self.track.numbered(&native);
            let questions = list_of(request, "questions").iter().map(question);
            let asked = QuestionRequest {
                answerable: None,
                request_id: request_id.clone(),
                tool_call_id: call.map(|call| self.track.id_of_next(&self.own(call))),
                questions: questions.collect(),
                extra: Extra::default(),
            };
            emitter.add_as(&request_id, &place, asked);
            request_id
        } else {
            let call = call.unwrap_or("");
            self.asks.of_calls.insert(call.to_owned());
            self.leave(emitter, &place, call, request)
        };
        let ask = Ask {
            request_id,
            place,
            is_question,
        };
        self.asks.open.insert(native, ask);
    }

    /// `interaction.resolved`.
    pub(super) fn answered_by_user(&mut self, emitter: &mut Emitter, line: &Value) {
        let ask = self.asks.open.remove(text_of(line, "id").unwrap_or(""));
        let Some(ask) = ask else {
            return emitter.pass_over("interaction.resolved");
        };
        let response = line.get("response").filter(|response| !response.is_null());
        if ask.is_question {
            let answers = response.map(|said| said.get("answers").unwrap_or(said));
            let outcome = match answers {
                Some(_) => "answered",
                None => "rejected",
            };
            ask.close_question(emitter, answers, outcome);
        } else {
            resolve(emitter, &ask, response.unwrap_or(&Value::Null));
        }
    }

    /// What was asked and how it was answered, in one line.
    pub(super) fn approval(&mut self, emitter: &mut Emitter, line: &Value) {
        let call = text_of(line, "toolCallId").unwrap_or("");
        if self.asks.of_calls.contains(call) {
            return emitter.pass_over("leave that was asked for before");
        }
        let place = self.track.place();
        let request_id = self.leave(emitter, &place, call, line);
        let ask = Ask {
            request_id,
            place,
            is_question: false,
        };
        resolve(emitter, &ask, line.get("result").unwrap_or(&Value::Null));
    }

    /// Leave is asked for a call; the id of that.
    fn leave(
        &mut self,
        emitter: &mut Emitter,
        place: &Place,
        call: &str,
        request: &Value,
    ) -> String {
        let call_id = self.track.id_of_next(&self.own(call));
        // Leave for a call may be asked for again.
        let request_id = self.track.numbered(&format!("{call_id}:ask"));
        let asked = PermissionRequest {
            request_id: request_id.clone(),
            tool_call_id: Some(call_id),
            tool_name: str_of(request, "toolName").unwrap_or("").to_owned(),
            title: text_of(request, "action").map(one_line),
            ..PermissionRequest::default()
        };
        emitter.add_as(&request_id, place, asked);
        request_id
    }

    /// The turn is over: nothing waits in it any more.
    pub(super) fn expire(&mut self, emitter: &mut Emitter) {
        self.asks.of_calls.clear();
        for ask in std::mem::take(&mut self.asks.open).into_values() {
            ask.expire(emitter);
        }
    }
}

fn resolve(emitter: &mut Emitter, ask: &Ask, response: &Value) {
    let decision = match str_of(response, "decision") {
        Some("approved") => "allow",
        Some("cancelled") => "cancel",
        _ => "deny",
    };
    let resolved = PermissionResolved {
        request_id: ask.request_id.clone(),
        decision: decision.to_owned(),
        scope: Some(text_of(response, "scope").unwrap_or("once").to_owned()),
        by: Some("user".to_owned()),
        message: text_of(response, "feedback").map(str::to_owned),
        extra: Extra::default(),
    };
    let stem = ask.request_id.trim_end_matches(":ask");
    emitter.add_as(&format!("{stem}:answer"), &ask.place, resolved);
}

fn question(said: &Value) -> Question {
    let options = list_of(said, "options").iter().map(option_of);
    let text = str_of(said, "question").unwrap_or("");
    Question {
        id: text.to_owned(),
        header: text_of(said, "header").map(str::to_owned),
        text: match text_of(said, "body") {
            Some(body) => format!("{text}\n{body}"),
            None => text.to_owned(),
        },
        options: options.collect(),
        multi: is_true(said, "multiSelect").then_some(true),
        ..Question::default()
    }
}
