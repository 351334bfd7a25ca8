//! What stands beside turns and calls: lists of things to do, errors by their names, and what is taken back.

use std::collections::HashSet;

use chat_event::ChatEvent;
use chat_event::payload::{ErrorEvent, Plan, Retract};
use serde_json::{Value, json};

use super::OpenCodeOut;

impl OpenCodeOut {
    pub(super) fn plan(&mut self, event: &ChatEvent, plan: &Plan) {
        let scope = self.scope(event);
        self.ensure_session(scope);
        let todos: Vec<Value> = plan
            .entries
            .iter()
            .map(|entry| {
                // The log has no priorities.
                json!({"content": entry.content, "status": entry.status, "priority": "medium"})
            })
            .collect();
        let session = self.scopes[scope].id.clone();
        self.tell(
            "todo.updated",
            json!({"sessionID": session, "todos": todos}),
        );
    }

    pub(super) fn retract(&mut self, retract: &Retract) {
        let mut removed = HashSet::new();
        for id in &retract.event_ids {
            let Some((scope, message_id, part_id)) = self.became.remove(id) else {
                continue;
            };
            if !removed.insert((message_id.clone(), part_id.clone())) {
                continue;
            }
            let session = self.scopes[scope].id.clone();
            match part_id {
                Some(part_id) => {
                    self.gone.insert(&part_id, ());
                    let properties = json!(
                        {"sessionID": session, "messageID": message_id, "partID": part_id});
                    self.tell("message.part.removed", properties);
                }
                None => {
                    let properties = json!({"sessionID": session, "messageID": message_id});
                    self.tell("message.removed", properties);
                }
            }
        }
    }
}

/// An error in OpenCode's form; codes that are names of its own are kept.
pub(super) fn named_error(error: &ErrorEvent) -> Value {
    const NAMES: [&str; 8] = [
        "ProviderAuthError",
        "UnknownError",
        "MessageOutputLengthError",
        "MessageAbortedError",
        "StructuredOutputError",
        "ContextOverflowError",
        "ContentFilterError",
        "APIError",
    ];
    let name = if NAMES.contains(&error.code.as_str()) {
        error.code.as_str()
    } else {
        "UnknownError"
    };
    let mut data = json!({"message": error.message});
    if name != error.code && !error.code.is_empty() {
        data["code"] = Value::from(error.code.as_str());
    }
    for key in ["statusCode", "isRetryable"] {
        if let Some(value) = error.extra.get(key) {
            data[key] = value.to_value();
        }
    }
    json!({"name": name, "data": data})
}
