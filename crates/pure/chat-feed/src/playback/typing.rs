//! Texts that came whole, and how they are typed nevertheless.
//!
//! Many sources give only the end of a text. In a replay it is typed before the moment it came, at an even pace, and the
//! player says that this pace is made up. Texts that came in pieces, and those whose rhythm a compacted log kept, are not
//! among them: their pieces are events, each at its time.

use super::clock::{Clock, exact};
use crate::block::EventIdx;
use crate::feed::Feed;
use crate::history::WholeText;

/// About as fast as a model writes. A text that would take longer than the time before it is typed faster.
const BYTES_PER_SECOND: f64 = 320.0;

/// The beginning of a text that comes whole with the next event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Typed {
    /// The event that brings it.
    pub event: EventIdx,
    /// How much of it is there, from 0 to 1.
    pub share: f64,
}

/// The texts of a session that came whole; it follows the session as it grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Typing {
    whole_texts: Vec<WholeText>,
}

impl Typing {
    /// Takes those that came since the last time.
    pub(super) fn follow(&mut self, feed: &Feed) {
        let Some(history) = feed.history.as_deref() else {
            return;
        };
        let more = history.whole_texts_from(self.whole_texts.len());
        self.whole_texts.extend_from_slice(more);
    }

    /// What is typed at a time of the replay, between the newest of so many events and the next.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn at(&self, clock: &Clock, n_events: u32, played_ms: f64) -> Option<Typed> {
        let texts = &self.whole_texts;
        let nth = texts.binary_search_by_key(&n_events, |whole| whole.event);
        let whole = texts.get(nth.ok()?)?;
        let end_ms = exact(clock.played_at(n_events + 1));
        let before_ms = end_ms - exact(clock.played_at(n_events));
        let takes_ms = (whole.len as f64 * 1_000.0 / BYTES_PER_SECOND).min(before_ms);
        let typed_ms = played_ms - (end_ms - takes_ms);
        (typed_ms > 0.0 && typed_ms < takes_ms).then(|| Typed {
            event: n_events,
            share: typed_ms / takes_ms,
        })
    }
}
