//! Where the cursor is and goes.

use super::{Machine, Saved};
use crate::terminal::row::Column;
use crate::terminal::style::{Part, Style};

/// The cursor does not jump further into empty space than any screen is wide.
const JUMP_COLUMNS: usize = 512;
/// What programs ask for to learn how large the screen is, rather than to write there.
const FAR_AWAY: u16 = 500;

impl Machine {
    /// The cursor's column as a number: from here on the line is cells.
    pub(super) fn column(&mut self) -> usize {
        match self.column {
            Column::At(column) => column,
            Column::End => {
                let column = self.row_mut().columns();
                self.column = Column::At(column);
                column
            }
        }
    }

    pub(super) fn jump(&mut self, column: usize) {
        let n_columns = self.row_mut().columns();
        self.column = Column::At(column.min(n_columns.max(JUMP_COLUMNS)));
    }

    fn go_to(&mut self, row: usize) {
        if row == self.row {
            return;
        }
        // A column stays what it was, in a line of another length.
        self.column();
        self.row = row;
        self.reached = self.reached.min(self.n_settled + row);
    }

    pub(super) fn up(&mut self, n: usize) {
        self.leave_corner();
        self.go_to(self.row.saturating_sub(n));
    }

    /// Down, but not below the last line: only line feeds make lines.
    pub(super) fn down(&mut self, n: usize) {
        self.leave_corner();
        self.go_to(self.row.saturating_add(n).min(self.rows.len() - 1));
    }

    pub(super) fn save(&mut self) {
        let column = self.column();
        self.saved = Some(Saved {
            line: self.n_settled + self.row,
            column,
            style: self.style,
        });
    }

    pub(super) fn restore(&mut self) {
        let Some(saved) = self.saved else {
            return;
        };
        self.leave_corner();
        let row = saved.line.saturating_sub(self.n_settled);
        self.go_to(row.min(self.rows.len() - 1));
        self.jump(saved.column);
        // The stream and the link are what they are now: no terminal keeps them.
        self.style = Style {
            link: self.style.link,
            ..saved.style.with(Part::Stderr, self.style.stderr())
        };
    }

    pub(super) fn address(&mut self, row: u16, column: u16) {
        if row <= 1 && column <= 1 {
            // A program that erased the screen begins it anew; another will write over what is there.
            self.in_corner = !self.cleared;
            return;
        }
        let addressed = &mut self.addressed;
        addressed.screen = true;
        let near = |number: u16| if number < FAR_AWAY { number } else { 0 };
        addressed.rows = addressed.rows.max(near(row));
        addressed.columns = addressed.columns.max(near(column));
    }

    /// Something is done in the corner of the screen other than erasing it.
    pub(super) fn leave_corner(&mut self) {
        if self.in_corner {
            self.in_corner = false;
            self.addressed.screen = true;
        }
    }
}
