//! The sum of several diffs of one file, one after another: what became of it from before the first to after the last.
//!
//! A diff shows a few lines of its file, so the file is known in parts only. What no diff shows stays unknown and is
//! left out; where two diffs contradict each other there is no sum.

use std::fmt;

use crate::apply::first_line;
use crate::file_diff::{Change, FileDiff, count, diff_texts};
use crate::parse::parse;
use crate::patch::{LineKind, PatchFile, PatchHunk, PatchLine};
use crate::print::{Body, Header, write_header};

/// Lines looked at in all: each diff is laid over all lines that are known by then.
const MOST_STEPS: usize = 4_000_000;

/// Why several diffs have no sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposeError {
    /// One of them is not the diff of one text file, or is cut off.
    Unreadable {
        /// Which one, from 0.
        diff: usize,
    },
    /// One of them does not fit what those before it left behind: something else changed the file between them.
    Mismatch {
        /// Which one, from 0.
        diff: usize,
    },
    /// They are too long to be laid over each other.
    TooLong,
}

impl fmt::Display for ComposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("could not sum up the diffs: ")?;
        match self {
            Self::Unreadable { diff } => {
                write!(f, "number {} is not the whole diff of a text", diff + 1)
            }
            Self::Mismatch { diff } => {
                write!(
                    f,
                    "number {} does not follow from those before it",
                    diff + 1
                )
            }
            Self::TooLong => f.write_str("they are too long"),
        }
    }
}

impl std::error::Error for ComposeError {}

/// The sum of `diffs`, in their order; each is the diff of the same file, whatever it is called in it.
///
/// # Errors
///
/// Where a diff is cut off, binary or of several files; where one does not follow from those before it; where they are
/// too long.
///
/// ```
/// let first = chat_diff::diff_texts("a", Some("one\ntwo\n"), Some("one\nzwei\n"));
/// let second = chat_diff::diff_texts("a", Some("one\nzwei\n"), Some("eins\nzwei\n"));
/// let sum = chat_diff::compose("a", &[&first.text, &second.text]).unwrap();
/// assert_eq!(sum, chat_diff::diff_texts("a", Some("one\ntwo\n"), Some("eins\nzwei\n")));
/// ```
pub fn compose(path: &str, diffs: &[&str]) -> Result<FileDiff, ComposeError> {
    let mut known = Known::default();
    let mut steps = 0;
    let (mut first, mut last) = (None, None);
    for (nth, text) in diffs.iter().enumerate() {
        let patch = parse(text);
        let file = match patch.files.as_slice() {
            [] if text.is_empty() => continue,
            // What holds a NUL would be summed up as a binary file, whose changes are not told.
            [file] if !file.binary && !file.combined && !text.contains('\0') => file,
            _ => return Err(ComposeError::Unreadable { diff: nth }),
        };
        let change = file.change;
        first.get_or_insert(change);
        last = Some(change);
        steps += known.pieces.len()
            + file
                .hunks
                .iter()
                .map(|hunk| hunk.lines.len())
                .sum::<usize>();
        if steps > MOST_STEPS {
            return Err(ComposeError::TooLong);
        }
        known
            .lay(file, text, change)
            .map_err(|refused| match refused {
                Refused::Unreadable => ComposeError::Unreadable { diff: nth },
                Refused::Mismatch => ComposeError::Mismatch { diff: nth },
            })?;
    }
    let change = match (first, last) {
        (Some(Change::Created), Some(Change::Deleted)) => Change::Modified,
        (Some(Change::Created), _) => Change::Created,
        (_, Some(Change::Deleted)) => Change::Deleted,
        (_, _) => Change::Modified,
    };
    Ok(known.print(path, change))
}

enum Refused {
    Unreadable,
    Mismatch,
}

