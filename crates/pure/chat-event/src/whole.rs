//! The whole part of a JSON number, without what reads numbers of any size and precision: that is large, and the page
//! would bring it for the rare log that tells times with fractions.

/// The whole part of a number as JSON writes it, at the end of the range where it is beyond it; `None` where it is no
/// number.
pub(crate) fn whole_part(text: &str) -> Option<i64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_of(exponent)?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    if whole.is_empty() || fraction.is_empty() {
        return None;
    }
    let n_whole = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    let n_kept = n_whole.saturating_add(exponent);
    let mut value: i64 = 0;
    let digits = whole.bytes().chain(fraction.bytes());
    let mut n_read: i64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        if n_read < n_kept {
            value = next(value, sign, digit - b'0');
        }
        n_read += 1;
    }
    // What the exponent asks for beyond the digits that are there: more than twenty change nothing.
    for _ in 0..n_kept.saturating_sub(n_read).min(20) {
        value = next(value, sign, 0);
    }
    Some(value)
}

fn next(value: i64, sign: i64, digit: u8) -> i64 {
    value
        .saturating_mul(10)
        .saturating_add(sign * i64::from(digit))
}

/// An exponent; beyond what any number needs it stays at the end of that.
fn exponent_of(text: &str) -> Option<i64> {
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut value: i64 = 0;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = (value * 10 + i64::from(digit - b'0')).min(1 << 40);
    }
    Some(sign * value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::whole_part;

    proptest! {
        #[test]
        fn whole_numbers_are_themselves(number: i64) {
            prop_assert_eq!(whole_part(&number.to_string()), Some(number));
        }

        #[test]
        #[allow(clippy::cast_possible_truncation)]
        fn others_lose_their_fraction(number in -9.0e15..9.0e15_f64) {
            prop_assert_eq!(whole_part(&format!("{number}")), Some(number as i64));
            prop_assert_eq!(whole_part(&format!("{number:e}")), Some(number as i64));
        }

        #[test]
        #[allow(clippy::cast_possible_truncation)]
        fn what_is_beyond_the_range_is_at_its_end(number in 1.0e19..1.0e300_f64) {
            prop_assert_eq!(whole_part(&format!("{number:e}")), Some(i64::MAX));
            prop_assert_eq!(whole_part(&format!("-{number:E}")), Some(i64::MIN));
        }

        #[test]
        fn no_text_is_too_strange(text in "[-+0-9.eE x]{0,12}") {
            let is_number = serde_json::from_str::<serde_json::Number>(&text).is_ok()
                && !text.contains(' ');
            prop_assert!(whole_part(&text).is_some() || !is_number, "{}", text);
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "", "-", "\"1\"", "true", "1.", ".5", "1e", "1e+", "0x1", "[1]", "nan",
        ] {
            assert_eq!(whole_part(text), None, "{text}");
        }
    }
}
