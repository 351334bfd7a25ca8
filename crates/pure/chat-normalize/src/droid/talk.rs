//! What both of Droid's forms say alike: calls, what they gave, and what they changed.

use chat_event::Json;
use chat_event::payload::ToolResult;
use serde_json::Value;

use super::{FORMAT, tools};
use crate::codex::{Files, of_patch_text};
use crate::emit::Emitter;
use crate::run_track::RunTrack;
use crate::tool::attached;
use crate::track::{Call, NewCall, tool_error};
use crate::untold_edits::edit_by_args;
use crate::value::{str_of, text_of};
use crate::words::printed;

/// The turns, calls and files of a session.
#[derive(Debug)]
pub(super) struct Talk {
    pub(super) run: RunTrack,
    files: Files,
}

impl Talk {
    pub(super) fn new(run: RunTrack) -> Self {
        Talk {
            run,
            files: Files::default(),
        }
    }

    pub(super) fn call(
        &mut self,
        emitter: &mut Emitter,
        response: &str,
        id: &str,
        name: &str,
        args: &Value,
    ) {
        let new = NewCall {
            id,
            response_id: response,
            name,
            args,
            title: tools::title(name, args),
            kind: tools::kind(name),
        };
        let waits = self.run.track.waiting(id).is_some();
        let call_id = self.run.track.call(emitter, new);
        if let Some(plan) = tools::plan(args).filter(|_| name == "TodoWrite" && !waits) {
            let place = self.run.track.place().in_response(response);
            emitter.add_as(&format!("{call_id}:plan"), &place, plan);
        }
    }

    /// A call has its result. `line` is what says it.
    pub(super) fn result(
        &mut self,
        emitter: &mut Emitter,
        id: &str,
        given: &Given<'_>,
        line: &Value,
    ) {
        let (text, attachments) = given.text();
        let (text, exit_code) = match given.value.get("exitCode").and_then(Value::as_i64) {
            Some(code) => (text, Some(code)),
            None => without_exit_code(text),
        };
        let why = text_of(given.error, "message").unwrap_or(&text);
        let failed = given.failed || !given.error.is_null();
        let code = text_of(given.error, "type").unwrap_or("error");
        let result = ToolResult {
            result: Json::string(&text),
            error: failed.then(|| tool_error(code, why)),
            summary: printed(&text).filter(|_| !failed),
            exit_code,
            extra: attached(attachments),
            ..ToolResult::default()
        };
        // The model is asked again with what the calls gave.
        self.run.next_response();
        let Some(call) = self.run.track.result(emitter, id, result) else {
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "result without a call", line);
        };
        if !failed && tools::kind(&call.name) == "edit" {
            self.edit(emitter, &call);
        }
    }

    fn edit(&mut self, emitter: &mut Emitter, call: &Call) {
        let track = &mut self.run.track;
        let patch = call.args.as_str().or_else(|| text_of(&call.args, "input"));
        if let Some(changes) = patch.and_then(|text| of_patch_text(text, None)) {
            let cwd = track.facts.cwd();
            for change in changes {
                let edit = self.files.edit(&call.id, cwd.as_deref(), &change);
                track.edit(emitter, call, edit);
            }
            return;
        }
        let path = ["file_path", "path"]
            .iter()
            .find_map(|key| text_of(&call.args, key));
        if let Some(path) = path {
            let mut args = call.args.clone();
            if let (Some(members), Some(changes)) = (args.as_object_mut(), call.args.get("changes"))
            {
                members.insert("edits".to_owned(), changes.clone());
            }
            let edit = edit_by_args(&call.id, &call.name, &args, path);
            track.edit(emitter, call, edit);
        }
    }
}

/// What a call gave, as a line or a block says it.
pub(super) struct Given<'a> {
    /// A text, a list of blocks, or what a command printed: `{stdout, stderr?, exitCode}`.
    pub(super) value: &'a Value,
    pub(super) failed: bool,
    /// `{type, message}`, or nothing.
    pub(super) error: &'a Value,
}

impl Given<'_> {
    /// The words, and what is attached to them.
    fn text(&self) -> (String, Vec<Value>) {
        match self.value {
            Value::String(text) => (text.clone(), Vec::new()),
            Value::Array(blocks) => {
                let is_attached =
                    |block: &&Value| matches!(str_of(block, "type"), Some("image" | "document"));
                let texts = blocks.iter().filter(|block| !is_attached(block));
                let texts = texts.map(|block| match str_of(block, "text") {
                    Some(text) => text.to_owned(),
                    None => block.to_string(),
                });
                (texts.collect::<Vec<_>>().join("\n"), attachments(blocks))
            }
            Value::Null => (String::new(), Vec::new()),
            Value::Object(members) if members.contains_key("stdout") => {
                let part = |key| str_of(self.value, key).unwrap_or("");
                ([part("stdout"), part("stderr")].concat(), Vec::new())
            }
            other => (other.to_string(), Vec::new()),
        }
    }
}

/// Pictures and documents among blocks.
pub(super) fn attachments(blocks: &[Value]) -> Vec<Value> {
    let held = crate::claude::attachments(blocks);
    match held.map(|held| held.to_value()) {
        Some(Value::Array(held)) => held,
        _ => Vec::new(),
    }
}

/// What a command printed, and its exit code, which is written in words behind or before it.
fn without_exit_code(text: String) -> (String, Option<i64>) {
    const BEHIND: &str = "[Process exited with code ";
    const BEFORE: &str = "Error: Command failed (exit code: ";
    let trimmed = text.trim_end();
    let last = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let behind = trimmed[last..].strip_prefix(BEHIND);
    if let Some(code) = behind.and_then(|rest| rest.strip_suffix(']')?.parse().ok()) {
        return (trimmed[..last].trim_end().to_owned(), Some(code));
    }
    let before = text
        .strip_prefix(BEFORE)
        .and_then(|rest| rest.split_once(')'));
    let code = before.and_then(|(code, _)| code.parse().ok());
    (text, code)
}
