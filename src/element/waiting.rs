//! A log whose server falls silent: the reader is told that it is not all there, and can have it asked for again.
//!
//! What the server of a session does is told by its connection.

use leptos::prelude::Set;

use super::FeedElement;
use crate::components::bar::Note;
use crate::platform::frame;
use crate::transport::again::Origin;

/// So often it is looked whether something came: most servers that pause go on sooner.
const LOOK_MS: u32 = 3_000;

impl FeedElement {
    /// Looks after the log that is read from an address from now on.
    pub(super) fn attend(&self) {
        let (me, since_ms) = (self.me.clone(), self.reading_since_ms.get());
        wasm_bindgen_futures::spawn_local(async move {
            let mut known = (0, 0);
            loop {
                frame::sleep(LOOK_MS).await;
                let Some(me) = me.upgrade() else { return };
                if !me.is_reading(since_ms) {
                    return;
                }
                let now = (me.store.event_count(), me.n_read.get());
                me.view.bar.away.set((now == known).then(|| me.silence()));
                known = now;
            }
        });
    }

    /// Whether the log whose reading began then is read still.
    fn is_reading(&self, since_ms: f64) -> bool {
        let same = self.reading_since_ms.get().to_bits() == since_ms.to_bits();
        let from_address = matches!(*self.origin.borrow(), Some(Origin::Address(..)));
        same && from_address && self.state.get() == "loading"
    }

    fn silence(&self) -> Note {
        let (what, more) = match self.store.event_count() {
            0 => ("Waiting for the log", "Nothing has come yet."),
            _ => (
                "Waiting for the rest of the log",
                "Nothing comes for now. What is shown is not all of it.",
            ),
        };
        Note {
            what: what.to_owned(),
            more: more.to_owned(),
        }
    }
}
