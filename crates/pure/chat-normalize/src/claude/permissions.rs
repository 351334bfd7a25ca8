//! Permissions and questions: asked over the control channel, decided by rules, or seen only by what came of them.
//!
//! The host's answer is not in the agent's output, so it is taken from the tool's result where no `control_response`
//! shows it. Transcripts and hooks have no line for a question either: the call of the question tool is one.

use std::collections::BTreeMap;

use chat_event::payload::{
    PermissionOption, PermissionRequest, PermissionResolved, Question, QuestionOption,
    QuestionRequest, QuestionResolved,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::session::{Call, Session};
use crate::emit::{Emitter, Place, cut};
use crate::recent::Recent;
use crate::value::{fingerprint, is_true, list_of, str_of, text_of};

/// The tool by which the agent asks the person.
const QUESTION_TOOL: &str = "AskUserQuestion";

/// What was asked and not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    /// By the id of the request.
    open: BTreeMap<String, Ask>,
    /// The newest open request about a call.
    by_call: Recent<String>,
    /// Calls whose refusal was written last.
    denied: Recent<()>,
}

#[derive(Clone, Debug)]
struct Ask {
    call_id: Option<String>,
    place: Place,
    question: bool,
    /// What a question asks, as a number, where the call that asks it did not come yet.
    asked: Option<u64>,
}

