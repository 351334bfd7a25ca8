//! What a session says that it used since its beginning, each time with all before: how such figures follow one another.

use crate::payload::Usage;

/// Such a figure, and when it was told, Unix epoch in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionSum {
    /// Tokens, as [`Usage::fresh_tokens`]; none where it tells of none.
    pub tokens: Option<u64>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// When.
    pub at_ms: Option<i64>,
}

/// What a figure is to the one that was taken before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumStep {
    /// It stands in its place.
    Grown,
    /// The source began to count anew: both count.
    Anew,
    /// It was told before, or in between: another source tells it again, and it says only what the other one left out.
    Past,
}

impl SessionSum {
    /// What `told` is to this one; `is_first_run` where the source never began to count anew.
    ///
    /// ```
    /// use chat_event::{SessionSum, SumStep};
    /// let sum = |tokens, at_ms| SessionSum { tokens: Some(tokens), at_ms: Some(at_ms), ..SessionSum::default() };
    /// assert_eq!(sum(10, 1).step_to(sum(30, 2), true), SumStep::Grown);
    /// assert_eq!(sum(30, 2).step_to(sum(10, 1), true), SumStep::Past);
    /// assert_eq!(sum(30, 2).step_to(sum(10, 3), true), SumStep::Anew);
    /// ```
    pub fn step_to(self, told: SessionSum, is_first_run: bool) -> SumStep {
        let is_earlier = told.at_ms.is_some() && told.at_ms < self.at_ms;
        let is_less = match (told.tokens, self.tokens) {
            (Some(told), Some(known)) => told < known,
            // Who tells of no tokens may have counted none since it began anew: the cost says so.
            _ => told
                .cost_usd
                .zip(self.cost_usd)
                .is_some_and(|(told, known)| told < known),
        };
        let is_same = told.tokens == self.tokens;
        match (is_earlier, is_less) {
            (false, false) => SumStep::Grown,
            (false, true) => SumStep::Anew,
            // A clock may go back while the sum grows.
            (true, false) if is_first_run && !is_same => SumStep::Grown,
            (true, _) => SumStep::Past,
        }
    }
}

/// Figures of what was used, each where it is told.
pub trait Figures: Copy + Default {
    /// Tokens, as [`Usage::fresh_tokens`].
    fn tokens(&self) -> Option<u64>;
    /// Cost in US dollars.
    fn cost_usd(&self) -> Option<f64>;
    /// Both together.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// These, and those of `other` where these say nothing.
    #[must_use]
    fn or(self, other: Self) -> Self;
}

/// What a session says that it used: in the run that it counts now, when that was told, and in those before it.
#[derive(Debug)]
pub struct SessionRuns<'a, F> {
    /// Of the run that goes on.
    pub now: &'a mut F,
    /// When that was told, at the latest.
    pub now_ms: &'a mut Option<i64>,
    /// Of those before.
    pub past: &'a mut F,
}

impl<F: Figures> SessionRuns<'_, F> {
    /// Takes what is told: what was used since a run's beginning where it `is_cumulative`, else what a run used in all.
    pub fn take(self, told: F, is_cumulative: bool, at_ms: Option<i64>) {
        let sum = |of: F, at_ms| SessionSum {
            tokens: of.tokens(),
            cost_usd: of.cost_usd(),
            at_ms,
        };
        let is_first_run = self.past.tokens().is_none() && self.past.cost_usd().is_none();
        let step = match is_cumulative {
            true => sum(*self.now, *self.now_ms).step_to(sum(told, at_ms), is_first_run),
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
}

impl Usage {
    /// Whether it tells of tokens: a source may tell the cost alone, or how full the context is.
    #[must_use]
    pub fn tells_tokens(&self) -> bool {
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
