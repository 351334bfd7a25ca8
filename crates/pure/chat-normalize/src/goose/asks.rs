//! What a person is asked: leave for a call, a question. Whether a call was allowed shows in its result.

use chat_event::payload::{PermissionRequest, PermissionResolved, QuestionRequest};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::talk::Talk;
use super::tools;
use crate::ask::Ask;
use crate::emit::Emitter;
use crate::form;
use crate::value::{str_of, text_of};
use crate::words::one_line;

impl Talk {
    pub(super) fn asks_leave(&mut self, emitter: &mut Emitter, data: &Value) {
        let id = str_of(data, "id").unwrap_or("");
        let name = str_of(data, "toolName").unwrap_or("");
        let args = data.get("arguments").unwrap_or(&Value::Null);
        let call = self.run.track.waiting(id);
        if self.leaves.contains_key(id) {
            emitter.report.repeated += 1;
            return;
        }
        let leave_id = format!("{}.leave", self.run.track.id_of_next(id));
        let place = call.map_or_else(|| self.run.track.place(), |call| call.place.clone());
        let request = PermissionRequest {
            request_id: String::new(),
            tool_call_id: call.map(|call| call.id.clone()),
            tool_name: name.to_owned(),
            kind: Some(tools::kind(name, args).to_owned()),
            title: tools::title(name, args),
            args: call.is_none().then(|| Json::from(args)),
            reason: text_of(data, "prompt").map(one_line),
            ..PermissionRequest::default()
        };
        let request_id = self.run.track.numbered(&leave_id);
        let request = PermissionRequest {
            request_id: request_id.clone(),
            ..request
        };
        let ask = Ask {
            request_id,
            place,
            is_question: false,
        };
        emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
        self.n_asks += 1;
        self.leaves.insert(id.to_owned(), self.n_asks);
        self.asks.insert(self.n_asks, ask);
    }

    pub(super) fn asks_question(&mut self, emitter: &mut Emitter, data: &Value) {
        let id = str_of(data, "id").unwrap_or("");
        let words = str_of(data, "message").unwrap_or("");
        let ask = Ask {
            request_id: self.run.track.numbered(&format!("q.{id}")),
            place: self.run.track.place(),
            is_question: true,
        };
        let request = QuestionRequest {
            answerable: None,
            request_id: ask.request_id.clone(),
            tool_call_id: None,
            questions: form::questions_of(None, words, data.get("requestedSchema"), None),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
        self.n_asks += 1;
        self.questions.insert(id.to_owned(), self.n_asks);
        self.asks.insert(self.n_asks, ask);
    }

    /// The question `id` has its answer.
    pub(super) fn answer_question(&mut self, emitter: &mut Emitter, id: &str, data: &Value) {
        let at = self.questions.remove(id);
        if let Some(ask) = at.and_then(|at| self.asks.remove(&at)) {
            ask.close_question(emitter, data.get("user_data"), "answered");
        }
    }

    /// Nobody answers any more.
    pub(super) fn expire(&mut self, emitter: &mut Emitter) {
        self.leaves.clear();
        self.questions.clear();
        for ask in std::mem::take(&mut self.asks).into_values() {
            ask.expire(emitter);
        }
    }

    /// The call `id` was allowed, or not.
    pub(super) fn answer(&mut self, emitter: &mut Emitter, id: &str, decision: &str) {
        let at = self.leaves.remove(id);
        let Some(ask) = at.and_then(|at| self.asks.remove(&at)) else {
            return;
        };
        let resolved = PermissionResolved {
            request_id: ask.request_id.clone(),
            decision: decision.to_owned(),
            by: Some("user".to_owned()),
            ..PermissionResolved::default()
        };
        emitter.add_as(&ask.answer_id(), &ask.place, resolved);
    }
}
