//! Code while it is being cut: fenced, or indented by four columns.

use std::ops::Range;

use super::lines::{Fence, Line};
use super::list::List;
use super::{BYTES_PER_ROW, Open, Piece};
use crate::block::TextKind;

/// Rows stay small enough to be mounted one by one: a code block is cut after this many lines.
const LINES_PER_ROW: u32 = 64;

/// A code block that is open.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// Mark and length of its fence; none where it is indented.
    fence: Option<(u8, usize)>,
    language: Box<str>,
    /// Columns before its lines' content.
    indent: usize,
    begins: bool,
    range: Range<usize>,
    n_lines: u32,
    /// The list it stands in.
    within: Option<Box<List>>,
}
chat_event::pack_fields!(Code {
    fence,
    language,
    indent,
    begins,
    range,
    n_lines,
    within
});

impl Code {
    pub(super) fn fenced(line: &Line<'_>, fence: &Fence<'_>, within: Option<Box<List>>) -> Code {
        let inside = within.as_ref().map_or(0, |list| list.inside());
        Code {
            fence: Some((fence.mark, fence.len)),
            language: fence.language.into(),
            indent: inside + line.indent,
            begins: true,
            range: line.range.end..line.range.end,
            n_lines: 0,
            within,
        }
    }

    pub(super) fn indented(line: &Line<'_>) -> Code {
        Code {
            fence: None,
            language: Box::default(),
            indent: 4,
            begins: true,
            range: line.range.clone(),
            n_lines: 1,
            within: None,
        }
    }

    pub(super) fn take_line(self: Box<Self>, line: &Line<'_>, closed: &mut Vec<Piece>) -> Open {
        let Some((mark, len)) = self.fence else {
            return self.take_indented(line, closed);
        };
        let inside = self.within.as_ref().map_or(0, |list| list.inside());
        let closes = line.within(inside).closes(mark, len);
        // What does not reach into the item ends it, and the code within it; but many a closing fence is not indented.
        let left = line.indent < inside && !line.is_blank() && !closes;
        if closes || left {
            let mut code = *self;
            let list = code.within.take();
            closed.push(code.piece_within(true, list.as_deref()));
            return match (list, left) {
                (Some(list), false) => Open::List(list),
                (Some(list), true) => list.take_line(line, closed),
                (None, _) => Open::Nothing,
            };
        }
        Open::Code(Box::new(self.add(line.range.clone(), closed)))
    }

    fn take_indented(self: Box<Self>, line: &Line<'_>, closed: &mut Vec<Piece>) -> Open {
        if line.is_blank() {
            return Open::Code(self);
        }
        if line.is_indented_code() {
            return Open::Code(Box::new(self.add(line.range.clone(), closed)));
        }
        closed.push(self.piece(true));
        Open::Nothing.take_text_line(line, closed)
    }

    fn add(mut self, range: Range<usize>, closed: &mut Vec<Piece>) -> Code {
        if self.n_lines >= LINES_PER_ROW || self.range.len() >= BYTES_PER_ROW {
            let next = Code {
                begins: false,
                range,
                n_lines: 1,
                ..self.clone()
            };
            closed.push(self.piece(false));
            return next;
        }
        if self.n_lines == 0 {
            self.range.start = range.start;
        }
        self.range.end = range.end;
        self.n_lines += 1;
        self
    }

    /// Indented code may end with the line, and who does not look at it cannot tell.
    pub(super) fn takes_long_lines(&self) -> bool {
        self.fence.is_some()
    }

    /// A stretch of a long line has rows of its own.
    pub(super) fn take_stretch(mut self, range: Range<usize>, closed: &mut Vec<Piece>) -> Code {
        if self.n_lines > 0 {
            self.n_lines = LINES_PER_ROW;
        }
        let mut code = self.add(range, closed);
        code.n_lines = LINES_PER_ROW;
        code
    }

    pub(super) fn piece(self, ends: bool) -> Piece {
        let list = self.within.clone();
        self.piece_within(ends, list.as_deref())
    }

    fn piece_within(self, ends: bool, list: Option<&List>) -> Piece {
        Piece {
            range: self.range,
            kind: TextKind::Code {
                language: self.language,
                indent: u16::try_from(self.indent).unwrap_or(u16::MAX),
                depth: list.map_or(0, List::depth),
                begins: self.begins,
                ends,
            },
        }
    }
}
