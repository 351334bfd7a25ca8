//! What came while the page was hidden: how many rows, and which was the first of them.
//!
//! A page that the browser froze learns of it only when it is shown again; what happened before that is new as well.

use std::cell::{Cell, RefCell};

use chat_feed::arrangement::RowChange;
use chat_feed::viewport::RowId;

use super::Context;

/// What is new to the reader.
pub(crate) struct Unread {
    /// Since when the page is hidden, or was, the last time.
    hidden_ms: Cell<Option<i64>>,
    /// When it was shown again; rows of before that may still come.
    shown_ms: Cell<Option<i64>>,
    /// The row that the mark is of, where it is not shown and another has it.
    stands_for: Cell<Option<RowId>>,
    n_rows: Cell<u32>,
    n_told: Cell<u32>,
    tell: RefCell<Box<dyn Fn(u32)>>,
}

impl Default for Unread {
    fn default() -> Unread {
        Unread {
            hidden_ms: Cell::new(None),
            shown_ms: Cell::new(None),
            stands_for: Cell::new(None),
            n_rows: Cell::new(0),
            n_told: Cell::new(0),
            tell: RefCell::new(Box::new(|_| {})),
        }
    }
}

impl Unread {
    /// Whom to tell how many rows are new.
    pub(crate) fn on_count(&self, tell: impl Fn(u32) + 'static) {
        *self.tell.borrow_mut() = Box::new(tell);
    }

    /// Rows that came while the page was hidden.
    pub(crate) fn count(&self) -> u32 {
        self.n_rows.get()
    }

    /// The page was hidden, or is shown again.
    pub(crate) fn hidden(&self, is_hidden: bool, now_ms: i64) {
        if is_hidden {
            self.hidden_ms.set(Some(now_ms));
            self.shown_ms.set(None);
        } else if self.hidden_ms.get().is_some() && self.shown_ms.get().is_none() {
            self.shown_ms.set(Some(now_ms));
            self.n_rows.set(0);
            self.tell();
        }
    }

    /// Another session: nothing of it is as old as what the reader came back to.
    pub(crate) fn forget(&self) {
        self.stands_for.set(None);
        if self.shown_ms.take().is_some() {
            self.hidden_ms.set(None);
        }
        self.n_rows.set(0);
        self.tell();
    }

    /// Says how many it is by now, where it is another number than before.
    pub(crate) fn tell(&self) {
        let n_rows = self.n_rows.get();
        if self.n_told.replace(n_rows) != n_rows {
            (self.tell.borrow())(n_rows);
        }
    }

    /// A row came that is not shown, for the reader looks back.
    pub(crate) fn unseen(&self) {
        if self.hidden_ms.get().is_some() && self.shown_ms.get().is_none() {
            self.n_rows.set(self.n_rows.get().saturating_add(1));
        }
    }

    /// Hears of a row of a session that goes on; `returns` where the newest is shown after a moment of the past, with rows
    /// that came long before.
    pub(crate) fn note(&self, context: &Context, change: RowChange, returns: bool) {
        if let RowChange::Removed(id) = change
            && let Some((marked, since_ms)) = context.new_since.get()
            && marked == id
        {
            // It was folded away: what stands behind it is the first that is new, then, until it is back.
            let next = context
                .list
                .borrow()
                .as_ref()
                .and_then(|list| list.neighbour(Some(id), true));
            self.stands_for.set(self.stands_for.get().or(Some(id)));
            context.new_since.set(Some((next.unwrap_or(id), since_ms)));
            if let Some(next) = next {
                context.store.touch_row(next);
            }
            return;
        }
        if let RowChange::Inserted(id, _) = change
            && self.stands_for.get() == Some(id)
            && let Some((stand_in, since_ms)) = context.new_since.get()
        {
            self.stands_for.set(None);
            context.new_since.set(Some((id, since_ms)));
            context.store.touch_row(stand_in);
            return;
        }
        let (RowChange::Inserted(id, _), Some(hidden_ms)) = (change, self.hidden_ms.get()) else {
            return;
        };
        let shown_ms = self.shown_ms.get();
        if shown_ms.is_some() || returns {
            let block = context.store.block_at(id);
            let at_ms = block.and_then(|block| context.store.feed().block(block).at_ms);
            let hidden = hidden_ms..shown_ms.unwrap_or(i64::MAX);
            // Those of them that came meanwhile were counted as they came.
            if !at_ms.is_some_and(|at_ms| hidden.contains(&at_ms)) {
                return;
            }
        } else {
            self.n_rows.set(self.n_rows.get().saturating_add(1));
        }
        let known = context.new_since.get();
        if known.is_none_or(|(_, since_ms)| since_ms != hidden_ms) {
            self.stands_for.set(None);
            context.new_since.set(Some((id, hidden_ms)));
            if let Some((before, _)) = known {
                context.store.touch_row(before);
            }
        }
    }
}
