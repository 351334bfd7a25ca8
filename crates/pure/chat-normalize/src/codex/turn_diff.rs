//! The diff of a whole turn (`turn/diff/updated` of app-server), for files of which no item says how they changed.
//!
//! It is sent again after each change, so only the last is kept, and it is looked at once: when the turn is over. What
//! an item told with its diff is not told again.

use std::collections::BTreeSet;

use chat_diff::parse;
use chat_event::payload::FileEdit;

use super::session::Session;
use crate::edit::file_edit;
use crate::emit::{Emitter, Place};

/// Paths of a diff are compared by their ends with this many of those that were told.
const MAX_COMPARED: usize = 1000;

/// The last diff of the turn that is open, and which files its items told.
#[derive(Debug, Default)]
pub(crate) struct TurnDiff {
    diff: String,
    told: BTreeSet<String>,
}

impl TurnDiff {
    /// Takes the diff as it is now.
    pub(crate) fn renew(&mut self, diff: &str) {
        diff.clone_into(&mut self.diff);
    }

    /// An item told a file; what it only names may still be told.
    pub(crate) fn told(&mut self, edit: &FileEdit) {
        if edit.full_diff.is_some() {
            self.told.insert(edit.file_path.clone());
            self.told.extend(edit.old_path.clone());
        }
    }

    fn is_told(&self, full_path: &str, path: &str) -> bool {
        let end = format!("/{path}");
        // The diff names files below the repository, which can be above the working directory.
        self.told.contains(full_path)
            || self.told.contains(path)
            || self
                .told
                .iter()
                .take(MAX_COMPARED)
                .any(|told| told.ends_with(&end))
    }
}

impl Session {
    /// Writes what the diff of the turn has beyond its items; the turn is over.
    pub(super) fn tell_turn_diff(&mut self, emitter: &mut Emitter, turn: &str, place: &Place) {
        let kept = std::mem::take(&mut self.turn_diff);
        if kept.diff.is_empty() {
            return;
        }
        let cwd = self.facts.cwd();
        for (n, file) in parse(&kept.diff).files.iter().enumerate() {
            let path = file.path();
            let full_path = match &cwd {
                Some(cwd) if !path.starts_with('/') => format!("{cwd}/{path}"),
                _ => path.to_owned(),
            };
            if path.is_empty() || kept.is_told(&full_path, path) {
                continue;
            }
            let edit = file_edit("", &full_path, &file.to_file_diff(&kept.diff));
            emitter.add_as(&format!("{turn}:diff{n}"), place, edit);
        }
    }
}
