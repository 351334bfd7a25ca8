//! The virtualised list: mounts the rows that `chat_feed::viewport` chooses, tells it what they measure, and puts
//! them where it says.
//!
//! A frame: changes have come in by [`VirtualList::insert`] and its like; [`VirtualList::update`] mounts and unmounts,
//! and has the rows that stay keep their place ([`placement`]); the browser lays out and reports heights ([`measure`]);
//! [`VirtualList::settle`] writes the sizer, the block of rows and the scroll position, before anything is painted. Reads
//! come before writes, and each happens once.
//!
//! What a row shows is left to the [`Rows`] it was made with; where the reader is, to the viewport.

mod estimates;
mod groups;
pub(crate) mod measure;
mod mounting;
mod placement;
mod reader;
mod rest;
pub(crate) mod scroll;
mod wanted;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use chat_feed::viewport::{Estimator, FontMetrics, RowId, RowShape, Viewport};

use crate::platform::dom::{self, Element};
use crate::platform::measure as sizes;

pub(crate) use groups::Group;
use mounting::{put_on, ranks_of};
pub(crate) use reader::View;

/// Rows mounted beyond the screen on either side, in screens: what one turn of a wheel shows.
const OVERSCAN_VIEWPORTS: f64 = 0.75;
/// The same where the rows are soon gone again.
const SPARE_VIEWPORTS: f64 = 0.1;

/// Where the rows come from.
pub(crate) trait Rows {
    /// What the height is guessed from.
    fn shape(&self, id: RowId) -> RowShape;
    /// The wrappers around the row, outermost first.
    fn groups(&self, id: RowId) -> Vec<Group>;
    /// Class and attributes of the row's element, as they are now.
    fn dress(&self, id: RowId) -> Dress;
    /// Fills the row's element. What is returned keeps the content alive; dropping it takes the content down.
    fn mount(&self, id: RowId, element: &Element) -> Box<dyn std::any::Any>;
    /// The list asks for its size, which is the first time that the page is laid out.
    fn before_size(&self);
    /// Whether rows pass by faster than anyone reads: what only adorns them can wait.
    fn on_pace(&self, fast: bool);
}

/// Class and attributes of a row's element.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dress {
    /// The classes, with spaces between.
    pub(crate) class: String,
    /// Attributes by name; an empty value takes one away.
    pub(crate) attributes: Vec<(&'static str, String)>,
}

/// One list in the page.
pub(crate) struct VirtualList {
    me: WeakList,
    scroller: Element,
    sizer: Element,
    window: Element,
    rows: Rc<dyn Rows>,
    /// Asks for the next frame, in which `update` is called.
    request_frame: Box<dyn Fn()>,
    /// Called after a frame that changed where the reader is.
    on_view: Box<dyn Fn(View)>,
    viewport: RefCell<Viewport>,
    estimator: RefCell<Estimator>,
    mounted: RefCell<Vec<MountedRow>>,
    groups: RefCell<groups::Groups>,
    observer: RefCell<Option<measure::RowObserver>>,
    intent: scroll::Intent,
    listeners: RefCell<Vec<dom::Listener>>,
    width_px: Cell<f64>,
    height_px: Cell<f64>,
    size_told: Cell<bool>,
    /// Whether the scroller was told to have no box.
    hidden: Cell<bool>,
    view: Cell<View>,
    /// How high the sizer was written.
    sizer_px: Cell<f64>,
    placed: RefCell<placement::Placed>,
    n_rows_told: Cell<usize>,
    rank_shift: Cell<bool>,
    /// Rows that came since the last frame.
    n_new: Cell<usize>,
    /// Rows came or went since rows were last mounted, or a frame had not the time for all.
    rows_changed: Cell<bool>,
    /// When it last moved, until it rests.
    moved_ms: Cell<Option<f64>>,
    /// Whether a timer looks after its rest: one is enough, however often it rests in between.
    awaits_rest: Cell<bool>,
    /// When the end was last gone to, and where it was.
    followed: Cell<(f64, f64)>,
    /// A screen of rows was mounted once.
    filled: Cell<bool>,
    /// While set, the window is this stretch of ranks and not what the viewport says.
    forced: RefCell<Option<std::ops::Range<usize>>>,
    had_focus: Cell<Option<RowId>>,
}

struct MountedRow {
    id: RowId,
    rank: usize,
    element: Element,
    dress: Dress,
    groups: Vec<Group>,
    /// The wrappers it stands in.
    path: Vec<u32>,
    content: Option<Box<dyn std::any::Any>>,
}

