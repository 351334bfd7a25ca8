//! Small looks into JSON trees.

use chat_event::{Extra, Json};
use serde_json::Value;

use crate::emit::hash;

/// The string member `key`.
pub(crate) fn str_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The string member `key`, where it is not empty.
pub(crate) fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    str_of(value, key).filter(|text| !text.is_empty())
}

/// Whether the member `key` is `true`.
pub(crate) fn is_true(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The number member `key` as a count; a fraction is cut.
pub(crate) fn count_of(value: &Value, key: &str) -> Option<u64> {
    let number = value.get(key)?;
    number
        .as_u64()
        .or_else(|| number.as_f64().filter(|number| *number >= 0.0).map(whole))
}

// `as` saturates, which is what is wanted here.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> u64 {
    number as u64
}

/// A number as a time in milliseconds, where it can be one.
pub(crate) fn millis(number: &Value) -> Option<i64> {
    let ms = number.as_i64()?;
    is_time(ms).then_some(ms)
}

/// Whether a number can be a time in milliseconds: until the year 5138, numbers beyond are none.
pub(crate) fn is_time(ms: i64) -> bool {
    (1..100_000_000_000_000).contains(&ms)
}

/// The number member `key`, rounded to a billionth: sums of costs end in digits that mean nothing, and short numbers are
/// read back as they were written.
pub(crate) fn amount_of(value: &Value, key: &str) -> Option<f64> {
    value.get(key).and_then(Value::as_f64).map(rounded)
}

/// `amount`, rounded to a billionth.
pub(crate) fn rounded(amount: f64) -> f64 {
    let billionths = (amount * 1e9).round();
    // Beyond this the rounding would take more than it mends.
    if billionths.abs() < 9e15 {
        billionths / 1e9
    } else {
        // A sum beyond all numbers has no JSON.
        amount.round().clamp(f64::MIN, f64::MAX)
    }
}

/// The array member `key`; empty where there is none.
pub(crate) fn list_of<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Keeps the members of a value that no rule reads: all but those that are told otherwise.
pub(crate) fn keep_others(extra: &mut Extra, value: &Value, told: &[&str]) {
    for (name, value) in value.as_object().into_iter().flatten() {
        if !told.contains(&name.as_str()) {
            extra.insert(name, Json::from(value));
        }
    }
}

/// The text of a content: a string, or a list of blocks.
pub(crate) fn text_of_blocks(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| str_of(block, "text"));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Milliseconds since the Unix epoch of an RFC 3339 time (`2026-02-03T10:00:00.000Z`, or with an offset).
pub(crate) fn millis_of_rfc3339(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits.iter().try_fold(0i64, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + i64::from(digit - b'0'))
        })
    };
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators
        .iter()
        .any(|(at, byte)| bytes.get(*at) != Some(byte))
        || !matches!(bytes.get(10), Some(b'T' | b't' | b' '))
    {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 24
        || minute > 59
        || second > 60
    {
        return None;
    }
    let mut at = 19;
    let mut millis = 0;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let mut scale = 100;
        while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
            millis += i64::from(digit - b'0') * scale;
            scale /= 10;
            at += 1;
        }
    }
    let offset_minutes = match bytes.get(at) {
        // A time without a zone is taken as UTC.
        Some(b'Z' | b'z') | None => 0,
        Some(sign @ (b'+' | b'-')) => {
            let minutes = number(at + 1, at + 3)? * 60 + number(at + 4, at + 6)?;
            if *sign == b'+' { minutes } else { -minutes }
        }
        Some(_) => return None,
    };
    // Days since 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in March.
    let (march_year, march_month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    Some((((days * 24 + hour) * 60 + minute - offset_minutes) * 60 + second) * 1000 + millis)
}

/// An RFC 3339 time, in UTC with milliseconds, of milliseconds since the Unix epoch.
pub(crate) fn rfc3339_of_millis(at_ms: i64) -> String {
    let at_ms = at_ms.clamp(0, 253_402_300_799_999);
    let (days, ms) = (at_ms / 86_400_000, at_ms % 86_400_000);
    // The proleptic Gregorian calendar, in years that begin in March.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
    let (second, ms) = (ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// A hash of what a line says, but for the members a copy of it changes: two lines with one id that differ are two.
pub(crate) fn fingerprint(line: &Value) -> u64 {
    const CHANGED_BY_COPIES: [&str; 6] = [
        "sessionId",
        "session_id",
        "cwd",
        "version",
        "gitBranch",
        "slug",
    ];
    let Some(members) = line.as_object() else {
        return 0;
    };
    let members = members
        .iter()
        .filter(|(name, _)| !CHANGED_BY_COPIES.contains(&name.as_str()));
    members.fold(hash(b"line"), |sum, (name, value)| {
        sum ^ hash_more(hash(name.as_bytes()), value)
    })
}

/// The order of members does not count, that of items does.
fn hash_more(before: u64, value: &Value) -> u64 {
    let mix =
        |before: u64, more: u64| (before.rotate_left(5) ^ more).wrapping_mul(0x0100_0000_01b3);
    match value {
        Value::Null => mix(before, 1),
        Value::Bool(truth) => mix(before, 2 + u64::from(*truth)),
        Value::Number(number) => mix(before, hash(number.to_string().as_bytes())),
        Value::String(text) => mix(before, hash(text.as_bytes())),
        Value::Array(items) => items.iter().fold(mix(before, 5), hash_more),
        Value::Object(members) => {
            let sum = members.iter().fold(6u64, |sum, (name, value)| {
                sum.wrapping_add(hash_more(hash(name.as_bytes()), value))
            });
            mix(before, sum)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_they_are_read() {
        for at_ms in [0, 1_709_209_845_678, 1_795_294_338_342, 951_782_400_000] {
            let text = rfc3339_of_millis(at_ms);
            assert_eq!(millis_of_rfc3339(&text), Some(at_ms), "{text}");
        }
        assert_eq!(
            rfc3339_of_millis(1_795_294_338_342),
            "2026-11-21T20:52:18.342Z"
        );
    }

    #[test]
    fn times_are_read_with_zone_and_fraction() {
        assert_eq!(millis_of_rfc3339("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            millis_of_rfc3339("2024-02-29T12:30:45.678Z"),
            Some(1_709_209_845_678)
        );
        assert_eq!(
            millis_of_rfc3339("2024-02-29T13:30:45.678901+01:00"),
            Some(1_709_209_845_678)
        );
        assert_eq!(millis_of_rfc3339("1969-12-31T23:59:59.999Z"), Some(-1));
        for no_time in [
            "",
            "2024",
            "2024-13-01T00:00:00Z",
            "2024-01-01T00:00:00X",
            "20240-1-01T00:00:00Z",
            "é024-01-01T00:00:00Z",
        ] {
            assert_eq!(millis_of_rfc3339(no_time), None, "{no_time}");
        }
    }
}
