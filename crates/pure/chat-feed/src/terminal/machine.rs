//! What printed text does to the lines: a terminal without width, whose newest lines can still be changed.
//!
//! | sequence | what is done |
//! |---|---|
//! | `LF` `VT` `FF` `NEL` `IND` | down, to the line's start; a new line at the end |
//! | `CR` `BS` `HT` `CHA` `HPA` `CUF` `CUB` | along the line |
//! | `CUU` `CUD` `CNL` `CPL` `RI` `DECSC` `DECRC` | between lines that are not settled |
//! | `EL` `ED` `ECH` `DCH` `ICH` `DL` `IL` | erase, take out, put in |
//! | `SGR`, `OSC 8` | the style of what comes |
//! | `CUP` to the corner with `ED`, `RIS` | a new line: nothing that was shown is taken back |
//! | `CUP` elsewhere, `VPA`, `DECSTBM`, the alternate screen | noted: [`super::screen`] shows such output |
//! | everything else | nothing |
//!
//! Sequences: ECMA-48 (5th edition, 1991) and xterm's `ctlseqs` (patch 390).

use std::collections::VecDeque;

use anstyle_parse::{Params, Parser, Perform};

use super::links::Links;
use super::row::{Column, Row};
use super::style::{self, Part, Stream, Style};

/// So many of the newest lines can be changed: more than any screen that programs draw their progress on has.
pub(super) const OPEN_LINES: usize = 100;
/// The cursor does not jump further into empty space than any screen is wide.
const JUMP_COLUMNS: usize = 512;
/// What programs ask for to learn how large the screen is, rather than to write there.
const FAR_AWAY: u16 = 500;

/// What asks for a real screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Addressed {
    /// The alternate screen was used, or the cursor was put somewhere.
    pub(super) screen: bool,
    /// The lowest line that was addressed.
    pub(super) rows: u16,
    /// The rightmost column that was addressed.
    pub(super) columns: u16,
}

/// The lines that can be changed, the cursor, the style.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// Lines that went out of reach, from the first.
    pub(super) n_settled: usize,
    /// The lines behind them; there is always one.
    pub(super) rows: VecDeque<Row>,
    /// The cursor's line among `rows`.
    row: usize,
    column: Column,
    style: Style,
    /// Line (counted from the first) and column that were kept with `DECSC`.
    saved: Option<(usize, usize)>,
    /// The cursor went to the corner and nothing was done there since.
    in_corner: bool,
    /// The screen was erased and nothing was written since.
    cleared: bool,
    pub(super) addressed: Addressed,
    pub(super) links: Links,
    /// The highest line the cursor was in since this was asked last.
    reached: usize,
    /// Lines that went out of reach are kept here while somebody wants them.
    pub(super) gone: Option<Vec<Row>>,
}

/// A machine and what reads for it: one parser a stream, so that a sequence that one of them cuts does not swallow what
/// the other writes.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) machine: Machine,
    parsers: [(Parser, State); 2],
}

/// Where a parser stands, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between sequences.
    #[default]
    Ground,
    /// Just behind an escape character.
    Escape,
    /// Within a control sequence: the parser does not say when one ends that it ignores.
    Control,
    /// Within an operating system command.
    Command,
    /// Within any other sequence or string.
    Other,
}

/// Where one can begin to read in the middle: at the start of a line that nothing before can change.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreshLine {
    pub(super) line: usize,
    style: Style,
    saved: Option<(usize, usize)>,
}

/// A screen has no more lines to insert: more at once is nobody's wish.
const INSERTED_LINES: usize = 24;

impl Reader {
    pub(super) fn new() -> Reader {
        Reader {
            machine: Machine::new(),
            parsers: Default::default(),
        }
    }

    /// A reader that goes on from such a line.
    pub(super) fn at(fresh: FreshLine, links: Links) -> Reader {
        let machine = Machine {
            n_settled: fresh.line,
            style: fresh.style,
            saved: fresh.saved,
            reached: fresh.line,
            links,
            ..Machine::new()
        };
        Reader {
            machine,
            parsers: Default::default(),
        }
    }

