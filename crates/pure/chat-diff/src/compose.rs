//! The sum of several diffs of one file, one after another: what became of it from before the first to after the last.
//!
//! A diff shows a few lines of its file, so the file is known in parts only. What no diff shows stays unknown and is
//! left out; where two diffs contradict each other there is no sum.
//!
//! What is known of the file is in `known`; `walk` goes along it.

mod known;
mod walk;

use std::fmt;

use crate::file_diff::{Change, FileDiff};
use crate::parse::parse;
use known::Known;

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
