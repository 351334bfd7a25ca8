//! Files changed: by items that say how, and by the text of `apply_patch`.
//!
//! | source | what it says |
//! |---|---|
//! | `exec` | paths and kinds alone; early 2026 also `diff` |
//! | rollout | `unified_diff` and `move_path`, or the whole `content` of a file that was added or deleted |
//! | app-server | `diff`: hunks, behind them `Moved to: …`; for an added or deleted file its bare content |
//! | patch text | hunks without line numbers |
//!
//! "Add" is also said of a file that was there. What the session itself made of a file is remembered, so that such a
//! file is seen as changed, and numberless hunks get their numbers (`pieces`).

mod pieces;
mod proposed;

use std::collections::HashMap;

use chat_diff::{Change, FileDiff, apply, diff_renamed, diff_texts, from_unified, preview};
use chat_event::payload::FileEdit;
use serde_json::Value;

use crate::edit::{file_edit, shown_path, with_old_text};
use crate::value::{str_of, text_of};
use pieces::{Piece, take_line};
pub(crate) use proposed::args_of;

/// Files beyond this size, or this many, are not remembered.
const MAX_KNOWN_BYTES: usize = 256 * 1024;
const MAX_KNOWN_FILES: usize = 256;

/// One file of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: String,
    pub(crate) moved_to: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) detail: Detail,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    Add,
    Delete,
    #[default]
    Update,
}

/// What is known of a file's change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Only that it happened.
    #[default]
    Nothing,
    /// The whole text that was added or deleted.
    Content(String),
    /// A unified diff.
    Unified(String),
    /// Hunks without numbers: what stands in the place of what.
    Pieces(Vec<Piece>),
}

/// What the session made of files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    known: HashMap<String, String>,
}

