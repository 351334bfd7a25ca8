//! Cells of a line: a character with the marks on it, over one column or two.

use unicode_width::UnicodeWidthChar;

use super::TAB_COLUMNS;
use crate::terminal::style::{Part, Style};

/// So many combining characters are kept on one cell: signs of any script, and emoji, have fewer.
const MOST_MARKS: usize = 16;

/// A cell that was erased or jumped over. Controls are never printed, so they can stand for this and the next.
pub(super) const ERASED: char = '\0';

/// A column that the character before it reaches into: the rest of a tab, or of a wide character.
pub(super) const FILLED: char = '\u{1}';

/// One column.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) char: char,
    pub(super) style: Style,
    /// Combining characters on it. Hardly any cell has some, so for all the others they take but one word.
    #[allow(clippy::box_collection)]
    pub(super) marks: Option<Box<String>>,
}

impl Cell {
    pub(super) fn new(char: char, style: Style) -> Cell {
        Cell {
            char,
            style,
            marks: None,
        }
    }

    /// An erased column has the ground that was set and the stream that set it, and nothing else.
    pub(super) fn erased(style: Style) -> Cell {
        let ground = Style {
            background: style.background,
            ..Style::default()
        };
        Cell::new(ERASED, ground.with(Part::Stderr, style.stderr()))
    }
}

/// Adds one character at the end; returns how many bytes were left out.
pub(super) fn push_char(cells: &mut Vec<Cell>, char: char, style: Style) -> u64 {
    let width = match char {
        '\t' => TAB_COLUMNS - cells.len() % TAB_COLUMNS,
        _ => char.width().unwrap_or(0),
    };
    match width {
        0 => mark(cells, cells.len(), char, style),
        _ => {
            push_wide(cells, char, width, style);
            0
        }
    }
}

pub(super) fn push_wide(cells: &mut Vec<Cell>, char: char, width: usize, style: Style) {
    cells.push(Cell::new(char, style));
    for _ in 1..width {
        cells.push(Cell::new(FILLED, style));
    }
}

/// Puts a combining character on the one before the column; in an empty line it stands for itself, and with nothing before
/// it it is left out. Returns how many bytes were left out.
pub(super) fn mark(cells: &mut Vec<Cell>, column: usize, char: char, style: Style) -> u64 {
    if cells.is_empty() {
        cells.push(Cell::new(char, style));
        return 0;
    }
    let mut at = column.min(cells.len());
    while at > 0 && cells[at - 1].char == FILLED {
        at -= 1;
    }
    if let Some(cell) = at.checked_sub(1).and_then(|before| cells.get_mut(before)) {
        let marks = cell.marks.get_or_insert_default();
        if marks.chars().count() < MOST_MARKS {
            marks.push(char);
            return 0;
        }
    }
    char.len_utf8() as u64
}

/// What a combining character takes beside its cell.
pub(super) fn mark_size(char: char) -> usize {
    match char.width() {
        Some(0) => size_of::<String>() + char.len_utf8(),
        _ => 0,
    }
}

/// Parts the character that reaches over a column from what is at it: both halves become blank.
pub(super) fn loosen(cells: &mut [Cell], column: usize) {
    if cells.get(column).is_some_and(|cell| cell.char == FILLED) {
        let mut head = column;
        while head > 0 && cells[head].char == FILLED {
            head -= 1;
        }
        let style = cells[head].style;
        cells[head..column].fill(Cell::erased(style));
    }
    loosen_from(cells, column + 1);
    loosen_from(cells, column);
}

/// What is at a column and belongs to a character before it becomes blank.
pub(super) fn loosen_from(cells: &mut [Cell], column: usize) {
    for cell in cells.iter_mut().skip(column) {
        if cell.char != FILLED {
            return;
        }
        *cell = Cell::erased(cell.style);
    }
}
