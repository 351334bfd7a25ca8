//! The read phase: heights of mounted rows and the size of the scroller, as the browser reports them after layout and
//! before it paints. Nothing is asked for, so no row is laid out twice.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use chat_feed::viewport::RowId;

use super::WeakList;
use crate::platform::dom::Element;
use crate::platform::measure::HeightObserver;
use crate::platform::row;

/// Watches the rows of a list and its scroller.
pub(crate) struct RowObserver {
    observer: HeightObserver,
    watched: Watched,
}

/// Rows by the number that their element bears: the browser hands back elements, not rows.
type Watched = Rc<RefCell<BTreeMap<u32, RowId>>>;

impl RowObserver {
    /// Watches the scroller of a list; rows come and go by `watch` and `unwatch`.
    pub(crate) fn new(list: WeakList) -> Option<RowObserver> {
        let scroller = list.upgrade()?.scroller.clone();
        let watched: Watched = Rc::default();
        let rows = watched.clone();
        let observer = HeightObserver::new(move |sizes| {
            let Some(list) = list.upgrade() else { return };
            // The scroller is watched first, and told first.
            if let Some((first, width_px, _)) = sizes.first()
                && *first == list.scroller
            {
                let is_hidden = *width_px <= 0.0;
                if list.hidden.replace(is_hidden) && !is_hidden {
                    // No position could be written meanwhile.
                    list.stand_again();
                }
            }
            // Rows that are not laid out are said to have no height: what was measured holds.
            if list.hidden.get() {
                return;
            }
            let mut any_row = false;
            for (element, _width_px, height_px) in sizes {
                if *element == list.scroller {
                    list.resized();
                    continue;
                }
                let number = row::number_of(element);
                let id = number.and_then(|number| rows.borrow().get(&number).copied());
                if let Some(id) = id {
                    list.measured(id, *height_px);
                    any_row = true;
                }
            }
            if any_row {
                list.settle();
            }
        })?;
        observer.watch(&scroller);
        Some(RowObserver { observer, watched })
    }

    /// Begins to watch a row.
    pub(crate) fn watch(&self, id: RowId, element: &Element) {
        self.watched.borrow_mut().insert(id.0, id);
        self.observer.watch(element);
    }

    /// Stops watching a row.
    pub(crate) fn unwatch(&self, id: RowId, element: &Element) {
        self.watched.borrow_mut().remove(&id.0);
        self.observer.unwatch(element);
    }
}
