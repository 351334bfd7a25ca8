//! A line's text, in its colours.

use std::ops::Range;

use chat_diff::{LineKind, PatchHunk};

use super::strokes::Strokes;
use crate::diff_list::HunkColours;
use crate::marks::{self, Stretch};
use crate::syntax::{Class, Span};

/// Colours of a hunk, and where its lines are in the texts that were coloured.
pub(super) struct Coloured<'a> {
    pub(super) colours: &'a HunkColours,
    /// By line of the hunk: its line in the old text, in the new text.
    pub(super) places: Vec<(u32, u32)>,
}

impl<'a> Coloured<'a> {
    pub(super) fn new(hunk: &PatchHunk, colours: &'a HunkColours) -> Self {
        let (mut old, mut new) = (0, 0);
        let places = hunk.lines.iter().map(|line| {
            let place = (old, new);
            old += u32::from(line.kind != LineKind::Added);
            new += u32::from(line.kind != LineKind::Removed);
            place
        });
        Self {
            places: places.collect(),
            colours,
        }
    }

    pub(super) fn spans(&self, at: u32, old: bool) -> &[Span] {
        let Some((old_at, new_at)) = self.places.get(at as usize) else {
            return &[];
        };
        let (lines, at) = match old {
            true => (&self.colours.old, old_at),
            false => (&self.colours.new, new_at),
        };
        let line = lines.as_ref().and_then(|lines| lines.get(*at as usize));
        line.map_or(&[], Vec::as_slice)
    }
}

/// A line's text: tints around colours around texts. Ranges that do not fit the text are left out.
pub(super) fn coloured(text: &str, spans: &[Span], tint: &[Range<usize>], to: &mut Strokes) {
    let mut at = 0;
    for range in tint {
        let (start, end) = (
            range.start.clamp(at, text.len()),
            range.end.clamp(at, text.len()),
        );
        if start >= end || !text.is_char_boundary(start) || !text.is_char_boundary(end) {
            continue;
        }
        colours(text, at..start, spans, to);
        to.put(Strokes::SPAN, "diff__word");
        colours(text, start..end, spans, to);
        to.close();
        at = end;
    }
    colours(text, at..text.len(), spans, to);
}

pub(super) fn colours(text: &str, range: Range<usize>, spans: &[Span], to: &mut Strokes) {
    let mut at = range.start;
    for (span, class) in spans {
        let (start, end) = (span.start.max(at), span.end.min(range.end));
        if start >= end {
            continue;
        }
        let (Some(before), Some(within)) = (text.get(at..start), text.get(start..end)) else {
            continue;
        };
        shown_text(before, to);
        to.put(Strokes::SPAN, class_name(*class));
        shown_text(within, to);
        to.close();
        at = end;
    }
    shown_text(text.get(at..range.end).unwrap_or(""), to);
}

/// Text, with what cannot be seen told by its number.
pub(super) fn shown_text(text: &str, to: &mut Strokes) {
    for stretch in marks::stretches(text) {
        match stretch {
            Stretch::Plain(text) => to.put(Strokes::TEXT, text),
            Stretch::Hidden(char) => to.span("hidden-mark", &marks::name(char)),
        }
    }
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Keyword => "syntax-keyword",
        Class::Text => "syntax-string",
        Class::Number => "syntax-number",
        Class::Comment => "syntax-comment",
        Class::Attribute => "syntax-attribute",
        Class::Regexp => "syntax-regexp",
        Class::Function => "syntax-function",
        Class::Type => "syntax-type",
        Class::Constant => "syntax-constant",
        Class::Operator => "syntax-operator",
        Class::Tag => "syntax-tag",
        Class::Punctuation => "syntax-punctuation",
    }
}
