//! What a source takes back: its rows go, and what they added to their turn is taken off again.

use std::collections::BTreeSet;

use chat_event::payload::Retract;

use super::ChatRenderer;
use crate::block::{BlockBody, BlockId, FileEditBlock, TurnIdx};
use crate::file_place::moved_from;

impl ChatRenderer {
    /// Takes back the rows that the named events made.
    pub(super) fn retract(&mut self, retract: &Retract) {
        for event_id in &retract.event_ids {
            let id_hash = super::seen::hash_of_id(event_id);
            let Some(&id) = self.rows_of_ids.get(&id_hash) else {
                self.uncount_usage(id_hash);
                continue;
            };
            let text = match &self.feed.block(id).body {
                BlockBody::Text(block) => Some(block.text),
                BlockBody::Thinking(block) => Some(block.text),
                _ => None,
            };
            // A text is many rows, and no source takes back some of them.
            let rows = text.and_then(|text| self.take_back_part(id, text));
            for row in rows.unwrap_or_else(|| vec![id]) {
                self.remove(row);
            }
        }
    }

    /// A row is gone: it counts no longer.
    pub(super) fn uncount(&mut self, id: BlockId) {
        let block = self.feed.block(id);
        let (turn, parent) = (block.turn, block.parent);
        match &block.body {
            BlockBody::Permission(_) | BlockBody::Question(_) => return self.forget_ask(id),
            BlockBody::ToolCall(_) => {
                self.turn_works[turn.0 as usize].open_calls.remove(&id);
                let steps = &mut self.feed.turn_mut(turn).steps;
                *steps = steps.saturating_sub(1);
                if let Some(parent) = parent.filter(|&parent| self.feed.contains(parent)) {
                    let steps = &mut self.call_mut(parent).steps;
                    *steps = steps.saturating_sub(1);
                    self.update_quietly(parent);
                }
            }
            BlockBody::FileEdit(edit) => {
                let edit = edit.clone();
                self.uncount_edit(turn, &edit);
            }
            _ => return,
        }
        self.turn_changed(turn);
    }

    fn uncount_edit(&mut self, turn: TurnIdx, block: &FileEditBlock) {
        let edit = &block.edit;
        let path = edit.file_path.as_str();
        let mut n_files = 0;
        if !self.is_edited_in(turn, path) && self.is_edited_no_more(turn, path) {
            n_files = 1;
            // The file is where it was before, and counts by what was done to it there.
            if let Some(old) = moved_from(edit).filter(|old| self.is_edited_in(turn, old)) {
                self.note_edited(turn, old);
                n_files = 0;
            }
        }
        let counts = self.feed.turn_mut(turn);
        counts.edits = counts.edits.saturating_sub(1);
        counts.files = counts.files.saturating_sub(n_files);
        counts.lines_added = counts.lines_added.saturating_sub(edit.lines_added);
        counts.lines_removed = counts.lines_removed.saturating_sub(edit.lines_removed);
    }

    pub(super) fn note_edited(&mut self, turn: TurnIdx, path: &str) {
        match self.edited_in.get_mut(path) {
            Some(turns) => {
                turns.insert(turn);
            }
            None => {
                self.edited_in.insert(path.into(), BTreeSet::from([turn]));
            }
        }
    }

    /// The file counts no longer for the turn; whether it did.
    pub(super) fn is_edited_no_more(&mut self, turn: TurnIdx, path: &str) -> bool {
        let turns = self.edited_in.get_mut(path);
        turns.is_some_and(|turns| turns.remove(&turn))
    }

    /// Whether a row of the turn edits the file.
    fn is_edited_in(&self, turn: TurnIdx, path: &str) -> bool {
        let last = self.turn_works[turn.0 as usize].last;
        let mut rows = std::iter::successors(last, |&row| self.feed.prev(row))
            .map(|row| self.feed.block(row))
            .take_while(|row| row.turn == turn);
        rows.any(
            |row| matches!(&row.body, BlockBody::FileEdit(other) if other.edit.file_path == path),
        )
    }
}
