//! What both of Droid's forms say alike: calls, what they gave, and what they changed.

use chat_event::payload::{Notice, ToolResult, TurnEnd};
use chat_event::{Extra, Json};
use serde_json::{Value, json};

use super::{FORMAT, tools};
use crate::codex::{Files, of_patch_text};
use crate::emit::{Emitter, Place};
use crate::recent::{LATE_LARGE, Recent};
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
    /// Calls that their turn left without results: those of a run that was ended are written behind its outcome.
    left: Recent<(String, Place), LATE_LARGE>,
}

impl Talk {
    pub(super) fn new(run: RunTrack) -> Self {
        Talk {
            run,
            files: Files::default(),
            left: Recent::default(),
        }
    }

    /// The turn is over.
    pub(super) fn close(&mut self, emitter: &mut Emitter, end: TurnEnd) {
        for (native, call) in self.run.track.waiting_calls() {
            self.left
                .insert(native, (call.id.clone(), call.place.clone()));
        }
        self.run.close(emitter, end);
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
        let why = match given.value {
            Value::Null => &text,
            _ => text_of(given.error, "message").unwrap_or(&text),
        };
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
        if self.run.track.waiting(id).is_none()
            && let Some((call_id, place)) = self.left.remove(id)
        {
            let result = ToolResult {
                tool_call_id: call_id.clone(),
                ..result
            };
            emitter.add_as(&format!("{call_id}:result"), &place, result);
            return;
        }
        let Some(call) = self.run.track.result(emitter, id, result) else {
            let place = self.run.track.place();
            return emitter.raw(&place, FORMAT, "result without a call", line);
        };
        if !failed && tools::kind(&call.name) == "edit" {
            self.edit(emitter, &call);
        }
    }

    /// Something that the program says to the user; `source` is about what.
    pub(super) fn notice(&mut self, emitter: &mut Emitter, source: &str, text: String) {
        let notice = Notice {
            level: "info".to_owned(),
            text,
            source: Some(source.to_owned()),
            ..Notice::default()
        };
        emitter.add("notice", &self.run.track.place(), notice);
    }

    /// A command that the user ran, as `{command, stdout, stderr, exitCode}`.
    pub(super) fn command(&mut self, emitter: &mut Emitter, id: &str, said: &Value) {
        let args = json!({"command": str_of(said, "command").unwrap_or("")});
        let call = NewCall {
            id,
            response_id: "",
            name: "Execute",
            args: &args,
            title: tools::title("Execute", &args),
            kind: "execute",
        };
        self.run.track.call(emitter, call);
        let part = |key| str_of(said, key).unwrap_or("");
        let text = [part("stdout"), part("stderr")].concat();
        let mut extra = Extra::default();
        extra.insert("by", Json::string("user"));
        let result = ToolResult {
            summary: printed(&text),
            result: Json::string(&text),
            exit_code: said.get("exitCode").and_then(Value::as_i64),
            extra,
            ..ToolResult::default()
        };
        self.run.track.result(emitter, id, result);
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
            // Blocks that are no texts, in a stream: what they held is not there.
            Value::String(text) if is_lost(text) => (String::new(), Vec::new()),
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
            // What a failed command printed stands in its error alone.
            Value::Null => {
                let why = text_of(self.error, "message").unwrap_or("");
                (why.to_owned(), Vec::new())
            }
            Value::Object(members) if members.contains_key("stdout") => {
                let part = |key| str_of(self.value, key).unwrap_or("");
                ([part("stdout"), part("stderr")].concat(), Vec::new())
            }
            other => (other.to_string(), Vec::new()),
        }
    }
}

/// As `[object Object],[object Object]`.
fn is_lost(text: &str) -> bool {
    text.split(',').all(|part| part == "[object Object]")
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
    // What the program says of a command that printed nothing.
    const NOTHING: &str = "Command completed successfully";
    let trimmed = text.trim_end();
    let last = trimmed.rfind('\n').map_or(0, |at| at + 1);
    let behind = trimmed[last..].strip_prefix(BEHIND);
    if let Some(code) = behind.and_then(|rest| rest.strip_suffix(']')?.parse().ok()) {
        let printed = trimmed[..last].trim_end();
        let printed = if printed == NOTHING { "" } else { printed };
        return (printed.to_owned(), Some(code));
    }
    let before = text
        .strip_prefix(BEFORE)
        .and_then(|rest| rest.split_once(')'));
    let code = before.and_then(|(code, _)| code.parse().ok());
    (text, code)
}
