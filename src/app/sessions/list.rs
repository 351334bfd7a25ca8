//! The rows that are on the screen, out of thousands; and the keys that go through all of them.
//!
//! The focus stays on the list, which names the row it is at: a row that leaves the screen takes no focus with it.

use std::rc::Rc;

use chat_feed::sessions::{Filter, Row, Section, Stack};
use leptos::ev;
use leptos::html::div;
use leptos::prelude::*;

use super::super::local::LocalSession;
use super::super::{Open, PageRef, State};
use super::choice::Choice;
use super::{finds, now, row};
use crate::platform::dom;
use crate::platform::{measure, measure::HeightObserver};

/// The scroller's id.
const LIST_ID: &str = "sessions-list";
/// The table needs so much room; with less the list is a list.
const TABLE_PX: f64 = 720.0;
/// What is mounted moves in steps, so that not each pixel of scrolling is work.
const STEP_PX: u32 = 256;
/// Rows are mounted this far beyond the edges.
const BEYOND_PX: u32 = 384;
/// How far a page key goes, in rows.
const PAGE_ROWS: usize = 8;

/// One row of the list.
#[derive(Clone)]
pub(super) enum Item {
    /// A section and how many are in it.
    Heading(&'static str, usize),
    /// A session of dropped files.
    Local(LocalSession),
    /// A session of the server.
    Session(Section, Rc<Row>),
}

impl Item {
    fn height_px(&self, is_table: bool, now_ms: i64) -> u32 {
        match self {
            Item::Heading(..) if is_table => 56,
            Item::Heading(..) => 36,
            Item::Session(Section::NeedsYou, _) if is_table => 100,
            Item::Local(_) | Item::Session(..) if is_table => 64,
            Item::Session(_, session) if row::has_now(session, now_ms) => 72,
            Item::Local(_) | Item::Session(..) => 52,
        }
    }

    fn id(&self) -> Option<&str> {
        match self {
            Item::Heading(..) => None,
            Item::Local(session) => Some(&session.name),
            Item::Session(_, session) => Some(&session.id),
        }
    }
}

/// All that is shown, whether it is on the screen or not.
#[derive(Default)]
pub(super) struct Shown {
    items: Vec<Item>,
    stack: Stack,
    n_sessions: usize,
    is_table: bool,
}

impl Shown {
    /// How many sessions.
    pub(super) fn n_sessions(&self) -> usize {
        self.n_sessions
    }

