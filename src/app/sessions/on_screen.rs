//! The rows of the list that are on the screen, and how each looks.

use leptos::ev;
use leptos::html::div;
use leptos::prelude::*;

use super::list::{List, ROWS_ID, STEP_PX, focus, pixels};
use super::row;
use super::shown::{Item, Shown};
use crate::app::{Open, State};
use crate::platform::dom;

/// Rows are mounted this far beyond the edges.
const BEYOND_PX: u32 = 384;

impl List {
    /// What the rows stand in, as high as all of them.
    pub(super) fn rows_view(self) -> impl IntoView {
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

    /// The element's id of the row that keys are at.
    fn active(self) -> Option<String> {
        let shown = self.shown.get();
        let at = self.at.get()?;
        shown.index_of(&at).map(option_id)
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

fn option_id(index: usize) -> String {
    format!("session-option-{index}")
}
