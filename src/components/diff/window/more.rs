//! More of the file in an open diff: asked for by the reader, shown once its text is here.

use chat_feed::diff_list::Widening;

use super::Window;
use crate::components::diff::OldText;

impl Window {
    /// Shows what was asked for when the row was here before.
    pub(super) fn widen_again(&self) {
        let Some(old) = self.old else { return };
        let around = self.choices.0.around.borrow().get(&old.block()).cloned();
        if let (Some(around), Some(text)) = (around, old.text()) {
            let mut list = self.list.borrow_mut();
            list.ask_again(around);
            // What was asked for fitted then.
            let _ = list.widen(&text);
        }
    }

    /// The reader asks for more of the file.
    pub(super) fn ask(&self, what: Widening) {
        let Some(old) = self.old else { return };
        old.pin();
        {
            let mut list = self.list.borrow_mut();
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
        self.widen_now();
    }

    /// Shows what was asked for, where the text is here.
    pub(super) fn widen_now(&self) {
        let Some(text) = self.old.and_then(OldText::text) else {
            return;
        };
        self.is_asked.set(false);
        // Where the text is another one the buttons go, and that is all there is to say.
        let _ = self.list.borrow_mut().widen(&text);
        // Hunks are others now.
        self.colours.borrow_mut().clear();
        self.asked.borrow_mut().clear();
        self.fresh.borrow_mut().clear();
        self.look();
        let top_px = self.top_px.get();
        self.begin();
        self.scroll_to(top_px);
        self.update();
    }
}
