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
            grows: crate::value::is_true(value, "partial"),
        })
    }

    /// Its text as JSON; `Null` where it is none.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(self.text).unwrap_or(Value::Null)
    }
}
