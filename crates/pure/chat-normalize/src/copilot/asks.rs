//! What Copilot CLI asks a person: leave for a call, a question, a form, whether a plan is to be carried out.
//!
//! Of questions and plans a file keeps the call alone (`ask_user`, `exit_plan_mode`), which waits until it is answered, and
//! since 1.0.102 the answer (`human_response.recorded`). What a run prints says the same in `….requested` and `….completed`.

use std::collections::BTreeMap;

use chat_event::Extra;
use chat_event::payload::{
    PermissionRequest, PermissionResolved, Question, QuestionOption, QuestionRequest,
};
use serde_json::{Value, json};

use super::{Copilot, FORMAT};
use crate::ask::Ask;
use crate::emit::Emitter;
use crate::form;
use crate::value::{is_true, list_of, str_of, text_of};
use crate::words::one_line;

/// By the ids that the source gives them; those that a call stands for, by its id.
pub(super) type Asks = BTreeMap<String, Ask>;

/// Under which id a call's question waits.
fn of_call(call: &str) -> String {
    format!("{call}-ask")
}

impl Copilot {
    /// `tool.execution_start`: the call of a tool that asks a person.
    pub(super) fn asks_by_call(&mut self, emitter: &mut Emitter, data: &Value) {
        let args = data.get("arguments").unwrap_or(&Value::Null);
        let call = text_of(data, "toolCallId").unwrap_or("");
        if self.track.waiting(call).is_none() || self.asks.contains_key(&of_call(call)) {
            return;
        }
        let asked = json!({
            "requestId": of_call(call),
            "toolCallId": call,
            "question": args.get("question"),
            "choices": args.get("choices"),
            "message": args.get("message"),
            "requestedSchema": args.get("requestedSchema"),
            "summary": args.get("summary"),
        });
        match text_of(data, "toolName") {
            Some("ask_user") => self.asks_question(emitter, &asked),
            Some("exit_plan_mode") => self.asks_leave(emitter, &asked),
            _ => {}
        }
    }

    /// The call has its result: what it asked was answered, or nobody was there.
    pub(super) fn asks_end(&mut self, emitter: &mut Emitter, call: &str, is_answered: bool) {
        let Some(ask) = self.asks.remove(&of_call(call)) else {
            return;
        };
        match (ask.is_question, is_answered) {
            (true, true) => ask.close_question(emitter, None, "answered"),
            (_, false) => ask.expire(emitter),
            (false, true) => Self::answer_leave(emitter, &ask, &json!({"approved": true})),
        }
    }

    /// `human_response.recorded`: what a person answered, as a file keeps it.
    pub(super) fn responds(&mut self, emitter: &mut Emitter, kind: &str, event: &Value) {
        let data = event.get("data").unwrap_or(&Value::Null);
        let asked = of_call(text_of(data, "toolCallId").unwrap_or(""));
        let native = text_of(data, "requestId").unwrap_or("");
        let Some(ask) = self
            .asks
            .remove(&asked)
            .or_else(|| self.asks.remove(native))
        else {
            return emitter.raw(&self.track.place(), FORMAT, kind, event);
        };
        let response = data.get("response").unwrap_or(&Value::Null);
        match ask.is_question {
            true => Self::answer_question(emitter, ask, response),
            false => Self::answer_leave(emitter, &ask, response),
        }
    }
    /// `permission.requested` and `exit_plan_mode.requested`.
    pub(super) fn asks_leave(&mut self, emitter: &mut Emitter, data: &Value) {
        let asked = data.get("permissionRequest").unwrap_or(data);
        let kind = match data.get("permissionRequest") {
            Some(asked) => str_of(asked, "kind").unwrap_or(""),
            None => "exit_plan_mode",
        };
        let call = text_of(asked, "toolCallId").or_else(|| text_of(data, "toolCallId"));
        let name = call
            .and_then(|call| self.track.waiting(call))
            .map(|call| call.name.clone());
        let keys = [
            "fullCommandText",
            "fileName",
            "path",
            "url",
            "toolName",
            "summary",
        ];
        let about = keys.iter().find_map(|key| text_of(asked, key));
        let request = PermissionRequest {
            tool_call_id: call.map(|call| self.track.id_of_next(call)),
            tool_name: name.unwrap_or_else(|| kind.to_owned()),
            title: about.or_else(|| text_of(asked, "intention")).map(one_line),
            reason: text_of(asked, "warning").map(str::to_owned),
            ..PermissionRequest::default()
        };
        let Some(ask) = self.begin_ask(emitter, data, false) else {
            return;
        };
        let request = PermissionRequest {
            request_id: ask.request_id.clone(),
            ..request
        };
        emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
    }

