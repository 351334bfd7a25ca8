//! What the emulator is spared of a text: what costs it far more than its bytes, and strings that were never ended.

use avt::Terminal;

/// So many cells are written by sequences that write more than their bytes, about half a second's worth: further ones do
/// nothing. Programs that draw a screen thousands of times come nowhere near.
const MOST_CELLS: usize = 500_000_000;
/// A cell that is printed takes as long as so many that are erased.
const CELLS_PER_PRINTED: usize = 10;

/// What stands between a text that comes in pieces and the emulator.
pub(super) struct Spared {
    state: State,
    /// So many cells may still be written.
    n_left: usize,
    /// Whether the last character was a carriage return.
    returned: bool,
}

/// Where the emulator's parser stands, as far as it matters here.
#[derive(Clone, Copy)]
enum State {
    /// Between sequences.
    Ground,
    /// Just behind an escape character.
    Escape,
    /// Behind an escape character and what goes with it.
    Intermediate,
    /// Within a control sequence: its first number so far, and whether that goes on.
    Control(usize, bool),
    /// Within a control sequence with other signs than numbers.
    Private,
    /// Within an operating system command.
    Command,
    /// Within another string, which a device or an application is to read.
    Text,
}

impl Spared {
    pub(super) fn new() -> Spared {
        Spared {
            state: State::Ground,
            n_left: MOST_CELLS,
            returned: false,
        }
    }

    /// Has the emulator read what comes next, for a screen of so many columns and rows.
    pub(super) fn feed(
        &mut self,
        terminal: &mut Terminal,
        text: &str,
        (columns, rows): (usize, usize),
    ) {
        let mut from = 0;
        for (at, char) in text.char_indices() {
            let returned = std::mem::replace(&mut self.returned, char == '\r');
            let n_cells = self.state.n_cells(char, columns, rows);
            let Some(n_left) = self.n_left.checked_sub(n_cells) else {
                // In place of its last character it is cancelled.
                terminal.feed([&text[from..at], "\u{18}"]);
                from = at + char.len_utf8();
                self.state = State::Ground;
                continue;
            };
            self.n_left = n_left;
            match (self.state, char) {
                // No string is longer than a line; one that was never ended must not swallow all that follows.
                (State::Command | State::Text, '\n') => {
                    let then = if returned { "\u{1b}\\\r" } else { "\u{1b}\\" };
                    terminal.feed([&text[from..at], then]);
                    from = at;
                    self.state = State::Ground;
                }
                // A character is repeated as often as it says, however small the screen: it is told anew with less.
                (State::Control(n, _), 'b') if n > columns => {
                    terminal.feed([&text[from..at], format!("\u{1b}[{columns}").as_str()]);
                    from = at;
                    self.state = State::Ground;
                }
                _ => self.state = self.state.behind(char),
            }
        }
        terminal.feed(&text[from..]);
    }
}

impl State {
    /// About how many cells are written by the sequence that this character ends.
    fn n_cells(self, char: char, columns: usize, rows: usize) -> usize {
        match (self, char) {
            (State::Control(n, _), 'b') => n.min(columns) * CELLS_PER_PRINTED,
            (State::Control(..), 'J' | 'L' | 'M' | 'S' | 'T') | (State::Private, 'h' | 'l') => {
                columns * rows
            }
            // Everything is made anew; the screen is filled with letters.
            (State::Escape, 'c') | (State::Intermediate, '8') => columns * rows * CELLS_PER_PRINTED,
            _ => 0,
        }
    }

    /// Where it stands behind one more character.
    fn behind(self, char: char) -> State {
        match (self, char) {
            (_, '\u{1b}') => State::Escape,
            (_, '\u{9b}') | (State::Escape, '[') => State::Control(0, true),
            (_, '\u{9d}') | (State::Escape, ']') => State::Command,
            (_, '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}')
            | (State::Escape, 'P' | 'X' | '^' | '_') => State::Text,
            (_, '\u{18}' | '\u{1a}' | '\u{80}'..='\u{9f}') | (State::Command, '\u{7}') => {
                State::Ground
            }
            (State::Command | State::Text, _) => self,
            // Controls are carried out, and the sequence goes on.
            (_, '\0'..='\u{1f}' | '\u{7f}') => self,
            (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
            (State::Control(n, true), '0'..='9') => {
                let digit = char.to_digit(10).unwrap_or(0) as usize;
                State::Control(n.saturating_mul(10).saturating_add(digit), true)
            }
            (State::Control(n, _), '0'..=';') => State::Control(n, false),
            (State::Control(..) | State::Private, ' '..='?') => State::Private,
            _ => State::Ground,
        }
    }
}
