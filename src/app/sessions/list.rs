//! The rows that are on the screen, out of thousands; the keys that go through all of them are in `list_keys`.
//!
//! The focus stays on the list, which names the row it is at: a row that leaves the screen takes no focus with it.

use std::rc::Rc;

use chat_feed::sessions::Filter;
use leptos::ev;
use leptos::html::{button, div, p};
use leptos::prelude::*;

use super::super::{Open, PageRef, State};
use super::answers;
use super::choice::Choice;
use super::hold::Hold;
use super::row;
use super::shown::{Item, Shown};
use crate::platform::dom;
use crate::platform::{measure, measure::HeightObserver};

/// The scroller's id.
const LIST_ID: &str = "sessions-list";
/// The id of what is in it, which has the focus.
const ROWS_ID: &str = "sessions-rows";
/// The table needs so much room; with less the list is a list.
const TABLE_PX: f64 = 720.0;
/// What is mounted moves in steps, so that not each pixel of scrolling is work.
const STEP_PX: u32 = 256;
/// Rows are mounted this far beyond the edges.
const BEYOND_PX: u32 = 384;

/// The list as it stands.
#[derive(Clone, Copy)]
pub(super) struct List {
    pub(super) page: PageRef,
    pub(super) state: State,
    pub(super) shown: RwSignal<Rc<Shown>, LocalStorage>,
    pub(super) choice: Choice,
    pub(super) hold: Hold,
    /// The row that keys are at, by its id: it may move.
    pub(super) at: RwSignal<Option<String>>,
    /// Its width and height in px.
    size: RwSignal<(f64, f64)>,
    /// How far it is scrolled in px, in whole steps.
    step: RwSignal<u32>,
}

/// Gives the list the focus.
pub(in crate::app) fn focus() {
    if let Some(rows) = dom::by_id(ROWS_ID) {
        dom::focus(&rows);
    }
}

/// Those sessions on the screen of which neither the line that says what they are at nor that of their answers is cut.
pub(super) fn uncut_rows() -> Vec<String> {
    let Some(list) = dom::by_id(LIST_ID) else {
        return Vec::new();
    };
    let answers = measure::uncut_in(&list, ".answers");
    let answers = answers
        .iter()
        .filter_map(|answers| dom::attribute(answers, "data-answers"));
    let answers: Vec<String> = answers.collect();
    let lines = measure::uncut_in(&list, ".session__what").into_iter();
    let sessions = lines.filter_map(|line| {
        let session = line.closest(".session").ok().flatten()?;
        dom::attribute(&session, "data-session-id")
    });
    sessions
        .filter(|session| answers.contains(session))
        .collect()
}

/// The list.
pub(super) fn view(
    page: PageRef,
    state: State,
    shown: RwSignal<Rc<Shown>, LocalStorage>,
) -> impl IntoView {
    let list = List {
        page,
        state,
        shown,
        choice: Choice::new(state),
        hold: Hold::new(),
        at: state.at,
        size: RwSignal::new((0.0, 0.0)),
        step: RwSignal::new(0),
    };
    list.watch_size();
    list.arrange();
    list.reveal_opened();
    (
        move || list.none_fits(),
        div()
            .attr("id", LIST_ID)
            .class("sessions__list")
            .attr("data-choosing", move || state.choosing.get().then_some(""))
            .on(ev::pointermove, move |_| list.hold.point(true))
            .on(ev::pointerleave, move |_| list.hold.point(false))
            .on(ev::scroll, move |event| list.follow_scroll(&event))
            .child((list.rows_view(), answers::view(list))),
    )
}

impl List {
    fn rows_view(self) -> impl IntoView {
        div()
            .attr("id", ROWS_ID)
            .class("sessions__all")
            .attr("role", "listbox")
            .attr("tabindex", "0")
            .attr("aria-label", "Sessions")
            .attr("aria-multiselectable", "true")
            .attr("aria-activedescendant", move || self.active())
            .on(ev::keydown, move |event| self.take_key(&event))
            .on(ev::mousedown, |event| {
                // It chooses rows, and not their text.
                if event.shift_key() {
                    event.prevent_default();
                    focus();
                }
            })
            .on(ev::focus, move |_| self.take_focus())
            .on(ev::blur, move |_| self.hold.focus(false))
            .style(("block-size", move || {
                format!("{}px", self.shown.get().stack.height_px())
            }))
            .child(move || self.rows())
    }

