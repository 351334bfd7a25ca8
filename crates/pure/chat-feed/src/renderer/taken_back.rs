//! What a source takes back: its rows go, and what they added to their turn is taken off again.

use chat_event::payload::Retract;

use super::ChatRenderer;
use crate::block::{BlockBody, BlockId};
use crate::tool::ToolStatus;

impl ChatRenderer {
    /// Takes back the rows that the named events made.
    #[inline(never)]
    pub(super) fn retract(&mut self, retract: &Retract) {
        for event_id in &retract.event_ids {
            let id_hash = super::seen::hash_of_id(event_id);
            let Some(id) = self.rows_of_ids.get(id_hash) else {
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
            BlockBody::Notice { .. } => return self.set_back_is_taken_back(id),
            BlockBody::ToolCall(_) => {
                self.open_around(id).calls.remove(&id);
                self.leaves_background(id, ToolStatus::NoResult);
                let steps = &mut self.feed.turn_mut(turn).steps;
                *steps = steps.saturating_sub(1);
                if let Some(parent) = parent.filter(|&parent| self.feed.contains(parent)) {
                    let steps = &mut self.call_mut(parent).steps;
                    *steps = steps.saturating_sub(1);
                    self.update_quietly(parent);
                }
            }
            BlockBody::FileEdit(edit) => {
                let edit = edit.edit.clone();
                self.uncount_edit(turn, &edit);
            }
            _ => return,
        }
        self.turn_changed(turn);
    }
}
