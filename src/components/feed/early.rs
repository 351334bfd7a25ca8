//! What stands around the rows is fetched when a reader turns to the feed, or when the page has been at rest for a while.
//! Keys that are pressed before it is here are kept, and pressed again once it is: none is lost. Where it does not come
//! they are forgotten, and what is pressed from then on is the browser's until it is here.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::FeedView;
use crate::components::around::{AROUND, Places};
use crate::components::{Ctx, later};
use crate::platform::custom_element;
use crate::platform::dom::{self, Element, Event};
use crate::platform::{frame, turns};

/// So many keys are kept: a key that is held down repeats, and the rest of it is the browser's.
const KEPT_KEYS: usize = 100;

/// What waits for the part.
pub(super) struct Early {
    ctx: Ctx,
    /// Where it goes, until it is asked for.
    places: Cell<Option<Places>>,
    /// Keys, and where they were pressed.
    pressed: RefCell<Vec<(Element, Event)>>,
    /// Whether a script goes on as soon as it is here.
    asked: Cell<bool>,
    /// Whether it did not come when it was asked for.
    lacks: Cell<bool>,
}

impl Early {
    pub(super) fn new(ctx: Ctx, places: Places) -> Early {
        Early {
            ctx,
            places: Cell::new(Some(places)),
            pressed: RefCell::default(),
            asked: Cell::default(),
            lacks: Cell::default(),
        }
    }

    /// Whether all of it is to be put in at once.
    fn is_waited_for(&self) -> bool {
        self.asked.get() || !self.pressed.borrow().is_empty()
    }
}

impl FeedView {
    /// Hears what asks for the part.
    pub(super) fn listen_early(self: &Rc<Self>, grid: &Element, top: &Element) {
        let for_keys = Rc::downgrade(self);
        let on_key = move |event: Event| {
            if let Some(view) = for_keys.upgrade() {
                match AROUND.get().filter(|_| view.is_surrounded()) {
                    Some(around) => (around.key)(&view, &event),
                    None => view.keep(event),
                }
            }
        };
        let asks = || {
            let view = Rc::downgrade(self);
            move |_| {
                if let Some(view) = view.upgrade() {
                    view.surround();
                }
            }
        };
        self.listeners.borrow_mut().extend([
            dom::listen(grid, "keydown", on_key),
            dom::listen_passive(top, "pointerover", asks()),
            dom::listen_passive(grid, "focusin", asks()),
        ]);
        let for_rest = Rc::downgrade(self);
        turns::unasked(move || {
            if let Some(view) = for_rest.upgrade() {
                view.surround();
                later::fetch_unasked();
            }
        });
    }

    /// Keeps room for the player of a replay: it comes with the part, and the rows are not to move then.
    pub(crate) fn keep_room(&self, for_player: bool) {
        let Some(places) = self.early.places.take() else {
            return;
        };
        let is_plain = self.context.attribute("controls").as_deref() == Some("none");
        let due = if for_player && !is_plain { "due" } else { "" };
        dom::write_attribute(&places.player, "data-room", due);
        self.early.places.set(Some(places));
    }

    fn is_surrounded(&self) -> bool {
        use leptos::prelude::GetUntracked;
        self.context.surrounded.get_untracked()
    }

    /// The same, for who does something with it as soon as it is here.
    pub(crate) fn surround_now(self: &Rc<Self>) {
        self.early.asked.set(true);
        self.surround();
    }

    /// Puts what stands around the rows into its places, as soon as it is here; once.
    pub(crate) fn surround(self: &Rc<Self>) {
        let Some(places) = self.early.places.take() else {
            return;
        };
        let (view, ctx) = (Rc::downgrade(self), self.early.ctx);
        let player = places.player.clone();
        wasm_bindgen_futures::spawn_local(async move {
            let lacks = |lack| {
                if let Some(view) = view.upgrade() {
                    // Nothing comes into its room by itself.
                    dom::write_attribute(&player, "data-room", "");
                    view.early.lacks.set(true);
                    view.early.pressed.take();
                    view.bar.lacks.add(lack);
                }
            };
            let around = AROUND.needed(lacks).await;
            let open = || view.upgrade().filter(|view| !view.is_closed.get());
            for piece in (around.mount)(ctx, places) {
                let Some(view) = open() else { return };
                let content = view.owner.with(piece);
                view.content.borrow_mut().push(content);
                if !view.early.is_waited_for() {
                    drop(view);
                    frame::yield_now().await;
                }
            }
            let Some(view) = open() else { return };
            use leptos::prelude::Set;
            dom::write_attribute(&player, "data-room", "");
            view.context.surrounded.set(true);
            view.frame.request();
            for (place, key) in view.early.pressed.take() {
                custom_element::press_again(&place, &key);
                // What it opens is there, and has the focus, before the next.
                leptos::task::tick().await;
            }
        });
    }

    /// Keeps a key that may ask for something here; what is the browser's in any case stays with it.
    fn keep(self: &Rc<Self>, event: Event) {
        if self.early.lacks.get() || self.early.pressed.borrow().len() >= KEPT_KEYS {
            return;
        }
        let Some(key) = dom::key_of(&event) else {
            return;
        };
        let in_control = || dom::began_in_control(&event, self.list.scroller());
        let on_row = || self.focused_row().is_some();
        let asks = match (key.name.as_str(), key.control) {
            ("f" | "Home" | "End", true) => true,
            (_, true) | ("Tab" | "Escape", _) => false,
            // Without a row they scroll, and in a button they press it.
            ("ArrowUp" | "ArrowDown" | "PageUp" | "PageDown", _) => on_row(),
            ("Enter", _) => on_row() && !in_control(),
            (" ", _) => self.context.shortcuts.get() && !in_control(),
            ("ArrowLeft" | "ArrowRight", _) => !dom::began_in_wide(&event, self.list.scroller()),
            (name, _) if name.ends_with("ArrowLeft") || name.ends_with("ArrowRight") => true,
            ("End", _) => true,
            (name, _) => name.chars().count() == 1 && self.context.shortcuts.get(),
        };
        if !asks {
            return;
        }
        event.prevent_default();
        event.stop_propagation();
        if let Some(place) = dom::place_of(&event) {
            self.early.pressed.borrow_mut().push((place, event));
        }
        self.surround();
    }
}
