//! The time of a replay: when each event happened, with idle stretches cut short.
//!
//! Time is said in two ways. *Played* is what a replay takes at speed 1 with idle stretches cut; *elapsed* is what the
//! session took. Both begin at 0 with the first event, neither runs back: an event that bears an earlier time than one
//! before it, or none, happens at the same moment. Where times run far back they are counted on from there, for one event
//! with a wrong time would hold up all that come after it.

use crate::block::EventIdx;
use crate::feed::Feed;

/// A longer stretch in which nothing happens is played as long as this, unless another limit is set. [`crate::panel::timeline`]
/// cuts at the same.
pub const IDLE_LIMIT_MS: u64 = 2_000;
/// No limit is longer, so that a stretch fits into 32 bits: a day.
const LONGEST_LIMIT_MS: u64 = 86_400_000;
/// The pace of a log that bears no times, or one for everything: events come one after the other.
const EVEN_MS: u32 = 250;
/// More events than this within less than [`SUDDEN_MS`] did not happen so: they bear the time they were written down at,
/// as those of a log that was made of an agent's output afterwards.
const MOST_SUDDEN: usize = 10;
/// See [`MOST_SUDDEN`].
const SUDDEN_MS: u32 = 1_000;

/// A stretch that is cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The event that ends it.
    pub event: EventIdx,
    /// Where it begins, in milliseconds of playing; it is played as long as [`Clock::idle_limit_ms`].
    pub played_ms: u64,
    /// How much of it is left out, in milliseconds.
    pub left_out_ms: u64,
    /// How much was left out before it.
    left_out_before_ms: u64,
}

/// When each event happened.
///
/// It follows a session as it grows by [`Clock::follow`]; 4 bytes an event.
#[derive(Clone, Debug)]
pub struct Clock {
    idle_limit_ms: u64,
    played: Vec<u32>,
    cuts: Vec<Cut>,
    /// From when in the replay on the time on the wall is so far ahead of what elapsed: from the first time that was told,
    /// and from each that ran far back.
    anchors: Vec<(u32, i64)>,
    /// The newest time since the last of them.
    newest_ms: i64,
}

impl Default for Clock {
    fn default() -> Self {
        Clock::with_idle_limit(IDLE_LIMIT_MS)
    }
}

impl Clock {
    /// A clock of no events that cuts stretches to so many milliseconds: 1 at least, a day at most.
    ///
    /// ```
    /// let mut clock = chat_feed::playback::Clock::with_idle_limit(500);
    /// clock.take(Some(10_000));
    /// clock.take(Some(19_000));
    /// assert_eq!((clock.length_ms(), clock.elapsed_ms()), (500, 9_000));
    /// ```
    pub fn with_idle_limit(idle_limit_ms: u64) -> Clock {
        Clock {
            idle_limit_ms: idle_limit_ms.clamp(1, LONGEST_LIMIT_MS),
            played: Vec::new(),
            cuts: Vec::new(),
            anchors: Vec::new(),
            newest_ms: 0,
        }
    }

    /// How long a stretch is played at most, in milliseconds, in which nothing happens.
    pub fn idle_limit_ms(&self) -> u64 {
        self.idle_limit_ms
    }

    /// Takes the events that came since the last time. A feed that keeps no history has no times.
    pub fn follow(&mut self, feed: &Feed) {
        let Some(history) = feed.history.as_deref() else {
            return;
        };
        for time in history.times_from(self.played.len()) {
            self.take((time != crate::history::NO_TIME).then_some(time));
        }
    }

    /// Takes the time of one more event.
    pub fn take(&mut self, at_ms: Option<i64>) {
        let last = self.played.last().copied().unwrap_or(0);
        let Some(at_ms) = at_ms else {
            return self.played.push(last);
        };
        // Those of events that happen side by side may cross.
        let back_ms = self.newest_ms.saturating_sub(at_ms).max(0).unsigned_abs();
        if self.anchors.is_empty() || back_ms > IDLE_LIMIT_MS {
            let elapsed_ms = u64::from(last).saturating_add(self.left_out_ms());
            let ahead_ms = at_ms.saturating_sub_unsigned(elapsed_ms);
            self.anchors.push((last, ahead_ms));
            self.newest_ms = at_ms;
            return self.played.push(last);
        }
        let passed_ms = at_ms.saturating_sub(self.newest_ms).max(0).unsigned_abs();
        self.newest_ms = self.newest_ms.max(at_ms);
        if passed_ms > self.idle_limit_ms {
            self.cuts.push(Cut {
                // Counted by the renderer in 32 bits.
                event: u32::try_from(self.played.len()).unwrap_or(u32::MAX),
                played_ms: last.into(),
                left_out_ms: passed_ms - self.idle_limit_ms,
                left_out_before_ms: self.left_out_ms(),
            });
        }
        // At most a day, which 32 bits hold.
        #[allow(clippy::cast_possible_truncation)]
        let passed = passed_ms.min(self.idle_limit_ms) as u32;
        self.played.push(last.saturating_add(passed));
    }

