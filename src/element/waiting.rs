//! A log whose server falls silent: the reader is told that it is not all there, can have it asked for again, and need not
//! wait for it.
//!
//! What the server of a session does is told by its connection.

use leptos::prelude::Set;

use super::FeedElement;
use crate::components::bar::Note;
use crate::platform::frame;
use crate::transport::again::Origin;
use crate::transport::{Failure, Progress, Update};

/// So often it is looked whether something came.
const LOOK_MS: u32 = 500;
/// After so many looks in vain it is said: most servers that pause go on sooner.
const SAID_AFTER: u32 = 6;

impl FeedElement {
    /// Looks after the log that is read from an address from now on.
    pub(super) fn attend(&self) {
        let (me, since_ms) = (self.me.clone(), self.reading_since_ms.get());
        wasm_bindgen_futures::spawn_local(async move {
            let mut known = (0, Progress::default());
            let mut n_vain = 0;
            loop {
                frame::sleep(LOOK_MS).await;
                let Some(me) = me.upgrade() else { return };
                if !me.is_reading(since_ms) {
                    return;
                }
                let now = (me.store.event_count(), me.progress.get());
                if now != known {
                    (known, n_vain) = (now, 0);
                    me.view.bar.away.set(None);
                    continue;
                }
                n_vain += 1;
                if now.1.n_read > 0 {
                    me.show_progress(now.1);
                }
                if n_vain == SAID_AFTER {
                    me.view.bar.away.set(Some(me.silence()));
                }
                me.stop_waiting();
            }
        });
    }

    /// Whether the log whose reading began then is read still.
    fn is_reading(&self, since_ms: f64) -> bool {
        let same = self.reading_since_ms.get().to_bits() == since_ms.to_bits();
        let from_address = matches!(*self.origin.borrow(), Some(Origin::Address(..)));
        same && from_address && self.state.get() == "loading"
    }

    /// Ends it where that is wanted. What reads looks for that when something comes, and a worker by itself.
    fn stop_waiting(&self) {
        if self.limits().stop.get() && !self.heard.get() {
            self.running.borrow_mut().take();
            let what = "only the beginning is shown; reading was stopped";
            self.take(Update::Stopped(Failure::new(what, "")));
        }
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
