//! Where the reader is, and goes: following the end, scrolling, the row that has the focus.

use chat_feed::viewport::{Align, RowId};

use super::{OVERSCAN_VIEWPORTS, SPARE_VIEWPORTS, VirtualList};
use crate::platform::{dom, frame, measure as sizes};

/// As high above the lower edge is what floats there, with some air.
const FLOATING_PX: f64 = 64.0;

/// Where the reader is, for the controls around the list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct View {
    /// Whether the list keeps to its end.
    pub(crate) following: bool,
    /// Whether the end is near.
    pub(crate) at_end: bool,
    /// Rows that came since following stopped and were not seen.
    pub(crate) unseen: usize,
    /// The row at the top edge.
    pub(crate) top: Option<RowId>,
}

impl VirtualList {
    /// Where the reader is.
    pub(crate) fn view(&self) -> View {
        self.view.get()
    }

    /// Goes to the end and stays there.
    pub(crate) fn follow_end(&self) {
        self.viewport.borrow_mut().follow_end();
        (self.request_frame)();
    }

    /// Stops keeping to the end.
    pub(crate) fn stop_following(&self) {
        self.viewport.borrow_mut().stop_following();
        (self.request_frame)();
    }

    /// The same by the reader: what they look at they read, and nothing takes them to the end by itself.
    pub(crate) fn stay(&self) {
        self.intent.go();
        self.stop_following();
    }

    /// Has nothing move by itself while the reader's hand is on it.
    pub(crate) fn hold(&self, held: bool) {
        self.viewport.borrow_mut().hold(held);
        (self.request_frame)();
    }

    /// Goes to the top.
    pub(crate) fn go_home(&self) {
        self.intent.go();
        self.viewport.borrow_mut().on_home();
        (self.request_frame)();
    }

    /// Goes to a row, as the reader asked; false where there is none of that name.
    pub(crate) fn go_to(&self, id: RowId, align: Align) -> bool {
        let found = self.scroll_to(id, align);
        if found {
            self.intent.go();
        }
        found
    }

    /// Shows a row; false where there is none of that name.
    pub(crate) fn scroll_to(&self, id: RowId, align: Align) -> bool {
        let found = self.viewport.borrow_mut().scroll_to(id, align);
        self.await_rest();
        (self.request_frame)();
        found
    }

    /// Whether a row begins at the upper edge, as one does that was gone to.
    pub(crate) fn begins_at_edge(&self) -> bool {
        let viewport = self.viewport.borrow();
        let top = viewport.heights().at_offset(viewport.list_top_px() + 0.5);
        top.is_some_and(|(_, within_px)| within_px <= 1.0)
    }

    /// Whether a row begins in the upper half of the screen: what it shows when it is opened is seen.
    pub(crate) fn has_room_below(&self, id: RowId) -> bool {
        let top_px = self.viewport.borrow().screen_top_px(id);
        top_px.is_some_and(|top_px| (0.0..self.height_px.get() / 2.0).contains(&top_px))
    }

    /// Lifts a row that is shown above what floats over the end of the rows, as far as its top has room.
    pub(crate) fn clear_of_end(&self, id: RowId) {
        let mut viewport = self.viewport.borrow_mut();
        let height_px = viewport.heights().height_of(id).unwrap_or_default();
        let top_px = viewport.screen_top_px(id).unwrap_or_default();
        let covered_px = top_px + height_px + FLOATING_PX - self.height_px.get();
        let by_px = covered_px.min(top_px);
        if by_px > 0.0 {
            let now_px = sizes::scroll_top(&self.scroller);
            sizes::set_scroll_top(&self.scroller, now_px + by_px);
            let now_px = sizes::scroll_top(&self.scroller);
            viewport.on_scroll(now_px, frame::now_ms(), false);
        }
    }

    /// Stands where it stood: what is moved within the page begins at its top again, and no event says so.
    pub(crate) fn stand_again(&self) {
        let top_px = self.viewport.borrow().scroll_top_px();
        sizes::set_scroll_top(&self.scroller, top_px);
        (self.request_frame)();
    }

    /// Scrolls on from where it is, as the reader would.
    pub(crate) fn scroll_by(&self, by_px: f64) {
        self.intent.act();
        sizes::set_scroll_top(&self.scroller, sizes::scroll_top(&self.scroller) + by_px);
    }

    /// Whether nothing of it is laid out, as in a tab that is not shown.
    pub(crate) fn is_hidden(&self) -> bool {
        self.hidden.get()
    }

