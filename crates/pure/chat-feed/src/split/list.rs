//! A list while it is being cut: which item each line belongs to, as far as the cut needs to know it.
//!
//! A row begins at an item, at whatever level, or within one; code in an item has rows of its own.

use std::ops::Range;

use super::code::Code;
use super::lines::{Item, Line};
use super::{BYTES_PER_ROW, MOST_BYTES_PER_ROW, Open, Piece};
use crate::block::TextKind;

/// Items nested deeper belong to the deepest level: nobody could read them.
const MOST_LEVELS: usize = 16;

/// A list that is open.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// The open item of each level, outermost first; never empty.
    levels: Vec<Level>,
    row: Option<Row>,
    /// Whether the last line was empty.
    after_blank: bool,
}
chat_event::pack_fields!(List {
    levels,
    row,
    after_blank
});

#[derive(Clone, Debug)]
struct Level {
    mark: u8,
    /// The number of its newest item.
    number: Option<u64>,
    /// The column its newest item's content starts at.
    content: usize,
}
chat_event::pack_fields!(Level {
    mark,
    number,
    content
});

/// The row that is open.
#[derive(Clone, Debug)]
struct Row {
    range: Range<usize>,
    depth: usize,
    indent: usize,
    number: Option<u64>,
}
chat_event::pack_fields!(Row {
    range,
    depth,
    indent,
    number
});

impl List {
    /// The list that an item begins.
    pub(super) fn begin(line: &Line<'_>, item: &Item, closed: &mut Vec<Piece>) -> Open {
        let list = Box::new(List {
            levels: Vec::new(),
            row: None,
            after_blank: false,
        });
        list.take_item(line, 0, item, closed)
    }

    /// The column that content of the innermost open item starts at.
    pub(super) fn inside(&self) -> usize {
        self.levels.last().map_or(0, |level| level.content)
    }

    /// How many items are open.
    pub(super) fn depth(&self) -> u8 {
        u8::try_from(self.levels.len()).unwrap_or(u8::MAX)
    }

    pub(super) fn take_line(mut self: Box<Self>, line: &Line<'_>, closed: &mut Vec<Piece>) -> Open {
        if line.is_blank() {
            self.after_blank = true;
            return Open::List(self);
        }
        let holds = |level: &&Level| line.indent >= level.content;
        let depth = self.levels.iter().take_while(holds).count();
        let inner = line.within(self.content_of(depth));
        let begins_code = inner.fence();
        if let Some(fence) = begins_code
            && depth > 0
        {
            self.levels.truncate(depth);
            self.close_row(closed);
            self.after_blank = false;
            return Open::Code(Box::new(Code::fenced(&inner, &fence, Some(self))));
        }
        if let Some(item) = inner.item().filter(|_| !inner.is_rule()) {
            let goes_on = self
                .levels
                .get(depth)
                .is_none_or(|level| level.mark == item.mark);
            if depth > 0 || goes_on {
                return self.take_item(line, depth, &item, closed);
            }
            self.close(closed);
            return List::begin(line, &item, closed);
        }
        let lazy = !self.after_blank && self.row.is_some() && !inner.begins_block();
        if depth == 0 && !lazy {
            self.close(closed);
            return Open::Nothing.take_text_line(line, closed);
        }
        if !lazy {
            self.levels.truncate(depth);
        }
        let too_long =
            self.len() >= MOST_BYTES_PER_ROW || self.len() >= BYTES_PER_ROW && self.after_blank;
        if too_long
            || self
                .row
                .as_ref()
                .is_none_or(|row| !lazy && row.depth > depth)
        {
            let depth = if lazy { self.levels.len() } else { depth };
            self.begin_row(line, depth, None, closed);
        } else {
            self.extend(line.range.end);
        }
        self.after_blank = false;
        Open::List(self)
    }

    fn take_item(
        mut self: Box<Self>,
        line: &Line<'_>,
        depth: usize,
        item: &Item,
        closed: &mut Vec<Piece>,
    ) -> Open {
        let depth = depth.min(MOST_LEVELS - 1);
        let before = self
            .levels
            .get(depth)
            .filter(|level| level.mark == item.mark);
        let follows = before.and_then(|level| level.number);
        // Numbers count up from the first item's, whatever the others' say.
        let number = item
            .number
            .map(|first| follows.map_or(first, |number| number.saturating_add(1)));
        self.levels.truncate(depth);
        let row_depth = self.row.as_ref().map(|row| row.depth);
        let good_place = self.len() >= BYTES_PER_ROW && (depth == 0 || self.after_blank);
        let cut = row_depth.is_none_or(|row_depth| row_depth > depth)
            || good_place
            || self.len() >= MOST_BYTES_PER_ROW;
        if cut {
            self.begin_row(line, depth, number, closed);
        } else {
            self.extend(line.range.end);
        }
        self.levels.push(Level {
            mark: item.mark,
            number,
            content: line.column + item.width,
        });
        self.after_blank = false;
        let mut rest = line.behind(item).within(self.inside());
        // Items of further levels may begin in the same line.
        while self.levels.len() < MOST_LEVELS
            && let Some(item) = rest.item().filter(|_| !rest.is_rule())
        {
            self.levels.push(Level {
                mark: item.mark,
                number: item.number,
                content: rest.column + item.width,
            });
            rest = rest.behind(&item).within(self.inside());
        }
        if let Some(fence) = rest.fence() {
            // The item shows its mark, and its code has a row of its own.
            if let Some(row) = &mut self.row {
                row.range.end = rest.range.start.max(row.range.start);
            }
            self.close_row(closed);
            return Open::Code(Box::new(Code::fenced(&rest, &fence, Some(self))));
        }
        Open::List(self)
    }

    fn content_of(&self, depth: usize) -> usize {
        let outer = depth.checked_sub(1).and_then(|at| self.levels.get(at));
        outer.map_or(0, |level| level.content)
    }

    fn len(&self) -> usize {
        self.row.as_ref().map_or(0, |row| row.range.len())
    }

    fn extend(&mut self, end: usize) {
        if let Some(row) = &mut self.row {
            row.range.end = end;
        }
    }

    fn begin_row(
        &mut self,
        line: &Line<'_>,
        depth: usize,
        number: Option<u64>,
        closed: &mut Vec<Piece>,
    ) {
        self.close_row(closed);
        self.row = Some(Row {
            range: line.range.clone(),
            depth,
            indent: self.content_of(depth),
            number,
        });
    }

    fn close_row(&mut self, closed: &mut Vec<Piece>) {
        if let Some(row) = self.row.take() {
            closed.push(Piece {
                range: row.range,
                kind: TextKind::List {
                    indent: u16::try_from(row.indent).unwrap_or(u16::MAX),
                    depth: u8::try_from(row.depth).unwrap_or(u8::MAX),
                    number: row.number,
                },
            });
        }
    }

    /// Nothing more comes to it.
    pub(super) fn close(&mut self, closed: &mut Vec<Piece>) {
        self.close_row(closed);
    }
}
