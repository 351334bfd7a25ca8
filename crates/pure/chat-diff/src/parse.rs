//! Reads unified diffs of any tool, whole or cut off, for display: git, diff, hg, svn, bzr, jsdiff, and what agents
//! make of them (git-diff(1) "Generating patch text with -p" and "Combined diff format"; POSIX diff(1) "-u").
//!
//! Nothing is refused: text outside of files and hunks is passed over, and a hunk whose counts are wrong keeps its
//! lines and says so in `complete`. Names are left to `names`.

use std::ops::Range;

use crate::file_diff::Change;
use crate::names;
use crate::patch::{LineKind, Patch, PatchFile, PatchHunk, PatchLine};
use crate::print::DEV_NULL;

/// Parses a diff of any number of files; ranges in the result are byte ranges of `text`.
pub fn parse(text: &str) -> Patch {
    let mut parser = Parser {
        text,
        at: 0,
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

/// Parents of a merge read at most; git makes no such merges.
const PARENTS: usize = 64;

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

/// The file whose headers or hunks are being read.
struct Open<'a> {
    file: PatchFile,
    /// The names of a `diff --git` line, as they stand there.
    git_names: Option<(String, String)>,
    /// The names of `---` and `+++`; `None` within stands for a side that is not there.
    mark_names: Option<(Option<String>, Option<String>)>,
    moved_from: Option<&'a str>,
    moved_to: Option<&'a str>,
    copied: bool,
    created: bool,
    deleted: bool,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
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
                    side_name(old),
                    side_name(new.strip_suffix('\r').unwrap_or(new)),
                ));
            }
            self.at = new_line.next;
        } else if content.starts_with("@@") {
            self.hunk_header(content, start);
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
        self.open.insert(Open {
            file: PatchFile {
                old_path: None,
                new_path: None,
                change: Change::Modified,
                old_mode: None,
                new_mode: None,
                binary: false,
                combined: false,
                range: at..at,
                hunks: Vec::new(),
            },
            git_names: None,
            mark_names: None,
            moved_from: None,
            moved_to: None,
            copied: false,
            created: false,
            deleted: false,
        })
    }

    fn close(&mut self, at: usize) {
        if let Some(open) = self.open.take() {
            let mut file = open.named();
            file.range.end = at;
            self.files.push(file);
        }
    }

    fn hunk_header(&mut self, content: &str, start: usize) {
        let header = HunkHeader::read(content);
        if self.open.is_none() {
            // Without a file, only a header in full is a hunk; other lines may begin with `@@` as they like.
            if header.is_none() {
                return;
            }
            self.start(start);
        }
        let header = header.unwrap_or_else(|| {
            let section = content.trim_start_matches('@').trim_start();
            HunkHeader {
                old: None,
                new: None,
                columns: 1,
                section,
            }
        });
        self.hunk(&header);
    }

    /// Lines right below `+++`: a created or deleted file as some agents print it.
    fn hunk_without_header(&mut self, line: &Line) {
        let start = line.range.start;
        self.at = start;
        let names = self.open.as_ref().and_then(|open| open.mark_names.as_ref());
        let whole_file = names.is_some_and(|(old, new)| old.is_none() != new.is_none());
        let mut header = HunkHeader {
            old: None,
            new: None,
            columns: 1,
            section: "",
        };
        self.hunk(&header);
        let Some(hunk) = self.open.as_mut().and_then(|open| open.file.hunks.pop()) else {
            // A signature, say: it is passed over.
            self.at = line.next;
            return;
        };
        if whole_file && (hunk.old_lines == 0 || hunk.new_lines == 0) {
            header.old = Some((u32::from(hunk.old_lines > 0), hunk.old_lines));
            header.new = Some((u32::from(hunk.new_lines > 0), hunk.new_lines));
            self.at = start;
            self.hunk(&header);
        } else if let Some(open) = &mut self.open {
            open.file.hunks.push(hunk);
        }
    }

    /// Reads the lines of a hunk from `self.at` on and adds it to the open file.
    fn hunk(&mut self, header: &HunkHeader) {
        let (old_start, old_claimed) = header.old.unwrap_or((0, 0));
        let (new_start, new_claimed) = header.new.unwrap_or((0, 0));
        let placed = header.old.is_some() && header.new.is_some();
        let mut hunk = PatchHunk {
            old_start,
            old_lines: 0,
            new_start,
            new_lines: 0,
            section: header.section.to_owned(),
            placed,
            complete: false,
            lines: Vec::new(),
        };
        while let Some(line) = line_at(self.text, self.at) {
            let left =
                placed.then_some((hunk.old_lines < old_claimed, hunk.new_lines < new_claimed));
            if self.text[line.range.clone()].starts_with("\\ ") {
                if let Some(last) = hunk.lines.last_mut() {
                    last.no_newline = true;
                }
            } else if let Some(hunk_line) = self.hunk_line(&line, header.columns, left) {
                hunk_line.push_to(&mut hunk);
            } else {
                break;
            }
            self.at = line.next;
        }
        hunk.complete = placed
            && header.columns == 1
            && hunk.old_lines == old_claimed
            && hunk.new_lines == new_claimed;
        if let Some(open) = &mut self.open
            && (placed || !hunk.lines.is_empty())
        {
            // A merge's hunk may stand without the header that names it a merge's.
            open.file.combined |= header.columns > 1;
            open.file.hunks.push(hunk);
        }
    }

    /// One line of a hunk; `None` where the hunk is over. `left` says whether the header's counts promise more old and
    /// new lines; `None` where there are no counts.
    ///
    /// Promised lines are content, even if they look like a header. Beyond the promise, lines with a sign still belong
    /// to the hunk, for counts are often wrong, unless they look like a header.
    fn hunk_line(
        &self,
        line: &Line,
        columns: usize,
        left: Option<(bool, bool)>,
    ) -> Option<HunkLine> {
        let content = &self.text[line.range.clone()];
        let next_starts_with = |starts: &[&str]| {
            line_at(self.text, line.next).is_some_and(|next| {
                starts
                    .iter()
                    .any(|start| self.text[next.range.clone()].starts_with(start))
            })
        };
        if content.is_empty() || content == "\r" {
            // Mailers and agents drop the space of an empty context line.
            let inside = left.map_or_else(
                || next_starts_with(&[" ", "+", "-"]),
                |(old, new)| old && new,
            );
            let kind = LineKind::Context;
            return inside.then(|| HunkLine {
                kind,
                old: true,
                new: true,
                range: line.range.clone(),
            });
        }
        let signs = content.as_bytes().get(..columns)?;
        if !signs.iter().all(|sign| matches!(sign, b' ' | b'+' | b'-')) {
            return None;
        }
        let (kind, old, new) = if signs.contains(&b'-') {
            (LineKind::Removed, signs.starts_with(b"-"), false)
        } else if signs.contains(&b'+') {
            (LineKind::Added, signs.starts_with(b" "), true)
        } else {
            (LineKind::Context, true, true)
        };
        let promised =
            left.is_some_and(|(old_left, new_left)| (!old || old_left) && (!new || new_left));
        let is_signature = matches!(content, "-- " | "--");
        let is_header = content.starts_with("--- ") && next_starts_with(&["+++ "]);
        if !promised && (is_signature || is_header) {
            return None;
        }
        Some(HunkLine {
            kind,
            old,
            new,
            range: line.range.start + columns..line.range.end,
        })
    }
}

