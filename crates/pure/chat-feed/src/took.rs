//! How long turns and calls took.

use chat_event::payload::ToolResult;

use crate::block::ToolCallBlock;
use crate::tool::ToolStatus;

/// How long something took, in milliseconds: what its source says, which knows of waits and of work before the first event
/// came; where it does not say, the time from one event to another. `None` where neither is known, and where the clock
/// ran back.
///
/// The feed, its panel, the trace and the Markdown transcript tell this of turns and calls.
pub(crate) fn took_ms(
    told_ms: Option<u64>,
    from_ms: Option<i64>,
    to_ms: Option<i64>,
) -> Option<u64> {
    told_ms.or_else(|| between(from_ms, to_ms))
}

/// How long a call ran that was called and, where it had to wait for that, allowed at these times, and whose result came at
/// `to_ms`, in milliseconds. When it was found out that there is no result does not say how long it ran.
///
/// A source that only knows when it called, as one whose leave is given elsewhere, counts the wait as well: then the call ran
/// no longer than since it was allowed. What is told as less than the wait was measured without it.
pub(crate) fn ran_ms(
    result: &ToolResult,
    called_ms: Option<i64>,
    allowed_ms: Option<i64>,
    to_ms: Option<i64>,
) -> Option<u64> {
    let is_one = ToolStatus::of_result(result.error.as_ref(), false) != ToolStatus::NoResult;
    let to_ms = to_ms.filter(|_| is_one);
    let waited_ms = between(called_ms, allowed_ms).filter(|waited_ms| *waited_ms > 0);
    let told_ms = result.duration_ms.map(|told_ms| {
        let counts_wait = waited_ms.is_some_and(|waited_ms| waited_ms <= told_ms);
        let since_ms = between(allowed_ms, to_ms).filter(|_| counts_wait);
        since_ms.map_or(told_ms, |since_ms| told_ms.min(since_ms))
    });
    took_ms(told_ms, allowed_ms.or(called_ms), to_ms)
}

impl ToolCallBlock {
    /// From when on it runs, Unix epoch in milliseconds: from the answer where it had to wait for one.
    pub fn runs_since_ms(&self) -> Option<i64> {
        self.allowed_ms.or(self.called_ms)
    }
}

/// The milliseconds between two times; `None` where one is not known or the clock ran back.
pub(crate) fn between(from_ms: Option<i64>, to_ms: Option<i64>) -> Option<u64> {
    u64::try_from(to_ms?.checked_sub(from_ms?)?).ok()
}

/// For how long a session went on whose events have times from the one to the other.
///
/// A turn that says how long it took may have begun a moment before its first event was written: less than a second is
/// believed.
pub(crate) fn lasted_ms(
    (from_ms, to_ms): (Option<i64>, Option<i64>),
    last_turn_ms: Option<u64>,
) -> Option<u64> {
    let told_ms = between(from_ms, to_ms)?;
    let turn_ms = last_turn_ms.filter(|ms| ms.saturating_sub(told_ms) < 1_000);
    Some(turn_ms.unwrap_or(0).max(told_ms))
}

/// When a turn went on that is over, as far as that is known, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnSpan {
    pub(crate) began_ms: Option<i64>,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) took_ms: u64,
}

impl TurnSpan {
    /// From when to when. One that says how long it took says it at its end.
    fn of_times(self) -> Option<(i64, i64)> {
        let took_ms = i64::try_from(self.took_ms).unwrap_or(i64::MAX);
        let ends = |to_ms: i64| (to_ms.saturating_sub(took_ms), to_ms);
        let begins = |from_ms: i64| (from_ms, from_ms.saturating_add(took_ms));
        self.ended_ms.map(ends).or(self.began_ms.map(begins))
    }
}

/// How long turns took together in a session that went on for `lasted_ms`: what went on at once is counted once. Where its
/// times tell nothing, because all are one, each turn is taken to begin behind the one before.
pub(crate) fn busy_ms(turns: impl Iterator<Item = TurnSpan>, lasted_ms: Option<u64>) -> u64 {
    let Some(lasted_ms) = lasted_ms else {
        return turns.fold(0, |sum_ms, turn| sum_ms.saturating_add(turn.took_ms));
    };
    let mut untimed_ms = 0_u64;
    let mut spans = Vec::new();
    for turn in turns {
        match turn.of_times() {
            Some(span) => spans.push(span),
            None => untimed_ms = untimed_ms.saturating_add(turn.took_ms),
        }
    }
    together_ms(spans).saturating_add(untimed_ms).min(lasted_ms)
}

