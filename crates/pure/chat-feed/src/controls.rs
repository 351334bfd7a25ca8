//! A text without what only a terminal obeys: escape sequences, and controls that stand by themselves.
//!
//! Sequences: ECMA-48 (5th edition, 1991). Nothing that might be words is taken for a part of one: a string that does not
//! end is no command, and what breaks a sequence off is read as if it had not begun. What a terminal makes of them is for
//! [`crate::terminal`]; what else cannot be seen, for [`marks`].

use crate::marks;

/// What a carriage return does that stands by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A program writes its line again: what it wrote last is left of it.
    Rewrite,
    /// A line ends.
    EndLine,
}

/// A text as it is shown: without sequences and controls, but for tabs and line feeds.
///
/// ```
/// use chat_feed::controls::{Returns, shown};
/// assert_eq!(shown("\u{1b}[31m10%\r20%\u{1b}[0m\r\n", Returns::Rewrite), "20%\n");
/// assert_eq!(shown("one\rtwo\r\nthree", Returns::EndLine), "one\ntwo\nthree");
/// ```
pub fn shown(text: &str, returns: Returns) -> String {
    let mut shown = String::with_capacity(text.len());
    without(text, &mut shown, &mut keep_seen);
    if !shown.contains('\r') {
        return shown;
    }
    match returns {
        Returns::EndLine => shown.replace("\r\n", "\n").replace('\r', "\n"),
        Returns::Rewrite => {
            // What stands before a return goes only where something is written over it.
            let lines = shown.split('\n');
            let left = lines.map(|line| line.rsplit('\r').find(|part| !part.is_empty()));
            left.map(Option::unwrap_or_default)
                .collect::<Vec<_>>()
                .join("\n")
        }
    }
}

/// A text as it goes on the clipboard, and from there perhaps into a terminal: as it is shown, without what is marked there.
pub fn copied(text: &str) -> String {
    marks::seen(&shown(text, Returns::EndLine)).collect()
}

/// For [`without`]: leaves controls out, but those that part lines, and keeps what only turns directions.
pub(crate) fn keep_seen(c: char, out: &mut String) {
    if !c.is_control() || matches!(c, '\n' | '\r') {
        out.push(c);
    }
}

/// Puts a text without sequences behind what `out` has; `write` is given each character that may be obeyed by itself: all
/// controls but tabs, and what turns directions.
pub(crate) fn without(text: &str, out: &mut String, write: Write<'_>) {
    let mut rest = text;
    loop {
        let (plain, behind) = rest.split_at(plain_len(rest));
        out.push_str(plain);
        let Some(c) = behind.chars().next() else {
            return;
        };
        rest = behind.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '\u{1b}' => rest = pass_escape(rest, out, write),
            '\u{9b}' => rest = pass_parameters(rest, out, write),
            '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => rest = pass_string(rest, out),
            c if is_obeyed(c) => write(c, out),
            c => out.push(c),
        }
    }
}

/// Puts one character behind what is there, or something in its stead.
type Write<'w> = &'w mut dyn FnMut(char, &mut String);

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
fn pass_escape<'t>(rest: &'t str, out: &mut String, write: Write<'_>) -> &'t str {
    match rest.bytes().next() {
        Some(b'[') => pass_parameters(&rest[1..], out, write),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => pass_string(&rest[1..], out),
        // Two or three characters.
        Some(b' '..=b'~') => {
            let rest = rest.trim_start_matches(|c| (' '..='/').contains(&c));
            let is_final = |c| ('0'..='~').contains(&c);
            rest.strip_prefix(is_final).unwrap_or(rest)
        }
        Some(_) | None => rest,
    }
}

/// What stands behind `ESC [`, its parameters and intermediates and the final byte. Controls between them count as if they
/// stood before; those that break it off, and the ends of lines, are left for what is behind.
fn pass_parameters<'t>(rest: &'t str, out: &mut String, write: Write<'_>) -> &'t str {
    for (at, c) in rest.char_indices() {
        match c {
            ' '..='?' => {}
            '@'..='~' => return &rest[at + 1..],
            '\u{1b}' | '\n' | '\r' => return &rest[at..],
            '\u{18}' | '\u{1a}' => return &rest[at + 1..],
            '\0'..='\u{1f}' | '\u{7f}' => write(c, out),
            _ => return &rest[at..],
        }
    }
    ""
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
    fn what_only_a_terminal_obeys_is_left_out_and_no_words_with_it() {
        for (text, left) in [
            ("plain\ttext é 日本\n", "plain\ttext é 日本\n"),
            ("\u{1b}[1;31mred\u{1b}[0m \u{9b}32mgreen", "red green"),
            ("\u{1b}[3\u{0}1mX\u{1b}[3\u{7}1mY", "XY"),
            ("\u{1b}]0;title\u{7}x\u{1b}]0;title\u{1b}\\y", "xy"),
            ("\u{1b}]0;never\nends", "0;never\nends"),
            ("\u{1b}]0;title\u{1b}[31mred", "0;titlered"),
            ("\u{1b}(Bx\u{1b}cy\u{1b}", "xy"),
            (
                "\u{1b}P0q#0\u{1b}\\\u{1b}_Ga\u{1b}\\\u{1b}^p\u{9c}\u{1b}Xs\u{7}x",
                "x",
            ),
            ("a\u{7}b\u{8}c\u{0}d\u{7f}\u{85}", "abcd"),
            ("\u{1b}[12\nX", "\nX"),
            // Those are marked where they are shown.
            ("\u{202e}\u{200b}", "\u{202e}\u{200b}"),
        ] {
            assert_eq!(shown(text, Returns::EndLine), left, "{text:?}");
        }
    }

    #[test]
    fn a_return_ends_a_line_but_of_what_programs_print() {
        assert_eq!(shown("l1\rl2\rl3", Returns::EndLine), "l1\nl2\nl3");
        assert_eq!(shown("a\r\nb\r\n", Returns::EndLine), "a\nb\n");
        assert_eq!(shown("a\r\nb\r\n", Returns::Rewrite), "a\nb\n");
        assert_eq!(
            shown("10%\r20%\rdone\r\u{1b}[K\nx", Returns::Rewrite),
            "done\nx"
        );
    }

    #[test]
    fn nothing_is_copied_that_a_terminal_would_obey_or_nobody_sees() {
        assert_eq!(copied("ls\u{1b}[201~\rrm -rf /\n"), "ls\nrm -rf /\n");
        assert_eq!(copied("a\u{202e}b\u{200b}\u{0}c\td"), "abc\td");
        let kept = "👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم അവന്\u{200d} 葛\u{e0100} שלום\u{200f}!";
        assert_eq!(copied(kept), kept);
    }
}
