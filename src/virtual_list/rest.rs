//! How fast a list moves, and when it has come to rest.

use super::VirtualList;
use crate::platform::frame;

/// Nobody reads what moves faster, in px a second.
const FAST_PX_PER_S: f64 = 1_000.0;
/// What has not moved for so long is at rest, also where no browser says so.
const REST_MS: u32 = 100;

impl VirtualList {
    /// The browser says that it has come to rest, which it does after each frame that follows the end, too: there only what
    /// the reader moved rests.
    pub(super) fn scroll_ended(&self) {
        let moved_by_reader = {
            let viewport = self.viewport.borrow();
            !viewport.following() || viewport.is_moving()
        };
        if moved_by_reader {
            self.rested();
        }
    }

    /// It has come to rest.
    fn rested(&self) {
        self.moved_ms.set(None);
        self.viewport.borrow_mut().on_rest();
        self.rows.on_pace(false);
        (self.request_frame)();
    }

    /// What comes faster than anyone reads passes by as what is scrolled through does.
    pub(super) fn note_pace(&self) {
        let viewport = self.viewport.borrow();
        if !viewport.following() {
            return;
        }
        let now = (frame::now_ms(), viewport.list_top_px());
        drop(viewport);
        let before = self.followed.replace(now);
        let px_per_s = (now.1 - before.1) * 1_000.0 / (now.0 - before.0).max(1.0);
        if px_per_s > FAST_PX_PER_S {
            self.await_rest_at(px_per_s);
        }
    }

    /// Says how fast it moves, and looks after its rest: not every browser tells of the end of a movement, and none of
    /// one that was no scrolling.
    pub(super) fn await_rest(&self) {
        let velocity_px_per_s = {
            let viewport = self.viewport.borrow();
            if !viewport.is_moving() {
                return;
            }
            viewport.velocity_px_per_s()
        };
        self.await_rest_at(velocity_px_per_s);
    }

    fn await_rest_at(&self, velocity_px_per_s: f64) {
        self.rows.on_pace(velocity_px_per_s.abs() > FAST_PX_PER_S);
        self.moved_ms.set(Some(frame::now_ms()));
        if self.awaits_rest.replace(true) {
            return;
        }
        let me = self.me.clone();
        leptos::task::spawn_local(async move {
            let mut rest_ms = REST_MS;
            loop {
                frame::sleep(rest_ms).await;
                let Some(list) = me.upgrade() else { return };
                let Some(moved_ms) = list.moved_ms.get() else {
                    return list.awaits_rest.set(false);
                };
                let still_ms = frame::now_ms() - moved_ms;
                if still_ms >= f64::from(REST_MS) {
                    list.awaits_rest.set(false);
                    return list.rested();
                }
                // Less than the time for a rest.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                let left_ms = (f64::from(REST_MS) - still_ms).ceil() as u32;
                rest_ms = left_ms.max(1);
            }
        });
    }
}
