//! Turns that the user went back behind: they stay, and say so.

use chat_event::SetBack;
use chat_event::payload::Notice;

use super::ChatRenderer;
use crate::block::BlockId;
use crate::session::Undone;

impl ChatRenderer {
    /// Takes what a notice says of it, whose row this is.
    pub(super) fn set_back(&mut self, row: BlockId, notice: &Notice) {
        // What a conversation that began anew left was not taken back by anybody.
        if let Some(told) = SetBack::of(notice).filter(|told| !told.cleared) {
            let named = self.set_backs.take(row, &told, |id| id.into());
            self.mark(&named);
            self.close_undone(&told.left);
        }
    }

    /// Nothing of turns that the user went back behind goes on, or waits for an answer, though their end was not told.
    fn close_undone(&mut self, ids: &[String]) {
        for id in ids {
            if let Some(&turn) = self.turn_ids.get(id.as_str())
                && self.open_turns.remove(&turn)
            {
                self.close_silently(turn);
            }
        }
    }

    /// The row of a notice is gone.
    pub(super) fn set_back_is_taken_back(&mut self, row: BlockId) {
        let named = self.set_backs.take_back(row);
        self.mark(&named);
    }

    /// What is known of it of a turn.
    pub(super) fn undone(&self, id: &str) -> Option<Undone> {
        // In most sessions nobody goes back.
        if self.set_backs.is_empty() {
            return None;
        }
        let (by, files_restored) = self.set_backs.of(id)?;
        Some(Undone { by, files_restored })
    }

    /// Gives turns what is known of it; those that are not told of yet have it once they are.
    fn mark(&mut self, ids: &[Box<str>]) {
        for id in ids {
            let Some(&turn) = self.turn_ids.get(id) else {
                continue;
            };
            let undone = self.undone(id);
            if self.feed.turn(turn).undone != undone {
                self.feed.turn_mut(turn).undone = undone;
                self.turn_changed(turn);
            }
        }
    }
}
