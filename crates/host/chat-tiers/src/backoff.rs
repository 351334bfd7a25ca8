//! How long a store that is away is left alone before it is tried again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chat_store::SessionId;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(15);

/// Doubles from a quarter of a second to fifteen, and starts again once something worked.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    n_failures: u32,
}

impl Backoff {
    pub(crate) fn worked(&mut self) {
        self.n_failures = 0;
    }

    /// What to wait after a failure. `chance` in 0 to 1 spreads those who lost the same store at the same moment: between half
    /// of the time and all of it.
    pub(crate) fn failed(&mut self, chance: f64) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.n_failures.min(16));
        self.n_failures += 1;
        doubled
            .min(LONGEST)
            .mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
    }
}

/// A log that could not be read is left alone for so long, and twice as long with each time, up to the longest.
const UNREAD_FIRST: Duration = Duration::from_secs(1);
const UNREAD_LONGEST: Duration = Duration::from_secs(30 * 60);

/// The sessions whose logs could not be read: how often, and when each is tried again. What this machine refuses it may give
/// the next moment, and what is damaged for good is not to be read all the time.
#[derive(Debug, Default)]
pub(crate) struct Unread(HashMap<SessionId, (u32, Instant)>);

impl Unread {
    /// It could not be read once more. Whether that is news.
    pub(crate) fn failed(&mut self, id: &SessionId) -> bool {
        let n_before = self.0.get(id).map_or(0, |(n, _)| *n);
        let pause = UNREAD_FIRST.saturating_mul(1 << n_before.min(16));
        let again = Instant::now() + pause.min(UNREAD_LONGEST);
        self.0.insert(id.clone(), (n_before + 1, again));
        n_before == 0
    }

    /// It was read, or is not there any more.
    pub(crate) fn forget(&mut self, id: &SessionId) {
        self.0.remove(id);
    }

    /// Whether it is to be left alone now.
    pub(crate) fn rests(&self, id: &SessionId) -> bool {
        let again = self.0.get(id).map(|(_, again)| *again);
        again.is_some_and(|again| Instant::now() < again)
    }

    pub(crate) fn n_resting(&self) -> usize {
        self.0.keys().filter(|id| self.rests(id)).count()
    }

    /// Those that are not left alone any more.
    pub(crate) fn due(&self) -> Vec<SessionId> {
        let ids = self.0.keys().filter(|id| !self.rests(id));
        ids.cloned().collect()
    }

    /// How long it is until one of them is tried again.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let next = self.0.values().map(|(_, again)| *again).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_cannot_be_read_is_left_alone_for_longer_each_time() {
        let mut unread = Unread::default();
        let id = SessionId::parse("s1").unwrap();
        assert!(unread.failed(&id));
        assert!(unread.rests(&id) && unread.due().is_empty());
        let first = unread.pause().unwrap();
        assert!(!unread.failed(&id));
        assert!(unread.pause().unwrap() > first);
        assert!((0..40).all(|_| !unread.failed(&id)));
        assert!(unread.pause().unwrap() <= UNREAD_LONGEST);
        unread.forget(&id);
        assert!(!unread.rests(&id) && unread.pause().is_none());
        assert!(unread.failed(&id));
    }

    #[test]
    fn it_waits_longer_each_time_up_to_a_bound_and_starts_again_once_something_worked() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..40).map(|_| backoff.failed(1.0)).collect();
        assert_eq!(waits[0], FIRST);
        assert!(waits.is_sorted());
        assert_eq!(waits[39], LONGEST);
        assert_eq!(backoff.failed(0.0), LONGEST / 2);
        backoff.worked();
        assert_eq!(backoff.failed(1.0), FIRST);
    }
}
