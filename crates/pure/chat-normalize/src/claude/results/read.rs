//! What a result says beside its text: why it failed, its exit code, and those of its details that are short.

use chat_event::Json;
use serde_json::{Map, Value};

use crate::claude::session::Call;
use crate::value::{is_true, str_of, text_of};

/// The longest string among a result's details; the result itself says the rest.
const MAX_DETAIL_BYTES: usize = 400;

/// What the line says of the call beside its result: `tool_result_meta[]` in a stream, the line itself in a transcript.
pub(super) fn meta_of(line: &Value, native_id: &str) -> Value {
    if let Some(entries) = line.get("tool_result_meta").and_then(Value::as_array) {
        return entries
            .iter()
            .find(|entry| str_of(entry, "id") == Some(native_id))
            .cloned()
            .unwrap_or(Value::Null);
    }
    let mut meta = Map::new();
    for (from, to) in [
        ("toolDenialKind", "non_execution_kind"),
        ("permissionDecision", "permission_decision"),
        ("toolDenialBeforeRun", "before_run"),
        ("toolDenialUnanswered", "unanswered"),
    ] {
        if let Some(value) = line.get(from) {
            meta.insert(to.to_owned(), value.clone());
        }
    }
    if meta.is_empty() {
        Value::Null
    } else {
        Value::Object(meta)
    }
}

/// Whether that is said of a call whose result was lost with the program, when the session is taken up again.
pub(crate) fn is_of_lost_call(text: &str) -> bool {
    text.starts_with("[Tool call interrupted: the session ended before")
}

pub(super) fn error_code(meta: &Value, text: &str, exit_code: Option<i64>) -> Option<&'static str> {
    if text_of(meta, "unanswered").is_some() {
        return Some("not_run");
    }
    match text_of(meta, "non_execution_kind") {
        Some("user-rejected") => return Some("rejected"),
        Some("permission-rule") => return Some("denied"),
        Some("interrupted") => return Some("interrupted"),
        Some(_) => return Some("not_run"),
        None => {}
    }
    if exit_code.is_some() {
        Some("exit_code")
    } else if is_refusal(text) {
        Some("rejected")
    } else if text.contains("<tool_use_error>") {
        Some("tool_use_error")
    } else {
        None
    }
}

/// Whether that is said of a call that a person did not let run, or stopped.
pub(in crate::claude) fn is_refusal(text: &str) -> bool {
    text.starts_with("The user doesn't want to")
}

pub(super) fn without_error_tags(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("<tool_use_error>")
        .and_then(|text| text.strip_suffix("</tool_use_error>"))
        .unwrap_or(text)
}

/// A command's exit code: failures say it in their first line; a success that ended says none and is 0.
pub(super) fn exit_code(
    call: &Call,
    text: &str,
    failed: bool,
    details: Option<&Value>,
) -> Option<i64> {
    if call.name != "Bash" {
        return None;
    }
    if failed {
        let first = text
            .strip_prefix("Error: ")
            .unwrap_or(text)
            .lines()
            .next()?;
        return first.strip_prefix("Exit code ")?.trim().parse().ok();
    }
    let ended = details.is_some_and(|details| {
        details.is_object()
            && details.get("backgroundTaskId").is_none_or(Value::is_null)
            && details
                .get("returnCodeInterpretation")
                .is_none_or(Value::is_null)
            && !is_true(details, "interrupted")
    });
    ended.then_some(0)
}

/// The text of a result's content, its blocks joined by newlines; a picture is named, not shown.
pub(crate) fn text_of_content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<String> = blocks
                .iter()
                .filter_map(|block| match str_of(block, "type") {
                    Some("text") => str_of(block, "text").map(str::to_owned),
                    Some("image") => Some("[image]".to_owned()),
                    Some(_) | None => block.as_str().map(str::to_owned),
                })
                .collect();
            texts.join("\n")
        }
        Value::Null => String::new(),
        Value::Object(_) | Value::Number(_) | Value::Bool(_) => content.to_string(),
    }
}

/// The content as `tool_result.result`: a string where it is nothing but text, else as the provider has it.
pub(super) fn result_json(content: &Value, text: &str) -> Json {
    let only_text = match content {
        Value::Array(blocks) => blocks
            .iter()
            .all(|block| str_of(block, "type") == Some("text")),
        Value::String(_) | Value::Null => true,
        Value::Object(_) | Value::Number(_) | Value::Bool(_) => false,
    };
    if only_text {
        Json::string(text)
    } else {
        Json::from(content)
    }
}

/// The short members of the details: what the result's text and the diff do not say.
pub(super) fn short_details(details: &Value) -> Option<Json> {
    let members = details.as_object()?;
    let mut kept = Map::new();
    for (name, value) in members {
        let short = match value {
            Value::String(text) => {
                text.len() <= MAX_DETAIL_BYTES
                    && !matches!(
                        name.as_str(),
                        "stdout" | "oldString" | "newString" | "content"
                    )
            }
            Value::Number(_) | Value::Bool(_) => true,
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        if short {
            kept.insert(name.clone(), value.clone());
        }
    }
    (!kept.is_empty()).then(|| Json::from(Value::Object(kept)))
}
