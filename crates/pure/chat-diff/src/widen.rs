//! A diff with more of its file around the changes: what a reader asks for who wants to see where a change stands.
//!
//! The old text is checked against the whole diff first, so that no line is shown that the file does not have there.
//! How many lines a reader wants, and where the old text comes from, is for others.

use std::ops::Range;

use crate::apply::{Error, first_line};
use crate::file_diff::count;
use crate::lines::split_lines;
use crate::parse::parse;
use crate::patch::{PatchFile, PatchHunk};
use crate::print::{NO_NEWLINE, write_hunk_header};

/// Lines of the file to show around a hunk, beyond those it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Around {
    /// Above its first line.
    pub above: u32,
    /// Below its last line.
    pub below: u32,
}

/// A widened diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widened {
    /// The diff, with the same changes and the same headers.
    pub text: String,
    /// By hunk of it, the first and the last hunk of the given diff that it holds: those that meet become one.
    pub holds: Vec<(usize, usize)>,
    /// Lines of the file that are not shown: above each hunk, and below the last one.
    pub left_out: Vec<u32>,
}

/// The diff of one file with the lines that `around` asks for, by hunk; hunks that it does not name stay as they are.
/// No more is shown than the file has.
///
/// # Errors
///
/// Where the diff does not apply to `old`, as [`apply`](crate::apply()).
pub fn widen(diff: &str, old: &str, around: &[Around]) -> Result<Widened, Error> {
    let patch = parse(diff);
    let [file] = patch.files.as_slice() else {
        let files = patch.files.len();
        return Err(Error::NotOneFile { files });
    };
    file.apply(diff, old)?;
    let old_lines = split_lines(old);
    let spans = spans(file, old_lines.len(), around);
    let mut widened = Widened {
        text: diff.get(..head_end(diff)).unwrap_or("").to_owned(),
        holds: Vec::new(),
        left_out: Vec::new(),
    };
    let mut shown_to = 0;
    let mut first = 0;
    // The new file's lines are counted, not read from the headers, which nothing checks.
    let (mut n_added, mut n_removed) = (0, 0);
    while let Some(span) = spans.get(first) {
        let mut last = first;
        let mut end = span.end;
        while let Some(next) = spans.get(last + 1).filter(|next| next.start <= end) {
            end = next.end;
            last += 1;
        }
        widened
            .left_out
            .push(count(span.start.saturating_sub(shown_to)));
        let hunks = file.hunks.get(first..=last).unwrap_or(&[]);
        let new_start = (span.start + n_added).saturating_sub(n_removed);
        let lines = (span.start..end, new_start);
        write_group(&mut widened.text, diff, hunks, lines, &old_lines);
        for hunk in hunks {
            n_added += hunk.new_lines as usize;
            n_removed += hunk.old_lines as usize;
        }
        widened.holds.push((first, last));
        shown_to = end;
        first = last + 1;
    }
    let rest = old_lines.len().saturating_sub(shown_to);
    widened.left_out.push(count(rest));
    Ok(widened)
}

/// By hunk, the old lines that are shown with it. They do not go beyond the changes of the hunks beside it.
fn spans(file: &PatchFile, n_old: usize, around: &[Around]) -> Vec<Range<usize>> {
    let own: Vec<Range<usize>> = file
        .hunks
        .iter()
        .map(|hunk| first_line(hunk)..first_line(hunk) + hunk.old_lines as usize)
        .collect();
    let span = |(at, own_lines): (usize, &Range<usize>)| {
        let around = around.get(at).copied().unwrap_or_default();
        let floor = at.checked_sub(1).and_then(|before| own.get(before));
        let ceiling = own.get(at + 1).map_or(n_old, |next| next.start);
        let start = own_lines.start.saturating_sub(around.above as usize);
        let end = own_lines.end.saturating_add(around.below as usize);
        start.max(floor.map_or(0, |before| before.end))..end.min(ceiling)
    };
    own.iter().enumerate().map(span).collect()
}

/// Where the first hunk's header begins: no line above it starts as one.
fn head_end(diff: &str) -> usize {
    let mut at = 0;
    for line in diff.split_inclusive('\n') {
        if line.starts_with("@@") {
            return at;
        }
        at += line.len();
    }
    at
}

/// One hunk of `hunks`, with the old lines of `span` that they do not have as context; `new_start` is the new line, from
/// 0, that it begins with.
fn write_group(
    out: &mut String,
    diff: &str,
    hunks: &[PatchHunk],
    (span, new_start): (Range<usize>, usize),
    old: &[&str],
) {
    let Some(first) = hunks.first() else {
        return;
    };
    let n_added: usize = hunks.iter().map(|hunk| hunk.new_lines as usize).sum();
    let n_removed: usize = hunks.iter().map(|hunk| hunk.old_lines as usize).sum();
    let n_new = (span.len() + n_added).saturating_sub(n_removed);
    let above = first_line(first) > span.start;
    // What stands behind the second @@ is the function above the first line.
    let section = if above { "" } else { first.section.as_str() };
    let named = |start: usize, n_lines: usize| count(start + usize::from(n_lines > 0));
    let (old_start, new_start) = (named(span.start, span.len()), named(new_start, n_new));
    write_hunk_header(
        out,
        old_start,
        count(span.len()),
        new_start,
        count(n_new),
        section,
    );
    let mut at = span.start;
    for hunk in hunks {
        write_context(out, old.get(at..first_line(hunk)));
        hunk.write_lines(out, diff);
        at = first_line(hunk) + hunk.old_lines as usize;
    }
    write_context(out, old.get(at..span.end));
}

fn write_context(out: &mut String, lines: Option<&[&str]>) {
    for line in lines.unwrap_or(&[]) {
        out.push(' ');
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push('\n');
            out.push_str(NO_NEWLINE);
        }
    }
}