    /// How many events there are.
    pub fn n_events(&self) -> u32 {
        u32::try_from(self.played.len()).unwrap_or(u32::MAX)
    }

    /// How long all of it plays.
    pub fn length_ms(&self) -> u64 {
        self.played_at(self.n_events())
    }

    /// Whether the pace is made up, because the log tells of no time that passed, or of next to none for so many events:
    /// then one event counts as much as another.
    pub fn is_reconstructed(&self) -> bool {
        let least_ms = match self.played.len() {
            0 | 1 => 0,
            2..=MOST_SUDDEN => 1,
            _ => SUDDEN_MS,
        };
        self.played
            .last()
            .is_some_and(|&length_ms| length_ms < least_ms)
    }

    /// How long the session took.
    pub fn elapsed_ms(&self) -> u64 {
        self.length_ms().saturating_add(self.left_out_ms())
    }

    /// The stretches that are cut short, in order.
    pub fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// How many events have happened so long into the replay.
    pub fn n_events_at(&self, played_ms: u64) -> u32 {
        if self.is_reconstructed() {
            let n_events = played_ms / u64::from(EVEN_MS) + 1;
            return u32::try_from(n_events)
                .unwrap_or(u32::MAX)
                .min(self.n_events());
        }
        let n_events = self
            .played
            .partition_point(|&at| u64::from(at) <= played_ms);
        u32::try_from(n_events).unwrap_or(u32::MAX)
    }

    /// When the newest of so many events happens: 0 before the first.
    pub fn played_at(&self, n_events: u32) -> u64 {
        let last = (n_events as usize).min(self.played.len()).checked_sub(1);
        if self.is_reconstructed() {
            return last.map_or(0, |last| last as u64 * u64::from(EVEN_MS));
        }
        last.map_or(0, |last| self.played[last].into())
    }

    /// The time of the session at a time of the replay. Within a cut it runs faster.
    pub fn elapsed_at(&self, played_ms: f64) -> f64 {
        let n_begun = self
            .cuts
            .partition_point(|cut| exact(cut.played_ms) < played_ms);
        let Some(cut) = n_begun.checked_sub(1).and_then(|last| self.cuts.get(last)) else {
            return played_ms;
        };
        let into_ms = (played_ms - exact(cut.played_ms)).min(exact(self.idle_limit_ms));
        let skipped_ms = exact(cut.left_out_ms) * into_ms / exact(self.idle_limit_ms);
        played_ms + exact(cut.left_out_before_ms) + skipped_ms
    }

    /// The other way round.
    pub fn played_of(&self, elapsed_ms: f64) -> f64 {
        let begins = |cut: &Cut| exact(cut.played_ms.saturating_add(cut.left_out_before_ms));
        let n_begun = self.cuts.partition_point(|cut| begins(cut) < elapsed_ms);
        let played_ms = match n_begun.checked_sub(1).and_then(|last| self.cuts.get(last)) {
            None => elapsed_ms,
            Some(cut) => {
                let into_ms = elapsed_ms - begins(cut);
                let limit_ms = exact(self.idle_limit_ms);
                let long_ms = exact(cut.left_out_ms) + limit_ms;
                exact(cut.played_ms)
                    + (into_ms * limit_ms / long_ms).min(limit_ms)
                    + (into_ms - long_ms).max(0.0)
            }
        };
        played_ms.min(exact(self.length_ms()))
    }

    /// The time on the wall at a time of the replay, Unix epoch in milliseconds; `None` where no event bears a time.
    pub fn wall_ms_at(&self, played_ms: f64) -> Option<i64> {
        if self.is_reconstructed() {
            return self.anchors.first().map(|(_, first_ms)| *first_ms);
        }
        let n_begun = self
            .anchors
            .partition_point(|(from, _)| f64::from(*from) <= played_ms);
        let (_, ahead_ms) = self.anchors.get(n_begun.max(1) - 1)?;
        // Cut to the range where that is not possible otherwise.
        #[allow(clippy::cast_possible_truncation)]
        let elapsed_ms = self.elapsed_at(played_ms) as i64;
        Some(ahead_ms.saturating_add(elapsed_ms))
    }

    fn left_out_ms(&self) -> u64 {
        let last = self.cuts.last();
        last.map_or(0, |cut| {
            cut.left_out_before_ms.saturating_add(cut.left_out_ms)
        })
    }
}

/// Milliseconds of a session are far below 2^53.
#[allow(clippy::cast_precision_loss)]
pub(super) fn exact(ms: u64) -> f64 {
    ms as f64
}
