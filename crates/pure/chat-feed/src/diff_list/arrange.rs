//! Which things the list shows, and in which order.

use chat_diff::{PatchHunk, Space, SplitRow};

use super::files::mode_of;
use super::{DiffList, Item, Side};

impl DiffList {
    pub(super) fn arrange(&mut self) {
        self.items.clear();
        self.rows.clear();
        let named = self.patch.files.len() > 1;
        for (file_idx, file) in (0_u32..).zip(&self.patch.files) {
            if named {
                self.items.push(Item::File(file_idx));
            }
            let fold = self.folds.get(file_idx as usize).copied().flatten();
            let mut rows = Vec::new();
            if !named && !file.hunks.is_empty() && mode_of(file).is_some() {
                self.items.push(Item::Mode(file_idx));
            }
            let n_before = self.items.len();
            for (hunk_idx, hunk) in (0_u32..).zip(&file.hunks) {
                if fold.is_some() {
                    break;
                }
                let of_hunk = hunk.split_rows(&self.text, self.shown.space);
                if self.is_shown(&of_hunk) {
                    self.items.push(Item::Hunk(file_idx, hunk_idx));
                    let place = |row, side| Item::Line(file_idx, hunk_idx, row, side);
                    arrange_rows(&of_hunk, self.shown.split, place, &mut self.items);
                }
                rows.push(of_hunk);
            }
            self.rows.push(rows);
            if fold.is_some() {
                self.items.push(Item::Folded(file_idx));
            } else if self.items.len() == n_before {
                self.items.push(Item::Note(file_idx));
            } else if self.has_end() {
                self.items.push(Item::End(file_idx));
            }
        }
    }

    /// Whether a hunk has lines to show, of which these are the rows: where white space alone differs there is nothing to be
    /// seen.
    pub(super) fn is_shown(&self, rows: &[SplitRow]) -> bool {
        self.shown.space == Space::Counts || rows.iter().any(|row| row.changed)
    }

    /// The same of a hunk that may be folded away.
    pub(super) fn has_changes(&self, hunk: &PatchHunk) -> bool {
        self.shown.space == Space::Counts
            || self.is_shown(&hunk.split_rows(&self.text, self.shown.space))
    }
}

/// Unified, the old lines of a run stand above its new ones.
fn arrange_rows(
    rows: &[SplitRow],
    split: bool,
    place: impl Fn(u32, Side) -> Item,
    items: &mut Vec<Item>,
) {
    if split {
        let n_rows = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        items.extend((0..n_rows).map(|row| place(row, Side::Both)));
        return;
    }
    let mut row_idx = 0;
    for run in rows.chunk_by(|a, b| a.changed && b.changed) {
        let run = (row_idx..).zip(run);
        if run.clone().all(|(_, row)| !row.changed) {
            items.extend(run.clone().map(|(at, _)| place(at, Side::Both)));
        } else {
            let old = run.clone().filter(|(_, row)| row.old.is_some());
            items.extend(old.map(|(at, _)| place(at, Side::Old)));
            let new = run.clone().filter(|(_, row)| row.new.is_some());
            items.extend(new.map(|(at, _)| place(at, Side::New)));
        }
        row_idx += u32::try_from(run.count()).unwrap_or(u32::MAX);
    }
}
