//! What of an event can stand in a row: texts without NUL and of bounded length, numbers and times that PostgreSQL has. What
//! cannot is made to fit, so that no event stops those behind it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chat_event::cursor::MAX_SEQ;
use chat_event::stable_hash;

/// The end of the year 9999: later times are no times, and tools of others cannot show them.
const LAST_MS: i64 = 253_402_300_799_999;

/// A call that took longer says nothing; no row is kept for so long.
const LONGEST_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Bytes of a key. Indexes take no value of some 2700.
const KEY_BYTES: usize = 200;

/// The text, cut to so many characters. PostgreSQL has no NUL in texts.
pub(super) fn text(text: &str, most_chars: usize) -> String {
    let end = text.char_indices().nth(most_chars);
    let text = &text[..end.map_or(text.len(), |(at, _)| at)];
    text.replace('\0', "\u{fffd}")
}

/// The same of a text that may be missing.
pub(super) fn some_text(of: Option<&str>, most_chars: usize) -> Option<String> {
    of.map(|it| text(it, most_chars))
}

/// The text, cut to so many bytes at the end of a character.
pub(super) fn text_of_bytes(text: &str, most_bytes: usize) -> String {
    let text = &text[..text.floor_char_boundary(most_bytes)];
    // The sign for what was no text is longer than a NUL.
    text.replace('\0', "?")
}

/// The first line that says anything, cut to so many characters.
pub(super) fn line(of: &str, most_chars: usize) -> String {
    let mut lines = of.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty());
    text(first.unwrap_or_default(), most_chars)
}

/// An id of the source's as a key: itself, or its beginning and its hash where it is too long for an index.
pub(super) fn key(id: &str) -> String {
    if id.len() <= KEY_BYTES {
        return text(id, KEY_BYTES);
    }
    let beginning = text_of_bytes(id, KEY_BYTES - 40);
    format!("{beginning}…{:016x}", stable_hash(id.as_bytes()))
}

/// A count, at the end of what all readers have exactly where it is beyond it.
pub(super) fn count(n: u64) -> i64 {
    i64::try_from(n.min(MAX_SEQ)).unwrap_or(i64::MAX)
}

/// A time from Unix epoch milliseconds; `None` where that is none of ours.
pub(super) fn time(ms: Option<i64>) -> Option<SystemTime> {
    let ms = ms.filter(|ms| (0..=LAST_MS).contains(ms))?;
    let since = Duration::from_millis(u64::try_from(ms).ok()?);
    UNIX_EPOCH.checked_add(since)
}

/// The same for a bound of what is asked for: what lies beyond all times is at their end.
pub(super) fn bound(ms: i64) -> SystemTime {
    time(Some(ms.clamp(0, LAST_MS))).unwrap_or(UNIX_EPOCH)
}

/// Unix epoch milliseconds of a time.
pub(super) fn ms_of(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How long a call took: what its source says, else the time between its call and its result.
pub(super) fn duration_ms(
    told_ms: Option<u64>,
    from: Option<SystemTime>,
    to: Option<SystemTime>,
) -> Option<i64> {
    let told = told_ms.map(count);
    let between = || Some(ms_of(to?).saturating_sub(ms_of(from?)));
    told.or_else(between)
        .filter(|ms| (0..=LONGEST_MS).contains(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_no_nul_and_are_cut_between_characters() {
        assert_eq!(text("a\0b", 9), "a\u{fffd}b");
        assert_eq!(text("äöü", 2), "äö");
        assert_eq!(text_of_bytes("äöü", 3), "ä");
        assert_eq!(text_of_bytes("a\0b", 9), "a?b");
        assert_eq!(line("\n  \n one\r\ntwo", 10), "one");
        assert_eq!(line("", 10), "");
    }

    #[test]
    fn long_keys_are_short_and_still_differ() {
        let [a, b] = ["a", "b"].map(|end| key(&("ä".repeat(5000) + end)));
        assert!(a.len() <= KEY_BYTES && b.len() <= KEY_BYTES);
        assert_ne!(a, b);
        assert_eq!(key("toolu_01"), "toolu_01");
    }

    #[test]
    fn numbers_and_times_beyond_what_can_be_kept_are_none() {
        assert_eq!(count(u64::MAX), 9_007_199_254_740_991);
        assert_eq!(time(Some(1500)).map(ms_of), Some(1500));
        for none in [Some(-1), Some(i64::MIN), Some(i64::MAX), None] {
            assert_eq!(time(none), None);
        }
        let [early, late] = [1000, 3000].map(|ms| time(Some(ms)));
        assert_eq!(duration_ms(None, early, late), Some(2000));
        assert_eq!(duration_ms(Some(7), early, late), Some(7));
        assert_eq!(duration_ms(None, late, early), None);
        assert_eq!(duration_ms(Some(u64::MAX), early, late), None);
    }
}
