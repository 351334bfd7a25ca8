//! Where a text in quotes ends: a quote behind a backslash is one of its own signs.

/// Where what is in quotes ends, which begins here: at the quote that closes it, or at its line's end. There are so many
/// backslashes before the quote that opens it, one within a string of JSON; as many are before the one that closes it.
pub(super) fn end(bytes: &[u8], quote: u8, n_before: usize) -> Option<usize> {
    let mut n_backslashes = 0_usize;
    bytes.iter().position(|&byte| {
        let n = std::mem::take(&mut n_backslashes);
        match byte {
            b'\\' => n_backslashes = n + 1,
            // With fewer of them it is what all of this stands in that ends.
            _ if byte == quote => return n < n_before || (n + 1) / (n_before + 1) % 2 == 1,
            _ => {}
        }
        byte == b'\n'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_ends_at_a_quote_of_its_own_level() {
        for (text, n_before, len) in [
            (r#"ab" c""#, 0, Some(2)),
            (r#"ab\"c" d"#, 0, Some(5)),
            (r#"ab\\" d"#, 0, Some(4)),
            (r#"ab\\\"c"#, 0, None),
            (r#"ab\" d"#, 1, Some(3)),
            (r#"ab\\\"c\" d"#, 1, Some(8)),
            (r#"ab" d"#, 1, Some(2)),
            ("ab\\\"\nc\"", 0, Some(4)),
        ] {
            assert_eq!(end(text.as_bytes(), b'"', n_before), len, "{text}");
        }
    }
}
