//! Permissions and questions: asked, answered, and taken back where nobody answered.
//!
//! On the bus they have events of their own; elsewhere a question is the call of the question tool and what becomes of it.

use std::collections::BTreeMap;

use chat_event::payload::{
    PermissionOption, PermissionRequest, PermissionResolved, Question, QuestionRequest,
    QuestionResolved,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::calls::ABORTED;
use super::session::Session;
use crate::ask::option_of;
use crate::emit::{Emitter, Place};
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::one_line;

/// What was asked and not answered yet, by the id of the request.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    open: BTreeMap<String, Ask>,
}

#[derive(Debug)]
struct Ask {
    call_id: Option<String>,
    place: Place,
    question: bool,
}

impl Session {
    /// The call a request is about, and the request's place.
    fn asked_about(&mut self, native_id: &str, properties: &Value) -> (Option<String>, Place) {
        let tool = properties.get("tool").unwrap_or(properties);
        let (message_id, call_id) = (text_of(tool, "messageID"), text_of(tool, "callID"));
        let part_id = message_id.zip(call_id).and_then(|(message_id, call_id)| {
            self.call_parts
                .get(&(message_id.to_owned(), call_id.to_owned()))
        });
        match part_id.and_then(|part_id| self.calls.get(part_id)) {
            Some(call) => (Some(call.id.clone()), call.place.clone()),
            None => (call_id.map(str::to_owned), self.place(native_id)),
        }
    }

