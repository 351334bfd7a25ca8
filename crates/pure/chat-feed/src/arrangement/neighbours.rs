//! Which place a row that came or changed has among its neighbours: the rows before and behind it on its level.

use super::facets::Facet;
use super::{Arrangement, Row, RowChange};
use crate::block::BlockId;
use crate::feed::Feed;

impl Arrangement {
    /// Gives a row that came its place, and its neighbours' company where they are alike; false where that cannot be told
    /// without its whole turn.
    pub(super) fn place(
        &mut self,
        feed: &Feed,
        block: BlockId,
        changes: &mut Vec<RowChange>,
    ) -> bool {
        let facet = Facet::of(feed, block);
        let kept = &mut self.kept[block.0 as usize];
        kept.facet = facet;
        kept.placed = true;
        let is_placed = self.place_between(feed, block, changes);
        if is_placed {
            self.refresh(feed, block, changes);
        }
        is_placed
    }

    /// Puts a row that is in no company into that of its neighbours, or these into one where it stands between them no more;
    /// false where it may part some that are in one, for then more than these few are others.
    pub(super) fn place_between(
        &mut self,
        feed: &Feed,
        block: BlockId,
        changes: &mut Vec<RowChange>,
    ) -> bool {
        let before = self.neighbour_before(feed, block);
        let after = self.neighbour_after(feed, block);
        let company = |id: BlockId| self.kept(id).company;
        let is_parted = before.zip(after).is_some_and(|(before, after)| {
            company(before).is_some() && company(before) == company(after)
        });
        if is_parted || company(block).is_some() {
            return false;
        }
        let own = Some(block).filter(|&own| !self.kept(own).facet.absorbed);
        let mut neighbour = before;
        for id in [own, after].into_iter().flatten() {
            if let Some(neighbour) = neighbour.replace(id)
                && self.are_company(feed, neighbour, id)
            {
                if self.kept(id).company.is_some() {
                    return false;
                }
                let head = self.join(neighbour, id);
                self.refresh(feed, head, changes);
                self.refresh(feed, id, changes);
                if let Some(row) = self.id_of(Row::Company(head)) {
                    changes.push(RowChange::Changed(row));
                }
            }
        }
        true
    }

    /// The nearest row before on the same level that is not absorbed.
    fn neighbour_before(&self, feed: &Feed, block: BlockId) -> Option<BlockId> {
        let before = std::iter::successors(self.sibling_before(feed, block), |&id| {
            self.sibling_before(feed, id)
        });
        let mut placed = before.take_while(|&id| self.kept(id).placed);
        placed.find(|&id| !self.kept(id).facet.absorbed)
    }

    /// The same behind it.
    fn neighbour_after(&self, feed: &Feed, block: BlockId) -> Option<BlockId> {
        let behind = std::iter::successors(self.sibling_after(feed, block), |&id| {
            self.sibling_after(feed, id)
        });
        let mut placed = behind.take_while(|&id| self.kept(id).placed);
        placed.find(|&id| !self.kept(id).facet.absorbed)
    }

    /// The row before on the same level, of the same turn.
    pub(super) fn sibling_before(&self, feed: &Feed, block: BlockId) -> Option<BlockId> {
        let here = feed.block(block);
        // Row by row, and not from a nested row to its call: a changed file may stand between them. What a sub-agent did
        // is passed over once, by the first row behind it.
        let mut before = feed.prev(block)?;
        while feed.block(before).depth > here.depth {
            before = feed.prev(before)?;
        }
        let sibling = feed.block(before);
        (sibling.depth == here.depth && sibling.turn == here.turn).then_some(before)
    }

    /// Whether a row that has its place stands behind this one on the same level.
    ///
    /// Rows that came in the same frame have no place yet: they look for their neighbours when it is their turn.
    pub(super) fn has_sibling_after(&self, feed: &Feed, block: BlockId) -> bool {
        let sibling = self.sibling_after(feed, block);
        sibling.is_some_and(|sibling| self.kept(sibling).placed)
    }

    /// The row behind on the same level, of the same turn.
    fn sibling_after(&self, feed: &Feed, block: BlockId) -> Option<BlockId> {
        let here = feed.block(block);
        // Changed files stand beside their call, between the rows that lie within it and behind them.
        let mut next = feed.next(block)?;
        while feed.block(next).depth > here.depth {
            next = feed.next(feed.tail(next))?;
        }
        let sibling = feed.block(next);
        (sibling.depth == here.depth && sibling.turn == here.turn).then_some(next)
    }
}
