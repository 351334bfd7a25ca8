//! What a call gave, in both of its shapes: its words, its pictures, and why it failed.

use chat_event::Extra;
use chat_event::payload::ToolError;
use serde_json::Value;

use crate::tool::{self, attached};
use crate::value::{list_of, str_of, text_of};

/// What a call gave, in either shape.
pub(super) struct Output<'a> {
    whole: &'a Value,
    /// What the tool says in members of its own.
    pub(super) value: &'a Value,
}

impl<'a> Output<'a> {
    pub(super) fn of(state: &'a Value) -> Output<'a> {
        let whole = state.get("output").unwrap_or(&Value::Null);
        let value = whole.get("structured_content").unwrap_or(whole);
        Output { whole, value }
    }

    pub(super) fn word(&self, key: &str) -> Option<&'a str> {
        text_of(self.value, key)
    }

    /// What the program notes of an edit, beside what the tool says.
    pub(super) fn noted(&self) -> Option<&'a Value> {
        self.whole
            .get("_meta")?
            .get("mistralai.vibe.sdk.search_replace")
    }

    pub(super) fn number(&self, key: &str) -> Option<i64> {
        self.value.get(key).and_then(Value::as_i64)
    }

    /// The words it gave.
    pub(super) fn text(&self, state: &Value) -> String {
        let part = |key: &str| str_of(self.value, key);
        if let Some(stdout) = part("stdout") {
            return [stdout, part("stderr").unwrap_or("")].concat();
        }
        if let Some(content) = part("content") {
            // What was written is what was asked for.
            let is_written = self.value.get("fileExisted").is_some();
            return if is_written {
                String::new()
            } else {
                content.to_owned()
            };
        }
        if self.value.get("todos").is_some_and(Value::is_array) {
            // The list itself is told as a plan.
            let shown = || state.pointer("/display/message")?.as_str();
            if let Some(message) = part("message").or_else(shown) {
                return message.to_owned();
            }
        }
        if let Some(text) = text_of(state, "outputText") {
            return text.to_owned();
        }
        let texts = list_of(self.whole, "content").iter();
        let texts: Vec<&str> = texts.filter_map(|block| text_of(block, "text")).collect();
        if !texts.is_empty() {
            return texts.join("\n");
        }
        let is_edit = ["file", "file_existed", "previousContent"];
        let is_bare = |value: &Value| {
            let members = value.as_object();
            members.is_none_or(|members| members.keys().all(|key| key == "type"))
        };
        let is_failure = str_of(self.value, "type") == Some("failure");
        if is_failure
            || is_bare(self.value)
            || is_edit.iter().any(|it| self.value.get(it).is_some())
        {
            return String::new();
        }
        self.value.to_string()
    }

    /// Pictures.
    pub(super) fn attached(&self) -> Extra {
        let blocks = list_of(self.whole, "content").iter();
        let pictures = blocks.filter(|block| str_of(block, "type") == Some("image"));
        let pictures: Vec<Value> = pictures.cloned().collect();
        attached(super::content::said(&pictures).0.attachments)
    }
}

/// Why a call failed, where it did. A command that ended with another code than 0 was completed: the code says it.
pub(super) fn error_of(
    state: &Value,
    status: &str,
    text: &str,
    exit_code: Option<i64>,
    output: &Output<'_>,
) -> Option<ToolError> {
    let told = state.get("error").unwrap_or(&Value::Null);
    let reason = text_of(state, "reason");
    let message = text_of(told, "message").or(reason);
    match status {
        "failed" => {
            let code = match text_of(told, "code") {
                Some("tool_denied") => "rejected",
                code => code.unwrap_or("error"),
            };
            let message = message.filter(|it| !it.is_empty()).unwrap_or(text);
            Some(tool::error(Some(code), message))
        }
        "cancelled" => Some(tool::error(
            Some("interrupted"),
            message.unwrap_or("stopped"),
        )),
        "skipped" => Some(tool::error(Some("rejected"), message.unwrap_or("skipped"))),
        _ if output.value.get("timed_out").and_then(Value::as_bool) == Some(true) => {
            Some(tool::error(Some("timeout"), "the command took too long"))
        }
        // Printed, a command's code is not told, but that it was not 0.
        _ if exit_code.is_none()
            && output.value.get("stdout").is_some()
            && state.pointer("/display/success").and_then(Value::as_bool) == Some(false) =>
        {
            Some(tool::error(Some("error"), "the command failed"))
        }
        _ => None,
    }
}
