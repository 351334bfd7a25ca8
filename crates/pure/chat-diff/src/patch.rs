//! A parsed diff: files, hunks and lines, as ranges of the text it was parsed from.
//!
//! Reading it is left to `parse`, using it to `apply` and to the page.

use std::borrow::Cow;
use std::ops::Range;

use crate::file_diff::{Change, FileDiff, count};
use crate::print::{Body, Header, NO_NEWLINE, write_header, write_hunk_header};

/// The files of a diff, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    /// Empty where the text is no diff.
    pub files: Vec<PatchFile>,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchFile {
    /// The path before, without git's prefix and quotes; `None` where the file was not there or is not named.
    pub old_path: Option<String>,
    /// The path after; `None` where the file is no longer there or is not named.
    pub new_path: Option<String>,
    /// What the headers say happened. A copied file is `Created` and has an old path.
    pub change: Change,
    /// The mode before, where a header names it: 0o100644, 0o100755, 0o120000 (link), 0o160000 (submodule).
    pub old_mode: Option<u32>,
    /// The mode after, where a header names it.
    pub new_mode: Option<u32>,
    /// The content differs and is not shown.
    pub binary: bool,
    /// The diff of a merge against several parents: old lines are counted in the first, and it cannot be applied.
    pub combined: bool,
    /// The file's part of the source text, in bytes, from its first header line.
    pub range: Range<usize>,
    /// The changed stretches, in order.
    pub hunks: Vec<PatchHunk>,
}

/// One changed stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchHunk {
    /// The first old line, counted from 1; the line before, where there are no old lines; 0 where it is not known.
    pub old_start: u32,
    /// Old lines as counted here, whatever the header claims.
    pub old_lines: u32,
    /// The first new line, as `old_start`.
    pub new_start: u32,
    /// New lines as counted here, whatever the header claims.
    pub new_lines: u32,
    /// The text behind the second `@@`: often the function around the change.
    pub section: String,
    /// The header says where the hunk stands; without it, lines have no numbers.
    pub placed: bool,
    /// The header's counts agree with the lines. A hunk that was cut off is not complete.
    pub complete: bool,
    /// The lines, in order.
    pub lines: Vec<PatchLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchLine {
    /// Which side has it.
    pub kind: LineKind,
    /// Its number in the old file, from 1.
    pub old_no: Option<u32>,
    /// Its number in the new file, from 1.
    pub new_no: Option<u32>,
    /// Its content in the source text, in bytes: without sign and `\n`, with a `\r`.
    pub range: Range<usize>,
    /// It ends its file without a newline.
    pub no_newline: bool,
}

/// Which side has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// Both.
    Context,
    /// The new one.
    Added,
    /// The old one.
    Removed,
}

impl LineKind {
    /// The sign in front of such a line.
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

impl Patch {
    /// Prints the diff as this package writes diffs; `source` is the text it was parsed from.
    pub fn print(&self, source: &str) -> String {
        let mut out = String::new();
        for file in &self.files {
            out.push_str(&file.print(source));
        }
        out
    }
}

impl PatchFile {
    /// The path after, or before where the file is gone; empty where it is not named.
    pub fn path(&self) -> &str {
        self.new_path
            .as_deref()
            .or(self.old_path.as_deref())
            .unwrap_or("")
    }

    /// How many lines were added.
    pub fn lines_added(&self) -> u32 {
        self.count(LineKind::Added)
    }

    /// How many lines were removed.
    pub fn lines_removed(&self) -> u32 {
        self.count(LineKind::Removed)
    }

    /// The file's diff on its own, as this package writes diffs; `source` is the text it was parsed from.
    ///
    /// The diffs of a merge and of a copy keep their text: they have no such form.
    pub fn to_file_diff(&self, source: &str) -> FileDiff {
        FileDiff {
            path: self.path().to_owned(),
            old_path: self
                .old_path
                .clone()
                .filter(|_| self.change == Change::Renamed),
            change: self.change,
            text: self.print(source),
            lines_added: self.lines_added(),
            lines_removed: self.lines_removed(),
            binary: self.binary,
        }
    }

    fn count(&self, kind: LineKind) -> u32 {
        count(
            self.hunks
                .iter()
                .flat_map(|hunk| &hunk.lines)
                .filter(|line| line.kind == kind)
                .count(),
        )
    }

    /// Prints the file's diff; headers stand above it where it is named. Only a rename has two names: the sides of
    /// `diff -u` are often named apart (`x.orig`), which git would not take for one file.
    pub fn print(&self, source: &str) -> String {
        let copied = self.change == Change::Created && self.old_path.is_some();
        if self.combined || copied {
            return source.get(self.range.clone()).unwrap_or("").to_owned();
        }
        let mut out = String::new();
        if !self.path().is_empty() {
            let renamed_from = self
                .old_path
                .as_deref()
                .filter(|_| self.change == Change::Renamed);
            let header = Header {
                old_path: Cow::Borrowed(renamed_from.unwrap_or(self.path())),
                new_path: Cow::Borrowed(self.path()),
                change: self.change,
                old_mode: self.old_mode,
                new_mode: self.new_mode,
            };
            let body = match (self.binary, self.hunks.is_empty()) {
                (true, _) => Body::Binary,
                (false, true) => Body::Nothing,
                (false, false) => Body::Hunks,
            };
            write_header(&mut out, &header, body);
        }
        for hunk in &self.hunks {
            hunk.write(&mut out, source);
        }
        out
    }
}

impl PatchHunk {
    pub(crate) fn write(&self, out: &mut String, source: &str) {
        if self.placed {
            write_hunk_header(
                out,
                self.old_start,
                self.old_lines,
                self.new_start,
                self.new_lines,
                &self.section,
            );
        } else {
            out.push_str("@@");
            if !self.section.is_empty() {
                out.push(' ');
                out.push_str(&self.section);
            }
            out.push('\n');
        }
        self.write_lines(out, source);
    }

    pub(crate) fn write_lines(&self, out: &mut String, source: &str) {
        for line in &self.lines {
            out.push(line.kind.sign());
            out.push_str(source.get(line.range.clone()).unwrap_or(""));
            out.push('\n');
            if line.no_newline {
                out.push_str(NO_NEWLINE);
            }
        }
    }
}
