//! What a session says that it used since its beginning, each time with all before: how such figures follow one another.

use serde::{Deserialize, Serialize};

use crate::pack::{Pack, Packer, Unpacker};
use crate::payload::Usage;

/// What a figure is to the one that was taken before it.
#[derive(Clone, Copy)]
enum SumStep {
    /// It stands in its place.
    Grown,
    /// The source began to count anew: both count.
    Anew,
    /// It was told before, or in between: another source tells it again, and it says only what the other one left out.
    Past,
}

/// Tokens, as they add up: one number of all of them, or one for each kind.
pub trait Tokens: Copy + PartialEq {
    /// What is told.
    fn of(usage: &Usage) -> Self;
    /// Both together.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// As [`Usage::fresh_tokens`].
    fn fresh(self) -> u64;
}

impl Tokens for u64 {
    fn of(usage: &Usage) -> u64 {
        usage.fresh_tokens()
    }

    fn plus(self, other: u64) -> u64 {
        self.saturating_add(other)
    }

    fn fresh(self) -> u64 {
        self
    }
}

/// Figures of what was used, each where it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures<T> {
    /// Tokens.
    pub tokens: Option<T>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
}

impl<T: Tokens> Figures<T> {
    /// What is told.
    pub fn of(usage: &Usage) -> Self {
        Figures {
            tokens: usage.tells_tokens().then(|| T::of(usage)),
            cost_usd: usage.cost_usd,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Figures {
            tokens: match (self.tokens, other.tokens) {
                (Some(one), Some(other)) => Some(one.plus(other)),
                (one, other) => one.or(other),
            },
            cost_usd: match (self.cost_usd, other.cost_usd) {
                (Some(one), Some(other)) => Some(one + other),
                (one, other) => one.or(other),
            },
        }
    }

    /// These, and those of `other` where these say nothing.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Figures {
            tokens: self.tokens.or(other.tokens),
            cost_usd: self.cost_usd.or(other.cost_usd),
        }
    }

    /// These without what `other` says, where no later word came in its place.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        if other.or(self) != self {
            return self;
        }
        Figures {
            tokens: self.tokens.filter(|_| other.tokens.is_none()),
            cost_usd: self.cost_usd.filter(|_| other.cost_usd.is_none()),
        }
    }

    /// Cost in US dollars, in whole parts of one: sums of money have noise in their last digits, by which equal sessions would
    /// differ.
    pub fn cost_in(self, parts_of_dollar: f64) -> Option<f64> {
        let cost = self.cost_usd.filter(|cost| cost.is_finite())?;
        Some((cost * parts_of_dollar).round() / parts_of_dollar)
    }
}

impl<T: Pack> Pack for Figures<T> {
    fn pack(&self, out: &mut Packer) {
        self.tokens.pack(out);
        self.cost_usd.pack(out);
    }

    fn unpack(input: &mut Unpacker<'_>) -> Self {
        Figures {
            tokens: Pack::unpack(input),
            cost_usd: Pack::unpack(input),
        }
    }
}

/// What a session says that it used: in the run that it counts now, when that was told, and in those before it.
#[derive(Debug)]
pub struct SessionRuns<'a, T> {
    /// Of the run that goes on.
    pub now: &'a mut Figures<T>,
    /// When that was told, at the latest; Unix epoch in milliseconds.
    pub now_ms: &'a mut Option<i64>,
    /// Of those before.
    pub past: &'a mut Figures<T>,
}

impl<T: Tokens> SessionRuns<'_, T> {
    /// Takes what is told: what was used since a run's beginning where it `is_cumulative`, else what a run used in all.
    ///
    /// ```
    /// use chat_event::{Figures, SessionRuns};
    /// let (mut now, mut now_ms, mut past) = (Figures::default(), None, Figures::default());
    /// let mut take = |tokens: u64, at_ms| {
    ///     let runs = SessionRuns { now: &mut now, now_ms: &mut now_ms, past: &mut past };
    ///     runs.take(Figures { tokens: Some(tokens), cost_usd: None }, true, Some(at_ms));
    ///     (past.tokens, now.tokens)
    /// };
    /// assert_eq!(take(10, 1), (None, Some(10)));
    /// assert_eq!(take(30, 2), (None, Some(30)));
    /// // Told late.
    /// assert_eq!(take(20, 1), (None, Some(30)));
    /// // Another run.
    /// assert_eq!(take(10, 3), (Some(30), Some(10)));
    /// ```
    pub fn take(self, told: Figures<T>, is_cumulative: bool, at_ms: Option<i64>) {
        let step = match is_cumulative {
            true => self.step_to(told, at_ms),
            false => SumStep::Anew,
        };
        *self.now = match step {
            SumStep::Grown => told.or(*self.now),
            SumStep::Past => self.now.or(told),
            SumStep::Anew => {
                *self.past = self.past.plus(*self.now);
                told
            }
        };
        *self.now_ms = (*self.now_ms).max(at_ms);
    }

    fn step_to(&self, told: Figures<T>, at_ms: Option<i64>) -> SumStep {
        let is_earlier = at_ms.is_some() && at_ms < *self.now_ms;
        let (tokens, known) = (told.tokens.map(T::fresh), self.now.tokens.map(T::fresh));
        let is_less = match (tokens, known) {
            (Some(told), Some(known)) => told < known,
            // Who tells of no tokens may have counted none since it began anew: the cost says so.
            _ => told
                .cost_usd
                .zip(self.now.cost_usd)
                .is_some_and(|(told, known)| told < known),
        };
        let is_first_run = self.past.tokens.is_none() && self.past.cost_usd.is_none();
        match (is_earlier, is_less) {
            (false, false) => SumStep::Grown,
            (false, true) => SumStep::Anew,
            // A clock may go back while the sum grows.
            (true, false) if is_first_run && tokens != known => SumStep::Grown,
            (true, _) => SumStep::Past,
        }
    }
}

impl Usage {
    /// Whether it tells of tokens: a source may tell the cost alone, or how full the context is.
    fn tells_tokens(&self) -> bool {
        let others = [
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.reasoning_tokens,
        ];
        self.input_tokens > 0
            || self.output_tokens > 0
            || others.into_iter().flatten().any(|tokens| tokens > 0)
    }
}
