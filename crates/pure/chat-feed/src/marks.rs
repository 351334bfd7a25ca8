//! Characters that cannot be seen, or that change the order of what is seen: which of a text a reader must be shown.
//!
//! From the Unicode Character Database 15.0: controls, format characters, what is ignorable by default, noncharacters.
//! Joiners and selectors stay as they are where a script or an emoji needs them. How a mark looks is for the page.

mod spelling;
#[cfg(test)]
mod tests;

use spelling::{FAR_CHARS, flag_len, is_needed, is_of_sentences};

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
    parted(text, is_needed)
}

/// The same for sentences: what says where a word may be broken, or may not, is marked in code alone, where it would make
/// another name of one.
pub fn stretches_of_sentences(text: &str) -> impl Iterator<Item = Stretch<'_>> {
    parted(text, |before, char, rest| {
        is_needed(before, char, rest) || is_of_sentences(before, char, rest)
    })
}

/// Whether anything of a text is to be marked.
pub fn has_any(text: &str) -> bool {
    first_hidden(text, 0, is_needed).is_some()
}

/// Where the end of a growing text begins in which nothing is marked, and before which no mark changes whatever comes
/// behind: 0 where nothing is marked at all, `None` where the last mark may yet turn out to be spelling.
pub fn settled_end(text: &str) -> Option<usize> {
    if !has_any(text) {
        return Some(0);
    }
    let hidden = text.char_indices().rev().find(|&(_, char)| is_hidden(char));
    let (at, char) = hidden?;
    let behind = at + char.len_utf8();
    // What stands near it says what it is: both are on the same side.
    let (far, last) = text[behind..].char_indices().nth(FAR_CHARS)?;
    Some(behind + far + last.len_utf8())
}

/// Whether a character that cannot be seen is spelling, by what stands before it, and by what it begins.
type IsNeeded = fn(&str, char, &str) -> bool;

fn parted(text: &str, is_needed: IsNeeded) -> impl Iterator<Item = Stretch<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
        let (n_bytes, stretch) = match first_hidden(text, from, is_needed) {
            Some((at, char)) if at == from => (char.len_utf8(), Stretch::Hidden(char)),
            found => {
                let plain = &rest[..found.map_or(text.len(), |(at, _)| at) - from];
                (plain.len(), Stretch::Plain(plain))
            }
        };
        from += n_bytes;
        Some(stretch)
    })
}

/// What of a text can be shown, without what is marked between.
pub fn seen(text: &str) -> impl Iterator<Item = &str> {
    stretches(text).filter_map(|stretch| match stretch {
        Stretch::Plain(plain) => Some(plain),
        Stretch::Hidden(_) => None,
    })
}

/// A text with what cannot be seen written by its number, for where there are words alone.
pub fn written_out(text: &str) -> String {
    written(text, |char, written| written.push_str(&name(char)))
}

/// JSON that says the same with what cannot be seen escaped, for copying.
pub fn escaped(json: &str) -> String {
    written(json, |char, written| {
        for unit in char.encode_utf16(&mut [0; 2]) {
            written.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

fn written(text: &str, write: impl Fn(char, &mut String)) -> String {
    let mut written = String::with_capacity(text.len());
    for stretch in stretches(text) {
        match stretch {
            Stretch::Plain(plain) => written.push_str(plain),
            Stretch::Hidden(char) => write(char, &mut written),
        }
    }
    written
}

/// Where the first one stands that is to be marked, behind so many bytes.
fn first_hidden(text: &str, mut from: usize, is_needed: IsNeeded) -> Option<(usize, char)> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    from += text.as_bytes()[from..]
        .iter()
        .take_while(|byte| is_plain(byte))
        .count();
    let mut flag_end = 0;
    for (at, char) in text[from..].char_indices() {
        let at = from + at;
        if char == '\u{1f3f4}' {
            flag_end = at + flag_len(&text[at..]);
        }
        if is_hidden(char) && at >= flag_end && !is_needed(&text[..at], char, &text[at..]) {
            return Some((at, char));
        }
    }
    None
}

/// How a hidden character is written: `U+202E`.
pub fn name(char: char) -> String {
    format!("U+{:04X}", u32::from(char))
}
