//! Colours of code without a screen: which language a file is in, what a highlighter's answer means for each line, and
//! in which order texts are asked for. The highlighter itself is a worker of the page.
//!
//! A colour never changes a text: spans are ranges within lines, and where an answer does not fit its text there are
//! none.

mod languages;
mod queue;

use std::ops::Range;

pub use languages::language_named;
pub(crate) use languages::language_of_path;
pub use queue::{Job, Lines, Queue, TextKey};

/// Longer texts stay plain: a slow machine must be done with them within the limit of one second (measured: 5,000 lines
/// of Rust take 0.3 s, and one second where the machine has ten other things to do).
pub(crate) const COLOURED_BYTES: usize = 256 * 1024;

/// As [`COLOURED_BYTES`].
pub(crate) const COLOURED_LINES: usize = 3_000;

/// What a stretch of code is. The numbers are those of the worker, where 0 is plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A word of the language.
    Keyword,
    /// Text in quotes.
    Text,
    /// A number, or an escape in a text.
    Number,
    /// A remark.
    Comment,
    /// An attribute, an annotation, a selector.
    Attribute,
    /// A regular expression.
    Regexp,
    /// The name of a function where it is made or called.
    Function,
    /// The name of a type.
    Type,
    /// A value that has a name.
    Constant,
    /// A sign that computes.
    Operator,
    /// The name of an element.
    Tag,
    /// A bracket or a separator.
    Punctuation,
}

/// All of them, in the worker's order.
pub const CLASSES: [Class; 12] = [
    Class::Keyword,
    Class::Text,
    Class::Number,
    Class::Comment,
    Class::Attribute,
    Class::Regexp,
    Class::Function,
    Class::Type,
    Class::Constant,
    Class::Operator,
    Class::Tag,
    Class::Punctuation,
];

impl Class {
    /// The class by the worker's number.
    pub fn of(number: u32) -> Option<Class> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        CLASSES.get(at).copied()
    }

    /// Its name in style sheets: `--af-syntax-keyword`, `.syntax-keyword`.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Keyword => "keyword",
            Class::Text => "string",
            Class::Number => "number",
            Class::Comment => "comment",
            Class::Attribute => "attribute",
            Class::Regexp => "regexp",
            Class::Function => "function",
            Class::Type => "type",
            Class::Constant => "constant",
            Class::Operator => "operator",
            Class::Tag => "tag",
            Class::Punctuation => "punctuation",
        }
    }
}

/// A coloured stretch of a line, in bytes.
pub type Span = (Range<usize>, Class);

/// Spans of each line of a text, lines as `split('\n')` has them. `answer` is `[start, length, class]` of each stretch,
/// in order, in UTF-16 units of the whole text. `None` where it does not fit the text.
pub fn by_line(text: &str, answer: &[u32]) -> Option<Vec<Vec<Span>>> {
    let (stretches, rest) = answer.as_chunks::<3>();
    if !rest.is_empty() {
        return None;
    }
    let mut lines = Vec::new();
    let mut position = Position::default();
    let mut stretches = stretches.iter().peekable();
    let mut line_start = 0;
    let mut line = Vec::new();
    // The stretch that goes on over a line's end.
    let mut open: Option<(u64, Class)> = None;
    loop {
        let line_end = text[line_start..]
            .find('\n')
            .map_or(text.len(), |at| line_start + at);
        loop {
            let (end, class) = match open.take() {
                Some(open) => open,
                None => {
                    let Some([start, length, class]) = stretches.peek() else {
                        break;
                    };
                    let start = u64::from(*start);
                    if start < position.units {
                        return None;
                    }
                    if !position.advance(text, start, line_end) {
                        break;
                    }
                    stretches.next();
                    (start + u64::from(*length), Class::of(*class)?)
                }
            };
            let start = position.bytes;
            let whole = position.advance(text, end, line_end);
            if start < position.bytes {
                line.push((start - line_start..position.bytes - line_start, class));
            }
            if !whole {
                open = Some((end, class));
                break;
            }
            if position.units != end {
                return None;
            }
        }
        // Whatever of the line is left has no colour.
        position.advance(text, u64::MAX, line_end);
        lines.push(std::mem::take(&mut line));
        if line_end == text.len() {
            break;
        }
        line_start = line_end + 1;
        position = Position {
            bytes: line_start,
            units: position.units + 1,
        };
        // What ends with the line end is done.
        open = open.filter(|(end, _)| *end > position.units);
    }
    (open.is_none() && stretches.next().is_none()).then_some(lines)
}

