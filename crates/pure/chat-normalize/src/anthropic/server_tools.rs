//! What the tools give that the service runs itself: an object that says whether it is an error, or how a command ended.

use serde_json::Value;

use crate::value::{list_of, str_of, text_of};
use crate::words::counted;

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

/// What a command printed, what a search found, or why a tool failed; `None` where it is none of these.
pub(crate) fn text_of_result(content: &Value) -> Option<String> {
    if let Some(found) = content.as_array() {
        return texts_of_found(found);
    }
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
    let mut text = format!("{out}{between}{err}");
    for file in list_of(content, "content") {
        if let Some(id) = text_of(file, "file_id") {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[file {id}]"));
        }
    }
    Some(text)
}

/// How much a search found; `None` where it is none.
pub(crate) fn summary_of_result(content: &Value) -> Option<String> {
    let found = content.as_array()?;
    texts_of_found(found).map(|_| counted(found.len(), "result", "results"))
}

/// Titles and links: the pages themselves are there encrypted, for the model alone.
fn texts_of_found(found: &[Value]) -> Option<String> {
    let text = |result: &Value| {
        let is_result = str_of(result, "type") == Some("web_search_result");
        let url = text_of(result, "url").filter(|_| is_result)?;
        let age = text_of(result, "page_age").map(|age| format!(" ({age})"));
        Some(match text_of(result, "title") {
            Some(title) => format!("{title}{}\n{url}", age.unwrap_or_default()),
            None => url.to_owned(),
        })
    };
    let texts: Option<Vec<String>> = found.iter().map(text).collect();
    texts
        .filter(|texts| !texts.is_empty())
        .map(|texts| texts.join("\n\n"))
}
