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

    /// Where in the view what stands at a place of the source does; of what is not there, where it would.
    pub(super) fn place_of(&self, at: usize) -> usize {
        let behind = self.pieces.partition_point(|piece| piece.source <= at);
        let ends = self
            .pieces
            .get(behind)
            .map_or(self.text.len(), |next| next.at);
        let own = self.pieces.get(behind.saturating_sub(1));
        own.map_or(0, |piece| piece.at + at.saturating_sub(piece.source))
            .min(ends)
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
        // What stands for an escape is shorter.
        if self.text.len() == source.len() {
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

/// A text without what tells a terminal its colours; of other orders to it, such as where to write on, each is a space. And
/// where it names addresses and the like, which nobody sees, and which are no part of the view. `None` where it has no orders.
pub(super) fn without_orders(text: &str) -> Option<(View, Vec<Range<usize>>)> {
    let bytes = text.as_bytes();
    memchr::memchr(ESC, bytes)?;
    let mut view = Builder::default();
    let mut unseen = Vec::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(found) = memchr::memchr(ESC, bytes.get(from..)?) {
        let at = from + found;
        let Some(order) = order_at(text, at) else {
            from = at + 1;
            continue;
        };
        let end = match order {
            Order::Colour(end) | Order::Other(end) => end,
            Order::Unseen(ref content, end) => {
                unseen.push(content.clone());
                end
            }
        };
        view.verbatim(copied, &text[copied..at]);
        if let Order::Other(_) = order {
            view.escape(at, ' ');
        }
        from = end;
        copied = end;
    }
    view.verbatim(copied, &text[copied..]);
    view.finish(text).map(|view| (view, unseen))
}

const ESC: u8 = 0x1b;

/// An order to a terminal, with where it ends.
enum Order {
    /// How what follows looks, or that the rest of the line is empty: what stands around it stands side by side.
    Colour(usize),
    /// One that has a text, and where that stands.
    Unseen(Range<usize>, usize),
    Other(usize),
}

/// The order that begins here, by ECMA-48. One that has space in it is left: texts are looked at word by word while they come.
fn order_at(text: &str, at: usize) -> Option<Order> {
    let bytes = text.as_bytes();
    let from = at + 2;
    let of_kind = |from: usize, kind: std::ops::RangeInclusive<u8>| {
        let rest = bytes.get(from..).unwrap_or_default().iter();
        from + rest.take_while(|byte| kind.contains(byte)).count()
    };
    match bytes.get(at + 1)? {
        b'[' => {
            let end = of_kind(of_kind(from, 0x30..=0x3f), 0x21..=0x2f);
            match bytes.get(end)? {
                b'm' | b'K' => Some(Order::Colour(end + 1)),
                0x40..=0x7e => Some(Order::Other(end + 1)),
                _ => None,
            }
        }
        b']' => {
            let end = from + memchr::memchr2(BEL, ESC, bytes.get(from..)?)?;
            let n_bytes = match bytes.get(end..end + 2) {
                Some([ESC, b'\\']) => 2,
                Some([ESC, _]) => return None,
                _ if bytes[end] == BEL => 1,
                _ => return None,
            };
            let is_one_word = !text[from..end].contains(super::flow::ends_word);
            is_one_word.then_some(Order::Unseen(from..end, end + n_bytes))
        }
        // Which letters there are.
        b'(' | b')' => matches!(bytes.get(from)?, 0x30..=0x7e).then_some(Order::Colour(from + 1)),
        b'7' | b'8' | b'=' | b'>' | b'D' | b'E' | b'M' | b'c' => Some(Order::Other(from)),
        _ => None,
    }
}

const BEL: u8 = 0x07;

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
    fn orders_to_a_terminal_are_no_part_of_its_text() {
        let text = "\x1b[01;31m\x1b[Ka\x1b[0mb\x1b(B\x1b[3;4Hc\x1b]8;;x:y\x07d\x1b]8;;\x1b\\ \x1b]0;a b\x07\x1b[1\x1b[";
        let (view, unseen) = without_orders(text).unwrap();
        assert_eq!(view.text, "ab cd \x1b]0;a b\x07\x1b[1\x1b[");
        let unseen: Vec<&str> = unseen.iter().map(|range| &text[range.clone()]).collect();
        assert_eq!(unseen, ["8;;x:y", "8;;"]);
        for (at, char) in view.text.char_indices() {
            let there = view.in_source(&(at..at + 1));
            assert_eq!(view.place_of(there.start), at);
            let is = &text[there];
            assert!(
                is.starts_with(char) || (char == ' ' && is == "\x1b[3;4H"),
                "{is:?}"
            );
        }
        assert_eq!(&text[view.in_source(&(0..2))], "a\x1b[0mb");
        assert!(without_orders("\x1b[ \x1b]a").is_none());
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
