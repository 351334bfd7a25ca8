//! How long a store that is away is left alone before it is tried again.

use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::*;

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
