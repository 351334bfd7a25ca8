//! What waits for an answer of the reader: its rows, and the calls of sub-agents that it lies in. Those say so as well.

use chat_feed::arrangement::RowChange;
use chat_feed::viewport::RowId;
use chat_feed::{BlockId, Feed};

use super::Context;

/// Where something stands that waits.
pub(crate) struct Waiting {
    /// Its row.
    pub(crate) row: RowId,
    /// The calls it lies in, the nearest first.
    within: Vec<BlockId>,
}

impl Context {
    /// Keeps the list of what waits for an answer.
    pub(crate) fn note_waiting(&self, change: RowChange) {
        let row = match change {
            RowChange::Inserted(row, _) | RowChange::Changed(row) => row,
            // It may come back at another place: what was typed is kept.
            RowChange::Removed(row) => {
                let mut waiting = self.waiting.borrow_mut();
                let gone: Vec<_> = waiting.extract_if(.., |_, it| it.row == row).collect();
                drop(waiting);
                return gone.iter().for_each(|(_, it)| self.tell_around(it));
            }
            RowChange::Cleared => {
                self.answering.begin_anew();
                self.new_since.set(None);
                return self.waiting.borrow_mut().clear();
            }
        };
        let Some(block) = self.store.block_at(row) else {
            return;
        };
        let feed = self.store.feed();
        if feed.block(block).body.waits() {
            let within = calls_around(&feed, block);
            let known = self.waiting.borrow().contains_key(&block);
            let it = Waiting { row, within };
            if !known {
                self.tell_around(&it);
            }
            self.waiting.borrow_mut().insert(block, it);
            return;
        }
        let answered = self.waiting.borrow_mut().remove(&block);
        if let Some(it) = answered {
            self.answering.settled(block);
            self.tell_around(&it);
        }
    }

    /// Whether something waits within a call.
    pub(crate) fn needs_you_within(&self, call: BlockId) -> bool {
        let waiting = self.waiting.borrow();
        waiting.values().any(|it| it.within.contains(&call))
    }

    fn tell_around(&self, it: &Waiting) {
        for &call in &it.within {
            self.store.touch(call);
        }
    }
}

fn calls_around(feed: &Feed, block: BlockId) -> Vec<BlockId> {
    let around = |id: BlockId| feed.block(id).parent;
    std::iter::successors(around(block), |&id| around(id)).collect()
}
