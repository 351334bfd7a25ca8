//! Lines that begin, go out of reach, are erased, put in and taken out.

use super::{Machine, OPEN_LINES};
use crate::terminal::row::{Column, Row};

/// A screen has no more lines to insert: more at once is nobody's wish.
const INSERTED_LINES: usize = 24;

impl Machine {
    pub(super) fn line_feed(&mut self) {
        self.leave_corner();
        self.cleared = false;
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push_back(Row::new());
        }
        self.column = self.row_mut().start();
        if self.rows.len() > OPEN_LINES {
            self.settle();
        }
    }

    /// The first line goes out of reach.
    fn settle(&mut self) {
        if let Some(row) = self.rows.pop_front() {
            self.n_settled += 1;
            self.row = self.row.saturating_sub(1);
            if let Some(gone) = &mut self.gone {
                gone.push(row);
            }
        }
    }

    /// The screen is begun anew: what it showed stays, and a new line comes, unless the newest is empty.
    pub(super) fn break_line(&mut self) {
        self.in_corner = false;
        self.row = self.rows.len() - 1;
        match self.row_mut().is_blank() {
            true => self.column = self.row_mut().start(),
            false => self.line_feed(),
        }
        self.cleared = true;
    }

    pub(super) fn erase_display(&mut self, how: u16) {
        match how {
            // From the corner is all of it.
            0 if self.in_corner => self.break_line(),
            0 => {
                self.erase_line(0);
                self.rows.truncate(self.row + 1);
            }
            2 | 3 => self.break_line(),
            _ => {}
        }
    }

    pub(super) fn erase_line(&mut self, how: u16) {
        if self.in_corner {
            return;
        }
        let style = self.style;
        match how {
            0 => {
                if let Column::At(column) = self.column {
                    self.row_mut().erase_from(column);
                    if column == 0 {
                        self.column = Column::End;
                    }
                }
            }
            1 => {
                let column = self.column();
                self.row_mut().erase(0, column.saturating_add(1), style);
            }
            2 => {
                self.column();
                self.row_mut().erase_from(0);
            }
            _ => {}
        }
    }

    pub(super) fn insert_lines(&mut self, n: usize) {
        self.leave_corner();
        // How many does not hang on how many lines can still be changed: whoever reads on from a later place has fewer.
        for _ in 0..n.min(INSERTED_LINES) {
            self.rows.insert(self.row, Row::new());
        }
        self.column = self.row_mut().start();
        while self.rows.len() > OPEN_LINES {
            self.settle();
        }
    }

    pub(super) fn delete_lines(&mut self, n: usize) {
        self.leave_corner();
        let to = self.row.saturating_add(n).min(self.rows.len());
        self.rows.drain(self.row..to);
        if self.row == self.rows.len() {
            self.rows.push_back(Row::new());
        }
        self.column = self.row_mut().start();
    }
}