/// Spans as a page takes them: `[line, start, length, class]` of each, in UTF-16 units of the line; `class` by
/// [`CLASSES`]. What does not fit the text is left out.
pub fn flat(text: &str, lines: &[Vec<Span>]) -> Vec<u32> {
    let units = |text: &str| text.encode_utf16().count();
    let mut spans = Vec::new();
    for ((line_idx, line), of_line) in text.split('\n').enumerate().zip(lines) {
        let (mut bytes, mut at) = (0, 0);
        for (range, class) in of_line {
            let (Some(before), Some(within)) =
                (line.get(bytes..range.start), line.get(range.clone()))
            else {
                continue;
            };
            let (start, length) = (at + units(before), units(within));
            let class = CLASSES.iter().position(|known| known == class).unwrap_or(0);
            let numbers = [line_idx, start, length, class];
            spans.extend(numbers.map(|number| u32::try_from(number).unwrap_or(u32::MAX)));
            (bytes, at) = (range.end, start + length);
        }
    }
    spans
}

/// A place in a text, counted in both ways.
#[derive(Default)]
struct Position {
    bytes: usize,
    units: u64,
}

impl Position {
    /// Goes on to so many units, not beyond `stop`; whether they were reached.
    fn advance(&mut self, text: &str, units: u64, stop: usize) -> bool {
        for c in text[self.bytes..stop].chars() {
            if self.units >= units {
                break;
            }
            self.bytes += c.len_utf8();
            self.units += c.len_utf16() as u64;
        }
        self.units >= units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, answer: &[u32], want: Option<&[&[(&str, Class)]]>) {
        let lines = by_line(text, answer);
        let shown = lines.as_ref().map(|lines| {
            let lines = lines.iter().zip(text.split('\n'));
            lines
                .map(|(spans, line)| {
                    let spans = spans.iter();
                    spans
                        .map(|(range, class)| (&line[range.clone()], *class))
                        .collect()
                })
                .collect::<Vec<Vec<_>>>()
        });
        let want = want.map(|want| want.iter().map(|line| line.to_vec()).collect::<Vec<_>>());
        assert_eq!(shown, want, "{text:?} {answer:?}");
    }

    #[test]
    fn stretches_are_told_by_line_in_bytes() {
        use Class::{Comment, Keyword, Text};
        check("let é = 1", &[0, 3, 1], Some(&[&[("let", Keyword)]]));
        check(
            "é😀x\ny",
            &[3, 1, 1, 5, 1, 2],
            Some(&[&[("x", Keyword)], &[("y", Text)]]),
        );
        check(
            "/* a\nb */ c",
            &[0, 9, 4],
            Some(&[&[("/* a", Comment)], &[("b */", Comment)]]),
        );
        check(
            "a\n\nb\n",
            &[0, 4, 4],
            Some(&[&[("a", Comment)], &[], &[("b", Comment)], &[]]),
        );
        check(
            "a\nb",
            &[0, 2, 4, 2, 1, 1],
            Some(&[&[("a", Comment)], &[("b", Keyword)]]),
        );
        check("", &[], Some(&[&[]]));
    }

    #[test]
    fn spans_are_told_to_the_page_in_its_units() {
        let text = "é😀x y\nz";
        let lines = by_line(text, &[3, 1, 1, 5, 1, 2, 7, 1, 4]).unwrap();
        assert_eq!(flat(text, &lines), [0, 3, 1, 0, 0, 5, 1, 1, 1, 0, 1, 3]);
    }

    #[test]
    fn an_answer_that_does_not_fit_gives_no_colours() {
        for answer in [
            &[0, 1][..],
            &[0, 9, 1],
            &[5, 1, 1],
            &[0, 1, 0],
            &[0, 1, 99],
            &[1, 1, 1, 0, 1, 1],
        ] {
            check("abc", answer, None);
        }
        // Half of a pair of units is no place in a text.
        check("😀", &[0, 1, 1], None);
    }
}
