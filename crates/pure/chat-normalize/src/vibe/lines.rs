//! Which values are of Mistral Vibe, and whose session they name.

use serde_json::Value;

use crate::value::{list_of, str_of, text_of};

/// The kinds of entries.
const KINDS: [&str; 6] = [
    "message",
    "reasoning",
    "effect",
    "callback",
    "checkpoint",
    "notice",
];

/// Whether a value is an entry of a history.
pub(super) fn is_entry(value: &Value) -> bool {
    let is_status = |status| matches!(status, "completed" | "in_progress");
    text_of(value, "id").is_some()
        && text_of(value, "sessionId").is_some()
        && str_of(value, "generationStatus").is_some_and(is_status)
        && str_of(value, "type").is_some_and(|kind| KINDS.contains(&kind))
        && value.get("createdAt").is_some_and(Value::is_number)
}

/// Whether a value is a record of the journal. The state of a snapshot says nothing by itself: it is read where its entries
/// are given, too.
pub(super) fn is_record(value: &Value) -> bool {
    record_of(value).is_some()
}

/// A record of the journal: its kind and what it holds.
pub(super) fn record_of(value: &Value) -> Option<(&str, &Value)> {
    value.get("recovery_journal_record_version")?;
    value.get("sequence")?.as_u64()?;
    Some((str_of(value, "type")?, value.get("payload")?))
}

/// The state of a session that a snapshot holds.
pub(super) fn state_of(value: &Value) -> Option<&Value> {
    value.get("projection_state_version")?;
    value.get("snapshot").filter(|state| state.is_object())
}

/// Whether a value is what `meta.json` says of a session.
pub(super) fn is_meta(value: &Value) -> bool {
    text_of(value, "session_id").is_some()
        && value.get("title_source").is_some()
        && value.get("environment").is_some()
}

/// The session that a value names.
pub(super) fn session_of(value: &Value) -> Option<String> {
    let name = if let Some((_, payload)) = record_of(value) {
        let of_entry = |op: &Value| {
            let at = ["/entry/sessionId", "/state/session/id"];
            let name = at.iter().find_map(|at| op.pointer(at)?.as_str());
            name.map(str::to_owned)
        };
        let told = ["/params/sessionId", "/routing/sessionId"];
        let told = told.iter().find_map(|at| payload.pointer(at)?.as_str());
        let named = || list_of(payload, "delta").iter().find_map(of_entry);
        told.map(str::to_owned).or_else(named)
    } else if state_of(value).is_some() || is_meta(value) {
        text_of(value, "session_id").map(str::to_owned)
    } else if is_entry(value) {
        text_of(value, "sessionId").map(str::to_owned)
    } else {
        None
    };
    name.filter(|name| !name.is_empty())
}
