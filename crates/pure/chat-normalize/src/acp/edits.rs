//! File edits, as true diffs where the texts are known.
//!
//! - What Claude Code's tool answered (`_meta.claudeCode.toolResponse`) and OpenCode's metadata are read by their own
//!   rules, so that these edits are those of their own formats.
//! - A `diff` holds two texts: whole files (Gemini, Claude Code's answer) or only what was replaced. Where the file is
//!   known the whole diff is made; else the piece is shown without line numbers, and nothing more is promised.
//! - `fs/write_text_file` is the edit where the call that was open says none.

use std::collections::BTreeMap;

use chat_diff::{Change, diff_texts, from_unified};
use chat_event::payload::FileEdit;
use serde_json::Value;

use super::calls::Call;
use super::session::Session;
use crate::edit::{file_edit, piece_edit, shown_path, with_old_text};
use crate::emit::Emitter;
use crate::value::{list_of, str_of, text_of};
use crate::{claude, opencode};

/// Texts longer than this are not kept.
const MAX_KEPT_BYTES: usize = 256 * 1024;

/// How many texts are kept.
const MAX_KEPT_FILES: usize = 256;

/// What is known of files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    known: BTreeMap<String, String>,
    /// Written by way of the client, and not yet part of a call's edit.
    written: BTreeMap<String, Written>,
    claude: crate::recent::Recent<()>,
    opencode: opencode::Edits,
}

#[derive(Debug)]
struct Written {
    /// What stood there, where that is known.
    before: Option<String>,
    after: String,
}

impl Files {
    /// The whole text of a file.
    pub(super) fn read(&mut self, path: &str, text: &str) {
        if path.is_empty() || text.len() > MAX_KEPT_BYTES {
            self.known.remove(path);
            return;
        }
        if self.known.len() >= MAX_KEPT_FILES && !self.known.contains_key(path) {
            self.known.clear();
        }
        self.known.insert(path.to_owned(), text.to_owned());
    }

    fn write(&mut self, path: &str, text: &str) {
        let before = self.known.remove(path);
        if self.written.len() >= MAX_KEPT_FILES && !self.written.contains_key(path) {
            return self.read(path, text);
        }
        let written = self.written.entry(path.to_owned()).or_insert(Written {
            before,
            after: String::new(),
        });
        text.clone_into(&mut written.after);
        self.read(path, text);
    }
}

impl Session {
    /// `fs/write_text_file`.
    pub(super) fn file_written(&mut self, emitter: &mut Emitter, params: &Value) {
        emitter.pass_over("fs/write_text_file");
        let (Some(path), Some(text)) = (text_of(params, "path"), str_of(params, "content")) else {
            return;
        };
        self.files.write(path, text);
        if self.calls.is_empty() {
            self.flush_files(emitter);
        }
    }

    /// Writes what was written to files and belongs to no call.
    pub(super) fn flush_files(&mut self, emitter: &mut Emitter) {
        for (path, written) in std::mem::take(&mut self.files.written) {
            let shown = shown_path(self.cwd.as_deref(), &path);
            let edit = of_written("", &path, &shown, &written);
            let place = self.quiet_place();
            emitter.add("edit", &place, edit);
        }
    }

    /// The edits that `call` made, which succeeded.
    pub(super) fn edits_of(&mut self, call: &Call, name: &str) -> Vec<FileEdit> {
        let cwd = self.cwd.clone();
        let mut edits = Vec::new();
        if claude::tool_kind(name) == "edit" && call.response.is_object() {
            let edit = claude::edit_of(
                &call.id,
                name,
                &call.args,
                &call.response,
                cwd.clone(),
                &mut self.files.claude,
            );
            edits.extend(edit);
        }
        let metadata = call.raw_output.get("metadata");
        if edits.is_empty()
            && matches!(opencode::tool_kind(name), "edit" | "read")
            && let Some(metadata) = metadata.filter(|metadata| metadata.is_object())
        {
            self.files.opencode.cwd.clone_from(&cwd);
            let state = serde_json::json!({"input": call.args, "metadata": metadata});
            edits = self.files.opencode.of_call(&call.id, name, &state);
        }
        if edits.is_empty() {
            for item in &call.content {
                if str_of(item, "type") == Some("diff") {
                    self.of_diff(call, item, &mut edits);
                }
            }
        }
        let paths: Vec<String> = self
            .files
            .written
            .keys()
            .filter(|path| call.is_about(path) || edits.iter().any(|edit| edit.file_path == **path))
            .cloned()
            .collect();
        for path in paths {
            let Some(written) = self.files.written.remove(&path) else {
                continue;
            };
            let whole = edits
                .iter()
                .position(|edit| edit.file_path == path && !edit.full_diff_available);
            let told = edits.iter().any(|edit| edit.file_path == path);
            let shown = shown_path(cwd.as_deref(), &path);
            match whole {
                // The two texts say more than a piece does.
                Some(at) if written.before.is_some() => {
                    edits[at] = of_written(&call.id, &path, &shown, &written);
                }
                _ if !told => edits.push(of_written(&call.id, &path, &shown, &written)),
                _ => {}
            }
        }
        edits
    }

