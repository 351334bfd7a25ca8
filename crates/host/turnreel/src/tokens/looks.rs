//! Looks at files, one after the other: a disk that hangs has one thread, and holds up the others for a moment.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::locked::locked;

/// So long a look of another is waited for; a disk that takes longer hangs.
const PATIENCE: Duration = Duration::from_millis(250);

/// Whether one is taken, and since when.
#[derive(Default)]
pub(super) struct Looks {
    since: Mutex<Option<Instant>>,
    over: Condvar,
}

impl Looks {
    /// Takes a look; none where the disk hangs under another: who asks goes by what was seen before.
    pub(super) fn take(&self, look: impl FnOnce()) {
        let mut since = locked(&self.since);
        while let Some(began) = *since {
            let left = PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() {
                return;
            }
            let waited = self.over.wait_timeout(since, left);
            since = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *since = Some(Instant::now());
        drop(since);
        let _over = Over(self);
        look();
    }
}

#[cfg(test)]
impl Looks {
    /// Whether somebody looks.
    pub(super) fn is_taken(&self) -> bool {
        locked(&self.since).is_some()
    }
}

/// Ends a look, however it went.
struct Over<'a>(&'a Looks);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        *locked(&self.0.since) = None;
        self.0.over.notify_all();
    }
}
