//! A long text as far as it is shown before a reader asks for the whole: its beginning, its end, and how much it is.
//!
//! A string and the reference that stands for it have the same excerpt, so what is shown of either is the same. Which
//! lines of it are shown, and how, is for the page.

use std::borrow::Cow;

use crate::body::{Body, BodyRef};
use crate::text::TextRef;

/// Length of the beginning in bytes; it is cut on a character. A text up to this length is its own excerpt.
pub const PREVIEW_BYTES: usize = 4096;

/// Length of the end in bytes: room for the few lines that are shown of it.
pub const TAIL_BYTES: usize = 2048;

/// The two ends of a text, and its size.
///
/// ```
/// use chat_event::Excerpt;
/// let text = "one line\n".repeat(1000);
/// let excerpt = Excerpt::of(&text);
/// assert_eq!((excerpt.bytes, excerpt.lines), (9000, Some(1000)));
/// assert!(excerpt.whole().is_none());
/// assert!(excerpt.tail.len() <= 2048 && excerpt.tail.starts_with("one line\n"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Excerpt<'a> {
    /// The beginning, or the whole.
    pub preview: TextRef<'a>,
    /// The end, where the beginning is not the whole; it begins with a line where one begins near enough to the end.
    pub tail: TextRef<'a>,
    /// Length of the whole in bytes.
    pub bytes: u64,
    /// How many lines the whole has; older references do not say.
    pub lines: Option<u64>,
}

impl<'a> Excerpt<'a> {
    /// The excerpt of a text.
    pub fn of(text: &'a str) -> Self {
        Excerpt::of_ref(&text.into())
    }

    fn of_ref(whole: &TextRef<'a>) -> Self {
        let text: &str = whole;
        let preview = &text[..text.floor_char_boundary(PREVIEW_BYTES)];
        let rest = &text[preview.len()..];
        let tail = if rest.len() <= TAIL_BYTES {
            // Both ends are the whole then: nothing is left to ask for.
            rest
        } else {
            let end = &rest[rest.ceil_char_boundary(rest.len() - TAIL_BYTES)..];
            let before = &rest[..rest.len() - end.len()];
            match end.find('\n') {
                Some(at) if !before.ends_with('\n') && at + 1 < end.len() => &end[at + 1..],
                Some(_) | None => end,
            }
        };
        let (end, tail_at) = (preview.len(), text.len() - tail.len());
        Excerpt {
            preview: whole.part(0..end),
            tail: whole.part(tail_at..text.len()),
            bytes: text.len() as u64,
            lines: Some(n_lines(text)),
        }
    }

    /// The whole text, where the two ends are all of it.
    pub fn whole(&self) -> Option<Cow<'a, str>> {
        if !self.is_whole() {
            return None;
        }
        Some(match &*self.tail {
            "" => self.preview.clone().into_cow(),
            tail => Cow::Owned([&*self.preview, tail].concat()),
        })
    }

    /// Whether the two ends are all of it.
    pub fn is_whole(&self) -> bool {
        self.bytes <= (self.preview.len() + self.tail.len()) as u64
    }
}

impl BodyRef {
    /// What the reference tells of the text.
    pub fn excerpt(&self) -> Excerpt<'_> {
        Excerpt {
            preview: self.preview.as_str().into(),
            tail: self.tail.as_deref().unwrap_or_default().into(),
            bytes: self.bytes,
            lines: self.lines,
        }
    }

    /// The reference to a text whose SHA-256 is `sha256`.
    pub fn to(text: &str, sha256: String) -> BodyRef {
        let excerpt = Excerpt::of(text);
        BodyRef {
            sha256,
            bytes: excerpt.bytes,
            preview: excerpt.preview.clone().into_string(),
            truncated: excerpt.preview.len() < text.len(),
            tail: (!excerpt.tail.is_empty()).then(|| excerpt.tail.clone().into_string()),
            lines: excerpt.lines,
            ..BodyRef::default()
        }
    }
}

impl Body {
    /// What is shown of the text before the whole is asked for.
    pub fn excerpt(&self) -> Excerpt<'_> {
        match self {
            Body::Inline(text) => Excerpt::of_ref(&text.read()),
            Body::Ref { body } => body.excerpt(),
        }
    }

    /// The beginning: the same whether the text is here or elsewhere.
    pub fn head(&self) -> TextRef<'_> {
        match self {
            Body::Inline(text) => {
                let text = text.read();
                let end = text.floor_char_boundary(PREVIEW_BYTES);
                text.part(0..end)
            }
            Body::Ref { body } => body.preview.as_str().into(),
        }
    }
}

