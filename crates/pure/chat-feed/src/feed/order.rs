//! The order of the rows: each knows the one before and behind it, and the last that lies within it.

use super::Feed;
use crate::block::{Block, BlockId};

/// Stands for no row where one is named by a bare number.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// A row's neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Link {
    pub(crate) prev: Option<BlockId>,
    pub(crate) next: Option<BlockId>,
    /// The last row that lies within this one; itself where there is none.
    pub(crate) tail: BlockId,
    /// Whether it is in the list.
    pub(crate) live: bool,
}
chat_event::pack_fields!(Link {
    prev,
    next,
    tail,
    live
});

impl Feed {
    /// Whether the row is in the feed.
    pub fn contains(&self, id: BlockId) -> bool {
        self.links.get(id.0 as usize).is_some_and(|link| link.live)
    }

    /// The first row.
    pub fn first(&self) -> Option<BlockId> {
        self.first
    }

    /// The last row.
    pub fn last(&self) -> Option<BlockId> {
        self.last
    }

    /// The row after `id`.
    pub fn next(&self, id: BlockId) -> Option<BlockId> {
        self.links[id.0 as usize].next
    }

    /// The row before `id`.
    pub fn prev(&self, id: BlockId) -> Option<BlockId> {
        self.links[id.0 as usize].prev
    }

    /// The last row that lies within this one: what a sub-agent did, a changed file; the row itself where there is none.
    pub fn tail(&self, id: BlockId) -> BlockId {
        self.links[id.0 as usize].tail
    }

    /// The rows that lie within this one, in order.
    pub(crate) fn rows_within(&self, host: BlockId) -> impl Iterator<Item = BlockId> {
        let tail = self.tail(host);
        let behind = move |&id: &BlockId| (id != tail).then(|| self.next(id)).flatten();
        std::iter::successors(Some(host), behind).skip(1)
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &Block> {
        std::iter::successors(self.first, |&id| self.next(id)).map(|id| self.block(id))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// Puts a slot that is in no list behind `after`, or at the very top.
    pub(crate) fn link(&mut self, id: BlockId, after: Option<BlockId>) {
        let next = match after {
            Some(after) => self.link_of(after).next.replace(id),
            None => self.first.replace(id),
        };
        match next {
            Some(next) => self.link_of(next).prev = Some(id),
            None => self.last = Some(id),
        }
        let link = self.link_of(id);
        link.prev = after;
        link.next = next;
        link.live = true;
        self.n_rows += 1;
        if let Some(history) = &mut self.history {
            history.row_came(id, after);
        }
    }

    /// Takes a slot out of the list.
    pub(crate) fn unlink(&mut self, id: BlockId) {
        let link = self.link_of(id);
        link.live = false;
        let (prev, next) = (link.prev.take(), link.next.take());
        match prev {
            Some(prev) => self.link_of(prev).next = next,
            None => self.first = next,
        }
        match next {
            Some(next) => self.link_of(next).prev = prev,
            None => self.last = prev,
        }
        self.n_rows -= 1;
        if let Some(history) = &mut self.history {
            history.row_went(id);
        }
    }

    pub(crate) fn link_of(&mut self, id: BlockId) -> &mut Link {
        &mut self.links[id.0 as usize]
    }
}