impl VirtualList {
    /// A list in these elements: `scroller` holds `sizer`, which holds `window`, which holds the rows.
    pub(crate) fn new(
        [scroller, sizer, window]: [Element; 3],
        rows: Rc<dyn Rows>,
        request_frame: impl Fn() + 'static,
        on_view: impl Fn(View) + 'static,
    ) -> Rc<VirtualList> {
        let mut viewport = Viewport::new();
        viewport.set_overscan(OVERSCAN_VIEWPORTS);
        let list = Rc::new_cyclic(|me| VirtualList {
            me: me.clone(),
            scroller,
            sizer,
            window,
            rows,
            request_frame: Box::new(request_frame),
            on_view: Box::new(on_view),
            viewport: RefCell::new(viewport),
            estimator: RefCell::new(Estimator::new(FontMetrics::default())),
            mounted: RefCell::default(),
            groups: RefCell::default(),
            observer: RefCell::new(None),
            intent: scroll::Intent::default(),
            listeners: RefCell::default(),
            width_px: Cell::new(0.0),
            height_px: Cell::new(0.0),
            size_told: Cell::new(false),
            hidden: Cell::new(false),
            view: Cell::default(),
            sizer_px: Cell::new(-1.0),
            placed: RefCell::default(),
            n_rows_told: Cell::new(0),
            rank_shift: Cell::new(false),
            n_new: Cell::new(0),
            rows_changed: Cell::new(false),
            moved_ms: Cell::new(None),
            awaits_rest: Cell::new(false),
            followed: Cell::new((0.0, 0.0)),
            filled: Cell::new(false),
            forced: RefCell::new(None),
            had_focus: Cell::new(None),
        });
        *list.observer.borrow_mut() = measure::RowObserver::new(Rc::downgrade(&list));
        *list.listeners.borrow_mut() = scroll::listen(&list.scroller, Rc::downgrade(&list));
        list
    }

    // Changes.

    /// A new row behind `after`, at the top where that is `None`.
    pub(crate) fn insert(&self, id: RowId, after: Option<RowId>) {
        let estimate_px = self.first_estimate_px(id);
        let mut viewport = self.viewport.borrow_mut();
        if after != viewport.heights().last() {
            self.rank_shift.set(true);
        }
        viewport.insert_after(after, id, estimate_px);
        self.rows_changed.set(true);
    }

    /// A row is gone.
    pub(crate) fn remove(&self, id: RowId) {
        self.viewport.borrow_mut().remove(id);
        self.rank_shift.set(true);
        self.rows_changed.set(true);
    }

    /// A row changed; where it is mounted its element is dressed anew, else its height is guessed anew.
    pub(crate) fn changed(&self, id: RowId) {
        let at = self.mounted.borrow().iter().position(|row| row.id == id);
        let Some(at) = at else {
            let estimate_px = self.estimate_px(id);
            self.viewport.borrow_mut().set_estimate(id, estimate_px);
            return;
        };
        let (dress, groups) = (self.rows.dress(id), self.rows.groups(id));
        if let Some(row) = self.mounted.borrow_mut().get_mut(at) {
            put_on(&row.element, &mut row.dress, dress);
            row.groups = groups;
        }
    }

    /// All rows are gone.
    pub(crate) fn clear(&self) {
        self.viewport.borrow_mut().clear();
        self.rows_changed.set(true);
        let ids: Vec<RowId> = self.mounted.borrow().iter().map(|row| row.id).collect();
        self.unmount(|row| ids.contains(&row.id));
        self.had_focus.set(None);
        self.intent.forget();
        self.arrange();
        self.place();
    }

    // What it holds.

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.viewport.borrow().heights().len()
    }

    /// How many rows stand before this one.
    pub(crate) fn rank_of(&self, id: RowId) -> Option<usize> {
        self.viewport.borrow().heights().rank_of(id)
    }

    /// The row after or before another one; the first or last where there is no other.
    pub(crate) fn neighbour(&self, id: Option<RowId>, forward: bool) -> Option<RowId> {
        let viewport = self.viewport.borrow();
        let heights = viewport.heights();
        match (id, forward) {
            (Some(id), true) => heights.next(id),
            (Some(id), false) => heights.prev(id),
            (None, true) => heights.first(),
            (None, false) => heights.last(),
        }
    }

    /// The element that scrolls.
    pub(crate) fn scroller(&self) -> &Element {
        &self.scroller
    }

    // A frame.

    /// Mounts what is to be seen and unmounts the rest.
    pub(crate) fn update(&self) {
        self.learn_size();
        let changed = self.mount_window();
        self.restate();
        // New rows are measured after this frame's layout, and settled then.
        if changed {
            self.keep_place();
        } else {
            self.settle();
        }
    }

    /// A frame and what follows its layout, at once, by heights that are measured: the next frame only paints what is gone to.
    /// (The first moment that was looked at was seen 30 ms sooner.)
    pub(crate) fn update_now(&self) {
        self.update();
        self.measure();
        self.settle();
    }

    /// Writes sizer, block and scroll position after the heights are known.
    pub(crate) fn settle(&self) {
        let (scroll_to_px, sizer_px, will_do) = {
            let mut viewport = self.viewport.borrow_mut();
            let scroll_to_px = viewport.after_measure();
            let will_do = viewport.will_do(&ranks_of(&self.mounted.borrow()));
            (scroll_to_px, viewport.scroll_height_px(), will_do)
        };
        if self.sizer_px.replace(sizer_px) != sizer_px {
            dom::set_style(&self.sizer, "height", &dom::px(sizer_px));
        }
        self.place();
        if let Some(top_px) = scroll_to_px {
            sizes::set_scroll_top(&self.scroller, top_px);
            self.note_pace();
        }
        if !will_do && self.forced.borrow().is_none() {
            (self.request_frame)();
        }
        self.tell_view();
    }

    /// Takes everything down.
    pub(crate) fn close(&self) {
        self.listeners.borrow_mut().clear();
        self.rows.on_pace(false);
        self.clear();
        self.observer.borrow_mut().take();
    }
}

/// What listeners hold: the list, unless it is gone.
type WeakList = Weak<VirtualList>;