    /// `user_input.requested` and `elicitation.requested`.
    pub(super) fn asks_question(&mut self, emitter: &mut Emitter, data: &Value) {
        let call = text_of(data, "toolCallId").map(|call| self.track.id_of_next(call));
        let questions = match text_of(data, "question") {
            Some(text) => {
                let choices = list_of(data, "choices").iter().filter_map(Value::as_str);
                let options = choices.map(|choice| QuestionOption {
                    label: choice.to_owned(),
                    ..QuestionOption::default()
                });
                vec![Question {
                    text: text.to_owned(),
                    options: options.collect(),
                    ..Question::default()
                }]
            }
            None => form::questions_of(
                text_of(data, "elicitationSource"),
                str_of(data, "message").unwrap_or(""),
                data.get("requestedSchema"),
                text_of(data, "url"),
            ),
        };
        let Some(ask) = self.begin_ask(emitter, data, true) else {
            return;
        };
        let request = QuestionRequest {
            answerable: None,
            request_id: ask.request_id.clone(),
            tool_call_id: call,
            questions,
            extra: Extra::default(),
        };
        emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
    }

    fn begin_ask(
        &mut self,
        emitter: &mut Emitter,
        data: &Value,
        is_question: bool,
    ) -> Option<&Ask> {
        let native = text_of(data, "requestId").unwrap_or("").to_owned();
        let call = of_call(text_of(data, "toolCallId").unwrap_or(""));
        if native != call
            && let Some(ask) = self.asks.remove(&call)
        {
            // The call asked it already.
            self.asks.insert(native.clone(), ask);
        }
        if self.asks.contains_key(&native) {
            emitter.pass_over("what is asked again");
            return None;
        }
        let ask = Ask {
            request_id: self.track.numbered(&native),
            place: self.track.place(),
            is_question,
        };
        Some(&*self.asks.entry(native).or_insert(ask))
    }

    /// The answer to any of them.
    pub(super) fn answers(&mut self, emitter: &mut Emitter, data: &Value) {
        let Some(ask) = self.asks.remove(text_of(data, "requestId").unwrap_or("")) else {
            return emitter.pass_over("an answer to nothing");
        };
        match ask.is_question {
            true => Self::answer_question(emitter, ask, data),
            false => Self::answer_leave(emitter, &ask, data.get("result").unwrap_or(data)),
        }
    }

    fn answer_question(emitter: &mut Emitter, ask: Ask, said: &Value) {
        let answer = ["answer", "content"].iter().find_map(|key| said.get(*key));
        let answer = answer.filter(|answer| !answer.is_null());
        let declined = matches!(str_of(said, "action"), Some("decline" | "cancel"));
        let outcome = match (answer, declined) {
            (_, true) | (None, _) => "rejected",
            (Some(_), false) => "answered",
        };
        ask.close_question(emitter, answer, outcome);
    }

    fn answer_leave(emitter: &mut Emitter, ask: &Ask, result: &Value) {
        let (decision, scope, by) = match str_of(result, "kind") {
            Some("approved") => ("allow", "once", "user"),
            Some("approved-for-session") => ("allow", "session", "user"),
            Some(kind) if kind.starts_with("approved") => ("allow", "always", "user"),
            Some("cancelled") => ("cancel", "once", "user"),
            Some("denied-interactively-by-user") => ("deny", "once", "user"),
            Some("denied-by-permission-request-hook") => ("deny", "once", "hook"),
            Some(_) => ("deny", "once", "rule"),
            None if is_true(result, "approved") => ("allow", "once", "user"),
            None => ("deny", "once", "user"),
        };
        let message = text_of(result, "feedback").or_else(|| text_of(result, "message"));
        let resolved = PermissionResolved {
            request_id: ask.request_id.clone(),
            decision: decision.to_owned(),
            scope: Some(scope.to_owned()),
            by: Some(by.to_owned()),
            message: message.map(str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as(&ask.answer_id(), &ask.place, resolved);
    }

    /// The turn is over: nothing waits in it any more.
    pub(super) fn expire(&mut self, emitter: &mut Emitter) {
        for ask in std::mem::take(&mut self.asks).into_values() {
            ask.expire(emitter);
        }
    }
}
