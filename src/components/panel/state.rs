//! What the panel shows, and how much room it takes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use chat_feed::panel::{RawEvent, Scope, Timeline};
use chat_feed::{BlockId, Feed};
use leptos::prelude::*;

use super::tabs::Tab;
use super::{files, timeline};
use crate::platform::dom::{self, Element};
use crate::platform::{frame, measure};

/// What is shown of a session that goes on is this old at most.
pub(super) const REFRESH_MS: f64 = 1_000.0;

/// An element narrower than this shows one thing at a time.
const NARROW_PX: i32 = 768;

/// In one narrower than this the panel lies over the feed; the style says so too.
const BESIDE_PX: i32 = 1_100;

/// What the panel shows, and what the reader did with it while this session is open.
pub(crate) struct PanelState {
    pub(super) open: ArcRwSignal<bool>,
    pub(super) tab: ArcRwSignal<Tab>,
    /// Counts up when what is shown is to be made anew.
    pub(super) version: ArcRwSignal<u32>,
    pub(super) scope: ArcRwSignal<Scope>,
    /// The file whose diff is shown, by its path.
    pub(super) file: ArcRwSignal<Option<String>>,
    pub(super) closed_folders: ArcRwSignal<BTreeSet<String>>,
    /// The row of the tree that Tab leads to, by its path.
    pub(super) tree_row: ArcRwSignal<Option<String>>,
    /// Edits the reader has seen: a file is seen where all of its edits are, and what changes again is to be seen again.
    pub(super) viewed: ArcRwSignal<BTreeSet<BlockId>>,
    pub(super) n_files_shown: ArcRwSignal<usize>,
    pub(super) selected: ArcRwSignal<Option<BlockId>>,
    /// A row's JSON, and the same with the bodies that came for it.
    pub(super) filled: ArcRwSignal<Option<Filled>>,
    pub(super) window: ArcRwSignal<timeline::Window>,
    pub(super) hovered: ArcRwSignal<Option<BlockId>>,
    kept_timeline: RefCell<Option<(u32, Rc<Timeline>)>>,
    pub(super) n_events: Cell<(u32, u32)>,
    pub(super) made_ms: Cell<f64>,
    pub(super) due: Cell<bool>,
    /// What had the focus before the panel was opened over the feed, or the reader went into it.
    pub(super) before: RefCell<Option<Element>>,
    pub(super) frame: RefCell<Option<Element>>,
}

/// Of a row: its events as they are here, and with their bodies.
type Filled = (BlockId, Vec<RawEvent>, Vec<RawEvent>);

impl Default for PanelState {
    fn default() -> Self {
        PanelState {
            open: ArcRwSignal::new(false),
            tab: ArcRwSignal::new(Tab::default()),
            version: ArcRwSignal::new(0),
            scope: ArcRwSignal::new(Scope::Session),
            file: ArcRwSignal::new(None),
            closed_folders: ArcRwSignal::default(),
            tree_row: ArcRwSignal::default(),
            viewed: ArcRwSignal::default(),
            n_files_shown: ArcRwSignal::new(files::FILES_AT_ONCE),
            selected: ArcRwSignal::new(None),
            filled: ArcRwSignal::new(None),
            window: ArcRwSignal::new(timeline::Window::default()),
            hovered: ArcRwSignal::new(None),
            kept_timeline: RefCell::default(),
            n_events: Cell::new((0, 0)),
            made_ms: Cell::new(0.0),
            due: Cell::new(false),
            before: RefCell::default(),
            frame: RefCell::default(),
        }
    }
}

impl PanelState {
    /// The row whose JSON is shown; leaving the rows keeps it.
    pub(crate) fn select(&self, block: Option<BlockId>) {
        if block.is_some() && self.selected.get_untracked() != block {
            self.selected.set(block);
        }
    }

    /// Forgets what belongs to the session that is going.
    pub(crate) fn forget(&self) {
        self.scope.set(Scope::Session);
        self.file.set(None);
        self.closed_folders.set(BTreeSet::new());
        self.viewed.set(BTreeSet::new());
        self.n_files_shown.set(files::FILES_AT_ONCE);
        self.selected.set(None);
        self.filled.set(None);
        self.hovered.set(None);
        self.window.set(timeline::Window::default());
        *self.kept_timeline.borrow_mut() = None;
        self.refresh();
    }

    /// Whether little or nothing of the feed is seen beside the panel.
    pub(super) fn covers_the_feed(&self) -> bool {
        self.is_in_less_than(NARROW_PX)
    }

    fn is_in_less_than(&self, width_px: i32) -> bool {
        let frame = self.frame.borrow();
        frame
            .as_ref()
            .is_some_and(|frame| dom::width_px(frame) < width_px)
    }

    /// Puts the panel away where the element is narrower than this, and says whether it did; the focus stays.
    fn put_away(&self, in_less_than_px: i32) -> bool {
        let is_above = self.open.get_untracked() && self.is_in_less_than(in_less_than_px);
        if is_above {
            self.before.take();
            self.open.set(false);
        }
        is_above
    }

    /// Closes the panel where it lies over the feed, and says whether it did.
    pub(crate) fn leave(&self) -> bool {
        self.put_away(BESIDE_PX)
    }

    /// Something is opened above the feed, which the panel would hide.
    pub(crate) fn make_way(&self) {
        self.put_away(NARROW_PX);
    }

    /// What a selector finds in the panel.
    pub(super) fn part(&self, selector: &str) -> Option<Element> {
        dom::first_in(self.frame.borrow().as_ref()?, selector)
    }

    pub(super) fn show_tab(&self, tab: Tab) {
        self.tab.set(tab);
        // Each begins at its beginning.
        if let Some(place) = self.part(".panel__tab") {
            measure::set_scroll_top(&place, 0.0);
        }
    }

    pub(super) fn refresh(&self) {
        self.made_ms.set(frame::now_ms());
        self.version
            .update(|version| *version = version.wrapping_add(1));
    }

    /// The timeline of what is shown; scrolling it does not make it anew.
    pub(super) fn timeline(&self, feed: &Feed) -> Rc<Timeline> {
        let version = self.version.get_untracked();
        let mut kept = self.kept_timeline.borrow_mut();
        match &*kept {
            Some((of, timeline)) if *of == version => timeline.clone(),
            _ => {
                let timeline = Rc::new(chat_feed::panel::timeline(feed));
                *kept = Some((version, timeline.clone()));
                timeline
            }
        }
    }
}
