//! One line of Markdown, and what it may begin.

use std::ops::Range;

use super::Piece;
use crate::block::{Align, TextKind};

/// Of a longer word behind a fence no more is kept: no language is called so.
const LANGUAGE_BYTES: usize = 200;

/// A line without its line break.
#[derive(Clone, Debug)]
pub(super) struct Line<'t> {
    /// All of the text.
    pub(super) text: &'t str,
    /// Where the line stands in it.
    pub(super) range: Range<usize>,
    /// Whether its line break has come.
    pub(super) whole: bool,
    /// Columns of white space before its content; a tab goes to the next multiple of four.
    pub(super) indent: usize,
    /// The column of its content, whatever the line stands in.
    pub(super) column: usize,
    /// What stands behind the white space.
    pub(super) content: &'t str,
}

/// A code fence.
pub(super) struct Fence<'t> {
    pub(super) mark: u8,
    pub(super) len: usize,
    pub(super) language: &'t str,
}

/// A list item's mark.
pub(super) struct Item {
    /// `-`, `+`, `*`, or what stands behind the number: `.` or `)`.
    pub(super) mark: u8,
    pub(super) number: Option<u64>,
    /// Columns from the mark to the item's content.
    pub(super) width: usize,
    /// Bytes from the mark to the item's content.
    pub(super) bytes: usize,
    /// Whether it may follow a paragraph without an empty line.
    pub(super) interrupts: bool,
}

impl<'t> Line<'t> {
    pub(super) fn new(text: &'t str, range: Range<usize>, whole: bool) -> Line<'t> {
        Line::from_column(0, text, range, whole)
    }

    /// One that begins in this column.
    fn from_column(column: usize, text: &'t str, range: Range<usize>, whole: bool) -> Line<'t> {
        let line = text[range.clone()].trim_end_matches('\r');
        let content = line.trim_start_matches([' ', '\t']);
        let column = column_behind(&line[..line.len() - content.len()], column);
        Line {
            text,
            range: range.start..range.start + line.len(),
            whole,
            indent: column,
            column,
            content,
        }
    }

    /// The line as a block.
    pub(super) fn piece(&self, kind: TextKind) -> Piece {
        Piece {
            range: self.range.clone(),
            kind,
        }
    }

    /// The same line, as what stands in a container that begins `columns` in.
    pub(super) fn within(&self, columns: usize) -> Line<'t> {
        Line {
            indent: self.indent.saturating_sub(columns),
            ..self.clone()
        }
    }

    /// The rest of an item's first line, in the columns of all of it.
    pub(super) fn behind(&self, item: &Item) -> Line<'t> {
        let (before, rest) = self.content.split_at(item.bytes);
        let start = self.range.end - rest.len();
        let column = column_behind(before, self.column);
        Line::from_column(column, self.text, start..self.range.end, self.whole)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.content.is_empty()
    }

    /// At most three columns in: more are code.
    fn stands_out(&self) -> bool {
        self.indent <= 3
    }

    pub(super) fn is_indented_code(&self) -> bool {
        !self.stands_out()
    }

    /// The fence this line opens (CommonMark 0.31, 4.5).
    pub(super) fn fence(&self) -> Option<Fence<'t>> {
        let mark = *self.content.as_bytes().first()?;
        if !self.stands_out() || (mark != b'`' && mark != b'~') {
            return None;
        }
        let len = run_of(mark, self.content);
        let info = &self.content[len..];
        if len < 3 || (mark == b'`' && info.contains('`')) {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or_default();
        let language = &language[..language.floor_char_boundary(LANGUAGE_BYTES)];
        Some(Fence {
            mark,
            len,
            language,
        })
    }

    /// Whether it closes a fence of `len` marks.
    pub(super) fn closes(&self, mark: u8, len: usize) -> bool {
        let n_marks = run_of(mark, self.content);
        self.stands_out() && n_marks >= len && self.content[n_marks..].trim().is_empty()
    }

    /// The level of the heading it is (CommonMark 0.31, 4.2).
    pub(super) fn heading(&self) -> Option<u8> {
        let n_marks = run_of(b'#', self.content);
        let rest = &self.content[n_marks..];
        let level = u8::try_from(n_marks).ok()?;
        let is = self.stands_out()
            && (1..=6).contains(&level)
            && rest.starts_with([' ', '\t'])
            && !rest.trim_start().is_empty();
        is.then_some(level)
    }

