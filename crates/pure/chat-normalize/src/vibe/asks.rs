//! What a person is asked: leave for a call, questions. They come as records of the journal, and their answers too; as entries,
//! and among those that a state names as open, they say the same.

use std::collections::BTreeMap;

use chat_event::payload::{
    PermissionOption, PermissionRequest, PermissionResolved, Question, QuestionRequest,
};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::talk::{Talk, created_ms};
use super::tools;
use crate::ask::{Ask, option_of};
use crate::emit::Emitter;
use crate::recent::Recent;
use crate::value::{is_true, list_of, str_of, text_of};

/// Those that wait, by the program's ids, and all that were asked.
#[derive(Debug, Default)]
pub(super) struct Asks {
    open: BTreeMap<String, Ask>,
    asked: Recent<()>,
}

impl Asks {
    /// Nobody answers any more.
    pub(super) fn expire(&mut self, emitter: &mut Emitter) {
        for ask in std::mem::take(&mut self.open).into_values() {
            ask.expire(emitter);
        }
    }
}

impl Talk {
    /// An entry that asks, or says what was answered.
    pub(super) fn callback(&mut self, emitter: &mut Emitter, entry: &Value) {
        self.asked(emitter, entry);
        let id = text_of(entry, "callbackId").unwrap_or("");
        let state = entry.get("state").unwrap_or(&Value::Null);
        match str_of(state, "status") {
            Some("open") | None => {}
            Some("answered") => {
                self.answered(emitter, id, state.get("output").unwrap_or(&Value::Null));
            }
            Some(_) => self.answered(emitter, id, &Value::Null),
        }
    }

    /// A person is asked.
    pub(super) fn asked(&mut self, emitter: &mut Emitter, asked: &Value) {
        let Some(id) = text_of(asked, "callbackId") else {
            return emitter.raw(
                &self.place(),
                super::FORMAT,
                "callback without an id",
                asked,
            );
        };
        // Ids of what is asked are made of those of calls, which may come again in another turn.
        let turn = text_of(asked, "turnId").map(str::to_owned);
        let turn = turn.or_else(|| self.place().turn_id).unwrap_or_default();
        if !self.asks.asked.insert(&format!("{turn} {id}"), ()) {
            emitter.report.repeated += 1;
            return;
        }
        self.run.at(emitter, created_ms(asked));
        if !self.is_here(emitter, text_of(asked, "turnId")) {
            let kind = "what was asked in a turn that is over";
            return emitter.raw(&self.place(), super::FORMAT, kind, asked);
        }
        let detail = asked.get("detail").unwrap_or(&Value::Null);
        let related =
            text_of(asked, "relatedEntryId").or_else(|| text_of(detail, "relatedEntryId"));
        let call = related.and_then(|id| self.run.track.waiting(id));
        let call_id = call.map(|call| call.id.clone());
        let place = call.map_or_else(|| self.place(), |call| call.place.clone());
        let is_question = str_of(detail, "kind") == Some("user_input");
        // The program's own id is made of the model's, which may come again.
        let stem = match &call_id {
            Some(call) => format!("{call}.asks"),
            None => id.to_owned(),
        };
        let ask = Ask {
            request_id: self.run.track.numbered(&stem),
            place,
            is_question,
        };
        match is_question {
            true => ask_question(emitter, &ask, call_id, detail),
            false => ask_leave(emitter, &ask, call_id, detail),
        }
        self.asks.open.insert(id.to_owned(), ask);
    }

    /// What was asked under this id is answered so; no output is none.
    pub(super) fn answered(&mut self, emitter: &mut Emitter, id: &str, output: &Value) {
        let Some(ask) = self.asks.open.remove(id) else {
            return emitter.pass_over("an answer to what nobody asks");
        };
        if output.is_null() {
            return ask.expire(emitter);
        }
        if ask.is_question {
            let result = output.get("result").unwrap_or(&Value::Null);
            return match is_true(result, "cancelled") {
                true => ask.close_question(emitter, None, "rejected"),
                false => ask.close_question(emitter, result.get("answers"), "answered"),
            };
        }
        let choice = output.pointer("/decision/type").and_then(Value::as_str);
        let (decision, scope) = match choice {
            Some("approve") => ("allow", Some("once")),
            Some("approve_for_session") => ("allow", Some("session")),
            Some("approve_permanently") => ("allow", Some("always")),
            Some("cancel_turn") => ("cancel", None),
            _ => ("deny", None),
        };
        let resolved = PermissionResolved {
            request_id: ask.request_id.clone(),
            decision: decision.to_owned(),
            scope: scope.map(str::to_owned),
            by: Some("user".to_owned()),
            message: text_of(output, "feedback").map(str::to_owned),
            extra: Extra::default(),
        };
        emitter.add_as(&ask.answer_id(), &ask.place, resolved);
    }
}

fn ask_leave(emitter: &mut Emitter, ask: &Ask, call_id: Option<String>, detail: &Value) {
    let effect = detail.get("effect").unwrap_or(&Value::Null);
    let name = str_of(effect, "toolName").unwrap_or("");
    let args = effect.get("input").unwrap_or(&Value::Null);
    let choices = list_of(detail, "choices").iter().filter_map(Value::as_str);
    let needs = list_of(detail, "requiredPermissions").iter();
    let needs: Vec<&str> = needs.filter_map(|it| text_of(it, "label")).collect();
    let reason = text_of(detail, "reason").map(str::to_owned);
    let request = PermissionRequest {
        request_id: ask.request_id.clone(),
        args: call_id.is_none().then(|| Json::from(args)),
        tool_call_id: call_id,
        tool_name: name.to_owned(),
        kind: Some(tools::kind(name, str_of(effect, "kind")).to_owned()),
        title: tools::title(name, args),
        options: choices.map(choice).collect(),
        reason: reason.or_else(|| Some(needs.join(", ")).filter(|needs| !needs.is_empty())),
        ..PermissionRequest::default()
    };
    emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
}

fn choice(id: &str) -> PermissionOption {
    let (label, kind) = match id {
        "approve" => ("Allow once", "allow_once"),
        "approve_for_session" => ("Allow for this session", "allow_always"),
        "approve_permanently" => ("Always allow", "allow_always"),
        "deny" => ("Deny", "reject_once"),
        "cancel_turn" => ("Stop the turn", "reject_once"),
        _ => (id, ""),
    };
    PermissionOption::new(id, label, kind)
}

fn ask_question(emitter: &mut Emitter, ask: &Ask, call_id: Option<String>, detail: &Value) {
    let request = detail.get("request").unwrap_or(&Value::Null);
    let questions = list_of(request, "questions");
    let request = QuestionRequest {
        request_id: ask.request_id.clone(),
        tool_call_id: call_id,
        questions: questions.iter().enumerate().map(question).collect(),
        answerable: None,
        extra: Extra::default(),
    };
    emitter.add_as(&format!("{}:ask", ask.request_id), &ask.place, request);
}

fn question((at, asked): (usize, &Value)) -> Question {
    let is_multi = is_true(asked, "multiSelect") || is_true(asked, "multi_select");
    Question {
        id: at.to_string(),
        header: text_of(asked, "header").map(str::to_owned),
        text: str_of(asked, "question").unwrap_or("").to_owned(),
        options: list_of(asked, "options").iter().map(option_of).collect(),
        multi: is_multi.then_some(true),
        secret: None,
        extra: Extra::default(),
    }
}
