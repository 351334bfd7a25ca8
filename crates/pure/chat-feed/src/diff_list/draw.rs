//! What the page draws of a chunk: elements and texts as one buffer, for one call. Numbers and signs are attributes,
//! which no selection copies; every character of a line is text.

use std::collections::BTreeMap;
use std::ops::Range;

use chat_diff::{Change, LineKind, PatchFile, PatchHunk, SplitRow};

use super::{DiffList, HunkColours, Item, Side};
use crate::marks::{self, Stretch};
use crate::syntax::{Class, Span};

/// A line's text is cut behind so many bytes: nobody reads on, and layout would take seconds.
const LINE_BYTES: usize = 4_000;
/// What stands behind a hunk's place is cut behind so many bytes: it only says where one is.
const SECTION_BYTES: usize = 200;

/// Codes and the words they take, in order. A code is its kind and, from bit 8, how many UTF-16 units of the words are
/// its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strokes {
    /// What to do: see [`Strokes::CLOSE`] and the others.
    pub codes: Vec<u32>,
    /// The words of all codes.
    pub words: String,
}

impl Strokes {
    /// Back to the element around.
    pub const CLOSE: u32 = 0;
    /// A text node.
    pub const TEXT: u32 = 1;
    /// A `div` of this class; what follows is in it.
    pub const DIV: u32 = 2;
    /// A `span` of this class.
    pub const SPAN: u32 = 3;
    /// The numbers in front of the line.
    pub const NUMBERS: u32 = 4;
    /// The number in front of the line where there is room for one.
    pub const NUMBER: u32 = 5;
    /// A button of this class.
    pub const BUTTON: u32 = 6;
    /// The file that a button shows.
    pub const FILE: u32 = 7;
    /// What of the file a button shows.
    pub const WIDEN: u32 = 8;
    /// What stands beside it says the same to who listens.
    pub const UNSAID: u32 = 9;

    fn put(&mut self, kind: u32, words: &str) {
        let units = words.encode_utf16().count();
        self.codes
            .push(kind | u32::try_from(units).unwrap_or(0) << 8);
        if units > 0 {
            self.words.push_str(words);
        }
    }

    fn close(&mut self) {
        self.codes.push(Self::CLOSE);
    }

    fn span(&mut self, class: &str, text: &str) {
        self.put(Self::SPAN, class);
        self.put(Self::TEXT, text);
        self.close();
    }
}

pub(super) fn chunk(
    list: &DiffList,
    chunk: usize,
    colours: &BTreeMap<(u32, u32), HunkColours>,
) -> Strokes {
    let mut to = Strokes::default();
    let mut places = BTreeMap::new();
    for item in &list.items[list.chunk(chunk)] {
        match *item {
            Item::File(file) => {
                if let Some(patch_file) = list.patch.files.get(file as usize) {
                    head_of_file(list, patch_file, &mut to);
                }
            }
            Item::Hunk(file, hunk_idx) => {
                if let Some(hunk) = list.hunk(file, hunk_idx) {
                    to.put(Strokes::DIV, "diff__hunk");
                    widening(list, Some(hunk_idx), &mut to);
                    shown_text(&hunk_head(hunk), &mut to);
                    to.close();
                }
            }
            Item::End(_) => {
                to.put(Strokes::DIV, "diff__hunk");
                widening(list, None, &mut to);
                to.close();
            }
            Item::Folded(file) => {
                if let Some(patch_file) = list.patch.files.get(file as usize) {
                    let fold = list.folds.get(file as usize).copied().flatten();
                    to.put(Strokes::DIV, "diff__note");
                    to.put(Strokes::BUTTON, "link diff__show");
                    to.put(Strokes::FILE, &file.to_string());
                    to.put(Strokes::TEXT, &list.folded(patch_file, fold));
                    to.close();
                    to.close();
                }
            }
            Item::Note(file) => {
                if let Some(patch_file) = list.patch.files.get(file as usize) {
                    to.put(Strokes::DIV, "diff__note");
                    to.put(Strokes::TEXT, &list.note(patch_file));
                    to.close();
                }
            }
            Item::Mode(file) => {
                let patch_file = list.patch.files.get(file as usize);
                if let Some(mode) = patch_file.and_then(super::mode_of) {
                    to.put(Strokes::DIV, "diff__note");
                    to.put(Strokes::TEXT, &mode);
                    to.close();
                }
            }
            Item::Line(file, hunk, row, side) => {
                let Some(patch_hunk) = list.hunk(file, hunk) else {
                    continue;
                };
                let places = places.entry((file, hunk)).or_insert_with(|| {
                    colours
                        .get(&(file, hunk))
                        .map(|colours| Coloured::new(patch_hunk, colours))
                });
                let line = LineOf {
                    list,
                    hunk: patch_hunk,
                    coloured: places.as_ref(),
                };
                line.draw(file, (hunk, row), side, &mut to);
            }
        }
    }
    to
}

