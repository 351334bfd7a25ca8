//! Permissions and questions: asked over the control channel, decided by rules, or seen only by what came of them.
//!
//! A question is of the question tool, or of a server of the Model Context Protocol (`elicitation`), which has no call.
//! The host's answer is not in the agent's output, so it is taken from the tool's result (`settled`) where no
//! `control_response` shows it. Transcripts and hooks have no line for a question either: the call of the question tool is
//! one. What is open, and how it is told, is for `asks`.

mod asks;
mod settled;

use chat_event::Extra;
use chat_event::payload::{PermissionOption, PermissionRequest};
use serde_json::Value;

use self::asks::{Ask, known};
use super::session::{Call, Session};
use super::tools;
use crate::emit::Emitter;
use crate::value::{list_of, str_of, text_of};

pub(crate) use self::asks::{Asks, form_questions};

/// The tool by which the agent asks the person.
const QUESTION_TOOL: &str = "AskUserQuestion";

impl Session {
    /// `control_request`: the program asks the host.
    pub(crate) fn control_request(&mut self, emitter: &mut Emitter, line: &Value) {
        let request = line.get("request").unwrap_or(&Value::Null);
        let request_id =
            text_of(line, "request_id").map_or_else(|| emitter.line_id().to_owned(), str::to_owned);
        let place = self.place(None, text_of(request, "agent_id"));
        match str_of(request, "subtype") {
            Some("can_use_tool") => self.can_use_tool(emitter, &request_id, request),
            Some("elicitation") => self.asks.ask_form(emitter, &request_id, &place, request),
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
            kind: Some(tools::kind(name).to_owned()),
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
                ..Ask::default()
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
        if let Some(action) = text_of(answer, "action").filter(|_| ask.question) {
            let content = answer.get("content");
            self.asks
                .answer_form(emitter, request_id, &ask, action, content);
            return;
        }
        let allowed = str_of(answer, "behavior") == Some("allow");
        let scope = scope_of(list_of(answer, "updatedPermissions"));
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

    /// A call that was refused: `system/permission_denied`, or `result.permission_denials`; mostly without asking anyone.
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
        let asked = self.asks.of_call(&call_id);
        if let Some((request_id, ask)) = asked.filter(|(_, ask)| ask.failed_with.is_some()) {
            self.asks.open.remove(&request_id);
            let message = ask.failed_with.as_deref();
            self.asks.resolve(
                emitter,
                &request_id,
                &ask,
                false,
                None,
                "user",
                message,
                None,
            );
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

/// How long what an answer lets be holds, by where its rules are written.
fn scope_of(rules: &[Value]) -> &'static str {
    let passes = |rule: &Value| matches!(str_of(rule, "destination"), Some("session" | "cliArg"));
    match rules {
        [] => "once",
        rules if rules.iter().all(passes) => "session",
        _ => "always",
    }
}