    /// Whoever calls is called again when other rows come on the screen.
    pub(super) fn track_window(self) {
        self.step.track();
        self.size.track();
    }

    /// The focus, and keys, go to the row of a session.
    pub(super) fn turn_to(self, session: String) {
        self.at.set(Some(session));
        focus();
    }

    fn watch_size(self) {
        let observer = StoredValue::new_local(HeightObserver::new(move |sizes| {
            if let Some((_, width, height)) = sizes.last() {
                self.size.set((*width, *height));
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
    }

    /// Keeps `shown` what there is to show.
    fn arrange(self) {
        let state = self.state;
        let is_table = Memo::new(move |_| state.is_screen.get() && self.size.get().0 >= TABLE_PX);
        Effect::new(move |_| {
            let (is_table, holds) = (is_table.get(), self.hold.holds());
            let before = self.shown.get_untracked();
            let shown = Shown::of(state, is_table, &before, holds);
            self.shown.set(Rc::new(shown));
        });
    }

    /// What is opened is seen in the list, once it is there: by a link or a reload it may be anywhere. More of the list may
    /// come, and move it: it is shown again unless the reader has scrolled since.
    fn reveal_opened(self) {
        let seen = StoredValue::new((None::<String>, 0, 0));
        Effect::new(move |_| {
            let open = match self.state.open.get() {
                Open::Session(id) | Open::Local(id) => id,
                Open::Nothing | Open::Together(_) | Open::Address(_) => return,
            };
            let shown = self.shown.get();
            if shown.index_of(&open).is_none() || self.size.get().1 <= 0.0 {
                return;
            }
            let (of, n_then, then_px) = seen.get_value();
            let is_known = of.as_ref() == Some(&open);
            if is_known && (shown.n_sessions <= n_then || scrolled_px() != then_px) {
                return;
            }
            seen.set_value((Some(open.clone()), shown.n_sessions, then_px));
            leptos::task::spawn_local(async move {
                // The list has its height with the next tick.
                leptos::task::tick().await;
                let shown = self.shown.get_untracked();
                if let Some(index) = shown.index_of(&open) {
                    reveal(&shown, index);
                    seen.update_value(|(.., then_px)| *then_px = scrolled_px());
                }
            });
        });
    }

    fn follow_scroll(self, event: &ev::Event) {
        if let Some(list) = dom::target(event) {
            let top_px = pixels(measure::scroll_top(&list));
            self.hold.scroll(top_px);
            let stepped = top_px / STEP_PX * STEP_PX;
            if self.step.get_untracked() != stepped {
                self.step.set(stepped);
            }
        }
    }

    /// The element's id of the row that keys are at.
    fn active(self) -> Option<String> {
        let shown = self.shown.get();
        let at = self.at.get()?;
        shown.index_of(&at).map(option_id)
    }

    fn none_fits(self) -> Option<impl IntoView + use<>> {
        let shown = self.shown.get();
        let filter = self.state.filter.with(|text| Filter::parse(text));
        (!filter.is_empty() && shown.n_sessions == 0).then(|| {
            let why = filter.refusal();
            let why = why.unwrap_or_else(|| "No session fits the filter".to_owned());
            let clear = button()
                .attr("type", "button")
                .class("link")
                .on(ev::click, move |_| self.clear_filter())
                .child("Clear the filter");
            div()
                .class("sessions__none muted")
                .child((p().attr("role", "status").child(why), clear))
        })
    }

    /// Shows everything again. What was pressed goes with it: the focus goes to where the next filter is typed.
    fn clear_filter(self) {
        self.state.filter.set(String::new());
        if let Some(field) = dom::by_id("sessions-filter") {
            dom::focus(&field);
        }
    }

    /// The rows on the screen, and some beyond its edges.
    fn rows(self) -> Vec<AnyView> {
        let shown = self.shown.get();
        let from_px = self.step.get().saturating_sub(BEYOND_PX);
        let to_px = self.step.get() + STEP_PX + pixels(self.size.get().1) + BEYOND_PX;
        let window = shown.stack.window(from_px, to_px);
        let looks = Looks {
            now_ms: self.state.now_ms.get_untracked(),
            open: self.state.open.get(),
            chosen: self.state.chosen.get(),
            at: self.at.get(),
        };
        let rows = window.filter_map(|index| {
            let item = &shown.item(index)?;
            let top_px = shown.stack.top_px(index);
            let height_px = shown.stack.top_px(index + 1) - top_px;
            let outer = div()
                .class("sessions__item")
                .style(("top", format!("{top_px}px")))
                .style(("block-size", format!("{height_px}px")));
            let look = |id| looks.of(self.state, &shown, item, id);
            let (look, inner) = match item {
                Item::Heading(title, n) => {
                    let heading = row::heading(title, *n, shown.is_table && index == 0);
                    return Some(outer.attr("role", "presentation").child(heading).into_any());
                }
                Item::Session(_, session) => {
                    let look = look(&session.id);
                    let inner = row::session(session, &look);
                    (look, inner)
                }
                Item::Local(session) => {
                    let look = look(&session.name);
                    let inner = row::local(session, &look);
                    (look, inner)
                }
            };
            let place = shown.n_before(index) + 1;
            let for_click = item.clone();
            let outer = outer
                .attr("role", "option")
                .attr("id", option_id(index))
                .attr("aria-posinset", place.to_string())
                .attr("aria-setsize", shown.n_sessions.to_string())
                .attr("aria-selected", look.is_chosen.to_string())
                .attr("aria-current", look.is_open.then_some("true"))
                .on(ev::click, move |event| self.take_click(&event, &for_click));
            Some(outer.child(inner).into_any())
        });
        rows.collect()
    }

    fn take_click(self, event: &ev::MouseEvent, item: &Item) {
        let on_check =
            dom::is_within(event, ".session__check") || self.state.choosing.get_untracked();
        // Keys go on from here.
        self.at.set(item.id().map(str::to_owned));
        match item {
            Item::Session(_, row) if event.shift_key() => {
                let shown = self.shown.get_untracked();
                let open = self.state.open.with_untracked(|open| match open {
                    Open::Session(id) => Some(id.clone()),
                    _ => None,
                });
                self.choice.extend(&shown.ids(), open.as_deref(), &row.id);
            }
            Item::Session(_, row) if event.ctrl_key() || event.meta_key() || on_check => {
                self.choice.toggle(&row.id);
            }
            item => self.open_item(item),
        }
    }

    pub(super) fn open_item(self, item: &Item) {
        self.page.with_value(|page| match item {
            Item::Session(_, row) => page.open_session(&row.id),
            Item::Local(session) => page.open_local(&session.name),
            Item::Heading(..) => {}
        });
    }
}

/// What the looks of rows depend on.
struct Looks {
    now_ms: i64,
    open: Open,
    chosen: Vec<String>,
    at: Option<String>,
}

impl Looks {
    fn of(&self, state: State, shown: &Shown, item: &Item, id: &str) -> row::Look {
        row::Look {
            is_table: shown.is_table,
            is_open: match (&self.open, item) {
                (Open::Session(open), Item::Session(..)) => open == id,
                (Open::Together(open), Item::Session(..)) => open.iter().any(|one| one == id),
                (Open::Local(open), Item::Local(_)) => open == id,
                (Open::Nothing | Open::Address(_), _)
                | (Open::Session(_) | Open::Together(_), Item::Local(_) | Item::Heading(..))
                | (Open::Local(_), Item::Session(..) | Item::Heading(..)) => false,
            },
            is_at: self.at.as_deref() == Some(id),
            is_chosen: self.chosen.iter().any(|one| one == id),
            is_unread: match item {
                Item::Session(_, row) => state
                    .seen
                    .with_untracked(|seen| seen.is_unread(row, self.now_ms)),
                Item::Heading(..) | Item::Local(_) => false,
            },
            now_ms: self.now_ms,
        }
    }
}

/// Scrolls a row into view, where it is not.
pub(super) fn reveal(shown: &Shown, index: usize) {
    let Some(list) = dom::by_id(LIST_ID) else {
        return;
    };
    let scroll_px = scrolled_px();
    let screen_px = pixels(f64::from(list.client_height()));
    if let Some(to_px) = shown.reveal(index, scroll_px, screen_px) {
        measure::set_scroll_top(&list, f64::from(to_px));
    }
}

/// How far the list is scrolled.
fn scrolled_px() -> u32 {
    dom::by_id(LIST_ID).map_or(0, |list| pixels(measure::scroll_top(&list)))
}

fn option_id(index: usize) -> String {
    format!("session-option-{index}")
}

/// Whole pixels; a scroller is never so high that this cuts.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn pixels(px: f64) -> u32 {
    px.max(0.0) as u32
}
