//! A text as it reads once its escapes are undone, and where each part of it stands in the text that was there.
//!
//! What an agent did is often told as JSON within JSON, or within an address. A secret is found however it is written
//! down, and cut out of what is really there.

use std::ops::Range;

/// A text made from another one by undoing escapes.
#[derive(Debug)]
pub(super) struct View {
    /// The text.
    pub(super) text: String,
    /// Stretches of it, in order, the last one empty and at its end.
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Where it begins in the view and in the source.
    at: usize,
    source: usize,
    /// Whether it stands there as it reads; else it is one escape.
    verbatim: bool,
}

impl View {
    /// Where a stretch of the view stands in the source; whole escapes only.
    pub(super) fn in_source(&self, range: &Range<usize>) -> Range<usize> {
        let begins = self.piece_at(range.start);
        let start = match self.pieces.get(begins) {
            Some(piece) if piece.verbatim => piece.source + (range.start - piece.at),
            Some(piece) => piece.source,
            None => 0,
        };
        if range.is_empty() {
            return start..start;
        }
        let ends = self.piece_at(range.end - 1);
        let end = match (self.pieces.get(ends), self.pieces.get(ends + 1)) {
            (Some(piece), _) if piece.verbatim => piece.source + (range.end - piece.at),
            (_, Some(behind)) => behind.source,
            (_, None) => start,
        };
        start..end
    }

    fn piece_at(&self, at: usize) -> usize {
        self.pieces
            .partition_point(|piece| piece.at <= at)
            .saturating_sub(1)
    }
}

#[derive(Default)]
struct Builder {
    text: String,
    pieces: Vec<Piece>,
}

impl Builder {
    fn verbatim(&mut self, source: usize, text: &str) {
        if !text.is_empty() {
            self.piece(source, true);
            self.text.push_str(text);
        }
    }

    fn escape(&mut self, source: usize, char: char) {
        self.piece(source, false);
        self.text.push(char);
    }

    fn piece(&mut self, source: usize, verbatim: bool) {
        let at = self.text.len();
        self.pieces.push(Piece {
            at,
            source,
            verbatim,
        });
    }

    fn finish(mut self, source: &str) -> Option<View> {
        if self.pieces.iter().all(|piece| piece.verbatim) {
            return None;
        }
        self.piece(source.len(), true);
        Some(View {
            text: self.text,
            pieces: self.pieces,
        })
    }
}

/// A text without the escapes that JSON and most languages have; `None` where it has none.
pub(super) fn unescaped(text: &str) -> Option<View> {
    let bytes = text.as_bytes();
    memchr::memchr(b'\\', bytes)?;
    let mut view = Builder::default();
    let mut copied = 0;
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'\\', bytes.get(from..)?) {
        let at = from + found;
        match escape_at(text, at) {
            Some((char, len)) => {
                view.verbatim(copied, &text[copied..at]);
                view.escape(at, char);
                from = at + len;
                copied = from;
            }
            None => from = at + 1,
        }
    }
    view.verbatim(copied, &text[copied..]);
    view.finish(text)
}

/// What the escape at a backslash stands for, and its length in bytes.
fn escape_at(text: &str, at: usize) -> Option<(char, usize)> {
    let char = match text.as_bytes().get(at + 1)? {
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = unit_at(text, at)?;
            if let Some(char) = char::from_u32(first) {
                return Some((char, 6));
            }
            // Half a pair by itself says nothing, and is one character of the view.
            let pair = unit_at(text, at + 6)
                .and_then(|second| match (first, second) {
                    (0xd800..0xdc00, 0xdc00..0xe000) => {
                        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
                    }
                    _ => None,
                })
                .map(|char| (char, 12));
            return Some(pair.unwrap_or((char::REPLACEMENT_CHARACTER, 6)));
        }
        _ => return None,
    };
    Some((char, 2))
}

fn unit_at(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// A text without the escapes of addresses, as far as they stand for ASCII; `None` where it has none.
pub(super) fn percent_decoded(text: &str) -> Option<View> {
    let bytes = text.as_bytes();
    memchr::memchr(b'%', bytes)?;
    let mut view = Builder::default();
    let mut copied = 0;
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'%', bytes.get(from..)?) {
        let at = from + found;
        let digits = text.get(at + 1..at + 3);
        let byte = digits
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .filter(u8::is_ascii_graphic);
        from = at + 1;
        if let Some(byte) = byte {
            view.verbatim(copied, &text[copied..at]);
            view.escape(at, char::from(byte));
            from = at + 3;
            copied = from;
        }
    }
    view.verbatim(copied, &text[copied..]);
    view.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_json_string_reads_as_what_it_was_made_of(text in "\\PC{0,40}", cut in any::<(u8, u8)>()) {
            let json = serde_json::Value::String(text.clone()).to_string();
            let raw = &json[1..json.len() - 1];
            let Some(view) = unescaped(raw) else {
                prop_assert_eq!(raw, text);
                return Ok(());
            };
            prop_assert_eq!(&view.text, &text);
            let ends: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
            let (one, other) = (ends[usize::from(cut.0) % ends.len()], ends[usize::from(cut.1) % ends.len()]);
            let range = one.min(other)..one.max(other);
            let there = serde_json::from_str::<String>(&format!("\"{}\"", &raw[view.in_source(&range)]));
            prop_assert_eq!(there.unwrap(), &text[range]);
        }
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert!(unescaped(r"a\d \ \u12 b").is_none());
        assert_eq!(
            unescaped(r"\ud83d\ude00 \ud83d x").unwrap().text,
            "😀 \u{fffd} x"
        );
        assert!(percent_decoded("100% %zz %C3%A9").is_none());
        assert_eq!(percent_decoded("a%3Ab%40").unwrap().text, "a:b@");
    }
}
