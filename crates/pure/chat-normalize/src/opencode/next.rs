//! The newer family of the bus's events, `session.next.*`: each in the words of the older one.
//!
//! | event | as |
//! |---|---|
//! | `prompted`, `prompt.admitted` | the user's message and its parts, once a message |
//! | `step.started`, `step.ended`, `step.failed` | the answer as it begins, and as it is whole |
//! | `text.*`, `reasoning.*` | its parts and their pieces |
//! | `tool.*` | its part, as the call goes on |
//! | `shell.*` | a call of the user's own |
//! | `retried` | the status that says so |
//! | `compaction.*` | a summary, and that the session was made shorter |
//!
//! A server may tell both families of the same work: the one that begins is read, the other is passed over. After the types
//! of OpenCode 1.14 to 1.19, where the members stand in `properties`, or in `data`.

mod calls;

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::emit::hash;
use crate::value::{is_true, list_of, millis_of_rfc3339, str_of, text_of};

/// The beginning of their names.
pub(super) const FAMILY: &str = "session.next.";

/// Calls that are kept until their results come, at most.
const MAX_CALLS: usize = 10_000;

/// What an event says, in the words of the older family: kinds and their properties.
pub(super) type Told = Vec<(&'static str, Value)>;

/// What is kept between the events.
#[derive(Debug, Default)]
pub(super) struct Next {
    /// The user's messages that were told.
    prompts: HashSet<u64>,
    /// The last of them in each session, which its answers are for.
    asked: BTreeMap<String, String>,
    /// What is known of the calls that have no result, by their sessions and ids.
    calls: BTreeMap<String, Call>,
    /// Answers as they began, and why the session is made shorter.
    answers: BTreeMap<String, Value>,
    compacting: BTreeMap<String, Value>,
}

#[derive(Debug, Default)]
struct Call {
    tool: String,
    input: Value,
    began: Value,
}

/// When an event was, in milliseconds.
pub(super) fn time_of(properties: &Value) -> Option<i64> {
    let time = properties.get("timestamp")?;
    crate::value::millis(time).or_else(|| time.as_str().and_then(millis_of_rfc3339))
}

impl Next {
    /// The event in older words; empty where it says nothing more, `None` where it is not known.
    pub(super) fn told(
        &mut self,
        kind: &str,
        session: &str,
        event_id: &str,
        properties: &Value,
    ) -> Option<Told> {
        let time = json!(time_of(properties));
        let answer = text_of(properties, "assistantMessageID");
        let kind = kind.strip_prefix(FAMILY)?;
        match kind {
            "prompted" | "prompt.admitted" | "prompt.promoted" => {
                self.prompted(session, event_id, &time, properties)
            }
            "step.started" => Some(self.step_started(session, answer?, &time, properties)),
            "step.ended" => Some(self.step_ended(session, answer?, &time, properties)),
            "step.failed" => Some(self.step_failed(session, answer?, &time, properties)),
            "text.started" => Some(part(text_part(
                answer?, "text", "textID", &time, properties,
            ))),
            "text.ended" => Some(part(whole_part(
                answer?, "text", "textID", &time, properties,
            ))),
            "text.delta" => Some(piece(answer?, "textID", properties)),
            "reasoning.started" => {
                let begun = text_part(answer?, "reasoning", "reasoningID", &time, properties);
                Some(part(begun))
            }
            "reasoning.ended" => {
                let whole = whole_part(answer?, "reasoning", "reasoningID", &time, properties);
                Some(part(whole))
            }
            "reasoning.delta" => Some(piece(answer?, "reasoningID", properties)),
            kind if kind.starts_with("tool.") => {
                let call_id = text_of(properties, "callID")?;
                self.tool(kind, session, answer?, call_id, &time, properties)
            }
            "shell.started" | "shell.ended" => self.shell(kind, session, &time, properties),
            "retried" => {
                let error = properties.get("error").unwrap_or(&Value::Null);
                Some(vec![(
                    "session.status",
                    json!({"status": {"type": "retry", "attempt": properties.get("attempt"),
                        "message": error.get("message")}}),
                )])
            }
            "compaction.started" => {
                self.compacting
                    .insert(session.to_owned(), properties.clone());
                Some(Vec::new())
            }
            "compaction.delta" => Some(Vec::new()),
            "compaction.ended" => Some(self.compacted(session, event_id, &time, properties)),
            "agent.switched" | "model.switched" | "moved" => Some(Vec::new()),
            _ => None,
        }
    }

    fn prompted(
        &mut self,
        session: &str,
        event_id: &str,
        time: &Value,
        properties: &Value,
    ) -> Option<Told> {
        let prompt = properties.get("prompt").filter(|prompt| prompt.is_object());
        let id = text_of(properties, "messageID").unwrap_or(event_id);
        if id.is_empty() || (prompt.is_none() && !self.asked.contains_key(session)) {
            return None;
        }
        self.asked.insert(session.to_owned(), id.to_owned());
        if !self.prompts.insert(hash(id.as_bytes())) {
            return Some(Vec::new());
        }
        let prompt = prompt?;
        let mut told = vec![(
            "message.updated",
            json!({"info": {"id": id, "sessionID": session, "role": "user", "time": {"created": time}}}),
        )];
        if let Some(text) = text_of(prompt, "text") {
            let held = json!({"id": format!("{id}.text"), "messageID": id, "sessionID": session,
                "type": "text", "text": text});
            told.extend(part(held));
        }
        for (n, file) in list_of(prompt, "files").iter().enumerate() {
            let held = json!({"id": format!("{id}.file{n}"), "messageID": id, "sessionID": session,
                "type": "file", "mime": file.get("mime"), "url": file.get("uri"),
                "filename": file.get("name")});
            told.extend(part(held));
        }
        Some(told)
    }

    fn step_started(
        &mut self,
        session: &str,
        answer: &str,
        time: &Value,
        properties: &Value,
    ) -> Told {
        let model = properties.get("model").unwrap_or(&Value::Null);
        let info = json!({"id": answer, "sessionID": session, "role": "assistant",
            "parentID": self.asked.get(session), "modelID": model.get("id"),
            "providerID": model.get("providerID"), "mode": properties.get("agent"),
            "time": {"created": time}});
        self.answers.insert(answer.to_owned(), info.clone());
        vec![
            ("session.status", json!({"status": {"type": "busy"}})),
            ("message.updated", json!({"info": info})),
        ]
    }

    fn answer(&mut self, session: &str, answer: &str, time: &Value) -> Value {
        let mut info = self.answers.remove(answer).unwrap_or_else(|| {
            json!({"id": answer, "sessionID": session, "role": "assistant",
                "parentID": self.asked.get(session), "time": {"created": time}})
        });
        info["time"]["completed"] = time.clone();
        info
    }

    fn step_ended(
        &mut self,
        session: &str,
        answer: &str,
        time: &Value,
        properties: &Value,
    ) -> Told {
        let mut info = self.answer(session, answer, time);
        let finish = text_of(properties, "finish").or_else(|| text_of(properties, "reason"));
        info["finish"] = json!(finish);
        let spent = json!({"id": format!("{answer}.finish"), "messageID": answer,
            "type": "step-finish", "reason": finish, "cost": properties.get("cost"),
            "tokens": properties.get("tokens")});
        let mut told = part(spent);
        told.push(("message.updated", json!({"info": info})));
        if !matches!(finish, Some("tool-calls" | "tool_calls")) {
            // Servers that tell this family alone say it no other way.
            told.push(("session.status", json!({"status": {"type": "idle"}})));
        }
        told
    }

    fn step_failed(
        &mut self,
        session: &str,
        answer: &str,
        time: &Value,
        properties: &Value,
    ) -> Told {
        let mut info = self.answer(session, answer, time);
        info["error"] = error_of(properties);
        vec![
            ("message.updated", json!({"info": info})),
            ("session.status", json!({"status": {"type": "idle"}})),
        ]
    }

    fn compacted(
        &mut self,
        session: &str,
        event_id: &str,
        time: &Value,
        properties: &Value,
    ) -> Told {
        let begun = self.compacting.remove(session).unwrap_or_default();
        let is_manual = text_of(&begun, "reason").or_else(|| text_of(properties, "reason"))
            == Some("manual")
            || (begun.get("auto").is_some() && !is_true(&begun, "auto"));
        let id = text_of(properties, "messageID").or_else(|| text_of(&begun, "messageID"));
        let id = format!("{}.summary", id.unwrap_or(event_id));
        let summary = ["text", "summary"]
            .iter()
            .find_map(|key| text_of(properties, key));
        let mut told = part(json!({"id": format!("{id}.asked"), "messageID": id,
            "type": "compaction", "auto": !is_manual}));
        if let Some(summary) = summary {
            let info = |end: &Value| {
                json!({"id": id, "sessionID": session, "role": "assistant", "summary": true,
                    "finish": "stop", "parentID": self.asked.get(session),
                    "time": {"created": time, "completed": end}})
            };
            told.insert(0, ("message.updated", json!({"info": info(&Value::Null)})));
            told.extend(part(
                json!({"id": format!("{id}.text"), "messageID": id, "type": "text",
                "text": summary, "time": {"start": time, "end": time}}),
            ));
            told.push(("message.updated", json!({"info": info(time)})));
        }
        told.push(("session.compacted", json!({})));
        told
    }
}

fn part(part: Value) -> Told {
    vec![("message.part.updated", json!({ "part": part }))]
}

fn text_part(answer: &str, kind: &str, id: &str, time: &Value, properties: &Value) -> Value {
    let id = id_of_part(answer, kind, text_of(properties, id));
    json!({"id": id, "messageID": answer, "type": kind, "text": "", "time": {"start": time}})
}

fn whole_part(answer: &str, kind: &str, id: &str, time: &Value, properties: &Value) -> Value {
    let mut part = text_part(answer, kind, id, time, properties);
    part["text"] = json!(str_of(properties, "text").unwrap_or(""));
    part["time"]["end"] = time.clone();
    part
}

fn piece(answer: &str, id: &str, properties: &Value) -> Told {
    let kind = id.strip_suffix("ID").unwrap_or(id);
    let part_id = id_of_part(answer, kind, text_of(properties, id));
    vec![(
        "message.part.delta",
        json!({"messageID": answer, "partID": part_id, "field": "text",
            "delta": str_of(properties, "delta").unwrap_or("")}),
    )]
}

/// Ids of texts count in their answer.
fn id_of_part(answer: &str, kind: &str, id: Option<&str>) -> String {
    match id {
        Some(id) => format!("{answer}.{id}"),
        None => format!("{answer}.{kind}"),
    }
}

fn words_of_error(properties: &Value) -> String {
    let error = properties.get("error").unwrap_or(&Value::Null);
    let words = error.as_str().or_else(|| text_of(error, "message"));
    words.map_or_else(|| error.to_string(), str::to_owned)
}

/// An error as an answer of the older family bears it.
fn error_of(properties: &Value) -> Value {
    let error = properties.get("error").unwrap_or(&Value::Null);
    let name = ["name", "type", "_tag"]
        .iter()
        .find_map(|key| text_of(error, key));
    json!({"name": name.unwrap_or("UnknownError"), "data": {"message": words_of_error(properties)}})
}
