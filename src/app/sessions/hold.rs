//! When the list holds still: while somebody points at it, has the focus in it or has scrolled it, and stirs. What changed
//! meanwhile is shown when they leave it, or stir no more.

use leptos::prelude::*;

use crate::platform::frame;

/// Who has not stirred for so long reads something else.
const STILL_MS: f64 = 10_000.0;

/// Whether it does.
#[derive(Clone, Copy)]
pub(super) struct Hold {
    holds: RwSignal<bool>,
    by: StoredValue<By>,
}

/// What it holds still for.
#[derive(Clone, Copy, Default)]
struct By {
    pointer: bool,
    focus: bool,
    scrolled: bool,
    stirred_ms: f64,
    /// Somebody waits for the end of it already.
    is_timed: bool,
}

impl Hold {
    pub(super) fn new() -> Hold {
        Hold {
            holds: RwSignal::new(false),
            by: StoredValue::new(By::default()),
        }
    }

    /// Whether it holds still, for who is to be run again when that changes.
    pub(super) fn holds(self) -> bool {
        self.holds.get()
    }

    /// The pointer is over it and moves, or leaves it.
    pub(super) fn point(self, is_over: bool) {
        self.change(is_over, |by| by.pointer = is_over);
    }

    /// The focus comes, or a key, or it goes.
    pub(super) fn focus(self, is_in: bool) {
        self.change(is_in, |by| by.focus = is_in);
    }

    /// It is scrolled this far.
    pub(super) fn scroll(self, top_px: u32) {
        self.change(true, |by| by.scrolled = top_px > 0);
    }

    fn change(self, stirs: bool, change: impl FnOnce(&mut By)) {
        let now_ms = frame::now_ms();
        self.by.update_value(|by| {
            change(by);
            if stirs {
                by.stirred_ms = now_ms;
            }
        });
        let by = self.by.get_value();
        let holds = (by.pointer || by.focus || by.scrolled) && now_ms - by.stirred_ms < STILL_MS;
        if self.holds.get_untracked() != holds {
            self.holds.set(holds);
        }
        if holds && !by.is_timed {
            self.end_in_time();
        }
    }

    fn end_in_time(self) {
        self.by.update_value(|by| by.is_timed = true);
        leptos::task::spawn_local(async move {
            loop {
                let still_ms = frame::now_ms() - self.by.get_value().stirred_ms;
                if still_ms >= STILL_MS || !self.holds.get_untracked() {
                    break;
                }
                // It lies between nothing and ten seconds.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                frame::sleep((STILL_MS - still_ms).ceil().max(1.0) as u32).await;
            }
            self.by.update_value(|by| by.is_timed = false);
            if self.holds.get_untracked() {
                self.holds.set(false);
            }
        });
    }
}
