//! What is told of a file in words: what became of its mode, why it has no lines, what is folded away.

use chat_diff::{Change, PatchFile};

use super::{DiffList, Fold};
use crate::units;

/// The mode of a file that nobody says anything of.
const PLAIN_MODE: u32 = 0o100_644;

impl DiffList {
    /// Why a file has no lines.
    pub(super) fn note(&self, file: &PatchFile) -> String {
        let why = if file.binary {
            "Binary file: its content is not shown"
        } else if !file.hunks.is_empty() {
            "Only white space differs"
        } else {
            match file.change {
                Change::Renamed => "Renamed, its content is the same",
                Change::Created if is_copy(file) => "Copied, its content is the same",
                Change::Created => "New and empty",
                Change::Deleted => "Deleted, it was empty",
                Change::Modified if file.old_mode != file.new_mode => "Only its mode differs",
                Change::Modified => "No content",
            }
        };
        // A head says it, where there is one; so does a line of its own above hunks.
        let said = self.patch.files.len() > 1 || !file.hunks.is_empty();
        match mode_of(file).filter(|_| !said) {
            Some(mode) => format!("{why} ({mode})"),
            None => why.to_owned(),
        }
    }

    /// The words of the button of a folded file.
    pub(super) fn folded(&self, file: &PatchFile, fold: Option<Fold>) -> String {
        let lines = units::count(n_lines(file) as u64, "line", "lines");
        match fold {
            Some(fold) => format!("Show diff ({fold}, {lines})"),
            None => format!("Show diff ({lines})"),
        }
    }
}

/// Whether the file was made from another, which its headers name.
pub(super) fn is_copy(file: &PatchFile) -> bool {
    file.change == Change::Created && file.old_path.is_some()
}

/// What became of a file's mode: `mode 644 → 755`, `link`. Nothing of a plain file that came or went.
pub(super) fn mode_of(file: &PatchFile) -> Option<String> {
    let named = |mode: u32| match mode >> 12 {
        0o12 => "link".to_owned(),
        0o16 => "submodule".to_owned(),
        _ => format!("{:o}", mode & 0o7777),
    };
    match (file.old_mode, file.new_mode) {
        (Some(old), Some(new)) if old != new => {
            Some(format!("mode {} → {}", named(old), named(new)))
        }
        (Some(mode), None) | (None, Some(mode)) if mode != PLAIN_MODE => match mode >> 12 {
            0o10 => Some(format!("mode {}", named(mode))),
            _ => Some(named(mode)),
        },
        _ => None,
    }
}

pub(super) fn n_lines(file: &PatchFile) -> usize {
    file.hunks.iter().map(|hunk| hunk.lines.len()).sum()
}
