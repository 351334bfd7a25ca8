//! The frame of a feed: bar, scroller with its rows, and what floats over them. Moving through it by keys is for `moves`.

mod drawing;
mod early;
mod elements;
mod floating;
mod gathering;
mod moves;
mod page_keys;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::viewport::Align;
use leptos::mount::mount_to;
use leptos::prelude::*;

use super::announce::{Announced, Announcer};
use super::bar::{self, BarState};
use super::rows::FeedRows;
use super::{Context, Ctx, line};
use crate::feed_store::FeedStore;
use crate::platform::clock;
use crate::platform::dom::{self, Element, Listener};
use crate::platform::frame::{self, Frame};
use crate::platform::measure::{self, HeightObserver};
use crate::virtual_list::{View, VirtualList};
use drawing::{drawing, when_events_came};
use elements::Elements;
use floating::pill;
pub(super) use gathering::settle;
use gathering::{gather, unseen};
pub(super) use moves::open_kinds;
pub(crate) use page_keys::Shortcuts;

/// A feed in the page.
pub(crate) struct FeedView {
    /// What its rows need.
    pub(crate) context: Rc<Context>,
    /// What the bar above it says.
    pub(crate) bar: BarState,
    list: Rc<VirtualList>,
    grid: Element,
    /// What a page puts above it, and below.
    around: [Element; 2],
    /// What the page wrote into the element.
    stand_in: Element,
    frame: Rc<Frame>,
    owner: Owner,
    listeners: RefCell<Vec<Listener>>,
    content: RefCell<Vec<Box<dyn std::any::Any>>>,
    is_closed: Cell<bool>,
    /// Hears keys that are pressed in the page around.
    page_keys: RefCell<Option<Listener>>,
    /// The key that began something, until the next.
    began: Cell<Option<char>>,
    /// Watches what takes room above the rows.
    above: RefCell<[Option<HeightObserver>; 2]>,
    /// What stands around the rows, before it is asked for.
    early: early::Early,
}

