//! What the bar is told beyond the feed's facts.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::*;

use crate::components::lacks::Lacks;
use crate::virtual_list::View;

/// How what is shown comes here, in a word and a shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Connection {
    /// `live`, `connecting`, `catching-up`, `unreached`, `reconnecting`, `offline`, `replay`, `ended`, `error`
    pub(crate) state: &'static str,
    /// What the chip says.
    pub(crate) text: String,
}

/// A note across the feed: what is wrong, where, and what can be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Note {
    /// What.
    pub(crate) what: String,
    /// Where, and what next.
    pub(crate) more: String,
}

/// How much of a file was read.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// In percent, where its length is known.
    pub(crate) percent: u64,
    /// In bytes; none of something else that takes its time.
    pub(crate) n_read: u64,
    /// Of so many bytes, where that is known.
    pub(crate) of_bytes: Option<u64>,
    /// About so much of it will be shown, where that is not all.
    pub(crate) fits: Option<u64>,
    /// Events that it gave.
    pub(crate) n_events: u64,
}

/// Whether a reader wants no more of what is read.
pub(crate) type Stop = StoredValue<Rc<Cell<bool>>, LocalStorage>;

/// What the bar shows beyond the feed's facts.
#[derive(Clone)]
pub(crate) struct BarState {
    /// The connection.
    pub(crate) connection: ArcRwSignal<Connection>,
    /// Whether what is shown is of the past.
    pub(crate) back: ArcRwSignal<bool>,
    /// How much of a file was read, while it is read.
    pub(crate) progress: ArcRwSignal<Option<Reading>>,
    /// Whether the reader wants no more of it.
    pub(crate) stop: Stop,
    /// Why nothing comes for now; it can be tried again at once.
    pub(crate) away: ArcRwSignal<Option<Note>>,
    pub(super) retry: StoredValue<Box<dyn Fn()>, LocalStorage>,
    /// Parts of the page that did not come.
    pub(crate) lacks: Lacks,
    /// What is wrong.
    pub(crate) note: ArcRwSignal<Option<Note>>,
    /// Whether there is a bar at all.
    pub(crate) shown: ArcRwSignal<bool>,
    pub(super) view: ArcRwSignal<View>,
}

impl BarState {
    /// A bar that says nothing yet.
    pub(crate) fn new(view: ArcRwSignal<View>, lacks: Lacks) -> BarState {
        BarState {
            connection: ArcRwSignal::new(Connection::default()),
            back: ArcRwSignal::new(false),
            progress: ArcRwSignal::new(None),
            stop: StoredValue::new_local(Rc::default()),
            away: ArcRwSignal::new(None),
            retry: StoredValue::new_local(Box::new(|| {})),
            lacks,
            note: ArcRwSignal::new(None),
            shown: ArcRwSignal::new(true),
            view,
        }
    }

    /// What to do when the reader will not wait for the next try.
    pub(crate) fn on_retry(&self, retry: impl Fn() + 'static) {
        self.retry.set_value(Box::new(retry));
    }
}
