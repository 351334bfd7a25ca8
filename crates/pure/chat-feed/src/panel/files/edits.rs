//! The edits of a file, and the sum of their diffs.

use chat_event::payload::FileEdit;

use super::{ChangedFile, FileChange};
use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;
use crate::units;

/// The diff of one edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditDiff {
    /// Its row.
    pub block: BlockId,
    /// The diff, as much of it as is here.
    pub text: String,
    /// Whether that is all of it.
    pub whole: bool,
    /// Whether the rest can be asked for.
    pub available: bool,
}

/// What the edits of a file are in sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sum {
    /// One diff, from before the first edit to after the last.
    Whole {
        /// The diff; empty where all was taken back.
        text: String,
        /// Lines that are there now and were not before.
        lines_added: u32,
        /// Lines that were there before.
        lines_removed: u32,
    },
    /// The edits one after another, and why they cannot be summed up.
    Apart {
        /// Why, in a sentence without its full stop.
        why: String,
        /// The diffs.
        edits: Vec<EditDiff>,
    },
}

/// The sum of a file's edits. `loaded` has the whole diff of a row, where it was fetched.
pub fn edits_of<T: AsRef<str>>(
    feed: &Feed,
    file: &ChangedFile,
    loaded: impl Fn(BlockId) -> Option<T>,
) -> Sum {
    let diffs = file
        .edits
        .iter()
        .filter_map(|&id| match &feed.block(id).body {
            BlockBody::FileEdit(edit) => Some(edit_diff(id, &edit.edit, loaded(id))),
            _ => None,
        });
    let edits: Vec<EditDiff> = diffs.collect();
    let n_cut = edits.iter().filter(|edit| !edit.whole).count();
    if n_cut > 0 {
        let of = units::count(edits.len() as u64, "edit", "edits");
        let why = match n_cut {
            1 if edits.len() == 1 => "Only a part of this diff is here".to_owned(),
            _ => format!("Only a part of {n_cut} of {of} is here"),
        };
        return Sum::Apart { why, edits };
    }
    let texts: Vec<&str> = edits.iter().map(|edit| edit.text.as_str()).collect();
    if texts.iter().all(|text| text.is_empty()) {
        let why = "This source does not tell the content of the change".to_owned();
        return Sum::Apart { why, edits };
    }
    // A file that only moved holds what it held.
    let only_moved = |edit: &EditDiff| match &feed.block(edit.block).body {
        BlockBody::FileEdit(told) => {
            let edit = &told.edit;
            FileChange::of(&edit.change_type) == FileChange::Renamed
                && (edit.lines_added, edit.lines_removed) == (0, 0)
        }
        _ => false,
    };
    let is_untold = |edit: &EditDiff| edit.text.is_empty() && !only_moved(edit);
    if let Some(nth) = edits.iter().position(is_untold) {
        let why = format!("This source does not tell what edit {} changed", nth + 1);
        return Sum::Apart { why, edits };
    }
    // One diff is its own sum, with the context lines it came with.
    if let [only] = edits.as_slice() {
        return Sum::Whole {
            text: only.text.clone(),
            lines_added: u32::try_from(file.lines_added).unwrap_or(u32::MAX),
            lines_removed: u32::try_from(file.lines_removed).unwrap_or(u32::MAX),
        };
    }
    match chat_diff::compose(&file.path, &texts) {
        Ok(diff) => Sum::Whole {
            text: diff.text,
            lines_added: diff.lines_added,
            lines_removed: diff.lines_removed,
        },
        Err(refused) => {
            let why = match refused {
                chat_diff::ComposeError::Unreadable { diff } => {
                    format!("Edit {} is not the whole diff of a text", diff + 1)
                }
                chat_diff::ComposeError::Mismatch { diff } => {
                    format!("Something else changed this file before edit {}", diff + 1)
                }
                chat_diff::ComposeError::TooLong => "These edits are too long to sum up".to_owned(),
            };
            Sum::Apart { why, edits }
        }
    }
}

fn edit_diff<T: AsRef<str>>(block: BlockId, edit: &FileEdit, loaded: Option<T>) -> EditDiff {
    let inline = edit.full_diff.as_ref();
    let inline = inline.and_then(|body| body.excerpt().whole());
    let preview = edit.diff_preview.read();
    let (text, whole) = match (&loaded, &inline) {
        (Some(text), _) => (text.as_ref(), true),
        (None, Some(text)) => (text.as_ref(), true),
        (None, None) => (&*preview, edit.full_diff_size <= preview.len() as u64),
    };
    EditDiff {
        block,
        text: text.to_owned(),
        whole,
        available: edit.full_diff_available && !whole,
    }
}
