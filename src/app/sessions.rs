//! The list of sessions: its head and filter, and what is said of the connection. Nothing open, it is the whole page.

mod answers;
mod buttons;
mod choice;
mod chosen;
mod counts;
mod doing;
mod facets;
mod glyph;
mod hold;
mod list;
mod list_keys;
mod notes;
mod on_screen;
mod row;
mod shown;

use std::rc::Rc;

use chat_feed::sessions::{Clock, Filter, Seen};
use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div, input, span};
use leptos::prelude::*;

use super::{Open, PageRef, State};
use crate::platform::{clock, dom, local_storage};
use crate::transport::Connection;
use buttons::{choose_button, help_button};
use chosen::selection;
use counts::{at_work, spent_today};
use notes::{connection_note, refused_note};

pub(super) use buttons::{badge, list_button, named};
pub(super) use counts::{counts, waiting, waiting_beside, works};
pub(super) use doing::now_line;
pub(super) use glyph::{back, glyph, lock};
pub(super) use list::focus as focus_list;

/// What the browser keeps of what was looked at.
const SEEN_KEY: &str = "turnreel.seen";
/// So many can be watched together.
pub(super) const MOST_TOGETHER: usize = 8;

/// Now, and when days began where the reader is.
pub(super) fn now(now_ms: i64) -> Clock {
    let (today_ms, yesterday_ms) = clock::day_starts();
    Clock {
        now_ms,
        today_ms,
        yesterday_ms,
    }
}

/// What was looked at, as the browser kept it.
pub(super) fn kept_seen() -> Seen {
    local_storage::get(SEEN_KEY)
        .and_then(|text| Seen::read(&text))
        .unwrap_or_else(|| Seen::from(clock::epoch_ms()))
}

/// Keeps what was looked at, with what was in another tab.
pub(super) fn keep_seen(seen: &mut Seen) {
    if let Some(kept) = local_storage::get(SEEN_KEY).and_then(|text| Seen::read(&text)) {
        seen.join(kept);
    }
    if let Some(text) = seen.write() {
        local_storage::set(SEEN_KEY, &text);
    }
}

/// The list with its head.
pub(super) fn view(page: PageRef, state: State) -> impl IntoView {
    let n_rows = Memo::new(move |_| state.rows.with(|rows| rows.len()));
    let shown: RwSignal<Rc<shown::Shown>, LocalStorage> = RwSignal::new_local(Rc::default());
    let is_filtered = Memo::new(move |_| !state.filter.with(|text| Filter::parse(text).is_empty()));
    let at = state.at;
    let count = move || {
        let n_all = units::grouped((n_rows.get() + state.local.with(Vec::len)) as u64);
        match is_filtered.get() {
            true => [
                &units::grouped(shown.get().n_sessions as u64),
                " of ",
                &n_all,
            ]
            .concat(),
            false => n_all,
        }
    };
    // Who needs somebody does so whatever the filter shows.
    let n_at_work = Memo::new(move |_| match (at_work(state), is_filtered.get()) {
        ((n_waiting, _), true) => (n_waiting, 0),
        (n_at_work, false) => n_at_work,
    });
    let counted = |n: usize, one, many| match n {
        0 => String::new(),
        n => units::count(n as u64, one, many),
    };
    let to_waiting = button()
        .attr("type", "button")
        .class("link sessions__waiting")
        .on(ev::click, move |_| {
            let is_hidden = shown.with_untracked(|shown| shown.first_waiting().is_none());
            if is_hidden {
                state.filter.set(String::new());
            }
            leptos::task::spawn_local(async move {
                if is_hidden {
                    // They are shown with the next tick.
                    leptos::task::tick().await;
                }
                let shown = shown.get_untracked();
                if let Some(index) = shown.next_waiting(at.get_untracked().as_deref()) {
                    let item = shown.item(index);
                    at.set(item.and_then(|item| item.id().map(str::to_owned)));
                    list::reveal(&shown, index);
                    list::focus();
                }
            });
        })
        .child(move || counted(n_at_work.get().0, "needs you", "need you"));
    let running = span().child(move || counted(n_at_work.get().1, "running", "running"));
    let head = div().class("sessions__head").child((
        span().class("sessions__title").child("Sessions"),
        span()
            .class("sessions__count")
            .child((span().child(count), to_waiting, running)),
        list_button(state, false),
    ));
    let field = input()
        .attr("type", "search")
        .attr("id", "sessions-filter")
        .attr("placeholder", move || match state.is_screen.get() {
            true => "Filter: agent, project, status",
            false => "Filter",
        })
        .attr("title", "Words, agent:codex, project:web, is:failed (/)")
        .attr("aria-label", "Filter sessions")
        .attr("aria-keyshortcuts", "/")
        .attr("autocapitalize", "off")
        .attr("spellcheck", "false")
        .class("field")
        .prop("value", move || state.filter.get())
        .on(ev::input, move |event| {
            state.filter.set(event_target_value(&event))
        })
        .on(ev::keydown, move |event| match event.key().as_str() {
            _ if dom::is_composing(&event) => {}
            "ArrowDown" => {
                event.prevent_default();
                list::focus();
            }
            "Escape" => {
                event.prevent_default();
                state.filter.set(String::new());
                list::focus();
            }
            _ => {}
        });
    let menu_open = RwSignal::new(false);
    let menu = button()
        .attr("type", "button")
        .class("icon-button sessions__menu")
        .attr("aria-label", "Filter by agent, project and status")
        .attr("aria-expanded", move || menu_open.get().to_string())
        .on(ev::click, move |_| menu_open.update(|open| *open = !*open))
        .child(glyph::filter());
    let filter = div().class("sessions__filter").child((
        div()
            .class("sessions__field")
            .child((glyph::search(), field)),
        menu,
        facets::view(state, menu_open),
        span()
            .class("sessions__today")
            .child(move || spent_today(state)),
        // Where they stand in any window, so that the tab key goes as the eye does.
        span()
            .class("sessions__tools")
            .child((choose_button(state), help_button())),
    ));
    let note = move || connection_note(state);
    let refused = move || {
        let elsewhere = matches!(state.open.get(), Open::Local(_) | Open::Address(_));
        (state.refused.get() && elsewhere).then(|| refused_note(page))
    };
    let live = move || matches!(state.connection.get(), Some(Connection::Live));
    let none = move || {
        (live() && n_rows.get() == 0 && state.local.with(Vec::is_empty))
            .then(|| div().class("sessions__none muted").child("No sessions yet"))
    };
    (
        head,
        filter,
        note,
        refused,
        none,
        list::view(page, state, shown),
        selection(page, state),
    )
}
