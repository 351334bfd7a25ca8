//! Going from hit to hit, from where the reader is.

use chat_feed::BlockId;
use chat_feed::arrangement::Row;

use crate::components::Context;
use crate::virtual_list::VirtualList;

impl Context {
    /// Goes to the next hit, or the one before: from the last one, or from where the reader is.
    pub(crate) fn go_to_hit(&self, forward: bool) {
        let Some(list) = self.list.borrow().clone() else {
            return;
        };
        // What is not found yet cannot be gone to, but what is near mostly is.
        let from = self.find.current.get();
        let from = from.filter(|&block| self.store.feed().contains(block));
        let from = from.or_else(|| self.here(&list, forward));
        let next = self.store.find(|find, feed| find.next(feed, from, forward));
        let Some(hit) = next.flatten() else { return };
        self.find.current.set(Some(hit));
        self.find.unseen.set(false);
        self.find.marks.go_to(self, &list, hit);
        self.store.ask_frame();
    }

    /// What the reader has met already on the way on, or on the way back. The row at the top, all of it or its end, is one of
    /// those yet to be met, and so is what a line at the top stands for.
    fn here(&self, list: &VirtualList, forward: bool) -> Option<BlockId> {
        let top = list.view().top?;
        let first = match self.store.row(top) {
            Row::Block(block) | Row::Company(block) => block,
            Row::Work(_) => {
                let rows =
                    std::iter::successors(Some(top), |row| list.neighbour(Some(*row), false));
                let before = rows.filter_map(|row| self.store.block_at(row)).next();
                let feed = self.store.feed();
                match before {
                    Some(before) => feed.next(before)?,
                    None => feed.first()?,
                }
            }
        };
        match forward {
            true => self.store.feed().prev(first),
            false => Some(first),
        }
    }
}
