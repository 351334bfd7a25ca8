//! What an open diff is told: by the reader, and of the room it has.

use std::rc::Rc;

use chat_feed::diff_list::Widening;

use super::Window;
use crate::components::keys::{self, Command, Within};
use crate::platform::dom;
use crate::platform::measure::HeightObserver;

impl Window {
    /// Begins to listen, for as long as it is open.
    pub(super) fn listen(self: &Rc<Self>) {
        let (for_told, for_scroll) = (self.me.clone(), self.me.clone());
        *self.told.borrow_mut() = Some(Rc::new(move || {
            if let Some(me) = for_told.upgrade() {
                me.redraw_soon();
            }
        }));
        let scrolled = dom::listen_passive(&self.scroller, "scroll", move |_| {
            if let Some(me) = for_scroll.upgrade() {
                me.look();
                me.update();
            }
        });
        let (for_keys, for_clicks, for_select) =
            (self.me.clone(), self.me.clone(), self.me.clone());
        let keys = dom::listen(&self.scroller, "keydown", move |event| {
            let Some(me) = for_keys.upgrade() else { return };
            let single = me.choices.0.shortcuts.get();
            let asks = dom::key_of(&event).is_some_and(|key| {
                let is_free = single || key.name.chars().count() > 1;
                !key.control && is_free && me.on_key(&key.name)
            });
            if asks {
                event.prevent_default();
                event.stop_propagation();
            }
        });
        let clicks = dom::listen(&self.scroller, "click", move |event| {
            let Some(me) = for_clicks.upgrade() else {
                return;
            };
            me.look();
            let file = dom::attribute_at(&event, "data-file").and_then(|file| file.parse().ok());
            if let Some(file) = file {
                // The button goes: who pressed it by a key goes on from here.
                dom::focus(&me.scroller);
                me.list.borrow_mut().toggle(file);
                me.begin();
            }
            let widening = dom::attribute_at(&event, "data-widen");
            if let Some(what) = widening.as_deref().and_then(Widening::of_name) {
                // So does this one.
                dom::focus(&me.scroller);
                me.ask(what);
            }
        });
        // Side by side, a selection stays on the side it began on.
        let selects = dom::listen(&self.scroller, "pointerdown", move |event| {
            let Some(me) = for_select.upgrade() else {
                return;
            };
            let side = dom::child_at(&event, ".diff__pair > .diff__line");
            match side {
                Some(0) => dom::write_attribute(&me.scroller, "data-side", "old"),
                Some(_) => dom::write_attribute(&me.scroller, "data-side", "new"),
                None => dom::remove_attribute(&me.scroller, "data-side"),
            }
        });
        *self.listeners.borrow_mut() = vec![scrolled, keys, clicks, selects];
        let for_size = self.me.clone();
        let observer = HeightObserver::new(move |sizes| {
            if let (Some(me), Some((_, width_px, _))) = (for_size.upgrade(), sizes.last())
                // Hidden it has none.
                && *width_px > 0.0
            {
                me.on_width(*width_px);
            }
        });
        if let Some(observer) = &observer {
            observer.watch(&self.scroller);
        }
        *self.observer.borrow_mut() = observer;
    }

    fn on_width(&self, width_px: f64) {
        let before_px = self.width_px.replace(width_px);
        self.choices.0.width_px.set(width_px);
        let laid_out = self.laid_out.replace(true);
        if (before_px - width_px).abs() < 0.5 {
            let shown = self.shown();
            if !laid_out && (shown.wrap || shown.split) {
                // What was drawn before it had a place could not be measured.
                let drawn = self.drawn_range();
                let top_px = self.top_px.get();
                self.measure(&drawn.clone().collect::<Vec<_>>(), top_px);
                self.write_spaces(&drawn);
            }
            return;
        }
        self.restate();
        let shown = self.shown();
        if shown.wrap || shown.split {
            self.begin();
        }
        self.choices.tell();
    }

    fn on_key(&self, name: &str) -> bool {
        self.look();
        let command =
            keys::asked_in(Within::Diff, name).or_else(|| keys::asked_in(Within::Feed, name));
        match command {
            Some(Command::NextHunk) => self.step(true, false),
            Some(Command::PreviousHunk) => self.step(false, false),
            Some(Command::NextFile) => self.step(true, true),
            Some(Command::PreviousFile) => self.step(false, true),
            Some(Command::Sides) => self.choices.toggle_split(self.shown()),
            Some(Command::Wrap) => self.choices.toggle_wrap(self.shown()),
            Some(Command::Viewed) => {
                let file = self.list.borrow().file_of(self.first_item());
                if let Some(file) = file {
                    self.list.borrow_mut().toggle(file);
                    self.begin();
                }
            }
            _ => return false,
        }
        true
    }
}
