//! The frame of a feed: bar, scroller with its rows, and what floats over them. Moving through it by keys is for `moves`.

mod early;
mod floating;
mod moves;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::arrangement::RowChange;
use chat_feed::viewport::Align;
use leptos::mount::mount_to;
use leptos::prelude::*;

use super::announce::Announcer;
use super::around::{self, AROUND};
use super::bar::{self, BarState};
use super::rows::FeedRows;
use super::{Context, Ctx, line};
use crate::feed_store::FeedStore;
use crate::platform::clock;
use crate::platform::dom::{self, Element, Listener};
use crate::platform::frame::{self, Frame};
use crate::platform::measure::{self, HeightObserver};
use crate::platform::turns;
use crate::virtual_list::{View, VirtualList};
use floating::pill;
pub(super) use moves::open_kinds;

/// A feed in the page.
pub(crate) struct FeedView {
    /// What its rows need.
    pub(crate) context: Rc<Context>,
    /// What the bar above it says.
    pub(crate) bar: BarState,
    list: Rc<VirtualList>,
    grid: Element,
    frame: Rc<Frame>,
    owner: Owner,
    listeners: RefCell<Vec<Listener>>,
    content: RefCell<Vec<Box<dyn std::any::Any>>>,
    is_closed: Cell<bool>,
    shortcuts: Rc<Cell<bool>>,
    /// The key that began something, until the next.
    began: Cell<Option<char>>,
    /// Watches what takes room above the rows.
    above: RefCell<[Option<HeightObserver>; 2]>,
    /// What stands around the rows, before it is asked for.
    early: early::Early,
}

/// Where so many events came since the last frame that was drawn, 9,000 a second, each second frame is passed over, and from
/// 18,000 a second on two of three: what is seen of them is gone with the next.
const FLOOD_EVENTS: [u32; 2] = [150, 600];

/// How often a log that is being read changes the page, once there are rows: what comes is beyond the screen, and a frame for
/// each piece of it lays the list out, and paints its bars, thirty times in half a second.
const READING_FRAME_MS: i32 = 100;

/// Keeps the rows where they are on the screen when what stands above them takes room, or gives it back.
///
/// The bar is there before there are rows, and grows as it is filled: who stands at the top sees that. So does who has gone
/// to a row that begins there: the turn's header comes with it, and would lie over it.
fn room_above(list: &Rc<VirtualList>, place: &Element, is_bar: bool) -> Option<HeightObserver> {
    let (list, known_px) = (Rc::downgrade(list), Cell::new(0.0));
    let observer = HeightObserver::new(move |sizes| {
        if let (Some(list), Some((_, _, height_px))) = (list.upgrade(), sizes.last()) {
            let more_px = height_px - known_px.replace(*height_px);
            let at_row = || measure::scroll_top(list.scroller()) <= 0.0 || list.begins_at_edge();
            if !is_bar || !at_row() {
                list.make_room(more_px);
            }
        }
    })?;
    observer.watch(place);
    Some(observer)
}

