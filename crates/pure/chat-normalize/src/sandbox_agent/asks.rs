//! Permissions and questions: asked, and answered by the same id.

use chat_event::Json;
use chat_event::payload::{
    PermissionOption, PermissionRequest, PermissionResolved, Question, QuestionOption,
    QuestionRequest, QuestionResolved,
};
use serde_json::Value;

use super::events::SandboxAgent;
use crate::emit::{Emitter, Place};
use crate::tool;
use crate::value::{list_of, str_of, text_of};

/// What was asked and is not answered.
#[derive(Debug)]
pub(crate) struct Ask {
    place: Place,
    question: bool,
}

impl SandboxAgent {
    pub(super) fn asked(&mut self, emitter: &mut Emitter, kind: &str, data: &Value) {
        self.leave(emitter);
        let place = self.place(emitter);
        let question = kind == "question.requested";
        let id = id_of(data, question);
        if self.asks.contains_key(&id) {
            return emitter.pass_over("what is asked again");
        }
        if question {
            let options = list_of(data, "options")
                .iter()
                .map(|option| QuestionOption {
                    label: option
                        .as_str()
                        .or_else(|| str_of(option, "label"))
                        .unwrap_or("")
                        .to_owned(),
                    ..QuestionOption::default()
                });
            let asked = Question {
                id: "0".to_owned(),
                text: text_of(data, "prompt").unwrap_or("").to_owned(),
                options: options.collect(),
                ..Question::default()
            };
            let payload = QuestionRequest {
                request_id: id.clone(),
                questions: vec![asked],
                ..QuestionRequest::default()
            };
            emitter.add_as(&format!("{id}:ask"), &place, payload);
        } else {
            let metadata = data.get("metadata").unwrap_or(&Value::Null);
            let action = text_of(data, "action").unwrap_or("");
            let name = ["toolName", "tool_name"]
                .iter()
                .find_map(|key| text_of(metadata, key))
                .unwrap_or(action);
            let args = metadata.get("input").filter(|input| !input.is_null());
            let call = ["toolUseId", "tool_use_id", "call_id"]
                .iter()
                .find_map(|key| text_of(metadata, key));
            let option = PermissionOption::new;
            let payload = PermissionRequest {
                request_id: id.clone(),
                tool_call_id: call.map(|call| self.call_id(call)),
                tool_name: name.to_owned(),
                title: tool::title(name, args.unwrap_or(&Value::Null))
                    .or_else(|| Some(action.to_owned()).filter(|action| !action.is_empty())),
                args: args.map(Json::from),
                options: vec![
                    option("accept", "Allow once", "allow_once"),
                    option(
                        "accept_for_session",
                        "Allow for this session",
                        "allow_always",
                    ),
                    option("reject", "Reject", "reject_once"),
                ],
                ..PermissionRequest::default()
            };
            emitter.add_as(&format!("{id}:ask"), &place, payload);
        }
        self.asks.insert(id, Ask { place, question });
    }

    pub(super) fn resolved(&mut self, emitter: &mut Emitter, kind: &str, data: &Value) {
        let question = kind == "question.resolved";
        let id = id_of(data, question);
        let place = match self.asks.remove(&id) {
            Some(ask) => ask.place,
            None => self.quiet_place(),
        };
        let status = str_of(data, "status").unwrap_or("");
        if question {
            let payload = QuestionResolved {
                request_id: id.clone(),
                answers: data.get("response").map(Json::from),
                outcome: match status {
                    "answered" => "answered",
                    "rejected" => "rejected",
                    _ => "expired",
                }
                .to_owned(),
                ..QuestionResolved::default()
            };
            emitter.add_as(&format!("{id}:answer"), &place, payload);
            return;
        }
        let (decision, scope) = match status {
            "accept" | "approved" => ("allow", Some("once")),
            "accept_for_session" => ("allow", Some("session")),
            "reject" | "denied" => ("deny", None),
            _ => ("cancel", None),
        };
        let payload = PermissionResolved {
            request_id: id.clone(),
            decision: decision.to_owned(),
            scope: scope.map(str::to_owned),
            by: Some("user".to_owned()),
            ..PermissionResolved::default()
        };
        emitter.add_as(&format!("{id}:answer"), &place, payload);
    }
}

impl Ask {
    /// Nobody answered.
    pub(super) fn expire(self, emitter: &mut Emitter, id: &str) {
        let event_id = format!("{id}:answer");
        if self.question {
            let payload = QuestionResolved {
                request_id: id.to_owned(),
                outcome: "expired".to_owned(),
                ..QuestionResolved::default()
            };
            emitter.add_as(&event_id, &self.place, payload);
        } else {
            let payload = PermissionResolved {
                request_id: id.to_owned(),
                decision: "cancel".to_owned(),
                ..PermissionResolved::default()
            };
            emitter.add_as(&event_id, &self.place, payload);
        }
    }
}

fn id_of(data: &Value, question: bool) -> String {
    let key = if question {
        "question_id"
    } else {
        "permission_id"
    };
    text_of(data, key).unwrap_or(key).to_owned()
}
