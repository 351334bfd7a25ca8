//! Reads unified diffs of any tool, whole or cut off, for display: git, diff, hg, svn, bzr, jsdiff, and what agents
//! make of them (git-diff(1) "Generating patch text with -p" and "Combined diff format"; POSIX diff(1) "-u").
//!
//! Nothing is refused: text outside of files and hunks is passed over, and a hunk whose counts are wrong keeps its
//! lines and says so in `complete`. Names are left to `names`.

mod file_headers;
mod hunk_header;
mod hunks;

use std::ops::Range;

use crate::names;
use crate::patch::{Patch, PatchFile};
use file_headers::{Open, SideName, is_binary_line};
use hunks::Blanks;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Parses a diff of any number of files; ranges in the result are byte ranges of `text`.
pub fn parse(text: &str) -> Patch {
    let mut parser = Parser {
        text,
        // Some editors and shells put a mark of the encoding in front of the first line.
        at: text.len() - text.trim_start_matches(BYTE_ORDER_MARK).len(),
        nothing_so_far: true,
        blanks: Blanks::default(),
        files: Vec::new(),
        open: None,
    };
    while let Some(line) = line_at(text, parser.at) {
        parser.outside(&line);
    }
    parser.close(text.len());
    Patch {
        files: parser.files,
    }
}

struct Line {
    /// Without `\n`.
    range: Range<usize>,
    next: usize,
}

fn line_at(text: &str, at: usize) -> Option<Line> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    let end = rest.find('\n').map_or(text.len(), |len| at + len);
    Some(Line {
        range: at..end,
        next: (end + 1).min(text.len()),
    })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// All lines before this one are empty.
    nothing_so_far: bool,
    blanks: Blanks,
    files: Vec<PatchFile>,
    open: Option<Open<'a>>,
}

impl<'a> Parser<'a> {
    /// Reads one line that is not within a hunk, or a hunk that begins with it.
    fn outside(&mut self, line: &Line) {
        let start = line.range.start;
        let content = &self.text[line.range.clone()];
        let content = content.strip_suffix('\r').unwrap_or(content);
        self.at = line.next;
        let is_first = self.nothing_so_far;
        self.nothing_so_far &= content.trim().is_empty();
        if let Some(pair) = content.strip_prefix("diff --git ") {
            let names =
                names::read_pair(pair).map(|(old, new)| (old.into_owned(), new.into_owned()));
            self.start(start).git_names = names;
        } else if let Some(name) = content
            .strip_prefix("diff --cc ")
            .or_else(|| content.strip_prefix("diff --combined "))
        {
            let name = names::read(name).0.into_owned();
            let open = self.start(start);
            open.file.combined = true;
            open.git_names = Some((name.clone(), name));
        } else if let Some(name) = content.strip_prefix("Index: ") {
            let name = names::read(name).0.into_owned();
            self.start(start).git_names = Some((name.clone(), name));
        } else if content.starts_with("diff ") || content.starts_with("=== ") {
            // The headers of diff, hg and bzr: the names come with `---` and `+++`.
            self.close(start);
        } else if let Some(old) = content.strip_prefix("--- ")
            && let Some(new_line) = line_at(self.text, line.next)
            && let Some(new) = self.text[new_line.range.clone()].strip_prefix("+++ ")
        {
            let has_names = |open: &Open| open.mark_names.is_some() || !open.file.hunks.is_empty();
            if self.open.as_ref().is_none_or(has_names) {
                self.start(start);
            }
            if let Some(open) = &mut self.open {
                open.mark_names = Some((
                    SideName::read(old),
                    SideName::read(new.strip_suffix('\r').unwrap_or(new)),
                ));
            }
            self.at = new_line.next;
        } else if content.starts_with("@@") {
            self.hunk_header(content, start, is_first);
        } else if let Some(open) = &mut self.open
            && open.file.hunks.is_empty()
            && !(open.file.binary && is_binary_line(content))
        {
            if open.mark_names.is_some() && content.starts_with(['+', '-', ' ']) {
                self.hunk_without_header(line);
            } else {
                open.extended_header(content);
            }
        } else if is_binary_line(content) {
            self.start(start).extended_header(content);
        }
    }

    fn start(&mut self, at: usize) -> &mut Open<'a> {
        self.close(at);
        self.open.insert(Open::new(at))
    }

    fn close(&mut self, at: usize) {
        if let Some(open) = self.open.take() {
            let mut file = open.named();
            file.range.end = at;
            self.files.push(file);
        }
    }
}