impl FeedView {
    /// Builds the frame into `root`; `store` is what it shows.
    pub(crate) fn new(root: &Element, store: Rc<FeedStore>) -> Rc<FeedView> {
        let owner = Owner::new();
        let (context, ctx) = owner.with(|| {
            let context = Rc::new(Context::new(store.clone()));
            (context.clone(), Ctx::new_local(context))
        });
        let scroller = element("div", "scroller", &[("tabindex", "-1")]);
        let sizer = element("div", "sizer", &[]);
        let log = element(
            "div",
            "chat-log",
            &[
                ("role", "group"),
                ("aria-label", "Session"),
                ("aria-busy", "false"),
            ],
        );
        let following = owner.with(|| {
            ArcRwSignal::new(View {
                following: true,
                ..View::default()
            })
        });
        let job: Rc<RefCell<Box<dyn FnMut()>>> = Rc::new(RefCell::new(Box::new(|| {})));
        let frame = Rc::new(Frame::new({
            let job = job.clone();
            move || (job.borrow_mut())()
        }));
        let ask = {
            let frame = Rc::downgrade(&frame);
            move || {
                if let Some(frame) = frame.upgrade() {
                    frame.request();
                }
            }
        };
        let rows = Rc::new(FeedRows {
            context: context.clone(),
            ctx,
        });
        let on_view = {
            let following = following.clone();
            move |view| following.set(view)
        };
        let list = VirtualList::new(
            [scroller.clone(), sizer.clone(), log.clone()],
            rows,
            ask.clone(),
            on_view,
        );
        *context.list.borrow_mut() = Some(list.clone());
        let spoken = element(
            "div",
            "visually-hidden",
            &[
                ("role", "log"),
                ("aria-live", "polite"),
                ("aria-label", "Activity"),
            ],
        );
        let alert = element("div", "visually-hidden", &[("role", "alert")]);
        let announcer = Announcer::new(spoken.clone(), alert.clone());
        let needed_below = owner.with(|| ArcRwSignal::new(0));
        let grid = element("div", "frame", &[("part", "frame")]);
        let events_came = {
            let (frame, context) = (Rc::downgrade(&frame), Rc::downgrade(&context));
            let list = Rc::downgrade(&list);
            move || {
                if let (Some(frame), Some(context)) = (frame.upgrade(), context.upgrade()) {
                    let shows_rows = list.upgrade().is_some_and(|list| list.len() > 0);
                    match context.busy.get() && shows_rows {
                        true => frame.request_within(READING_FRAME_MS),
                        false => frame.request(),
                    }
                }
            }
        };
        store.on_dirty(ask, events_came);
        *job.borrow_mut() = {
            let (context, list) = (Rc::downgrade(&context), Rc::downgrade(&list));
            let announcer = announcer.clone();
            let needed_below = needed_below.clone();
            let grid = grid.clone();
            let (mut drawn_events, mut passed_over) = (0, 0);
            Box::new(move || {
                if let (Some(context), Some(list)) = (context.upgrade(), list.upgrade()) {
                    if frame::now_ms() < context.held_until_ms.get() {
                        return context.store.ask_frame();
                    }
                    let n_events = context.store.event_count();
                    let n_new = n_events.saturating_sub(drawn_events);
                    let flood = FLOOD_EVENTS.get(passed_over);
                    if list.view().following && flood.is_some_and(|flood| n_new >= *flood) {
                        passed_over += 1;
                        return context.store.ask_frame();
                    }
                    (drawn_events, passed_over) = (n_events, 0);
                    // A replay is looked at in silence.
                    let live = context.live.get() && !context.store.looks_back();
                    let speaks = [live, live && list.view().following];
                    let mut changed = false;
                    let plays = context.advance();
                    context.store.flush(|change| {
                        changed = true;
                        announcer.note(&context.store, change, speaks);
                        take(&context, &list, change);
                    });
                    context.unread.tell();
                    list.update();
                    if list.len() > 0 {
                        turns::first_is_here();
                    }
                    tell_needed(&context, &list, &needed_below);
                    if let Some(around) = AROUND.get() {
                        (around.frame)(&context, &grid, changed);
                    }
                    if plays {
                        context.store.ask_frame();
                    }
                }
            })
        };
        let bar = owner.with(|| BarState::new(following.clone(), context.lacks.clone()));
        let named = [("role", "region"), ("aria-label", "Session bar")];
        let top = element("div", "top", &named);
        let bottom = element("div", "bottom", &[]);
        let find_place = element("div", "find-place", &[]);
        let dialog = element("dialog", "help", &[("aria-labelledby", "help-title")]);
        let actions = element("div", "row-actions", &[("data-here", "")]);
        let player = element("div", "transport-place", &[]);
        let aside = element("aside", "panel-place", &[]);
        for (parent, child) in [
            (&scroller, &sizer),
            (&sizer, &log),
            (&grid, &top),
            (&grid, &find_place),
            (&grid, &scroller),
            (&grid, &dialog),
            (&grid, &bottom),
            (&grid, &player),
            (&grid, &aside),
            (&grid, &spoken),
            (&grid, &alert),
        ] {
            dom::insert_before(parent, child, None);
        }
        dom::insert_before(root, &grid, None);
        let bar_state = bar.clone();
        let top_content =
            owner.with(|| mount_to(dom::as_html(&top), move || bar::view(ctx, bar_state)));
        let pill_view = {
            let following = following.clone();
            move || pill(ctx, following, needed_below)
        };
        let bottom_content = owner.with(|| mount_to(dom::as_html(&bottom), pill_view));
        context.set_actions(actions.clone());
        *context.help.borrow_mut() = Some(dialog.clone());
        let find_beside = find_place.clone();
        let places = around::Places {
            grid: grid.clone(),
            find: find_place,
            help: dialog,
            actions,
            player,
            panel: aside,
        };
        let view = Rc::new(FeedView {
            context,
            bar,
            list,
            grid: grid.clone(),
            frame,
            owner,
            listeners: RefCell::default(),
            content: RefCell::new(vec![Box::new((top_content, bottom_content))]),
            is_closed: Cell::new(false),
            shortcuts: Rc::new(Cell::new(true)),
            began: Cell::new(None),
            above: RefCell::default(),
            early: early::Early::new(ctx, places),
        });
        view.listen_early(&grid, &top);
        let above = [(&find_beside, false), (&top, true)];
        *view.above.borrow_mut() =
            above.map(|(place, is_bar)| room_above(&view.list, place, is_bar));
        let for_rows = Rc::downgrade(&view.context);
        let on_row = move |note: fn(&Context, &dom::Event)| {
            let context = for_rows.clone();
            move |event: dom::Event| {
                if let Some(context) = context.upgrade() {
                    note(&context, &event);
                }
            }
        };
        view.listeners.borrow_mut().extend([
            dom::listen_passive(&log, "pointerover", on_row(Context::note_row)),
            dom::listen(&log, "focusin", on_row(Context::note_focus)),
            dom::listen(&log, "click", on_row(line::pressed)),
        ]);
        let for_hidden = Rc::downgrade(&view.context);
        let hidden = move |_| {
            if let Some(context) = for_hidden.upgrade() {
                let is_hidden = frame::is_hidden();
                context.unread.hidden(is_hidden, clock::epoch_ms());
                // The frame that was on its way does not come: a timer takes its place.
                context.store.ask_frame();
            }
        };
        view.context
            .unread
            .hidden(frame::is_hidden(), clock::epoch_ms());
        view.listeners
            .borrow_mut()
            .push(dom::listen_document("visibilitychange", hidden));
        let for_focus = Rc::downgrade(&view);
        view.listeners
            .borrow_mut()
            .push(dom::listen(&scroller, "focusin", move |_| {
                if let Some(view) = for_focus.upgrade() {
                    let row = view.focused_row();
                    let block = row.and_then(|id| view.context.store.block_at(id));
                    view.context.panel.select(block);
                }
            }));
        view.frame.request();
        view
    }

