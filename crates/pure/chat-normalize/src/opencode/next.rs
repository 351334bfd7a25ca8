//! The newer family of the bus's events, `session.next.*`: each in the words of the older one.
//!
//! | event | as |
//! |---|---|
//! | `prompted`, `prompt.admitted` | the user's message and its parts, once a message: `answers` |
//! | `step.started`, `step.ended`, `step.failed` | the answer as it begins, and as it is whole: `answers` |
//! | `text.*`, `reasoning.*` | its parts and their pieces: `texts` |
//! | `tool.*` | its part, as the call goes on: `calls` |
//! | `shell.*` | a call of the user's own: `calls` |
//! | `retried` | the status that says so |
//! | `compaction.*` | a summary, and that the session was made shorter: `summaries` |
//!
//! A server may tell both families of the same work: the one that begins is read, the other is passed over. After the types
//! of OpenCode 1.14 to 1.19, where the members stand in `properties`, or in `data`.

mod answers;
mod calls;
mod summaries;
mod texts;

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use crate::value::{millis, millis_of_rfc3339, text_of};
use calls::Call;

/// The beginning of their names.
pub(super) const FAMILY: &str = "session.next.";

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

/// An event of the family: where and when it was said, and what.
#[derive(Clone, Copy, Debug)]
struct Said<'a> {
    id: &'a str,
    session: &'a str,
    time_ms: Option<i64>,
    properties: &'a Value,
}

/// When an event was, in milliseconds.
pub(super) fn time_of(properties: &Value) -> Option<i64> {
    let time = properties.get("timestamp")?;
    millis(time).or_else(|| time.as_str().and_then(millis_of_rfc3339))
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
        let said = Said {
            id: event_id,
            session,
            time_ms: time_of(properties),
            properties,
        };
        match kind.strip_prefix(FAMILY)? {
            "prompted" | "prompt.admitted" | "prompt.promoted" => self.prompted(&said),
            "shell.started" => self.shell_started(&said),
            "shell.ended" => self.shell_ended(&said),
            "retried" => Some(retried(&said)),
            "compaction.started" => {
                let begun = properties.clone();
                self.compacting.insert(session.to_owned(), begun);
                Some(Vec::new())
            }
            "compaction.delta" => Some(Vec::new()),
            "compaction.ended" => Some(self.compacted(&said)),
            "agent.switched" | "model.switched" | "moved" => Some(Vec::new()),
            of_answer => self.of_answer(of_answer, &said),
        }
    }

    fn of_answer(&mut self, kind: &str, said: &Said<'_>) -> Option<Told> {
        let answer = text_of(said.properties, "assistantMessageID")?;
        Some(match kind.split_once('.')? {
            ("step", "started") => self.step_started(said, answer),
            ("step", "ended") => self.step_ended(said, answer),
            ("step", "failed") => self.step_failed(said, answer),
            (kind @ ("text" | "reasoning"), "started") => part(said.begun(answer, kind)),
            (kind @ ("text" | "reasoning"), "ended") => part(said.whole(answer, kind)),
            (kind @ ("text" | "reasoning"), "delta") => said.piece(answer, kind),
            ("tool", step) => {
                let call_id = text_of(said.properties, "callID")?;
                part(self.tool(step, said, answer, call_id)?)
            }
            _ => return None,
        })
    }
}

fn retried(said: &Said<'_>) -> Told {
    let error = said.properties.get("error").unwrap_or(&Value::Null);
    let status = json!({"type": "retry", "attempt": said.properties.get("attempt"),
        "message": error.get("message")});
    vec![("session.status", json!({ "status": status }))]
}

impl Said<'_> {
    /// The first of these members that is a text.
    fn any_of(&self, keys: &[&str]) -> Option<&str> {
        keys.iter().find_map(|key| text_of(self.properties, key))
    }

    fn words_of_error(&self) -> String {
        let error = self.properties.get("error").unwrap_or(&Value::Null);
        let words = error.as_str().or_else(|| text_of(error, "message"));
        words.map_or_else(|| error.to_string(), str::to_owned)
    }
}

fn part(part: Value) -> Told {
    vec![("message.part.updated", json!({ "part": part }))]
}
