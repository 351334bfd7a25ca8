//! Buttons above the list, and the one that leads back to it.

use chat_feed::units;
use leptos::ev;
use leptos::html::{button, span};
use leptos::prelude::*;

use super::chosen::leave_choice;
use super::{glyph, waiting};
use crate::app::{State, keys};
use crate::platform::{dom, frame};

/// Shows the keys, where no feed is open whose bar does.
pub(super) fn help_button() -> impl IntoView {
    button()
        .attr("type", "button")
        .attr("id", "sessions-help")
        .class("icon-button")
        .attr("aria-label", "Keys")
        .attr("title", "Keys (?)")
        .on(ev::click, |_| keys::show_help())
        .child(glyph::question())
}

/// Lets a press on a row choose it to be watched with others; where a pointer or keys can do so it is not shown.
pub(super) fn choose_button(state: State) -> impl IntoView {
    button()
        .attr("type", "button")
        .class("icon-button sessions__choose")
        .attr("aria-label", "Choose sessions to watch together")
        .attr("title", "Choose sessions to watch together")
        .attr("aria-pressed", move || state.choosing.get().to_string())
        .on(ev::click, move |_| match state.choosing.get_untracked() {
            true => leave_choice(state),
            false => state.choosing.set(true),
        })
        .child(glyph::check())
}

/// Hides the list beside what is open, or shows it again; the focus goes from one of these buttons to the other.
pub(in crate::app) fn list_button(state: State, shows: bool) -> impl IntoView {
    const IDS: [&str; 2] = ["hide-sessions", "show-sessions"];
    let name = if shows {
        "Show sessions"
    } else {
        "Hide sessions"
    };
    let n_waiting = Memo::new(move |_| if shows { waiting(state) } else { 0 });
    button()
        .attr("type", "button")
        .attr("id", IDS[usize::from(shows)])
        .class("icon-button")
        .attr("aria-label", move || named(name, n_waiting.get()))
        .attr("title", format!("{name} (b)"))
        .on(ev::click, move |_| {
            state.toggle_list();
            leptos::task::spawn_local(async move {
                // It can have it when the page has changed.
                frame::yield_now().await;
                if let Some(other) = dom::by_id(IDS[usize::from(!shows)]) {
                    dom::focus(&other);
                }
            });
        })
        .child((glyph::list(), move || badge(n_waiting.get())))
}

/// How many wait, on a button that leads to them.
pub(in crate::app) fn badge(n_waiting: usize) -> Option<impl IntoView> {
    (n_waiting > 0).then(|| span().class("back__badge").child(n_waiting))
}

/// The name of such a button.
pub(in crate::app) fn named(way: &str, n_waiting: usize) -> String {
    match n_waiting {
        0 => way.to_owned(),
        n => {
            let waiting = units::count(n as u64, "needs you", "need you");
            format!("{way}, {waiting}")
        }
    }
}
