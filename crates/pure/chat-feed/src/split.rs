//! Cuts Markdown text into the blocks that are shown as rows of their own, while it grows.
//!
//! The cut is a function of the text alone: however it came in pieces, the same text gives the same blocks. Blocks are
//! told apart by their lines (CommonMark 0.31, GitHub's tables), and long ones are cut where that changes least, so that
//! the block that is open stays small. What stands within a block is for [`crate::prose`].

mod code;
mod lines;
mod list;
mod quote;
mod table;

use std::ops::Range;

use crate::block::TextKind;
use code::Code;
use lines::Line;
use list::List;
use quote::Quote;
use table::Table;

pub(crate) use lines::cells;

/// A block is cut at the next good place once it is this long, in bytes: rows stay small enough to be mounted one by one,
/// and the open one is quick to parse again.
const BYTES_PER_ROW: usize = 4096;

/// Without a good place, a block is cut at any line once it is this long.
const MOST_BYTES_PER_ROW: usize = 2 * BYTES_PER_ROW;

/// A longer line is cut within and shown without markup; so an endless line costs the same at every piece of it.
const LINE_BYTES: usize = 8192;

/// One block of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it stands in the text, in bytes.
    pub(crate) range: Range<usize>,
    /// What it is.
    pub(crate) kind: TextKind,
}

/// Where the cutting of one growing text stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Splitter {
    open: Open,
    /// Start of the first line that is not complete, or of what is left of it.
    line_start: usize,
    /// Whether that line was too long, and its start is a block already.
    long: bool,
    /// How far the text was looked at for newlines.
    seen: usize,
}
chat_event::pack_fields!(Splitter {
    open,
    line_start,
    long,
    seen
});

#[derive(Clone, Debug, Default)]
enum Open {
    #[default]
    Nothing,
    Paragraph {
        range: Range<usize>,
        last_line: usize,
    },
    Quote(Box<Quote>),
    Table(Table),
    Code(Box<Code>),
    List(Box<List>),
    LongLine(Range<usize>),
}
chat_event::pack_variants!(Open { 0 => Nothing, 1 => Paragraph { range, last_line }, 2 => Quote(quote), 3 => Table(table), 4 => Code(code), 5 => List(list), 6 => LongLine(range) });

impl Splitter {
    /// All blocks of a text that is whole.
    pub(crate) fn whole(text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut splitter = Splitter::default();
        splitter.push(text, &mut pieces);
        pieces.extend(splitter.tail(text));
        pieces
    }

    /// One that stands where nothing is open, and has taken what comes before.
    pub(crate) fn resting(at: usize) -> Splitter {
        Splitter {
            line_start: at,
            seen: at,
            ..Splitter::default()
        }
    }

    /// Takes what came since the last call; blocks that can change no more are added to `closed`. Where nothing was open
    /// last, and how many there were then.
    pub(crate) fn push(&mut self, text: &str, closed: &mut Vec<Piece>) -> Option<(usize, usize)> {
        let mut rest = None;
        loop {
            let newline = find_newline(text, self.seen);
            let end = newline.unwrap_or(text.len());
            while end - self.line_start > LINE_BYTES {
                let cut = cut_of_long_line(text, self.line_start);
                self.open
                    .take_stretch(self.line_start..cut, self.long, closed);
                self.line_start = cut;
                self.long = true;
            }
            self.seen = end;
            let Some(at) = newline else { return rest };
            self.take(text, self.line_start..at, true, closed);
            self.line_start = at + 1;
            self.seen = at + 1;
            self.long = false;
            if let Open::Nothing = self.open {
                rest = Some((self.line_start, closed.len()));
            }
        }
    }

    /// Takes what came since the last call where it makes the paragraph at the text's end longer and does nothing else;
    /// returned is where that paragraph starts. It then reaches to the end of the text.
    pub(crate) fn lengthen_paragraph(&mut self, text: &str) -> Option<usize> {
        let line = text.as_bytes().get(self.line_start..)?;
        // A line that begins with a letter is nothing else, whatever comes behind it.
        let first = *line.first()?;
        let is_letter = first.is_ascii_alphabetic() || !first.is_ascii();
        if !is_letter || self.long || line.len() > LINE_BYTES || line.last() == Some(&b'\r') {
            return None;
        }
        let start = match &self.open {
            Open::Nothing => self.line_start,
            Open::Paragraph { range, .. } if range.len() < BYTES_PER_ROW => range.start,
            _ => return None,
        };
        if find_newline(text, self.seen).is_some() {
            return None;
        }
        self.seen = text.len();
        Some(start)
    }

    fn take(&mut self, text: &str, line: Range<usize>, whole: bool, closed: &mut Vec<Piece>) {
        if self.long {
            if !line.is_empty() {
                self.open.take_stretch(line, true, closed);
            }
            if whole && let Open::LongLine(_) = self.open {
                std::mem::take(&mut self.open).close(closed);
            }
        } else {
            self.open.take_line(&Line::new(text, line, whole), closed);
        }
    }