    /// Whom to tell how many rows came while the page was hidden.
    pub(crate) fn on_badge(&self, tell: impl Fn(u32) + 'static) {
        self.context.unread.on_count(tell);
    }

    /// Rows that came while the page was hidden.
    pub(crate) fn badge(&self) -> u32 {
        self.context.unread.count()
    }

    /// Rows in the list, mounted or not.
    pub(crate) fn row_count(&self) -> u32 {
        u32::try_from(self.list.len()).unwrap_or(u32::MAX)
    }

    /// Takes what the store has gathered into the list now, as a frame would.
    pub(crate) fn settle(&self) {
        settle(&self.context, &self.list);
    }

    /// The same, before the list goes elsewhere: rows are mounted where it goes, and not where it was.
    pub(crate) fn gather(&self) {
        gather(&self.context, &self.list);
    }

    /// Brings the row of an event into view and returns its index.
    pub(crate) fn go_to_event(&self, event_idx: u32) -> Option<u32> {
        let store = &self.context.store;
        let block = store.feed().block_of_event(event_idx)?;
        let row = store.reveal(block)?;
        self.gather();
        let id = store.id_of(row)?;
        let rank = self.list.rank_of(id)?;
        self.list.scroll_to(id, Align::Center);
        self.list.update();
        u32::try_from(rank).ok()
    }