/// The file as far as the diffs have shown it, from its top.
#[derive(Debug, Default)]
struct Known {
    pieces: Vec<Piece>,
    /// Whether all lines behind the last piece are unknown, and there may be any number of them.
    ends: bool,
    begun: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// So many lines that were never shown, and never changed.
    Unknown(usize),
    /// A line that was there before and is there now, with its end.
    Kept(String),
    /// A line that was there before.
    Removed(String),
    /// A line that is there now.
    Added(String),
}

impl Known {
    /// Lays the next diff over what is known.
    fn lay(&mut self, file: &PatchFile, source: &str, change: Change) -> Result<(), Refused> {
        let created = change == Change::Created && file.old_path.is_none();
        if !self.begun {
            self.begun = true;
            // A file that comes into being has no lines that were not shown.
            self.ends = created;
        } else if created && (!self.ends || self.now_lines() > 0) {
            return Err(Refused::Mismatch);
        }
        let mut before = std::mem::take(&mut self.pieces).into_iter();
        let mut now = Walk {
            rest: None,
            out: Vec::new(),
            ends: self.ends,
            at: 0,
        };
        for hunk in &file.hunks {
            if !hunk.complete || !hunk.placed {
                return Err(Refused::Unreadable);
            }
            now.skip_to(first_line(hunk), &mut before)?;
            for line in &hunk.lines {
                let text = line_text(line, source);
                match line.kind {
                    LineKind::Added => now.out.push(Piece::Added(text)),
                    LineKind::Context | LineKind::Removed => {
                        now.take(text, line.kind == LineKind::Removed, &mut before)?;
                    }
                }
            }
        }
        now.out.extend(now.rest.take());
        now.out.extend(before);
        self.pieces = now.out;
        if change == Change::Deleted {
            // Nothing is left, so nothing was left unshown.
            if self.now_lines() > 0 {
                return Err(Refused::Mismatch);
            }
            self.ends = true;
        }
        Ok(())
    }

    /// Lines that are there now, as far as they are counted.
    fn now_lines(&self) -> usize {
        let lines = |piece: &Piece| match piece {
            Piece::Unknown(n_lines) => *n_lines,
            Piece::Kept(_) | Piece::Added(_) => 1,
            Piece::Removed(_) => 0,
        };
        self.pieces.iter().map(lines).sum()
    }

    fn print(&self, path: &str, change: Change) -> FileDiff {
        let mut hunks = String::new();
        let (mut lines_added, mut lines_removed) = (0u32, 0u32);
        // Lines before the stretch in hand, on either side.
        let (mut old_before, mut new_before) = (0usize, 0usize);
        for stretch in self
            .pieces
            .split_inclusive(|piece| matches!(piece, Piece::Unknown(_)))
        {
            let (mut old, mut new) = (String::new(), String::new());
            let (mut n_old, mut n_new, mut n_unknown) = (0, 0, 0);
            for piece in stretch {
                match piece {
                    Piece::Unknown(n_lines) => n_unknown = *n_lines,
                    Piece::Kept(text) => {
                        old.push_str(text);
                        new.push_str(text);
                        n_old += 1;
                        n_new += 1;
                    }
                    Piece::Removed(text) => {
                        old.push_str(text);
                        n_old += 1;
                    }
                    Piece::Added(text) => {
                        new.push_str(text);
                        n_new += 1;
                    }
                }
            }
            // What was changed and changed back is no change: the two sides are compared once more.
            let diff = diff_texts(path, Some(&old), Some(&new));
            lines_added = lines_added.saturating_add(diff.lines_added);
            lines_removed = lines_removed.saturating_add(diff.lines_removed);
            let patch = parse(&diff.text);
            for hunk in patch.files.iter().flat_map(|file| &file.hunks) {
                let shifted = |start: u32, by: usize| start.saturating_add(count(by));
                let hunk = PatchHunk {
                    old_start: shifted(hunk.old_start, old_before),
                    new_start: shifted(hunk.new_start, new_before),
                    ..hunk.clone()
                };
                hunk.write(&mut hunks, &diff.text);
            }
            old_before += n_old + n_unknown;
            new_before += n_new + n_unknown;
        }
        let mut text = String::new();
        if !(hunks.is_empty() && change == Change::Modified) {
            let header = Header {
                old_path: path.into(),
                new_path: path.into(),
                change,
                old_mode: None,
                new_mode: None,
            };
            let body = if hunks.is_empty() {
                Body::Nothing
            } else {
                Body::Hunks
            };
            write_header(&mut text, &header, body);
            text.push_str(&hunks);
        }
        FileDiff {
            path: path.to_owned(),
            old_path: None,
            change,
            text,
            lines_added,
            lines_removed,
            binary: false,
        }
    }
}