/// How long something lasted that may have gone on in several places at once.
pub(crate) fn together_ms(mut spans: Vec<(i64, i64)>) -> u64 {
    spans.sort_unstable();
    let mut end = i64::MIN;
    let mut sum_ms = 0_u64;
    for (from_ms, to_ms) in spans {
        let more_ms = between(Some(from_ms.max(end)), Some(to_ms)).unwrap_or(0);
        sum_ms = sum_ms.saturating_add(more_ms);
        end = end.max(to_ms);
    }
    sum_ms
}

#[cfg(test)]
mod tests {
    use chat_event::payload::ToolResult;

    use super::{TurnSpan, busy_ms, ran_ms, took_ms};

    #[test]
    fn what_goes_on_at_once_is_counted_once() {
        let turn = |began_ms, ended_ms, took_ms| TurnSpan {
            began_ms,
            ended_ms,
            took_ms,
        };
        let busy = |turns: &[TurnSpan], lasted_ms| busy_ms(turns.iter().copied(), lasted_ms);
        let within = [
            turn(Some(0), Some(10_000), 10_000),
            turn(Some(2_000), Some(5_000), 3_000),
            turn(Some(9_000), Some(12_000), 3_000),
            turn(Some(20_000), Some(21_000), 1_000),
        ];
        assert_eq!(busy(&within, Some(30_000)), 13_000);
        // One that says less than its events are apart says it at its end.
        assert_eq!(busy(&[turn(Some(0), Some(9_000), 700)], Some(9_000)), 700);
        let told = [
            turn(Some(0), None, 5_000),
            turn(Some(4_000), None, 2_000),
            turn(None, None, 500),
        ];
        assert_eq!(busy(&told, Some(30_000)), 6_500);
        assert_eq!(busy(&told, Some(6_000)), 6_000);
        // All times are one: that of the file.
        let of_file = [turn(Some(7), Some(7), 400), turn(Some(7), Some(7), 300)];
        assert_eq!(busy(&of_file, None), 700);
        assert_eq!(busy(&[turn(Some(0), Some(i64::MIN), u64::MAX)], Some(5)), 0);
    }

    #[test]
    fn a_call_ran_no_longer_than_since_it_was_allowed() {
        let ran = |duration_ms, allowed_ms| {
            let result = ToolResult {
                duration_ms,
                ..ToolResult::default()
            };
            ran_ms(&result, Some(1_000), allowed_ms, Some(6_100))
        };
        assert_eq!(ran(Some(5_100), None), Some(5_100));
        assert_eq!(ran(Some(5_100), Some(6_000)), Some(100));
        assert_eq!(ran(None, Some(6_000)), Some(100));
        // Who knows better says less.
        assert_eq!(ran(Some(20), Some(6_000)), Some(20));
        // Clocks that differ tell nothing.
        assert_eq!(ran(Some(5_100), Some(7_000)), Some(5_100));
        // It was told without the wait, or there was none: when the answer came says nothing then.
        assert_eq!(ran(Some(125), Some(6_100)), Some(125));
        assert_eq!(ran(Some(26), Some(1_000)), Some(26));
    }

    #[test]
    fn what_the_source_says_comes_before_what_is_measured() {
        assert_eq!(took_ms(Some(850), Some(0), Some(4_000)), Some(850));
        assert_eq!(took_ms(None, Some(0), Some(4_000)), Some(4_000));
        assert_eq!(took_ms(Some(0), Some(0), Some(4_000)), Some(0));
        assert_eq!(took_ms(Some(850), None, None), Some(850));
        for unknown in [(None, Some(4_000)), (Some(0), None), (Some(4_000), Some(0))] {
            assert_eq!(took_ms(None, unknown.0, unknown.1), None);
        }
    }
}
