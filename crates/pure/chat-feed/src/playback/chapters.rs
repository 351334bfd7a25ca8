//! Chapters of a session: each prompt begins one.

use super::stops::{Marker, MarkerKind, Stops};

impl Stops {
    /// The prompts that chapters begin with, in order.
    pub fn chapters(&self) -> impl DoubleEndedIterator<Item = &Marker> {
        self.markers()
            .iter()
            .filter(|marker| marker.kind == MarkerKind::Prompt)
    }

    /// The chapter that so many events lead into; `None` before the first.
    pub fn chapter_at(&self, n_events: u32) -> Option<&Marker> {
        let markers = self.markers();
        let n_seen = markers.partition_point(|marker| marker.event < n_events);
        let seen = markers.get(..n_seen)?.iter();
        seen.rev().find(|marker| marker.kind == MarkerKind::Prompt)
    }
}