/// A line of a hunk before it has numbers.
struct HunkLine {
    kind: LineKind,
    /// It counts in the old file (of a merge: in the first parent).
    old: bool,
    new: bool,
    range: Range<usize>,
}

impl HunkLine {
    fn push_to(self, hunk: &mut PatchHunk) {
        let number = |counts: bool, start: u32, before: u32| {
            (hunk.placed && counts)
                .then(|| start.saturating_add(before))
                .filter(|number| *number > 0)
        };
        let line = PatchLine {
            kind: self.kind,
            old_no: number(self.old, hunk.old_start, hunk.old_lines),
            new_no: number(self.new, hunk.new_start, hunk.new_lines),
            range: self.range,
            no_newline: false,
        };
        hunk.old_lines = hunk.old_lines.saturating_add(u32::from(self.old));
        hunk.new_lines = hunk.new_lines.saturating_add(u32::from(self.new));
        hunk.lines.push(line);
    }
}

impl<'a> Open<'a> {
    /// Reads a line between `diff --git` and the first hunk; others than git's are passed over.
    fn extended_header(&mut self, content: &'a str) {
        let mode = |digits: &str| {
            u32::from_str_radix(digits, 8)
                .ok()
                .filter(|mode| *mode <= 0o777_777)
        };
        if let Some(digits) = content.strip_prefix("new file mode ") {
            self.created = true;
            self.file.new_mode = mode(digits);
        } else if let Some(digits) = content.strip_prefix("deleted file mode ") {
            self.deleted = true;
            self.file.old_mode = mode(digits);
        } else if let Some(digits) = content.strip_prefix("old mode ") {
            self.file.old_mode = mode(digits);
        } else if let Some(digits) = content.strip_prefix("new mode ") {
            self.file.new_mode = mode(digits);
        } else if let Some(name) = content.strip_prefix("rename from ") {
            self.moved_from = Some(name);
        } else if let Some(name) = content.strip_prefix("rename to ") {
            self.moved_to = Some(name);
        } else if let Some(name) = content.strip_prefix("copy from ") {
            (self.moved_from, self.copied) = (Some(name), true);
        } else if let Some(name) = content.strip_prefix("copy to ") {
            (self.moved_to, self.copied) = (Some(name), true);
        } else if content.starts_with("GIT binary patch") {
            self.file.binary = true;
        } else if let Some(names) = content
            .strip_prefix("Binary files ")
            .and_then(|rest| rest.strip_suffix(" differ"))
        {
            self.file.binary = true;
            if self.mark_names.is_none() {
                self.mark_names = self.binary_names(names);
            }
        }
    }