    /// The blocks at the end of the text that may still change: at most one that is open and what the unfinished last
    /// line makes of it.
    pub(crate) fn tail(&self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut rest = self.clone();
        if rest.line_start < text.len() {
            rest.take(text, self.line_start..text.len(), false, &mut pieces);
        }
        rest.open.close(&mut pieces);
        pieces
    }
}

impl Open {
    fn take_line(&mut self, line: &Line<'_>, closed: &mut Vec<Piece>) {
        *self = match std::mem::take(self) {
            Open::Code(code) => code.take_line(line, closed),
            Open::List(list) => list.take_line(line, closed),
            outside => outside.take_text_line(line, closed),
        };
    }

    /// A line that no container holds.
    fn take_text_line(self, line: &Line<'_>, closed: &mut Vec<Piece>) -> Open {
        if line.is_blank() {
            return self.close(closed);
        }
        if let Open::Paragraph { range, .. } = &self
            && let Some(level) = line.underline()
        {
            closed.push(Piece {
                range: range.start..line.range.end,
                kind: TextKind::Heading(level),
            });
            return Open::Nothing;
        }
        if line.is_indented_code() && !matches!(self, Open::Paragraph { .. }) {
            self.close(closed);
            return Open::Code(Box::new(Code::indented(line)));
        }
        if let Some(fence) = line.fence() {
            self.close(closed);
            return Open::Code(Box::new(Code::fenced(line, &fence, None)));
        }
        if let Some(level) = line.heading() {
            self.close(closed);
            closed.push(line.piece(TextKind::Heading(level)));
            return Open::Nothing;
        }
        if line.is_rule() {
            self.close(closed);
            closed.push(line.piece(TextKind::Rule));
            return Open::Nothing;
        }
        if line.is_quote() {
            let quote = match self {
                Open::Quote(quote) => quote.take_line(line, closed),
                other => {
                    other.close(closed);
                    Quote::begin(line)
                }
            };
            return Open::Quote(Box::new(quote));
        }
        if let Some(item) = line.item()
            && (item.interrupts || !matches!(self, Open::Paragraph { .. }))
        {
            self.close(closed);
            return List::begin(line, &item, closed);
        }
        self.take_plain_line(line, closed)
    }

    /// A line that begins no block of its own.
    fn take_plain_line(self, line: &Line<'_>, closed: &mut Vec<Piece>) -> Open {
        match self {
            Open::Table(table) => Open::Table(table.take_row(line, closed)),
            Open::Quote(quote) => match quote.take_lazy(line) {
                Ok(quote) => Open::Quote(Box::new(quote)),
                Err(quote) => {
                    closed.push(quote.piece());
                    Open::paragraph(line.range.clone())
                }
            },
            Open::Paragraph { range, last_line } => {
                if let Some(table) = Table::under(line, last_line) {
                    if last_line > range.start {
                        let before = line.text[range.start..last_line].trim_end().len();
                        Open::paragraph(range.start..range.start + before).close(closed);
                    }
                    return Open::Table(table);
                }
                if range.len() < BYTES_PER_ROW {
                    return Open::Paragraph {
                        range: range.start..line.range.end,
                        last_line: line.range.start,
                    };
                }
                Open::paragraph(range).close(closed);
                Open::paragraph(line.range.clone())
            }
            other => {
                other.close(closed);
                Open::paragraph(line.range.clone())
            }
        }
    }

    /// A stretch of a line that is too long to be looked at.
    fn take_stretch(&mut self, range: Range<usize>, goes_on: bool, closed: &mut Vec<Piece>) {
        *self = match std::mem::take(self) {
            Open::Code(code) if goes_on || code.takes_long_lines() => {
                Open::Code(Box::new(code.take_stretch(range, closed)))
            }
            other => {
                other.close(closed);
                Open::LongLine(range)
            }
        };
    }

    fn paragraph(range: Range<usize>) -> Open {
        Open::Paragraph {
            last_line: range.start,
            range,
        }
    }

    /// Nothing more comes to it.
    fn close(self, closed: &mut Vec<Piece>) -> Open {
        match self {
            Open::Nothing => {}
            Open::Paragraph { range, .. } => closed.push(Piece {
                range,
                kind: TextKind::Paragraph,
            }),
            Open::Quote(quote) => closed.push(quote.piece()),
            Open::LongLine(range) => closed.push(Piece {
                range,
                kind: TextKind::LongLine,
            }),
            Open::Table(table) => closed.push(table.piece()),
            Open::Code(code) => closed.push(code.piece(true)),
            Open::List(mut list) => list.close(closed),
        }
        Open::Nothing
    }
}

fn find_newline(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    rest.iter()
        .position(|&byte| byte == b'\n')
        .map(|at| from + at)
}

/// Where a line that is too long is cut: behind a space near the limit, else at it. Nothing behind the limit counts.
fn cut_of_long_line(text: &str, start: usize) -> usize {
    /// How far before the limit a space is looked for.
    const NEAR: usize = 128;
    let limit = text.floor_char_boundary(start + LINE_BYTES);
    let near = text.floor_char_boundary(limit - NEAR);
    text[near..limit]
        .rfind(' ')
        .map_or(limit, |space| near + space + 1)
}

#[cfg(test)]
mod tests;
