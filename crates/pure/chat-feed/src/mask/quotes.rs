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

/// Whether a quote is open at the end of what has no space in it: one that begins it, or stands behind a sign that gives a
/// value.
pub(super) fn opens(run: &str) -> bool {
    let mut rest = run;
    let mut before = None;
    while let Some(at) = rest.find(['"', '\'']) {
        let (head, behind) = rest.split_at(at);
        let own = head.trim_end_matches('\\');
        let gives = |char: char| "=:([{,".contains(char);
        if own.chars().next_back().or(before).is_none_or(gives) {
            let Some(end) = end(
                &behind.as_bytes()[1..],
                behind.as_bytes()[0],
                at - own.len(),
            ) else {
                return true;
            };
            rest = &behind[1 + end..];
        } else {
            rest = behind;
        }
        before = rest.chars().next();
        rest = &rest[before.map_or(0, char::len_utf8)..];
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_without_its_end_is_open() {
        for (run, is_open) in [
            (r#""ab漢"#, true),
            (r#""ab漢""#, false),
            (r#"{"password":"ab漢"#, true),
            (r#"{"password":"ab","n":1,漢"#, false),
            (r#"{\"password\":\"ab\\\"漢"#, true),
            ("it's漢", false),
            ("P='a漢", true),
            ("P='a'漢", false),
            ("", false),
        ] {
            assert_eq!(opens(run), is_open, "{run}");
        }
    }

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
