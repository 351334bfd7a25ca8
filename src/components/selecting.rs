//! What the reader has their hand on stays where it is: text they select, what a pointer is down on, and a field they write in.

use leptos::prelude::WithValue;

use super::{Context, Ctx};
use crate::platform::dom::{self, Element, Listener};
use crate::virtual_list::VirtualList;

/// What takes letters.
const FIELDS: &str = "textarea, input:not([type=radio], [type=checkbox])";

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
    // The pointer that goes up may be the one that went into the field.
    let release: fn(&VirtualList) = |list| list.hold(is_written_in(list));
    vec![
        dom::listen_passive(grid, "pointerdown", down),
        dom::listen_window("pointerup", on_list(release)),
        dom::listen_window("pointercancel", on_list(release)),
        // Where a menu opens nobody hears of the pointer that goes up.
        dom::listen_window("contextmenu", on_list(release)),
        dom::listen_document("selectionchange", on_list(note)),
        dom::listen_passive(grid, "focusin", on_list(release)),
        dom::listen_passive(grid, "focusout", on_list(|list| list.hold(false))),
    ]
}

fn with_list(context: &Context, act: fn(&VirtualList)) {
    if let Some(list) = &*context.list.borrow() {
        act(list);
    }
}

/// Whether a field in a row has the focus: were its row to go, the next letters would be keys.
fn is_written_in(list: &VirtualList) -> bool {
    let focused = dom::focused_in(list.window());
    focused.is_some_and(|focused| dom::is(&focused, FIELDS))
}

fn note(list: &VirtualList) {
    if list.view().following && dom::has_selection(list.window()) {
        list.stop_following();
    }
}
