//! A unified diff as lines with numbers: sign in its own column, ground and word tint, and a word for those who listen.
//!
//! Built as nodes when a row is opened and gone with it.

use std::ops::Range;

use chat_diff::{LineKind, Patch, PatchFile, PatchHunk};
use leptos::html::{div, span};
use leptos::prelude::*;

/// More lines than this are not put into the page at once.
const MOST_LINES: usize = 2_000;

/// A diff; `None` where the text is none.
pub(crate) fn view(text: &str) -> Option<AnyView> {
    let patch: Patch = chat_diff::parse(text);
    let n_lines: usize = patch
        .files
        .iter()
        .flat_map(|file| &file.hunks)
        .map(|hunk| hunk.lines.len())
        .sum();
    if n_lines == 0 {
        let binary = patch.files.iter().any(|file| file.binary);
        return binary.then(|| {
            div()
                .class("diff")
                .child(div().class("diff__hunk").child("Binary file"))
                .into_any()
        });
    }
    let mut room = MOST_LINES;
    let several = patch.files.len() > 1;
    let files: Vec<AnyView> = patch
        .files
        .iter()
        .map(|file| file_view(text, file, several, &mut room).into_any())
        .collect();
    let left_out = n_lines.saturating_sub(MOST_LINES);
    let note = (left_out > 0).then(|| {
        let lines = chat_feed::units::count(left_out as u64, "line", "lines");
        div().class("diff__hunk").child(format!("{lines} more"))
    });
    let lines = div().class("diff__lines").child((files, note));
    let diff = div()
        .class("diff")
        .attr("tabindex", "0")
        .attr("role", "region")
        .attr("aria-label", "Diff")
        .child(lines);
    Some(diff.into_any())
}

fn file_view(text: &str, file: &PatchFile, named: bool, room: &mut usize) -> impl IntoView + use<> {
    let name = named.then(|| div().class("diff__hunk").child(file.path().to_owned()));
    let mut hunks = Vec::new();
    for hunk in &file.hunks {
        if *room == 0 {
            break;
        }
        hunks.push(hunk_view(text, hunk, room).into_any());
    }
    (name, hunks)
}

fn hunk_view(text: &str, hunk: &PatchHunk, room: &mut usize) -> impl IntoView + use<> {
    let head = hunk.placed.then(|| {
        let place = format!(
            "@@ -{},{} +{},{} @@ {}",
            hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, hunk.section
        );
        div().class("diff__hunk").child(place.trim_end().to_owned())
    });
    let mut tints: Vec<Vec<Range<usize>>> = vec![Vec::new(); hunk.lines.len()];
    for (removed, added) in hunk.pairs() {
        let content = |at: usize| text.get(hunk.lines[at].range.clone()).unwrap_or_default();
        let (old, new) = chat_diff::words(content(removed), content(added));
        tints[removed] = old;
        tints[added] = new;
    }
    let shown = hunk.lines.len().min(*room);
    *room -= shown;
    let lines: Vec<_> = hunk.lines[..shown]
        .iter()
        .zip(tints)
        .map(|(line, tint)| {
            let content = text
                .get(line.range.clone())
                .unwrap_or_default()
                .trim_end_matches('\r');
            let (class, word) = match line.kind {
                LineKind::Context => ("diff__line", ""),
                LineKind::Added => ("diff__line diff__line--added", "added "),
                LineKind::Removed => ("diff__line diff__line--removed", "removed "),
            };
            let number =
                |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
            // Numbers and signs are drawn from attributes, so that copied text is the code alone.
            div()
                .class(class)
                .attr("data-old", number(line.old_no))
                .attr("data-new", number(line.new_no))
                .attr("data-sign", sign(line.kind))
                .child((
                    (!word.is_empty()).then(|| span().class("visually-hidden").child(word)),
                    tinted(content, &tint),
                    line.no_newline
                        .then(|| span().class("subtle").child(" no newline at the end")),
                ))
        })
        .collect();
    (head, lines)
}

fn sign(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Context => "",
        LineKind::Added => "+",
        LineKind::Removed => "−",
    }
}

fn tinted(content: &str, tint: &[Range<usize>]) -> Vec<AnyView> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for range in tint {
        let end = range.end.min(content.len());
        let (Some(plain), Some(word)) =
            (content.get(at..range.start), content.get(range.start..end))
        else {
            break;
        };
        if !plain.is_empty() {
            pieces.push(plain.to_owned().into_any());
        }
        pieces.push(span().class("diff__word").child(word.to_owned()).into_any());
        at = end;
    }
    pieces.push(content.get(at..).unwrap_or_default().to_owned().into_any());
    pieces
}
