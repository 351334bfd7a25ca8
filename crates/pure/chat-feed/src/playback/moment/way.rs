//! The way from one moment to another: which rows it concerns, however far it is.

use std::ops::Range;

use super::cut::Cut;
use super::{At, texts_of};
use crate::block::{BlockBody, BlockId, EventIdx, TextIdx};
use crate::feed::{Feed, NO_ROW};
use crate::history::History;

/// From one moment to another.
pub(super) struct Way<'f> {
    pub(super) live: &'f Feed,
    pub(super) history: &'f History,
    pub(super) from: At,
    pub(super) to: At,
    pub(super) events: Range<EventIdx>,
}

impl Way<'_> {
    pub(super) fn is_there(&self, id: BlockId) -> bool {
        let is_typed = || match self.to.cut_of(&self.live.slots[id.0 as usize].block) {
            Some(cut) => self.start_of(id) < cut.end,
            None => true,
        };
        self.history.is_there(id, self.to.asked()) && is_typed()
    }

    /// Where a row begins within its text.
    fn start_of(&self, id: BlockId) -> usize {
        match &self.live.slots[id.0 as usize].block.body {
            BlockBody::Text(text) => text.start,
            _ => 0,
        }
    }

    /// The rows of a text that came whole which are other ones where it ends there than where it ends here.
    fn rows_between(&self, cut: Cut, other: Option<Cut>) -> Range<u32> {
        let rows = self.history.rows_come(cut.event..cut.event + 1);
        let is_of_it = |row: u32| texts_of(self.live.block(BlockId(row))).any(|it| it == cut.text);
        // A row that says that the prompt is missing may stand before them.
        let first = rows.clone().find(|&row| is_of_it(row)).unwrap_or(rows.end);
        let nth_at = |end: usize| {
            let (mut low, mut high) = (first, rows.end);
            while low < high {
                let middle = low + (high - low) / 2;
                match is_of_it(middle) && self.start_of(BlockId(middle)) < end {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            low
        };
        let ends = [Some(cut.end), other.map(|other| other.end)];
        let least = ends.into_iter().flatten().min().unwrap_or(0);
        let from = nth_at(least).saturating_sub(1).max(first);
        let to = other.map_or(rows.end, |other| nth_at(cut.end.max(other.end)));
        from..to
    }

    /// Every row that came, went or changed on the way, once.
    pub(super) fn rows_concerned(&self) -> Vec<BlockId> {
        let came = self.history.rows_come(self.events.clone());
        // Most of what happened on a long way happened to rows that came on it.
        let others = |row: &BlockId| !came.contains(&row.0);
        let mut before: Vec<BlockId> = Vec::new();
        let changed = self.history.rows_changed(self.events.clone());
        before.extend(changed.filter(others));
        let end = self.live.rows_of_events.len().min(self.events.end as usize);
        let touched = self
            .live
            .rows_of_events
            .get(self.events.start as usize..end);
        let touched = touched.unwrap_or_default().iter();
        let touched = touched.filter(|&&row| row != NO_ROW && !came.contains(&row));
        let mut last = NO_ROW;
        for &row in touched {
            // A text that grows comes to the same row many times in a row.
            if row != last {
                before.push(BlockId(row));
            }
            last = row;
        }
        for (cut, other) in [(self.from.cut, self.to.cut), (self.to.cut, self.from.cut)] {
            let Some(cut) = cut else { continue };
            let other = other.filter(|other| other.text == cut.text);
            let between = self.rows_between(cut, other).map(BlockId);
            before.extend(between.filter(others));
        }
        let mut concerned = once(before, self.live.slots.len());
        concerned.extend(came.map(BlockId));
        concerned
    }

    pub(super) fn is_rewritten(&self, text: TextIdx) -> bool {
        let since = self.from.n_events.min(self.to.n_events);
        !self.live.texts[text.0 as usize].only_grew_since(since)
    }
}

/// Each of the rows once.
fn once(mut rows: Vec<BlockId>, n_rows_ever: usize) -> Vec<BlockId> {
    // Few are sorted faster than all are marked.
    if rows.len() < n_rows_ever / 32 {
        rows.sort_unstable();
        rows.dedup();
        return rows;
    }
    let mut known = vec![false; n_rows_ever];
    rows.retain(|row| !std::mem::replace(&mut known[row.0 as usize], true));
    rows
}
