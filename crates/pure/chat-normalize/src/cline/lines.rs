//! Which values are messages of a task, and what they say of the task.

use serde_json::Value;

use crate::value::{millis, str_of, text_of};

/// Whether a value is a message that a task shows, or the line that a task of the program's own output begins with.
pub(super) fn is_message(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type")?;
    if kind == "task_started" {
        // What follows it tells more.
        return (value.as_object()?.len() == 2 && text_of(value, "taskId").is_some())
            .then_some(false);
    }
    if !matches!(kind, "ask" | "say") {
        return None;
    }
    let says = text_of(value, kind)?;
    let ms = value.get("ts").and_then(millis)?;
    let is_word = |b: u8| b.is_ascii_lowercase() || b == b'_';
    if ms < FIRST_MS || !says.bytes().all(is_word) {
        return None;
    }
    Some(KNOWN.contains(&says))
}

/// In milliseconds this is in 2020: no task is older.
const FIRST_MS: i64 = 1_577_836_800_000;

/// What tasks begin with, and what each has some of.
const KNOWN: [&str; 12] = [
    "task",
    "text",
    "reasoning",
    "api_req_started",
    "tool",
    "command",
    "command_output",
    "user_feedback",
    "completion_result",
    "followup",
    "checkpoint_saved",
    "checkpoint_created",
];

/// The session that a value names: a task is called by the time of its first message, which its folder is called by, too,
/// within milliseconds.
pub(super) fn session_of(value: &Value) -> Option<String> {
    is_message(value)?;
    let id = text_of(value, "taskId").map(str::to_owned);
    let began = || value.get("ts").and_then(millis);
    id.or_else(|| began().map(|ms| format!("cline-{ms}")))
}

/// What a request ends in as long as the program puts together what surrounds the task.
pub(super) const LOADING: &str = "\n\nLoading...";

fn is_loading(kind: &str, value: &Value) -> bool {
    let text = str_of(value, "text").filter(|_| kind == "api_req_started");
    text.is_some_and(|text| text.ends_with("\\n\\nLoading...\"}"))
}

/// A message of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) value: &'a Value,
    /// What is said, or asked.
    pub(super) kind: &'a str,
    /// Whether it waits for a person.
    pub(super) is_ask: bool,
    pub(super) text: &'a str,
    /// Its time, which it is known by while it grows.
    pub(super) ts: i64,
    /// Whether more of it was to come when it was written.
    pub(super) grows: bool,
}

impl<'a> Message<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        let form = str_of(value, "type")?;
        let is_ask = form == "ask";
        let kind = (is_ask || form == "say").then(|| text_of(value, form))??;
        Some(Message {
            value,
            kind,
            is_ask,
            text: str_of(value, "text").unwrap_or(""),
            ts: value.get("ts").and_then(millis).unwrap_or(0),
            grows: crate::value::is_true(value, "partial") || is_loading(kind, value),
        })
    }

    /// Whether both are one message, at different times.
    pub(super) fn is_same(&self, other: &Message<'_>) -> bool {
        (self.ts, self.kind) == (other.ts, other.kind) && self.ts > 0
    }

    /// Its text as JSON; `Null` where it is none.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(self.text).unwrap_or(Value::Null)
    }
}
