//! Chapters of a session: each prompt begins one, and each place that the page has named.

use super::stops::{Marker, Stops};

impl Stops {
    /// The markers that chapters begin with, in order.
    pub fn chapters(&self) -> &[Marker] {
        &self.chapters
    }

    /// Which of the chapters so many events lead into, from 0; `None` before the first.
    pub fn chapter_at(&self, n_events: u32) -> Option<usize> {
        let n_seen = self
            .chapters
            .partition_point(|marker| marker.event < n_events);
        n_seen.checked_sub(1)
    }
}