    /// The sessions of the server, in their order.
    fn ids(&self) -> Vec<&str> {
        let ids = self.items.iter().filter_map(|item| match item {
            Item::Session(_, row) => Some(row.id.as_str()),
            Item::Heading(..) | Item::Local(_) => None,
        });
        ids.collect()
    }
}

/// Gives the list the focus.
pub(super) fn focus() {
    if let Some(list) = dom::by_id(LIST_ID) {
        dom::focus(&list);
    }
}

/// The list.
pub(super) fn view(
    page: PageRef,
    state: State,
    shown: RwSignal<Rc<Shown>, LocalStorage>,
) -> impl IntoView {
    let choice = Choice::new(state);
    let size = RwSignal::new((0.0, 0.0));
    let step = RwSignal::new(0_u32);
    // The row that keys are at, by its id: it may move.
    let at = RwSignal::new(None::<String>);
    let is_table = Memo::new(move |_| state.is_screen.get() && size.get().0 >= TABLE_PX);
    Effect::new(move |_| {
        let is_table = is_table.get();
        shown.set(Rc::new(arrange(state, is_table)));
    });
    let observer = StoredValue::new_local(HeightObserver::new(move |sizes| {
        if let Some((_, width, height)) = sizes.last() {
            size.set((*width, *height));
        }
    }));
    Effect::new(move |_| {
        if let Some(list) = dom::by_id(LIST_ID) {
            observer.with_value(|observer| {
                if let Some(observer) = observer {
                    observer.watch(&list);
                }
            });
        }
    });
    // What is opened is seen in the list, once it is there: by a link or a reload it may be anywhere.
    let seen = StoredValue::new(None::<String>);
    Effect::new(move |_| {
        let open = match state.open.get() {
            Open::Session(id) | Open::Local(id) => id,
            Open::Nothing | Open::Together(_) | Open::Address(_) => return,
        };
        let index =
            shown.with(|shown| shown.items.iter().position(|item| item.id() == Some(&open)));
        if index.is_some() && size.get().1 > 0.0 && seen.get_value().as_ref() != Some(&open) {
            seen.set_value(Some(open.clone()));
            leptos::task::spawn_local(async move {
                // The list has its height with the next tick.
                leptos::task::tick().await;
                let shown = shown.get_untracked();
                if let Some(index) = shown.items.iter().position(|item| item.id() == Some(&open)) {
                    reveal(&shown, index);
                }
            });
        }
    });
    let (all, at_row) = (shown, at);
    let rows = move || {
        let shown = shown.get();
        let now_ms = state.now_ms.get_untracked();
        let open = state.open.get();
        let chosen = state.chosen.get();
        let at = at.get();
        let screen_px = pixels(size.get().1);
        let from_px = step.get().saturating_sub(BEYOND_PX);
        let to_px = step.get() + STEP_PX + screen_px + BEYOND_PX;
        let mut place = shown.items[..shown.stack.window(from_px, to_px).start]
            .iter()
            .filter(|item| item.id().is_some())
            .count();
        let window = shown.stack.window(from_px, to_px);
        let rows = window.filter_map(|index| {
            let item = shown.items.get(index)?;
            let top_px = shown.stack.top_px(index);
            let height_px = shown.stack.top_px(index + 1) - top_px;
            let outer = div()
                .class("sessions__item")
                .style(("top", format!("{top_px}px")))
                .style(("block-size", format!("{height_px}px")));
            let Some(id) = item.id() else {
                let Item::Heading(title, n) = item else {
                    return None;
                };
                let heading = row::heading(title, *n, shown.is_table && index == 0);
                return Some(outer.attr("role", "presentation").child(heading).into_any());
            };
            place += 1;
            let is_open = match (&open, item) {
                (Open::Session(open), Item::Session(..)) => open == id,
                (Open::Together(open), Item::Session(..)) => open.iter().any(|one| one == id),
                (Open::Local(open), Item::Local(_)) => open == id,
                (Open::Nothing | Open::Address(_), _)
                | (Open::Session(_) | Open::Together(_), Item::Local(_) | Item::Heading(..))
                | (Open::Local(_), Item::Session(..) | Item::Heading(..)) => false,
            };
            let look = row::Look {
                is_table: shown.is_table,
                is_open,
                is_at: at.as_deref() == Some(id),
                is_chosen: chosen.iter().any(|one| one == id),
                is_unread: match item {
                    Item::Session(_, row) => state
                        .seen
                        .with_untracked(|seen| seen.is_unread(row, now_ms)),
                    Item::Heading(..) | Item::Local(_) => false,
                },
                now_ms,
            };
            let inner = match item {
                Item::Session(_, session) => row::session(session, &look),
                Item::Local(session) => row::local(session, &look),
                Item::Heading(..) => return None,
            };
            let for_click = item.clone();
            let outer = outer
                .attr("role", "option")
                .attr("id", option_id(index))
                .attr("aria-posinset", place.to_string())
                .attr("aria-setsize", shown.n_sessions.to_string())
                .attr("aria-selected", look.is_chosen.to_string())
                .attr("aria-current", is_open.then_some("true"))
                .on(ev::click, move |event| {
                    let on_check = dom::is_within(&event, ".session__check");
                    // Keys go on from here.
                    at_row.set(for_click.id().map(str::to_owned));
                    match &for_click {
                        Item::Session(_, row) if event.shift_key() => {
                            let shown = all.get_untracked();
                            let open = state.open.with_untracked(|open| match open {
                                Open::Session(id) => Some(id.clone()),
                                _ => None,
                            });
                            choice.extend(&shown.ids(), open.as_deref(), &row.id);
                        }
                        Item::Session(_, row)
                            if event.ctrl_key() || event.meta_key() || on_check =>
                        {
                            choice.toggle(&row.id);
                        }
                        item => open_item(page, item),
                    }
                });
            Some(outer.child(inner).into_any())
        });
        rows.collect::<Vec<_>>()
    };
    let active = move || {
        let shown = shown.get();
        let at = at.get()?;
        let index = shown.items.iter().position(|item| item.id() == Some(&at))?;
        Some(option_id(index))
    };
    let keys = move |event: ev::KeyboardEvent| {
        if event.alt_key() || event.meta_key() {
            return;
        }
        let shown = shown.get_untracked();
        let here = at.with_untracked(|at| {
            let at = at.as_deref()?;
            shown.items.iter().position(|item| item.id() == Some(at))
        });
        let go = match event.key().as_str() {
            "ArrowDown" | "j" => Some(beside(&shown, here, 1, true)),
            "ArrowUp" | "k" => Some(beside(&shown, here, 1, false)),
            "PageDown" => Some(beside(&shown, here, PAGE_ROWS, true)),
            "PageUp" => Some(beside(&shown, here, PAGE_ROWS, false)),
            "Home" => Some(beside(&shown, None, 1, true)),
            "End" => Some(beside(&shown, None, 1, false)),
            "Enter" => {
                if let Some(item) = here.and_then(|here| shown.items.get(here)) {
                    open_item(page, item);
                }
                None
            }
            " " => {
                if let Some(Item::Session(_, row)) = here.and_then(|here| shown.items.get(here)) {
                    choice.toggle(&row.id);
                }
                None
            }
            "/" => {
                if let Some(field) = dom::by_id("sessions-filter") {
                    dom::focus(&field);
                }
                None
            }
            "Escape" if state.chosen.with_untracked(|chosen| !chosen.is_empty()) => {
                state.chosen.set(Vec::new());
                None
            }
            _ => return,
        };
        // Else the browser scrolls, or types the slash.
        event.prevent_default();
        event.stop_propagation();
        if let Some(Some(index)) = go {
            if let (true, Item::Session(_, row)) = (event.shift_key(), &shown.items[index]) {
                let before = at.get_untracked();
                choice.extend(&shown.ids(), before.as_deref(), &row.id);
            }
            at.set(shown.items[index].id().map(str::to_owned));
            reveal(&shown, index);
        }
    };
    let on_focus = move |_| {
        let shown = shown.get_untracked();
        let known = at.with_untracked(|at| {
            shown
                .items
                .iter()
                .any(|item| item.id().is_some() && item.id() == at.as_deref())
        });
        if !known {
            let first = shown.items.iter().find_map(Item::id);
            at.set(first.map(str::to_owned));
        }
    };
    let height = move || format!("{}px", shown.get().stack.height_px());
    let empty = move || {
        let shown = shown.get();
        let is_filtered = !state.filter.with(|text| Filter::parse(text).is_empty());
        (is_filtered && shown.n_sessions == 0).then(|| {
            div()
                .class("sessions__none muted")
                .attr("role", "status")
                .child("No session fits the filter")
        })
    };
    let scrolled = move |event: ev::Event| {
        if let Some(list) = dom::target(&event) {
            let top_px = pixels(measure::scroll_top(&list));
            let stepped = top_px / STEP_PX * STEP_PX;
            if step.get_untracked() != stepped {
                step.set(stepped);
            }
        }
    };
    (
        empty,
        div()
            .attr("id", LIST_ID)
            .class("sessions__list")
            .attr("role", "listbox")
            .attr("tabindex", "0")
            .attr("aria-label", "Sessions")
            .attr("aria-multiselectable", "true")
            .attr("aria-activedescendant", active)
            .on(ev::keydown, keys)
            .on(ev::mousedown, |event| {
                // It chooses rows, and not their text.
                if event.shift_key() {
                    event.prevent_default();
                    focus();
                }
            })
            .on(ev::focus, on_focus)
            .on(ev::scroll, scrolled)
            .child(
                div()
                    .class("sessions__all")
                    .attr("role", "presentation")
                    .style(("block-size", height))
                    .child(rows),
            ),
    )
}

/// What the filter shows, in sections; dropped files first.
fn arrange(state: State, is_table: bool) -> Shown {
    let filter = state.filter.with(|text| Filter::parse(text));
    let clock = now(state.now_ms.get());
    // What was looked at changes what is unread.
    state.seen.track();
    let mut items = Vec::new();
    state.local.with(|sessions| {
        let found = sessions.iter().filter(|session| {
            finds(
                &filter,
                session.head.title.as_deref().unwrap_or_default(),
                &session.name,
            )
        });
        items.extend(found.cloned().map(Item::Local));
    });
    let n_local = items.len();
    if n_local > 0 {
        items.insert(0, Item::Heading("Your files", n_local));
    }
    let arranged = state.rows.with(|rows| rows.arrange(&filter, clock));
    for (section, rows) in arranged.sections {
        items.push(Item::Heading(section.title(), rows.len()));
        items.extend(rows.into_iter().map(|row| Item::Session(section, row)));
    }
    Shown {
        stack: Stack::of(
            items
                .iter()
                .map(|item| item.height_px(is_table, clock.now_ms)),
        ),
        n_sessions: n_local + arranged.n_shown,
        items,
        is_table,
    }
}

/// So many sessions on from here; from nowhere, the first or the last.
fn beside(shown: &Shown, here: Option<usize>, n: usize, is_forward: bool) -> Option<usize> {
    let is_session = |index: &usize| shown.items[*index].id().is_some();
    let found = match (here, is_forward) {
        (Some(here), true) => (here + 1..shown.items.len())
            .filter(is_session)
            .take(n)
            .last(),
        (Some(here), false) => (0..here).rev().filter(is_session).take(n).last(),
        (None, true) => (0..shown.items.len()).find(is_session),
        (None, false) => (0..shown.items.len()).rev().find(is_session),
    };
    found.or(here)
}

fn reveal(shown: &Shown, index: usize) {
    let Some(list) = dom::by_id(LIST_ID) else {
        return;
    };
    let scroll_px = pixels(measure::scroll_top(&list));
    let screen_px = pixels(f64::from(list.client_height()));
    // The heading goes with the first row below it.
    let first = match index
        .checked_sub(1)
        .and_then(|before| shown.items.get(before))
    {
        Some(Item::Heading(..)) => index - 1,
        Some(Item::Local(_) | Item::Session(..)) | None => index,
    };
    let to_px = shown.stack.reveal(index, scroll_px, screen_px);
    let to_px = shown
        .stack
        .reveal(first, to_px.unwrap_or(scroll_px), screen_px)
        .or(to_px);
    if let Some(to_px) = to_px {
        measure::set_scroll_top(&list, f64::from(to_px));
    }
}

fn open_item(page: PageRef, item: &Item) {
    page.with_value(|page| match item {
        Item::Session(_, row) => page.open_session(&row.id),
        Item::Local(session) => page.open_local(&session.name),
        Item::Heading(..) => {}
    });
}

fn option_id(index: usize) -> String {
    format!("session-option-{index}")
}

/// Whole pixels; a scroller is never so high that this cuts.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn pixels(px: f64) -> u32 {
    px.max(0.0) as u32
}
