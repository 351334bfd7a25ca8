//! The changed files of a turn, and what its edits add up to.

use chat_event::payload::FileEdit;

use super::ChatRenderer;
use crate::block::TurnIdx;
use crate::file_place::moved_from;

/// What a turn did to a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edited {
    /// How many of its rows change it.
    n_rows: u32,
    /// Whether the turn counts it: not where it was moved on from here.
    counts: bool,
}
chat_event::pack_fields!(Edited { n_rows, counts });

impl ChatRenderer {
    /// A row of the turn changes a file.
    pub(super) fn count_edit(&mut self, turn: TurnIdx, edit: &FileEdit) {
        let is_known = self.edited(turn, &edit.file_path).counts;
        let moved = moved_from(edit).filter(|old| self.edited(turn, old).counts);
        if let Some(old) = moved {
            self.edited_mut(turn, old).counts = false;
        }
        let edited = self.edited_mut(turn, &edit.file_path);
        edited.n_rows = edited.n_rows.saturating_add(1);
        edited.counts = true;
        let counts = self.feed.turn_mut(turn);
        counts.edits += 1;
        counts.files += u32::from(!is_known);
        counts.files = counts.files.saturating_sub(u32::from(moved.is_some()));
        counts.lines_added = counts.lines_added.saturating_add(edit.lines_added);
        counts.lines_removed = counts.lines_removed.saturating_add(edit.lines_removed);
        self.turn_changed(turn);
    }

    /// That row was taken back.
    pub(super) fn uncount_edit(&mut self, turn: TurnIdx, edit: &FileEdit) {
        let edited = self.edited_mut(turn, &edit.file_path);
        edited.n_rows = edited.n_rows.saturating_sub(1);
        let is_gone = edited.n_rows == 0 && std::mem::take(&mut edited.counts);
        // The file is where it was before, and counts by what was done to it there.
        let old = moved_from(edit).filter(|old| self.edited(turn, old).n_rows > 0);
        let is_back =
            old.is_some_and(|old| !std::mem::replace(&mut self.edited_mut(turn, old).counts, true));
        let counts = self.feed.turn_mut(turn);
        counts.edits = counts.edits.saturating_sub(1);
        counts.files = (counts.files + u32::from(is_back)).saturating_sub(u32::from(is_gone));
        counts.lines_added = counts.lines_added.saturating_sub(edit.lines_added);
        counts.lines_removed = counts.lines_removed.saturating_sub(edit.lines_removed);
    }

    fn edited(&self, turn: TurnIdx, path: &str) -> Edited {
        let turns = self.edited_in.get(path);
        let edited = turns.and_then(|turns| turns.get(&turn));
        edited.copied().unwrap_or_default()
    }

    fn edited_mut(&mut self, turn: TurnIdx, path: &str) -> &mut Edited {
        let turns = self.edited_in.entry(path.into()).or_default();
        turns.entry(turn).or_default()
    }
}
