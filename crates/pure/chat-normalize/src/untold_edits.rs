//! Edits by tools that no dialect knows: a call whose arguments name a file and what is replaced in it, or written to it.
//!
//! Only a call that succeeded and of which its dialect tells no edit has one made here. A dialect tells it before the
//! result or right after it; those that may tell it later are left out (`Profile::tells_edits_late`).

use chat_diff::Change;
use chat_event::payload::{FileEdit, ToolResult};
use chat_event::{Json, Payload};
use serde_json::Value;

use crate::edit::{named_edit, piece_edit};
use crate::emit::{Emitter, Place, cut};
use crate::recent::Recent;
use crate::value::{is_true, list_of, str_of, text_of};

/// Longer arguments are shown as they are.
const MAX_ARGS_BYTES: usize = 256 * 1024;

/// How many calls are remembered that have no result yet.
const MAX_OPEN: usize = 64;

/// More pieces of one call are not shown.
const MAX_PIECES: usize = 100;

/// How much of a result is read for whether the tool failed.
const READ_BYTES: usize = 300;

const PATH: &[&str] = &["file_path", "filePath", "path"];
const OLD: &[&str] = &[
    "old_string",
    "oldString",
    "old_str",
    "oldStr",
    "old_text",
    "oldText",
];
const NEW: &[&str] = &[
    "new_string",
    "newString",
    "new_str",
    "newStr",
    "new_text",
    "newText",
];
const CONTENT: &[&str] = &["content", "file_text"];

/// What a tool says that did nothing; many sources do not say it in another way.
const FAILURES: &[&str] = &[
    "error",
    "fail",
    "false",
    "exception",
    "invalid",
    "denied",
    "reject",
    "cancel",
    "abort",
    "unable",
    "cannot",
    "could not",
    "did not",
    "does not",
    "not found",
    "not unique",
    "not allowed",
    "no match",
    "no replacement",
    "no change",
    "no such",
    "multiple",
];

/// Calls that may be such edits.
#[derive(Debug, Default)]
pub(crate) struct UntoldEdits {
    /// Whether none are made.
    pub(crate) is_off: bool,
    open: Recent<Call, MAX_OPEN>,
    /// The call that has its result now, and when.
    done: Option<(Call, Done)>,
}

#[derive(Debug)]
struct Call {
    name: String,
    args: Json,
}

#[derive(Debug)]
struct Done {
    id: String,
    place: Place,
    time_ms: i64,
}

impl Emitter {
    /// Takes note of an event that is about to be added: what comes after a result, and is not its edit, tells that its
    /// dialect has none.
    pub(crate) fn note_edits(&mut self, payload: &Payload, place: &Place) {
        let edits = &mut self.untold_edits;
        // A status may come between a result and its edit.
        if edits.is_off || matches!(payload, Payload::SessionStatus(_)) {
            return;
        }
        if let Payload::FileEdit(edit) = payload {
            edits.open.remove(&edit.tool_call_id);
            edits.done.take_if(|(_, done)| done.id == edit.tool_call_id);
        }
        self.make_untold_edit();
        let edits = &mut self.untold_edits;
        match payload {
            Payload::ToolCall(call) if may_edit(&call.args) => {
                let name = call.tool_name.clone();
                let args = call.args.clone();
                edits.open.insert(&call.tool_call_id, Call { name, args });
            }
            Payload::ToolResult(result) => {
                let call = edits.open.remove(&result.tool_call_id);
                edits.done = call.filter(|_| succeeded(result)).map(|call| {
                    let done = Done {
                        id: result.tool_call_id.clone(),
                        place: place.clone(),
                        time_ms: self.time_ms,
                    };
                    (call, done)
                });
            }
            _ => {}
        }
    }

    /// Nothing more comes after the newest result for now.
    pub(crate) fn make_untold_edit(&mut self) {
        let Some((call, done)) = self.untold_edits.done.take() else {
            return;
        };
        if let Some(edit) = edit_of(&done.id, &call.name, &call.args.to_value()) {
            let now_ms = std::mem::replace(&mut self.time_ms, done.time_ms);
            self.add_as(&format!("{}:edit", done.id), &done.place, edit);
            self.time_ms = now_ms;
        }
    }
}

/// Whether it is worth while to look at the arguments, once the call has succeeded.
fn may_edit(args: &Json) -> bool {
    let has = |text: &str| {
        ["\"old", "\"content\"", "\"file_text\""]
            .iter()
            .any(|key| text.contains(key))
    };
    args.text_len() <= MAX_ARGS_BYTES && has(&args.as_text())
}

fn succeeded(result: &ToolResult) -> bool {
    let text = result.result.display_text();
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let first = cut(first.unwrap_or(""), READ_BYTES).to_ascii_lowercase();
    result.error.is_none()
        && result.exit_code.unwrap_or(0) == 0
        && !FAILURES.iter().any(|word| first.contains(word))
}

/// The edit that a call made of a file, as far as its arguments tell it; else that there was one.
pub(crate) fn edit_by_args(call_id: &str, name: &str, args: &Value, path: &str) -> FileEdit {
    let is_short = args.to_string().len() <= MAX_ARGS_BYTES;
    let told = is_short.then(|| edit_of(call_id, name, args)).flatten();
    told.unwrap_or_else(|| named_edit(call_id, path, Change::Modified))
}

fn edit_of(call_id: &str, name: &str, args: &Value) -> Option<FileEdit> {
    let path = PATH.iter().find_map(|key| text_of(args, key))?;
    if is_true(args, "dryRun") || is_true(args, "dry_run") {
        return None;
    }
    let pieces: Option<Vec<(&str, &str)>> = match list_of(args, "edits") {
        [] => piece_of(args).map(|piece| vec![piece]),
        edits => edits.iter().take(MAX_PIECES).map(piece_of).collect(),
    };
    if let Some(pieces) = pieces {
        let edit = piece_edit(call_id, path, &pieces);
        return Some(edit).filter(|edit| edit.lines_added + edit.lines_removed > 0);
    }
    // What stood there before is not known.
    let content = one_of(args, CONTENT)?;
    let command = text_of(args, "command").unwrap_or("");
    let mut edit = piece_edit(call_id, path, &[("", content)]);
    if says(name, "create") || says(command, "create") {
        Change::Created.as_str().clone_into(&mut edit.change_type);
    } else if !(says(name, "write") || says(command, "write")) {
        return None;
    }
    Some(edit)
}

/// What is replaced, and by what.
fn piece_of(args: &Value) -> Option<(&str, &str)> {
    Some((one_of(args, OLD)?, one_of(args, NEW)?))
}

fn one_of<'a>(args: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| str_of(args, key))
}

/// Whether one of the words of a name begins so: `write_file`, `WriteFile`, `fs.write`.
fn says(name: &str, word: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|it| it.starts_with(word))
}
