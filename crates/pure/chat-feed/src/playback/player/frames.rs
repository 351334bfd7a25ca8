//! Playing: what each frame brings, and what ends it.

use std::ops::Range;

use super::{Player, State, whole};
use crate::block::EventIdx;
use crate::playback::clock::{IDLE_LIMIT_MS, exact};
use crate::playback::stops::Stops;
use crate::viewport::within;

/// A page that was hidden or held up goes on where it was, and does not jump.
const LONGEST_FRAME_MS: f64 = 250.0;

impl Player {
    /// A frame is about to be drawn; whether there will be something else in the next.
    ///
    /// `now_ms` is any clock that does not run back; `stops` are those of the session that is played.
    pub fn advance(&mut self, now_ms: f64, stops: &Stops) -> bool {
        self.passed = 0..0;
        if self.state != State::ReplayPlaying {
            self.forget_frames();
            return false;
        }
        let last_ms = self.last_frame_ms.replace(now_ms);
        self.fit_axis();
        let (n_before, before_ms) = (self.n_events, self.played_ms);
        if n_before < self.clock.n_events() {
            let passed_ms = last_ms.map_or(0.0, |last_ms| {
                within(now_ms - last_ms, 0.0, LONGEST_FRAME_MS)
            });
            // What was waited for at the newest of a session that goes on is not waited for again.
            let waited_since_ms = self.at_end_since_ms.take().filter(|_| self.goes_on);
            let waited_ms = waited_since_ms.map_or(0.0, |since_ms| now_ms - since_ms);
            self.move_on(passed_ms.max(waited_ms) * self.speed);
        }
        let passed = n_before..self.n_events;
        if self.pauses_on_markers
            && let Some(n_events) = self.marker_after(before_ms, passed.clone(), stops)
        {
            self.go_to(n_events);
            self.pause();
            self.passed = n_before..n_events;
            return false;
        }
        self.passed = passed;
        if self.n_events < self.clock.n_events() {
            return true;
        }
        self.go_to_end();
        let since_ms = *self.at_end_since_ms.get_or_insert(now_ms);
        if self.more_comes {
            return false;
        }
        if self.loops && self.clock.length_ms() > 0 {
            // The end is to be seen, too.
            if now_ms - since_ms >= exact(IDLE_LIMIT_MS) {
                (self.n_events, self.played_ms) = (0, 0.0);
                self.at_end_since_ms = None;
            }
            return true;
        }
        self.pause();
        false
    }

    fn move_on(&mut self, by_ms: f64) {
        self.played_ms = if self.skips_idle {
            self.played_ms + by_ms
        } else {
            let elapsed_ms = self.clock.elapsed_at(self.played_ms);
            self.clock.played_of(elapsed_ms + by_ms)
        };
        self.n_events = self.clock.n_events_at(whole(self.played_ms));
    }

    /// The events that the last frame of playing brought; going elsewhere by hand brings none.
    pub fn passed(&self) -> Range<EventIdx> {
        self.passed.clone()
    }

    /// So many events show the first marker among those that lies behind a time: one at the very place where playing
    /// began would stop it before anything is played.
    fn marker_after(&self, played_ms: f64, among: Range<EventIdx>, stops: &Stops) -> Option<u32> {
        let markers = stops.markers_in(among).iter();
        let mut ends = markers.map(|marker| marker.event + 1);
        ends.find(|n_events| exact(self.clock.played_at(*n_events)) > played_ms)
    }

    /// No time has passed where it goes on from.
    pub(super) fn forget_frames(&mut self) {
        (self.last_frame_ms, self.at_end_since_ms) = (None, None);
    }
}
