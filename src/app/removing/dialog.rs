//! What goes, in a dialog that asks for it and says how it fares.

use chat_feed::units;
use leptos::ev;
use leptos::html::{self, button, dialog, div, h2, li, p, ul};
use leptos::prelude::*;

use super::{Asked, Named, Step, begin, leave};
use crate::app::{PageRef, State};
use crate::element::seen;
use crate::platform::dom;

/// What goes, and what does not.
const WHAT_GOES: &str = "What the server has goes: the log, its long results, its copies in other stores, and links that show it. This cannot be undone. What the agent keeps itself stays: should it go on, the session is back with what is new.";

const CANCEL_ID: &str = "removal-cancel";

/// The dialog, while something is asked, and word of what was done.
pub(in crate::app) fn view(page: PageRef, state: State) -> impl IntoView {
    let is_asked = Memo::new(move |_| state.removing.with(Option::is_some));
    let asks = move || {
        is_asked.get().then(|| {
            let place = NodeRef::<html::Dialog>::new();
            place.on_load(|dialog| dom::call_method(&dialog, "showModal"));
            // Of several some may be gone, and others ask again.
            let title = move || {
                let n = state.removing.with(|asked| n_asked(asked.as_ref()));
                match n {
                    0 | 1 => "Remove this session?".to_owned(),
                    n => format!("Remove {n} sessions?"),
                }
            };
            dialog()
                .class("removal")
                .attr("aria-labelledby", "removal-title")
                .attr("aria-describedby", "removal-what")
                .node_ref(place)
                .on(ev::close, move |_| leave(page, state))
                .child((
                    h2().attr("id", "removal-title").child(title),
                    move || state.removing.get().map(|asked| listed(&asked.sessions)),
                    p().attr("id", "removal-what")
                        .class("muted")
                        .child(WHAT_GOES),
                    // It is there before its words: else they are not read out.
                    div()
                        .attr("role", "status")
                        .child(move || state.removing.get().map(|asked| said(&asked))),
                    move || state.removing.get().map(|asked| why_not(&asked.step)),
                    move || {
                        state
                            .removing
                            .get()
                            .map(|asked| buttons(page, state, &asked.step))
                    },
                ))
        })
    };
    let removed = div()
        .class("visually-hidden")
        .attr("role", "status")
        .child(move || state.removed.get());
    (asks, removed)
}

fn n_asked(asked: Option<&Asked>) -> usize {
    asked.map_or(0, |asked| asked.sessions.len())
}

/// Which they are.
fn listed(sessions: &[Named]) -> impl IntoView + use<> {
    let items: Vec<_> = sessions
        .iter()
        .map(|one| {
            li().child((
                div()
                    .class("removal__name")
                    .child(seen::text(units::first_line(&one.name, 200))),
                div().class("muted").child(seen::text(one.by.clone())),
            ))
        })
        .collect();
    ul().class("removal__sessions").child(items)
}

/// How it fares.
fn said(asked: &Asked) -> Option<impl IntoView + use<>> {
    let words = match (&asked.step, asked.sessions.len()) {
        (Step::Asking | Step::Failed(_), _) => return None,
        (Step::Removing, _) => "Removing …".to_owned(),
        (Step::Working, 1) => "It is at work: what it sends next begins it anew.".to_owned(),
        (Step::Working, n) => format!("{n} are at work: what they send next begins them anew."),
    };
    Some(p().child(words))
}

/// Why it could not be done.
fn why_not(step: &Step) -> Option<impl IntoView + use<>> {
    let Step::Failed(why) = step else {
        return None;
    };
    let words = p().class("removal__error").attr("role", "alert");
    Some(words.child(format!("Not removed: {why}")))
}

/// Moves the focus to where it does no harm: who holds a key down goes no further than was asked.
pub(super) fn focus_cancel() {
    if let Some(cancel) = dom::by_id(CANCEL_ID) {
        dom::focus(&cancel);
    }
}

fn buttons(page: PageRef, state: State, step: &Step) -> impl IntoView + use<> {
    let cancel = button()
        .attr("type", "button")
        .attr("id", CANCEL_ID)
        .attr("autofocus", "")
        .class("button")
        // Closed so it gives the focus back.
        .on(ev::click, |event| {
            if let Some(dialog) = dom::around_event(&event, "dialog") {
                dom::call_method(&dialog, "close");
            }
        })
        .child("Cancel");
    let (words, force) = match step {
        Step::Working => ("Remove all the same", true),
        Step::Failed(_) => ("Try again", false),
        Step::Asking | Step::Removing => ("Remove", false),
    };
    let go = button()
        .attr("type", "button")
        // It keeps the focus.
        .attr(
            "aria-disabled",
            matches!(step, Step::Removing).then_some("true"),
        )
        .class("button button--danger")
        .on(ev::click, move |event| {
            // The second press of a double click answers nothing that was said between.
            if !dom::is_pressed_again(&event) {
                begin(page, state, force);
            }
        })
        .child(words);
    div().class("removal__buttons").child((cancel, go))
}
