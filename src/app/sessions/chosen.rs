//! What is done with the sessions that are chosen.

use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::MOST_TOGETHER;
use crate::app::{PageRef, State};

/// How many they are, and buttons for them.
pub(super) fn selection(page: PageRef, state: State) -> impl IntoView {
    move || {
        let n = state.chosen.with(Vec::len);
        (n > 0 || state.choosing.get()).then(|| {
            let watch = button()
                .attr("type", "button")
                .class("button button--primary")
                .attr("disabled", n < 2)
                .on(ev::click, move |_| {
                    let ids = state.chosen.get_untracked();
                    page.with_value(|page| page.watch(ids));
                })
                .child(match n {
                    1 => "Choose another",
                    _ => "Watch together",
                });
            let clear = button()
                .attr("type", "button")
                .class("link")
                .on(ev::click, move |_| leave_choice(state))
                .child(if n == 0 { "Cancel" } else { "Clear" });
            let said = match n {
                0 => "None chosen".to_owned(),
                MOST_TOGETHER => format!("{n} chosen, the most"),
                n => format!("{n} chosen"),
            };
            let remove = (n > 0 && state.may_remove.get()).then(|| {
                button()
                    .attr("type", "button")
                    .class("link sessions__remove")
                    .attr("title", "Remove from the server (Delete)")
                    .on(ev::click, move |_| {
                        let ids = state.chosen.get_untracked();
                        page.with_value(|page| page.ask_to_remove(&ids, None));
                    })
                    .child("Remove…")
            });
            div().class("sessions__chosen").child((
                span().attr("role", "status").child(said),
                clear,
                remove,
                watch,
            ))
        })
    }
}

/// None is chosen, and a press on a row opens it.
pub(super) fn leave_choice(state: State) {
    state.choosing.set(false);
    state.chosen.set(Vec::new());
}
