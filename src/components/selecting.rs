//! What the reader has their hand on stays where it is: text they select, what a pointer is down on, and a field they write in.

use std::cell::Cell;

use leptos::prelude::WithValue;

use super::Ctx;
use crate::platform::dom::{self, Element, Listener};
use crate::virtual_list::VirtualList;

/// What takes letters.
const FIELDS: &str = "textarea, input:not([type=radio], [type=checkbox])";

/// Looks after it as long as what is returned is kept; `grid` is what the rows stand in.
pub(super) fn watch(ctx: Ctx, grid: &Element) -> Vec<Listener> {
    let on_list = move |act: fn(&Hand, &VirtualList)| {
        move |_| {
            ctx.try_with_value(|context| {
                if let Some(list) = &*context.list.borrow() {
                    act(&context.hand, list);
                }
            });
        }
    };
    let down = move |event| {
        if dom::is_first_button(&event) && dom::is_within(&event, ".row") {
            on_list(|hand, list| {
                hand.is_down.set(true);
                hand.hold(list);
            })(event);
        }
    };
    let release: fn(&Hand, &VirtualList) = |hand, list| {
        hand.is_down.set(false);
        hand.hold(list);
    };
    let focus: fn(&Hand, &VirtualList) = |hand, list| {
        hand.writes.set(is_written_in(list));
        hand.hold(list);
    };
    let leave: fn(&Hand, &VirtualList) = |hand, list| {
        hand.writes.set(false);
        hand.hold(list);
    };
    // This is fetched: who was quick may be writing already.
    ctx.try_with_value(|context| {
        if let Some(list) = &*context.list.borrow() {
            focus(&context.hand, list);
        }
    });
    vec![
        dom::listen_passive(grid, "pointerdown", down),
        dom::listen_window("pointerup", on_list(release)),
        dom::listen_window("pointercancel", on_list(release)),
        // Where a menu opens nobody hears of the pointer that goes up.
        dom::listen_window("contextmenu", on_list(release)),
        dom::listen_document("selectionchange", on_list(|_, list| note(list))),
        dom::listen_passive(grid, "focusin", on_list(focus)),
        dom::listen_passive(grid, "focusout", on_list(leave)),
    ]
}

/// What holds the rows where they are.
#[derive(Default)]
pub(super) struct Hand {
    /// A pointer is down on a row.
    is_down: Cell<bool>,
    /// A field in a row is written in.
    writes: Cell<bool>,
}

impl Hand {
    fn hold(&self, list: &VirtualList) {
        list.hold(self.is_down.get() || self.writes.get());
    }

    /// A frame is drawn: where a field was taken away with the focus in it, nobody is told.
    pub(super) fn look(&self, list: &VirtualList) {
        if self.writes.get() && !is_written_in(list) {
            self.writes.set(false);
            self.hold(list);
        }
    }
}

/// Whether a field in a row has the focus: were its row to go, the next letters would be keys.
fn is_written_in(list: &VirtualList) -> bool {
    let focused = dom::focused_in(list.window());
    focused.is_some_and(|focused| dom::is(&focused, FIELDS))
}

/// Who selects text follows no end. To browsers a caret in a field is a selection around that field.
fn note(list: &VirtualList) {
    if list.view().following && !is_written_in(list) && dom::has_selection(list.window()) {
        list.stay();
    }
}
