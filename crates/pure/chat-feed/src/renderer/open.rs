//! What goes on: in a turn until that is over, and behind a call that left it to the background until that is over.

use std::collections::BTreeSet;

use super::ChatRenderer;
use super::texts::PartName;
use crate::block::{BlockBody, BlockId, TurnIdx};
use crate::tool::ToolStatus;

/// What goes on in one place.
#[derive(Clone, Debug, Default)]
pub(super) struct Open {
    pub(super) calls: BTreeSet<BlockId>,
    pub(super) parts: BTreeSet<PartName>,
    pub(super) asks: BTreeSet<BlockId>,
    /// Rows that say how far something is.
    pub(super) progress: BTreeSet<BlockId>,
}
chat_event::pack_fields!(Open {
    calls,
    parts,
    asks,
    progress
});

impl ChatRenderer {
    /// What goes on, wherever it does.
    pub(super) fn goes_on(&self) -> impl Iterator<Item = &Open> {
        let open = self.open_turns.iter();
        let open = open.map(|turn| &self.turn_works[turn.0 as usize].open);
        open.chain(self.background.values())
    }

    /// The rows of the calls that run.
    pub fn calls_that_run(&self) -> impl Iterator<Item = BlockId> {
        let calls = self.goes_on().flat_map(|open| &open.calls);
        calls.chain(self.background.keys()).copied()
    }

    /// The nearest call around a row that left something to the background: what is done within it is done there.
    fn background_around(&self, parent: Option<BlockId>) -> Option<BlockId> {
        if self.background.is_empty() {
            return None;
        }
        let mut around = std::iter::successors(parent, |&id| self.feed.block(id).parent);
        around.find(|id| self.background.contains_key(id))
    }

    /// What goes on where the rows of a turn stand that lie within a call, or in none.
    pub(super) fn open_at(&mut self, turn: TurnIdx, parent: Option<BlockId>) -> &mut Open {
        match self.background_around(parent) {
            Some(call) => self.background.entry(call).or_default(),
            None => &mut self.turn_works[turn.0 as usize].open,
        }
    }

    /// What goes on where a row stands.
    pub(super) fn open_around(&mut self, id: BlockId) -> &mut Open {
        let block = self.feed.block(id);
        self.open_at(block.turn, block.parent)
    }

    /// Whether nothing goes on there any more.
    pub(super) fn is_over_at(&self, turn: TurnIdx, parent: Option<BlockId>) -> bool {
        self.turn_works[turn.0 as usize].closed && self.background_around(parent).is_none()
    }

    /// The same of where a row stands.
    pub(super) fn is_over_around(&self, id: BlockId) -> bool {
        let block = self.feed.block(id);
        self.is_over_at(block.turn, block.parent)
    }

    /// A call says that what it began goes on in the background: it runs until its end is told, and so does what runs
    /// within it.
    pub(super) fn goes_to_background(&mut self, id: BlockId) {
        if !self.background.contains_key(&id) {
            let within = self.take_within(id);
            self.background.insert(id, within);
        }
    }

    /// What a call left to the background is over. What it left open itself goes on where it stands, if anything does.
    pub(super) fn leaves_background(&mut self, id: BlockId, how: ToolStatus) {
        let Some(mut left) = self.background.remove(&id) else {
            return;
        };
        if self.is_over_around(id) {
            return self.settle_open(left, how);
        }
        let open = self.open_around(id);
        open.calls.append(&mut left.calls);
        open.parts.append(&mut left.parts);
        open.asks.append(&mut left.asks);
        open.progress.append(&mut left.progress);
    }

    /// Nothing goes on in the background any more, and how it ended is not told.
    pub(super) fn close_background(&mut self) {
        for (id, left) in std::mem::take(&mut self.background) {
            self.settle_call(id, ToolStatus::NoResult);
            self.settle_open(left, ToolStatus::NoResult);
        }
    }

    /// Takes out what goes on within a call; what that left to the background itself is not among it.
    pub(super) fn take_within(&mut self, host: BlockId) -> Open {
        let turn = self.feed.block(host).turn;
        let mut open = std::mem::take(self.open_at(turn, Some(host)));
        let feed = &self.feed;
        let is_within = |id: BlockId| {
            let mut around = std::iter::successors(Some(id), |&id| feed.block(id).parent);
            around.any(|id| id == host)
        };
        let rows = || feed.rows_within(host);
        let take = |open: &mut BTreeSet<BlockId>| -> BTreeSet<BlockId> {
            // Little may lie within a call while thousands run beside it.
            if feed.contains(host) && rows().nth(open.len()).is_none() {
                return rows().filter(|id| open.remove(id)).collect();
            }
            let within = |&id: &BlockId| id != host && is_within(id);
            open.extract_if(.., within).collect()
        };
        let within = Open {
            calls: take(&mut open.calls),
            asks: take(&mut open.asks),
            progress: take(&mut open.progress),
            parts: open
                .parts
                .extract_if(.., |&(response, ..)| {
                    feed.response(response).parent.is_some_and(is_within)
                })
                .collect(),
        };
        *self.open_at(turn, Some(host)) = open;
        within
    }

    /// Ends what goes on.
    pub(super) fn settle_open(&mut self, open: Open, how: ToolStatus) {
        for call in open.calls {
            self.settle_call(call, how);
        }
        for part in open.parts {
            self.settle_part(part);
        }
        for ask in open.asks {
            self.expire(ask);
        }
        for row in open.progress {
            self.progress_is_over(row);
        }
    }

    /// Something else came, or nothing more will: a row that says how far something is says how far it was.
    pub(super) fn progress_is_over(&mut self, row: BlockId) {
        self.open_around(row).progress.remove(&row);
        if !self.feed.contains(row) {
            return;
        }
        if let BlockBody::Progress(block) = &mut self.feed.slot(row).block.body
            && !std::mem::replace(&mut block.over, true)
        {
            self.update_quietly(row);
        }
    }
}