    /// `permission.asked`, and `permission.updated` before 1.18.
    pub(crate) fn permission_asked(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        properties: &Value,
    ) {
        let request_id =
            text_of(properties, "id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        if self.asks.open.contains_key(&request_id) {
            return emitter.pass_over("a permission asked for again");
        }
        let (call_id, place) = self.asked_about(native_id, properties);
        let metadata = properties.get("metadata").unwrap_or(&Value::Null);
        let patterns: Vec<&str> = list_of(properties, "patterns")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let title = text_of(properties, "title")
            .or_else(|| text_of(metadata, "command"))
            .or_else(|| text_of(metadata, "filepath"))
            .map(one_line)
            .or_else(|| Some(patterns.join(", ")).filter(|text| !text.is_empty()));
        let tool_name = text_of(properties, "permission")
            .or_else(|| text_of(properties, "type"))
            .unwrap_or("");
        let payload = PermissionRequest {
            answerable: None,
            request_id: request_id.clone(),
            tool_call_id: call_id.clone(),
            tool_name: tool_name.to_owned(),
            kind: None,
            title,
            args: (!metadata.is_null()).then(|| Json::from(metadata)),
            options: vec![
                PermissionOption::new("once", "Allow once", "allow_once"),
                PermissionOption::new("always", "Always allow", "allow_always"),
                PermissionOption::new("reject", "Reject", "reject_once"),
            ],
            reason: None,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:ask"), &place, payload);
        let ask = Ask {
            call_id,
            place,
            question: false,
        };
        self.asks.open.insert(request_id, ask);
    }

    /// `permission.replied`.
    pub(crate) fn permission_replied(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        properties: &Value,
    ) {
        let request_id = text_of(properties, "requestID")
            .or_else(|| text_of(properties, "permissionID"))
            .unwrap_or("");
        let reply = str_of(properties, "reply").or_else(|| str_of(properties, "response"));
        let place = match self.asks.open.remove(request_id) {
            Some(ask) => ask.place,
            None => self.place(native_id),
        };
        let (decision, scope) = match reply {
            Some("once") => ("allow", Some("once")),
            Some("always") => ("allow", Some("always")),
            Some("reject") => ("deny", None),
            Some(_) | None => {
                return emitter.raw(&place, self.format, "permission.replied", properties);
            }
        };
        let payload = PermissionResolved {
            request_id: request_id.to_owned(),
            decision: decision.to_owned(),
            scope: scope.map(str::to_owned),
            by: Some("user".to_owned()),
            message: text_of(properties, "message").map(str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:answer"), &place, payload);
    }

    /// `question.asked`.
    pub(crate) fn question_asked(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        properties: &Value,
    ) {
        let request_id =
            text_of(properties, "id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        if self.asks.open.contains_key(&request_id) {
            return emitter.pass_over("a question asked again");
        }
        let (call_id, place) = self.asked_about(native_id, properties);
        let ask = Ask {
            call_id,
            place,
            question: true,
        };
        self.asks.ask(emitter, request_id, ask, properties);
    }

    /// A call of the question tool, which asks by that where nothing else does.
    pub(crate) fn asked_by_call(
        &mut self,
        emitter: &mut Emitter,
        call_id: &str,
        place: &Place,
        input: &Value,
    ) {
        if list_of(input, "questions").is_empty() {
            return;
        }
        let ask = Ask {
            call_id: Some(call_id.to_owned()),
            place: place.clone(),
            question: true,
        };
        self.asks.ask(emitter, call_id.to_owned(), ask, input);
    }

    /// `question.replied` and `question.rejected`.
    pub(crate) fn question_resolved(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        properties: &Value,
        outcome: &str,
    ) {
        let request_id = text_of(properties, "requestID").unwrap_or("");
        let place = match self.asks.open.remove(request_id) {
            Some(ask) => ask.place,
            None => self.place(native_id),
        };
        let payload = QuestionResolved {
            request_id: request_id.to_owned(),
            answers: properties.get("answers").map(Json::from),
            outcome: outcome.to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:answer"), &place, payload);
    }
}

impl Asks {
    fn ask(&mut self, emitter: &mut Emitter, request_id: String, ask: Ask, asked: &Value) {
        let questions = list_of(asked, "questions")
            .iter()
            .enumerate()
            .map(|(at, value)| question(at, value))
            .collect();
        let payload = QuestionRequest {
            answerable: None,
            request_id: request_id.clone(),
            tool_call_id: ask.call_id.clone(),
            questions,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:ask"), &ask.place, payload);
        self.open.insert(request_id, ask);
    }

    /// The call that asked is over: its state has the answers, or says that the person wants to give none.
    pub(crate) fn answered_by_call(&mut self, emitter: &mut Emitter, call_id: &str, state: &Value) {
        let failed = str_of(state, "status") == Some("error");
        // Who stops the call says nothing of what it asks.
        if failed && str_of(state, "error") == Some(ABORTED) {
            return;
        }
        let Some(ask) = self.open.remove(call_id) else {
            return;
        };
        let metadata = state.get("metadata").unwrap_or(&Value::Null);
        let payload = QuestionResolved {
            request_id: call_id.to_owned(),
            answers: metadata.get("answers").map(Json::from),
            outcome: if failed { "rejected" } else { "answered" }.to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{call_id}:answer"), &ask.place, payload);
    }

    /// The call is over: what was asked about it needs no answer any more.
    pub(crate) fn expire(&mut self, emitter: &mut Emitter, call_id: &str) {
        self.expire_those(emitter, &|ask| ask.call_id.as_deref() == Some(call_id));
    }

    /// The turn is over, and with it all that was asked in it.
    pub(crate) fn expire_turn(&mut self, emitter: &mut Emitter, turn_id: &String) {
        self.expire_those(emitter, &|ask| ask.place.turn_id.as_ref() == Some(turn_id));
    }

    fn expire_those(&mut self, emitter: &mut Emitter, wanted: &dyn Fn(&Ask) -> bool) {
        let over: Vec<String> = self
            .open
            .iter()
            .filter(|(_, ask)| wanted(ask))
            .map(|(request_id, _)| request_id.clone())
            .collect();
        for request_id in over {
            let Some(ask) = self.open.remove(&request_id) else {
                continue;
            };
            let id = format!("{request_id}:expired");
            if ask.question {
                let payload = QuestionResolved {
                    request_id,
                    outcome: "expired".to_owned(),
                    ..QuestionResolved::default()
                };
                emitter.add_as(&id, &ask.place, payload);
            } else {
                let payload = PermissionResolved {
                    request_id,
                    decision: "cancel".to_owned(),
                    ..PermissionResolved::default()
                };
                emitter.add_as(&id, &ask.place, payload);
            }
        }
    }
}

fn question(at: usize, value: &Value) -> Question {
    let options = list_of(value, "options").iter().map(option_of);
    Question {
        id: at.to_string(),
        header: text_of(value, "header").map(str::to_owned),
        text: str_of(value, "question").unwrap_or("").to_owned(),
        options: options.collect(),
        multi: is_true(value, "multiple").then_some(true),
        secret: None,
        extra: Extra::default(),
    }
}
