//! The rows of the list: how they come and go, and what they measure, without moving what the reader looks at.

use super::anchor::Anchor;
use super::{HeightIndex, RowId, Viewport};

impl Viewport {
    /// The heights of all rows.
    #[must_use]
    pub fn heights(&self) -> &HeightIndex {
        &self.heights
    }

    /// Puts a row after another one, or first of all; see [`HeightIndex::insert_after`].
    pub fn insert_after(&mut self, after: Option<RowId>, id: RowId, estimate_px: f64) -> bool {
        // What comes at the end takes all up that stands there.
        if after == self.heights.last() && self.opened.is_some_and(|opened| !opened.is_due()) {
            self.opened = None;
        }
        self.heights.insert_after(after, id, estimate_px)
    }

    /// Takes a row out. What the reader sees of the rows around it stays: the next row keeps its place on the
    /// screen, or the one before where there is no next.
    pub fn remove(&mut self, id: RowId) -> bool {
        let (next, prev) = (self.heights.next(id), self.heights.prev(id));
        let Some(height_px) = self.heights.remove(id) else {
            return false;
        };
        if self.seen == Some(id) {
            self.seen = prev;
        }
        if self.goal.is_some_and(|(goal, _)| goal == id) {
            self.goal = None;
        }
        if self.opened.is_some_and(|opened| opened.id() == id) {
            self.opened = None;
        }
        if let Some(anchor) = self.anchor.filter(|anchor| anchor.id == id) {
            let prev_px = prev
                .and_then(|prev| self.heights.height_of(prev))
                .unwrap_or(0.0);
            self.anchor = match (next, prev) {
                (Some(next), _) => Some(Anchor {
                    id: next,
                    top_px: anchor.top_px + height_px,
                }),
                (None, Some(prev)) => Some(Anchor {
                    id: prev,
                    top_px: anchor.top_px - prev_px,
                }),
                (None, None) => None,
            };
        }
        true
    }

    /// Takes all rows out and follows the end again.
    pub fn clear(&mut self) {
        self.heights.clear();
        self.anchor = None;
        self.goal = None;
        self.opened = None;
        self.seen = None;
        self.following = true;
        self.held = false;
    }

    /// Says what the browser measured; see [`HeightIndex::set_measured`].
    ///
    /// Where another width reflows the row that reaches across the viewport's top edge, the reader keeps the same
    /// share of it above the edge, until [`Viewport::reflowed`].
    pub fn set_measured(&mut self, id: RowId, height_px: f64) -> f64 {
        let grown_px = self.heights.set_measured(id, height_px);
        if let Some(anchor) = self.anchor.as_mut().filter(|anchor| anchor.id == id) {
            let before_px = height_px - grown_px;
            if self.reflowing && anchor.top_px < 0.0 && before_px > 0.0 {
                anchor.top_px *= height_px / before_px;
            }
        }
        grown_px
    }

    /// Says what a row is expected to measure; see [`HeightIndex::set_estimate`].
    pub fn set_estimate(&mut self, id: RowId, height_px: f64) -> f64 {
        self.heights.set_estimate(id, height_px)
    }

    /// Estimates stale rows anew, some a frame; see [`HeightIndex::restate`].
    pub fn restate(&mut self, max_rows: usize, estimate_px: impl FnMut(RowId, f64) -> f64) -> bool {
        self.heights.restate(max_rows, estimate_px)
    }

    /// Every estimate is due for `restate`, since the oracle knows better now.
    pub fn invalidate_estimates(&mut self) {
        self.heights.invalidate_estimates();
    }

    /// The fonts or the density changed: every height is due, as after another width.
    pub fn invalidate(&mut self) {
        self.heights.invalidate();
    }
}
