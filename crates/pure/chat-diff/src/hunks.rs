//! Diffs that arrive as hunks without headers: Claude Code's `structuredPatch` (jsdiff) and Codex's `unified_diff`.
//!
//! Which field of which provider holds them is left to `chat-normalize`.

use std::borrow::Cow;

use crate::file_diff::{Change, FileDiff};
use crate::parse::parse;
use crate::patch::{LineKind, PatchHunk};
use crate::print::{Body, Header, NO_NEWLINE, write_header, write_hunk_header};

/// A hunk as an agent reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The first old line, from 1. Where there are no old lines: the line it stands before, as in jsdiff, not the one
    /// behind which it stands, as in git.
    pub old_start: u32,
    /// How many old lines are claimed; the lines are counted again.
    pub old_lines: u32,
    /// As `old_start`, in the new file.
    pub new_start: u32,
    /// How many new lines are claimed; the lines are counted again.
    pub new_lines: u32,
    /// Lines with their sign, among them `\ No newline at end of file`.
    pub lines: Vec<String>,
}

/// The diff of the file at `path` from an agent's hunks.
///
/// Counts are taken from the lines. A `change` the lines contradict (a created file with old lines, a deleted one with
/// new lines, a rename, which hunks cannot name) is `Modified`. Without hunks, a created file is an empty one: where
/// the agent sends the content instead, use [`crate::diff_texts`]; also where it sends the old text along, for hunks
/// may be altered for display (Claude Code's show tabs as spaces and CRLF as LF) and then do not apply.
pub fn from_hunks(path: &str, change: Change, hunks: &[Hunk]) -> FileDiff {
    let mut body = String::new();
    let mut total = Counts::default();
    for hunk in hunks {
        let mut lines = String::new();
        let mut counts = Counts::default();
        for line in &hunk.lines {
            write_lines(&mut lines, line, &mut counts);
        }
        if lines.is_empty() {
            continue;
        }
        let (old_lines, new_lines) = (counts.old_lines(), counts.new_lines());
        // A created or deleted file has no line its hunk could stand behind.
        let start = |start: u32, lines: u32| match (lines, change) {
            (0, Change::Created | Change::Deleted) => 0,
            (0, Change::Modified | Change::Renamed) => start.saturating_sub(1),
            (1.., _) => start.max(1),
        };
        let (old_start, new_start) = (
            start(hunk.old_start, old_lines),
            start(hunk.new_start, new_lines),
        );
        write_hunk_header(&mut body, old_start, old_lines, new_start, new_lines, "");
        body.push_str(&lines);
        total.add(&counts);
    }
    with_header(path, None, change, &body, &total)
}

/// The diff of the file at `path` from a unified diff with or without headers: names and `change` are the caller's,
/// the hunks are those of the first file in `unified`. Lines behind the last hunk are dropped.
///
/// `None` where `unified` has no hunk and is not binary. `change` is corrected as in [`from_hunks`].
pub fn from_unified(
    path: &str,
    old_path: Option<&str>,
    change: Change,
    unified: &str,
) -> Option<FileDiff> {
    let patch = parse(unified);
    let file = patch
        .files
        .iter()
        .find(|file| file.binary || !file.hunks.is_empty())?;
    let mut body = String::new();
    let mut total = Counts::default();
    for hunk in &file.hunks {
        hunk.write(&mut body, unified);
        total.add(&Counts::of(hunk));
    }
    let mut diff = with_header(path, old_path, change, &body, &total);
    if file.binary {
        diff.binary = true;
        let header = header(path, old_path, diff.change);
        diff.text.clear();
        write_header(&mut diff.text, &header, Body::Binary);
    }
    Some(diff)
}

fn with_header(
    path: &str,
    old_path: Option<&str>,
    change: Change,
    body: &str,
    total: &Counts,
) -> FileDiff {
    let old_path = old_path.filter(|old_path| *old_path != path && change == Change::Renamed);
    let change = match change {
        Change::Created if total.old_lines() > 0 => Change::Modified,
        Change::Deleted if total.new_lines() > 0 => Change::Modified,
        Change::Renamed if old_path.is_none() => Change::Modified,
        Change::Created | Change::Deleted | Change::Modified | Change::Renamed => change,
    };
    let mut text = String::new();
    if change != Change::Modified || !body.is_empty() {
        let below = if body.is_empty() {
            Body::Nothing
        } else {
            Body::Hunks
        };
        write_header(&mut text, &header(path, old_path, change), below);
        text.push_str(body);
    }
    FileDiff {
        path: path.to_owned(),
        old_path: old_path.map(str::to_owned),
        change,
        text,
        lines_added: total.added,
        lines_removed: total.removed,
        binary: false,
    }
}

fn header<'a>(path: &'a str, old_path: Option<&'a str>, change: Change) -> Header<'a> {
    Header {
        old_path: Cow::Borrowed(old_path.unwrap_or(path)),
        new_path: Cow::Borrowed(path),
        change,
        old_mode: None,
        new_mode: None,
    }
}

#[derive(Default)]
struct Counts {
    context: u32,
    added: u32,
    removed: u32,
}

impl Counts {
    fn of(hunk: &PatchHunk) -> Self {
        let mut counts = Self::default();
        for line in &hunk.lines {
            counts.count(line.kind);
        }
        counts
    }

    fn count(&mut self, kind: LineKind) {
        let count = match kind {
            LineKind::Context => &mut self.context,
            LineKind::Added => &mut self.added,
            LineKind::Removed => &mut self.removed,
        };
        *count = count.saturating_add(1);
    }

    fn add(&mut self, other: &Self) {
        self.context = self.context.saturating_add(other.context);
        self.added = self.added.saturating_add(other.added);
        self.removed = self.removed.saturating_add(other.removed);
    }

    fn old_lines(&self) -> u32 {
        self.context.saturating_add(self.removed)
    }

    fn new_lines(&self) -> u32 {
        self.context.saturating_add(self.added)
    }
}

/// Writes one reported line. A line feed within it would break the diff, so each part gets the sign.
fn write_lines(out: &mut String, line: &str, counts: &mut Counts) {
    if line.starts_with('\\') {
        // The mark belongs to the line above it, once. Content that reads as the mark has a sign in front.
        let marked = out
            .strip_suffix(NO_NEWLINE)
            .is_some_and(|above| above.ends_with('\n'));
        if !out.is_empty() && !marked {
            out.push_str(NO_NEWLINE);
        }
        return;
    }
    let (kind, content) = match line.as_bytes().first() {
        Some(b'+') => (LineKind::Added, &line[1..]),
        Some(b'-') => (LineKind::Removed, &line[1..]),
        Some(b' ') => (LineKind::Context, &line[1..]),
        Some(_) | None => (LineKind::Context, line),
    };
    for part in content.strip_suffix('\n').unwrap_or(content).split('\n') {
        out.push(kind.sign());
        out.push_str(part);
        out.push('\n');
        counts.count(kind);
    }
}
