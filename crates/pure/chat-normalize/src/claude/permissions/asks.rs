//! What is asked and open, and the events that tell of it.

use std::collections::BTreeMap;

use chat_event::payload::{
    PermissionRequest, PermissionResolved, Question, QuestionRequest, QuestionResolved,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::QUESTION_TOOL;
use crate::ask::option_of;
use crate::claude::session::Call;
use crate::claude::tools;
use crate::emit::{Emitter, Place};
use crate::form;
use crate::recent::Recent;
use crate::value::{fingerprint, is_true, list_of, str_of, text_of};

/// What was asked and not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    /// By the id of the request.
    pub(super) open: BTreeMap<String, Ask>,
    /// The newest open request about a call.
    pub(super) by_call: Recent<String>,
    /// Calls whose refusal was written last.
    pub(super) denied: Recent<()>,
    /// Which calls were refused is told when their turn is over.
    pub(crate) told_at_end: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    pub(super) call_id: Option<String>,
    pub(super) place: Place,
    pub(super) question: bool,
    /// What a question asks, as a number, where the call that asks it did not come yet.
    pub(super) asked: Option<u64>,
    /// What its call failed with, where that does not say whether it was let run.
    pub(super) failed_with: Option<String>,
}

impl Asks {
    /// A call began: one of the question tool asks by that, where it was not asked before.
    pub(crate) fn begun(&mut self, emitter: &mut Emitter, call: &Call) {
        if call.name != QUESTION_TOOL || self.by_call.contains(&call.id) {
            return;
        }
        // Hooks can come in any order: the request was there before its call.
        let print = asked_print(&call.args);
        let mut early = self.open.iter_mut();
        if let Some((request_id, ask)) = early.find(|(_, ask)| ask.asked == Some(print)) {
            ask.asked = None;
            ask.call_id = Some(call.id.clone());
            self.by_call.insert(&call.id, request_id.clone());
            return;
        }
        if !list_of(&call.args, "questions").is_empty() {
            let id = Some(call.id.clone());
            self.ask_question(emitter, &call.id, id, &call.place, &call.args);
        }
    }

    /// Writes a question as an event.
    pub(crate) fn ask_question(
        &mut self,
        emitter: &mut Emitter,
        request_id: &str,
        call_id: Option<String>,
        place: &Place,
        input: &Value,
    ) {
        let questions = list_of(input, "questions").iter().map(question).collect();
        let asked = call_id.is_none().then(|| asked_print(input));
        let ask = Ask {
            call_id,
            place: place.clone(),
            question: true,
            asked,
            ..Ask::default()
        };
        self.ask(emitter, request_id, ask, questions);
    }

    /// A server of the Model Context Protocol asks.
    pub(super) fn ask_form(
        &mut self,
        emitter: &mut Emitter,
        request_id: &str,
        place: &Place,
        request: &Value,
    ) {
        let ask = Ask {
            place: place.clone(),
            question: true,
            ..Ask::default()
        };
        self.ask(emitter, request_id, ask, form_questions(request));
    }

