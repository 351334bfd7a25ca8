//! File edits from tool results, as unified diffs.
//!
//! - `structuredPatch` is used where it applies to `originalFile`; else the diff is made from the two texts.
//! - A created file has no hunks: its lines are those of `content`.
//! - A Write onto an existing empty file says `create`, as does a new one; a file that was read and held nothing before
//!   is taken as existing.
//! - Texts are LF here even where the disk has CRLF: the program says them so.
//! - Without what stood there before (1.0's stream, sub-agents), lines are counted from the call and nothing is promised.

use chat_diff::{Change, FileDiff, Hunk, apply, diff_texts, from_hunks};
use chat_event::payload::FileEdit;
use serde_json::Value;

use super::session::Call;
use crate::edit::{file_edit, piece_edit, shown_path, with_old_text};
use crate::emit::Place;
use crate::recent::Recent;
use crate::value::{count_of, is_true, list_of, str_of, text_of};

/// What edits are judged by.
pub(crate) struct Edits<'a> {
    pub(crate) cwd: Option<String>,
    pub(crate) empty_files: &'a mut Recent<()>,
}

impl Edits<'_> {
    /// The edit that `call` made, where it made one. `text` is what the tool answered.
    pub(crate) fn file_edit(
        &mut self,
        call: &Call,
        details: Option<&Value>,
        text: &str,
    ) -> Option<FileEdit> {
        let details = details.filter(|details| details.is_object());
        if call.name == "Read" {
            self.remember_empty(call, details, text);
            return None;
        }
        let path_key = match call.name.as_str() {
            "Write" | "Edit" | "MultiEdit" => "file_path",
            "NotebookEdit" => "notebook_path",
            _ => return None,
        };
        let path = details
            .and_then(|details| {
                text_of(details, "filePath").or_else(|| text_of(details, "notebook_path"))
            })
            .or_else(|| text_of(&call.args, path_key))?;
        let was_empty = self.empty_files.remove(path).is_some();
        let shown = shown_path(self.cwd.as_deref(), path);
        let diff = match details {
            Some(details) => from_details(call, &shown, details, was_empty),
            None => None,
        };
        Some(match diff {
            Some((diff, old)) => with_old_text(file_edit(&call.id, path, &diff), old),
            None => from_call(call, path, &shown, text, was_empty),
        })
    }

    fn remember_empty(&mut self, call: &Call, details: Option<&Value>, text: &str) {
        let Some(path) = text_of(&call.args, "file_path") else {
            return;
        };
        let empty = match details.and_then(|details| details.get("file")) {
            Some(file) => {
                str_of(file, "content") == Some("")
                    && count_of(file, "totalLines").unwrap_or(0) <= 1
            }
            None => text.contains("the file exists but the contents are empty"),
        };
        if empty {
            self.empty_files.insert(path, ());
        } else {
            self.empty_files.remove(path);
        }
    }
}

/// The edit of a call that another protocol tells, with what the tool answered in `details`.
pub(crate) fn edit_of(
    call_id: &str,
    name: &str,
    args: &Value,
    details: &Value,
    cwd: Option<String>,
    empty_files: &mut Recent<()>,
) -> Option<FileEdit> {
    let mut call = Call::unknown(call_id.to_owned(), Place::default(), 0);
    name.clone_into(&mut call.name);
    call.args = args.clone();
    let mut edits = Edits { cwd, empty_files };
    edits.file_edit(&call, Some(details), "")
}

/// The diff, and the text before where the diff is of that.
fn from_details<'a>(
    call: &Call,
    shown: &str,
    details: &'a Value,
    was_empty: bool,
) -> Option<(FileDiff, Option<&'a str>)> {
    if call.name == "NotebookEdit" {
        let after = str_of(details, "updated_file")?;
        let before = str_of(details, "original_file").filter(|before| !before.is_empty());
        return Some((diff_texts(shown, before, Some(after)), before));
    }
    let before =
        str_of(details, "originalFile").or_else(|| str_of(details, "originalFileContents"));
    let kind = str_of(details, "type");
    let hunks: Vec<Hunk> = list_of(details, "structuredPatch")
        .iter()
        .map(hunk)
        .collect();
    let after = after(call, details, before);
    let created = match call.name.as_str() {
        "Write" => {
            kind == Some("create")
                || (before.is_none() && hunks.is_empty() && kind != Some("update"))
        }
        // An Edit with nothing to look for makes the file.
        _ => {
            before.is_none_or(str::is_empty)
                && first_old_string(call, details).is_none_or(str::is_empty)
        }
    };
    if created {
        let before = was_empty.then_some("");
        return after.map(|after| (diff_texts(shown, before, Some(&after)), None));
    }
    if !hunks.is_empty() {
        let diff = from_hunks(shown, Change::Modified, &hunks);
        let fits = match (before, &after) {
            (Some(before), Some(after)) => {
                apply(&diff.text, before).is_ok_and(|made| made == *after)
            }
            (Some(before), None) => apply(&diff.text, before).is_ok(),
            (None, _) => true,
        };
        if fits {
            return Some((diff, before));
        }
    }
    // 1.0 does not tell what stood there; without a hunk it was the same.
    if let Some(after) = after.as_deref().filter(|_| call.name == "Write")
        && before.is_none()
        && hunks.is_empty()
    {
        return Some((diff_texts(shown, Some(after), Some(after)), None));
    }
    match (before, after) {
        (Some(old), Some(after)) => Some((diff_texts(shown, before, Some(&after)), Some(old))),
        _ if !hunks.is_empty() => Some((from_hunks(shown, Change::Modified, &hunks), None)),
        _ => None,
    }
}

