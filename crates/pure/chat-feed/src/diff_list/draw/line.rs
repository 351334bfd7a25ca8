//! A line, or two side by side: their numbers, their signs, what differs in them.

use std::ops::Range;

use chat_diff::{PatchHunk, SplitRow};

use super::colours::{Coloured, coloured};
use super::strokes::Strokes;
use crate::diff_list::{DiffList, Side};

/// A line's text is cut behind so many bytes: nobody reads on, and layout would take seconds.
const LINE_BYTES: usize = 4_000;

fn line_class(changed: bool, old: bool) -> &'static str {
    match (changed, old) {
        (false, _) => "diff__line",
        (true, true) => "diff__line diff__line--removed",
        (true, false) => "diff__line diff__line--added",
    }
}

/// A line as it is drawn.
pub(super) struct Line {
    /// Its index in the hunk.
    pub(super) at: u32,
    pub(super) old: bool,
    changed: bool,
    pub(super) end: &'static str,
}

pub(super) struct LineOf<'a> {
    pub(super) list: &'a DiffList,
    pub(super) hunk: &'a PatchHunk,
    pub(super) coloured: Option<&'a Coloured<'a>>,
}

impl LineOf<'_> {
    pub(super) fn draw(&self, file: u32, (hunk, row): (u32, u32), side: Side, to: &mut Strokes) {
        let Some(split_row) = self.list.row(file, hunk, row) else {
            return;
        };
        let changed = split_row.changed;
        let tints = match (split_row.old, split_row.new) {
            (Some(old), Some(new)) if changed => chat_diff::words(self.text(old), self.text(new)),
            _ => (Vec::new(), Vec::new()),
        };
        let line = |at, old| Line {
            at,
            old,
            changed,
            end: self.end(split_row, at),
        };
        if self.list.shown.split {
            to.put(Strokes::DIV, "diff__pair");
            for (at, old, tint) in [
                (split_row.old, true, &tints.0),
                (split_row.new, false, &tints.1),
            ] {
                match at {
                    Some(at) => {
                        to.put(Strokes::DIV, line_class(changed, old));
                        if old && !changed {
                            to.put(Strokes::UNSAID, "");
                        }
                        self.line(&line(at, old), &[number(self.number(at, old))], tint, to)
                    }
                    None => {
                        to.put(Strokes::DIV, "diff__line diff__line--none");
                        to.close();
                    }
                }
            }
            to.close();
            return;
        }
        let at = match side {
            Side::Both => split_row.new.or(split_row.old).map(|at| (at, false)),
            Side::Old => split_row.old.map(|at| (at, true)),
            Side::New => split_row.new.map(|at| (at, false)),
        };
        let Some((at, old)) = at else { return };
        let width = self.list.digits;
        let mut of_old = split_row.old.filter(|_| side != Side::New);
        let mut of_new = split_row.new.filter(|_| side != Side::Old);
        let old_no = of_old.take().and_then(|at| self.number(at, true));
        let new_no = of_new.take().and_then(|at| self.number(at, false));
        // One space is no more than what stands between digits.
        let both = format!("{:>width$}  {:>width$}", number(old_no), number(new_no));
        let one = number(new_no.or(old_no));
        let tint = if old { &tints.0 } else { &tints.1 };
        to.put(Strokes::DIV, line_class(changed, old));
        self.line(&line(at, old), &[both, one], tint, to);
    }

    /// Fills the element of a line, and closes it.
    pub(super) fn line(
        &self,
        line: &Line,
        numbers: &[String],
        tint: &[Range<usize>],
        to: &mut Strokes,
    ) {
        let &Line {
            at,
            old,
            changed,
            end,
        } = line;
        let word = match (changed, old) {
            (false, _) => "",
            (true, true) => "removed ",
            (true, false) => "added ",
        };
        for (kind, number) in [Strokes::NUMBERS, Strokes::NUMBER].into_iter().zip(numbers) {
            to.put(kind, number);
        }
        if !word.is_empty() {
            to.span("diff__sign", word);
        }
        let text = self.text(at);
        let cut = text.floor_char_boundary(LINE_BYTES);
        let spans = self
            .coloured
            .map_or(&[][..], |coloured| coloured.spans(at, old));
        coloured(&text[..cut], spans, tint, to);
        if cut < text.len() {
            let more = crate::units::bytes((text.len() - cut) as u64);
            to.span("diff__aside", &format!(" … {more} more"));
        }
        if self
            .hunk
            .lines
            .get(at as usize)
            .is_some_and(|line| line.no_newline)
        {
            to.span("diff__aside", " no newline at the end");
        }
        if !end.is_empty() {
            to.span("diff__aside", end);
        }
        to.close();
    }

    /// How a line ends, where that is all that tells the lines of a pair apart.
    pub(super) fn end(&self, row: SplitRow, at: u32) -> &'static str {
        let (Some(old), Some(new)) = (row.old, row.new) else {
            return "";
        };
        let differ =
            row.changed && self.text(old) == self.text(new) && self.raw(old) != self.raw(new);
        match (differ, self.raw(at).ends_with('\r')) {
            (false, _) => "",
            (true, true) => " ends with CR LF",
            (true, false) => " ends with LF",
        }
    }

    pub(super) fn text(&self, at: u32) -> &str {
        let text = self.raw(at);
        text.strip_suffix('\r').unwrap_or(text)
    }

    /// With what it ends with, but for the LF.
    fn raw(&self, at: u32) -> &str {
        let range = self
            .hunk
            .lines
            .get(at as usize)
            .map(|line| line.range.clone());
        range
            .and_then(|range| self.list.text.get(range))
            .unwrap_or("")
    }

    pub(super) fn number(&self, at: u32, old: bool) -> Option<u32> {
        let line = self.hunk.lines.get(at as usize)?;
        if old { line.old_no } else { line.new_no }
    }
}

pub(super) fn number(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}
