//! The places of blocks among each other, as labels that grow in the feed's order.

use super::{Find, Looked};
use crate::block::BlockId;
use crate::feed::Feed;

/// Labels of blocks at the end stand so far apart …
pub(super) const STEP: u64 = 1 << 36;
/// … and those that are put between two others so far behind the first: what comes into the middle comes in order.
const STEP_BETWEEN: u64 = 1 << 16;

impl Find {
    pub(super) fn knows(&self, block: BlockId) -> bool {
        let looked = self.blocks.get(block.0 as usize);
        looked.is_some_and(|looked| looked.known)
    }

    pub(super) fn make_room(&mut self, feed: &Feed) {
        self.blocks.resize_with(feed.slots.len(), Looked::default);
    }

    /// Gives a block before the last one its place; false where it stands behind, and is come to anyway.
    pub(super) fn give_place(&mut self, feed: &Feed, block: BlockId) -> bool {
        if self.knows(block) {
            return true;
        }
        let mut backwards = std::iter::successors(feed.prev(block), |&id| feed.prev(id));
        let before = backwards.find(|&id| self.knows(id));
        if before == self.last {
            return false;
        }
        let mut onwards = std::iter::successors(feed.next(block), |&id| feed.next(id));
        let after = onwards.find(|&id| self.knows(id));
        let label = |id: BlockId| self.blocks[id.0 as usize].label;
        let low = before.map_or(0, label);
        let high = after.map_or(u64::MAX, label);
        let gap = high.saturating_sub(low);
        if gap < 2 {
            self.label_anew(feed);
            return self.give_place(feed, block);
        }
        self.blocks[block.0 as usize].label = low + (gap / 2).min(STEP_BETWEEN);
        true
    }

    /// Puts all places as far apart as they were at first.
    pub(super) fn label_anew(&mut self, feed: &Feed) {
        let mut label: u64 = 0;
        let mut next = feed.first();
        while let Some(id) = next {
            if self.knows(id) {
                label = label.saturating_add(STEP);
                self.blocks[id.0 as usize].label = label;
            }
            next = feed.next(id);
        }
        self.collect_hits(feed);
    }
}
