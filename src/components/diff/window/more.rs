//! More of the file in an open diff: asked for by the reader, shown once its text is here.

use chat_feed::diff_list::{CHUNK_ITEMS, Widening};

use super::Window;
use crate::components::diff::Restates;
use crate::platform::measure;

impl Window {
    /// Shows what was asked for when the row was here before.
    pub(super) fn widen_again(&self) {
        let Some(old) = self.old else { return };
        let around = self.choices.0.around.borrow().get(&old.block()).cloned();
        if let (Some(around), Some(text)) = (around, old.text()) {
            let mut list = self.list.borrow_mut();
            list.ask_again(around.clone());
            // What was asked for fitted then.
            let _ = list.widen(&text);
            *self.widened.borrow_mut() = around;
        }
    }

    /// The reader asks for more of the file.
    pub(super) fn ask(&self, what: Widening) {
        let Some(old) = self.old else { return };
        {
            let mut list = self.list.borrow_mut();
            self.stays.set(list.beside(what));
            if old.has_failed() {
                // Pressed once more, a button shows no more than it says.
                list.ask_again(self.widened.borrow().clone());
            }
            list.ask(what);
            let around = list.around().to_vec();
            self.choices
                .0
                .around
                .borrow_mut()
                .insert(old.block(), around);
        }
        self.is_asked.set(true);
        old.ask();
        // What stands in the event has come by now, and is shown.
        self.widen();
    }

    /// Shows what was asked for, where the text is here.
    pub(super) fn widen_now(&self) {
        let Some((old, text)) = self.old.and_then(|old| Some((old, old.text()?))) else {
            return;
        };
        self.is_asked.set(false);
        self.look();
        let top_px = self.top_px.get();
        let stays = self.stays.take();
        let place = || self.list.borrow().place_of_line(stays?);
        let before = place().map(|item| (self.screen_px(item), self.top_of(item)));
        // Where the text is another one the buttons go, and that is all there is to say.
        let _ = self.list.borrow_mut().widen(&text);
        *self.widened.borrow_mut() = self.list.borrow().around().to_vec();
        // Hunks are others now.
        self.colours.borrow_mut().clear();
        self.asked.borrow_mut().clear();
        self.fresh.borrow_mut().clear();
        self.begin();
        let mut raised_px = 0.0;
        match (before, place()) {
            (Some((Some(screen_px), before_px)), Some(item)) => {
                self.scroll_to(top_px + self.top_of(item) - before_px);
                self.update();
                // What wraps is measured on the way, and may be of another height.
                let off_px = || self.screen_px(item).map_or(0.0, |px| px - screen_px);
                self.scroll_to(self.top_px.get() + off_px());
                self.update();
                raised_px = off_px();
            }
            _ => {
                self.scroll_to(top_px);
                self.update();
            }
        }
        // As far as the diff could not scroll its row goes up.
        old.raise(raised_px);
    }

    /// Where an item that is drawn is on the screen.
    fn screen_px(&self, item: usize) -> Option<f64> {
        let drawn = self.drawn.borrow();
        let chunk = drawn.get(&(item / CHUNK_ITEMS))?;
        let mut line = chunk.first_element_child()?;
        for _ in 0..item % CHUNK_ITEMS {
            line = line.next_element_sibling()?;
        }
        Some(measure::top(&line))
    }
}
