//! What is known of a file: its lines after each diff, and where they come from.

use super::Refused;
use super::walk::{Walk, line_text};
use crate::apply::first_line;
use crate::file_diff::{Change, FileDiff, count, diff_texts};
use crate::parse::parse;
use crate::patch::{LineKind, PatchFile, PatchHunk};
use crate::print::{Body, Header, write_header};

/// The file as far as the diffs have shown it, from its top.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) pieces: Vec<Piece>,
    /// Whether all lines behind the last piece are unknown, and there may be any number of them.
    pub(super) ends: bool,
    begun: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
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
    pub(super) fn lay(
        &mut self,
        file: &PatchFile,
        source: &str,
        change: Change,
    ) -> Result<(), Refused> {
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

    pub(super) fn print(&self, path: &str, change: Change) -> FileDiff {
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