/// Keeps the rows where they are on the screen when what stands above them takes room, or gives it back.
///
/// The bar is there before there are rows, and grows as it is filled: who stands at the top sees that. So does who has gone
/// to a row that begins there: the turn's header comes with it, and would lie over it.
fn room_above(list: &Rc<VirtualList>, place: &Element, is_bar: bool) -> Option<HeightObserver> {
    let (list, known_px) = (Rc::downgrade(list), Cell::new(0.0));
    let observer = HeightObserver::new(move |sizes| {
        if let (Some(list), Some((_, _, height_px))) = (list.upgrade(), sizes.last())
            && !list.is_hidden()
        {
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
        let elements = Elements::new();
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
            let (following, ask) = (following.clone(), ask.clone());
            move |view: View| {
                let followed = following.with_untracked(|before| before.following);
                following.set(view);
                // Scripts are told once a frame, and this one may be over.
                if followed != view.following {
                    ask();
                }
            }
        };
        let of_list = [&elements.scroller, &elements.sizer, &elements.log];
        let list = VirtualList::new(of_list.map(Clone::clone), rows, ask.clone(), on_view);
        *context.list.borrow_mut() = Some(list.clone());
        let speaker = Announcer::new(elements.spoken.clone(), elements.alert.clone());
        *context.speaker.borrow_mut() = Some(speaker);
        store.on_dirty(ask, when_events_came(&frame, &context, &list));
        let hears = Rc::downgrade(&context);
        store.on_unseen(move |block| {
            if let Some(context) = hears.upgrade() {
                unseen(&context, block);
            }
        });
        let needed_below = owner.with(|| ArcRwSignal::new(0));
        *job.borrow_mut() = drawing(&context, &list, &elements, needed_below.clone());
        let bar = owner.with(|| BarState::new(following.clone(), context.lacks.clone()));
        elements.put_into(root);
        context.width.watch(&context, &elements.grid);
        let bar_state = bar.clone();
        let top = dom::as_html(&elements.top);
        let top_content = owner.with(|| mount_to(top, move || bar::view(ctx, bar_state)));
        let pill_view = move || pill(ctx, following, needed_below);
        let bottom = dom::as_html(&elements.bottom);
        let bottom_content = owner.with(|| mount_to(bottom, pill_view));
        context.set_actions(elements.actions.clone());
        *context.help.borrow_mut() = Some(elements.help.clone());
        let view = Rc::new(FeedView {
            context,
            bar,
            list,
            grid: elements.grid.clone(),
            around: elements.around(),
            stand_in: elements.stand_in.clone(),
            frame,
            owner,
            listeners: RefCell::default(),
            content: RefCell::new(vec![Box::new((top_content, bottom_content))]),
            is_closed: Cell::new(false),
            page_keys: RefCell::default(),
            began: Cell::new(None),
            above: RefCell::default(),
            early: early::Early::new(ctx, elements.places()),
        });
        view.listen_early(&elements.grid, &elements.top);
        let above = [(&elements.find, false), (&elements.top, true)];
        *view.above.borrow_mut() =
            above.map(|(place, is_bar)| room_above(&view.list, place, is_bar));
        view.listen_to_rows(&elements);
        view.listen_for_hiding();
        view.frame.request();
        view
    }

    /// Hears what is done with rows: what is pointed at, what has the focus, and which line is pressed.
    fn listen_to_rows(self: &Rc<Self>, elements: &Elements) {
        let context = Rc::downgrade(&self.context);
        let on_row = move |note: fn(&Context, &dom::Event)| {
            let context = context.clone();
            move |event: dom::Event| {
                if let Some(context) = context.upgrade() {
                    note(&context, &event);
                }
            }
        };
        let view = Rc::downgrade(self);
        let select_focused = move |_| {
            if let Some(view) = view.upgrade() {
                let row = view.focused_row();
                let block = row.and_then(|id| view.context.store.block_at(id));
                view.context.panel.select(block);
            }
        };
        let log = &elements.log;
        self.listeners.borrow_mut().extend([
            dom::listen_passive(log, "pointerover", on_row(Context::note_row)),
            dom::listen(log, "focusin", on_row(Context::note_focus)),
            dom::listen(log, "click", on_row(line::pressed)),
            dom::listen(&elements.scroller, "focusin", select_focused),
        ]);
    }

    /// Counts what comes while the page is hidden.
    fn listen_for_hiding(&self) {
        let context = Rc::downgrade(&self.context);
        let hidden = move |_| {
            if let Some(context) = context.upgrade() {
                let is_hidden = frame::is_hidden();
                context.unread.hidden(is_hidden, clock::server_ms());
                // The frame that was on its way does not come: a timer takes its place.
                context.store.ask_frame();
            }
        };
        let unread = &self.context.unread;
        unread.hidden(frame::is_hidden(), clock::server_ms());
        let listener = dom::listen_document("visibilitychange", hidden);
        self.listeners.borrow_mut().push(listener);
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

    /// Whether the reader has scrolled or gone anywhere since all rows went.
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

    /// A session is there, with rows or without: what the page wrote into the element is shown no more.
    pub(crate) fn end_stand_in(&self) {
        self.stand_in.remove();
    }

    /// Another density: every height is due.
    pub(crate) fn relayout(&self) {
        self.list.invalidate();
    }

    /// Where single keys act.
    pub(crate) fn set_shortcuts(self: &Rc<Self>, shortcuts: Shortcuts) {
        self.context.shortcuts.set(shortcuts != Shortcuts::Off);
        let of_page = (shortcuts == Shortcuts::Document).then(|| page_keys::listen(self));
        *self.page_keys.borrow_mut() = of_page;
    }

    /// How much is said to those who listen.
    pub(crate) fn set_announced(&self, announced: Announced) {
        if let Some(speaker) = &*self.context.speaker.borrow() {
            speaker.set(announced);
        }
    }

    /// The list, for a walk through all of it.
    pub(crate) fn list(&self) -> &Rc<VirtualList> {
        &self.list
    }

    /// Whether it was taken down.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Takes everything down.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        // Who waits for an answer of a script holds the view: no frame draws into what is gone.
        self.context.store.on_dirty(|| {}, || {});
        // Nor is anything saved or fetched for it.
        self.context.export.leave();
        self.context.wholes.forget();
        self.context.search_by(None);
        self.listeners.borrow_mut().clear();
        self.page_keys.take();
        self.list.close();
        self.above.take();
        *self.context.list.borrow_mut() = None;
        self.content.borrow_mut().clear();
        self.grid.remove();
        self.around.iter().for_each(Element::remove);
        self.owner.cleanup();
    }
}
