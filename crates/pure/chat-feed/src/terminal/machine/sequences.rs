//! What each control character and each sequence asks for; the table stands in [`super`].

use anstyle_parse::Params;

use super::Machine;
use crate::terminal::row::Column;
use crate::terminal::style;
use crate::terminal::style::{Part, Style};

impl Machine {
    pub(super) fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.line_feed(),
            b'\r' => self.column = self.row_mut().start(),
            0x08 => {
                let column = self.column();
                self.column = Column::At(column.saturating_sub(1));
            }
            b'\t' => {
                self.leave_corner();
                let style = self.style;
                let at_end = self.column == Column::End;
                if !at_end || !self.row_mut().append("\t", style) {
                    let column = self.column();
                    self.column = Column::At(self.row_mut().write(column, '\t', style));
                }
            }
            _ => {}
        }
    }

    pub(super) fn escape(&mut self, byte: u8) {
        match byte {
            b'7' => self.save(),
            b'8' => self.restore(),
            b'D' | b'E' => self.line_feed(),
            b'M' => self.up(1),
            b'c' => {
                self.style = Style::default().with(Part::Stderr, self.style.stderr());
                self.break_line();
            }
            _ => {}
        }
    }

    pub(super) fn control(&mut self, params: &Params, intermediates: &[u8], action: u8) {
        let nth = |n: usize| {
            params
                .iter()
                .nth(n)
                .and_then(|param| param.first().copied())
                .unwrap_or(0)
        };
        // A count that is not given, or 0, is 1.
        let n = usize::from(nth(0).max(1));
        match (intermediates, action) {
            ([], b'm') => style::select(&mut self.style, params),
            ([], b'A') => self.up(n),
            ([], b'B') => self.down(n),
            ([], b'E') => {
                self.down(n);
                self.column = Column::At(0);
            }
            ([], b'F') => {
                self.up(n);
                self.column = Column::At(0);
            }
            ([], b'C' | b'a') => {
                let column = self.column();
                self.jump(column.saturating_add(n));
            }
            ([], b'D') => {
                let column = self.column();
                self.column = Column::At(column.saturating_sub(n));
            }
            ([], b'G' | b'`') => self.jump(n - 1),
            ([], b'H' | b'f') => self.address(nth(0), nth(1)),
            ([], b'd') => self.address(nth(0).max(2), 1),
            ([], b'r') if params.len() > 1 => self.addressed.screen = true,
            ([], b'J') => self.erase_display(nth(0)),
            ([], b'K') => self.erase_line(nth(0)),
            ([], b'X') => {
                let column = self.column();
                let style = self.style;
                self.row_mut()
                    .erase(column, column.saturating_add(n), style);
            }
            ([], b'P') => {
                let column = self.column();
                self.row_mut().delete(column, n);
            }
            ([], b'@') => {
                let column = self.column();
                let style = self.style;
                self.row_mut().insert(column, n, style);
            }
            ([], b'L') => self.insert_lines(n),
            ([], b'M') => self.delete_lines(n),
            ([], b's') => self.save(),
            ([], b'u') => self.restore(),
            ([b'?'], b'h')
                if params
                    .iter()
                    .any(|param| matches!(param, [47 | 1047 | 1049, ..])) =>
            {
                self.addressed.screen = true;
            }
            _ => {}
        }
    }
}
