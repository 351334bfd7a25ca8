//! How high the chunks of an open diff are, guessed or measured, and so what stands where.

use std::ops::Range;

use chat_feed::diff_list::Item;
use chat_feed::units;

use super::{CHAR_PX, MOST_PX, SIDE_PX, SPLIT_PX, Window};
use crate::platform::dom;
use crate::platform::measure;

/// Drawn above and below what is seen, in px: what one turn of a wheel shows.
const MARGIN_PX: f64 = 500.0;

/// Of a longer diff only the beginning is put into the page where all of it is asked for: about 4,000 lines.
const WHOLE_CHUNKS: usize = 128;

impl Window {
    /// The item at the top edge.
    pub(super) fn first_item(&self) -> usize {
        let top_px = self.top_px.get();
        let (mut item_px, mut chunk_idx) = (0.0, 0);
        let heights = self.heights.borrow();
        while let Some(height_px) = heights.get(chunk_idx)
            && item_px + height_px <= top_px
        {
            item_px += height_px;
            chunk_idx += 1;
        }
        let list = self.list.borrow();
        let columns = self.columns();
        let chunk = list.chunk(chunk_idx);
        for item in chunk.clone() {
            item_px += list.height_px(item, columns);
            if item_px > top_px {
                return item;
            }
        }
        chunk.end.saturating_sub(1)
    }

    /// How many characters a line has room for, as far as can be guessed.
    pub(super) fn columns(&self) -> usize {
        let width_px = match self.width_px.get() {
            0.0 => SPLIT_PX,
            width_px => width_px,
        };
        let width_px = if self.shown().split {
            width_px / 2.0
        } else {
            width_px
        };
        // Rounded down; a width is some thousands of px.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let columns = ((width_px - SIDE_PX) / CHAR_PX).max(1.0) as usize;
        columns
    }

    /// Where an item begins.
    pub(super) fn top_of(&self, item: usize) -> f64 {
        let list = self.list.borrow();
        let (chunk, columns) = (item / chat_feed::diff_list::CHUNK_ITEMS, self.columns());
        let above: f64 = self.heights.borrow().iter().take(chunk).sum();
        let within = list.chunk(chunk).take_while(|before| *before < item);
        above
            + within
                .map(|before| list.height_px(before, columns))
                .sum::<f64>()
    }

    /// Reads the heights of chunks that were drawn; what is looked at stays where it is.
    pub(super) fn measure(&self, chunks: &[usize], top_px: f64) {
        let (mut shift_px, mut above_px, mut next) = (0.0, 0.0, 0);
        for &chunk in chunks {
            let Some(element) = self.drawn.borrow().get(&chunk).cloned() else {
                continue;
            };
            let height_px = measure::height(&element);
            let mut heights = self.heights.borrow_mut();
            // Between new ones there may be others, which were measured before.
            above_px += heights
                .get(next..=chunk)
                .map_or(0.0, |until| until.iter().sum::<f64>());
            next = chunk + 1;
            if let Some(known_px) = heights.get_mut(chunk)
                && height_px > 0.0
            {
                if above_px <= top_px {
                    shift_px += height_px - *known_px;
                }
                *known_px = height_px;
            }
        }
        if f64::abs(shift_px) >= 1.0 {
            self.write_spaces(&self.drawn_range());
            self.scroll_to(top_px + shift_px);
        }
    }

    /// The chunks that are in the page.
    pub(super) fn drawn_range(&self) -> Range<usize> {
        let drawn = self.drawn.borrow();
        let first = drawn.keys().next().copied().unwrap_or(0);
        first..drawn.keys().next_back().map_or(first, |last| last + 1)
    }

    /// Makes the spaces above and below as high as what is not drawn.
    pub(super) fn write_spaces(&self, drawn: &Range<usize>) {
        let heights = self.heights.borrow();
        let above_px: f64 = heights.iter().take(drawn.start).sum();
        let below_px: f64 = heights.iter().skip(drawn.end).sum();
        if self.spaces_px.replace((above_px, below_px)) != (above_px, below_px) {
            dom::set_style(&self.above, "block-size", &format!("{above_px}px"));
            dom::set_style(&self.below, "block-size", &format!("{below_px}px"));
        }
    }

    /// Has paper say how many lines it lacks: it has no room for what is not drawn.
    pub(super) fn say_rest(&self) {
        let list = self.list.borrow();
        let rest = match self.choices.0.whole.get() {
            true => list.items().get(list.chunk(self.drawn_range().end).start..),
            false => None,
        };
        let lines = rest.unwrap_or_default().iter();
        match lines.filter(|item| matches!(item, Item::Line(..))).count() {
            0 => dom::remove_attribute(&self.below, "data-more"),
            n_lines => {
                let more = units::count(n_lines as u64, "more line", "more lines");
                dom::write_attribute(&self.below, "data-more", &more);
            }
        }
    }

    /// The chunks that are to be in the page.
    pub(super) fn chunks_around(&self, top_px: f64) -> Range<usize> {
        let heights = self.heights.borrow();
        if self.choices.0.whole.get() {
            return 0..heights.len().min(WHOLE_CHUNKS);
        }
        let (from_px, to_px) = (top_px - MARGIN_PX, top_px + MOST_PX + MARGIN_PX);
        let (mut bottom_px, mut range) = (0.0, heights.len()..heights.len());
        for (chunk, height_px) in heights.iter().enumerate() {
            let chunk_px = bottom_px;
            bottom_px += height_px;
            if bottom_px >= from_px {
                range.start = range.start.min(chunk);
            }
            if chunk_px > to_px {
                range.end = chunk;
                break;
            }
        }
        range
    }

    /// Whether some of a chunk is in sight.
    pub(super) fn is_on_screen(&self, chunk: usize, top_px: f64) -> bool {
        let heights = self.heights.borrow();
        let chunk_px: f64 = heights.iter().take(chunk).sum();
        let end_px = chunk_px + heights.get(chunk).copied().unwrap_or(0.0);
        end_px > top_px && chunk_px < top_px + MOST_PX
    }
}
