//! One line while it can still be changed: text that was only added to, or cells once something was written over.
//!
//! Almost all output is only added to; it is kept as text with runs. The first move of the cursor back into a line turns
//! it into cells, one for each column.
//!
//! What lies in one column is in `cell`.

mod cell;

use unicode_width::UnicodeWidthChar;

use super::style::{Color, Style};
use super::{Line, Run};
use cell::{Cell, ERASED, FILLED, loosen, loosen_from, mark, mark_size, push_char, push_wide};

/// More of one line is not kept, only counted: nobody reads on, and laying it out would take seconds.
pub(crate) const MOST_COLUMNS: usize = 4_000;

/// As many cells as a whole line of wide characters has. One of tabs would have four times as many.
const MOST_CELLS: usize = 2 * MOST_COLUMNS;

/// Tab stops, as every terminal begins with them.
const TAB_COLUMNS: usize = 8;

/// Where the cursor is in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// Behind the last character of a line that was only added to.
    End,
    /// In this column.
    At(usize),
}

/// A line.
#[derive(Clone, Debug)]
pub(super) struct Row {
    content: Content,
    /// Bytes beyond the most columns, and beyond the most marks of a cell.
    cut_bytes: u64,
    /// About what combining characters take, those of cells that were written over since included.
    mark_bytes: usize,
}

#[derive(Clone, Debug)]
enum Content {
    /// Text and where each style ends.
    Text {
        text: String,
        runs: Vec<(usize, Style)>,
        n_chars: usize,
    },
    Cells(Vec<Cell>),
}

impl Row {
    pub(super) fn new() -> Row {
        let content = Content::Text {
            text: String::new(),
            runs: Vec::new(),
            n_chars: 0,
        };
        Row {
            content,
            cut_bytes: 0,
            mark_bytes: 0,
        }
    }

    /// Its first column: in an empty line that is its end.
    pub(super) fn start(&self) -> Column {
        match &self.content {
            Content::Text { text, .. } if text.is_empty() => Column::End,
            Content::Text { .. } | Content::Cells(_) => Column::At(0),
        }
    }

    /// Whether it is as a line that begins.
    pub(super) fn is_new(&self) -> bool {
        matches!(&self.content, Content::Text { text, .. } if text.is_empty())
            && self.cut_bytes == 0
    }

    /// Whether nothing of it is shown.
    pub(super) fn is_blank(&self) -> bool {
        self.is_new() || self.cut_bytes == 0 && self.n_seen() == 0
    }

    /// How many of its columns are shown; what stands for nothing at its end is not.
    fn n_seen(&self) -> usize {
        let is_seen = |cell: &Cell| cell.char != ERASED || cell.style.background != Color::Default;
        match &self.content {
            Content::Text { n_chars, .. } => *n_chars,
            Content::Cells(cells) => cells.iter().rposition(is_seen).map_or(0, |at| at + 1),
        }
    }

    /// About how much memory it takes.
    pub(super) fn size(&self) -> usize {
        match &self.content {
            Content::Text { text, runs, .. } => {
                64 + text.len() + runs.len() * size_of::<(usize, Style)>()
            }
            Content::Cells(cells) => 64 + cells.len() * size_of::<Cell>() + self.mark_bytes,
        }
    }

    /// Adds text without controls at the end; false where the line is cells by now.
    pub(super) fn append(&mut self, added: &str, style: Style) -> bool {
        let Content::Text {
            text,
            runs,
            n_chars,
        } = &mut self.content
        else {
            return false;
        };
        let room = MOST_COLUMNS.saturating_sub(*n_chars);
        let n_added = if added.is_ascii() {
            added.len()
        } else {
            added.chars().count()
        };
        let kept = match added.char_indices().nth(room) {
            Some((at, _)) if n_added > room => &added[..at],
            _ => added,
        };
        self.cut_bytes += (added.len() - kept.len()) as u64;
        if kept.is_empty() {
            return true;
        }
        text.push_str(kept);
        *n_chars += n_added.min(room);
        match runs.last_mut() {
            Some((end, last)) if *last == style => *end = text.len(),
            _ => runs.push((text.len(), style)),
        }
        true
    }

    /// Turns it into cells, where it is none yet; returns how many columns there are.
    pub(super) fn columns(&mut self) -> usize {
        if let Content::Text { text, runs, .. } = &self.content {
            let mut cells = Vec::with_capacity(text.len() + 8);
            let mut start = 0;
            for (end, style) in runs {
                for char in text[start..*end].chars() {
                    if cells.len() >= MOST_CELLS {
                        self.cut_bytes += char.len_utf8() as u64;
                        continue;
                    }
                    self.cut_bytes += push_char(&mut cells, char, *style);
                    self.mark_bytes += mark_size(char);
                }
                start = *end;
            }
            self.content = Content::Cells(cells);
        }
        match &self.content {
            Content::Cells(cells) => cells.len(),
            Content::Text { .. } => 0,
        }
    }

