//! Text of a session as a terminal may have it: nothing in it is obeyed.
//!
//! Escape sequences are left out; other control characters, and those that turn the direction of what follows, are
//! shown by their number.

use std::ops::RangeInclusive;

/// A line of a trace shows this many characters of a target, a label or a message.
const LINE_CHARS: usize = 200;

/// Text as one line, cut to what a line can show.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut n_chars = 0;
    // A long text is not read to its end for the sake of its beginning.
    let head = text
        .char_indices()
        .nth(LINE_CHARS * 8)
        .map_or(text, |(at, _)| &text[..at]);
    for word in clean(&head.replace(['\n', '\r', '\t'], " ")).split(' ') {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
            n_chars += 1;
        }
        for c in word.chars() {
            if n_chars == LINE_CHARS {
                line.push('…');
                return line;
            }
            line.push(c);
            n_chars += 1;
        }
    }
    if head.len() < text.len() {
        line.push('…');
    }
    line
}

/// The first line of a text that says anything, cut to what a line can show.
pub(super) fn first_line(text: &str) -> String {
    let said = text.lines().find(|line| !line.trim().is_empty());
    one_line(said.unwrap_or_default())
}

/// The lines of a text. Of a line that was written over by carriage returns, what is left.
pub(super) fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| {
        let left = line
            .rsplit('\r')
            .find(|part| !part.is_empty())
            .unwrap_or_default();
        clean(left)
    })
}

/// Text without anything a terminal would obey; tabs stay, line breaks are shown by their number.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    clean_into(text, &mut out);
    out
}

/// The same behind what `out` has.
pub(crate) fn clean_into(text: &str, out: &mut String) {
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_at(plain_len(rest));
        out.push_str(plain);
        let Some(c) = behind.chars().next() else {
            return;
        };
        rest = behind.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{1b}' => rest = pass_escape(rest, out),
            '\u{9b}' => rest = pass_parameters(rest),
            '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => rest = pass_string(rest, out),
            c if is_obeyed(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
}

/// How long a text is up to the first byte of what may be obeyed: most texts are copied whole.
fn plain_len(text: &str) -> usize {
    let may_be_obeyed = |byte: u8| match byte {
        b'\t' => false,
        // Controls; and those beyond ASCII, and what turns directions, by the first of their bytes.
        ..b' ' | 0x7f | 0xc2 | 0xe2 => true,
        _ => false,
    };
    let first = text.bytes().position(may_be_obeyed);
    first.unwrap_or(text.len())
}

/// Controls, and what embeds, overrides or isolates a direction. Marks that only give a direction to themselves are
/// part of texts that are written from right to left.
fn is_obeyed(c: char) -> bool {
    (c.is_control() && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// What stands behind a sequence that `ESC` begins.
pub(crate) fn pass_escape<'t>(rest: &'t str, out: &mut String) -> &'t str {
    match rest.bytes().next() {
        Some(b'[') => pass_parameters(&rest[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => pass_string(&rest[1..], out),
        // Two or three characters.
        Some(b' '..=b'~') => pass_final(
            rest.trim_start_matches(|c| (' '..='/').contains(&c)),
            '0'..='~',
        ),
        Some(_) | None => rest,
    }
}

/// What stands behind `ESC [`, its parameters and intermediates and the final byte.
fn pass_parameters(rest: &str) -> &str {
    pass_final(
        rest.trim_start_matches(|c| (' '..='?').contains(&c)),
        '@'..='~',
    )
}

fn pass_final(rest: &str, finals: RangeInclusive<char>) -> &str {
    rest.strip_prefix(|c| finals.contains(&c)).unwrap_or(rest)
}

/// What stands behind a command with a string. One that does not end is no command: its text is shown.
fn pass_string<'t>(rest: &'t str, out: &mut String) -> &'t str {
    for (at, c) in rest.char_indices() {
        let (string, end) = rest.split_at(at);
        match c {
            '\u{7}' | '\u{9c}' => return end.get(c.len_utf8()..).unwrap_or_default(),
            '\u{1b}' if end.starts_with("\u{1b}\\") => return &end[2..],
            c if is_obeyed(c) => {
                out.push_str(string);
                return end;
            }
            _ => {}
        }
    }
    out.push_str(rest);
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_left_out_and_other_controls_are_shown() {
        for (text, cleaned) in [
            ("plain\ttext é 日本", "plain\ttext é 日本"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ends", "0;never ends"),
            ("\u{1b}]a\u{1b}]b\u{1b}[mc", "abc"),
            ("\u{1b}Pq#0\u{9c}x", "x"),
            ("\u{1b}(B\u{1b}cx\u{1b}", "x"),
            ("a\u{7}b\u{8}c\u{7f}\u{85}", r"a\u{7}b\u{8}c\u{7f}\u{85}"),
            ("\u{202e}gpj.exe", r"\u{202e}gpj.exe"),
            ("a\nb", r"a\u{a}b"),
        ] {
            assert_eq!(clean(text), cleaned, "{text:?}");
        }
    }

    #[test]
    fn lines_are_one_line_each() {
        assert_eq!(one_line("a\n\n  b\tc \u{1b}[0m"), "a b c");
        assert_eq!(one_line(&"x".repeat(999)), format!("{}…", "x".repeat(200)));
        let over: Vec<_> = lines("\rstep 1\rstep 2\r\nend").collect();
        assert_eq!(over, ["step 2", "end"]);
        assert_eq!(first_line("\n \n two \n"), "two");
    }
}
