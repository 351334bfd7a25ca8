//! The virtualised list: mounts the rows that `chat_feed::viewport` chooses, tells it what they measure, and puts
//! them where it says.
//!
//! A frame: changes have come in by [`VirtualList::insert`] and its like; [`VirtualList::update`] mounts and unmounts;
//! the browser lays out and reports heights ([`measure`]); [`VirtualList::settle`] writes the sizer, the block of rows
//! and the scroll position, before anything is painted. Reads come before writes, and each happens once.
//!
//! What a row shows is left to the [`Rows`] it was made with; where the reader is, to the viewport.

mod groups;
pub(crate) mod measure;
mod rest;
pub(crate) mod scroll;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use chat_feed::viewport::{Align, Estimator, FontMetrics, RowId, RowShape, Viewport};

use crate::platform::dom::{self, Element};
use crate::platform::{frame, measure as sizes, row};

pub(crate) use groups::Group;

/// Rows whose estimates are made anew a frame, after the width changed.
const RESTATED_A_FRAME: usize = 1_000;
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

/// Where the reader is, for the controls around the list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct View {
    /// Whether the list keeps to its end.
    pub(crate) following: bool,
    /// Whether the end is near.
    pub(crate) at_end: bool,
    /// Rows that came since following stopped and were not seen.
    pub(crate) unseen: usize,
    /// The row at the top edge.
    pub(crate) top: Option<RowId>,
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
    view: Cell<View>,
    written: Cell<(f64, f64)>,
    n_rows_told: Cell<usize>,
    rank_shift: Cell<bool>,
    /// Rows came or went since rows were last mounted.
    rows_changed: Cell<bool>,
    /// When it last moved, until it rests.
    moved_ms: Cell<Option<f64>>,
    /// Whether a timer looks after its rest: one is enough, however often it rests in between.
    awaits_rest: Cell<bool>,
    /// When the end was last gone to, and where it was.
    followed: Cell<(f64, f64)>,
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
            view: Cell::default(),
            written: Cell::new((-1.0, -1.0)),
            n_rows_told: Cell::new(0),
            rank_shift: Cell::new(false),
            rows_changed: Cell::new(false),
            moved_ms: Cell::new(None),
            awaits_rest: Cell::new(false),
            followed: Cell::new((0.0, 0.0)),
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
        let estimate_px = self.estimate_px(id);
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
        let mut mounted = self.mounted.borrow_mut();
        match mounted.iter_mut().find(|row| row.id == id) {
            Some(row) => {
                let dress = self.rows.dress(id);
                put_on(&row.element, &mut row.dress, dress);
                row.groups = self.rows.groups(id);
            }
            None => {
                let estimate_px = self.estimate_px(id);
                self.viewport.borrow_mut().set_estimate(id, estimate_px);
            }
        }
    }

    /// All rows are gone.
    pub(crate) fn clear(&self) {
        self.viewport.borrow_mut().clear();
        self.rows_changed.set(true);
        let ids: Vec<RowId> = self.mounted.borrow().iter().map(|row| row.id).collect();
        self.unmount(|row| ids.contains(&row.id));
        self.had_focus.set(None);
        self.arrange();
    }

    fn estimate_px(&self, id: RowId) -> f64 {
        self.estimator
            .borrow()
            .estimate_px(self.rows.shape(id), self.width_px.get())
    }

    // The reader.

    /// Whether to mount little beyond the screen: what is shown of a log that is being read is mostly gone with its end.
    /// Only until the reader scrolls.
    pub(crate) fn spare(&self, spares: bool) {
        let viewports = if spares {
            SPARE_VIEWPORTS
        } else {
            OVERSCAN_VIEWPORTS
        };
        self.viewport.borrow_mut().set_overscan(viewports);
    }

    /// Goes to the end and stays there.
    pub(crate) fn follow_end(&self) {
        self.viewport.borrow_mut().follow_end();
        (self.request_frame)();
    }

    /// Stops keeping to the end.
    pub(crate) fn stop_following(&self) {
        self.viewport.borrow_mut().stop_following();
        self.intent.forget();
        (self.request_frame)();
    }

    /// Goes to the top.
    pub(crate) fn go_home(&self) {
        self.viewport.borrow_mut().on_home();
        (self.request_frame)();
    }

    /// Shows a row; false where there is none of that name.
    pub(crate) fn scroll_to(&self, id: RowId, align: Align) -> bool {
        let found = self.viewport.borrow_mut().scroll_to(id, align);
        self.await_rest();
        (self.request_frame)();
        found
    }

    /// Whether the reader has scrolled since following was stopped.
    pub(crate) fn reader_moved(&self) -> bool {
        self.intent.moved()
    }

    /// Keeps a row where it is on the screen while its height changes.
    pub(crate) fn pin(&self, id: RowId) {
        let mut viewport = self.viewport.borrow_mut();
        // A row whose head is above the screen has nothing to keep in place there.
        if viewport
            .screen_top_px(id)
            .is_some_and(|top_px| top_px >= 0.0)
        {
            viewport.pin(id);
        }
    }

    /// Another density or font: every height is due.
    pub(crate) fn invalidate(&self) {
        self.viewport.borrow_mut().invalidate();
        (self.request_frame)();
    }

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

    /// The element of a mounted row.
    pub(crate) fn element_of(&self, id: RowId) -> Option<Element> {
        self.mounted
            .borrow()
            .iter()
            .find(|row| row.id == id)
            .map(|row| row.element.clone())
    }

    /// The mounted rows and their elements, in order.
    pub(crate) fn mounted_rows(&self) -> Vec<(RowId, Element)> {
        let mounted = self.mounted.borrow();
        mounted
            .iter()
            .map(|row| (row.id, row.element.clone()))
            .collect()
    }

    /// How far down the list a row begins: 0 is the top, 1 the end.
    pub(crate) fn share_of(&self, id: RowId) -> Option<f64> {
        let viewport = self.viewport.borrow();
        let heights = viewport.heights();
        Some(heights.top_of(id)? / heights.total_px().max(1.0))
    }

    /// Scrolls on from where it is, as the reader would.
    pub(crate) fn scroll_by(&self, by_px: f64) {
        self.intent.act();
        sizes::set_scroll_top(&self.scroller, sizes::scroll_top(&self.scroller) + by_px);
    }

    /// Something above the list became higher by so much, or lower: what the reader looks at stays where it is on the
    /// screen. At the end the end stays.
    pub(crate) fn make_room(&self, above_px: f64) {
        if !self.view().following {
            sizes::set_scroll_top(&self.scroller, sizes::scroll_top(&self.scroller) + above_px);
        }
    }

    /// The mounted row that has the focus, or holds what has it.
    /// Where it was scrolled out of the window the scroller has the focus in its place.
    pub(crate) fn focused(&self) -> Option<RowId> {
        let mounted = self.mounted.borrow();
        let row = mounted.iter().find(|row| dom::has_focus(&row.element));
        match row {
            Some(row) => Some(row.id),
            None => self
                .had_focus
                .get()
                .filter(|id| dom::has_focus(&self.scroller) && self.rank_of(*id).is_some()),
        }
    }

    /// The row that had the focus is none the reader would go on from.
    pub(crate) fn forget_focus(&self) {
        self.had_focus.set(None);
        if dom::has_focus(&self.window) {
            dom::focus(&self.scroller);
        }
    }

    /// The first row whose top edge is on the screen.
    pub(crate) fn first_on_screen(&self) -> Option<RowId> {
        let viewport = self.viewport.borrow();
        let (id, within_px) = viewport.heights().at_offset(viewport.list_top_px())?;
        if within_px > 0.0 {
            viewport.heights().next(id).or(Some(id))
        } else {
            Some(id)
        }
    }

    /// Whether a row lies below the screen.
    pub(crate) fn is_below(&self, id: RowId) -> bool {
        let viewport = self.viewport.borrow();
        let top_px = viewport.screen_top_px(id);
        top_px.is_some_and(|top_px| top_px >= self.height_px.get())
    }

    /// Where the reader is.
    pub(crate) fn view(&self) -> View {
        self.view.get()
    }

    // A frame.

    /// Mounts what is to be seen and unmounts the rest.
    pub(crate) fn update(&self) {
        self.learn_size();
        let changed = self.mount_window();
        self.restate();
        // New rows are measured after this frame's layout, and settled then.
        if !changed {
            self.settle();
        }
    }

    /// Writes sizer, block and scroll position after the heights are known.
    pub(crate) fn settle(&self) {
        let (scroll_to_px, sizer_px, top_px, will_do) = {
            let mut viewport = self.viewport.borrow_mut();
            let scroll_to_px = viewport.after_measure();
            let mounted = self.mounted.borrow();
            let top_px = mounted
                .first()
                .and_then(|row| viewport.screen_top_px(row.id))
                .map_or(0.0, |on_screen_px| viewport.scroll_top_px() + on_screen_px);
            let will_do = viewport.will_do(&ranks_of(&mounted));
            (scroll_to_px, viewport.scroll_height_px(), top_px, will_do)
        };
        let (written_sizer_px, written_top_px) = self.written.replace((sizer_px, top_px));
        if written_sizer_px != sizer_px {
            dom::set_style(&self.sizer, "height", &dom::px(sizer_px));
        }
        if written_top_px != top_px {
            dom::set_style(
                &self.window,
                "transform",
                &format!("translateY({})", dom::px(top_px)),
            );
        }
        if let Some(top_px) = scroll_to_px {
            sizes::set_scroll_top(&self.scroller, top_px);
            self.note_pace();
        }
        if !will_do && self.forced.borrow().is_none() {
            (self.request_frame)();
        }
        self.tell_view();
    }

    /// A row of the list was measured. Called for all of a frame, then `settle`.
    fn measured(&self, id: RowId, height_px: f64) {
        let shape = self.rows.shape(id);
        let mut viewport = self.viewport.borrow_mut();
        viewport.set_measured(id, height_px);
        self.estimator
            .borrow_mut()
            .observe(shape, self.width_px.get(), height_px);
    }

    fn learn_size(&self) {
        if self.size_told.replace(true) {
            return;
        }
        let (width_px, height_px) = sizes::client_size(&self.scroller);
        self.height_px.set(height_px);
        let is_reflow = self.width_px.replace(width_px) != width_px;
        self.viewport
            .borrow_mut()
            .on_resize(width_px, height_px, sizes::device_pixel_ratio());
        if is_reflow && let Some(observer) = &*self.observer.borrow() {
            // Every height is due now, also of rows that are as tall as before and would not be reported.
            for row in self.mounted.borrow().iter() {
                observer.unwatch(row.id, &row.element);
                observer.watch(row.id, &row.element);
            }
        }
    }

    /// Estimates rows anew, a stretch a frame, after the width changed or the oracle learned.
    ///
    /// Not while it moves: the texts of all rows are read for it, and what is seen does not depend on it.
    fn restate(&self) {
        if self.viewport.borrow().is_moving() {
            return;
        }
        if self.estimator.borrow_mut().take_revised() {
            self.viewport.borrow_mut().invalidate_estimates();
        }
        let done = self
            .viewport
            .borrow_mut()
            .restate(RESTATED_A_FRAME, |id, _| self.estimate_px(id));
        if !done {
            (self.request_frame)();
        }
    }

    /// Returns whether any row was mounted, so that a measurement will follow.
    fn mount_window(&self) -> bool {
        let is_free = self.forced.borrow().is_none() && !self.rows_changed.replace(false);
        if is_free {
            let mounted = ranks_of(&self.mounted.borrow());
            if self.viewport.borrow().will_do(&mounted) {
                return false;
            }
        }
        let (ids, first_rank, n_rows) = {
            let viewport = self.viewport.borrow();
            let n_rows = viewport.heights().len();
            match &*self.forced.borrow() {
                Some(ranks) => {
                    let first = viewport.heights().at_rank(ranks.start);
                    let ids = first.map_or_else(Vec::new, |first| {
                        viewport
                            .heights()
                            .iter_from(first)
                            .take(ranks.len())
                            .map(|(id, _)| id)
                            .collect()
                    });
                    (ids, ranks.start, n_rows)
                }
                None => {
                    let window = viewport.window();
                    (window.ids, window.ranks.start, n_rows)
                }
            }
        };
        let same = {
            let mounted = self.mounted.borrow();
            mounted.len() == ids.len() && mounted.iter().zip(&ids).all(|(row, id)| row.id == *id)
        };
        let counted_anew = self.n_rows_told.replace(n_rows) != n_rows;
        if same && !counted_anew && !self.rank_shift.get() {
            return false;
        }
        let mut mounted_any = false;
        if !same {
            let focused = dom::focused_in(&self.window);
            self.unmount(|row| !ids.contains(&row.id));
            let mut old: Vec<MountedRow> = std::mem::take(&mut *self.mounted.borrow_mut());
            let mut rows = Vec::with_capacity(ids.len());
            for id in &ids {
                if let Some(at) = old.iter().position(|row| row.id == *id) {
                    rows.push(old.swap_remove(at));
                } else {
                    let rank = first_rank + rows.len();
                    rows.push(self.mount(*id, rank, n_rows));
                    mounted_any = true;
                }
            }
            *self.mounted.borrow_mut() = rows;
            self.arrange();
            // A row that moved to another wrapper has lost the focus on the way.
            if let Some(focused) = focused.filter(|focused| {
                self.window.contains(Some(focused.as_ref())) && !dom::has_focus(focused)
            }) {
                dom::focus(&focused);
            }
        }
        if counted_anew {
            // A feed without items is none.
            let role = if n_rows == 0 { "group" } else { "feed" };
            dom::write_attribute(&self.window, "role", role);
        }
        self.rank_shift.set(false);
        let set_size = n_rows.to_string();
        for (at, row) in self.mounted.borrow_mut().iter_mut().enumerate() {
            let rank = first_rank + at;
            if counted_anew {
                dom::write_attribute(&row.element, "aria-setsize", &set_size);
            }
            if row.rank != rank {
                row.rank = rank;
                dom::write_attribute(&row.element, "data-row", &rank.to_string());
                dom::write_attribute(&row.element, "aria-posinset", &(rank + 1).to_string());
            }
        }
        if mounted_any {
            self.restore_focus();
        }
        mounted_any
    }

    fn mount(&self, id: RowId, rank: usize, n_rows: usize) -> MountedRow {
        let dress = self.rows.dress(id);
        let places = [rank, rank + 1, n_rows].map(|place| place.to_string());
        let names = ["data-row", "aria-posinset", "aria-setsize"];
        let places = names.into_iter().zip(places.iter().map(String::as_str));
        let worn = dress.attributes.iter();
        let worn = worn.map(|(name, value)| (*name, value.as_str()));
        let attributes = std::iter::once(("class", dress.class.as_str()))
            .chain(worn.filter(|(_, value)| !value.is_empty()))
            .chain(places);
        let element = row::make(id.0, attributes);
        let content = self.rows.mount(id, &element);
        if let Some(observer) = &*self.observer.borrow() {
            observer.watch(id, &element);
        }
        MountedRow {
            id,
            rank,
            element,
            dress,
            groups: self.rows.groups(id),
            path: Vec::new(),
            content: Some(content),
        }
    }

    fn unmount(&self, gone: impl Fn(&MountedRow) -> bool) {
        let mut kept = Vec::new();
        let mut had_focus = false;
        // Taken out before the loop: who listens to the focus looks at the mounted rows.
        let mounted = std::mem::take(&mut *self.mounted.borrow_mut());
        let focused = dom::focused_in(&self.window);
        for mut row in mounted {
            if !gone(&row) {
                kept.push(row);
                continue;
            }
            if let Some(focused) = &focused
                && row.element.contains(Some(focused.as_ref()))
            {
                had_focus = true;
                self.had_focus.set(Some(row.id));
            }
            if let Some(observer) = &*self.observer.borrow() {
                observer.unwatch(row.id, &row.element);
            }
            // Out of the page first: what is taken down in it would be laid out each time.
            row.element.remove();
            row.content.take();
        }
        *self.mounted.borrow_mut() = kept;
        if had_focus {
            // Keys go on from here, and not from the top of the page.
            dom::focus(&self.scroller);
        }
    }

    /// A row that had the focus when it was unmounted has it again when it is back.
    fn restore_focus(&self) {
        let Some(id) = self.had_focus.get() else {
            return;
        };
        let is_elsewhere = !dom::has_focus(&self.scroller)
            || self
                .mounted
                .borrow()
                .iter()
                .any(|row| dom::has_focus(&row.element));
        if is_elsewhere {
            // The reader has gone on to something else.
            self.had_focus.set(None);
        } else if let Some(element) = self.element_of(id) {
            self.had_focus.set(None);
            dom::focus(&element);
        }
    }

    fn arrange(&self) {
        self.groups
            .borrow_mut()
            .arrange(&self.window, &mut self.mounted.borrow_mut());
    }

    fn tell_view(&self) {
        let view = {
            let viewport = self.viewport.borrow();
            let top = viewport.heights().at_offset(viewport.list_top_px() + 1.0);
            View {
                following: viewport.following(),
                at_end: viewport.at_end(),
                unseen: viewport.unseen(),
                top: top.map(|(id, _)| id),
            }
        };
        if self.view.replace(view) != view {
            (self.on_view)(view);
        }
    }

    /// The scroller has another size.
    fn resized(&self) {
        self.size_told.set(false);
        (self.request_frame)();
    }

    /// The scroller scrolled.
    fn scrolled(&self) {
        let top_px = sizes::scroll_top(&self.scroller);
        let now_ms = frame::now_ms();
        let by_user = self.intent.acted(now_ms);
        if by_user {
            self.spare(false);
        }
        self.viewport
            .borrow_mut()
            .on_scroll(top_px, now_ms, by_user);
        self.await_rest();
        (self.request_frame)();
    }

    /// Mounts this stretch of ranks instead of the window, until `None` is given.
    pub(crate) fn force(&self, ranks: Option<std::ops::Range<usize>>) {
        *self.forced.borrow_mut() = ranks;
        self.mount_window();
        (self.request_frame)();
    }

    /// The block of mounted rows, wrappers included.
    pub(crate) fn window(&self) -> &Element {
        &self.window
    }

    /// Takes everything down.
    pub(crate) fn close(&self) {
        self.listeners.borrow_mut().clear();
        self.rows.on_pace(false);
        self.clear();
        self.observer.borrow_mut().take();
    }
}

/// Where the mounted rows stand in the list.
fn ranks_of(mounted: &[MountedRow]) -> std::ops::Range<usize> {
    mounted
        .first()
        .map_or(0..0, |first| first.rank..first.rank + mounted.len())
}

/// Changes an element from what it wears to what it is to wear.
fn put_on(element: &Element, worn: &mut Dress, dress: Dress) {
    if worn.class != dress.class {
        dom::write_attribute(element, "class", &dress.class);
    }
    for (name, value) in &dress.attributes {
        if !worn
            .attributes
            .iter()
            .any(|(other, old)| other == name && old == value)
        {
            if value.is_empty() {
                let _ = element.remove_attribute(name);
            } else {
                dom::write_attribute(element, name, value);
            }
        }
    }
    *worn = dress;
}

/// What listeners hold: the list, unless it is gone.
type WeakList = Weak<VirtualList>;