    /// Writes one character at a column; returns the column behind it.
    pub(super) fn write(&mut self, column: usize, char: char, style: Style) -> usize {
        self.columns();
        let Content::Cells(cells) = &mut self.content else {
            return column;
        };
        let width = match char {
            '\t' => TAB_COLUMNS - column % TAB_COLUMNS,
            _ => char.width().unwrap_or(0),
        };
        if column >= MOST_COLUMNS.max(cells.len()) {
            self.cut_bytes += char.len_utf8() as u64;
            return column;
        }
        if width == 0 {
            let n_cut = mark(cells, column, char, style);
            self.cut_bytes += n_cut;
            if n_cut == 0 {
                self.mark_bytes += mark_size(char);
            }
            return column;
        }
        // A tab only moves over what is there.
        if char == '\t' && column < cells.len() {
            return column + width;
        }
        while cells.len() < column {
            cells.push(Cell::erased(Style {
                background: Color::Default,
                ..style
            }));
        }
        if column == cells.len() {
            push_wide(cells, char, width, style);
            return column + width;
        }
        for at in column..column + width {
            let char = if at == column { char } else { FILLED };
            if at < cells.len() {
                loosen(cells, at);
                cells[at] = Cell::new(char, style);
            } else {
                cells.push(Cell::new(char, style));
            }
        }
        // What a character reached into before is no part of the one that was written.
        loosen_from(cells, column + width);
        column + width
    }

    /// Erases what is at a column and behind it.
    pub(super) fn erase_from(&mut self, column: usize) {
        if column == 0 {
            *self = Row::new();
            return;
        }
        let n_columns = self.columns();
        self.cut_bytes = 0;
        let Content::Cells(cells) = &mut self.content else {
            return;
        };
        if column < n_columns {
            loosen(cells, column);
            cells.truncate(column);
        }
    }

    /// Erases columns, so that what is behind them stays where it is.
    pub(super) fn erase(&mut self, from: usize, to: usize, style: Style) {
        let n_columns = self.columns();
        let Content::Cells(cells) = &mut self.content else {
            return;
        };
        let to = to.min(n_columns);
        if from >= to {
            return;
        }
        loosen(cells, from);
        loosen_from(cells, to);
        cells[from..to].fill(Cell::erased(style));
    }

    /// Takes columns out; what is behind them moves up.
    pub(super) fn delete(&mut self, column: usize, n: usize) {
        let n_columns = self.columns();
        let Content::Cells(cells) = &mut self.content else {
            return;
        };
        let to = column.saturating_add(n).min(n_columns);
        if column < to {
            loosen(cells, column);
            loosen_from(cells, to);
            cells.drain(column..to);
        }
    }

    /// Puts blanks in; what is behind them moves on.
    pub(super) fn insert(&mut self, column: usize, n: usize, style: Style) {
        let n_columns = self.columns();
        let Content::Cells(cells) = &mut self.content else {
            return;
        };
        let n = n.min(MOST_COLUMNS.saturating_sub(n_columns));
        if column < n_columns && n > 0 {
            loosen(cells, column);
            cells.splice(column..column, std::iter::repeat_n(Cell::erased(style), n));
        }
    }

    /// The line as it is shown.
    pub(super) fn line(&self) -> Line {
        let mut line = Line {
            cut_bytes: self.cut_bytes,
            ..Line::default()
        };
        match &self.content {
            Content::Text { text, runs, .. } => {
                line.text.clone_from(text);
                line.runs = runs
                    .iter()
                    .map(|&(end, style)| Run { end, style })
                    .collect();
            }
            Content::Cells(cells) => {
                for cell in &cells[..self.n_seen()] {
                    if cell.char == FILLED {
                        continue;
                    }
                    line.text
                        .push(if cell.char == ERASED { ' ' } else { cell.char });
                    if let Some(marks) = &cell.marks {
                        line.text.push_str(marks);
                    }
                    let end = line.text.len();
                    match line.runs.last_mut() {
                        Some(run) if run.style == cell.style => run.end = end,
                        _ => line.runs.push(Run {
                            end,
                            style: cell.style,
                        }),
                    }
                }
            }
        }
        line.stderr = line.runs.first().is_some_and(|run| run.style.stderr());
        line
    }
}
