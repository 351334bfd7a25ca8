//! A diff as a list of things to show, unified or side by side: heads of files, hunks, lines, and what is folded away.
//!
//! The list is long where the diff is; what is drawn of it is a chunk at a time ([`DiffList::draw`]), so that a page
//! holds a few hundred lines of however many. Parsing is `chat-diff`'s, colours are `syntax`'s, and the page is told
//! what to draw as one buffer of codes and words ([`Strokes`]).
//!
//! The things are put in their order in `arrange` and found in `places`; `files` has the words that are said of a file.

mod arrange;
mod draw;
mod ends;
mod files;
mod places;
#[cfg(test)]
mod tests;
mod widening;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use chat_diff::{Change, LineKind, Made, Patch, PatchFile, PatchHunk, Space, SplitRow};

use crate::syntax::{self, Lines};
pub use draw::Strokes;
use files::{is_copy, mode_of, n_lines};
pub use widening::{Numbers, Widening};

/// Among several files, one with more lines is folded.
const FOLDED_LINES: usize = 400;

/// As [`FOLDED_LINES`], in bytes of its part of the diff.
const FOLDED_BYTES: usize = 20 * 1024;

/// Things drawn and measured together.
pub const CHUNK_ITEMS: usize = 32;

/// Heights in px, as the style sheet has them.
const LINE_PX: f64 = 20.0;
const HEAD_PX: f64 = 28.0;
const FILE_PX: f64 = 36.0;

/// How a diff is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// Old and new side by side.
    pub split: bool,
    /// Long lines go on below.
    pub wrap: bool,
    /// Whether white space counts.
    pub space: Space,
}

/// Which lines an item has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Old and new, in one line or side by side.
    Both,
    /// The old one.
    Old,
    /// The new one.
    New,
}

/// One thing to show. Numbers are indices: of the file, of the hunk in it, of the row in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// The name of a file.
    File(u32),
    /// The head of a hunk.
    Hunk(u32, u32),
    /// A line, or two side by side.
    Line(u32, u32, u32, Side),
    /// What is folded away, and a button that shows it.
    Folded(u32),
    /// Why a file has no lines.
    Note(u32),
    /// What became of the mode of a file that no head names.
    Mode(u32),
    /// What the file has below its last hunk, and buttons that show it.
    End(u32),
}

/// Why a file's lines are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// A program wrote it.
    Made(Made),
    /// It is one of several, and long.
    Long,
    /// The reader is done with it.
    Viewed,
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fold::Made(made) => made.fmt(f),
            Fold::Long => f.write_str("long"),
            Fold::Viewed => f.write_str("viewed"),
        }
    }
}

/// Colours of a hunk's sides, as far as they have come.
#[derive(Debug, Clone, Default)]
pub struct HunkColours {
    /// By line of [`DiffList::side_text`].
    pub old: Option<Lines>,
    /// As `old`.
    pub new: Option<Lines>,
}

/// A diff, and what of it is to be shown.
#[derive(Debug)]
pub struct DiffList {
    text: Rc<str>,
    /// The file, where the diff names none.
    path: String,
    patch: Patch,
    shown: Shown,
    folds: Vec<Option<Fold>>,
    rows: Vec<Vec<Vec<SplitRow>>>,
    items: Vec<Item>,
    /// Columns of the longest number.
    digits: usize,
    widened: widening::State,
}

impl DiffList {
    /// Reads a diff. `path` is its file's, where the diff does not name one. `None` where there is nothing to show.
    pub fn read(text: &str, path: &str) -> Option<DiffList> {
        let patch = chat_diff::parse(text);
        // Where lines were to come and are cut off, it is not known that there are none.
        let is_cut_off = || text.contains("\n+++ ");
        let says_something = patch.files.len() > 1
            || patch.files.iter().any(|file| {
                let is_empty = file.change != Change::Modified || mode_of(file).is_some();
                !file.hunks.is_empty()
                    || file.binary
                    || file.change == Change::Renamed
                    || is_copy(file)
                    || is_empty && !is_cut_off()
            });
        if !says_something {
            return None;
        }
        let several = patch.files.len() > 1;
        let mut list = DiffList {
            text: text.into(),
            path: path.to_owned(),
            folds: Vec::new(),
            rows: Vec::new(),
            items: Vec::new(),
            shown: Shown::default(),
            digits: digits(&patch),
            widened: widening::State::default(),
            patch,
        };
        let folds = list.patch.files.iter().map(|file| {
            if file.hunks.is_empty() {
                return None;
            }
            let made = chat_diff::made(list.path_of(file)).map(Fold::Made);
            let long = several && (n_lines(file) > FOLDED_LINES || file.range.len() > FOLDED_BYTES);
            made.or(long.then_some(Fold::Long))
        });
        list.folds = folds.collect();
        list.arrange();
        Some(list)
    }

    /// Whether most files that are not folded away read well side by side.
    pub fn mostly_paired(&self) -> bool {
        let shown = || self.rows.iter().filter(|hunks| !hunks.is_empty());
        let n_paired = shown().filter(|hunks| chat_diff::mostly_paired(hunks.iter().flatten()));
        2 * n_paired.count() >= shown().count()
    }

    /// How it is shown.
    pub fn shown(&self) -> Shown {
        self.shown
    }

