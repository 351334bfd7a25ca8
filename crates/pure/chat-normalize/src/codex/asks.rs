//! What the server asks its client: approvals and questions, with their answers.
//!
//! The answer is in what the client writes. Where only the server's side is recorded, what became of the call tells it.
//! In a rollout a question is a call, and its answer is what the call gives.

mod about;
mod open;

use chat_event::payload::{PermissionOption, PermissionRequest, Question, QuestionRequest};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::session::Scope;
use crate::ask::option_of;
use crate::emit::Emitter;
use crate::form;
use crate::recent::Recent;
use crate::value::{is_true, list_of, str_of, text_of};
pub(crate) use about::About;
use open::{Ask, OpenAsks};

/// What was asked and not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    open: OpenAsks,
    uses: Recent<u32>,
}

impl Asks {
    /// Whether the server waits for the answer to its request `native_id`.
    pub(crate) fn is_open(&self, native_id: &str) -> bool {
        self.open.get(native_id).is_some()
    }

    /// An approval is wanted.
    pub(crate) fn approval(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        native_id: &str,
        about: About,
        params: &Value,
    ) {
        let request_id = self.opened(emitter, scope, native_id, about.call_id.clone(), false);
        let said = list_of(params, "availableDecisions");
        let mut options: Vec<PermissionOption> = said.iter().filter_map(option).collect();
        if options.is_empty() {
            let usual = ["accept", "acceptForSession", "decline", "cancel"];
            options = usual
                .iter()
                .filter_map(|word| option(&Value::from(*word)))
                .collect();
        }
        let payload = PermissionRequest {
            answerable: None,
            request_id: request_id.clone(),
            tool_call_id: about.call_id,
            tool_name: about.tool_name,
            kind: None,
            title: about.title,
            args: about.args,
            options,
            reason: text_of(params, "reason").map(str::to_owned),
            extra: about.extra,
        };
        emitter.add_as(&format!("{request_id}:ask"), &scope.place, payload);
    }

