//! The files that were changed: a tree of them, what became of each in sum, and the sum of its diffs.
//!
//! The tree is built in `tree`, diffs are summed up in `edits`.

mod edits;
mod tree;

use crate::block::BlockId;
pub use edits::{EditDiff, Sum, edits_of};
pub use tree::{Files, TreeRow, TreeRowKind, files};

/// What became of a file in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileChange {
    /// It is new.
    Created,
    /// It has other content.
    #[default]
    Modified,
    /// It is gone.
    Deleted,
    /// It has another path.
    Renamed,
}

impl FileChange {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            FileChange::Created => "created",
            FileChange::Modified => "modified",
            FileChange::Deleted => "deleted",
            FileChange::Renamed => "renamed",
        }
    }

    /// What two changes, one after the other, are in sum. `is_new` says that nothing was there before the first of all.
    pub(crate) fn then(self, next: FileChange, is_new: bool) -> FileChange {
        match (self, next) {
            (_, FileChange::Deleted) => FileChange::Deleted,
            (FileChange::Deleted, _) if is_new => FileChange::Created,
            // A new file that is edited or moved is still a new one.
            (FileChange::Created, _) => FileChange::Created,
            (FileChange::Deleted, _) => FileChange::Modified,
            (FileChange::Renamed, _) | (_, FileChange::Renamed) => FileChange::Renamed,
            (FileChange::Modified, _) => FileChange::Modified,
        }
    }

    /// What a source's word for it says.
    pub(crate) fn of(change_type: &str) -> FileChange {
        match change_type {
            "created" => FileChange::Created,
            "deleted" => FileChange::Deleted,
            "renamed" => FileChange::Renamed,
            _ => FileChange::Modified,
        }
    }
}

/// A file that was changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangedFile {
    /// Its path as it is now.
    pub path: String,
    /// The same as seen from the session's folder.
    pub shown_path: String,
    /// Its path before, where it has another.
    pub old_path: Option<String>,
    /// What became of it.
    pub change: FileChange,
    /// Lines added by all its edits.
    pub lines_added: u64,
    /// Lines removed by all its edits.
    pub lines_removed: u64,
    /// The rows of its edits, in the order they were made.
    pub edits: Vec<BlockId>,
    /// How many of these are of turns that are undone, and nothing says that they were put back.
    pub n_undone: usize,
}
