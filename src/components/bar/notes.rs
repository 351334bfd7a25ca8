//! Notes across the feed: what is wrong, and what can be done.

use leptos::ev;
use leptos::html::{button, div, span};
use leptos::prelude::*;

use super::state::Note;
use crate::components::icon::{Icon, icon};
use crate::components::lacks;

/// Each second it says something else: that is for the eye, and the chip says it once to all.
pub(super) fn away_view(
    note: Note,
    retry: StoredValue<Box<dyn Fn()>, LocalStorage>,
) -> impl IntoView {
    let try_now = button()
        .attr("type", "button")
        .class("button")
        .on(ev::click, move |_| retry.with_value(|retry| retry()))
        .child("Retry now");
    let what = div().class("note__what").child(note.what);
    let more = div().class("note__more").child(note.more);
    div().class("note note--away").child((
        icon(Icon::Retry),
        div().class("note__text").child((what, more)),
        try_now,
    ))
}

/// All of such a log is shown, but some of it perhaps as no more than its JSON.
pub(super) fn newer_view(schema: u64) -> impl IntoView {
    let what = "This log was written by a newer version";
    let known = chat_event::SCHEMA;
    let more = format!(
        "Its schema is {schema}, this page knows {known}. What is new in it is shown as raw JSON; a newer page shows more."
    );
    div()
        .class("note note--away")
        .attr("role", "status")
        .child((
            icon(Icon::Alert),
            div().class("note__text").child((
                div().class("note__what").child(what),
                div().class("note__more").child(more),
            )),
        ))
}

/// What is wrong.
pub(super) fn note_view(note: Note) -> impl IntoView {
    let what = span().class("note__what").child(lacks::sentence(note.what));
    let more = (!note.more.is_empty()).then(|| div().class("note__more").child(note.more));
    div()
        .class("note")
        .attr("role", "alert")
        .child((icon(Icon::Broken), div().child((what, more))))
}
