//! Numbers in words.

/// A count of things: `1 file`, `3 files`, `12,481 lines`.
///
/// ```
/// use chat_event::numbers::count;
/// assert_eq!(count(1, "file", "files"), "1 file");
/// assert_eq!(count(12_481, "line", "lines"), "12,481 lines");
/// ```
pub fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// A number with its thousands apart.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