    fn of_diff(&mut self, call: &Call, item: &Value, edits: &mut Vec<FileEdit>) {
        if item.get("changes").is_some() {
            return self.of_changes(call, item, edits);
        }
        let Some(path) = text_of(item, "path") else {
            return;
        };
        let shown = shown_path(self.cwd.as_deref(), path);
        let old = str_of(item, "oldText");
        let new = str_of(item, "newText");
        let known = self.files.known.get(path).cloned();
        let made = match (old, new, &known) {
            (None, new, _) => Some((None, new.unwrap_or("").to_owned())),
            (Some(old), Some(new), Some(known)) if !old.is_empty() => {
                if known == old {
                    Some((Some(known.clone()), new.to_owned()))
                } else if known.matches(old).count() == 1 {
                    Some((Some(known.clone()), known.replacen(old, new, 1)))
                } else {
                    None
                }
            }
            _ => None,
        };
        let edit = match made {
            Some((before, after)) => {
                let diff = diff_texts(&shown, before.as_deref(), Some(&after));
                self.files.read(path, &after);
                with_old_text(file_edit(&call.id, path, &diff), before.as_deref())
            }
            None => piece_edit(&call.id, path, &[(old.unwrap_or(""), new.unwrap_or(""))]),
        };
        edits.push(edit);
    }

    /// A `diff` of version 2: which files, and one patch of all of them.
    fn of_changes(&mut self, call: &Call, item: &Value, edits: &mut Vec<FileEdit>) {
        let patch = item.get("patch").and_then(|patch| str_of(patch, "text"));
        let sections: Vec<&str> = patch.map(sections).unwrap_or_default();
        for (at, change) in list_of(item, "changes").iter().enumerate() {
            let old_path = text_of(change, "oldPath").or_else(|| text_of(change, "from"));
            let path = text_of(change, "path")
                .or_else(|| text_of(change, "newPath"))
                .or_else(|| text_of(change, "to"))
                .or(old_path)
                .unwrap_or("");
            let word = match str_of(change, "operation") {
                Some("add" | "copy") => Change::Created,
                Some("delete") => Change::Deleted,
                Some("move") => Change::Renamed,
                Some(_) | None => Change::Modified,
            };
            let old_path = old_path.filter(|_| word == Change::Renamed);
            let shown = shown_path(self.cwd.as_deref(), path);
            let shown_old = old_path.map(|old| shown_path(self.cwd.as_deref(), old));
            let named = sections.iter().find(|section| {
                let head = section.lines().next().unwrap_or("");
                head.ends_with(&format!("/{shown}")) || head.ends_with(path)
            });
            let section = named.or_else(|| {
                sections
                    .get(at)
                    .filter(|_| sections.len() == list_of(item, "changes").len())
            });
            let diff = section
                .and_then(|section| from_unified(&shown, shown_old.as_deref(), word, section));
            edits.push(match diff {
                Some(diff) => file_edit(&call.id, path, &diff),
                None => FileEdit {
                    tool_call_id: call.id.clone(),
                    file_path: path.to_owned(),
                    change_type: word.as_str().to_owned(),
                    old_path: old_path.map(str::to_owned),
                    ..FileEdit::default()
                },
            });
        }
    }
}

/// The files of a git patch.
fn sections(patch: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = patch
        .match_indices("diff --git ")
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || patch.as_bytes().get(at - 1) == Some(&b'\n'))
        .collect();
    if starts.is_empty() {
        return vec![patch];
    }
    starts.push(patch.len());
    starts
        .windows(2)
        .filter_map(|pair| patch.get(pair[0]..pair[1]))
        .collect()
}

fn of_written(call_id: &str, path: &str, shown: &str, written: &Written) -> FileEdit {
    match &written.before {
        Some(before) => {
            let diff = diff_texts(shown, Some(before), Some(&written.after));
            with_old_text(file_edit(call_id, path, &diff), Some(before))
        }
        // What stood there before is not known.
        None => FileEdit {
            tool_call_id: call_id.to_owned(),
            file_path: path.to_owned(),
            change_type: Change::Modified.as_str().to_owned(),
            lines_added: u32::try_from(written.after.lines().count()).unwrap_or(u32::MAX),
            ..FileEdit::default()
        },
    }
}
