//! Rows of known heights one below the other: which of them are on the screen.

use std::ops::Range;

/// Where each row begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// One more than there are rows: the last is where all ends.
    tops_px: Vec<u32>,
}

impl Stack {
    /// A stack of these heights.
    pub fn of(heights_px: impl IntoIterator<Item = u32>) -> Stack {
        let mut tops_px = vec![0_u32];
        let mut end_px = 0_u32;
        for height_px in heights_px {
            end_px = end_px.saturating_add(height_px);
            tops_px.push(end_px);
        }
        Stack { tops_px }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.tops_px.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How high all are.
    pub fn height_px(&self) -> u32 {
        self.tops_px.last().copied().unwrap_or(0)
    }

    /// Where a row begins.
    pub fn top_px(&self, at: usize) -> u32 {
        self.tops_px.get(at).copied().unwrap_or(self.height_px())
    }

    /// The rows that are seen between these edges.
    pub fn window(&self, from_px: u32, to_px: u32) -> Range<usize> {
        let first = self.tops_px.partition_point(|top| *top <= from_px);
        let end = self.tops_px.partition_point(|top| *top < to_px);
        let first = first.saturating_sub(1).min(self.len());
        first..end.clamp(first, self.len())
    }

    /// Where to scroll so that a row is seen whole, where it is not yet.
    pub fn reveal(&self, at: usize, scroll_px: u32, screen_px: u32) -> Option<u32> {
        let (top, end) = (self.top_px(at), self.top_px(at + 1));
        if top < scroll_px {
            Some(top)
        } else if end > scroll_px.saturating_add(screen_px) {
            Some(end.saturating_sub(screen_px))
        } else {
            None
        }
    }
}
