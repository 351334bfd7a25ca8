//! The diff of one file, made from what it held before and after.
//!
//! Finding the changed lines is left to `lines`, spelling the headers to `print`.

use std::borrow::Cow;
use std::ops::Range;

use crate::lines::{Block, changed_blocks, split_lines};
use crate::print::{Body, Header, NO_NEWLINE, write_header, write_hunk_header};

/// Unchanged lines shown around a change: git's and jsdiff's default.
const CONTEXT_LINES: usize = 3;

/// A unified diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The file's path after the change, as it was given (not quoted, not made relative).
    pub path: String,
    /// The path before, where the file was renamed.
    pub old_path: Option<String>,
    /// What happened to the file as a whole.
    pub change: Change,
    /// `diff --git`, `--- a/x`, `+++ b/x` and hunks, for `git apply` and `patch -p1`; empty where nothing changed.
    pub text: String,
    /// Added lines; a line that only gained or lost its newline counts on both sides, as in git.
    pub lines_added: u32,
    /// Removed lines.
    pub lines_removed: u32,
    /// One side is not text: `text` names the file and says that it differs, without content.
    pub binary: bool,
}

/// What happened to a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// The file was not there before. A file that was there and empty is `Modified`.
    Created,
    /// The file was there before and is there now, empty or not.
    Modified,
    /// The file is no longer there. A file that was emptied is `Modified`.
    Deleted,
    /// The file has a new path, and perhaps new content.
    Renamed,
}

impl Change {
    /// The word for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
        }
    }
}

/// The diff between two texts of the file at `path`: `None` where the file is absent, `Some("")` where it is empty.
///
/// A text with a NUL is binary, as for git.
pub fn diff_texts(path: &str, old: Option<&str>, new: Option<&str>) -> FileDiff {
    diff_sides(path, None, old.map(Side::of_text), new.map(Side::of_text))
}

/// As [`diff_texts`], for content that may not be text: a side that is not UTF-8 or holds a NUL makes the diff binary.
pub fn diff_bytes(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> FileDiff {
    diff_sides(path, None, old.map(Side::of_bytes), new.map(Side::of_bytes))
}

/// The diff of a file that moved from `old_path` to `path`, with the content of both sides.
pub fn diff_renamed(old_path: &str, path: &str, old: &[u8], new: &[u8]) -> FileDiff {
    let old_path = (old_path != path).then_some(old_path);
    diff_sides(
        path,
        old_path,
        Some(Side::of_bytes(old)),
        Some(Side::of_bytes(new)),
    )
}

/// The content of one side; bytes that are not text are kept to be compared.
enum Side<'a> {
    Text(&'a str),
    Binary(&'a [u8]),
}

impl<'a> Side<'a> {
    fn of_text(text: &'a str) -> Self {
        if text.as_bytes().contains(&0) {
            Self::Binary(text.as_bytes())
        } else {
            Self::Text(text)
        }
    }

    fn of_bytes(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::of_text(text),
            Err(_) => Self::Binary(bytes),
        }
    }

    fn bytes(&self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }
}

fn diff_sides(
    path: &str,
    old_path: Option<&str>,
    old: Option<Side<'_>>,
    new: Option<Side<'_>>,
) -> FileDiff {
    let change = match (&old, &new) {
        (None, Some(_)) => Change::Created,
        (Some(_), None) => Change::Deleted,
        (Some(_), Some(_)) if old_path.is_some() => Change::Renamed,
        (Some(_), Some(_)) | (None, None) => Change::Modified,
    };
    let mut diff = FileDiff {
        path: path.to_owned(),
        old_path: old_path.map(str::to_owned),
        change,
        text: String::new(),
        lines_added: 0,
        lines_removed: 0,
        binary: false,
    };
    let old_bytes = old.as_ref().map_or(&[][..], Side::bytes);
    let new_bytes = new.as_ref().map_or(&[][..], Side::bytes);
    let same = old_bytes == new_bytes;
    if same && change == Change::Modified {
        return diff;
    }
    let header = Header {
        old_path: Cow::Borrowed(old_path.unwrap_or(path)),
        new_path: Cow::Borrowed(path),
        change,
        old_mode: None,
        new_mode: None,
    };
    let (old_text, new_text) = match (old, new) {
        (None | Some(Side::Text(_)), None | Some(Side::Text(_))) => (
            std::str::from_utf8(old_bytes).unwrap_or(""),
            std::str::from_utf8(new_bytes).unwrap_or(""),
        ),
        (Some(Side::Binary(_)), _) | (_, Some(Side::Binary(_))) => {
            diff.binary = true;
            write_header(
                &mut diff.text,
                &header,
                if same { Body::Nothing } else { Body::Binary },
            );
            return diff;
        }
    };
    write_header(
        &mut diff.text,
        &header,
        if same { Body::Nothing } else { Body::Hunks },
    );
    let old_lines = split_lines(old_text);
    let new_lines = split_lines(new_text);
    let blocks = changed_blocks(&old_lines, &new_lines);
    for group in groups(&blocks) {
        write_group(&mut diff.text, group, &old_lines, &new_lines);
    }
    for block in &blocks {
        diff.lines_removed = diff.lines_removed.saturating_add(count(block.old.len()));
        diff.lines_added = diff.lines_added.saturating_add(count(block.new.len()));
    }
    diff
}

pub(crate) fn count(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Blocks whose context would touch or overlap share a hunk.
fn groups(blocks: &[Block]) -> impl Iterator<Item = &[Block]> {
    blocks.chunk_by(|a, b| b.old.start - a.old.end <= 2 * CONTEXT_LINES)
}

fn write_group(out: &mut String, group: &[Block], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let before = first.old.start.min(CONTEXT_LINES);
    let after = (old.len() - last.old.end).min(CONTEXT_LINES);
    let old_range = first.old.start - before..last.old.end + after;
    let new_range = first.new.start - before..last.new.end + after;
    write_hunk_header(
        out,
        start_of(&old_range),
        count(old_range.len()),
        start_of(&new_range),
        count(new_range.len()),
        "",
    );
    let mut next_old = old_range.start;
    for block in group {
        write_lines(out, ' ', &old[next_old..block.old.start]);
        write_lines(out, '-', &old[block.old.clone()]);
        write_lines(out, '+', &new[block.new.clone()]);
        next_old = block.old.end;
    }
    write_lines(out, ' ', &old[next_old..old_range.end]);
}

/// Lines are counted from 1; an empty range is named by the line before it.
fn start_of(range: &Range<usize>) -> u32 {
    if range.is_empty() {
        count(range.start)
    } else {
        count(range.start + 1)
    }
}

fn write_lines(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push('\n');
            out.push_str(NO_NEWLINE);
        }
    }
}
