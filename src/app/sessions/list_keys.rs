//! The keys of the list of sessions.

use leptos::ev;
use leptos::prelude::*;

use super::list::{List, reveal};
use super::shown::Item;
use crate::app::Open;
use crate::platform::dom;

/// How far a page key goes, in rows.
const PAGE_ROWS: usize = 8;

impl List {
    pub(super) fn take_key(self, event: &ev::KeyboardEvent) {
        // Those are the browser's: downloads, its field for addresses.
        let types = event.key().chars().count() == 1;
        if event.alt_key() || event.meta_key() || (event.ctrl_key() && types) {
            return;
        }
        self.hold.focus(true);
        let shown = self.shown.get_untracked();
        let at = self.at.get_untracked();
        let here = at.as_deref().and_then(|at| shown.index_of(at));
        let item = here.and_then(|here| shown.item(here));
        let go = match event.key().as_str() {
            "ArrowDown" | "j" => shown.beside(here, 1, true),
            "ArrowUp" | "k" => shown.beside(here, 1, false),
            "PageDown" => shown.beside(here, PAGE_ROWS, true),
            "PageUp" => shown.beside(here, PAGE_ROWS, false),
            "Home" => shown.beside(None, 1, true),
            "End" => shown.beside(None, 1, false),
            "Enter" => {
                if let Some(item) = &item {
                    self.open_item(item);
                }
                None
            }
            " " => {
                if let Some(Item::Session(_, row)) = &item {
                    // Who has just opened it by a click means the session, where that can be played.
                    let plays = self.is_the_open_one(&row.id)
                        && self.page.with_value(|page| page.press_in_feed(event));
                    if !plays {
                        self.choice.toggle(&row.id);
                    }
                }
                None
            }
            "Delete" => {
                self.ask_to_remove(item.as_ref());
                None
            }
            "/" => {
                if let Some(field) = dom::by_id("sessions-filter") {
                    dom::focus(&field);
                }
                None
            }
            "Escape"
                if self
                    .state
                    .chosen
                    .with_untracked(|chosen| !chosen.is_empty()) =>
            {
                self.state.chosen.set(Vec::new());
                None
            }
            _ => return,
        };
        // Else the browser scrolls, or types the slash.
        event.prevent_default();
        event.stop_propagation();
        if let Some((index, item)) = go.and_then(|index| Some((index, shown.item(index)?))) {
            if let (true, Item::Session(_, row)) = (event.shift_key(), &item) {
                self.choice.extend(&shown.ids(), at.as_deref(), &row.id);
            }
            self.at.set(item.id().map(str::to_owned));
            reveal(&shown, index);
        }
    }

    /// Whether a session is open by itself, and none is chosen to be watched beside it.
    fn is_the_open_one(self, id: &str) -> bool {
        let is_chosen = self
            .state
            .chosen
            .with_untracked(|chosen| !chosen.is_empty());
        let open = self.state.open.get_untracked();
        !is_chosen && matches!(open, Open::Session(open) if open == id)
    }

    /// Asks about the sessions that are chosen, or else the one that keys are at; they go on behind it, or else before it.
    fn ask_to_remove(self, item: Option<&Item>) {
        let shown = self.shown.get_untracked();
        let mut gone = self.state.chosen.get_untracked();
        if let (true, Some(Item::Session(_, row))) = (gone.is_empty(), item) {
            gone.push(row.id.clone());
        }
        let ids = shown.ids();
        let at = item.and_then(Item::id);
        let place = ids.iter().position(|id| Some(*id) == at).unwrap_or(0);
        let (before, behind) = ids.split_at(place);
        let mut beside = behind.iter().chain(before.iter().rev());
        let beside = beside.find(|id| gone.iter().all(|gone| gone != **id));
        let beside = beside.map(|id| (*id).to_owned());
        self.page
            .with_value(|page| page.ask_to_remove(&gone, beside));
    }

    /// Keys begin at the first session, where they are at none that is shown.
    pub(super) fn take_focus(self) {
        self.hold.focus(true);
        let shown = self.shown.get_untracked();
        let at = self.at.get_untracked();
        if at.and_then(|at| shown.index_of(&at)).is_none() {
            let first = shown.beside(None, 1, true);
            let first = first.and_then(|index| shown.item(index));
            let id = first.and_then(|item| item.id().map(str::to_owned));
            self.at.set(id);
        }
    }
}
