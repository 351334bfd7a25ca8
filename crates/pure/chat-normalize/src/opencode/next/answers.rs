//! What the user says, and the answers to it as they begin and end.

use serde_json::{Value, json};

use super::{Next, Said, Told, part};
use crate::emit::hash;
use crate::value::{list_of, text_of};

impl Next {
    pub(super) fn prompted(&mut self, said: &Said<'_>) -> Option<Told> {
        let session = said.session;
        let prompt = said.properties.get("prompt");
        let prompt = prompt.filter(|prompt| prompt.is_object());
        let id = text_of(said.properties, "messageID").unwrap_or(said.id);
        if id.is_empty() || (prompt.is_none() && !self.asked.contains_key(session)) {
            return None;
        }
        self.asked.insert(session.to_owned(), id.to_owned());
        if !self.prompts.insert(hash(id.as_bytes())) {
            return Some(Vec::new());
        }
        let prompt = prompt?;
        let info = json!({"id": id, "sessionID": session, "role": "user",
            "time": {"created": said.time_ms}});
        let mut told = vec![("message.updated", json!({ "info": info }))];
        if let Some(text) = text_of(prompt, "text") {
            told.extend(part(json!({"id": format!("{id}.text"), "messageID": id,
                "sessionID": session, "type": "text", "text": text})));
        }
        for (n, file) in list_of(prompt, "files").iter().enumerate() {
            told.extend(part(json!({"id": format!("{id}.file{n}"), "messageID": id,
                "sessionID": session, "type": "file", "mime": file.get("mime"),
                "url": file.get("uri"), "filename": file.get("name")})));
        }
        Some(told)
    }

    pub(super) fn step_started(&mut self, said: &Said<'_>, answer: &str) -> Told {
        let model = said.properties.get("model").unwrap_or(&Value::Null);
        let info = json!({"id": answer, "sessionID": said.session, "role": "assistant",
            "parentID": self.asked.get(said.session), "modelID": model.get("id"),
            "providerID": model.get("providerID"), "mode": said.properties.get("agent"),
            "time": {"created": said.time_ms}});
        self.answers.insert(answer.to_owned(), info.clone());
        vec![
            ("session.status", json!({"status": {"type": "busy"}})),
            ("message.updated", json!({ "info": info })),
        ]
    }

    pub(super) fn step_ended(&mut self, said: &Said<'_>, answer: &str) -> Told {
        let mut info = self.whole_answer(said, answer);
        let finish = said.any_of(&["finish", "reason"]);
        info["finish"] = json!(finish);
        let mut told = part(
            json!({"id": format!("{answer}.finish"), "messageID": answer,
            "type": "step-finish", "reason": finish, "cost": said.properties.get("cost"),
            "tokens": said.properties.get("tokens")}),
        );
        told.push(("message.updated", json!({ "info": info })));
        if !matches!(finish, Some("tool-calls" | "tool_calls")) {
            // Servers that tell this family alone say it no other way.
            told.push(("session.status", json!({"status": {"type": "idle"}})));
        }
        told
    }

    pub(super) fn step_failed(&mut self, said: &Said<'_>, answer: &str) -> Told {
        let mut info = self.whole_answer(said, answer);
        info["error"] = error_of(said);
        vec![
            ("message.updated", json!({ "info": info })),
            ("session.status", json!({"status": {"type": "idle"}})),
        ]
    }

    /// The answer as it began, and that it is whole.
    fn whole_answer(&mut self, said: &Said<'_>, answer: &str) -> Value {
        let mut info = self.answers.remove(answer).unwrap_or_else(|| {
            json!({"id": answer, "sessionID": said.session, "role": "assistant",
                "parentID": self.asked.get(said.session), "time": {"created": said.time_ms}})
        });
        info["time"]["completed"] = json!(said.time_ms);
        info
    }
}

/// An error as an answer of the older family bears it.
fn error_of(said: &Said<'_>) -> Value {
    let error = said.properties.get("error").unwrap_or(&Value::Null);
    let name = ["name", "type", "_tag"]
        .iter()
        .find_map(|key| text_of(error, key));
    json!({"name": name.unwrap_or("UnknownError"), "data": {"message": said.words_of_error()}})
}
