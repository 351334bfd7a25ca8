//! Text that the reader selects stays where it is: to select it stops following, and what a pointer is down on does not move.

use leptos::prelude::WithValue;

use super::{Context, Ctx};
use crate::platform::dom::{self, Element, Listener};
use crate::virtual_list::VirtualList;

/// Looks after it as long as what is returned is kept; `grid` is what the rows stand in.
pub(super) fn watch(ctx: Ctx, grid: &Element) -> Vec<Listener> {
    let on_list = move |act: fn(&VirtualList)| {
        move |_| {
            ctx.try_with_value(|context| with_list(context, act));
        }
    };
    let down = move |event| {
        if dom::is_first_button(&event) && dom::is_within(&event, ".row") {
            on_list(|list| list.hold(true))(event);
        }
    };
    let release: fn(&VirtualList) = |list| list.hold(false);
    vec![
        dom::listen_passive(grid, "pointerdown", down),
        dom::listen_window("pointerup", on_list(release)),
        dom::listen_window("pointercancel", on_list(release)),
        // Where a menu opens nobody hears of the pointer that goes up.
        dom::listen_window("contextmenu", on_list(release)),
        dom::listen_document("selectionchange", on_list(note)),
    ]
}

fn with_list(context: &Context, act: fn(&VirtualList)) {
    if let Some(list) = &*context.list.borrow() {
        act(list);
    }
}

fn note(list: &VirtualList) {
    if list.view().following && dom::has_selection(list.window()) {
        list.stop_following();
    }
}
