//! What the tools give that the service runs itself: an object that says whether it is an error, or how a command ended.

use serde_json::Value;

use crate::value::{str_of, text_of};

/// The code of the error that a result is; `None` where it is none.
pub(crate) fn error_of(content: &Value) -> Option<&str> {
    let kind = str_of(content, "type")?;
    kind.ends_with("_error")
        .then(|| text_of(content, "error_code").unwrap_or(kind))
}

/// The exit code of a command.
pub(crate) fn exit_code_of(content: &Value) -> Option<i64> {
    content.get("return_code").and_then(Value::as_i64)
}

/// What a command printed, or why a tool failed.
pub(crate) fn text_of_result(content: &Value) -> Option<String> {
    if let Some(code) = error_of(content) {
        return Some(text_of(content, "error_message").unwrap_or(code).to_owned());
    }
    let out = str_of(content, "stdout")?;
    let err = str_of(content, "stderr").unwrap_or("");
    let between = if out.is_empty() || out.ends_with('\n') || err.is_empty() {
        ""
    } else {
        "\n"
    };
    Some(format!("{out}{between}{err}"))
}
