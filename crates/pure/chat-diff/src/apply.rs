//! Applies a diff to the text it was made from, to the letter: no search nearby and no fuzz, for a result that is
//! almost right would be shown as the file.

use std::fmt;

use crate::file_diff::Change;
use crate::lines::split_lines;
use crate::parse::parse;
use crate::patch::{LineKind, PatchFile, PatchHunk};

/// Why a diff does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The text is not the diff of one file.
    NotOneFile {
        /// How many it has.
        files: usize,
    },
    /// The diff says that the file differs and not how.
    Binary,
    /// The diff of a merge has no one old side.
    Combined,
    /// A hunk is cut off, miscounted, or does not say where it stands.
    Incomplete {
        /// Which one, from 0.
        hunk: usize,
    },
    /// The old text does not hold what the diff says it holds.
    Mismatch {
        /// The old line, from 1.
        old_line: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("could not apply the diff: ")?;
        match self {
            Self::NotOneFile { files } => write!(f, "it is of {files} files, not of one"),
            Self::Binary => f.write_str("it is binary and holds no content"),
            Self::Combined => f.write_str("it is of a merge"),
            Self::Incomplete { hunk } => write!(f, "hunk {} is not complete", hunk + 1),
            Self::Mismatch { old_line } => {
                write!(f, "line {old_line} of the old text is another one")
            }
        }
    }
}

impl std::error::Error for Error {}

/// The new text, from the diff of one file and its old text; an absent file is an empty text.
///
/// # Errors
///
/// Where the diff is not of one file, not complete, not text, or not of this old text.
pub fn apply(diff: &str, old: &str) -> Result<String, Error> {
    let patch = parse(diff);
    match patch.files.as_slice() {
        [file] => file.apply(diff, old),
        [] if diff.is_empty() => Ok(old.to_owned()),
        files => Err(Error::NotOneFile { files: files.len() }),
    }
}

impl PatchFile {
    /// The new text, from the text the patch was parsed from and the file's old text.
    ///
    /// # Errors
    ///
    /// As [`apply`].
    pub fn apply(&self, source: &str, old: &str) -> Result<String, Error> {
        if self.combined {
            return Err(Error::Combined);
        }
        if self.binary {
            return Err(Error::Binary);
        }
        let old_lines = split_lines(old);
        let mut new = String::with_capacity(old.len());
        let mut at = 0;
        for (hunk_idx, hunk) in self.hunks.iter().enumerate() {
            if !hunk.complete {
                return Err(Error::Incomplete { hunk: hunk_idx });
            }
            let start = first_line(hunk);
            let before = old_lines.get(at..start).ok_or(Error::Mismatch {
                old_line: start.saturating_add(1),
            })?;
            new.extend(before.iter().copied());
            at = start;
            for line in &hunk.lines {
                let content = source.get(line.range.clone()).unwrap_or("");
                let end = if line.no_newline { "" } else { "\n" };
                if line.kind != LineKind::Added {
                    let held = old_lines
                        .get(at)
                        .and_then(|held| held.strip_prefix(content));
                    if held != Some(end) {
                        return Err(Error::Mismatch { old_line: at + 1 });
                    }
                    at += 1;
                }
                if line.kind != LineKind::Removed {
                    if !new.is_empty() && !new.ends_with('\n') {
                        return Err(Error::Incomplete { hunk: hunk_idx });
                    }
                    new.push_str(content);
                    new.push_str(end);
                }
            }
        }
        // A file that comes into being had no lines, one that goes keeps none.
        let whole = match self.change {
            Change::Created => old_lines.is_empty() || self.old_path.is_some(),
            Change::Deleted => at == old_lines.len(),
            Change::Modified | Change::Renamed => true,
        };
        let rest = old_lines.get(at..).unwrap_or(&[]);
        if !whole || (!rest.is_empty() && !new.is_empty() && !new.ends_with('\n')) {
            return Err(Error::Mismatch { old_line: at + 1 });
        }
        new.extend(rest.iter().copied());
        Ok(new)
    }
}

/// The hunk's first old line, from 0; without old lines, the line it stands before.
pub(crate) fn first_line(hunk: &PatchHunk) -> usize {
    let start = hunk.old_start as usize;
    if hunk.old_lines == 0 {
        start
    } else {
        start.saturating_sub(1)
    }
}
