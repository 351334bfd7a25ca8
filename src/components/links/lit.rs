//! The row that a link led to: it lights up once it is there, and goes out again.

use std::rc::Rc;

use chat_feed::viewport::RowId;

use crate::components::Context;
use crate::platform::frame;
use crate::virtual_list::VirtualList;

/// How long a row stays lit, in milliseconds: long enough to be found, whether or not anything may move.
const LIT_MS: u32 = 1_600;

impl Context {
    /// Whether a link has just led to a row.
    pub(in crate::components) fn is_lit(&self, row: RowId) -> bool {
        self.links.lit.get() == Some(row)
    }

    /// A row comes into the page. One that is gone to from far, or in a page that has just come, may do so frames later, or
    /// once more: it is lit from then on.
    pub(in crate::components) fn note_mounted(self: &Rc<Self>, row: RowId) {
        if self.is_lit(row) {
            self.put_out_later();
        }
    }

    pub(super) fn put_out_later(self: &Rc<Self>) {
        let nth = self.links.n_lit.get().wrapping_add(1);
        self.links.n_lit.set(nth);
        let context = Rc::downgrade(self);
        leptos::task::spawn_local(async move {
            frame::sleep(LIT_MS).await;
            if let Some(context) = context.upgrade()
                && context.links.n_lit.get() == nth
                && let Some(row) = context.links.lit.take()
                && let Some(list) = &*context.list.borrow()
            {
                context.dress_anew(list, row);
            }
        });
    }

    /// Of a row that is not in the page nothing is to be changed, and it may be gone.
    pub(super) fn dress_anew(&self, list: &VirtualList, row: RowId) {
        if list.element_of(row).is_some() {
            list.changed(row);
        }
    }
}
