//! Hunks: which lines are theirs, by the counts of their header or without.

use std::ops::Range;

use super::hunk_header::HunkHeader;
use super::{Line, Parser, line_at};
use crate::patch::{LineKind, PatchHunk, PatchLine};

impl Parser<'_> {
    /// Reads a hunk that begins with `@@`.
    pub(super) fn hunk_header(&mut self, content: &str, start: usize) {
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
    pub(super) fn hunk_without_header(&mut self, line: &Line) {
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
