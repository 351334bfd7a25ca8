//! What the page knows, as signals: what is open, the list and what is chosen in it, and how the server stands to it.

use std::rc::Rc;

use chat_feed::sessions::{Rows, Seen};
use leptos::prelude::*;

use super::local::LocalSession;
use super::removing;
use crate::transport::Connection;

/// What is open.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Open {
    /// Nothing yet.
    Nothing,
    /// A session of the server.
    Session(String),
    /// Several of them, each for itself.
    Together(Vec<String>),
    /// Dropped files: by the name of their session.
    Local(String),
    /// A log of this origin, by its address.
    Address(String),
}

/// The page's state. Signals are handles, so a clone of it is the same page.
#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) rows: RwSignal<Rows, LocalStorage>,
    pub(super) local: RwSignal<Vec<Rc<LocalSession>>, LocalStorage>,
    /// The agents whose sessions come into the list by themselves.
    pub(super) follows: RwSignal<Vec<String>>,
    /// Whether the token lets answers be given.
    pub(super) may_answer: RwSignal<bool>,
    /// Whether it lets sessions be removed; those that the reader is asked about, and word of those that were.
    pub(super) may_remove: RwSignal<bool>,
    pub(super) removing: RwSignal<Option<removing::Asked>>,
    pub(super) removed: RwSignal<String>,
    pub(super) open: RwSignal<Open>,
    pub(super) connection: RwSignal<Option<Connection>>,
    pub(super) refused: RwSignal<bool>,
    /// What is open could not be, and nothing is shown of it.
    pub(super) failed: RwSignal<bool>,
    pub(super) problem: RwSignal<Option<String>>,
    /// How far what was dropped is looked through, while that takes long.
    pub(super) looking: RwSignal<Option<String>>,
    pub(super) filter: RwSignal<String>,
    /// The row of the list that keys are at, by its id.
    pub(super) at: RwSignal<Option<String>>,
    /// Sessions that are to be watched together.
    pub(super) chosen: RwSignal<Vec<String>>,
    /// Whether a press on a row chooses it, as where no pointer shows the boxes and no key is at hand.
    pub(super) choosing: RwSignal<bool>,
    pub(super) seen: RwSignal<Seen, LocalStorage>,
    /// Whether the list is the whole page: nothing is open, and there is something to open.
    pub(super) is_screen: Memo<bool>,
    pub(super) list_shown: RwSignal<bool>,
    /// Whether no list is known of, so that there is no room for one.
    pub(super) alone: RwSignal<bool>,
    pub(super) now_ms: RwSignal<i64>,
}

impl State {
    /// Whether what is open is all there is: no list of a server, nor anything to say of one, and no dropped file.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.get()
            && !self.refused.get()
            && self.local.with(Vec::is_empty)
            && self.rows.with(Rows::is_empty)
    }

    /// Shows or hides the list, where there is one.
    pub(super) fn toggle_list(&self) {
        if !untrack(|| self.is_alone()) {
            self.list_shown.update(|shown| *shown = !*shown);
        }
    }
}
