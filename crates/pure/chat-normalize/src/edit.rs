//! Diffs as `file_edit` events, for every dialect that knows some.

use chat_diff::{Change, FileDiff, diff_texts, preview};
use chat_event::Extra;
use chat_event::payload::FileEdit;

use crate::words::counted;

/// The edit that the call `call_id` made of the file at `path`.
pub(crate) fn file_edit(call_id: &str, path: &str, diff: &FileDiff) -> FileEdit {
    FileEdit {
        tool_call_id: call_id.to_owned(),
        file_path: path.to_owned(),
        change_type: diff.change.as_str().to_owned(),
        old_path: diff.old_path.clone(),
        lines_added: diff.lines_added,
        lines_removed: diff.lines_removed,
        diff_preview: preview(&diff.text).into(),
        full_diff_available: !diff.text.is_empty(),
        full_diff_size: diff.text.len() as u64,
        full_diff: (!diff.text.is_empty()).then(|| diff.text.as_str().into()),
        binary: diff.binary.then_some(true),
        old_text: None,
        extra: Extra::default(),
    }
}

/// One line for what a call changed: the lines where they are known, and the files where there are several.
pub(crate) fn edits_summary(edits: &[FileEdit]) -> String {
    let sum = |count: fn(&FileEdit) -> u32| edits.iter().map(count).fold(0, u32::saturating_add);
    changed_words(
        edits.len(),
        sum(|edit| edit.lines_added),
        sum(|edit| edit.lines_removed),
    )
}

/// The same, of their numbers.
pub(crate) fn changed_words(n_files: usize, added: u32, removed: u32) -> String {
    let files = counted(n_files, "file", "files");
    match n_files {
        _ if added == 0 && removed == 0 => files,
        1 => format!("+{added} −{removed}"),
        _ => format!("{files}, +{added} −{removed}"),
    }
}

/// A longer old text is not kept with the edit: it would have to be fetched whole for a few lines of it.
const MOST_OLD_BYTES: usize = 4 * 1024 * 1024;

/// The edit with the text it was made of, where that has lines that the diff leaves out. The diff must be of this text.
pub(crate) fn with_old_text(mut edit: FileEdit, old: Option<&str>) -> FileEdit {
    let (Some(old), Some(diff)) = (old, &edit.full_diff) else {
        return edit;
    };
    let diff = diff.preview();
    let hunks = diff.lines().skip_while(|line| !line.starts_with("@@"));
    let n_shown = hunks.filter(|line| line.starts_with([' ', '-'])).count();
    let leaves_out = old.split_inclusive('\n').count() > n_shown;
    if n_shown > 0 && leaves_out && old.len() <= MOST_OLD_BYTES {
        edit.old_text = Some(old.into());
    }
    edit
}

/// An edit of which only what was replaced is known, not where: its lines bear no numbers, and nothing more is promised.
pub(crate) fn piece_edit(call_id: &str, path: &str, pieces: &[(&str, &str)]) -> FileEdit {
    let mut made = String::new();
    let (mut added, mut removed) = (0u32, 0u32);
    for (old, new) in pieces {
        let diff = diff_texts(path, Some(old), Some(new));
        added = added.saturating_add(diff.lines_added);
        removed = removed.saturating_add(diff.lines_removed);
        for line in diff.text.lines().skip_while(|line| !line.starts_with("@@")) {
            // Nor is it known whether a piece ends the file.
            if line.starts_with("@@") {
                made.push_str("@@\n");
            } else if !line.starts_with('\\') {
                made.push_str(line);
                made.push('\n');
            }
        }
    }
    FileEdit {
        lines_added: added,
        lines_removed: removed,
        diff_preview: preview(&made).into(),
        ..named_edit(call_id, path, Change::Modified)
    }
}

/// An edit of which no diff is known.
pub(crate) fn named_edit(call_id: &str, path: &str, change: Change) -> FileEdit {
    FileEdit {
        tool_call_id: call_id.to_owned(),
        file_path: path.to_owned(),
        change_type: change.as_str().to_owned(),
        full_diff_available: false,
        ..FileEdit::default()
    }
}

/// The path in a diff's header: below the working directory where it is there, so that `git apply` finds it.
pub(crate) fn shown_path(cwd: Option<&str>, path: &str) -> String {
    let below = cwd
        .and_then(|cwd| path.strip_prefix(cwd))
        .and_then(|rest| rest.strip_prefix('/'));
    below
        .filter(|rest| !rest.is_empty())
        .unwrap_or_else(|| path.trim_start_matches('/'))
        .to_owned()
}
