//! What is changed in a text so that it can be read as JSON, or so that reading it loses nothing.

/// The shortest integer that may be too long has so many digits.
const LONG_DIGITS: usize = 19;

/// The text with quotes around each integer that no Rust integer holds, and where these stand in it; `None` where it has
/// none. Read as a number, most of its digits would be lost.
pub(super) fn quote_long_integers(text: &str) -> Option<(String, Vec<usize>)> {
    let bytes = text.as_bytes();
    if !has_long_digits(bytes) {
        return None;
    }
    let mut quoted = String::new();
    let mut quotes = Vec::new();
    let (mut kept_to, mut at, mut in_string) = (0, 0, false);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => at += 2,
            b'-' | b'0'..=b'9' if !in_string => {
                let len = number_len(&bytes[at..]);
                let number = &text[at..at + len];
                if is_long_integer(number) {
                    quoted.push_str(&text[kept_to..at]);
                    quotes.push(quoted.len());
                    quoted.push('"');
                    quoted.push_str(number);
                    quotes.push(quoted.len());
                    quoted.push('"');
                    kept_to = at + len;
                }
                at += len;
            }
            _ => {
                in_string ^= byte == b'"';
                at += 1;
            }
        }
    }
    quoted.push_str(&text[kept_to..]);
    (!quotes.is_empty()).then_some((quoted, quotes))
}

/// Whether so many digits stand side by side somewhere: a look at each so-manieth byte tells.
fn has_long_digits(bytes: &[u8]) -> bool {
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let mut at = LONG_DIGITS - 1;
    while let Some(byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            let before = bytes[..at]
                .iter()
                .rev()
                .take(LONG_DIGITS)
                .take_while(is_digit);
            let behind = bytes[at..].iter().take(LONG_DIGITS).take_while(is_digit);
            if before.count() + behind.count() >= LONG_DIGITS {
                return true;
            }
        }
        at += LONG_DIGITS;
    }
    false
}

fn is_long_integer(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_integer = digits.len() >= LONG_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    // None may begin with 0.
    is_integer
        && !digits.starts_with('0')
        && number.parse::<u64>().is_err()
        && number.parse::<i64>().is_err()
}

/// The text with U+FFFD for each escape that is half a surrogate pair and `null` for each number that no Rust number type
/// holds, and which of them it has; `None` where it has none. What is put in is as long as what it stands for, so places
/// stay what they are.
pub(super) fn mend(text: &str) -> Option<(String, Vec<&'static str>)> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        if bytes.get(at) != Some(&b'\\') || bytes.get(at + 1) != Some(&b'u') {
            return None;
        }
        u32::from_str_radix(text.get(at + 2..at + 6)?, 16).ok()
    };
    let (mut has_halves, mut has_numbers) = (false, false);
    let mut mended = String::new();
    let mut kept_to = 0;
    let mut at = 0;
    let mut in_string = false;
    while let Some(&byte) = bytes.get(at) {
        let begun = at;
        let mut put_in = "";
        at += match byte {
            b'\\' => match unit(at) {
                Some(0xd800..=0xdbff) if matches!(unit(at + 6), Some(0xdc00..=0xdfff)) => 12,
                Some(0xd800..=0xdfff) => {
                    has_halves = true;
                    put_in = "\\ufffd";
                    put_in.len()
                }
                Some(_) => 6,
                None => 2,
            },
            b'-' | b'0'..=b'9' if !in_string => {
                let len = number_len(&bytes[at..]);
                if text[at..at + len].parse().is_ok_and(f64::is_infinite) {
                    has_numbers = true;
                    put_in = "null";
                }
                len
            }
            _ => {
                in_string ^= byte == b'"';
                1
            }
        };
        if !put_in.is_empty() {
            mended.push_str(&text[kept_to..begun]);
            mended.push_str(put_in);
            mended.extend(std::iter::repeat_n(' ', at - begun - put_in.len()));
            kept_to = at;
        }
    }
    mended.push_str(&text[kept_to..]);
    let halves = has_halves.then_some("half surrogate pairs; they are replaced");
    let numbers = has_numbers.then_some("numbers beyond all bounds; they are left out");
    (kept_to > 0).then(|| (mended, halves.into_iter().chain(numbers).collect()))
}

/// The length of what can be a number, at the beginning of `bytes`.
fn number_len(bytes: &[u8]) -> usize {
    let digits = bytes.iter();
    let digits =
        digits.take_while(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
    digits.count()
}
