//! The names of events and of their members, however they are written, and what is known by them.

use serde_json::Value;

use crate::value::{str_of, text_of};

/// Whether a value is one of these events.
pub(crate) fn is_ag_ui(value: &Value) -> Option<bool> {
    let kind = str_of(value, "type")?;
    let canonical = canonical(kind);
    if !KINDS.contains(&canonical.as_str()) {
        return None;
    }
    let has = |keys: &[&str]| keys.iter().any(|key| value.get(*key).is_some());
    match canonical.as_str() {
        "RAW" => (kind == "RAW" && has(&["event"])).then_some(false),
        "CUSTOM" => (kind == "CUSTOM" && has(&["name"])).then_some(false),
        _ if kind == canonical => Some(true),
        // Other cases are told by the members as well.
        _ => has(&[
            "messageId",
            "toolCallId",
            "threadId",
            "runId",
            "stepName",
            "snapshot",
            "messages",
            "message_id",
            "tool_call_id",
            "thread_id",
            "run_id",
            "step_name",
        ])
        .then_some(true),
    }
}

/// The thread an event belongs to.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    is_ag_ui(value)?;
    field(value, "threadId", "thread_id").map(str::to_owned)
}

const KINDS: [&str; 37] = [
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TEXT_MESSAGE_CHUNK",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_CHUNK",
    "TOOL_CALL_RESULT",
    "THINKING_START",
    "THINKING_END",
    "THINKING_TEXT_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END",
    "STATE_SNAPSHOT",
    "STATE_DELTA",
    "MESSAGES_SNAPSHOT",
    "ACTIVITY_SNAPSHOT",
    "ACTIVITY_DELTA",
    "RAW",
    "CUSTOM",
    "RUN_STARTED",
    "RUN_FINISHED",
    "RUN_ERROR",
    "STEP_STARTED",
    "STEP_FINISHED",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_MESSAGE_CHUNK",
    "REASONING_END",
    "REASONING_ENCRYPTED_VALUE",
    "SUBAGENT_STARTED",
    "SUBAGENT_FINISHED",
    "SUBAGENT_ERROR",
    "META",
];

/// Events that stand beside what is written and do not end it.
pub(super) fn is_aside(kind: &str) -> bool {
    matches!(
        kind,
        "RAW"
            | "CUSTOM"
            | "META"
            | "STATE_SNAPSHOT"
            | "STATE_DELTA"
            | "ACTIVITY_SNAPSHOT"
            | "ACTIVITY_DELTA"
            | "REASONING_ENCRYPTED_VALUE"
    )
}

/// `TextMessageStart`, `textMessageStart` and `text_message_start` as `TEXT_MESSAGE_START`.
pub(super) fn canonical(kind: &str) -> String {
    let mut made = String::with_capacity(kind.len() + 4);
    let mut before_lower = false;
    for c in kind.chars().take(64) {
        if c.is_ascii_uppercase() && before_lower {
            made.push('_');
        }
        before_lower = c.is_ascii_lowercase();
        made.push(c.to_ascii_uppercase());
    }
    made
}

/// A member by its name, or by the name that servers write which do not translate theirs.
pub(super) fn field<'a>(value: &'a Value, name: &str, snake: &str) -> Option<&'a str> {
    text_of(value, name).or_else(|| text_of(value, snake))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case() {
        for name in ["TextMessageStart", "textMessageStart", "text_message_start"] {
            assert_eq!(canonical(name), "TEXT_MESSAGE_START");
        }
        assert_eq!(
            KINDS
                .iter()
                .filter(|kind| canonical(kind) == **kind)
                .count(),
            KINDS.len()
        );
    }
}
