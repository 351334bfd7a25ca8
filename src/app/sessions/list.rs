//! The list out of whose thousands of rows those on the screen are drawn, by `on_screen`; the keys that go through all of
//! them are in `list_keys`.
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
use super::shown::{Item, Shown};
use crate::platform::dom;
use crate::platform::{measure, measure::HeightObserver};

/// The scroller's id.
const LIST_ID: &str = "sessions-list";
/// The id of what is in it, which has the focus.
pub(super) const ROWS_ID: &str = "sessions-rows";
/// The table needs so much room; with less the list is a list.
const TABLE_PX: f64 = 720.0;
/// What is mounted moves in steps, so that not each pixel of scrolling is work.
pub(super) const STEP_PX: u32 = 256;

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
    pub(super) size: RwSignal<(f64, f64)>,
    /// How far it is scrolled in px, in whole steps.
    pub(super) step: RwSignal<u32>,
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

    pub(super) fn open_item(self, item: &Item) {
        self.page.with_value(|page| match item {
            Item::Session(_, row) => page.open_session(&row.id),
            Item::Local(session) => page.open_local(&session.name),
            Item::Heading(..) => {}
        });
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

/// Whole pixels; a scroller is never so high that this cuts.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn pixels(px: f64) -> u32 {
    px.max(0.0) as u32
}