    /// Whether all sequences that began have ended.
    pub(super) fn between_sequences(&self) -> bool {
        self.parsers
            .iter()
            .all(|(_, state)| *state == State::Ground)
    }

    /// The line the cursor is at the start of, where it is the newest and empty.
    pub(super) fn fresh_line(&self) -> Option<FreshLine> {
        let machine = &self.machine;
        let fresh = self.between_sequences()
            && machine.row + 1 == machine.rows.len()
            && machine.rows.back().is_some_and(Row::is_blank)
            && matches!(machine.column, Column::End | Column::At(0))
            && !machine.in_corner
            && !machine.cleared;
        fresh.then_some(FreshLine {
            line: machine.n_settled + machine.row,
            style: machine.style,
            saved: machine.saved,
        })
    }

    /// Takes bytes of one stream; returns how many: an unfinished character at the end is left for later.
    pub(super) fn read(&mut self, bytes: &[u8], stream: Stream) -> usize {
        let (parser, state) = &mut self.parsers[match stream {
            Stream::Stdout => 0,
            Stream::Stderr => 1,
        }];
        self.machine.style = self
            .machine
            .style
            .with(Part::Stderr, stream == Stream::Stderr);
        let mut at = 0;
        while at < bytes.len() {
            if *state == State::Ground {
                let rest = &bytes[at..];
                let n_plain = rest
                    .iter()
                    .position(|byte| *byte < b' ')
                    .unwrap_or(rest.len());
                let (taken, whole) = self
                    .machine
                    .print_bytes(&rest[..n_plain], n_plain == rest.len());
                at += taken;
                if !whole {
                    return at;
                }
                let Some(&control) = bytes.get(at) else { break };
                at += 1;
                match control {
                    0x1b => *state = step(parser, &mut self.machine, *state, control),
                    _ => self.machine.execute(control),
                }
                continue;
            }
            let byte = bytes[at];
            at += 1;
            *state = step(parser, &mut self.machine, *state, byte);
        }
        at
    }

    /// Shows the start of a character whose rest never came, because another stream did.
    pub(super) fn read_as_unreadable(&mut self, stream: Stream) {
        self.machine.style = self
            .machine
            .style
            .with(Part::Stderr, stream == Stream::Stderr);
        self.machine.print(char::REPLACEMENT_CHARACTER);
    }
}

/// Gives one byte of a sequence to the parser, and says where it stands then. The machine notes what the parser does.
fn step(parser: &mut Parser, machine: &mut Machine, state: State, byte: u8) -> State {
    // No command is longer than a line; one that was never ended must not swallow all that follows.
    if state == State::Command && byte == b'\n' {
        *parser = Parser::default();
        machine.execute(byte);
        return State::Ground;
    }
    // As a part of a character this is no end of a string, which it would be alone.
    if byte == 0x9c && state != State::Command {
        return state;
    }
    let mut ended = Ended {
        machine,
        ended: false,
    };
    parser.advance(&mut ended, byte);
    match (byte, state) {
        _ if ended.ended => State::Ground,
        (0x18 | 0x1a, _) => State::Ground,
        (0x1b, _) => State::Escape,
        (b'[', State::Escape) => State::Control,
        (b']', State::Escape) => State::Command,
        (0..0x20 | 0x7f.., State::Escape) => State::Escape,
        (_, State::Escape) => State::Other,
        (0x40..0x7f, State::Control) => State::Ground,
        (_, state) => state,
    }
}

/// Hands on what the parser finds, and notes that a sequence is over.
struct Ended<'m> {
    machine: &'m mut Machine,
    ended: bool,
}

impl Perform for Ended<'_> {
    fn execute(&mut self, byte: u8) {
        self.machine.execute(byte);
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: u8) {
        self.ended = true;
        if !ignore {
            self.machine.control(params, intermediates, action);
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        self.ended = true;
        if intermediates.is_empty() {
            self.machine.escape(byte);
        }
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], bell_terminated: bool) {
        self.ended = bell_terminated;
        if params.first() == Some(&b"8".as_slice()) {
            self.machine.style.link = self.machine.links.take(params);
        }
    }
}

