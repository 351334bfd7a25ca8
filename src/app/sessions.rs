//! The list of sessions: its head and filter, and what is said of the connection. Nothing open, it is the whole page.

mod answers;
mod choice;
mod doing;
mod facets;
mod glyph;
mod hold;
mod list;
mod list_keys;
mod row;
mod shown;

use std::rc::Rc;

use chat_feed::sessions::{Clock, Filter, Row, Seen, State as Stand};
use chat_feed::units;
use leptos::ev;
use leptos::html::{button, div, input, span};
use leptos::prelude::*;

use super::{Open, PageRef, State, keys};
use crate::platform::{clock, dom, frame, local_storage};
use crate::transport::Connection;

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

/// Whether a row says since when.
pub(super) fn counts(row: &Row, now_ms: i64) -> bool {
    row.state(now_ms) == Stand::NeedsYou || works(row, now_ms)
}

/// Whether it is at work, heard of or not.
pub(super) fn works(row: &Row, now_ms: i64) -> bool {
    match row.state(now_ms) {
        Stand::Running | Stand::Quiet => true,
        Stand::NeedsYou | Stand::Idle | Stand::Failed | Stand::Done | Stand::Cancelled => false,
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

/// Shows the keys, where no feed is open whose bar does.
fn help_button() -> impl IntoView {
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
fn choose_button(state: State) -> impl IntoView {
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

/// None is chosen, and a press on a row opens it.
fn leave_choice(state: State) {
    state.choosing.set(false);
    state.chosen.set(Vec::new());
}

/// Hides the list beside what is open, or shows it again; the focus goes from one of these buttons to the other.
pub(super) fn list_button(state: State, shows: bool) -> impl IntoView {
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

/// How many sessions wait for the reader, and how many are at work.
fn at_work(state: State) -> (usize, usize) {
    let now_ms = state.now_ms.get();
    state.rows.with(|rows| {
        let waiting = rows
            .live()
            .filter(|row| row.state(now_ms) == Stand::NeedsYou);
        let running = rows.live().filter(|row| works(row, now_ms));
        (waiting.count(), running.count())
    })
}

/// How many sessions that are not open wait for the reader.
pub(super) fn waiting(state: State) -> usize {
    let now_ms = state.now_ms.get();
    state.open.with(|open| {
        let is_open = |id: &str| match open {
            Open::Session(open) => open == id,
            Open::Together(open) => open.iter().any(|open| open == id),
            Open::Nothing | Open::Local(_) | Open::Address(_) => false,
        };
        state.rows.with(|rows| {
            let waiting = rows
                .live()
                .filter(|row| row.state(now_ms) == Stand::NeedsYou);
            waiting.filter(|row| !is_open(&row.id)).count()
        })
    })
}

/// How many of the sessions that are watched together wait: nobody counts what comes in them while the page is hidden.
pub(super) fn waiting_beside(state: State) -> usize {
    let now_ms = state.now_ms.get();
    state.open.with(|open| {
        let Open::Together(open) = open else { return 0 };
        state.rows.with(|rows| {
            let open = open.iter().filter_map(|id| rows.get(id));
            open.filter(|row| row.state(now_ms) == Stand::NeedsYou)
                .count()
        })
    })
}

/// How many wait, on a button that leads to them.
pub(super) fn badge(n_waiting: usize) -> Option<impl IntoView> {
    (n_waiting > 0).then(|| span().class("back__badge").child(n_waiting))
}

/// The name of such a button.
pub(super) fn named(way: &str, n_waiting: usize) -> String {
    match n_waiting {
        0 => way.to_owned(),
        n => {
            let waiting = units::count(n as u64, "needs you", "need you");
            format!("{way}, {waiting}")
        }
    }
}

/// What the sessions that changed today have used, over all their time.
fn spent_today(state: State) -> Option<String> {
    let (today_ms, _) = clock::day_starts();
    let (n_tokens, usd) = state.rows.with(|rows| rows.spent_since(today_ms));
    let tokens = (n_tokens > 0).then(|| format!("{} tokens", units::tokens(n_tokens)));
    let cost = (usd > 0.0).then(|| units::dollars(usd));
    let parts: Vec<String> = [tokens, cost].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Active today {}", parts.join(" · ")))
}

/// What is done with the sessions that are chosen.
fn selection(page: PageRef, state: State) -> impl IntoView {
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

/// The server wants its token, while something is shown that needs none.
fn refused_note(page: PageRef) -> impl IntoView + use<> {
    let leave = button()
        .attr("type", "button")
        .class("link")
        .on(ev::click, move |_| page.with_value(|page| page.leave()))
        .child("Enter it…");
    div()
        .class("sessions__note")
        .attr("role", "status")
        .child(("The server asks for its token. ", leave))
}

/// What is wrong with the connection to the list, if anything is; the list stays.
fn connection_note(state: State) -> Option<impl IntoView + use<>> {
    // It answers, and with a word that stands above what is open.
    if state.refused.get() {
        return None;
    }
    let text = match state.connection.get()? {
        // What is open counts to a next try of its own: two figures would contradict each other.
        Connection::Reconnecting { .. } if state.open.get() != Open::Nothing => {
            "The server does not answer.".to_owned()
        }
        Connection::Reconnecting { seconds, .. } => {
            format!("The server does not answer. Next try in {seconds}\u{a0}s.")
        }
        Connection::Offline => "No network. The list is as it was.".to_owned(),
        Connection::Connecting
        | Connection::CatchingUp(_)
        | Connection::Live
        | Connection::Polling
        | Connection::Ended => return None,
    };
    Some(
        div()
            .class("sessions__note")
            .attr("role", "status")
            .child(text),
    )
}