/// The walk of one diff down the file.
struct Walk {
    /// What is left of a piece that was begun.
    rest: Option<Piece>,
    out: Vec<Piece>,
    /// Whether the file ends where the pieces do.
    ends: bool,
    /// Lines of the file as it was before this diff that lie behind.
    at: usize,
}

impl Walk {
    /// Passes what lies before the line `to`, from 0.
    fn skip_to(
        &mut self,
        to: usize,
        before: &mut impl Iterator<Item = Piece>,
    ) -> Result<(), Refused> {
        let mut n_lines = to.checked_sub(self.at).ok_or(Refused::Mismatch)?;
        self.at = to;
        while n_lines > 0 {
            match self.rest.take().or_else(|| before.next()) {
                Some(Piece::Unknown(n_unknown)) => {
                    let taken = n_unknown.min(n_lines);
                    self.pass_unknown(taken);
                    n_lines -= taken;
                    if n_unknown > taken {
                        self.rest = Some(Piece::Unknown(n_unknown - taken));
                    }
                }
                Some(gone @ Piece::Removed(_)) => self.out.push(gone),
                Some(line) => {
                    self.out.push(line);
                    n_lines -= 1;
                }
                None if self.ends => return Err(Refused::Mismatch),
                None => {
                    self.pass_unknown(n_lines);
                    n_lines = 0;
                }
            }
        }
        Ok(())
    }

    fn pass_unknown(&mut self, n_lines: usize) {
        if let Some(Piece::Unknown(last)) = self.out.last_mut() {
            *last += n_lines;
        } else {
            self.out.push(Piece::Unknown(n_lines));
        }
    }

    /// Takes the next line, which the diff says is `text`.
    fn take(
        &mut self,
        text: String,
        removed: bool,
        before: &mut impl Iterator<Item = Piece>,
    ) -> Result<(), Refused> {
        self.at += 1;
        loop {
            match self.rest.take().or_else(|| before.next()) {
                Some(gone @ Piece::Removed(_)) => {
                    self.out.push(gone);
                    continue;
                }
                Some(Piece::Unknown(n_lines)) => {
                    if n_lines > 1 {
                        self.rest = Some(Piece::Unknown(n_lines - 1));
                    }
                    self.out.push(if removed {
                        Piece::Removed(text)
                    } else {
                        Piece::Kept(text)
                    });
                }
                Some(Piece::Kept(known)) if known == text => {
                    self.out.push(if removed {
                        Piece::Removed(text)
                    } else {
                        Piece::Kept(text)
                    });
                }
                Some(Piece::Added(known)) if known == text => {
                    if !removed {
                        self.out.push(Piece::Added(text));
                    }
                }
                None if !self.ends => {
                    self.out.push(if removed {
                        Piece::Removed(text)
                    } else {
                        Piece::Kept(text)
                    });
                }
                Some(Piece::Kept(_) | Piece::Added(_)) | None => return Err(Refused::Mismatch),
            }
            return Ok(());
        }
    }
}

fn line_text(line: &PatchLine, source: &str) -> String {
    let mut text = source.get(line.range.clone()).unwrap_or("").to_owned();
    if !line.no_newline {
        text.push('\n');
    }
    text
}
