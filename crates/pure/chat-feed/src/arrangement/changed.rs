//! What one change of the feed does to the rows: a block came, went or changed, or a turn did.
//!
//! What can be put in place at once is; else the turn is due, and arranged anew once all changes are known.

use super::facets::call_of;
use super::{Arrangement, Row, RowChange, folds};
use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::feed::Feed;

impl Arrangement {
    /// `alone` says that no other block came with it.
    pub(super) fn block_came(
        &mut self,
        feed: &Feed,
        block: BlockId,
        alone: bool,
        changes: &mut Vec<RowChange>,
    ) {
        // It may have gone again within the same frame.
        if !feed.contains(block) {
            return;
        }
        let turn = self.kept(block).turn;
        let before = feed.prev(block);
        if before.is_none_or(|before| self.kept(before).turn != turn) {
            self.turns[turn.0 as usize].first = Some(block);
        }
        // Calls that came before it may have nothing to say beside a plan.
        let is_plan = matches!(feed.block(block).body, BlockBody::Plan(_));
        if folds::is_over(feed, turn) || is_plan {
            self.due.insert(turn);
        }
        if !self.due.contains(&turn) {
            // Of several each may part others that one behind it does not see.
            let is_last = !self.has_sibling_after(feed, block);
            if !(alone || is_last) || !self.place(feed, block, changes) {
                self.due.insert(turn);
            } else if !is_last && let Some(before) = self.sibling_before(feed, block) {
                // It parts a call from what may say it all.
                let call = call_of(feed.block(before)).unwrap_or(before);
                self.weigh_anew(feed, call, changes);
            }
        }
        if let Some(call) = self.kept(block).call {
            self.block_changed(feed, call, changes);
        }
        self.weigh_beside(feed, block, changes);
        // It may come again, to what was asked for it.
        self.weigh_asks(feed, block, changes);
    }

    pub(super) fn block_went(&mut self, block: BlockId, changes: &mut Vec<RowChange>) {
        // It may come again: the feed can go back in time; it may do so before the block was ever seen.
        let Some(kept) = self.kept.get_mut(block.0 as usize) else {
            return;
        };
        kept.placed = false;
        kept.work = false;
        let (turn, company) = (kept.turn, kept.company.take());
        self.hide(block, turn, changes);
        if company == Some(block) {
            self.companies.remove(&block);
        }
        if self.turns[turn.0 as usize].first == Some(block) {
            self.turns[turn.0 as usize].first = None;
            self.headless.insert(turn);
        }
        self.due.insert(turn);
    }

    /// Finds the first rows of the turns that lost theirs, in one walk however many these are.
    pub(super) fn find_heads(&mut self, feed: &Feed) {
        let mut headless = std::mem::take(&mut self.headless);
        // A feed that went back in time may be without the whole turn.
        headless.retain(|turn| {
            (turn.0 as usize) < feed.turns.len() && self.turns[turn.0 as usize].first.is_none()
        });
        let mut next = feed.first();
        while let Some(block) = next
            && !headless.is_empty()
        {
            let turn = self.kept(block).turn;
            if headless.remove(&turn) {
                self.turns[turn.0 as usize].first = Some(block);
            }
            next = feed.next(block);
        }
    }

    pub(super) fn block_changed(
        &mut self,
        feed: &Feed,
        block: BlockId,
        changes: &mut Vec<RowChange>,
    ) {
        if !feed.contains(block) {
            return;
        }
        self.weigh_anew(feed, block, changes);
        self.weigh_beside(feed, block, changes);
        // Wherever it comes to stand, it shows something else.
        if let Some(row) = self.id_of(Row::Block(block)) {
            changes.push(RowChange::Changed(row));
        }
        let company = self.kept(block).company;
        if let Some(row) = company.and_then(|head| self.id_of(Row::Company(head))) {
            changes.push(RowChange::Changed(row));
        }
    }

    pub(super) fn turn_changed(
        &mut self,
        feed: &Feed,
        turn: TurnIdx,
        changes: &mut Vec<RowChange>,
    ) {
        // The feed may have gone back to before it within the same frame.
        if turn.0 as usize >= feed.turns.len() {
            return;
        }
        let kept = &self.turns[turn.0 as usize];
        let is_undone = feed.turn(turn).is_undone();
        if kept.over != folds::is_over(feed, turn) || kept.undone != is_undone {
            self.due.insert(turn);
        }
        if let Some(row) = self.id_of(Row::Work(turn)) {
            changes.push(RowChange::Changed(row));
        }
    }
}
