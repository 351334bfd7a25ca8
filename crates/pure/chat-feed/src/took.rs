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

/// How long a call ran that began at `since_ms` ([`ToolCallBlock::runs_since_ms`]) and whose result came at `to_ms`, in
/// milliseconds. When it was found out that there is no result does not say how long it ran.
pub(crate) fn ran_ms(
    result: &ToolResult,
    since_ms: Option<i64>,
    to_ms: Option<i64>,
) -> Option<u64> {
    let is_one = ToolStatus::of_result(result.error.as_ref(), false) != ToolStatus::NoResult;
    took_ms(result.duration_ms, since_ms, to_ms.filter(|_| is_one))
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
    use super::took_ms;

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
