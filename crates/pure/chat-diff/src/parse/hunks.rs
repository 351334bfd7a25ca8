//! Hunks: which lines are theirs, by the counts of their header or without.
//!
//! Counts are often wrong where a hunk was not made by a tool: they are kept to as long as the lines do not belie them.

use std::ops::Range;

use super::hunk_header::HunkHeader;
use super::{Line, Parser, line_at};
use crate::patch::{LineKind, PatchHunk, PatchLine};

/// Whether the hunk goes on behind a stretch of empty lines, and how far that stretch is known to reach: it may be long.
#[derive(Default)]
pub(super) struct Blanks {
    end: usize,
    goes_on: bool,
}

/// How many lines the header of a hunk promises beyond those that were read; `None` where it says nothing that is true.
type Promised = Option<(u32, u32)>;

impl Parser<'_> {
    /// Reads a hunk that begins with `@@`; `is_first` where nothing stands above it.
    pub(super) fn hunk_header(&mut self, content: &str, start: usize, is_first: bool) {
        let header = HunkHeader::read(content);
        if self.open.is_none() {
            // Without a file, only a header in full is a hunk; other lines may begin with `@@` as they like. Agents
            // tell pieces of a file without saying where they stand.
            if header.is_none() && !(is_first && self.is_piece()) {
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
    pub(super) fn hunk_without_header(&mut self, line: &Line) {
        let start = line.range.start;
        self.at = start;
        let names = self.open.as_ref().and_then(|open| open.mark_names.as_ref());
        let whole_file = names.is_some_and(|(old, new)| old.is_absent() != new.is_absent());
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
            self.blanks = Blanks::default();
            self.hunk(&header);
        } else if let Some(open) = &mut self.open {
            open.file.hunks.push(hunk);
        }
    }

    /// Reads the lines of a hunk from `self.at` on and adds it to the open file.
    fn hunk(&mut self, header: &HunkHeader) {
        let (old_start, old_claimed) = header.old.unwrap_or((0, 0));
        let (new_start, new_claimed) = header.new.unwrap_or((0, 0));
        let claimed = header.old.zip(header.new);
        let placed = claimed.is_some();
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
            // Where there are more than it says, it is wrong of all.
            let promised = claimed.and_then(|((_, old), (_, new))| {
                let old_left = old.checked_sub(hunk.old_lines)?;
                Some((old_left, new.checked_sub(hunk.new_lines)?))
            });
            if self.text[line.range.clone()].starts_with("\\ ") {
                if let Some(last) = hunk.lines.last_mut() {
                    last.no_newline = true;
                }
            } else if let Some(hunk_line) = self.hunk_line(&line, header.columns, promised) {
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

    /// One line of a hunk; `None` where the hunk is over.
    ///
    /// Promised lines are content, even if they look like a header. Beyond the promise, lines with a sign still belong
    /// to the hunk, for counts are often wrong, unless they look like a header.
    fn hunk_line(&mut self, line: &Line, columns: usize, left: Promised) -> Option<HunkLine> {
        let content = &self.text[line.range.clone()];
        if content.is_empty() || content == "\r" {
            // Mailers and agents drop the space of an empty context line.
            let inside = match left {
                Some((old_left, new_left)) => old_left > 0 && new_left > 0,
                None => self.goes_on_behind(line),
            };
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
        let promised = left
            .is_some_and(|(old_left, new_left)| (!old || old_left > 0) && (!new || new_left > 0));
        let is_signature = matches!(content.trim_end_matches('\r'), "-- " | "--");
        let is_over = match (promised, left) {
            // Nothing follows a hunk header within a hunk, so where more is promised the promise is wrong.
            (true, Some(left)) => {
                columns == 1 && left != (1, 1) && self.is_header(line) == Some(true)
            }
            _ => is_signature || self.is_header(line).is_some(),
        };
        if is_over {
            return None;
        }
        Some(HunkLine {
            kind,
            old,
            new,
            range: line.range.start + columns..line.range.end,
        })
    }

    /// Whether lines with a sign follow an empty line, or several.
    fn goes_on_behind(&mut self, line: &Line) -> bool {
        if line.next > self.blanks.end {
            let mut end = line.next;
            while let Some(next) = line_at(self.text, end)
                && matches!(&self.text[next.range], "" | "\r")
            {
                end = next.next;
            }
            let goes_on = self.is_signed(end);
            self.blanks = Blanks { end, goes_on };
        }
        self.blanks.goes_on
    }

    /// Whether a piece of a file goes on here: below further lines that name the place, lines with a sign.
    fn is_piece(&self) -> bool {
        let mut at = self.at;
        while let Some(line) = line_at(self.text, at)
            && self.text[line.range].starts_with("@@")
        {
            at = line.next;
        }
        self.is_signed(at)
    }

    /// Whether a line with a sign stands there.
    fn is_signed(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or("");
        rest.starts_with([' ', '+', '-'])
    }

    /// Whether `---` and `+++` stand here, and whether a hunk follows them; `None` where they do not.
    fn is_header(&self, line: &Line) -> Option<bool> {
        let starts_with = |at: usize, start: &str| self.text[at..].starts_with(start);
        if !starts_with(line.range.start, "--- ") || !starts_with(line.next, "+++ ") {
            return None;
        }
        let new = line_at(self.text, line.next)?;
        Some(starts_with(new.next, "@@"))
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
