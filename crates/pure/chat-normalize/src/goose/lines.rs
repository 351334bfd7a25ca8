//! Which values are Goose's, and what they are.

use serde_json::Value;

use crate::value::{list_of, str_of, text_of};

/// Blocks that no other program writes so.
const OWN_BLOCKS: [&str; 10] = [
    "toolRequest",
    "toolResponse",
    "toolConfirmationRequest",
    "frontendToolRequest",
    "actionRequired",
    "redactedThinking",
    "systemNotification",
    "contextLengthExceeded",
    "conversationCompacted",
    "summarizationRequested",
];

/// Blocks that others write so, too.
const COMMON_BLOCKS: [&str; 3] = ["text", "image", "thinking"];

/// Whether a value is a message, and whether that is sure.
pub(super) fn is_message(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    if !matches!(str_of(value, "role")?, "user" | "assistant")
        || !value.get("created")?.is_i64()
        || has("type")
        || has("choices")
    {
        return None;
    }
    let blocks = value.get("content")?.as_array()?;
    let is_block = |block: &Value| {
        let kind = str_of(block, "type").unwrap_or("");
        COMMON_BLOCKS.contains(&kind) || OWN_BLOCKS.contains(&kind)
    };
    if !blocks.iter().all(is_block) {
        return None;
    }
    let is_own = |block: &Value| OWN_BLOCKS.contains(&str_of(block, "type").unwrap_or(""));
    let metadata = value.get("metadata");
    let is_marked = metadata.is_some_and(|it| it.get("userVisible").is_some());
    Some(is_marked || blocks.iter().any(is_own))
}

/// Whether a value is what is told of a session: an export with its messages, or the first line of a file.
pub(super) fn is_about(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    text_of(value, "working_dir").is_some()
        && !has("role")
        && (value.get("conversation").is_some_and(Value::is_array)
            || (has("message_count") && (has("description") || has("total_tokens"))))
}

/// Whether a value is what a run prints in the end.
fn is_outcome(value: &Value) -> bool {
    let told = |metadata: &Value| {
        metadata.get("total_tokens").is_some() || text_of(metadata, "status").is_some()
    };
    let messages = list_of(value, "messages");
    !messages.is_empty()
        && messages.iter().all(|message| is_message(message).is_some())
        && value.get("metadata").is_some_and(told)
}

/// Whether a value is of a session's file, and whether that is sure.
pub(super) fn is_of_session(value: &Value) -> Option<bool> {
    if is_about(value) || is_outcome(value) {
        return Some(true);
    }
    // Without a mark of its own a message may be any program's.
    is_message(value).filter(|sure| *sure)
}

/// The session that a value names: an export its own, a message the time of its first one.
pub(super) fn session_of(value: &Value) -> Option<String> {
    if is_of_session(value).is_none() {
        is_message(value)?;
    }
    let first = list_of(value, "messages").first().unwrap_or(value);
    let created = || first.get("created").and_then(Value::as_i64);
    let own = text_of(value, "id").filter(|_| is_about(value));
    own.map(str::to_owned)
        .or_else(|| created().map(|created| format!("goose-{created}")))
}

/// Whether a line is of a stream, and whether that is sure.
pub(super) fn is_of_stream(value: &Value) -> Option<bool> {
    let has = |key: &str| value.get(key).is_some();
    if [
        "timestamp",
        "session_id",
        "sessionId",
        "sessionID",
        "uuid",
        "id",
    ]
    .into_iter()
    .any(has)
    {
        return None;
    }
    let n_members = value.as_object()?.len();
    match str_of(value, "type")? {
        "message" => is_message(value.get("message")?).map(|_| true),
        "notification" => has("extension_id").then_some(true),
        // Others may end so, too.
        "complete" => {
            let members = ["type", "total_tokens", "input_tokens", "output_tokens"];
            let n_known = members.into_iter().filter(|it| has(it)).count();
            (has("total_tokens") && n_known == n_members).then_some(false)
        }
        _ => None,
    }
}