    fn ask(&mut self, emitter: &mut Emitter, request_id: &str, ask: Ask, questions: Vec<Question>) {
        let payload = QuestionRequest {
            answerable: None,
            request_id: request_id.to_owned(),
            tool_call_id: ask.call_id.clone(),
            questions,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:ask"), &ask.place, payload);
        self.asked(request_id, ask);
    }

    /// What a server asked has its answer; `cancel` is that of who closes the form without one.
    pub(super) fn answer_form(
        &mut self,
        emitter: &mut Emitter,
        request_id: &str,
        ask: &Ask,
        action: &str,
        content: Option<&Value>,
    ) {
        if action == "cancel" {
            return self.cancel(emitter, request_id, ask);
        }
        let accepted = action == "accept";
        let content = content.filter(|_| accepted);
        self.resolve(
            emitter, request_id, ask, accepted, None, "user", None, content,
        );
    }

    /// Whether something is asked about the call that has no answer.
    pub(crate) fn is_asked(&self, call_id: &str) -> bool {
        self.by_call
            .get(call_id)
            .is_some_and(|request_id| self.open.contains_key(request_id))
    }

    /// The calls about which something is asked that has no answer.
    pub(crate) fn calls_asked(&self) -> impl Iterator<Item = &str> {
        let open = self.open.iter();
        open.filter_map(|(request_id, ask)| {
            let call_id = ask.call_id.as_deref()?;
            (self.by_call.get(call_id)? == request_id).then_some(call_id)
        })
    }

    /// Whether anything was asked about the call, or it was refused.
    pub(crate) fn is_known(&self, call_id: &str) -> bool {
        self.by_call.contains(call_id) || self.denied.contains(call_id)
    }

    pub(super) fn of_call(&self, call_id: &str) -> Option<(String, Ask)> {
        let request_id = self.by_call.get(call_id)?;
        self.open
            .get(request_id)
            .map(|ask| (request_id.clone(), ask.clone()))
    }

    pub(super) fn asked(&mut self, request_id: &str, ask: Ask) {
        if let Some(call_id) = &ask.call_id {
            self.by_call.insert(call_id, request_id.to_owned());
        }
        self.open.insert(request_id.to_owned(), ask);
    }

    /// `call` gets no result: what was asked about it is no longer open.
    pub(crate) fn expire(&mut self, emitter: &mut Emitter, call: &Call) {
        if let Some((request_id, ask)) = self.of_call(&call.id) {
            self.open.remove(&request_id);
            self.cancel(emitter, &request_id, &ask);
        }
    }

    /// Nothing that was asked will be answered any more.
    pub(crate) fn expire_all(&mut self, emitter: &mut Emitter) {
        for (request_id, ask) in std::mem::take(&mut self.open) {
            self.cancel(emitter, &request_id, &ask);
        }
    }

    /// Nobody says how it was answered.
    pub(super) fn cancel(&mut self, emitter: &mut Emitter, request_id: &str, ask: &Ask) {
        let id = format!("{request_id}:answer");
        if ask.question {
            let payload = QuestionResolved {
                request_id: request_id.to_owned(),
                outcome: "expired".to_owned(),
                ..QuestionResolved::default()
            };
            emitter.add_as(&id, &ask.place, payload);
        } else {
            let payload = PermissionResolved {
                request_id: request_id.to_owned(),
                decision: "cancel".to_owned(),
                ..PermissionResolved::default()
            };
            emitter.add_as(&id, &ask.place, payload);
        }
    }

    /// Writes a request that nobody could answer and its refusal.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn refuse(
        &mut self,
        emitter: &mut Emitter,
        call_id: &str,
        name: &str,
        args: Option<&Value>,
        place: &Place,
        by: &str,
        message: Option<&str>,
    ) {
        let request_id = format!("{call_id}:denied");
        let request = PermissionRequest {
            request_id: request_id.clone(),
            tool_call_id: Some(call_id.to_owned()),
            tool_name: name.to_owned(),
            kind: Some(tools::kind(name).to_owned()),
            args: known(args),
            ..PermissionRequest::default()
        };
        emitter.add_as(&format!("{request_id}:ask"), place, request);
        let ask = Ask {
            call_id: Some(call_id.to_owned()),
            place: place.clone(),
            ..Ask::default()
        };
        self.resolve(emitter, &request_id, &ask, false, None, by, message, None);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn resolve(
        &mut self,
        emitter: &mut Emitter,
        request_id: &str,
        ask: &Ask,
        allowed: bool,
        scope: Option<&str>,
        by: &str,
        message: Option<&str>,
        answers: Option<&Value>,
    ) {
        if let Some(call_id) = ask.call_id.as_deref().filter(|_| !allowed) {
            self.denied.insert(call_id, ());
        }
        let id = format!("{request_id}:answer");
        if ask.question {
            let payload = QuestionResolved {
                request_id: request_id.to_owned(),
                answers: known(answers),
                outcome: if allowed { "answered" } else { "rejected" }.to_owned(),
                extra: Extra::default(),
            };
            emitter.add_as(&id, &ask.place, payload);
        } else {
            let payload = PermissionResolved {
                request_id: request_id.to_owned(),
                decision: if allowed { "allow" } else { "deny" }.to_owned(),
                scope: scope.map(str::to_owned),
                by: Some(by.to_owned()),
                message: message.map(str::to_owned),
                extra: Extra::default(),
            };
            emitter.add_as(&id, &ask.place, payload);
        }
    }
}

/// What a question asks, as a number: the answers come to stand beside it.
fn asked_print(input: &Value) -> u64 {
    fingerprint(input.get("questions").unwrap_or(&Value::Null))
}

/// The form of a server of the Model Context Protocol; hooks and requests tell it alike.
pub(crate) fn form_questions(asked: &Value) -> Vec<Question> {
    form::questions_of(
        text_of(asked, "mcp_server_name"),
        text_of(asked, "message").unwrap_or(""),
        asked.get("requested_schema"),
        text_of(asked, "url"),
    )
}

/// A value that says something.
pub(super) fn known(value: Option<&Value>) -> Option<Json> {
    value.filter(|value| !value.is_null()).map(Json::from)
}

fn question(question: &Value) -> Question {
    let text = str_of(question, "question").unwrap_or("");
    Question {
        // Answers come back by the question's text.
        id: text.to_owned(),
        header: text_of(question, "header").map(str::to_owned),
        text: text.to_owned(),
        options: list_of(question, "options").iter().map(option_of).collect(),
        multi: is_true(question, "multiSelect").then_some(true),
        ..Question::default()
    }
}