/// The changes of an item: a list (`exec`, app-server) or an object by path (rollout).
pub(crate) fn of_item(changes: &Value) -> Vec<FileChange> {
    match changes {
        Value::Array(list) => list.iter().filter_map(of_list_entry).collect(),
        Value::Object(by_path) => by_path
            .iter()
            .map(|(path, change)| of_path(path, change))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn kind_of(word: &str) -> Kind {
    match word {
        "add" => Kind::Add,
        "delete" => Kind::Delete,
        _ => Kind::Update,
    }
}

fn of_list_entry(change: &Value) -> Option<FileChange> {
    let path = text_of(change, "path")?.to_owned();
    let said = change.get("kind").unwrap_or(&Value::Null);
    let kind = kind_of(said.as_str().or_else(|| str_of(said, "type")).unwrap_or(""));
    let moved_to = text_of(said, "move_path").map(str::to_owned);
    let detail = match (kind, str_of(change, "diff")) {
        (_, None) => Detail::Nothing,
        // A diff in place of the content, as the first versions had it.
        (Kind::Add | Kind::Delete, Some(diff)) if diff.starts_with("--- ") => {
            Detail::Unified(diff.to_owned())
        }
        (Kind::Add | Kind::Delete, Some(content)) => Detail::Content(content.to_owned()),
        (Kind::Update, Some(diff)) => {
            let trailer = moved_to.as_ref().map(|to| format!("\n\nMoved to: {to}"));
            let hunks = trailer.and_then(|trailer| diff.strip_suffix(&trailer));
            Detail::Unified(hunks.unwrap_or(diff).to_owned())
        }
    };
    Some(FileChange {
        path,
        moved_to,
        kind,
        detail,
    })
}

fn of_path(path: &str, change: &Value) -> FileChange {
    let kind = kind_of(str_of(change, "type").unwrap_or(""));
    let detail = match kind {
        Kind::Add | Kind::Delete => {
            str_of(change, "content").map(|text| Detail::Content(text.to_owned()))
        }
        Kind::Update => str_of(change, "unified_diff").map(|text| Detail::Unified(text.to_owned())),
    };
    FileChange {
        path: path.to_owned(),
        moved_to: text_of(change, "move_path").map(str::to_owned),
        kind,
        detail: detail.unwrap_or_default(),
    }
}

/// The changes that the text of an `apply_patch` wants; `None` where it is no patch.
pub(crate) fn of_patch_text(text: &str, cwd: Option<&str>) -> Option<Vec<FileChange>> {
    let begin = text.find("*** Begin Patch")?;
    let mut changes: Vec<FileChange> = Vec::new();
    let mut content = String::new();
    let absolute = |path: &str| match cwd {
        Some(cwd) if !path.starts_with('/') => format!("{}/{path}", cwd.trim_end_matches('/')),
        _ => path.to_owned(),
    };
    let lines = text[begin..].split('\n').skip(1);
    for line in lines {
        let marker = line.trim_end();
        if marker == "*** End Patch" {
            break;
        }
        let header = [
            ("*** Add File: ", Kind::Add),
            ("*** Delete File: ", Kind::Delete),
            ("*** Update File: ", Kind::Update),
        ]
        .iter()
        .find_map(|(prefix, kind)| marker.strip_prefix(prefix).map(|path| (path, *kind)));
        if let Some((path, kind)) = header {
            finish_content(&mut changes, &mut content);
            changes.push(FileChange {
                path: absolute(path.trim()),
                kind,
                detail: match kind {
                    Kind::Update => Detail::Pieces(Vec::new()),
                    Kind::Add => Detail::Content(String::new()),
                    Kind::Delete => Detail::Nothing,
                },
                moved_to: None,
            });
            continue;
        }
        let Some(change) = changes.last_mut() else {
            continue;
        };
        if let Some(to) = marker.strip_prefix("*** Move to: ") {
            change.moved_to = Some(absolute(to.trim()));
            continue;
        }
        match &mut change.detail {
            Detail::Content(_) => {
                if let Some(line) = line.strip_prefix('+') {
                    content.push_str(line);
                    content.push('\n');
                }
            }
            Detail::Pieces(pieces) => take_line(pieces, line),
            Detail::Nothing | Detail::Unified(_) => {}
        }
    }
    finish_content(&mut changes, &mut content);
    Some(changes)
}

fn finish_content(changes: &mut [FileChange], content: &mut String) {
    if let Some(change) = changes.last_mut()
        && let Detail::Content(text) = &mut change.detail
    {
        *text = std::mem::take(content);
    }
}

impl Files {
    /// The edit that the call `call_id` made.
    pub(crate) fn edit(
        &mut self,
        call_id: &str,
        cwd: Option<&str>,
        change: &FileChange,
    ) -> FileEdit {
        let path = change.moved_to.as_ref().unwrap_or(&change.path);
        let (shown, shown_before) = (shown_path(cwd, path), shown_path(cwd, &change.path));
        let before = self.known.remove(&change.path);
        let after = after(change, before.as_deref());
        let diff = match (&change.detail, &before, &after) {
            (Detail::Content(text), _, _) if change.kind == Kind::Delete => {
                Some(diff_texts(&shown, Some(text), None))
            }
            (_, before, Some(after)) if change.kind == Kind::Add => {
                Some(diff_texts(&shown, before.as_deref(), Some(after)))
            }
            (_, Some(before), Some(after)) if change.moved_to.is_some() => Some(diff_renamed(
                &shown_before,
                &shown,
                before.as_bytes(),
                after.as_bytes(),
            )),
            (Detail::Unified(unified), _, _) => {
                unified_diff(change, &shown, &shown_before, unified)
            }
            (_, Some(before), Some(after)) => Some(diff_texts(&shown, Some(before), Some(after))),
            (_, Some(before), None) if change.kind == Kind::Delete => {
                Some(diff_texts(&shown, Some(before), None))
            }
            _ => None,
        };
        // Where the text after is known the diff is of the text before.
        let old = before.filter(|_| after.is_some());
        if let Some(after) = after
            && after.len() <= MAX_KNOWN_BYTES
            && self.known.len() < MAX_KNOWN_FILES
        {
            self.known.insert(path.clone(), after);
        }
        match diff {
            Some(diff) => {
                let mut edit = file_edit(call_id, path, &diff);
                edit.old_path = edit.old_path.map(|_| change.path.clone());
                with_old_text(edit, old.as_deref())
            }
            None => without_diff(call_id, path, change),
        }
    }
}

/// The text after the change, where it can be told.
fn after(change: &FileChange, before: Option<&str>) -> Option<String> {
    match (&change.detail, change.kind) {
        (Detail::Content(text), Kind::Add) => Some(text.clone()),
        (Detail::Unified(unified), Kind::Update) => {
            let diff = from_unified("file", None, Change::Modified, unified)?;
            apply(&diff.text, before?).ok()
        }
        (Detail::Pieces(pieces), Kind::Update) => pieces::apply(pieces, before?),
        _ => None,
    }
}

fn unified_diff(
    change: &FileChange,
    shown: &str,
    shown_before: &str,
    unified: &str,
) -> Option<FileDiff> {
    let word = match change.kind {
        Kind::Add => Change::Created,
        Kind::Delete => Change::Deleted,
        Kind::Update if change.moved_to.is_some() => Change::Renamed,
        Kind::Update => Change::Modified,
    };
    from_unified(shown, Some(shown_before), word, unified)
}

/// An edit of which no true diff is known; numberless hunks are shown as they are.
fn without_diff(call_id: &str, path: &str, change: &FileChange) -> FileEdit {
    let mut made = String::new();
    let (mut added, mut removed) = (0u32, 0u32);
    if let Detail::Pieces(pieces) = &change.detail {
        for piece in pieces {
            made.push_str("@@\n");
            for line in &piece.lines {
                added = added.saturating_add(u32::from(line.starts_with('+')));
                removed = removed.saturating_add(u32::from(line.starts_with('-')));
                made.push_str(line);
                made.push('\n');
            }
        }
    }
    let moved = change.moved_to.is_some();
    let word = match change.kind {
        Kind::Add => Change::Created,
        Kind::Delete => Change::Deleted,
        Kind::Update if moved => Change::Renamed,
        Kind::Update => Change::Modified,
    };
    FileEdit {
        tool_call_id: call_id.to_owned(),
        file_path: path.to_owned(),
        change_type: word.as_str().to_owned(),
        old_path: moved.then(|| change.path.clone()),
        lines_added: added,
        lines_removed: removed,
        diff_preview: preview(&made).into(),
        full_diff_available: false,
        ..FileEdit::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** Update File: b.txt\n*** Move to: c.txt\n@@ fn x\n keep\n-old\n+new\n*** Delete File: d.txt\n*** End Patch\n";

    #[test]
    fn a_patch_is_read_file_by_file() {
        let changes = of_patch_text(PATCH, Some("/w")).unwrap();
        assert_eq!(changes.len(), 3);
        assert_eq!(changes[0].path, "/w/a.txt");
        assert_eq!(changes[0].detail, Detail::Content("one\ntwo\n".to_owned()));
        assert_eq!(changes[1].moved_to.as_deref(), Some("/w/c.txt"));
        assert_eq!(changes[2].kind, Kind::Delete);
        let edit = Files::default().edit("c", Some("/w"), &changes[1]);
        assert_eq!((edit.lines_added, edit.lines_removed), (1, 1));
        assert_eq!(edit.change_type, "renamed");
        assert!(!edit.full_diff_available);
        assert_eq!(edit.diff_preview, "@@\n keep\n-old\n+new\n");
    }

    #[test]
    fn hunks_get_their_numbers_where_the_session_made_the_file() {
        let mut files = Files::default();
        let made = of_patch_text(
            "*** Begin Patch\n*** Add File: a\n+1\n+2\n+3\n*** End Patch",
            None,
        )
        .unwrap();
        files.edit("x", None, &made[0]);
        let changed = of_patch_text(
            "*** Begin Patch\n*** Update File: a\n@@\n-2\n+II\n*** End Patch",
            None,
        )
        .unwrap();
        let edit = files.edit("y", None, &changed[0]);
        assert!(
            edit.diff_preview
                .read()
                .contains("@@ -1,3 +1,3 @@\n 1\n-2\n+II\n 3\n")
        );
    }

    #[test]
    fn where_a_place_is_not_sure_the_text_is_not_known_any_more() {
        let mut files = Files::default();
        let mut edit = |patch: &str| {
            let patch = format!("*** Begin Patch\n{patch}*** End Patch");
            let change = of_patch_text(&patch, None).unwrap();
            files.edit("x", None, &change[0])
        };
        edit("*** Add File: a\n+def a():\n+    pass\n+def b():\n+    pass\n");
        let below = edit("*** Update File: a\n@@ def b():\n-    pass\n+    return 2\n");
        let lines = " def a():\n     pass\n def b():\n-    pass\n+    return 2\n";
        assert!(below.diff_preview.read().ends_with(lines));
        edit("*** Update File: a\n@@\n+    pass\n*** End of File\n");
        let unsure = edit("*** Update File: a\n@@\n-    pass\n+    return 1\n");
        assert_eq!(unsure.diff_preview, "@@\n-    pass\n+    return 1\n");
        let later = edit("*** Update File: a\n@@\n-def a():\n+def c():\n");
        assert!(!later.full_diff_available);
    }

    #[test]
    fn the_trailer_of_a_move_is_no_line_of_the_file() {
        let changes = of_item(
            &serde_json::json!([{"path": "/w/b", "diff": "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /w/c",
            "kind": {"type": "update", "move_path": "/w/c"}}]),
        );
        let edit = Files::default().edit("x", Some("/w"), &changes[0]);
        assert_eq!(edit.change_type, "renamed");
        assert_eq!(edit.old_path.as_deref(), Some("/w/b"));
        assert!(edit.diff_preview.read().ends_with("@@ -1 +1 @@\n-a\n+b\n"));
    }
}
