//! How much came in each of the last half minutes: the small line of bars that a list shows.

use serde::{Deserialize, Serialize};

/// One bar.
const SLOT_MS: i64 = 30_000;
/// Ten minutes.
const MOST_SLOTS: usize = 20;

/// Events by half minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pace {
    /// When the newest half minute began, Unix epoch in milliseconds.
    pub newest_ms: i64,
    /// Events in each, the oldest first; 20 at most, and none before the first event of the session.
    pub counts: Vec<u32>,
}

impl Pace {
    /// Takes an event that was stored at this time.
    pub(crate) fn take(&mut self, at_ms: i64) {
        let slot_ms = at_ms - at_ms.rem_euclid(SLOT_MS);
        if self.counts.is_empty() {
            self.newest_ms = slot_ms;
            self.counts.push(0);
        }
        let ahead = slot_ms.saturating_sub(self.newest_ms) / SLOT_MS;
        // A clock that was set back counts where it stood.
        if let Some(n_new) = usize::try_from(ahead).ok().filter(|n_new| *n_new > 0) {
            if n_new >= MOST_SLOTS {
                self.counts.clear();
                self.counts.push(0);
            } else {
                self.counts.extend(std::iter::repeat_n(0, n_new));
                let n_over = self.counts.len().saturating_sub(MOST_SLOTS);
                self.counts.drain(..n_over);
            }
            self.newest_ms = slot_ms;
        }
        if let Some(newest) = self.counts.last_mut() {
            *newest = newest.saturating_add(1);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }
}
