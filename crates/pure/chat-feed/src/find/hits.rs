//! What was found: the hits in the feed's order, their numbers, and the way from one to the next.

use super::{Find, Looked};
use crate::block::BlockId;
use crate::feed::Feed;

impl Find {
    /// How many hits there are.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// The hits in the feed's order.
    pub fn hits(&self) -> impl ExactSizeIterator<Item = BlockId> + '_ {
        self.hits.iter().map(|&(_, block)| block)
    }

    /// A hit by its number, from 0.
    pub fn hit(&self, number: usize) -> Option<BlockId> {
        self.hits.get(number).map(|&(_, block)| block)
    }

    /// Whether a block is a hit.
    pub fn is_hit(&self, block: BlockId) -> bool {
        self.number_of(block).is_some()
    }

    /// The number of a hit, from 0.
    pub fn number_of(&self, block: BlockId) -> Option<usize> {
        let looked = self
            .blocks
            .get(block.0 as usize)
            .filter(|looked| looked.known)?;
        self.hits
            .binary_search_by_key(&looked.label, |&(label, _)| label)
            .ok()
    }

    /// The next hit behind a block, or before it; beyond the last it begins again. Without a block it is the first, or
    /// the last.
    pub fn next(&self, feed: &Feed, from: Option<BlockId>, forward: bool) -> Option<BlockId> {
        // What was not looked at yet stands behind everything that was.
        let before = from.map(|block| {
            let mut at = std::iter::successors(Some(block), |&id| feed.prev(id));
            at.find(|&id| self.knows(id))
        });
        let number = match (before, forward) {
            (None, true) => 0,
            (None, false) => self.hits.len().checked_sub(1)?,
            (Some(None), true) => 0,
            (Some(None), false) => self.hits.len().checked_sub(1)?,
            (Some(Some(known)), true) => {
                let label = self.blocks[known.0 as usize].label;
                self.hits.partition_point(|&(hit, _)| hit <= label)
            }
            (Some(Some(known)), false) => {
                let label = self.blocks[known.0 as usize].label;
                let own = from != Some(known);
                let n_before = self
                    .hits
                    .partition_point(|&(hit, _)| hit < label || (own && hit == label));
                n_before
                    .checked_sub(1)
                    .unwrap_or(self.hits.len().checked_sub(1)?)
            }
        };
        self.hit(number).or_else(|| self.hit(0))
    }

    pub(super) fn collect_hits(&mut self, feed: &Feed) {
        let mut hits = Vec::new();
        let mut next = feed.first().filter(|_| !self.is_idle());
        while let Some(id) = next {
            if let Some(looked) = self.blocks.get(id.0 as usize)
                && looked.known
                && self.lets_through(looked)
            {
                hits.push((looked.label, id));
            }
            next = feed.next(id);
        }
        self.hits = hits;
    }

    fn lets_through(&self, looked: &Looked) -> bool {
        let chosen = self.chosen.is_empty() || self.chosen.meets(looked.kinds);
        looked.fits && chosen && !self.is_idle()
    }

    /// Puts what is known of a block in the place of what was known before.
    pub(super) fn put(&mut self, block: BlockId, looked: Looked, changed: &mut Vec<BlockId>) {
        let before = std::mem::replace(&mut self.blocks[block.0 as usize], looked);
        self.totals.take(before, looked);
        let was = before.known && self.lets_through(&before);
        let is = looked.known && self.lets_through(&looked);
        if was == is {
            return;
        }
        changed.push(block);
        let label = if is { looked.label } else { before.label };
        let at = self.hits.partition_point(|&(hit, _)| hit < label);
        if is {
            self.hits.insert(at, (label, block));
        } else if self.hits.get(at).is_some_and(|&(_, hit)| hit == block) {
            self.hits.remove(at);
        }
    }
}
