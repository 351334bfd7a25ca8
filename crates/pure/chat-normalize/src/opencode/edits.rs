//! File edits from tool results and from `patch` parts, as unified diffs.
//!
//! - `edit` says its diff in the form of jsdiff, with an `Index:` line and absolute paths; it is written anew as git's.
//! - `write` says no diff, only whether the file was there. What stood there is known where it was read or written
//!   before; a command may change any file, so nothing is known after one.
//! - A `patch` part names what a step changed, commands included. What no tool told is written without a diff.

use std::collections::HashMap;

use chat_diff::{Change, FileDiff, apply, diff_texts, from_unified};
use chat_event::payload::FileEdit;
use serde_json::Value;

use super::session::Session;
use super::tools;
use crate::edit::{file_edit, named_edit, shown_path, with_old_text};
use crate::emit::{Emitter, Place};
use crate::value::{count_of, is_true, list_of, str_of, text_of};

/// Texts longer than this are not kept.
const MAX_KEPT_BYTES: usize = 256 * 1024;

/// How many texts are kept.
const MAX_KEPT_FILES: usize = 256;

/// What is known of files.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    pub(crate) cwd: Option<String>,
    known: HashMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    text: String,
    /// Whether the text ends with a newline is not known.
    shown: bool,
}

impl Edits {
    /// The edits that a call made which succeeded.
    pub(crate) fn of_call(&mut self, call_id: &str, name: &str, state: &Value) -> Vec<FileEdit> {
        let input = state.get("input").unwrap_or(&Value::Null);
        let metadata = state.get("metadata").unwrap_or(&Value::Null);
        match name {
            "read" => {
                self.read(metadata);
                Vec::new()
            }
            "write" if metadata.get("filediff").is_none() => {
                self.write(call_id, input, metadata).into_iter().collect()
            }
            "edit" => {
                let path = text_of(input, "filePath");
                let created = str_of(input, "oldString") == Some("");
                self.edit(call_id, path, metadata, created)
                    .into_iter()
                    .collect()
            }
            "multiedit" if metadata.get("results").is_some() => {
                let path = text_of(input, "filePath");
                list_of(metadata, "results")
                    .iter()
                    .filter_map(|result| self.edit(call_id, path, result, false))
                    .collect()
            }
            "apply_patch" | "patch" if metadata.get("filediff").is_none() => {
                let files = list_of(metadata, "files");
                files
                    .iter()
                    .filter_map(|file| self.patched(call_id, file))
                    .collect()
            }
            _ => {
                let edits = self.said(call_id, metadata);
                if edits.is_empty() && matches!(tools::kind(name), "execute" | "agent" | "other") {
                    self.known.clear();
                }
                edits
            }
        }
    }

    /// What a call says it changed, whatever its tool: logs of other agents are told as OpenCode's.
    fn said(&mut self, call_id: &str, metadata: &Value) -> Vec<FileEdit> {
        let changed = metadata.get("filediff").unwrap_or(&Value::Null);
        if let Some(path) = text_of(changed, "file") {
            let change = match str_of(changed, "status") {
                Some("added") => Change::Created,
                Some("deleted") => Change::Deleted,
                Some(_) | None => Change::Modified,
            };
            let text = text_of(changed, "patch").or_else(|| text_of(metadata, "diff"));
            return vec![self.told(call_id, path, None, change, text, changed)];
        }
        let files = list_of(metadata, "files");
        let has_paths = |file: &&Value| file.get("additions").is_some();
        let files = files.iter().filter(has_paths);
        files
            .filter_map(|file| self.patched(call_id, file))
            .collect()
    }

    fn keep(&mut self, path: &str, text: &str, shown: bool) {
        if text.len() > MAX_KEPT_BYTES {
            self.known.remove(path);
            return;
        }
        if self.known.len() >= MAX_KEPT_FILES && !self.known.contains_key(path) {
            self.known.clear();
        }
        let text = text.to_owned();
        self.known.insert(path.to_owned(), Known { text, shown });
    }

    fn read(&mut self, metadata: &Value) {
        let display = metadata.get("display").unwrap_or(&Value::Null);
        let (Some(path), Some(text)) = (text_of(display, "path"), str_of(display, "text")) else {
            return;
        };
        let lines = count_of(display, "totalLines");
        let whole = str_of(display, "type") == Some("file")
            && !is_true(display, "truncated")
            && count_of(display, "lineStart") == Some(1)
            && lines.is_some()
            && count_of(display, "lineEnd") == lines;
        if whole {
            self.keep(path, text, lines != Some(0));
        }
    }

    fn write(&mut self, call_id: &str, input: &Value, metadata: &Value) -> Option<FileEdit> {
        let path = text_of(metadata, "filepath").or_else(|| text_of(input, "filePath"))?;
        let content = str_of(input, "content")?;
        let there = metadata.get("exists").and_then(Value::as_bool);
        let shown = shown_path(self.cwd.as_deref(), path);
        let before = match (there, self.known.get(path)) {
            (Some(false), _) => Some(None),
            (_, Some(known)) => {
                let mut text = known.text.clone();
                if known.shown && content.ends_with('\n') {
                    text.push('\n');
                }
                Some(Some(text))
            }
            (_, None) => None,
        };
        let edit = match before {
            Some(before) => {
                let diff = diff_texts(&shown, before.as_deref(), Some(content));
                with_old_text(file_edit(call_id, path, &diff), before.as_deref())
            }
            None => FileEdit {
                lines_added: u32::try_from(content.lines().count()).unwrap_or(u32::MAX),
                ..named_edit(call_id, path, Change::Modified)
            },
        };
        self.keep(path, content, false);
        Some(edit)
    }

