//! Characters that cannot be seen, or that change the order of what is seen: which of a text a reader must be shown.
//!
//! From the Unicode Character Database 15.0: controls, format characters, what is ignorable by default, noncharacters.
//! Joiners and selectors stay as they are where a script or an emoji needs them. How a mark looks is for the page.

/// First and last of each range that is marked; spaces and signs that can be seen are left out.
const HIDDEN: &[(u32, u32)] = &[
    (0x00, 0x08),
    (0x0b, 0x0c),
    (0x0d, 0x1f),
    (0x7f, 0x9f),
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfdd0, 0xfdef),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfffb),
    (0xfffe, 0xffff),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0xe0fff),
];

/// Whether the character cannot be seen, wherever it stands.
pub fn is_hidden(char: char) -> bool {
    let code = u32::from(char);
    // The last two of each plane are none.
    code & 0xfffe == 0xfffe
        || HIDDEN
            .binary_search_by(|&(first, last)| {
                if last < code {
                    std::cmp::Ordering::Less
                } else if first > code {
                    std::cmp::Ordering::Greater
                } else {
                    std::cmp::Ordering::Equal
                }
            })
            .is_ok()
}

/// A stretch of a text: as it is, or one character that is to be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch<'t> {
    /// It can be shown.
    Plain(&'t str),
    /// It must be shown by its number.
    Hidden(char),
}

/// Parts a text at what is to be marked. Tabs and line feeds are layout and not marked.
pub fn stretches(text: &str) -> impl Iterator<Item = Stretch<'_>> {
    let mut rest = text;
    let mut before = None;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        match first_hidden(rest, &mut before) {
            Some((0, char)) => {
                rest = &rest[char.len_utf8()..];
                before = Some(char);
                Some(Stretch::Hidden(char))
            }
            found => {
                let (plain, left) = rest.split_at(found.map_or(rest.len(), |(at, _)| at));
                before = plain.chars().next_back();
                rest = left;
                Some(Stretch::Plain(plain))
            }
        }
    })
}

fn first_hidden(text: &str, before: &mut Option<char>) -> Option<(usize, char)> {
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    let from = text.bytes().take_while(|&byte| plain(byte)).count();
    let mut last = text[..from].chars().next_back().or(*before);
    let mut chars = text[from..].char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let after = chars.peek().map(|&(_, char)| char);
        if is_hidden(char) && !is_needed(last, char, after) {
            return Some((from + at, char));
        }
        last = Some(char);
    }
    None
}

/// Whether a joiner or selector makes one sign of its neighbours.
fn is_needed(before: Option<char>, char: char, after: Option<char>) -> bool {
    // Arabic and Indic letters, emoji: from U+0600 on scripts join.
    let joins = |char: char| char >= '\u{600}' && !is_hidden(char) || char == '\u{fe0f}';
    match char {
        '\u{200c}' | '\u{200d}' => before.is_some_and(joins) && after.is_some_and(joins),
        '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(|base| {
            base >= '\u{2000}' && !is_hidden(base)
                || matches!(base, '0'..='9' | '#' | '*' | '©' | '®')
        }),
        _ => false,
    }
}

/// How a hidden character is written: `U+202E`.
pub fn name(char: char) -> String {
    format!("U+{:04X}", u32::from(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        stretches(text)
            .map(|stretch| match stretch {
                Stretch::Plain(plain) => plain.to_owned(),
                Stretch::Hidden(char) => format!("<{}>", name(char)),
            })
            .collect()
    }

    #[test]
    fn what_cannot_be_seen_is_marked() {
        assert_eq!(
            marked("a\u{202e}b\u{0}\u{200b}"),
            "a<U+202E>b<U+0000><U+200B>"
        );
        assert_eq!(marked("x\u{200d}y"), "x<U+200D>y");
        assert_eq!(marked("\u{e0041}"), "<U+E0041>");
    }

    #[test]
    fn scripts_and_emoji_are_left_as_they_are() {
        for text in [
            "שלום עולם",
            "مرحبا بالعالم",
            "می\u{200c}خواهم",
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3}",
            "क्\u{200d}ष",
            "a\tb\n漢字\u{3000}\u{a0}",
        ] {
            assert_eq!(marked(text), text);
        }
    }

    #[test]
    fn ranges_are_in_order() {
        assert!(HIDDEN.windows(2).all(|two| two[0].1 < two[1].0));
    }
}
