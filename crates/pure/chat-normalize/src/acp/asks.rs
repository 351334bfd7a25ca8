//! Permissions and questions: asked by the agent, answered by the client, closed with what they are about.
//!
//! A log of the agent's lines alone has no answers: a call that went on to succeed was allowed, of others it is not known.
//!
//! What waits for its answer is in `waiting`.

mod waiting;

use std::collections::BTreeMap;

use chat_event::payload::{PermissionOption, PermissionRequest, QuestionRequest, QuestionResolved};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::FORMAT;
use super::calls::Mention;
use super::session::Acp;
use super::updates::parent_of;
use super::wire::Asked;
use crate::emit::Emitter;
use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;
use crate::{form, tool};
pub(crate) use waiting::Asks;
use waiting::{Ask, resolved};

impl Acp {
    /// `session/request_permission`; the id of the request.
    pub(super) fn ask_permission(
        &mut self,
        emitter: &mut Emitter,
        native: &str,
        id: Option<&str>,
        params: &Value,
    ) -> String {
        let request_id = self.asks.new_id(id.unwrap_or("permission"));
        // Version 2 asks about a subject, which may be a call.
        let subject = params.get("subject").unwrap_or(&Value::Null);
        let call = ["toolCall", "toolCallUpdate"]
            .iter()
            .find_map(|key| params.get(*key).or_else(|| subject.get(*key)))
            .or(Some(subject).filter(|subject| subject.get("toolCallId").is_some()))
            .unwrap_or(&Value::Null);
        let call_id = text_of(call, "toolCallId").map(str::to_owned);
        let parent = parent_of(call).or_else(|| parent_of(params));
        let session = self.session(native);
        if call_id.is_some() {
            session.mention(emitter, call, Mention::Permission, parent.clone());
        }
        let known = call_id.as_ref().and_then(|id| session.calls.get(id));
        let about = call_id.as_ref().map(|id| session.call_id(id));
        let (place, name, kind) = match known {
            Some(call) => {
                let name = call.name();
                let kind = call.kind_of(&name);
                (call.place.clone(), name, Some(kind.to_owned()))
            }
            None => {
                let place = session.place(emitter, parent.as_deref());
                (place, text_of(call, "kind").unwrap_or("").to_owned(), None)
            }
        };
        let options: Vec<PermissionOption> = list_of(params, "options")
            .iter()
            .map(|option| {
                let text = |key| text_of(option, key).unwrap_or("");
                PermissionOption::new(text("optionId"), text("name"), text("kind"))
            })
            .collect();
        let ask = Ask {
            place: place.clone(),
            question: false,
            call: call_id.clone(),
            options: options
                .iter()
                .map(|option| (option.id.clone(), option.kind.clone()))
                .collect(),
            elicitation: None,
        };
        self.asks.note(about.clone(), &request_id);
        let args = call.get("rawInput").filter(|args| !args.is_null());
        let title = text_of(params, "title").or_else(|| text_of(call, "title"));
        let payload = PermissionRequest {
            answerable: None,
            request_id: request_id.clone(),
            tool_call_id: about,
            title: title
                .map(one_line)
                .or_else(|| tool::title(&name, args.unwrap_or(&Value::Null))),
            tool_name: name,
            kind,
            args: args.map(Json::from),
            options,
            reason: text_of(params, "description").map(str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("ask-{request_id}"), &place, payload);
        self.asks.wait(&request_id, ask);
        request_id
    }

    /// The answer to a request for permission.
    pub(super) fn permission_answered(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        asked: &Asked,
        result: &Value,
    ) {
        let request_id = self.asks.of_answer(asked, id);
        let Some(ask) = self.asks.open.remove(&request_id) else {
            // A log of the client's lines alone has the answer and not the question.
            let place = self.session(&asked.session).quiet_place();
            let (decision, scope) = decision(result, &BTreeMap::new());
            let payload = resolved(&request_id, decision, scope, Some("user"));
            emitter.add_as(&format!("answer-{request_id}"), &place, payload);
            return;
        };
        let (decision, scope) = decision(result, &ask.options);
        // Of a call that was refused some agents say nothing more.
        if let Some(call) = ask.call.filter(|_| decision == "deny") {
            let calls = &mut self.session(&asked.session).calls;
            if let Some(call) = calls.get_mut(&call) {
                call.refused = true;
            }
        }
        let payload = resolved(&request_id, decision, scope, Some("user"));
        emitter.add_as(&format!("answer-{request_id}"), &ask.place, payload);
    }

    /// `elicitation/create`; the id of the request.
    pub(super) fn ask_question(
        &mut self,
        emitter: &mut Emitter,
        native: &str,
        id: Option<&str>,
        params: &Value,
    ) -> String {
        let request_id = self.asks.new_id(id.unwrap_or("question"));
        let native_call = text_of(params, "toolCallId");
        let session = self.session(native);
        let known = native_call.and_then(|id| session.calls.get(id));
        let call = native_call.map(|id| session.call_id(id));
        let place = match known {
            Some(call) => call.place.clone(),
            None => session.place(emitter, None),
        };
        let payload = QuestionRequest {
            answerable: None,
            request_id: request_id.clone(),
            tool_call_id: call.clone(),
            questions: form::questions(
                text_of(params, "message").unwrap_or(""),
                params.get("requestedSchema"),
                text_of(params, "url"),
            ),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("ask-{request_id}"), &place, payload);
        let ask = Ask {
            place,
            question: true,
            call: None,
            options: BTreeMap::new(),
            elicitation: text_of(params, "elicitationId").map(str::to_owned),
        };
        self.asks.note(call, &request_id);
        self.asks.wait(&request_id, ask);
        request_id
    }

    /// The answer to a question.
    pub(super) fn question_answered(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        asked: &Asked,
        result: &Value,
    ) {
        let request_id = self.asks.of_answer(asked, id);
        // Older versions hold the action in an object.
        let held = result.get("action").filter(|held| held.is_object());
        let held = held.unwrap_or(result);
        let outcome = match str_of(held, "action") {
            Some("accept") => "answered",
            Some("decline") => "rejected",
            Some("cancel") => "expired",
            Some(_) | None => {
                let place = self.session(&asked.session).quiet_place();
                return emitter.raw(&place, FORMAT, "elicitation/create answered", result);
            }
        };
        let place = match self.asks.open.get(&request_id) {
            Some(ask) => ask.place.clone(),
            None => self.session(&asked.session).quiet_place(),
        };
        self.asks.open.remove(&request_id);
        let payload = QuestionResolved {
            request_id: request_id.clone(),
            answers: held.get("content").map(Json::from),
            outcome: outcome.to_owned(),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("answer-{request_id}"), &place, payload);
    }

    /// `elicitation/complete`: what was asked elsewhere was done there.
    pub(super) fn elicited(&mut self, emitter: &mut Emitter, elicitation: &str) {
        let found = self
            .asks
            .open
            .iter()
            .find(|(_, ask)| ask.elicitation.as_deref() == Some(elicitation))
            .map(|(id, _)| id.clone());
        match found.and_then(|id| self.asks.open.remove(&id).map(|ask| (id, ask))) {
            Some((request_id, ask)) => {
                let payload = QuestionResolved {
                    request_id: request_id.clone(),
                    outcome: "answered".to_owned(),
                    ..QuestionResolved::default()
                };
                emitter.add_as(&format!("answer-{request_id}"), &ask.place, payload);
            }
            None => emitter.pass_over("elicitation/complete"),
        }
    }

    /// The client answered a request with an error.
    pub(super) fn unasked(&mut self, emitter: &mut Emitter, request_id: &str) {
        match self.asks.open.remove(request_id) {
            Some(ask) => ask.close(emitter, request_id, None),
            None => emitter.pass_over("a request the client refused"),
        }
    }
}

/// What was chosen: by the option's kind, else by its id.
fn decision(
    result: &Value,
    options: &BTreeMap<String, String>,
) -> (&'static str, Option<&'static str>) {
    let outcome = result.get("outcome").unwrap_or(&Value::Null);
    if str_of(outcome, "outcome") != Some("selected") {
        return ("cancel", None);
    }
    let option = text_of(outcome, "optionId").unwrap_or("");
    let kind = options.get(option).filter(|kind| !kind.is_empty());
    let word = kind.map_or(option, String::as_str);
    let always = word.contains("always");
    let denied = ["reject", "deny", "decline", "no"]
        .iter()
        .any(|start| word.starts_with(start));
    let scope = if always { "always" } else { "once" };
    match denied {
        true => ("deny", always.then_some(scope)),
        false => ("allow", Some(scope)),
    }
}
