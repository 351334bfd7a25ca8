//! Which values are Crush's: what it prints of a session, and rows of its tables by their columns.

use std::borrow::Cow;

use serde_json::Value;

use crate::value::{list_of, text_of};

/// What joins a message and its call in the id of the session of the agent that the call started.
const OF_CALL: &str = "$$";

/// Whether a value is what `crush session show --json` prints.
pub(super) fn is_shown(value: &Value) -> bool {
    let Some(meta) = value.get("meta") else {
        return false;
    };
    let has = |key: &str| meta.get(key).is_some();
    text_of(meta, "uuid").is_some()
        && has("prompt_tokens")
        && has("completion_tokens")
        && value
            .get("messages")
            .is_some_and(|it| it.is_array() || it.is_null())
}

/// Whether a value is a row as it is printed, with all columns: others keep messages of sessions in parts, too.
pub(super) fn is_whole_row(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    is_session_row(value)
        || is_message_row(value)
            && value.get("parts").is_some_and(Value::is_string)
            && ["model", "updated_at", "finished_at"].into_iter().all(has)
}

/// Whether a value is a row of one of the two tables.
pub(super) fn is_row(value: &Value) -> bool {
    is_session_row(value) || is_message_row(value)
}

/// Whether a value is a row of the table `sessions`.
pub(super) fn is_session_row(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    text_of(value, "id").is_some()
        && [
            "title",
            "message_count",
            "prompt_tokens",
            "completion_tokens",
            "cost",
            "created_at",
        ]
        .into_iter()
        .all(has)
        && !has("role")
}

/// Whether a value is a row of the table `messages`.
pub(super) fn is_message_row(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let is_parts = |parts: &Value| {
        let text = parts.as_str().map(str::trim_start);
        parts.is_array() || text.is_some_and(|text| text.starts_with('['))
    };
    text_of(value, "id").is_some()
        && text_of(value, "session_id").is_some()
        && text_of(value, "role").is_some()
        && has("created_at")
        && value.get("parts").is_some_and(is_parts)
}

/// The call that started the agent whose session is called so; `None` for any other session.
pub(super) fn starting_call(session: &str) -> Option<&str> {
    let (_, call) = session.split_once(OF_CALL)?;
    Some(call).filter(|call| !call.is_empty())
}

/// The parts of a message: a list, or a text of JSON. `Err` says why it cannot be read.
pub(super) fn parts_of(row: &Value) -> Result<Cow<'_, [Value]>, String> {
    let Some(text) = row.get("parts").and_then(Value::as_str) else {
        return Ok(Cow::Borrowed(list_of(row, "parts")));
    };
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(parts)) => Ok(Cow::Owned(parts)),
        Ok(Value::Null) => Ok(Cow::Borrowed(&[])),
        Ok(_) => Err("its parts are no list".to_owned()),
        Err(why) => Err(format!("its parts are no JSON: {why}")),
    }
}

/// A time of the database, in milliseconds: it is kept in seconds.
pub(super) fn time_of(value: &Value, key: &str) -> Option<i64> {
    let time = value.get(key)?.as_i64()?;
    let ms = match time {
        // In milliseconds this would be in 1973.
        ..100_000_000_000 => time.checked_mul(1000)?,
        ms => ms,
    };
    crate::value::is_time(ms).then_some(ms)
}
