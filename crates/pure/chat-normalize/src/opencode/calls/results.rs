//! What calls gave: results, why they failed, the files they changed.

use chat_event::payload::{FileEdit, ToolError, ToolResult};
use chat_event::{Extra, Json};
use serde_json::Value;

use super::ABORTED;
use crate::emit::{Emitter, Place};
use crate::opencode::parts::{SaidPart, attachment};
use crate::opencode::session::Session;
use crate::opencode::{times, tools};
use crate::value::{list_of, str_of, text_of};
use crate::words::one_line;

impl Session {
    pub(super) fn result(&mut self, emitter: &mut Emitter, said: &SaidPart<'_>, state: &Value) {
        let id = said.id;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        call.over = true;
        call.printed = String::new();
        call.raw = String::new();
        let (call_id, name, place) = (call.id.clone(), call.name.clone(), call.place.clone());
        let order = call.order;
        self.open_calls.remove(&order);
        let metadata = state.get("metadata").unwrap_or(&Value::Null);
        let output = str_of(state, "output").unwrap_or("");
        let error = failure(said.value, state, output);
        let time = state.get("time").unwrap_or(&Value::Null);
        let took = times::of_member(time, "start")
            .zip(times::of_member(time, "end"))
            .and_then(|(start, end)| u64::try_from(end.checked_sub(start)?).ok());
        let edits = if error.is_none() {
            self.edits.of_call(&call_id, &name, state)
        } else {
            Vec::new()
        };
        self.edited(emitter, said.message_id, id, &place, edits);
        let exit_code = metadata.get("exit").and_then(Value::as_i64);
        let summary = match &error {
            Some(error) => Some(one_line(&error.message)).filter(|line| !line.is_empty()),
            None => tools::summary(&name, state, output),
        };
        let mut extra = Extra::default();
        let attachments: Vec<Value> = list_of(state, "attachments")
            .iter()
            .map(attachment)
            .collect();
        if !attachments.is_empty() {
            extra.insert("attachments", Json::from(&Value::Array(attachments)));
        }
        if let Some(path) = text_of(metadata, "outputPath") {
            extra.insert("outputPath", Json::string(path));
        }
        let payload = ToolResult {
            tool_call_id: call_id.clone(),
            result: Json::string(output),
            error,
            summary,
            duration_ms: took,
            exit_code,
            extra,
            ..ToolResult::default()
        };
        self.asks.answered_by_call(emitter, &call_id, state);
        self.asks.expire(emitter, &call_id);
        self.add(emitter, id, "result", &place, payload);
        if name == "todowrite" {
            let todos = match list_of(metadata, "todos") {
                [] => list_of(state.get("input").unwrap_or(&Value::Null), "todos"),
                todos => todos,
            };
            self.plan(emitter, &place, todos);
        }
    }

    /// A state after the end says nothing new, but for what a call changed where its result did not tell.
    pub(super) fn after_end(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        id: &str,
        state: &Value,
    ) {
        let Some(call) = self.calls.get(id) else {
            return;
        };
        let (call_id, name, place) = (call.id.clone(), call.name.clone(), call.place.clone());
        if call.edited || str_of(state, "status") != Some("completed") {
            return emitter.pass_over("a tool's state after its end");
        }
        let edits = self.edits.of_call(&call_id, &name, state);
        self.edited(emitter, message_id, id, &place, edits);
        emitter.pass_over("a tool's state after its end");
    }

    fn edited(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        id: &str,
        place: &Place,
        edits: Vec<FileEdit>,
    ) {
        if let Some(call) = self.calls.get_mut(id) {
            call.edited |= !edits.is_empty();
        }
        if let Some(message) = self.messages.get_mut(message_id) {
            let paths = edits.iter().map(|edit| edit.file_path.clone());
            message.edited.extend(paths);
        }
        for edit in edits {
            self.add(emitter, id, "edit", place, edit);
        }
    }
}

/// Why a call failed, though it may be a command that ran to its end: whether that failed its code tells.
fn failure(part: &Value, state: &Value, output: &str) -> Option<ToolError> {
    let error = |code: &str, message: &str| {
        Some(ToolError {
            code: Some(code.to_owned()),
            message: message.to_owned(),
            extra: Extra::default(),
        })
    };
    if str_of(state, "status") == Some("error") {
        let message = text_of(state, "error").unwrap_or(output);
        let refused = message.starts_with("The user rejected permission")
            || message.starts_with("The user has specified a rule which prevents");
        let code = match (refused, message == ABORTED) {
            (true, _) => "rejected",
            (false, true) => "interrupted",
            (false, false) => "tool_error",
        };
        return error(code, message);
    }
    let input = state.get("input").unwrap_or(&Value::Null);
    if str_of(part, "tool") == Some("invalid") {
        return error("invalid_call", str_of(input, "error").unwrap_or(output));
    }
    // Stopped, by a time limit or by the user: the end of the output says which.
    let stopped = str_of(part, "tool") == Some("bash")
        && state
            .get("metadata")
            .and_then(|metadata| metadata.get("exit"))
            .is_some_and(Value::is_null);
    if stopped {
        let why = output
            .rsplit_once("<shell_metadata>")
            .map_or("", |(_, rest)| rest)
            .trim()
            .trim_end_matches("</shell_metadata>")
            .trim();
        let by_user = why.starts_with("User aborted");
        let code = if by_user { "interrupted" } else { "stopped" };
        return error(code, if why.is_empty() { "stopped" } else { why });
    }
    None
}
