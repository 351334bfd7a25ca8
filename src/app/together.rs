//! Several sessions beside each other: each is a feed of its own, with its own order, its own place and its own end.

use chat_feed::marks;
use chat_feed::sessions::Row;
use leptos::ev;
use leptos::html::{button, custom, div, section, span};
use leptos::prelude::*;

use super::sessions::{glyph, now_line};
use super::{Open, PageRef, State, keys};
use crate::element::{self, seen};
use crate::platform::{clock, dom, location};

/// The sessions that are watched.
pub(super) fn view(page: PageRef, state: State) -> impl IntoView {
    let ids = Memo::new(move |_| match state.open.get() {
        Open::Together(ids) => ids,
        Open::Nothing | Open::Session(_) | Open::Local(_) | Open::Address(_) => Vec::new(),
    });
    let is_shown = Memo::new(move |_| !ids.with(Vec::is_empty));
    // Keyed, so that the others stay as they are when one is closed.
    let columns = move || {
        For(ForProps::builder()
            .each(move || ids.get())
            .key(String::clone)
            .children(move |id: String| column(page, state, id))
            .build())
    };
    move || {
        is_shown
            .get()
            .then(|| div().class("together").child(columns()))
    }
}

fn column(page: PageRef, state: State, id: String) -> impl IntoView {
    let for_row = id.clone();
    let with_row = move |show: &dyn Fn(&Row) -> Option<AnyView>| {
        state
            .rows
            .with(|rows| rows.get(&for_row).and_then(|row| show(row)))
    };
    let named = {
        let id = id.clone();
        Memo::new(move |_| {
            state.rows.with(|rows| {
                let row = rows.get(&id);
                let name = row.map_or_else(|| id.clone(), |row| row.name(&clock::day_and_time));
                marks::written_out(&name)
            })
        })
    };
    let head = {
        let id = id.clone();
        move || {
            let now_ms = state.now_ms.get();
            let shown = with_row(&|row| {
                Some(
                    (
                        glyph(row.state(now_ms)),
                        span()
                            .class("visually-hidden")
                            .child(row.state(now_ms).word()),
                        div().class("together__text").child((
                            div()
                                .class("together__title")
                                .child(seen::text(row.name(&clock::day_and_time))),
                            now_line(row, now_ms),
                        )),
                    )
                        .into_any(),
                )
            });
            shown.unwrap_or_else(|| div().class("together__title").child(id.clone()).into_any())
        }
    };
    let for_open = id.clone();
    let open = button()
        .attr("type", "button")
        .class("link")
        .attr("aria-label", move || format!("Open {}", named.get()))
        .on(ev::click, move |_| {
            page.with_value(|page| page.open_session(&for_open));
        })
        .child("Open");
    let for_close = id.clone();
    let close = button()
        .attr("type", "button")
        .class("icon-button")
        .attr("aria-label", move || {
            format!("Stop watching {}", named.get())
        })
        .on(ev::click, move |_| {
            let mut ids = match state.open.get_untracked() {
                Open::Together(ids) => ids,
                Open::Nothing | Open::Session(_) | Open::Local(_) | Open::Address(_) => return,
            };
            let place = ids.iter().position(|id| *id == for_close);
            ids.retain(|id| *id != for_close);
            page.with_value(|page| page.watch(ids));
            keys::go_on_beside(place.unwrap_or(0));
        })
        .child("×");
    let token = page.with_value(|page| page.token.borrow().clone());
    let for_link = id.clone();
    let feed = custom(element::NAME)
        .attr("session", id.clone())
        // The address of this page names all of them, and an event is of one.
        .on(ev::Custom::new("af-link"), move |event: dom::Event| {
            if let Some(address) = dom::detail_of(&event, "href") {
                event.prevent_default();
                dom::copy_text(&location::into_session(&address, &for_link));
            }
        })
        .attr("density", "compact")
        .attr("verbosity", "normal")
        .attr("diff-palette", super::liking::kept("diff-palette"))
        .attr("theme", super::liking::kept("theme"))
        .attr("bar", "none")
        .prop("token", token);
    section()
        .class("together__column")
        .attr("aria-label", move || named.get())
        .child((
            div().class("together__head").child((head, open, close)),
            feed,
        ))
}
