//! Permissions and questions: asked, and answered by the same id.

use chat_event::Json;
use chat_event::payload::{
    PermissionOption, PermissionRequest, PermissionResolved, Question, QuestionOption,
    QuestionRequest, QuestionResolved,
};
use serde_json::Value;

use super::events::SandboxAgent;
use super::items::Call;
use crate::emit::{Emitter, Place, hash};
use crate::tool;
use crate::value::{fingerprint, list_of, str_of, text_of};

/// What was asked and is not answered.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The id its events bear.
    id: String,
    place: Place,
    question: bool,
}

impl SandboxAgent {
    pub(super) fn asked(&mut self, emitter: &mut Emitter, kind: &str, data: &Value) {
        self.leave(emitter);
        let place = self.place(emitter);
        let question = kind == "question.requested";
        let native = id_of(data, question);
        if self.asks.contains_key(&native) {
            return emitter.pass_over("what is asked again");
        }
        // Agents that are started anew count what they ask anew.
        let uses = self.asked_as.entry(&native);
        *uses = uses.saturating_add(1);
        let id = self.request_id(&native);
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
            let wanted = call.map(for_call).or_else(|| Some(for_tool(name, args?)));
            if let Some(wanted) = wanted {
                self.asked_for
                    .entry(wanted)
                    .or_default()
                    .push_back(native.clone());
            }
        }
        self.settled.remove(&native);
        let ask = Ask {
            id,
            place,
            question,
        };
        self.asks.insert(native, ask);
    }

    /// The id that the events of what was asked last as `native` bear.
    fn request_id(&self, native: &str) -> String {
        match self.asked_as.get(native) {
            None | Some(0 | 1) => native.to_owned(),
            Some(uses) => format!("{native}~{uses}"),
        }
    }

    pub(super) fn resolved(&mut self, emitter: &mut Emitter, kind: &str, data: &Value) {
        let question = kind == "question.resolved";
        let native = id_of(data, question);
        let id = self.request_id(&native);
        let ask = self.asks.remove(&native);
        let was_open = ask.is_some();
        let place = ask.map_or_else(|| self.quiet_place(), |ask| ask.place);
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
        if decision == "allow" && !was_open && self.settled.contains(&native) {
            return emitter.pass_over("an answer that was told");
        }
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

impl SandboxAgent {
    /// The call `native` has its result: what it asked leave for was answered elsewhere. A call that failed may have been
    /// refused.
    pub(super) fn settle_ask(
        &mut self,
        emitter: &mut Emitter,
        native: &str,
        call: &Call,
        failed: bool,
    ) {
        for wanted in [for_call(native), for_tool(&call.name, &call.args)] {
            let Some(asked) = self.asked_for.get_mut(&wanted) else {
                continue;
            };
            while let Some(id) = asked.pop_front() {
                let Some(ask) = self.asks.remove(&id) else {
                    continue;
                };
                if failed {
                    return ask.expire(emitter);
                }
                self.settled.insert(&id, ());
                return ask.resolve(emitter, "allow");
            }
        }
    }
}

/// Leave for the call `native`.
fn for_call(native: &str) -> u64 {
    hash(format!("call:{native}").as_bytes())
}

/// Leave for a call that is known by what it does.
fn for_tool(name: &str, args: &Value) -> u64 {
    hash(format!("tool:{name}").as_bytes()) ^ fingerprint(args)
}

impl Ask {
    /// Nobody answered.
    pub(super) fn expire(self, emitter: &mut Emitter) {
        if self.question {
            let event_id = format!("{}:answer", self.id);
            let payload = QuestionResolved {
                request_id: self.id,
                outcome: "expired".to_owned(),
                ..QuestionResolved::default()
            };
            emitter.add_as(&event_id, &self.place, payload);
        } else {
            self.resolve(emitter, "cancel");
        }
    }

    /// A permission is decided, nobody said by whom.
    fn resolve(self, emitter: &mut Emitter, decision: &str) {
        let event_id = format!("{}:answer", self.id);
        let payload = PermissionResolved {
            request_id: self.id,
            decision: decision.to_owned(),
            ..PermissionResolved::default()
        };
        emitter.add_as(&event_id, &self.place, payload);
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
