//! Which rows are weighed again with another: what stands beside a call, a plan, an answer depends on it.

use super::facets::{Facet, call_of};
use super::{Arrangement, Row, RowChange, opened};
use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;

impl Arrangement {
    /// Calls say nothing beside the plan that they made, nor beside the question that they ask, and of plans one is open.
    pub(super) fn weigh_beside(
        &mut self,
        feed: &Feed,
        block: BlockId,
        changes: &mut Vec<RowChange>,
    ) {
        match &feed.block(block).body {
            BlockBody::Plan(_) => {
                // The one before closes.
                let before = opened::newest_plans(feed, block).find(|&plan| plan != block);
                let row = before.and_then(|before| self.id_of(Row::Block(before)));
                changes.extend(row.map(RowChange::Changed));
            }
            BlockBody::Permission(ask) => {
                if let Some(call) = ask.call {
                    self.asks.entry(call).or_default().insert(block);
                }
            }
            BlockBody::Question(_) => {
                // Between the two may stand what the call changed.
                let before = self.sibling_before(feed, block);
                let call = before.map(|before| call_of(feed.block(before)).unwrap_or(before));
                if let Some(call) = call.filter(|&call| feed.contains(call)) {
                    self.weigh_anew(feed, call, changes);
                }
            }
            _ => {}
        }
    }

    /// What was answered says nothing beside the call that is done, however often it was asked for.
    pub(super) fn weigh_asks(&mut self, feed: &Feed, call: BlockId, changes: &mut Vec<RowChange>) {
        let Some(asks) = self.asks.get(&call).cloned() else {
            return;
        };
        for ask in asks {
            if feed.contains(ask) {
                self.weigh_anew(feed, ask, changes);
            }
        }
    }

    /// Looks where a block that changed should stand now: by itself or among its neighbours where that can be told, else with
    /// its whole turn.
    pub(super) fn weigh_anew(&mut self, feed: &Feed, block: BlockId, changes: &mut Vec<RowChange>) {
        let turn = feed.block(block).turn;
        if !self.kept(block).placed || self.due.contains(&turn) {
            return;
        }
        let facet = Facet::of(feed, block);
        let before = std::mem::replace(&mut self.kept[block.0 as usize].facet, facet);
        if before != facet {
            let alone = before.run == facet.run && before.absorbed == facet.absorbed;
            // Nothing is folded before the turn is over, and what says nothing is not counted then.
            let folds = |facet: Facet| (facet.foldable, facet.blank, facet.answers, facet.notes);
            let folds = !alone || folds(before) != folds(facet);
            let is_folded_anew = folds && self.turns[turn.0 as usize].over;
            if is_folded_anew || !alone && !self.place_between(feed, block, changes) {
                self.due.insert(turn);
                return;
            }
        }
        if before != facet || self.filter.is_some() {
            self.refresh(feed, block, changes);
        }
        if before.runs != facet.runs {
            self.weigh_asks(feed, block, changes);
        }
    }
}
