//! Token buckets: how much of something a sender may do, with a burst, and how long it must wait for more.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use crate::error::ApiError;
use crate::locked::locked;

/// How many senders are remembered. Beyond, those that have waited out their bucket are forgotten.
const MAX_BUCKETS: usize = 10_000;

/// So much a second, and so much at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    pub(crate) burst: f64,
}

impl Rate {
    /// So many a minute, which may all come at once.
    pub(crate) fn per_minute(n: u32) -> Self {
        Rate {
            per_second: f64::from(n) / 60.0,
            burst: f64::from(n),
        }
    }
}

/// The buckets of all senders, by a name of each.
#[derive(Default)]
pub(crate) struct Buckets(Mutex<HashMap<String, Bucket>>);

#[derive(Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
    rate: Rate,
}

impl Bucket {
    fn refilled(self, now: Instant) -> f64 {
        let elapsed = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + elapsed * self.rate.per_second).min(self.rate.burst)
    }
}

impl Buckets {
    /// Takes `n` from the bucket of `sender`; a rate of nothing is no limit.
    ///
    /// # Errors
    ///
    /// 429 with the time after which so much will be there. Nothing is taken then.
    pub(crate) fn take(&self, sender: &str, n: usize, rate: Rate) -> Result<(), ApiError> {
        self.take_all(&[(sender, rate)], n)
    }

    /// Takes `n` from the bucket of each. A later one is not made, nor looked at, where an earlier one has not enough.
    ///
    /// # Errors
    ///
    /// As [`Buckets::take`]. Nothing is taken from any then.
    pub(crate) fn take_all(&self, senders: &[(&str, Rate)], n: usize) -> Result<(), ApiError> {
        let Some((wait, rate)) = self.try_take(senders, n, Instant::now()) else {
            return Ok(());
        };
        let message = format!(
            "too much at once: {} a second are taken, and {} in one go",
            round(rate.per_second),
            rate.burst
        );
        let refusal = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message);
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Err(refusal.retry_after(wait_ms.max(1)))
    }

    /// How long to wait for which, where there is not enough.
    fn try_take(
        &self,
        senders: &[(&str, Rate)],
        n: usize,
        now: Instant,
    ) -> Option<(Duration, Rate)> {
        let mut buckets = locked(&self.0);
        let senders = senders.iter().filter(|(_, rate)| rate.per_second > 0.0);
        for (sender, rate) in senders.clone() {
            if let Some(wait) = wait_for(&mut buckets, (sender, *rate), n, now) {
                return Some((wait, *rate));
            }
        }
        for (sender, rate) in senders {
            if let Some(bucket) = buckets.get_mut(*sender) {
                bucket.left -= wanted(n, *rate);
            }
        }
        None
    }
}

/// More than a bucket holds would never be had: it costs a whole one.
fn wanted(n: usize, rate: Rate) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let n = n.max(1) as f64;
    n.min(rate.burst)
}

/// How long to wait until the bucket has enough, where it has not.
fn wait_for(
    buckets: &mut HashMap<String, Bucket>,
    (sender, rate): (&str, Rate),
    n: usize,
    now: Instant,
) -> Option<Duration> {
    if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(sender) {
        buckets.retain(|_, bucket| bucket.refilled(now) < bucket.rate.burst);
        if buckets.len() >= MAX_BUCKETS {
            return Some(Duration::from_secs(1));
        }
    }
    let full = Bucket {
        left: rate.burst,
        at: now,
        rate,
    };
    let bucket = buckets.entry(sender.to_owned()).or_insert(full);
    bucket.left = bucket.refilled(now);
    bucket.at = now;
    let lacks = wanted(n, rate) - bucket.left;
    (lacks > 0.0).then(|| Duration::from_secs_f64(lacks / rate.per_second))
}

fn round(per_second: f64) -> f64 {
    (per_second * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate {
        per_second: 200.0,
        burst: 2000.0,
    };

    impl Buckets {
        fn try_one(&self, sender: &str, n: usize, rate: Rate, now: Instant) -> Option<Duration> {
            let refused = self.try_take(&[(sender, rate)], n, now);
            refused.map(|(wait, _)| wait)
        }
    }

    #[test]
    fn a_burst_passes_and_then_so_much_a_second() {
        let buckets = Buckets::default();
        let start = Instant::now();
        assert_eq!(buckets.try_one("a", 2000, RATE, start), None);
        let wait = buckets.try_one("a", 100, RATE, start);
        assert_eq!(wait, Some(Duration::from_millis(500)));
        // A refusal takes nothing, so who waits as told is let in.
        let later = start + Duration::from_millis(501);
        assert_eq!(buckets.try_one("a", 100, RATE, later), None);
        assert!(buckets.try_one("a", 1, RATE, later).is_some());
        assert_eq!(buckets.try_one("b", 1, RATE, later), None);
    }

    #[test]
    fn more_than_a_bucket_holds_waits_for_a_full_one() {
        let buckets = Buckets::default();
        let start = Instant::now();
        assert_eq!(buckets.try_one("a", 1, RATE, start), None);
        let wait = buckets.try_one("a", 1_000_000, RATE, start);
        assert_eq!(wait, Some(Duration::from_millis(5)));
    }

    #[test]
    fn senders_that_are_quiet_are_forgotten() {
        let buckets = Buckets::default();
        let start = Instant::now();
        for n in 0..MAX_BUCKETS {
            assert_eq!(buckets.try_one(&n.to_string(), 1, RATE, start), None);
        }
        assert!(buckets.try_one("new", 1, RATE, start).is_some());
        let later = start + Duration::from_secs(1);
        assert_eq!(buckets.try_one("new", 1, RATE, later), None);
        assert_eq!(buckets.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn what_one_bucket_refuses_is_taken_from_none() {
        let buckets = Buckets::default();
        let start = Instant::now();
        let less = Rate {
            per_second: 1.0,
            burst: 10.0,
        };
        let both = |own: &str, n| {
            let senders = [(own, RATE), ("sandbox", less)];
            let refused = buckets.try_take(&senders, n, start);
            refused.map(|(wait, _)| wait)
        };
        assert_eq!(both("a", 8), None);
        for _ in 0..1000 {
            assert_eq!(both("a", 5), Some(Duration::from_secs(3)));
        }
        assert_eq!(buckets.try_one("a", 1992, RATE, start), None);
        // And the other way round: the sandbox has as much as before.
        assert_eq!(both("a", 2), Some(Duration::from_millis(10)));
        assert_eq!(both("b", 2), None);
        // Who has nothing left makes no bucket of another's.
        let senders = [("a", RATE), ("new", less)];
        assert!(buckets.try_take(&senders, 1, start).is_some());
        assert!(!locked(&buckets.0).contains_key("new"));
    }
}