/// What a reference tells of a text, of one that comes in pieces and is nowhere whole.
///
/// ```
/// use chat_event::{BodyEnds, BodyRef};
/// let mut ends = BodyEnds::default();
/// ["one\n", "two\n"].iter().for_each(|piece| ends.push(piece));
/// assert_eq!(ends.reference("ab".to_owned()), BodyRef::to("one\ntwo\n", "ab".to_owned()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct BodyEnds {
    /// The beginning, with more than is told of it.
    head: String,
    /// What follows it, or the end of that, with more than is told.
    tail: String,
    bytes: u64,
    n_ends: u64,
}

/// More than is told of either end, by more than a character.
const END_BYTES: usize = PREVIEW_BYTES + 16;

impl BodyEnds {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &str) {
        self.bytes += piece.len() as u64;
        self.n_ends += memchr::memchr_iter(b'\n', piece.as_bytes()).count() as u64;
        let room = END_BYTES.saturating_sub(self.head.len());
        let (head, rest) = match self.tail.is_empty() {
            true => piece.split_at(piece.floor_char_boundary(room)),
            false => ("", piece),
        };
        self.head.push_str(head);
        self.tail.push_str(rest);
        if self.tail.len() > 4 * END_BYTES {
            let from = self.tail.ceil_char_boundary(self.tail.len() - END_BYTES);
            self.tail.drain(..from);
        }
    }

    /// The reference to the text whose SHA-256 is `sha256`.
    pub fn reference(&self, sha256: String) -> BodyRef {
        let ends = [self.head.as_str(), &self.tail].concat();
        let unended = !ends.is_empty() && !ends.ends_with('\n');
        BodyRef {
            bytes: self.bytes,
            lines: Some(self.n_ends + u64::from(unended)),
            ..BodyRef::to(&ends, sha256)
        }
    }
}

/// The number of lines, the last one ended or not.
fn n_lines(text: &str) -> u64 {
    let n_ends = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    let unended = !text.is_empty() && !text.ends_with('\n');
    n_ends as u64 + u64::from(unended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_cut_on_characters_and_the_tail_on_a_line() {
        let text = format!("{}\nlast\n", "é\n".repeat(4000));
        let excerpt = Excerpt::of(&text);
        assert!(text.starts_with(&*excerpt.preview) && text.ends_with(&*excerpt.tail));
        assert!(excerpt.tail.starts_with('é') && excerpt.tail.len() <= TAIL_BYTES);
        assert_eq!(excerpt.lines, Some(text.lines().count() as u64));
        // One line longer than the tail: there is no better place than a character.
        let text = "😀".repeat(4000);
        let excerpt = Excerpt::of(&text);
        assert_eq!(excerpt.tail.len(), TAIL_BYTES);
        assert_eq!(excerpt.lines, Some(1));
        // A line's end at the very end begins no line.
        let text = format!("{}\n", "x".repeat(9000));
        assert_eq!(Excerpt::of(&text).tail.len(), TAIL_BYTES);
    }

    #[test]
    fn what_the_two_ends_hold_needs_no_asking() {
        for len in [0, 1, 4095, 4096, 4097, 5000, 6144] {
            let text = "a\nb".repeat(len / 3) + &"c".repeat(len % 3);
            assert_eq!(
                Excerpt::of(&text).whole().as_deref(),
                Some(&*text),
                "{len} bytes"
            );
        }
        assert_eq!(Excerpt::of(&"x".repeat(6145)).whole(), None);
    }

    #[test]
    fn a_reference_tells_what_the_text_tells() {
        for text in ["", "short", &"line\n".repeat(5000), &"é".repeat(3000)] {
            let reference = BodyRef::to(text, "00".to_owned());
            assert_eq!(reference.excerpt(), Excerpt::of(text));
        }
    }

    #[test]
    fn a_text_in_pieces_has_the_reference_of_the_whole() {
        let texts = [
            String::new(),
            "short".to_owned(),
            "é\n".repeat(4000),
            "x".repeat(PREVIEW_BYTES + TAIL_BYTES),
            "日本語 line\n".repeat(9000),
            "y".repeat(100_000),
        ];
        for text in &texts {
            for size in [1, 7, 4096, 5000, 50_000] {
                let mut ends = BodyEnds::default();
                let mut rest = text.as_str();
                while !rest.is_empty() {
                    let (piece, more) = rest.split_at(rest.ceil_char_boundary(size));
                    ends.push(piece);
                    rest = more;
                }
                let of_pieces = ends.reference("ab".to_owned());
                assert_eq!(of_pieces, BodyRef::to(text, "ab".to_owned()), "{size}");
            }
        }
    }
}