    /// Shows it in another way; whether anything changed.
    pub fn show(&mut self, shown: Shown) -> bool {
        let changed = self.shown != shown;
        if changed {
            self.shown = shown;
            self.arrange();
        }
        changed
    }

    /// Folds a file away, or shows it again.
    pub fn toggle(&mut self, file: u32) {
        if let Some(fold) = self.folds.get_mut(file as usize) {
            *fold = match fold {
                Some(_) => None,
                None => Some(Fold::Viewed),
            };
            self.arrange();
        }
    }

    /// Columns of the longest number.
    pub fn digits(&self) -> usize {
        self.digits
    }

    /// Whether all that there is to see is behind buttons.
    pub fn is_closed(&self) -> bool {
        let is_folded = |item: &Item| matches!(item, Item::Folded(_));
        let is_head = |item: &Item| matches!(item, Item::File(_) | Item::Mode(_));
        let mut items = self.items.iter();
        items.clone().any(is_folded) && items.all(|item| is_folded(item) || is_head(item))
    }

    /// What is to be shown, in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// How many chunks the items are.
    pub fn n_chunks(&self) -> usize {
        self.items.len().div_ceil(CHUNK_ITEMS)
    }

    /// The items of a chunk.
    pub fn chunk(&self, chunk: usize) -> Range<usize> {
        let start = (chunk * CHUNK_ITEMS).min(self.items.len());
        start..(start + CHUNK_ITEMS).min(self.items.len())
    }

    /// How high an item will be. `columns` is how many characters a line of code has room for.
    pub fn height_px(&self, item: usize, columns: usize) -> f64 {
        match self.items.get(item) {
            Some(Item::File(_)) => FILE_PX,
            Some(
                Item::Hunk(..) | Item::Folded(_) | Item::Note(_) | Item::Mode(_) | Item::End(_),
            ) => HEAD_PX,
            Some(&Item::Line(file, hunk, row, _)) if self.shown.wrap || self.shown.split => {
                let n_rows = self
                    .sides(file, hunk, row)
                    .into_iter()
                    .flatten()
                    .map(|(_, at)| {
                        let range = self.line(file, hunk, at).map(|line| line.range.len());
                        range.unwrap_or(0).div_ceil(columns.max(1)).max(1)
                    });
                // More lines than the page cuts a line into say nothing; the height is measured once it is drawn.
                LINE_PX * n_rows.max().unwrap_or(1).min(100) as f64
            }
            Some(Item::Line(..)) | None => LINE_PX,
        }
    }

    /// The grammar of a file.
    pub fn language(&self, file: u32) -> Option<&'static str> {
        syntax::language_of_path(self.path_of(self.patch.files.get(file as usize)?))
    }

    /// One side of a hunk, whole, for a highlighter; `None` where it is too long for one.
    pub fn side_text(&self, (file, hunk): (u32, u32), old: bool) -> Option<String> {
        let hunk = self.hunk(file, hunk)?;
        let left_out = if old {
            LineKind::Added
        } else {
            LineKind::Removed
        };
        let n_lines = if old { hunk.old_lines } else { hunk.new_lines };
        if n_lines as usize > syntax::COLOURED_LINES {
            return None;
        }
        let mut text = String::new();
        for line in hunk.lines.iter().filter(|line| line.kind != left_out) {
            text.push_str(self.text.get(line.range.clone())?);
            text.push('\n');
            if text.len() > syntax::COLOURED_BYTES {
                return None;
            }
        }
        text.pop();
        Some(text)
    }

    /// Draws a chunk; `colours` by file and hunk.
    pub fn draw(&self, chunk: usize, colours: &BTreeMap<(u32, u32), HunkColours>) -> Strokes {
        draw::chunk(self, chunk, colours)
    }

    fn path_of<'a>(&'a self, file: &'a PatchFile) -> &'a str {
        match file.path() {
            "" => &self.path,
            path => path,
        }
    }

    fn hunk(&self, file: u32, hunk: u32) -> Option<&PatchHunk> {
        self.patch
            .files
            .get(file as usize)?
            .hunks
            .get(hunk as usize)
    }

    fn line(&self, file: u32, hunk: u32, at: u32) -> Option<&chat_diff::PatchLine> {
        self.hunk(file, hunk)?.lines.get(at as usize)
    }

    fn row(&self, file: u32, hunk: u32, row: u32) -> Option<SplitRow> {
        let rows = self.rows.get(file as usize)?.get(hunk as usize)?;
        rows.get(row as usize).copied()
    }

    /// The lines of a row: whether it is the old one, and its index in the hunk.
    fn sides(&self, file: u32, hunk: u32, row: u32) -> [Option<(bool, u32)>; 2] {
        match self.row(file, hunk, row) {
            Some(row) => [row.old.map(|at| (true, at)), row.new.map(|at| (false, at))],
            None => [None, None],
        }
    }
}

fn digits(patch: &Patch) -> usize {
    let hunks = patch.files.iter().flat_map(|file| &file.hunks);
    let last = hunks.map(|hunk| {
        let old = hunk.old_start.saturating_add(hunk.old_lines);
        old.max(hunk.new_start.saturating_add(hunk.new_lines))
    });
    last.max().unwrap_or(0).to_string().len()
}