    /// The level of the heading that a paragraph becomes by this line under it (CommonMark 0.31, 4.3). While the line is
    /// being written it takes three marks: two may be the start of a list, or of a table's second line.
    pub(super) fn underline(&self) -> Option<u8> {
        let content = self.content.trim_end();
        let level = match content.as_bytes().first()? {
            b'=' => 1,
            b'-' => 2,
            _ => return None,
        };
        let n_marks = run_of(content.as_bytes()[0], content);
        let is = self.stands_out() && n_marks == content.len() && (self.whole || n_marks >= 3);
        is.then_some(level)
    }

    /// Whether it is a rule (CommonMark 0.31, 4.1).
    pub(super) fn is_rule(&self) -> bool {
        let Some(&mark) = self.content.as_bytes().first() else {
            return false;
        };
        let of_marks = |byte: u8| byte == mark || byte == b' ' || byte == b'\t';
        self.stands_out()
            && matches!(mark, b'*' | b'-' | b'_')
            && self.content.bytes().all(of_marks)
            && self.content.bytes().filter(|&byte| byte == mark).count() >= 3
    }

    pub(super) fn is_quote(&self) -> bool {
        self.stands_out() && self.content.starts_with('>')
    }

    /// What stands behind the marks of at most so many quotes, and of how many.
    pub(super) fn behind_quotes(&self, most: usize) -> (usize, Line<'t>) {
        let (mut n_quotes, mut line) = (0, self.clone());
        while n_quotes < most && line.is_quote() {
            let rest = &line.content[1..];
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            let start = self.range.end - rest.len();
            line = Line::new(self.text, start..self.range.end, self.whole);
            n_quotes += 1;
        }
        (n_quotes, line)
    }

    /// Whether it parts two paragraphs of a quote.
    pub(super) fn is_blank_quote(&self) -> bool {
        self.content.trim_start_matches(['>', ' ', '\t']).is_empty()
    }

    /// The list item it begins (CommonMark 0.31, 5.2).
    pub(super) fn item(&self) -> Option<Item> {
        if !self.stands_out() {
            return None;
        }
        let bytes = self.content.as_bytes();
        let n_digits = bytes
            .iter()
            .take(10)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let mark = *bytes.get(n_digits)?;
        let number = match (n_digits, mark) {
            (0, b'-' | b'+' | b'*') => None,
            (1..=9, b'.' | b')') => self.content[..n_digits].parse().ok(),
            _ => return None,
        };
        let rest = &self.content[n_digits + 1..];
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let white = &rest[..rest.len() - trimmed.len()];
        let column = self.column + n_digits + 1;
        // More than four columns are one, and then code; an item without content has its content one column in.
        let (spaces, n_bytes) = match (trimmed.is_empty(), column_behind(white, column) - column) {
            (false, spaces @ 1..=4) => (spaces, white.len()),
            _ => (1, white.len().min(1)),
        };
        Some(Item {
            mark,
            number,
            width: n_digits + 1 + spaces,
            bytes: n_digits + 1 + n_bytes,
            interrupts: !trimmed.is_empty() && number.is_none_or(|number| number == 1),
        })
    }

    /// Whether it begins a block where a paragraph could go on.
    pub(super) fn begins_block(&self) -> bool {
        self.fence().is_some()
            || self.heading().is_some()
            || self.is_rule()
            || self.is_quote()
            || self.item().is_some_and(|item| item.interrupts)
    }

    /// What it says as the line under a table's header.
    pub(super) fn columns(&self) -> Option<Box<[Align]>> {
        if !self.stands_out() || !self.content.contains('|') {
            return None;
        }
        let is_part = |byte: u8| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t');
        if !self.content.bytes().all(is_part) {
            return None;
        }
        cells(self.content).map(align_of).collect()
    }
}

fn align_of(cell: &str) -> Option<Align> {
    let cell = cell.trim();
    let dashes = cell.strip_prefix(':').unwrap_or(cell);
    let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
    if dashes.is_empty() || dashes.bytes().any(|byte| byte != b'-') {
        return None;
    }
    Some(match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Align::Center,
        (false, true) => Align::End,
        (_, false) => Align::Start,
    })
}

/// The cells of a table's row, as written.
pub(crate) fn cells(row: &str) -> impl Iterator<Item = &str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = match row.strip_suffix('|') {
        Some(inner) if !inner.ends_with('\\') => inner,
        _ => row,
    };
    let mut escaped = false;
    row.split(move |char: char| {
        let parts = char == '|' && !escaped;
        escaped = char == '\\' && !escaped;
        parts
    })
}

/// The column behind a stretch that begins in one: a tab goes to the next multiple of four.
fn column_behind(stretch: &str, column: usize) -> usize {
    stretch.bytes().fold(column, |column, byte| match byte {
        b'\t' => column + 4 - column % 4,
        _ => column + 1,
    })
}

fn run_of(mark: u8, content: &str) -> usize {
    content.bytes().take_while(|&byte| byte == mark).count()
}
