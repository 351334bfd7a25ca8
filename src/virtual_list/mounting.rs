//! Which rows are in the page: mounting those of the window, and unmounting the rest.

use std::ops::Range;

use chat_feed::viewport::RowId;

use super::{Dress, MountedRow, VirtualList};
use crate::platform::dom::{self, Element};
use crate::platform::row;

impl VirtualList {
    /// Returns whether any row was mounted, so that a measurement will follow.
    pub(super) fn mount_window(&self) -> bool {
        let is_free = self.forced.borrow().is_none() && !self.rows_changed.replace(false);
        if is_free {
            let mounted = ranks_of(&self.mounted.borrow());
            if self.viewport.borrow().will_do(&mounted) {
                self.filled.set(true);
                return false;
            }
        }
        let wanted = self.wanted();
        let same = {
            let mounted = self.mounted.borrow();
            let ids = &wanted.ids;
            mounted.len() == ids.len() && mounted.iter().zip(ids).all(|(row, id)| row.id == *id)
        };
        let n_rows = wanted.n_rows;
        let counted_anew = self.n_rows_told.replace(n_rows) != n_rows;
        if same && !counted_anew && !self.rank_shift.get() {
            return false;
        }
        let (first_rank, mounted_any) = match same {
            true => (wanted.first_rank, false),
            false => self.mount_wanted(&wanted),
        };
        if counted_anew {
            // A feed without items is none.
            let role = if n_rows == 0 { "group" } else { "feed" };
            dom::write_attribute(&self.window, "role", role);
        }
        self.rank_shift.set(false);
        let set_size = n_rows.to_string();
        for (at, row) in self.mounted.borrow_mut().iter_mut().enumerate() {
            let rank = first_rank + at;
            if counted_anew {
                dom::write_attribute(&row.element, "aria-setsize", &set_size);
            }
            if row.rank != rank {
                row.rank = rank;
                dom::write_attribute(&row.element, "data-row", &rank.to_string());
                dom::write_attribute(&row.element, "aria-posinset", &(rank + 1).to_string());
            }
        }
        if mounted_any {
            self.restore_focus();
        }
        mounted_any
    }

    pub(super) fn mount(&self, id: RowId, rank: usize, n_rows: usize) -> MountedRow {
        let dress = self.rows.dress(id);
        let places = [rank, rank + 1, n_rows].map(|place| place.to_string());
        let names = ["data-row", "aria-posinset", "aria-setsize"];
        let places = names.into_iter().zip(places.iter().map(String::as_str));
        let worn = dress.attributes.iter();
        let worn = worn.map(|(name, value)| (*name, value.as_str()));
        let attributes = std::iter::once(("class", dress.class.as_str()))
            .chain(worn.filter(|(_, value)| !value.is_empty()))
            .chain(places);
        let element = row::make(id.0, attributes);
        let content = self.rows.mount(id, &element);
        if let Some(observer) = &*self.observer.borrow() {
            observer.watch(id, &element);
        }
        MountedRow {
            id,
            rank,
            element,
            dress,
            groups: self.rows.groups(id),
            path: Vec::new(),
            content: Some(content),
        }
    }

    pub(super) fn unmount(&self, gone: impl Fn(&MountedRow) -> bool) {
        let mut kept = Vec::new();
        let mut had_focus = false;
        // Taken out before the loop: who listens to the focus looks at the mounted rows.
        let mounted = std::mem::take(&mut *self.mounted.borrow_mut());
        let focused = dom::focused_in(&self.window);
        for mut row in mounted {
            if !gone(&row) {
                kept.push(row);
                continue;
            }
            if let Some(focused) = &focused
                && row.element.contains(Some(focused.as_ref()))
            {
                had_focus = true;
                self.had_focus.set(Some(row.id));
            }
            if let Some(observer) = &*self.observer.borrow() {
                observer.unwatch(row.id, &row.element);
            }
            // Out of the page first: what is taken down in it would be laid out each time.
            row.element.remove();
            row.content.take();
        }
        *self.mounted.borrow_mut() = kept;
        if had_focus {
            // Keys go on from here, and not from the top of the page.
            dom::focus(&self.scroller);
        }
    }

    pub(super) fn arrange(&self) {
        // Taken out meanwhile, as when they go: what is moved loses the focus, and who listens to it looks at them.
        let mut mounted = self.mounted.take();
        self.groups.borrow_mut().arrange(&self.window, &mut mounted);
        *self.mounted.borrow_mut() = mounted;
    }

    /// A row that had the focus when it was unmounted has it again when it is back.
    fn restore_focus(&self) {
        let Some(id) = self.had_focus.get() else {
            return;
        };
        let is_elsewhere = !dom::has_focus(&self.scroller)
            || self
                .mounted
                .borrow()
                .iter()
                .any(|row| dom::has_focus(&row.element));
        if is_elsewhere {
            // The reader has gone on to something else.
            self.had_focus.set(None);
        } else if let Some(element) = self.element_of(id) {
            self.had_focus.set(None);
            dom::focus(&element);
        }
    }

    /// Mounts this stretch of ranks instead of the window, until `None` is given.
    pub(crate) fn force(&self, ranks: Option<Range<usize>>) {
        *self.forced.borrow_mut() = ranks;
        self.mount_window();
        (self.request_frame)();
    }

    /// The block of mounted rows, wrappers included.
    pub(crate) fn window(&self) -> &Element {
        &self.window
    }

    /// The element of a mounted row.
    pub(crate) fn element_of(&self, id: RowId) -> Option<Element> {
        self.mounted
            .borrow()
            .iter()
            .find(|row| row.id == id)
            .map(|row| row.element.clone())
    }

    /// The mounted rows and their elements, in order.
    pub(crate) fn mounted_rows(&self) -> Vec<(RowId, Element)> {
        let mounted = self.mounted.borrow();
        mounted
            .iter()
            .map(|row| (row.id, row.element.clone()))
            .collect()
    }
}

/// Where the mounted rows stand in the list.
pub(super) fn ranks_of(mounted: &[MountedRow]) -> Range<usize> {
    mounted
        .first()
        .map_or(0..0, |first| first.rank..first.rank + mounted.len())
}

/// Changes an element from what it wears to what it is to wear.
pub(super) fn put_on(element: &Element, worn: &mut Dress, dress: Dress) {
    if worn.class != dress.class {
        dom::write_attribute(element, "class", &dress.class);
    }
    for (name, value) in &dress.attributes {
        if !worn
            .attributes
            .iter()
            .any(|(other, old)| other == name && old == value)
        {
            if value.is_empty() {
                let _ = element.remove_attribute(name);
            } else {
                dom::write_attribute(element, name, value);
            }
        }
    }
    *worn = dress;
}
