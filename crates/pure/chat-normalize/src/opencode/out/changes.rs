//! File edits: in the state of the call that made them, as `file.edited`, and in a row when the turn is over.

use std::collections::BTreeMap;

use chat_event::payload::FileEdit;
use chat_event::{Body, ChatEvent};
use serde_json::{Value, json};

use super::OpenCodeOut;
use crate::edit::shown_path;

/// Diffs beyond this are told by their calls only.
const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// About how much is told of a change beside its path and its diff.
const EDIT_BYTES: usize = 150;

/// Changes that one call tells, and files that a turn tells.
const MAX_EDITS: usize = 1000;
const MAX_FILES: usize = 10_000;

/// What a turn changed, by file.
#[derive(Debug, Default)]
pub(super) struct Changes {
    files: BTreeMap<String, Changed>,
    n_bytes: usize,
}

#[derive(Debug, Default)]
struct Changed {
    patches: String,
    added: u64,
    removed: u64,
    status: &'static str,
}

impl Changes {
    /// Whether there was room for it.
    fn add(&mut self, edit: &FileEdit, patch: &str) -> bool {
        if self.files.len() >= MAX_FILES && !self.files.contains_key(&edit.file_path) {
            return false;
        }
        let file = self.files.entry(edit.file_path.clone()).or_default();
        file.added = file.added.saturating_add(u64::from(edit.lines_added));
        file.removed = file.removed.saturating_add(u64::from(edit.lines_removed));
        file.status = match (file.status, edit.change_type.as_str()) {
            (_, "deleted") => "deleted",
            // What was there before the turn, and is there after it, was changed.
            ("deleted", "created") => "modified",
            // What was made and changed in one turn was made in it.
            ("added", _) | (_, "created") => "added",
            _ => "modified",
        };
        self.n_bytes += patch.len() + edit.file_path.len();
        if self.n_bytes <= MAX_KEPT_BYTES {
            file.patches.push_str(patch);
        }
        true
    }

    /// About how much it holds.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// As `session.diff` says it.
    pub(super) fn to_json(&self) -> Value {
        let files = self.files.iter().map(|(path, file)| {
            json!({
                "file": path,
                "patch": file.patches,
                "additions": file.added,
                "deletions": file.removed,
                "status": file.status,
            })
        });
        Value::Array(files.collect())
    }
}

impl OpenCodeOut {
    pub(super) fn edit(&mut self, event: &ChatEvent, edit: &FileEdit) {
        let scope = self.scope(event);
        let cwd = Some(self.cwd()).filter(|cwd| !cwd.is_empty());
        let relative = shown_path(cwd, &edit.file_path);
        let patch = patch_of(edit);
        let n_bytes = EDIT_BYTES + patch.len() + edit.file_path.len();
        if let Some(no) = self.open_turn_of(event.turn_id.as_ref())
            && let Some(turn) = self.turns.get_mut(&no)
            && !turn.changes.add(edit, &patch)
        {
            self.leave_out("a changed file beyond those that a turn can tell");
        }
        let kind = match edit.change_type.as_str() {
            "created" => "add",
            "deleted" => "delete",
            "renamed" => "move",
            _ => "update",
        };
        let old_path = edit.old_path.as_deref().filter(|_| kind == "move");
        let mut file = json!({
            "filePath": old_path.unwrap_or(&edit.file_path),
            "relativePath": relative,
            "type": kind,
            "additions": edit.lines_added,
            "deletions": edit.lines_removed,
        });
        if !patch.is_empty() {
            file["patch"] = Value::from(patch);
        }
        if kind == "move" {
            file["movePath"] = Value::from(edit.file_path.as_str());
        }
        let call = self.calls.get_mut(&edit.tool_call_id);
        let known = call.is_some();
        if let Some(call) = call {
            let fits = call.edits.len() < MAX_EDITS && call.edit_bytes <= MAX_KEPT_BYTES;
            if fits {
                call.edit_bytes += n_bytes;
                call.edits.push(file);
            }
            // What a command changed is seen in snapshots only.
            if call.may_edit() {
                self.tell("file.edited", json!({"file": edit.file_path}));
            }
            if fits {
                self.tell_edits(&edit.tool_call_id);
            } else {
                self.leave_out("a change beyond those that a call can tell");
            }
        }
        // The step says at its end what it changed; without one there is nothing to hang it on.
        let step = self.scopes[scope]
            .step
            .and_then(|key| self.steps.get_mut(&key));
        match step {
            Some(step) => {
                step.files.insert(edit.file_path.clone());
            }
            None if !known => self.leave_out("a change outside of any answer"),
            None => {}
        }
    }
}

/// The diff as OpenCode's own, which is that of jsdiff.
fn patch_of(edit: &FileEdit) -> String {
    let Some(Body::Inline(diff)) = &edit.full_diff else {
        return String::new();
    };
    let diff = diff.read();
    let hunks = diff
        .find("\n@@")
        .map(|at| &diff[at + 1..])
        .or_else(|| diff.starts_with("@@").then_some(&*diff));
    let Some(hunks) = hunks else {
        return String::new();
    };
    let path = &edit.file_path;
    let old_path = edit.old_path.as_ref().unwrap_or(path);
    let line = "=".repeat(67);
    let end = if hunks.ends_with('\n') { "" } else { "\n" };
    format!("Index: {path}\n{line}\n--- {old_path}\n+++ {path}\n{hunks}{end}")
}
