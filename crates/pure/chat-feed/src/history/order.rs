//! The order of all rows that ever were, those that were taken out included.

use chat_event::pack::{Packer, Unpacker};

use crate::block::BlockId;
use crate::feed::NO_ROW;
use crate::replica::{Replicate, hear_list, hear_value, tell_list, tell_value};

/// A list over the names of rows.
#[derive(Clone, Debug)]
pub(super) struct Order {
    first: u32,
    /// The row behind each, and the one before.
    next: Vec<u32>,
    prev: Vec<u32>,
}

impl Default for Order {
    fn default() -> Self {
        Order {
            first: NO_ROW,
            next: Vec::new(),
            prev: Vec::new(),
        }
    }
}

impl Order {
    /// Puts the newest row behind another.
    ///
    /// Rows that were taken out from behind it stay there: they and the new one are never shown together.
    pub(super) fn insert(&mut self, row: BlockId, after: Option<BlockId>) {
        let place = match after {
            Some(after) => &mut self.next[after.0 as usize],
            None => &mut self.first,
        };
        let next = std::mem::replace(place, row.0);
        self.next.push(next);
        self.prev.push(after.map_or(NO_ROW, |after| after.0));
        if let Some(prev) = self.prev.get_mut(next as usize) {
            *prev = row.0;
        }
    }

    /// The rows before one, the nearest first.
    pub(super) fn before(&self, row: BlockId) -> impl Iterator<Item = BlockId> {
        let at = |row: u32| (row != NO_ROW).then_some(BlockId(row));
        let first = at(self.prev[row.0 as usize]);
        std::iter::successors(first, move |row| at(self.prev[row.0 as usize]))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = BlockId> {
        let at = |row: u32| (row != NO_ROW).then_some(BlockId(row));
        std::iter::successors(at(self.first), move |row| at(self.next[row.0 as usize]))
    }

    pub(super) fn bytes(&self) -> usize {
        (self.next.capacity() + self.prev.capacity()) * size_of::<u32>()
    }
}

impl Replicate for Order {
    fn tell(&self, told: &mut Order, out: &mut Packer) {
        tell_value(&self.first, &mut told.first, out);
        tell_list(&self.next, &mut told.next, out);
        tell_list(&self.prev, &mut told.prev, out);
    }

    fn hear(&mut self, input: &mut Unpacker<'_>) {
        hear_value(&mut self.first, input);
        hear_list(&mut self.next, input);
        hear_list(&mut self.prev, input);
    }
}
