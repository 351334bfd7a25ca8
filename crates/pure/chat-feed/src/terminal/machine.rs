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

mod cursor;
mod lines;
mod print;
mod reader;
mod sequences;

use std::collections::VecDeque;

use super::links::Links;
use super::row::{Column, Row};
use super::style::Style;

pub(super) use print::is_unfinished;
pub(super) use reader::{FreshLine, Reader};

/// So many of the newest lines can be changed: more than any screen that programs draw their progress on has.
pub(super) const OPEN_LINES: usize = 100;

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

/// What `DECSC` keeps.
#[derive(Clone, Copy, Debug)]
struct Saved {
    /// Counted from the first.
    line: usize,
    column: usize,
    style: Style,
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
    /// What was kept with `DECSC`.
    saved: Option<Saved>,
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

    fn row_mut(&mut self) -> &mut Row {
        // There is always a line, and the cursor is always in one.
        &mut self.rows[self.row]
    }
}
