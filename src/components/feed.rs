//! The frame of a feed: bar, scroller with its rows, pill; and the keys that move through it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use chat_feed::units;
use chat_feed::viewport::{Align, RowId};
use chat_feed::{BlockBody, BlockId};
use leptos::ev;
use leptos::html::{button, div, span};
use leptos::mount::mount_to;
use leptos::prelude::*;

use super::announce::Announcer;
use super::bar::{self, BarState};
use super::icon::{Icon, icon};
use super::rows::{FeedRows, block_of, row_of};
use super::{Context, Ctx};
use crate::feed_store::{FeedStore, RowChange};
use crate::platform::dom::{self, Element, Listener};
use crate::platform::frame::Frame;
use crate::virtual_list::{View, VirtualList};

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
    content: RefCell<Option<Box<dyn std::any::Any>>>,
    shortcuts: Rc<Cell<bool>>,
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
                ("role", "feed"),
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
        let announcer = Announcer::new(spoken.clone());
        store.on_dirty(ask);
        *job.borrow_mut() = {
            let (context, list) = (Rc::downgrade(&context), Rc::downgrade(&list));
            let announcer = announcer.clone();
            Box::new(move || {
                if let (Some(context), Some(list)) = (context.upgrade(), list.upgrade()) {
                    let speaks = context.live.get() && list.view().following;
                    context.store.flush(|change| {
                        announcer.note(&context.store, change, speaks);
                        take(&list, change);
                    });
                    list.update();
                }
            })
        };
        let bar = owner.with(|| BarState::new(following.clone()));
        let grid = element("div", "frame", &[("part", "frame")]);
        let top = element("div", "top", &[]);
        let bottom = element("div", "bottom", &[]);
        for (parent, child) in [
            (&scroller, &sizer),
            (&sizer, &log),
            (&grid, &top),
            (&grid, &scroller),
            (&grid, &bottom),
            (&grid, &spoken),
        ] {
            dom::insert_before(parent, child, None);
        }
        dom::insert_before(root, &grid, None);
        let bar_state = bar.clone();
        let top_content =
            owner.with(|| mount_to(dom::as_html(&top), move || bar::view(ctx, bar_state)));
        let pill_view = {
            let following = following.clone();
            move || pill(ctx, following)
        };
        let bottom_content = owner.with(|| mount_to(dom::as_html(&bottom), pill_view));
        let view = Rc::new(FeedView {
            context,
            bar,
            list,
            grid: grid.clone(),
            frame,
            owner,
            listeners: RefCell::default(),
            content: RefCell::new(Some(Box::new((top_content, bottom_content)))),
            shortcuts: Rc::new(Cell::new(true)),
        });
        let for_keys = Rc::downgrade(&view);
        view.listeners
            .borrow_mut()
            .push(dom::listen(&grid, "keydown", move |event| {
                if let Some(view) = for_keys.upgrade() {
                    view.on_key(&event);
                }
            }));
        view.frame.request();
        view
    }

    /// The element that scrolls.
    pub(crate) fn scroller(&self) -> Element {
        self.list.scroller().clone()
    }

    /// Rows in the session.
    pub(crate) fn row_count(&self) -> u32 {
        u32::try_from(self.context.store.feed().len()).unwrap_or(u32::MAX)
    }

    /// Takes what the store has gathered into the list now, as a frame would.
    pub(crate) fn settle(&self) {
        self.context.store.flush(|change| take(&self.list, change));
        self.list.update();
    }

    /// Brings the row of an event into view and returns its index.
    pub(crate) fn go_to_event(&self, event_idx: u32) -> Option<u32> {
        self.settle();
        let id = row_of(self.context.store.feed().block_of_event(event_idx)?);
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

    /// Says whether the rows are still coming in.
    pub(crate) fn set_busy(&self, busy: bool) {
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
        self.listeners.borrow_mut().clear();
        self.list.close();
        *self.context.list.borrow_mut() = None;
        self.content.borrow_mut().take();
        self.grid.remove();
        self.owner.cleanup();
    }

    fn on_key(&self, event: &dom::Event) {
        let Some(key) = dom::key_of(event) else {
            return;
        };
        let here = self.focused_row();
        let taken = match (key.name.as_str(), key.control) {
            ("Home", true) => self.go_to_top(),
            ("End", _) => self.go_to_end(),
            ("ArrowDown", false) if self.is_on_row(event, here) => self.step(here, true, |_| true),
            ("ArrowUp", false) if self.is_on_row(event, here) => self.step(here, false, |_| true),
            ("PageDown", false) if here.is_some() => self.step(here, true, |_| true),
            ("PageUp", false) if here.is_some() => self.step(here, false, |_| true),
            (_, true) => false,
            ("Enter", _)
                if here.is_some() && !dom::began_in_control(event, self.list.scroller()) =>
            {
                if let Some(id) = here {
                    self.context.toggle(block_of(id));
                }
                true
            }
            (name, false) if self.shortcuts.get() => self.on_letter(name, here),
            _ => false,
        };
        if taken {
            event.prevent_default();
            event.stop_propagation();
        }
    }

    fn on_letter(&self, name: &str, here: Option<RowId>) -> bool {
        let is = |want: fn(&BlockBody) -> bool| {
            let context = self.context.clone();
            move |id: RowId| want(&context.store.feed().block(block_of(id)).body)
        };
        match name {
            "j" => self.step(here, true, |_| true),
            "k" => self.step(here, false, |_| true),
            "J" => self.step(here, true, is(|body| matches!(body, BlockBody::Prompt(_)))),
            "K" => self.step(here, false, is(|body| matches!(body, BlockBody::Prompt(_)))),
            "t" => self.step(
                here,
                true,
                is(|body| matches!(body, BlockBody::ToolCall(_))),
            ),
            "T" => self.step(
                here,
                false,
                is(|body| matches!(body, BlockBody::ToolCall(_))),
            ),
            "e" => self.step(
                here,
                true,
                is(|body| matches!(body, BlockBody::Error { .. })),
            ),
            "E" => self.step(
                here,
                false,
                is(|body| matches!(body, BlockBody::Error { .. })),
            ),
            "p" => self.step(
                here,
                true,
                is(|body| matches!(body, BlockBody::Permission(_) | BlockBody::Question(_))),
            ),
            "G" => self.go_to_end(),
            "g" => self.go_to_top(),
            "x" => here.map(|id| self.close_kind(id)).is_some(),
            "f" => {
                if self.list.view().following {
                    self.set_following(false);
                } else {
                    self.go_to_end();
                }
                true
            }
            _ => false,
        }
    }

    /// Moves the focus to the next row that is wanted; at the end of the rows it stays.
    fn step(&self, here: Option<RowId>, forward: bool, wanted: impl Fn(RowId) -> bool) -> bool {
        let mut next = match here {
            Some(id) => self.list.neighbour(Some(id), forward),
            None => self.list.first_on_screen(),
        };
        while let Some(id) = next {
            if wanted(id) {
                self.focus_row(id);
                return true;
            }
            next = self.list.neighbour(Some(id), forward);
        }
        true
    }

    fn focus_row(&self, id: RowId) {
        self.list.scroll_to(id, Align::Nearest);
        self.list.update();
        self.list.settle();
        if let Some(element) = self.list.element_of(id) {
            dom::focus(&element);
        }
    }

    /// To the first row; the next step goes on from there.
    fn go_to_top(&self) -> bool {
        self.list.forget_focus();
        self.list.go_home();
        true
    }

    /// To the last row, and with it.
    fn go_to_end(&self) -> bool {
        self.list.forget_focus();
        self.list.follow_end();
        true
    }

    /// Whether a row itself has the focus, and not a well or a button in it, which arrows scroll or leave alone.
    fn is_on_row(&self, event: &dom::Event, here: Option<RowId>) -> bool {
        here.and_then(|id| self.list.element_of(id))
            .is_some_and(|element| dom::is_target(event, &element))
    }

    /// Closes all rows of the kind of this one.
    fn close_kind(&self, id: RowId) {
        let kind_of = |body: &BlockBody| {
            let tool = match body {
                BlockBody::ToolCall(call) => Some(call.kind),
                _ => None,
            };
            (std::mem::discriminant(body), tool)
        };
        let store = &self.context.store;
        let ids: Vec<BlockId> = {
            let feed = store.feed();
            let kind = kind_of(&feed.block(block_of(id)).body);
            feed.rows()
                .filter(|block| kind_of(&block.body) == kind)
                .map(|block| block.id)
                .collect()
        };
        self.list.pin(id);
        for id in ids {
            if store.is_open(id) {
                store.set_open(id, false);
            }
        }
    }

    fn focused_row(&self) -> Option<RowId> {
        self.list.focused()
    }
}

/// Hands a change of the store to the list.
fn take(list: &VirtualList, change: RowChange) {
    match change {
        RowChange::Inserted(id, after) => list.insert(row_of(id), after.map(row_of)),
        RowChange::Removed(id) => list.remove(row_of(id)),
        RowChange::Changed(id) => list.changed(row_of(id)),
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

/// What came while the reader was elsewhere, and the way to it.
fn pill(ctx: Ctx, view: ArcRwSignal<View>) -> impl IntoView {
    let hidden = {
        let view = view.clone();
        move || view.read().following || view.read().at_end
    };
    let label = move || match view.read().unseen {
        0 => "To the end".to_owned(),
        unseen => format!("{} new", units::grouped(unseen as u64)),
    };
    button()
        .attr("type", "button")
        .class("pill")
        .attr("hidden", hidden)
        .on(ev::click, move |_| {
            ctx.with_value(|context| {
                if let Some(list) = &*context.list.borrow() {
                    list.follow_end();
                }
            });
        })
        .child((
            icon(Icon::Down),
            span().child(label),
            div().class("visually-hidden").child(": go to the newest"),
        ))
}
