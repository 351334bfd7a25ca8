//! Printing text where the cursor is.

use super::Machine;
use crate::terminal::row::Column;

impl Machine {
    /// Prints bytes that hold no C0 control; returns how many were taken, and whether that is all of them: where more may
    /// come, an unfinished character at the end waits for it.
    pub(super) fn print_bytes(&mut self, bytes: &[u8], at_end: bool) -> (usize, bool) {
        let mut taken = 0;
        for chunk in bytes.utf8_chunks() {
            self.print_text(chunk.valid());
            taken += chunk.valid().len();
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let last = taken + invalid.len() == bytes.len();
            if at_end && last && is_unfinished(invalid) {
                return (taken, false);
            }
            self.print(char::REPLACEMENT_CHARACTER);
            taken += invalid.len();
        }
        (taken, true)
    }

    fn print_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.leave_corner();
        self.cleared = false;
        // DEL and the second half of the controls (C1) print nothing.
        if text.bytes().any(|byte| byte == 0x7f || byte == 0xc2) && text.contains(char::is_control)
        {
            let clean: String = text.chars().filter(|char| !char.is_control()).collect();
            return self.print_clean(&clean);
        }
        self.print_clean(text);
    }

    fn print_clean(&mut self, text: &str) {
        let style = self.style;
        let at_end = self.column == Column::End;
        if at_end && self.row_mut().append(text, style) {
            return;
        }
        let mut column = self.column();
        let row = self.row_mut();
        for char in text.chars() {
            column = row.write(column, char, style);
        }
        self.column = Column::At(column);
    }

    pub(super) fn print(&mut self, char: char) {
        self.print_text(char.encode_utf8(&mut [0; 4]));
    }
}

/// Whether bytes that are no character might become one with what follows.
pub(in crate::terminal) fn is_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
