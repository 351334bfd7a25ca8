//! How long turns and calls took.

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