    /// Answers are wanted.
    pub(crate) fn question(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        native_id: &str,
        call_id: Option<String>,
        params: &Value,
    ) {
        let request_id = self.opened(emitter, scope, native_id, call_id.clone(), true);
        let mut questions: Vec<Question> =
            list_of(params, "questions").iter().map(question).collect();
        if questions.is_empty() {
            questions = form::questions_of(
                text_of(params, "serverName"),
                str_of(params, "message").unwrap_or(""),
                params.get("requestedSchema"),
                text_of(params, "url"),
            );
        }
        let payload = QuestionRequest {
            answerable: None,
            request_id: request_id.clone(),
            tool_call_id: call_id,
            questions,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:ask"), &scope.place, payload);
    }

    fn opened(
        &mut self,
        emitter: &mut Emitter,
        scope: &Scope,
        native_id: &str,
        call_id: Option<String>,
        is_question: bool,
    ) -> String {
        if let Some(before) = self.open.remove(native_id) {
            before.resolve(emitter, "cancel", None, None, None);
        }
        let n = self.uses.entry(native_id);
        *n += 1;
        let request_id = if *n == 1 {
            format!("request-{native_id}")
        } else {
            format!("request-{native_id}~{n}")
        };
        let ask = Ask {
            request_id: request_id.clone(),
            call_id,
            place: scope.place.clone(),
            turn: scope.turn.clone(),
            is_question,
        };
        self.open.insert(native_id, ask);
        request_id
    }

    /// The client answered.
    pub(crate) fn answer(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        result: Option<&Value>,
    ) {
        let Some(ask) = self.open.remove(native_id) else {
            return;
        };
        let result = result.unwrap_or(&Value::Null);
        if ask.is_question {
            let answers = result.get("answers").or_else(|| result.get("content"));
            let answers = answers.filter(|answers| !answers.is_null());
            let outcome = match str_of(result, "action") {
                // A form that is closed without an answer.
                Some("cancel") => "cancel",
                Some("decline") => "deny",
                _ if result.is_null() => "deny",
                _ => "allow",
            };
            ask.resolve(
                emitter,
                outcome,
                None,
                Some("user"),
                answers.map(Json::from),
            );
            return;
        }
        let said = result.get("decision").unwrap_or(&Value::Null);
        let word = said.as_str().or_else(|| {
            let mut names = said.as_object()?.keys();
            names.next().map(String::as_str)
        });
        let (decision, scope) = match word {
            Some("accept" | "approved") => ("allow", Some("once")),
            Some("acceptForSession" | "approved_for_session") => ("allow", Some("session")),
            Some(
                "acceptWithExecpolicyAmendment"
                | "applyNetworkPolicyAmendment"
                | "approved_execpolicy_amendment",
            ) => ("allow", Some("always")),
            Some("cancel" | "abort") => ("cancel", None),
            None if result.get("permissions").is_some_and(grants) => (
                "allow",
                Some(
                    str_of(result, "scope")
                        .filter(|scope| *scope == "session")
                        .unwrap_or("once"),
                ),
            ),
            Some(_) | None => ("deny", None),
        };
        ask.resolve(emitter, decision, scope, Some("user"), None);
    }

    /// The call `call_id` gave `output`: where it asked, that is the answers, or why there are none.
    pub(crate) fn told_by_output(&mut self, emitter: &mut Emitter, call_id: &str, output: &str) {
        if !self.open.get(call_id).is_some_and(|ask| ask.is_question) {
            return;
        }
        let Some(ask) = self.open.remove(call_id) else {
            return;
        };
        let told = serde_json::from_str::<Value>(output).ok();
        let answers = told.as_ref().and_then(|told| told.get("answers"));
        // What the program does not ask is refused by nobody.
        let is_unseen = output.contains("request_user_input is unavailable")
            || output.contains("failed to parse function arguments");
        let decision = match answers {
            Some(_) => "allow",
            None if is_unseen => "cancel",
            None => "deny",
        };
        ask.resolve(
            emitter,
            decision,
            None,
            Some("user"),
            answers.map(Json::from),
        );
    }

    /// The server has its answer, which is not seen here. An approval is told by what becomes of its call.
    pub(crate) fn answered(&mut self, emitter: &mut Emitter, native_id: &str) {
        if self
            .open
            .get(native_id)
            .is_some_and(|ask| ask.is_question || ask.call_id.is_none())
            && let Some(ask) = self.open.remove(native_id)
        {
            ask.resolve(emitter, "allow", None, None, None);
        }
    }

    /// The call `call_id` runs or ended, so what was asked about it is answered: whether it was allowed, where that shows.
    pub(crate) fn settle(&mut self, emitter: &mut Emitter, call_id: &str, allowed: Option<bool>) {
        for ask in self.open.take_of_call(call_id) {
            let (decision, by) = match allowed {
                Some(true) => ("allow", Some("user")),
                Some(false) => ("deny", Some("user")),
                None => ("cancel", None),
            };
            ask.resolve(emitter, decision, None, by, None);
        }
    }

    /// What was asked in `turn`, or at all, is no longer open.
    pub(crate) fn close(&mut self, emitter: &mut Emitter, turn: Option<&str>) {
        for ask in self.open.take_of_turn(turn) {
            ask.resolve(emitter, "cancel", None, None, None);
        }
    }
}

/// Whether anything is granted by that: what is refused is left out, or nothing.
fn grants(permissions: &Value) -> bool {
    match permissions {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) | Value::Number(_) => true,
        Value::String(said) => !matches!(said.as_str(), "" | "none" | "deny"),
        Value::Array(items) => items.iter().any(grants),
        // The path of an entry grants nothing.
        Value::Object(members) => match members.get("access") {
            Some(access) => grants(access),
            None => members.values().any(grants),
        },
    }
}

fn option(said: &Value) -> Option<PermissionOption> {
    let word = said
        .as_str()
        .or_else(|| said.as_object()?.keys().next().map(String::as_str))?;
    let (label, kind) = match word {
        "accept" => ("Allow", "allow_once"),
        "acceptForSession" => ("Allow for this session", "allow_always"),
        "acceptWithExecpolicyAmendment" => ("Allow such commands always", "allow_always"),
        "applyNetworkPolicyAmendment" => ("Allow this host always", "allow_always"),
        "decline" => ("Deny", "reject_once"),
        "cancel" => ("Deny and stop", "reject_once"),
        other => (other, "other"),
    };
    Some(PermissionOption::new(word, label, kind))
}

fn question(said: &Value) -> Question {
    let options = list_of(said, "options").iter().map(option_of);
    Question {
        id: str_of(said, "id").unwrap_or("").to_owned(),
        header: text_of(said, "header").map(str::to_owned),
        text: str_of(said, "question").unwrap_or("").to_owned(),
        options: options.collect(),
        multi: None,
        secret: is_true(said, "isSecret").then_some(true),
        extra: Extra::default(),
    }
}