    /// The names of a `Binary files … differ` line, where it says more than `diff --git`.
    fn binary_names(&self, names: &str) -> Option<(Option<String>, Option<String>)> {
        if let Some(new) = names.strip_prefix("/dev/null and ") {
            Some((None, side_name(new)))
        } else if let Some(old) = names.strip_suffix(" and /dev/null") {
            Some((side_name(old), None))
        } else if self.git_names.is_none() {
            let (old, new) = names.split_once(" and ")?;
            Some((side_name(old), side_name(new)))
        } else {
            None
        }
    }

    /// The file with its paths and what happened to it.
    fn named(self) -> PatchFile {
        let mut file = self.file;
        let git = self
            .git_names
            .as_ref()
            .map(|(old, new)| names::strip_prefixes(old, new));
        let (old, new, prefixed) = match (&self.mark_names, git) {
            (Some((Some(old), Some(new))), _) => {
                let (old, new, prefixed) = names::strip_prefixes(old, new);
                (Some(old), Some(new), prefixed)
            }
            (Some((old, new)), git) => {
                // One side is missing, so `diff --git` decides whether the other has a prefix.
                let strip = |name: &'_ str, usual: &str| match git {
                    Some((_, _, true)) => name.find('/').map_or(0, |slash| slash + 1),
                    Some((_, _, false)) => 0,
                    None if name.starts_with(usual) => usual.len(),
                    None => 0,
                };
                let old = old.as_ref().map(|name| &name[strip(name, "a/")..]);
                let new = new.as_ref().map(|name| &name[strip(name, "b/")..]);
                (old, new, false)
            }
            (None, Some((old, new, prefixed))) => (Some(old), Some(new), prefixed),
            (None, None) => (None, None, false),
        };
        let moved = self.moved_from.is_some() || self.moved_to.is_some();
        let old_path = self
            .moved_from
            .map(|name| names::read(name).0.into_owned())
            .or_else(|| old.map(str::to_owned));
        let new_path = self
            .moved_to
            .map(|name| names::read(name).0.into_owned())
            .or_else(|| new.map(str::to_owned));
        let created = self.created || (old.is_none() && new.is_some());
        let deleted = self.deleted || (old.is_some() && new.is_none());
        file.change = match (created, deleted) {
            _ if self.copied => Change::Created,
            (true, false) => Change::Created,
            (false, true) => Change::Deleted,
            (true, true) => Change::Modified,
            (false, false) if moved || (prefixed && old != new) => Change::Renamed,
            (false, false) => Change::Modified,
        };
        file.old_path = old_path.filter(|_| self.copied || file.change != Change::Created);
        file.new_path = new_path.filter(|_| file.change != Change::Deleted);
        file
    }
}

/// The line that stands for the content of a binary file: of the file above, or, of diff, of a file of its own.
fn is_binary_line(content: &str) -> bool {
    content.starts_with("Binary files ") && content.ends_with(" differ")
}

/// The name behind `---` or `+++`; `None` for a side that is not there, which bzr and patch say by a time of 0.
fn side_name(text: &str) -> Option<String> {
    let (name, time) = names::read(text);
    let absent =
        name == DEV_NULL || time.contains("\t1970-01-01 ") || time.contains("\t1969-12-31 ");
    (!absent).then(|| name.into_owned())
}

/// `@@ -1,2 +1,3 @@ section`, or of a merge `@@@ -1,2 -1,2 +1,3 @@@`.
struct HunkHeader<'a> {
    /// Start and count; `None` where the header says nothing of them.
    old: Option<(u32, u32)>,
    new: Option<(u32, u32)>,
    /// Signs in front of each line: one for each parent.
    columns: usize,
    section: &'a str,
}

impl<'a> HunkHeader<'a> {
    fn read(content: &'a str) -> Option<Self> {
        let marks = content.bytes().take_while(|byte| *byte == b'@').count();
        let columns = marks
            .checked_sub(1)
            .filter(|columns| (1..=PARENTS).contains(columns))?;
        let mut rest = &content[marks..];
        let mut old = None;
        for _ in 0..columns {
            let range;
            (range, rest) = read_range(rest.strip_prefix(" -")?)?;
            old = old.or(Some(range));
        }
        let new;
        (new, rest) = read_range(rest.strip_prefix(" +")?)?;
        let section = rest.strip_prefix(' ')?.strip_prefix(&content[..marks])?;
        let section = section.strip_prefix(' ').unwrap_or(section);
        Some(Self {
            old,
            new: Some(new),
            columns,
            section,
        })
    }
}

fn read_range(text: &str) -> Option<((u32, u32), &str)> {
    let (start, rest) = read_number(text)?;
    let (lines, rest) = match rest.strip_prefix(',') {
        Some(rest) => read_number(rest)?,
        None => (1, rest),
    };
    Some(((start, lines), rest))
}

/// Numbers too large for any file stand for the largest one.
fn read_number(text: &str) -> Option<(u32, &str)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(len);
    (len > 0).then(|| (digits.parse().unwrap_or(u32::MAX), rest))
}
