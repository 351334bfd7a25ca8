//! Steps from row to row, and the places they end at.

use chat_feed::arrangement::Row;
use chat_feed::viewport::{Align, RowId};

use super::{Wanted, beside};
use crate::components::feed::FeedView;
use crate::platform::dom;

impl FeedView {
    /// Keys go on from the hit that was gone to.
    pub(super) fn focus_hit(&self) {
        let row = self.context.current_hit_row();
        if let Some(element) = row.and_then(|row| self.list.element_of(row)) {
            dom::focus(&element);
        }
    }

    /// Moves the focus to the next row that is wanted; at the end of the rows it stays.
    pub(super) fn step(
        &self,
        here: Option<RowId>,
        forward: bool,
        align: Align,
        wanted: impl Fn(RowId) -> bool,
    ) -> bool {
        let mut next = match here {
            Some(id) => self.list.neighbour(Some(id), forward),
            None => self.list.first_on_screen(),
        };
        while let Some(id) = next {
            if wanted(id) {
                self.focus_row(id, align);
                return true;
            }
            next = self.list.neighbour(Some(id), forward);
        }
        true
    }

    /// Moves the focus to the next block that is wanted, whatever hides it; where there is none it says so.
    pub(super) fn step_unfolding(
        &self,
        here: Option<RowId>,
        forward: bool,
        wanted: &Wanted,
    ) -> bool {
        let store = &self.context.store;
        if store.is_filtered() {
            let is_wanted = |id| {
                let block = store.block_at(id);
                block.is_some_and(|block| (wanted.is)(&store.feed().block(block).body))
            };
            return self.step(here, forward, Align::Center, is_wanted);
        }
        let start = here.or_else(|| self.list.first_on_screen());
        let mut next = start.and_then(|row| {
            let feed = store.feed();
            let (from, is_next) = match store.row(row) {
                Row::Block(block) => (block, here.is_none()),
                // A header stands before its members, and a line before the work it stands for.
                Row::Company(head) => (head, forward),
                Row::Work(turn) => (feed.rows().find(|block| block.turn == turn)?.id, forward),
            };
            match is_next {
                true => Some(from),
                false => beside(&feed, from, forward),
            }
        });
        while let Some(block) = next {
            next = beside(&store.feed(), block, forward);
            let is_wanted = |block| (wanted.is)(&store.feed().block(block).body);
            if !is_wanted(block) {
                continue;
            }
            let row = store.reveal(block);
            // A call may be shown by the file it changed, and in some modes by nothing.
            if let Some(Row::Block(shown)) = row
                && is_wanted(shown)
                && let Some(id) = store
                    .id_of(Row::Block(shown))
                    .filter(|id| here != Some(*id))
            {
                self.gather();
                self.focus_row(id, Align::Center);
                return true;
            }
        }
        let place = if forward { "after" } else { "before" };
        self.context.say(format!("No {} {place} this", wanted.name));
        true
    }

    /// Moves the focus to a row, and brings that into view: to the middle only where it has no room below it.
    fn focus_row(&self, id: RowId, align: Align) {
        let align = match align {
            Align::Center if self.list.has_room_below(id) => Align::Nearest,
            align => align,
        };
        self.list.go_to(id, align);
        self.list.update_now();
        self.list.clear_of_end(id);
        if let Some(element) = self.list.element_of(id) {
            dom::focus(&element);
        }
    }

    /// To the next row that waits for an answer; behind the last the first is next.
    pub(super) fn go_to_waiting(&self, here: Option<RowId>) -> bool {
        let mut waiting: Vec<(usize, RowId)> = self
            .context
            .waiting
            .borrow()
            .values()
            .filter_map(|it| Some((self.list.rank_of(it.row)?, it.row)))
            .collect();
        waiting.sort_unstable();
        let here = here.and_then(|id| self.list.rank_of(id));
        let next = waiting
            .iter()
            .find(|(rank, _)| here.is_none_or(|here| *rank > here))
            .or(waiting.first());
        if let Some((_, id)) = next {
            self.focus_row(*id, Align::Center);
        }
        true
    }

    /// To the first row; the next step goes on from there.
    pub(super) fn go_to_top(&self) -> bool {
        self.list.forget_focus();
        self.list.go_home();
        true
    }

    /// To the last row, and with it.
    pub(super) fn go_to_end(&self) -> bool {
        self.list.forget_focus();
        self.list.follow_end();
        true
    }

    /// Whether a row itself has the focus, and not a well or a button in it, which arrows scroll or leave alone.
    pub(super) fn is_on_row(&self, event: &dom::Event, here: Option<RowId>) -> bool {
        here.and_then(|id| self.list.element_of(id))
            .is_some_and(|element| dom::is_target(event, &element))
    }

    pub(in crate::components) fn focused_row(&self) -> Option<RowId> {
        self.list.focused()
    }

    /// Gives the row that is read, or else the first on the screen, the focus.
    pub(in crate::components) fn focus(&self) {
        match self.focused_row().or_else(|| self.list.first_on_screen()) {
            Some(row) => self.focus_row(row, Align::Nearest),
            None => dom::focus(self.list.scroller()),
        }
    }
}