impl Machine {
    fn new() -> Machine {
        Machine {
            n_settled: 0,
            rows: VecDeque::from([Row::new()]),
            row: 0,
            column: Column::End,
            style: Style::default(),
            saved: None,
            in_corner: false,
            cleared: false,
            addressed: Addressed::default(),
            links: Links::default(),
            reached: 0,
            gone: None,
        }
    }

    /// Lines so far; an empty one at the end is none yet.
    pub(super) fn n_lines(&self) -> usize {
        let open = self.rows.back().is_some_and(|row| !row.is_blank());
        self.n_settled + self.rows.len() - usize::from(!open)
    }

    /// About how much memory it takes.
    pub(super) fn size(&self) -> usize {
        self.rows.iter().map(Row::size).sum::<usize>() + 4 * 1024
    }

    /// The highest line that the cursor was in since this was asked last.
    pub(super) fn take_reached(&mut self) -> usize {
        let now = self.n_settled + self.row;
        std::mem::replace(&mut self.reached, now).min(now)
    }

    /// Prints bytes that hold no C0 control; returns how many were taken, and whether that is all of them: where more may
    /// come, an unfinished character at the end waits for it.
    fn print_bytes(&mut self, bytes: &[u8], at_end: bool) -> (usize, bool) {
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

    fn print(&mut self, char: char) {
        self.print_text(char.encode_utf8(&mut [0; 4]));
    }

    fn execute(&mut self, byte: u8) {
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

    fn escape(&mut self, byte: u8) {
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

    fn control(&mut self, params: &Params, intermediates: &[u8], action: u8) {
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

    /// The cursor's column as a number: from here on the line is cells.
    fn column(&mut self) -> usize {
        match self.column {
            Column::At(column) => column,
            Column::End => {
                let column = self.row_mut().columns();
                self.column = Column::At(column);
                column
            }
        }
    }

    fn jump(&mut self, column: usize) {
        let n_columns = self.row_mut().columns();
        self.column = Column::At(column.min(n_columns.max(JUMP_COLUMNS)));
    }

    fn row_mut(&mut self) -> &mut Row {
        // There is always a line, and the cursor is always in one.
        &mut self.rows[self.row]
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

    fn up(&mut self, n: usize) {
        self.leave_corner();
        self.go_to(self.row.saturating_sub(n));
    }

    /// Down, but not below the last line: only line feeds make lines.
    fn down(&mut self, n: usize) {
        self.leave_corner();
        self.go_to(self.row.saturating_add(n).min(self.rows.len() - 1));
    }

    fn line_feed(&mut self) {
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
    fn break_line(&mut self) {
        self.in_corner = false;
        self.row = self.rows.len() - 1;
        match self.row_mut().is_blank() {
            true => self.column = self.row_mut().start(),
            false => self.line_feed(),
        }
        self.cleared = true;
    }

    fn save(&mut self) {
        let column = self.column();
        self.saved = Some((self.n_settled + self.row, column));
    }

    fn restore(&mut self) {
        let Some((line, column)) = self.saved else {
            return;
        };
        self.leave_corner();
        self.go_to(line.saturating_sub(self.n_settled).min(self.rows.len() - 1));
        self.jump(column);
    }

    fn address(&mut self, row: u16, column: u16) {
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
    fn leave_corner(&mut self) {
        if self.in_corner {
            self.in_corner = false;
            self.addressed.screen = true;
        }
    }

    fn erase_display(&mut self, how: u16) {
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

    fn erase_line(&mut self, how: u16) {
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

    fn insert_lines(&mut self, n: usize) {
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

    fn delete_lines(&mut self, n: usize) {
        self.leave_corner();
        let to = self.row.saturating_add(n).min(self.rows.len());
        self.rows.drain(self.row..to);
        if self.row == self.rows.len() {
            self.rows.push_back(Row::new());
        }
        self.column = self.row_mut().start();
    }
}

/// Whether bytes that are no character might become one with what follows.
fn is_unfinished(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}