    /// The scroller scrolled.
    pub(super) fn scrolled(&self) {
        let top_px = sizes::scroll_top(&self.scroller);
        // What is not laid out stands at its top, wherever the reader is.
        if top_px <= 0.0 && sizes::client_size(&self.scroller).0 <= 0.0 {
            return;
        }
        let now_ms = frame::now_ms();
        let by_user = self.intent.acted(now_ms);
        if by_user {
            self.spare(false);
        }
        self.viewport
            .borrow_mut()
            .on_scroll(top_px, now_ms, by_user);
        self.await_rest();
        (self.request_frame)();
    }

    /// Whether the reader has scrolled or gone anywhere since all rows went.
    pub(crate) fn reader_moved(&self) -> bool {
        self.intent.moved()
    }

    /// Whether to mount little beyond the screen: what is shown of a log that is being read is mostly gone with its end.
    /// Only until the reader scrolls.
    pub(crate) fn spare(&self, spares: bool) {
        let viewports = if spares {
            SPARE_VIEWPORTS
        } else {
            OVERSCAN_VIEWPORTS
        };
        self.viewport.borrow_mut().set_overscan(viewports);
    }

    /// Keeps a row where it is on the screen while its height changes.
    pub(crate) fn pin(&self, id: RowId) {
        let mut viewport = self.viewport.borrow_mut();
        // A row whose head is above the screen has nothing to keep in place there.
        if viewport
            .screen_top_px(id)
            .is_some_and(|top_px| top_px >= 0.0)
        {
            viewport.pin(id);
        }
    }

    /// A row has grown by this much above what is looked at in it: that keeps its place, and the row's head moves
    /// up. Who asks for more of a row reads it, and follows no end.
    pub(crate) fn raise(&self, id: RowId, by_px: f64) {
        self.stay();
        self.viewport.borrow_mut().pin_raised(id, by_px);
        // At the end there is room to go up only once its height is known.
        if let Some(element) = self.element_of(id) {
            self.measured(id, sizes::height(&element));
        }
    }

    /// Something above the list became higher by so much, or lower: what the reader looks at stays where it is on the
    /// screen. At the end the end stays.
    pub(crate) fn make_room(&self, above_px: f64) {
        if !self.view().following {
            sizes::set_scroll_top(&self.scroller, sizes::scroll_top(&self.scroller) + above_px);
        }
    }

    /// The mounted row that has the focus, or holds what has it.
    /// Where it was scrolled out of the window the scroller has the focus in its place.
    pub(crate) fn focused(&self) -> Option<RowId> {
        let mounted = self.mounted.borrow();
        let row = mounted.iter().find(|row| dom::has_focus(&row.element));
        match row {
            Some(row) => Some(row.id),
            None => self
                .had_focus
                .get()
                .filter(|id| dom::has_focus(&self.scroller) && self.rank_of(*id).is_some()),
        }
    }

    /// The row that had the focus is none the reader would go on from.
    pub(crate) fn forget_focus(&self) {
        self.had_focus.set(None);
        if dom::has_focus(&self.window) {
            dom::focus(&self.scroller);
        }
    }

    /// The first row whose top edge is on the screen.
    pub(crate) fn first_on_screen(&self) -> Option<RowId> {
        let viewport = self.viewport.borrow();
        let (id, within_px) = viewport.heights().at_offset(viewport.list_top_px())?;
        if within_px > 0.0 {
            viewport.heights().next(id).or(Some(id))
        } else {
            Some(id)
        }
    }

    /// The first and the last row on the screen, where the end is not followed.
    pub(crate) fn read(&self) -> Option<(RowId, RowId)> {
        let viewport = self.viewport.borrow();
        if viewport.following() || self.hidden.get() {
            return None;
        }
        let ranks = viewport.on_screen();
        let at = |rank| viewport.heights().at_rank(rank);
        Some((at(ranks.start)?, at(ranks.end.checked_sub(1)?)?))
    }

    /// Whether a row lies below the screen.
    pub(crate) fn is_below(&self, id: RowId) -> bool {
        let viewport = self.viewport.borrow();
        let top_px = viewport.screen_top_px(id);
        top_px.is_some_and(|top_px| top_px >= self.height_px.get())
    }

    /// How far down the list a row begins: 0 is the top, 1 the end.
    pub(crate) fn share_of(&self, id: RowId) -> Option<f64> {
        let viewport = self.viewport.borrow();
        let heights = viewport.heights();
        Some(heights.top_of(id)? / heights.total_px().max(1.0))
    }

    pub(super) fn tell_view(&self) {
        let view = {
            let viewport = self.viewport.borrow();
            let top = viewport.heights().at_offset(viewport.list_top_px() + 1.0);
            View {
                following: viewport.following(),
                at_end: viewport.at_end(),
                unseen: viewport.unseen(),
                top: top.map(|(id, _)| id),
            }
        };
        if self.view.replace(view) != view {
            (self.on_view)(view);
        }
    }
}