    fn edit(
        &mut self,
        call_id: &str,
        path: Option<&str>,
        metadata: &Value,
        created: bool,
    ) -> Option<FileEdit> {
        let changed = metadata.get("filediff").unwrap_or(&Value::Null);
        let path = text_of(changed, "file").or(path)?;
        let change = if created {
            Change::Created
        } else {
            Change::Modified
        };
        let text = text_of(metadata, "diff").or_else(|| text_of(changed, "patch"));
        Some(self.told(call_id, path, None, change, text, changed))
    }

    /// A file of a patch that the model wrote.
    fn patched(&mut self, call_id: &str, file: &Value) -> Option<FileEdit> {
        let old_path = text_of(file, "filePath").or_else(|| text_of(file, "relativePath"))?;
        let new_path = text_of(file, "movePath");
        let change = match str_of(file, "type") {
            Some("add") => Change::Created,
            Some("delete") => Change::Deleted,
            _ if new_path.is_some() => Change::Renamed,
            Some(_) | None => Change::Modified,
        };
        let text = text_of(file, "patch").or_else(|| text_of(file, "diff"));
        let path = new_path.unwrap_or(old_path);
        let old_path = new_path.is_some().then_some(old_path);
        Some(self.told(call_id, path, old_path, change, text, file))
    }

    /// An edit of which the program says the diff, or the two texts, or only how much it is.
    fn told(
        &mut self,
        call_id: &str,
        path: &str,
        old_path: Option<&str>,
        change: Change,
        unified: Option<&str>,
        counts: &Value,
    ) -> FileEdit {
        let shown = shown_path(self.cwd.as_deref(), path);
        let shown_old = old_path.map(|old_path| shown_path(self.cwd.as_deref(), old_path));
        let mut old = None;
        let diff = unified
            .and_then(|unified| from_unified(&shown, shown_old.as_deref(), change, unified))
            .or_else(|| {
                let (before, after) = (str_of(counts, "before")?, str_of(counts, "after")?);
                let before = Some(before).filter(|_| change != Change::Created);
                let after = Some(after).filter(|_| change != Change::Deleted);
                old = before;
                Some(diff_texts(&shown, before, after))
            });
        let learnt = self.learn(path, old_path, diff.as_ref());
        let old = learnt.as_deref().or(old);
        match diff {
            Some(diff) => with_old_text(file_edit(call_id, path, &diff), old),
            None => {
                let count = |key: &str| {
                    count_of(counts, key)
                        .and_then(|n| u32::try_from(n).ok())
                        .unwrap_or(0)
                };
                FileEdit {
                    old_path: old_path.map(str::to_owned),
                    lines_added: count("additions"),
                    lines_removed: count("deletions"),
                    ..named_edit(call_id, path, change)
                }
            }
        }
    }

    /// What stands in the file after the diff; what stood there before, where the diff is known to be of that.
    fn learn(
        &mut self,
        path: &str,
        old_path: Option<&str>,
        diff: Option<&FileDiff>,
    ) -> Option<String> {
        let before = self.known.remove(old_path.unwrap_or(path));
        let (before, after) = match (before, diff) {
            (Some(known), Some(diff)) if !known.shown => {
                let after = apply(&diff.text, &known.text).ok();
                (Some(known.text), after)
            }
            (None, Some(diff)) if diff.change == Change::Created => {
                (None, apply(&diff.text, "").ok())
            }
            _ => (None, None),
        };
        self.keep(path, &after?, false);
        before
    }
}

impl Session {
    /// The files that a step changed, with those that no tool told.
    pub(super) fn patch(
        &mut self,
        emitter: &mut Emitter,
        message_id: &str,
        id: &str,
        part: &Value,
        place: &Place,
    ) {
        let Some(message) = self.messages.get(message_id) else {
            return;
        };
        let mut by: Vec<&str> = message
            .parts
            .iter()
            .filter_map(|part_id| self.calls.get(part_id))
            .filter(|call| matches!(tools::kind(&call.name), "execute" | "other" | "agent"))
            .map(|call| call.id.as_str())
            .collect();
        // Of several, none can be named.
        let call_id = match (by.pop(), by.is_empty()) {
            (Some(call_id), true) => call_id.to_owned(),
            _ => String::new(),
        };
        let paths: Vec<&str> = list_of(part, "files")
            .iter()
            .filter_map(Value::as_str)
            .filter(|path| !path.is_empty() && !message.edited.contains(*path))
            .collect();
        if paths.is_empty() {
            return emitter.pass_over("part patch, told by tools");
        }
        for path in paths {
            let edit = named_edit(&call_id, path, Change::Modified);
            self.add(emitter, id, "edit", place, edit);
        }
    }
}
