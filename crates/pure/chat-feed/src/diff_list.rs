//! A diff as a list of things to show, unified or side by side: heads of files, hunks, lines, and what is folded away.
//!
//! The list is long where the diff is; what is drawn of it is a chunk at a time ([`DiffList::draw`]), so that a page
//! holds a few hundred lines of however many. Parsing is `chat-diff`'s, colours are `syntax`'s, and the page is told
//! what to draw as one buffer of codes and words ([`Strokes`]).

mod draw;
mod widening;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use chat_diff::{Change, LineKind, Made, Patch, PatchFile, PatchHunk, Space, SplitRow};

use crate::syntax::{self, Lines};
use crate::units;

pub use draw::Strokes;
pub use widening::{Numbers, Widening};

/// Among several files, one with more lines is folded.
pub const FOLDED_LINES: usize = 400;

/// As [`FOLDED_LINES`], in bytes of its part of the diff.
pub const FOLDED_BYTES: usize = 20 * 1024;

/// Things drawn and measured together.
pub const CHUNK_ITEMS: usize = 32;

/// The mode of a file that nobody says anything of.
const PLAIN_MODE: u32 = 0o100_644;

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

    /// Places of the heads of hunks, or of files, among the items.
    pub fn heads(&self, of_files: bool) -> impl DoubleEndedIterator<Item = usize> {
        let items = self.items.iter().enumerate();
        items
            .filter(move |(_, item)| match item {
                Item::File(_) => of_files,
                Item::Hunk(..) => !of_files,
                // A folded hunk is passed by as one.
                Item::Folded(_) => !of_files,
                Item::Line(..) | Item::Note(_) | Item::Mode(_) | Item::End(_) => false,
            })
            .map(|(at, _)| at)
    }

    /// The file that an item belongs to.
    pub fn file_of(&self, item: usize) -> Option<u32> {
        self.items.get(item).map(|item| match item {
            Item::File(file) | Item::Folded(file) | Item::Note(file) | Item::End(file) => *file,
            Item::Mode(file) | Item::Hunk(file, _) | Item::Line(file, ..) => *file,
        })
    }

    /// The hunk, or the file's own line, that an item belongs to.
    pub fn hunk_at(&self, item: usize) -> Option<Item> {
        self.items.get(item).map(|item| match *item {
            Item::Line(file, hunk, ..) => Item::Hunk(file, hunk),
            Item::File(_)
            | Item::Hunk(..)
            | Item::Folded(_)
            | Item::Note(_)
            | Item::Mode(_)
            | Item::End(_) => *item,
        })
    }

    /// Where an item stands.
    pub fn place_of(&self, item: Item) -> Option<usize> {
        self.items.iter().position(|of_list| *of_list == item)
    }

    /// Where the first line stands that is `wanted`; a file that hides it is shown.
    pub fn seek(&mut self, wanted: &dyn Fn(&str) -> bool) -> Option<usize> {
        let (mut file, mut at) = (0, 0);
        let found = loop {
            let lines = self.patch.files.get(file)?.hunks.get(at);
            let Some(hunk) = lines else {
                (file, at) = (file + 1, 0);
                continue;
            };
            let is_wanted =
                |line: &chat_diff::PatchLine| self.text.get(line.range.clone()).is_some_and(wanted);
            let line = hunk.lines.iter().position(is_wanted);
            if let Some(line) = line.filter(|_| self.has_changes(hunk)) {
                break (file, at, line);
            }
            at += 1;
        };
        let (file, hunk, line) = found;
        if self.folds.get_mut(file).and_then(Option::take).is_some() {
            self.arrange();
        }
        // Counted like the lines of a text.
        #[allow(clippy::cast_possible_truncation)]
        let (file, hunk, line) = (file as u32, hunk as u32, line as u32);
        let has_line = |item: &Item| match *item {
            Item::Line(of_file, of_hunk, row, side) if (of_file, of_hunk) == (file, hunk) => {
                let [old, new] = self.sides(file, hunk, row);
                let has = |is: Option<(bool, u32)>| is.is_some_and(|(_, at)| at == line);
                side != Side::New && has(old) || side != Side::Old && has(new)
            }
            _ => false,
        };
        self.items.iter().position(has_line)
    }

    /// Hunks that have lines in a chunk.
    pub fn hunks_of(&self, chunk: usize) -> Vec<(u32, u32)> {
        let mut hunks: Vec<(u32, u32)> = self.items[self.chunk(chunk)]
            .iter()
            .filter_map(|item| match item {
                Item::Line(file, hunk, ..) => Some((*file, *hunk)),
                Item::File(_)
                | Item::Hunk(..)
                | Item::Folded(_)
                | Item::Note(_)
                | Item::Mode(_)
                | Item::End(_) => None,
            })
            .collect();
        hunks.dedup();
        hunks
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

    fn arrange(&mut self) {
        self.items.clear();
        self.rows.clear();
        let named = self.patch.files.len() > 1;
        for (file_idx, file) in (0_u32..).zip(&self.patch.files) {
            if named {
                self.items.push(Item::File(file_idx));
            }
            let fold = self.folds.get(file_idx as usize).copied().flatten();
            let mut rows = Vec::new();
            if !named && !file.hunks.is_empty() && mode_of(file).is_some() {
                self.items.push(Item::Mode(file_idx));
            }
            let n_before = self.items.len();
            for (hunk_idx, hunk) in (0_u32..).zip(&file.hunks) {
                if fold.is_some() {
                    break;
                }
                let of_hunk = hunk.split_rows(&self.text, self.shown.space);
                if self.is_shown(&of_hunk) {
                    self.items.push(Item::Hunk(file_idx, hunk_idx));
                    let place = |row, side| Item::Line(file_idx, hunk_idx, row, side);
                    arrange_rows(&of_hunk, self.shown.split, place, &mut self.items);
                }
                rows.push(of_hunk);
            }
            self.rows.push(rows);
            if fold.is_some() {
                self.items.push(Item::Folded(file_idx));
            } else if self.items.len() == n_before {
                self.items.push(Item::Note(file_idx));
            } else if self.has_end() {
                self.items.push(Item::End(file_idx));
            }
        }
    }

    /// Whether a hunk has lines to show, of which these are the rows: where white space alone differs there is nothing to be
    /// seen.
    fn is_shown(&self, rows: &[SplitRow]) -> bool {
        self.shown.space == Space::Counts || rows.iter().any(|row| row.changed)
    }

    /// The same of a hunk that may be folded away.
    fn has_changes(&self, hunk: &PatchHunk) -> bool {
        self.shown.space == Space::Counts
            || self.is_shown(&hunk.split_rows(&self.text, self.shown.space))
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

    /// Why a file has no lines.
    fn note(&self, file: &PatchFile) -> String {
        let why = if file.binary {
            "Binary file: its content is not shown"
        } else if !file.hunks.is_empty() {
            "Only white space differs"
        } else {
            match file.change {
                Change::Renamed => "Renamed, its content is the same",
                Change::Created if is_copy(file) => "Copied, its content is the same",
                Change::Created => "New and empty",
                Change::Deleted => "Deleted, it was empty",
                Change::Modified if file.old_mode != file.new_mode => "Only its mode differs",
                Change::Modified => "No content",
            }
        };
        // A head says it, where there is one; so does a line of its own above hunks.
        let said = self.patch.files.len() > 1 || !file.hunks.is_empty();
        match mode_of(file).filter(|_| !said) {
            Some(mode) => format!("{why} ({mode})"),
            None => why.to_owned(),
        }
    }

    /// The words of the button of a folded file.
    fn folded(&self, file: &PatchFile, fold: Option<Fold>) -> String {
        let lines = units::count(n_lines(file) as u64, "line", "lines");
        match fold {
            Some(fold) => format!("Show diff ({fold}, {lines})"),
            None => format!("Show diff ({lines})"),
        }
    }
}

/// Whether the file was made from another, which its headers name.
fn is_copy(file: &PatchFile) -> bool {
    file.change == Change::Created && file.old_path.is_some()
}

/// What became of a file's mode: `mode 644 → 755`, `link`. Nothing of a plain file that came or went.
fn mode_of(file: &PatchFile) -> Option<String> {
    let named = |mode: u32| match mode >> 12 {
        0o12 => "link".to_owned(),
        0o16 => "submodule".to_owned(),
        _ => format!("{:o}", mode & 0o7777),
    };
    match (file.old_mode, file.new_mode) {
        (Some(old), Some(new)) if old != new => {
            Some(format!("mode {} → {}", named(old), named(new)))
        }
        (Some(mode), None) | (None, Some(mode)) if mode != PLAIN_MODE => match mode >> 12 {
            0o10 => Some(format!("mode {}", named(mode))),
            _ => Some(named(mode)),
        },
        _ => None,
    }
}

/// Unified, the old lines of a run stand above its new ones.
fn arrange_rows(
    rows: &[SplitRow],
    split: bool,
    place: impl Fn(u32, Side) -> Item,
    items: &mut Vec<Item>,
) {
    if split {
        let n_rows = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        items.extend((0..n_rows).map(|row| place(row, Side::Both)));
        return;
    }
    let mut row_idx = 0;
    for run in rows.chunk_by(|a, b| a.changed && b.changed) {
        let run = (row_idx..).zip(run);
        if run.clone().all(|(_, row)| !row.changed) {
            items.extend(run.clone().map(|(at, _)| place(at, Side::Both)));
        } else {
            let old = run.clone().filter(|(_, row)| row.old.is_some());
            items.extend(old.map(|(at, _)| place(at, Side::Old)));
            let new = run.clone().filter(|(_, row)| row.new.is_some());
            items.extend(new.map(|(at, _)| place(at, Side::New)));
        }
        row_idx += u32::try_from(run.count()).unwrap_or(u32::MAX);
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

fn n_lines(file: &PatchFile) -> usize {
    file.hunks.iter().map(|hunk| hunk.lines.len()).sum()
}

#[cfg(test)]
mod tests;
