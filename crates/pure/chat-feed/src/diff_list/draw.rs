//! What the page draws of a chunk: elements and texts as one buffer, for one call. Numbers and signs are attributes,
//! which no selection copies; every character of a line is text.
//!
//! Lines are drawn in `line` and coloured in `colours`; `strokes` is the buffer.

mod colours;
mod line;
mod strokes;

use std::borrow::Cow;
use std::collections::BTreeMap;

use chat_diff::{Change, PatchFile, PatchHunk};

use super::{DiffList, HunkColours, Item};
use colours::{Coloured, shown_text};
use line::LineOf;
pub use strokes::Strokes;

/// What stands behind a hunk's place is cut behind so many bytes: it only says where one is.
const SECTION_BYTES: usize = 200;

/// The name of a file is cut behind so many bytes: no system has longer ones, and layout would take seconds.
const PATH_BYTES: usize = 4_096;

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
    let shown = |path| beginning(path, PATH_BYTES);
    let name = match &file.old_path {
        Some(old_path) if old_path != path => [&*shown(old_path), " → ", &shown(path)].concat(),
        _ => shown(path).into_owned(),
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
    let section = beginning(&hunk.section, SECTION_BYTES);
    if !hunk.placed {
        return match &*section {
            "" => "…".to_owned(),
            section => section.to_owned(),
        };
    }
    let place = format!(
        "@@ -{},{} +{},{} @@ {section}",
        hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
    );
    place.trim_end().to_owned()
}

/// A text, cut behind so many bytes.
fn beginning(text: &str, most_bytes: usize) -> Cow<'_, str> {
    match text.floor_char_boundary(most_bytes) {
        end if end < text.len() => Cow::Owned([&text[..end], "…"].concat()),
        _ => Cow::Borrowed(text),
    }
}
