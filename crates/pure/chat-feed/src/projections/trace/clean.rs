//! Text of a session as a terminal may have it: nothing in it is obeyed.
//!
//! Escape sequences are left out, as [`controls`] does; other control characters, and those that turn the direction of what
//! follows, are shown by their number.

use crate::controls;

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
        let parts = line.rsplit('\r').map(clean);
        let mut written = parts.filter(|part| !part.is_empty());
        written.next().unwrap_or_default()
    })
}

/// Text without anything a terminal would obey; tabs stay, line breaks are shown by their number.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    controls::without(text, &mut out, &mut |c, out| out.extend(c.escape_unicode()));
    out
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
        let over: Vec<_> = lines("\rstep 1\rstep 2\r\u{1b}[K\r\nend").collect();
        assert_eq!(over, ["step 2", "end"]);
        assert_eq!(first_line("\n \n two \n"), "two");
    }
}