    /// Goes to the end and follows it, or stops.
    pub(crate) fn set_following(&self, follow: bool) {
        if follow {
            self.list.follow_end()
        } else {
            self.list.stop_following()
        }
    }

    /// Whether the reader has scrolled since following was last set.
    pub(crate) fn reader_moved(&self) -> bool {
        self.list.reader_moved()
    }

    /// Shows no rows before the end of the log is here, but for so long: it is shown first, and rows that are shown before
    /// are laid out for nothing.
    pub(crate) fn hold(&self, at_most_ms: f64) {
        self.context.held_until_ms.set(frame::now_ms() + at_most_ms);
    }

    /// Says whether the rows are still coming in.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.context.busy.set(busy);
        self.list.spare(busy);
        if !busy {
            self.context.held_until_ms.set(0.0);
        }
        // What was put off while they came is done now.
        self.frame.request();
        dom::write_attribute(
            self.list.window(),
            "aria-busy",
            if busy { "true" } else { "false" },
        );
    }

    /// Another density: every height is due.
    pub(crate) fn relayout(&self) {
        self.list.invalidate();
    }

    /// Whether single keys act.
    pub(crate) fn set_shortcuts(&self, on: bool) {
        self.shortcuts.set(on);
    }

    /// The list, for a walk through all of it.
    pub(crate) fn list(&self) -> &Rc<VirtualList> {
        &self.list
    }

    /// Takes everything down.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.listeners.borrow_mut().clear();
        self.list.close();
        self.above.take();
        *self.context.list.borrow_mut() = None;
        self.content.borrow_mut().clear();
        self.grid.remove();
        self.owner.cleanup();
    }
}

/// Counts what waits for the reader below the screen.
fn tell_needed(context: &Context, list: &VirtualList, below: &ArcRwSignal<usize>) {
    let waiting = context.waiting.borrow();
    let n_below = waiting
        .iter()
        .filter(|(_, row)| list.is_below(**row))
        .count();
    if below.get_untracked() != n_below {
        below.set(n_below);
    }
}

/// Takes what the store has gathered into the list now, as a frame would.
pub(super) fn settle(context: &Context, list: &VirtualList) {
    gather(context, list);
    list.update();
}

fn gather(context: &Context, list: &VirtualList) {
    context.store.flush(|change| take(context, list, change));
    context.unread.tell();
}

/// Hands a change of the store to the list, and to what is kept beside it.
pub(super) fn take(context: &Context, list: &VirtualList, change: RowChange) {
    context.note_waiting(change);
    if context.live.get() && !context.store.looks_back() {
        context.unread.note(context, change);
    }
    match change {
        RowChange::Inserted(id, after) => list.insert(id, after),
        RowChange::Removed(id) => list.remove(id),
        RowChange::Changed(id) => {
            context.mark_anew();
            list.changed(id);
        }
        RowChange::Cleared => list.clear(),
    }
}

fn element(tag: &str, class: &str, attributes: &[(&str, &str)]) -> Element {
    let element = dom::create(tag);
    dom::write_attribute(&element, "class", class);
    for (name, value) in attributes {
        dom::write_attribute(&element, name, value);
    }
    element
}
