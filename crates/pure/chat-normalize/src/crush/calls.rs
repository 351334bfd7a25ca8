//! Calls and what they gave.

use std::borrow::Cow;

use chat_event::payload::ToolResult;
use chat_event::{Extra, Json};
use serde_json::{Map, Value, json};

use super::message::{Message, Told};
use super::talk::Talk;
use super::{FORMAT, tools};
use crate::emit::Emitter;
use crate::tool::{attached, todo_list};
use crate::track::{NewCall, tool_error};
use crate::value::{is_true, list_of, str_of, text_of};

/// What the program says for a call that the user did not allow, and for one that was stopped.
const DENIED: &str = "User denied permission";
const CANCELED: &str = "Error: user cancelled assistant tool calling";

/// What it puts before the code of a command that failed.
const EXIT_CODE: &str = "Exit code ";

impl Talk {
    /// A call, once its input is whole.
    pub(super) fn call(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        told: &mut Told,
        part: &Value,
        is_over: bool,
    ) {
        let id = call_id(part, "id");
        let is_whole = is_over || part.get("finished").and_then(Value::as_bool) != Some(false);
        if !is_whole || !told.calls.insert(id.to_owned()) {
            return;
        }
        let args = args_of(str_of(part, "input").unwrap_or(""));
        let name = str_of(part, "name").unwrap_or("");
        let new = NewCall {
            id,
            response_id: message_id,
            name,
            args: &args,
            title: tools::title(name, &args),
            kind: tools::kind(name),
        };
        let call_id = self.run.track.call(emitter, new);
        let place = self.run.track.place().in_response(message_id);
        match name {
            "todos" if !list_of(&args, "todos").is_empty() => {
                let plan = todo_list(list_of(&args, "todos"), "content");
                emitter.add_as(&format!("{call_id}:plan"), &place, plan);
            }
            "question" => self.asks.ask(emitter, id, &call_id, &place, &args),
            _ => {}
        }
    }

    /// The result of a call.
    pub(super) fn result(&mut self, emitter: &mut Emitter, part: &Value) {
        let id = call_id(part, "tool_call_id");
        let metadata = metadata_of(part);
        let content = str_of(part, "content").unwrap_or("");
        let text = text_of(&metadata, "output").unwrap_or(content);
        let name = self.run.track.waiting(id).map(|call| call.name.clone());
        let name = name.as_deref().or(str_of(part, "name")).unwrap_or("");
        let (text, exit_code) = match name {
            // The model is told the folder behind what was printed.
            "bash" | "job_output" => without_exit_code(without_folder(text)),
            _ => (text, None),
        };
        let failed = is_true(part, "is_error");
        let code = match content {
            DENIED => "rejected",
            CANCELED => "interrupted",
            _ => "error",
        };
        self.asks.answer(emitter, id, text, failed);
        let result = ToolResult {
            result: Json::string(text),
            error: failed.then(|| tool_error(code, text)),
            summary: tools::summary(name, text, &metadata).filter(|_| !failed),
            duration_ms: duration_of(&metadata),
            exit_code,
            extra: extra_of(part, &metadata),
            ..ToolResult::default()
        };
        let cwd = self.run.track.facts.cwd();
        let Some(call) = self.run.track.result(emitter, id, result) else {
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "result without a call", part);
        };
        if !failed && let Some(edit) = tools::edit(&call, cwd.as_deref(), &metadata) {
            self.run.track.edit(emitter, &call, edit);
        }
    }

    /// A command that the user ran, with what it printed.
    pub(super) fn ran(&mut self, emitter: &mut Emitter, message: &Message<'_>, part: &Value) {
        let command = str_of(part, "command").unwrap_or("");
        let response = self.run.response(emitter, Some(message.id));
        let id = format!("{}:shell", message.id);
        let new = NewCall {
            id: &id,
            response_id: &response,
            name: "bash",
            args: &json!({"command": command}),
            title: tools::title("bash", &json!({"command": command})),
            kind: "execute",
        };
        self.run.track.call(emitter, new);
        let output = str_of(part, "output").unwrap_or("");
        let result = ToolResult {
            result: Json::string(output),
            summary: tools::summary("bash", output, &Value::Null),
            exit_code: part.get("exit_code").and_then(Value::as_i64),
            ..ToolResult::default()
        };
        self.run.track.result(emitter, &id, result);
    }
}

/// The id of a call: printed it is called otherwise than in the database.
fn call_id<'a>(part: &'a Value, key: &str) -> &'a str {
    let id = text_of(part, key).or_else(|| text_of(part, "tool_call_id"));
    id.unwrap_or("")
}

/// The arguments of a call, which are written as JSON; what is none stays a text.
fn args_of(input: &str) -> Value {
    match input.trim() {
        "" => Value::Object(Map::new()),
        _ => serde_json::from_str(input).unwrap_or_else(|_| Value::from(input)),
    }
}

/// What is told of a result beside its words.
fn metadata_of(part: &Value) -> Cow<'_, Value> {
    match part.get("metadata") {
        Some(Value::String(text)) if !text.is_empty() => {
            Cow::Owned(serde_json::from_str(text).unwrap_or(Value::Null))
        }
        Some(metadata @ Value::Object(_)) => Cow::Borrowed(metadata),
        _ => Cow::Owned(Value::Null),
    }
}

/// Pictures of a result, and what a hook did with the call.
fn extra_of(part: &Value, metadata: &Value) -> Extra {
    let media_type = text_of(part, "mime_type").unwrap_or("image/*");
    let data = text_of(part, "data");
    let picture = data.map(|data| json!({"mediaType": media_type, "data": data}));
    let mut extra = attached(picture.into_iter().collect());
    for key in ["hook", "edits_failed", "shell_id"] {
        if let Some(value) = metadata.get(key) {
            extra.insert(key, Json::from(value));
        }
    }
    extra
}

fn duration_of(metadata: &Value) -> Option<u64> {
    let time = |key: &str| metadata.get(key).and_then(Value::as_i64);
    let passed = time("end_time")?.checked_sub(time("start_time")?)?;
    u64::try_from(passed).ok()
}

fn without_folder(text: &str) -> &str {
    let trimmed = text.trim_end();
    match trimmed.rsplit_once("\n<cwd>") {
        Some((before, folder)) if folder.ends_with("</cwd>") && !folder.contains('\n') => {
            before.trim_end_matches('\n')
        }
        _ => text,
    }
}

/// What a command printed, and its exit code, which stands in words behind that.
fn without_exit_code(text: &str) -> (&str, Option<i64>) {
    let trimmed = text.trim_end();
    let last = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let code = trimmed[last..].strip_prefix(EXIT_CODE);
    match code.and_then(|code| code.parse().ok()) {
        Some(code) => (trimmed[..last].trim_matches('\n'), Some(code)),
        None => (text, None),
    }
}