impl Session {
    /// `control_request`: the program asks the host.
    pub(crate) fn control_request(&mut self, emitter: &mut Emitter, line: &Value) {
        let request = line.get("request").unwrap_or(&Value::Null);
        let request_id =
            text_of(line, "request_id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        let place = self.place(None, text_of(request, "agent_id"));
        match str_of(request, "subtype") {
            Some("can_use_tool") => self.can_use_tool(emitter, &request_id, request),
            Some("interrupt") => emitter.pass_over("control_request interrupt"),
            // What else is asked is plumbing between the program and its host.
            Some(
                kind @ ("initialize"
                | "hook_callback"
                | "mcp_message"
                | "set_permission_mode"
                | "set_model"
                | "set_max_thinking_tokens"
                | "mcp_status"),
            ) => emitter.pass_over(&format!("control_request {kind}")),
            Some(kind) => emitter.raw(
                &place,
                self.format,
                &format!("control_request {kind}"),
                line,
            ),
            None => emitter.raw(&place, self.format, "control_request", line),
        }
    }

    fn can_use_tool(&mut self, emitter: &mut Emitter, request_id: &str, request: &Value) {
        let name = str_of(request, "tool_name").unwrap_or("");
        let input = request.get("input").unwrap_or(&Value::Null);
        let native_id = text_of(request, "tool_use_id");
        let call = match native_id {
            Some(id) => self.calls.get(id),
            None => self.call_like(name, input),
        };
        let place = call.map_or_else(
            || self.place(None, text_of(request, "agent_id")),
            |call| call.place.clone(),
        );
        let call_id = call
            .map(|call| call.id.clone())
            .or_else(|| native_id.map(|id| self.call_id(id)));
        if name == QUESTION_TOOL {
            if call_id.as_ref().is_some_and(|id| self.asks.is_asked(id)) {
                emitter.pass_over("request for a question that is asked");
                return;
            }
            self.asks
                .ask_question(emitter, request_id, call_id, &place, input);
            return;
        }
        let mut options = vec![PermissionOption::new("allow", "Allow", "allow_once")];
        if !list_of(request, "permission_suggestions").is_empty() {
            options.push(PermissionOption::new(
                "allow_always",
                "Allow and remember",
                "allow_always",
            ));
        }
        options.push(PermissionOption::new("deny", "Deny", "reject_once"));
        let payload = PermissionRequest {
            answerable: None,
            request_id: request_id.to_owned(),
            tool_call_id: call_id.clone(),
            tool_name: name.to_owned(),
            title: text_of(request, "description")
                .or_else(|| text_of(request, "display_name"))
                .map(str::to_owned),
            args: known(Some(input)),
            options,
            reason: text_of(request, "decision_reason")
                .or_else(|| text_of(request, "blocked_path"))
                .map(str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:ask"), &place, payload);
        self.asks.asked(
            request_id,
            Ask {
                call_id,
                place,
                question: false,
                asked: None,
            },
        );
    }

    /// The oldest open call with this input that nothing was asked about: before 2.0 a request names no call.
    fn call_like(&self, name: &str, input: &Value) -> Option<&Call> {
        let is_like = |call: &&Call| {
            call.announced
                && call.name == name
                && call.args == *input
                && !self.asks.by_call.contains(&call.id)
        };
        self.calls
            .values()
            .filter(is_like)
            .min_by_key(|call| call.order)
    }

    /// `control_response`: an answer, where the recording holds both directions.
    pub(crate) fn control_response(&mut self, emitter: &mut Emitter, line: &Value) {
        let response = line.get("response").unwrap_or(&Value::Null);
        let request_id = text_of(response, "request_id").unwrap_or("");
        let Some(ask) = self.asks.open.remove(request_id) else {
            // Answers to the host's own requests: initialize, interrupt, set_model …
            emitter.pass_over("control_response");
            return;
        };
        let answer = response.get("response").unwrap_or(&Value::Null);
        let allowed = str_of(answer, "behavior") == Some("allow");
        let scope = if list_of(answer, "updatedPermissions").is_empty() {
            "once"
        } else {
            "always"
        };
        let answers = answer
            .get("updatedInput")
            .and_then(|input| input.get("answers"));
        self.asks.resolve(
            emitter,
            request_id,
            &ask,
            allowed,
            Some(scope),
            "user",
            text_of(answer, "message"),
            answers,
        );
    }

    /// `control_cancel_request`: the question is no longer open.
    pub(crate) fn control_cancel(&mut self, emitter: &mut Emitter, line: &Value) {
        let request_id = text_of(line, "request_id").unwrap_or("");
        match self.asks.open.remove(request_id) {
            Some(ask) => self.asks.cancel(emitter, request_id, &ask),
            None => emitter.pass_over("control_cancel_request"),
        }
    }

    /// A call that was refused without asking anyone: `system/permission_denied`, or `result.permission_denials`.
    pub(crate) fn denied(
        &mut self,
        emitter: &mut Emitter,
        native_id: &str,
        name: &str,
        args: Option<&Value>,
        by: &str,
        message: Option<&str>,
    ) {
        let call_id = self.call_id(native_id);
        if self.asks.denied.contains(&call_id) {
            return;
        }
        let place = match self.calls.get(native_id) {
            Some(call) => call.place.clone(),
            None => self.place(None, None),
        };
        let args = self
            .calls
            .get(native_id)
            .map(|call| &call.args)
            .or(args)
            .cloned();
        self.asks
            .refuse(emitter, &call_id, name, args.as_ref(), &place, by, message);
    }
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
        let payload = QuestionRequest {
            answerable: None,
            request_id: request_id.to_owned(),
            tool_call_id: call_id.clone(),
            questions,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{request_id}:ask"), place, payload);
        let asked = call_id.is_none().then(|| asked_print(input));
        self.asked(
            request_id,
            Ask {
                call_id,
                place: place.clone(),
                question: true,
                asked,
            },
        );
    }

    /// Whether something is asked about the call that has no answer.
    pub(crate) fn is_asked(&self, call_id: &str) -> bool {
        self.by_call
            .get(call_id)
            .is_some_and(|request_id| self.open.contains_key(request_id))
    }

    fn of_call(&self, call_id: &str) -> Option<(String, Ask)> {
        let request_id = self.by_call.get(call_id)?;
        self.open
            .get(request_id)
            .map(|ask| (request_id.clone(), ask.clone()))
    }

    fn asked(&mut self, request_id: &str, ask: Ask) {
        if let Some(call_id) = &ask.call_id {
            self.by_call.insert(call_id, request_id.to_owned());
        }
        self.open.insert(request_id.to_owned(), ask);
    }

    /// What the result of `call` tells of the answer; whether the call was stopped, in truth, while it ran.
    pub(crate) fn settle(
        &mut self,
        emitter: &mut Emitter,
        call: &Call,
        failed: bool,
        text: &str,
        details: Option<&Value>,
        meta: &Value,
    ) -> bool {
        self.begun(emitter, call);
        let decision = meta.get("permission_decision").unwrap_or(&Value::Null);
        let rejected = str_of(decision, "decision") == Some("reject");
        let not_run = text_of(meta, "non_execution_kind");
        let words = said_with_refusal(text).filter(|_| failed);
        // What was interrupted, or did not run because nobody answered, was refused by nobody.
        let answered = text_of(meta, "unanswered").is_none();
        let refused_kind = not_run
            .or(words.map(|_| "user-rejected"))
            .filter(|kind| rejected || matches!(*kind, "user-rejected" | "permission-rule"))
            .filter(|_| answered);
        let by = refused_by(decision, refused_kind);
        if let Some((request_id, ask)) = self.of_call(&call.id) {
            self.open.remove(&request_id);
            // A question whose input does not fit is shown to nobody.
            let unseen = ask.question && failed && text.contains("<tool_use_error>");
            if unseen || (not_run.is_some() && refused_kind.is_none()) {
                self.cancel(emitter, &request_id, &ask);
                return false;
            }
            let refused =
                refused_kind.is_some() || rejected || (failed && decision.is_null() && !ran(text));
            let answers = details.and_then(|details| details.get("answers"));
            let message = refused.then(|| cut(words.unwrap_or(text), 500));
            let by = if ask.question { "user" } else { by };
            self.resolve(
                emitter,
                &request_id,
                &ask,
                !refused,
                None,
                by,
                message,
                answers,
            );
        } else if refused_kind.is_some() && !self.denied.contains(&call.id) {
            // The program calls it a rejection also where a user interrupts a call that was let run.
            let may_have_run = words.is_none() && !is_true(meta, "before_run");
            if refused_kind == Some("user-rejected") && decision.is_null() && may_have_run {
                return true;
            }
            self.refuse(
                emitter,
                &call.id,
                &call.name,
                Some(&call.args),
                &call.place,
                by,
                Some(cut(words.unwrap_or(text), 500)),
            );
        }
        false
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

    fn cancel(&mut self, emitter: &mut Emitter, request_id: &str, ask: &Ask) {
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
    fn refuse(
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
            args: known(args),
            ..PermissionRequest::default()
        };
        emitter.add_as(&format!("{request_id}:ask"), place, request);
        let ask = Ask {
            call_id: Some(call_id.to_owned()),
            place: place.clone(),
            question: false,
            asked: None,
        };
        self.resolve(emitter, &request_id, &ask, false, None, by, message, None);
    }

    #[allow(clippy::too_many_arguments)]
    fn resolve(
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

/// Who refused a call, or let it run. Transcripts write the names in another way than streams.
fn refused_by(decision: &Value, refused_kind: Option<&str>) -> &'static str {
    let reason = text_of(decision, "reason_type").or_else(|| text_of(decision, "reasonType"));
    match (str_of(decision, "source"), reason) {
        (Some("hook"), _) => "hook",
        (Some("config"), Some("mode")) => "mode",
        // Nobody was asked.
        (Some("config"), _) => "rule",
        (None, _) if refused_kind == Some("permission-rule") => "rule",
        _ => "user",
    }
}

/// What a person said with the refusal, without what the program puts around it for the model.
fn said_with_refusal(text: &str) -> Option<&str> {
    let refused = text.starts_with("The user doesn't want to");
    let (_, said) = text.split_once("the user said:\n").filter(|_| refused)?;
    let said = said.split_once("\n\nNote: ").map_or(said, |(said, _)| said);
    Some(said.trim()).filter(|said| !said.is_empty())
}

/// A value that says something.
fn known(value: Option<&Value>) -> Option<Json> {
    value.filter(|value| !value.is_null()).map(Json::from)
}

/// Whether the text of a failure shows that the tool ran.
fn ran(text: &str) -> bool {
    text.starts_with("Exit code ") || text.starts_with("Error: Exit code ")
}

fn question(question: &Value) -> Question {
    let text = str_of(question, "question").unwrap_or("");
    Question {
        // Answers come back by the question's text.
        id: text.to_owned(),
        header: text_of(question, "header").map(str::to_owned),
        text: text.to_owned(),
        options: list_of(question, "options")
            .iter()
            .map(|option| QuestionOption {
                label: str_of(option, "label").unwrap_or("").to_owned(),
                description: text_of(option, "description").map(str::to_owned),
                extra: Extra::default(),
            })
            .collect(),
        multi: is_true(question, "multiSelect").then_some(true),
        ..Question::default()
    }
}
