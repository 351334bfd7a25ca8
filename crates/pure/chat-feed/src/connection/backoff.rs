//! When to try again, and when a silent socket is taken for dead.

const FIRST_WAIT_MS: f64 = 500.0;
const LONGEST_WAIT_MS: f64 = 30_000.0;
/// Hidden pages try once a minute at most.
const HIDDEN_WAIT_MS: f64 = 60_000.0;
/// After so long without trouble the next trouble is a first one.
const SETTLED_MS: f64 = 30_000.0;
/// Servers beat every 15 s, a tenth more or less; two may get lost.
const SILENCE_MS: f64 = 35_000.0;
/// An answer to a ping is expected this soon.
const PONG_MS: f64 = 3_000.0;

/// The wait between two tries: `rand(0, min(30 s, 0.5 s · 2^n))` beyond what the server asked for.
#[derive(Clone, Debug, Default)]
pub struct Backoff {
    n_tries: u32,
    live_since_ms: Option<f64>,
    /// When the wait began, and how long it is.
    wait: Option<(f64, f64)>,
}

impl Backoff {
    /// The connection works from now on.
    pub fn connected(&mut self, now_ms: f64) {
        self.live_since_ms = Some(now_ms);
        self.wait = None;
    }

    /// It works, as it may have done before.
    pub fn works(&mut self, now_ms: f64) {
        if self.live_since_ms.is_none() {
            self.connected(now_ms);
        }
    }

    /// A wait begins; `random` is a number from 0 up to 1.
    pub fn begin(&mut self, now_ms: f64, random: f64, asked_ms: Option<u64>) {
        let live_since_ms = self.live_since_ms.take();
        if live_since_ms.is_some_and(|since_ms| now_ms - since_ms > SETTLED_MS) {
            self.n_tries = 0;
        }
        let most_ms =
            (FIRST_WAIT_MS * 2_f64.powi(self.n_tries.min(10).cast_signed())).min(LONGEST_WAIT_MS);
        self.n_tries = self.n_tries.saturating_add(1);
        // What a server asks for is a hint, and not to be waited for without end.
        let asked_ms = asked_ms.map_or(0.0, |asked_ms| {
            f64::from(u32::try_from(asked_ms).unwrap_or(u32::MAX))
        });
        let wait_ms = asked_ms.min(LONGEST_WAIT_MS) + random * most_ms;
        self.wait = Some((now_ms, wait_ms));
    }

    /// Try at once.
    pub fn cut_short(&mut self, now_ms: f64) {
        self.wait = Some((now_ms, 0.0));
    }

    /// Which try the wait is for, from 1.
    pub fn attempt(&self) -> u32 {
        self.n_tries
    }

    /// When the next try is due.
    pub fn due_ms(&self, is_hidden: bool) -> Option<f64> {
        let (began_ms, wait_ms) = self.wait?;
        let least_ms = if is_hidden && wait_ms > 0.0 {
            HIDDEN_WAIT_MS
        } else {
            0.0
        };
        Some(began_ms + wait_ms.max(least_ms))
    }
}

/// The signs of life of one socket.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    heard_ms: f64,
    pinged_ms: Option<f64>,
    n_pings: u64,
}

impl Liveness {
    /// The socket is open, or said something.
    pub fn heard(&mut self, now_ms: f64) {
        self.heard_ms = now_ms;
        self.pinged_ms = None;
    }

    /// It is asked whether it is there; the number of the ping.
    pub fn ping(&mut self, now_ms: f64) -> u64 {
        self.pinged_ms = Some(now_ms);
        self.n_pings += 1;
        self.n_pings
    }

    /// Whether it has been silent for too long.
    pub fn is_dead(&self, now_ms: f64) -> bool {
        now_ms >= self.due_ms()
    }

    /// When it will have been silent for too long.
    pub fn due_ms(&self) -> f64 {
        let pong_ms = self.pinged_ms.map(|pinged_ms| pinged_ms + PONG_MS);
        (self.heard_ms + SILENCE_MS).min(pong_ms.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_half_a_minute_and_begin_anew_after_a_quiet_one() {
        let mut backoff = Backoff::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            backoff.begin(0.0, 1.0, None);
            waits.push(backoff.due_ms(false).unwrap_or_default());
        }
        assert_eq!(
            waits,
            [500.0, 1e3, 2e3, 4e3, 8e3, 16e3, 30e3, 30e3],
            "the longest wait of each try"
        );
        backoff.connected(0.0);
        backoff.begin(20_000.0, 1.0, None);
        assert_eq!(
            backoff.due_ms(false),
            Some(50_000.0),
            "it was up for too short"
        );
        backoff.connected(60_000.0);
        backoff.begin(95_000.0, 1.0, None);
        assert_eq!(backoff.due_ms(false), Some(95_500.0));
    }

    #[test]
    fn hidden_pages_wait_a_minute_and_servers_are_heeded_to_a_point() {
        let mut backoff = Backoff::default();
        backoff.begin(0.0, 0.0, Some(7_000));
        assert_eq!(backoff.due_ms(false), Some(7_000.0));
        assert_eq!(backoff.due_ms(true), Some(60_000.0));
        backoff.begin(0.0, 0.0, Some(u64::MAX));
        assert_eq!(backoff.due_ms(false), Some(30_000.0));
        backoff.cut_short(9.0);
        assert_eq!(backoff.due_ms(true), Some(9.0));
    }

    #[test]
    fn a_socket_is_dead_after_two_lost_beats_or_an_unanswered_ping() {
        let mut liveness = Liveness::default();
        liveness.heard(1_000.0);
        assert!(!liveness.is_dead(35_999.0));
        assert!(liveness.is_dead(36_000.0));
        liveness.ping(2_000.0);
        assert!(liveness.is_dead(5_000.0));
        liveness.heard(4_000.0);
        assert!(!liveness.is_dead(5_000.0));
    }
}