/// The text after the edit, where it can be told.
fn after(call: &Call, details: &Value, before: Option<&str>) -> Option<String> {
    match call.name.as_str() {
        "Write" => str_of(details, "content")
            .or_else(|| str_of(&call.args, "content"))
            .map(str::to_owned),
        "Edit" => {
            let old = str_of(details, "oldString").or_else(|| str_of(&call.args, "old_string"))?;
            let new = str_of(details, "newString").or_else(|| str_of(&call.args, "new_string"))?;
            let all = is_true(details, "replaceAll") || is_true(&call.args, "replace_all");
            replaced(before.unwrap_or(""), old, new, all)
        }
        "MultiEdit" => {
            let edits = match list_of(details, "edits") {
                [] => list_of(&call.args, "edits"),
                edits => edits,
            };
            edits
                .iter()
                .try_fold(before.unwrap_or("").to_owned(), |text, edit| {
                    replaced(
                        &text,
                        str_of(edit, "old_string")?,
                        str_of(edit, "new_string")?,
                        is_true(edit, "replace_all"),
                    )
                })
        }
        _ => None,
    }
}

/// The text with `old` replaced as the program does it: where words are taken out and a line ends behind them, so is
/// its end.
fn replaced(text: &str, old: &str, new: &str, all: bool) -> Option<String> {
    if old.is_empty() {
        return text.is_empty().then(|| new.to_owned());
    }
    if !text.contains(old) {
        return None;
    }
    let line = format!("{old}\n");
    let takes_line = new.is_empty() && !old.ends_with('\n') && text.contains(&line);
    let old = if takes_line { &line } else { old };
    Some(if all {
        text.replace(old, new)
    } else {
        text.replacen(old, new, 1)
    })
}

fn first_old_string<'a>(call: &'a Call, details: &'a Value) -> Option<&'a str> {
    str_of(details, "oldString")
        .or_else(|| str_of(&call.args, "old_string"))
        .or_else(|| {
            list_of(details, "edits")
                .first()
                .or_else(|| list_of(&call.args, "edits").first())
                .and_then(|edit| str_of(edit, "old_string"))
        })
}

fn hunk(hunk: &Value) -> Hunk {
    let number = |key: &str| {
        count_of(hunk, key)
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(0)
    };
    Hunk {
        old_start: number("oldStart"),
        old_lines: number("oldLines"),
        new_start: number("newStart"),
        new_lines: number("newLines"),
        lines: list_of(hunk, "lines")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    }
}

/// What the call alone tells: a created file is whole, of a changed one only the changed pieces are known.
fn from_call(call: &Call, path: &str, shown: &str, text: &str, was_empty: bool) -> FileEdit {
    if call.name == "Write"
        && text.contains("created successfully")
        && let Some(content) = str_of(&call.args, "content")
    {
        return file_edit(
            &call.id,
            path,
            &diff_texts(shown, was_empty.then_some(""), Some(content)),
        );
    }
    let pieces: Vec<(&str, &str)> = match call.name.as_str() {
        "Edit" => vec![(
            str_of(&call.args, "old_string").unwrap_or(""),
            str_of(&call.args, "new_string").unwrap_or(""),
        )],
        "MultiEdit" => list_of(&call.args, "edits")
            .iter()
            .map(|edit| {
                (
                    str_of(edit, "old_string").unwrap_or(""),
                    str_of(edit, "new_string").unwrap_or(""),
                )
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut edit = piece_edit(&call.id, path, &pieces);
    if text.contains("created successfully") {
        Change::Created.as_str().clone_into(&mut edit.change_type);
    }
    edit
}
