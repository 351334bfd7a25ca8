//! A table while it is being cut (GitHub Flavored Markdown 0.29, 4.10).

use std::ops::Range;

use super::lines::{Line, cells};
use super::{BYTES_PER_ROW, Piece};
use crate::block::{Align, TextKind};

/// Wider tables are text: each row that is shorter than its header would be filled up.
const MOST_COLUMNS: usize = 64;

/// A table that is open.
#[derive(Clone, Debug)]
pub(super) struct Table {
    columns: Box<[Align]>,
    begins: bool,
    range: Range<usize>,
}
chat_event::pack_fields!(Table {
    columns,
    begins,
    range
});

impl Table {
    /// The table that this line, under a header that starts at `header`, makes of both.
    pub(super) fn under(line: &Line<'_>, header: usize) -> Option<Table> {
        let columns = line
            .columns()
            .filter(|columns| columns.len() <= MOST_COLUMNS)?;
        let header_line = line.text[header..line.range.start].trim_end();
        let fits = header_line.contains('|') && cells(header_line).count() == columns.len();
        fits.then_some(Table {
            columns,
            begins: true,
            range: header..line.range.end,
        })
    }

    pub(super) fn take_row(self, line: &Line<'_>, closed: &mut Vec<Piece>) -> Table {
        if self.range.len() < BYTES_PER_ROW {
            let range = self.range.start..line.range.end;
            return Table { range, ..self };
        }
        let next = Table {
            begins: false,
            range: line.range.clone(),
            columns: self.columns.clone(),
        };
        closed.push(self.piece());
        next
    }

    pub(super) fn piece(self) -> Piece {
        Piece {
            range: self.range,
            kind: TextKind::Table {
                columns: self.columns,
                begins: self.begins,
            },
        }
    }
}
