//! The order of the rows: a few are put in their places one by one, of many the whole list is linked anew.

use super::Moment;
use super::way::Way;
use crate::block::BlockId;
use crate::feed::NO_ROW;
use crate::patch::FeedPatch;

/// So many rows that come or go are put in their places one by one.
pub(super) const FEW_ROWS: usize = 64;

impl Moment {
    /// Takes out and puts in a few rows, at a cost that has nothing to do with how many others there are.
    pub(super) fn link_few(
        &mut self,
        way: &Way<'_>,
        mut going: Vec<BlockId>,
        mut coming: Vec<BlockId>,
        patches: &mut Vec<FeedPatch>,
    ) {
        // What lies within a row came after it.
        going.sort_unstable();
        going.reverse();
        for id in going {
            let before = self.feed.prev(id);
            self.move_tails(id, |tail| (tail == id).then_some(before).flatten());
            self.feed.unlink(id);
            patches.push(FeedPatch::Remove { block: id });
        }
        coming.sort_unstable();
        for id in coming {
            let after = way.history.row_before(id, |row| self.feed.contains(row));
            self.feed.link_of(id).tail = id;
            self.feed.link(id, after);
            self.move_tails(id, |tail| (Some(tail) == after).then_some(id));
            patches.push(FeedPatch::Insert { block: id, after });
        }
    }

    /// Gives the rows around one another last row, from the inside out, for as long as there is one to give.
    fn move_tails(&mut self, id: BlockId, other: impl Fn(BlockId) -> Option<BlockId>) {
        let mut around = self.parents[id.0 as usize];
        while around != NO_ROW
            && let Some(tail) = other(self.feed.tail(BlockId(around)))
        {
            self.feed.link_of(BlockId(around)).tail = tail;
            around = self.parents[around as usize];
        }
    }

    pub(super) fn link_many(
        &mut self,
        way: &Way<'_>,
        going: &[BlockId],
        coming: &[BlockId],
        patches: &mut Vec<FeedPatch>,
    ) {
        for &id in going {
            self.feed.link_of(id).live = false;
        }
        if !going.is_empty() {
            // From the end, so that what lies within a row goes before it.
            let rows = std::iter::successors(self.feed.last, |&id| self.feed.prev(id));
            let gone = rows.filter(|&id| !self.feed.contains(id));
            patches.extend(gone.map(|block| FeedPatch::Remove { block }));
        }
        let mut is_coming = vec![false; self.feed.slots.len()];
        for &id in coming {
            self.feed.link_of(id).live = true;
            is_coming[id.0 as usize] = true;
        }
        self.link_anew(way, &is_coming, patches);
    }

    /// Puts the rows that are there in their order.
    fn link_anew(&mut self, way: &Way<'_>, coming: &[bool], patches: &mut Vec<FeedPatch>) {
        let feed = &mut self.feed;
        feed.first = None;
        feed.n_rows = 0;
        let mut before: Option<BlockId> = None;
        for id in way.history.rows_ever() {
            let link = feed.link_of(id);
            link.tail = id;
            link.prev = None;
            link.next = None;
            if !link.live {
                continue;
            }
            link.prev = before;
            match before {
                Some(before) => feed.link_of(before).next = Some(id),
                None => feed.first = Some(id),
            }
            if coming[id.0 as usize] {
                let after = before;
                patches.push(FeedPatch::Insert { block: id, after });
            }
            let mut parent = self.parents[id.0 as usize];
            while parent != NO_ROW {
                feed.link_of(BlockId(parent)).tail = id;
                parent = self.parents[parent as usize];
            }
            feed.n_rows += 1;
            before = Some(id);
        }
        feed.last = before;
    }
}
