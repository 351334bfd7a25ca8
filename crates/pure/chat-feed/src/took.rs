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

#[cfg(test)]
mod tests {
    use chat_event::payload::ToolResult;

    use super::{ran_ms, took_ms};

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