/// The buttons that show more of the file.
fn widening(list: &DiffList, hunk: Option<u32>, to: &mut Strokes) {
    for (what, words) in list.buttons(hunk) {
        to.put(Strokes::BUTTON, "link diff__widen");
        to.put(Strokes::WIDEN, &what.name());
        to.put(Strokes::TEXT, &words);
        to.close();
    }
}

fn head_of_file(list: &DiffList, file: &PatchFile, to: &mut Strokes) {
    to.put(Strokes::DIV, "diff__file");
    let path = list.path_of(file);
    let name = match &file.old_path {
        Some(old_path) if old_path != path => {
            format!("{old_path} → {path}")
        }
        _ => path.to_owned(),
    };
    to.put(Strokes::SPAN, "diff__path");
    shown_text(&name, to);
    to.close();
    let badge = match file.change {
        Change::Created if super::is_copy(file) => "copied",
        Change::Created => "new",
        Change::Deleted => "deleted",
        Change::Renamed => "renamed",
        Change::Modified => "",
    };
    let mode = super::mode_of(file);
    for badge in [badge, mode.as_deref().unwrap_or_default()] {
        if !badge.is_empty() {
            to.span("subtle", badge);
        }
    }
    if !file.hunks.is_empty() {
        to.span("plus", &format!("+{}", file.lines_added()));
        to.span("minus", &format!("−{}", file.lines_removed()));
    }
    to.close();
}

fn hunk_head(hunk: &PatchHunk) -> String {
    let cut = hunk.section.floor_char_boundary(SECTION_BYTES);
    let (section, rest) = hunk.section.split_at(cut);
    let more = if rest.is_empty() { "" } else { "…" };
    if !hunk.placed {
        return match section {
            "" => "…".to_owned(),
            section => format!("{section}{more}"),
        };
    }
    let place = format!(
        "@@ -{},{} +{},{} @@ {section}{more}",
        hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
    );
    place.trim_end().to_owned()
}

/// Colours of a hunk, and where its lines are in the texts that were coloured.
struct Coloured<'a> {
    colours: &'a HunkColours,
    /// By line of the hunk: its line in the old text, in the new text.
    places: Vec<(u32, u32)>,
}

impl<'a> Coloured<'a> {
    fn new(hunk: &PatchHunk, colours: &'a HunkColours) -> Self {
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

    fn spans(&self, at: u32, old: bool) -> &[Span] {
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

fn line_class(changed: bool, old: bool) -> &'static str {
    match (changed, old) {
        (false, _) => "diff__line",
        (true, true) => "diff__line diff__line--removed",
        (true, false) => "diff__line diff__line--added",
    }
}

/// A line as it is drawn.
struct Line {
    /// Its index in the hunk.
    at: u32,
    old: bool,
    changed: bool,
    end: &'static str,
}

struct LineOf<'a> {
    list: &'a DiffList,
    hunk: &'a PatchHunk,
    coloured: Option<&'a Coloured<'a>>,
}

impl LineOf<'_> {
    fn draw(&self, file: u32, (hunk, row): (u32, u32), side: Side, to: &mut Strokes) {
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
        let both = format!("{:>width$} {:>width$}", number(old_no), number(new_no));
        let one = number(new_no.or(old_no));
        let tint = if old { &tints.0 } else { &tints.1 };
        to.put(Strokes::DIV, line_class(changed, old));
        self.line(&line(at, old), &[both, one], tint, to);
    }

    /// Fills the element of a line, and closes it.
    fn line(&self, line: &Line, numbers: &[String], tint: &[Range<usize>], to: &mut Strokes) {
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
    fn end(&self, row: SplitRow, at: u32) -> &'static str {
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

    fn text(&self, at: u32) -> &str {
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

    fn number(&self, at: u32, old: bool) -> Option<u32> {
        let line = self.hunk.lines.get(at as usize)?;
        if old { line.old_no } else { line.new_no }
    }
}

fn number(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// A line's text: tints around colours around texts. Ranges that do not fit the text are left out.
fn coloured(text: &str, spans: &[Span], tint: &[Range<usize>], to: &mut Strokes) {
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

fn colours(text: &str, range: Range<usize>, spans: &[Span], to: &mut Strokes) {
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
fn shown_text(text: &str, to: &mut Strokes) {
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
