//! Which rows are mounted: those on the screen, and so many beyond it as the movement needs.

use std::ops::Range;

use super::{RowId, Viewport, within};

/// No row is expected to be less tall on average over a screen: bounds how many rows are mounted.
const MIN_ROW_PX: f64 = 4.0;
/// Time ahead for which rows are there in the direction of movement: some frames of a fling, since the compositor
/// has shown the position already when it is known here.
const LOOK_AHEAD_S: f64 = 0.04;
/// Rows there are at least beyond the screen while it moves, and at most behind it, in viewports.
const NEAR_VIEWPORTS: f64 = 0.25;
/// Rows are mounted in strides of so many viewports: most frames of a movement then change nothing in the page. Of longer
/// strides, 0.75, a twentieth less CPU is spent in all, but a frame of mounting takes long enough to miss its time thrice as
/// often.
const STRIDE_VIEWPORTS: f64 = 0.4;
/// Rows above and below the screen after a jump, in viewports, until it is at rest: what passes by is not seen twice.
/// Where rows turn out to be less tall than they were expected, those below close the gap.
const JUMP_VIEWPORTS: (f64, f64) = (0.1, 0.35);
/// A movement that shows another screen in each frame of this length is a jump.
const FRAME_S: f64 = 1.0 / 60.0;

/// Rows to mount.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Their ranks (`aria-posinset` is one more).
    pub ranks: Range<usize>,
    /// Their ids, in order.
    pub ids: Vec<RowId>,
    /// Where the top edge of the first one belongs, in the sizer.
    pub top_px: f64,
    /// Height of the whole list; the sizer's is `scroll_height_px`.
    pub total_px: f64,
}

impl Viewport {
    /// Overscan at rest on either side, in viewports.
    pub fn set_overscan(&mut self, viewports: f64) {
        self.overscan_viewports = within(viewports, 0.0, 4.0);
    }

    /// Rows to mount now.
    #[must_use]
    pub fn window(&self) -> Window {
        let total_px = self.heights.total_px();
        let list_px = self.list_top_px();
        let ranks = self.ranks_within(self.overscan_px());
        let ids: Vec<RowId> = match self.heights.at_rank(ranks.start) {
            Some(first) => self
                .heights
                .iter_from(first)
                .take(ranks.len())
                .map(|(id, _)| id)
                .collect(),
            None => Vec::new(),
        };
        let first_px = ids.first().and_then(|id| self.heights.top_of(*id));
        Window {
            ranks: ranks.start..ranks.start + ids.len(),
            top_px: self.dom_top_px + first_px.map_or(0.0, |first_px| first_px - list_px),
            ids,
            total_px,
        }
    }

    /// Whether these rows will do for now: they reach as far beyond the screen as the movement needs, and not much
    /// further than [`Viewport::window`] does. Then there is nothing to mount in this frame.
    #[must_use]
    pub fn will_do(&self, mounted: &Range<usize>) -> bool {
        let (above_px, below_px) = self.overscan_px();
        let (near_above_px, near_below_px) = self.near_px();
        let near = self.ranks_within((near_above_px.min(above_px), near_below_px.min(below_px)));
        let stride_px = (STRIDE_VIEWPORTS + NEAR_VIEWPORTS) * self.height_px;
        let far = self.ranks_within((above_px + stride_px, below_px + stride_px));
        mounted.start <= near.start
            && near.end <= mounted.end
            && far.start <= mounted.start
            && mounted.end <= far.end
    }

    /// Ranks of the rows on the screen.
    #[must_use]
    pub fn on_screen(&self) -> Range<usize> {
        self.ranks_within((0.0, 0.0))
    }

    /// Ranks of the rows on the screen and so far above and below it; bounded in pixels, and in rows where many have no
    /// height.
    fn ranks_within(&self, (above_px, below_px): (f64, f64)) -> Range<usize> {
        let list_px = self.list_top_px();
        let (Some((top_id, _)), Some((bottom_id, _))) = (
            self.heights.at_offset(list_px),
            self.heights.at_offset(list_px + self.height_px),
        ) else {
            return 0..0;
        };
        let rank = |id| self.heights.rank_of(id).unwrap_or(0);
        let (top_rank, bottom_rank) = (rank(top_id), rank(bottom_id));
        let reach = |offset_px: f64| {
            self.heights
                .at_offset(offset_px)
                .map_or(0, |(id, _)| rank(id))
        };
        let first_rank = reach(list_px - above_px).max(top_rank.saturating_sub(max_rows(above_px)));
        let last_rank = bottom_rank.min(top_rank + max_rows(self.height_px));
        let last_rank = reach(list_px + self.height_px + below_px)
            .min(last_rank + max_rows(below_px))
            .max(top_rank);
        first_rank..last_rank + 1
    }

    pub(super) fn learn_velocity(&mut self, delta_px: f64, now_ms: f64) {
        let elapsed_ms = self
            .last_scroll_ms
            .map_or(f64::INFINITY, |last_ms| now_ms - last_ms);
        let now_px_per_s = if elapsed_ms > 0.0 && elapsed_ms < 200.0 {
            delta_px / elapsed_ms * 1000.0
        } else {
            0.0
        };
        self.velocity_px_per_s = (self.velocity_px_per_s + now_px_per_s) / 2.0;
        self.jumped = delta_px.abs() > self.height_px
            || self.velocity_px_per_s.abs() * FRAME_S > self.height_px;
        self.last_scroll_ms = Some(now_ms);
    }

    /// Overscan above and below.
    fn overscan_px(&self) -> (f64, f64) {
        let rest_px = self.overscan_viewports * self.height_px;
        if self.jumped {
            let (above, below) = JUMP_VIEWPORTS;
            return (
                (above * self.height_px).min(rest_px),
                (below * self.height_px).min(rest_px),
            );
        }
        let behind_px = (NEAR_VIEWPORTS * self.height_px).min(rest_px);
        let ahead_px = (self.ahead_px() + STRIDE_VIEWPORTS * self.height_px).max(rest_px);
        self.directed(rest_px, ahead_px, behind_px)
    }

    /// How far rows are needed above and below the screen; nearer to it, some must be mounted.
    fn near_px(&self) -> (f64, f64) {
        if self.jumped {
            return (0.0, 0.0);
        }
        let rest_px = self.overscan_viewports * self.height_px / 2.0;
        self.directed(rest_px, self.ahead_px(), 0.0)
    }

    /// How far the movement will have come when the next rows are there.
    fn ahead_px(&self) -> f64 {
        (self.velocity_px_per_s.abs() * LOOK_AHEAD_S)
            .clamp(NEAR_VIEWPORTS * self.height_px, self.height_px.max(0.0))
    }

    /// What is above and below, of what is ahead and behind.
    fn directed(&self, rest_px: f64, ahead_px: f64, behind_px: f64) -> (f64, f64) {
        if self.velocity_px_per_s > 0.0 {
            (behind_px, ahead_px)
        } else if self.velocity_px_per_s < 0.0 {
            (ahead_px, behind_px)
        } else {
            (rest_px, rest_px)
        }
    }
}

/// The most rows mounted for a height.
pub(super) fn max_rows(height_px: f64) -> usize {
    (height_px / MIN_ROW_PX) as usize + 2
}
