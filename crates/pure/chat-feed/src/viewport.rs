//! Every decision of the virtualised list, with no screen: which rows are mounted, where they stand, and what
//! `scrollTop` must be so that what the reader looks at stays where it is.
//!
//! - [`Viewport`] holds the reader's place as an anchor — a row and where its top edge is on the screen — so that
//!   rows coming, going and growing elsewhere cannot move it; and whether the reader follows the end.
//! - [`HeightIndex`] answers every question about heights and sums in O(log n).
//! - [`Estimator`] guesses the height of rows never measured and learns from those that were.
//!
//! A frame of the page:
//!
//! 1. changes of the feed → [`Viewport::insert_after`], [`Viewport::extend_back`], [`Viewport::remove`],
//!    [`Viewport::set_estimate`]; what the reader did → [`Viewport::on_scroll`] and the others;
//! 2. unless what is mounted [will do](Viewport::will_do): [`Viewport::window`] → mount and unmount rows;
//! 3. read the heights of mounted rows → [`Viewport::set_measured`];
//! 4. [`Viewport::after_measure`]; write [`Viewport::scroll_height_px`] to the sizer, [`Viewport::block_top_px`] of
//!    the first mounted row to the block of mounted rows, and then the scroll position, if there is one. Where
//!    the measurements call for other rows, the next frame's window has them.
//!
//! The page sets `overflow-anchor: none`: two correctors would fight.
//!
//! | following | by | then |
//! |---|---|---|
//! | yes | the user scrolls up, `stop_following`, `scroll_to`, `on_home` | no |
//! | no | the user scrolls down to within 64 px of the end, `follow_end` | yes |
//! | either | any change of layout | the same |

mod estimator;
mod heights;
mod scroll_space;

pub use estimator::{Estimator, FontMetrics, RowKind, RowShape};
pub use heights::HeightIndex;
pub use scroll_space::MAX_SCROLL_PX;

use scroll_space::ScrollSpace;
pub(crate) use scroll_space::within;
use std::ops::Range;

/// The name of a row: opaque, dense from 0, never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub u32);

/// Within this distance the reader counts as being at the end.
pub const NEAR_END_PX: f64 = 64.0;
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
/// The most rows looked at for one that was measured.
const ANCHOR_ROWS: usize = 64;
/// A scroll event that reports less than this, and is not the user's, is the browser's rounding.
const ECHO_PX: f64 = 1.0;

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

/// Where `scroll_to` puts a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Its top at the viewport's top.
    Start,
    /// Its middle in the viewport's middle; its top at the top where it is taller.
    Center,
    /// Its bottom at the viewport's bottom.
    End,
    /// No further than needed to show it whole; its top where it is taller.
    Nearest,
}

/// A row and where its top edge is, below the viewport's top edge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// The row.
    pub id: RowId,
    /// Its top edge; negative above the viewport.
    pub top_px: f64,
}

/// Where the reader is in the list; see the module for how a frame goes.
#[derive(Clone, Debug)]
pub struct Viewport {
    heights: HeightIndex,
    width_px: f64,
    height_px: f64,
    device_pixel_ratio: f64,
    overscan_viewports: f64,
    following: bool,
    /// `None`: the list's top, until the reader or a row says otherwise.
    anchor: Option<Anchor>,
    /// It stands in for a row that is not measured yet.
    stands_in: bool,
    /// Where a row was asked to be, until it is measured.
    goal: Option<(RowId, Align)>,
    /// The scroll position the browser has, as far as is known here.
    dom_top_px: f64,
    /// The width has changed, and the anchor was not measured since.
    reflowing: bool,
    velocity_px_per_s: f64,
    /// What is shown has nothing to do with what was shown before, and is not at rest yet.
    jumped: bool,
    last_scroll_ms: Option<f64>,
    /// The last row seen since following stopped.
    seen: Option<RowId>,
}

impl Default for Viewport {
    fn default() -> Self {
        Viewport::new()
    }
}

impl Viewport {
    /// An empty list that follows its end; one viewport of overscan on either side.
    #[must_use]
    pub fn new() -> Viewport {
        Viewport {
            heights: HeightIndex::new(),
            width_px: 0.0,
            height_px: 0.0,
            device_pixel_ratio: 1.0,
            overscan_viewports: 1.0,
            following: true,
            anchor: None,
            stands_in: false,
            goal: None,
            dom_top_px: 0.0,
            reflowing: false,
            velocity_px_per_s: 0.0,
            jumped: false,
            last_scroll_ms: None,
            seen: None,
        }
    }

    // Rows.

    /// The heights of all rows.
    #[must_use]
    pub fn heights(&self) -> &HeightIndex {
        &self.heights
    }

    /// Puts a row after another one, or first of all; see [`HeightIndex::insert_after`].
    pub fn insert_after(&mut self, after: Option<RowId>, id: RowId, estimate_px: f64) -> bool {
        self.heights.insert_after(after, id, estimate_px)
    }

    /// Puts rows after the last one; see [`HeightIndex::extend_back`].
    pub fn extend_back(&mut self, rows: impl IntoIterator<Item = (RowId, f64)>) -> usize {
        self.heights.extend_back(rows)
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
        self.seen = None;
        self.following = true;
    }

    /// Says what the browser measured; see [`HeightIndex::set_measured`].
    ///
    /// Where another width reflows the row that reaches across the viewport's top edge, the reader keeps the same
    /// share of it above the edge.
    pub fn set_measured(&mut self, id: RowId, height_px: f64) -> f64 {
        let grown_px = self.heights.set_measured(id, height_px);
        if let Some(anchor) = self.anchor.as_mut().filter(|anchor| anchor.id == id) {
            let before_px = height_px - grown_px;
            if self.reflowing && anchor.top_px < 0.0 && before_px > 0.0 {
                anchor.top_px *= height_px / before_px;
            }
            self.reflowing = false;
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

    // The reader.

    /// The viewport has this size now. Another width makes every measured height an estimate.
    pub fn on_resize(&mut self, width_px: f64, height_px: f64, device_pixel_ratio: f64) {
        if self.width_px != width_px && width_px.is_finite() {
            self.width_px = width_px.max(0.0);
            self.heights.invalidate();
            self.reflowing = true;
        }
        if height_px.is_finite() {
            self.height_px = height_px.max(0.0);
        }
        if device_pixel_ratio.is_finite() && device_pixel_ratio > 0.0 {
            self.device_pixel_ratio = device_pixel_ratio;
        }
    }

    /// The browser reports a scroll position.
    ///
    /// `by_user` is whether the user acted (wheel, touch, key, pointer on the scrollbar) since shortly before:
    /// only then may it change following. A position that is not the user's and not the one last written (find in
    /// page, focus) moves the place; while following it is put back.
    pub fn on_scroll(&mut self, scroll_top_px: f64, now_ms: f64, by_user: bool) {
        if !scroll_top_px.is_finite() {
            return;
        }
        let space = self.space();
        let dom_px = within(scroll_top_px, 0.0, space.max_dom_px.max(0.0));
        let delta_px = dom_px - self.dom_top_px;
        // What a browser cannot show as a step is its rounding of what was written, whoever acts.
        let rounding_px = if by_user {
            0.5 / self.device_pixel_ratio
        } else {
            ECHO_PX
        };
        // At the end of a list that became shorter the browser has moved up, not the user.
        let kept_at_end = self.following && (!by_user || dom_px >= space.max_dom_px - ECHO_PX);
        if kept_at_end || delta_px.abs() < rounding_px {
            self.dom_top_px = dom_px;
            return;
        }
        self.learn_velocity(delta_px, now_ms);
        let list_px = space.moved(self.dom_top_px, self.list_top_px(), dom_px);
        self.dom_top_px = dom_px;
        let near_end = space.max_list_px - list_px <= NEAR_END_PX;
        if by_user && delta_px > 0.0 && near_end {
            self.following = true;
        } else if by_user && delta_px < 0.0 && self.following {
            self.stop_following();
        }
        self.goal = None;
        self.reflowing = false;
        self.anchor_at(list_px);
        self.mark_seen_rows(list_px);
    }

    /// The movement has ended: overscan goes back to its resting size.
    pub fn on_rest(&mut self) {
        self.velocity_px_per_s = 0.0;
        self.jumped = false;
        self.last_scroll_ms = None;
    }

    /// Home: to the list's top.
    pub fn on_home(&mut self) {
        self.stop_following();
        self.goal = None;
        self.anchor_at(0.0);
    }

    /// End, or the pill: to the end, and stay there.
    pub fn follow_end(&mut self) {
        self.following = true;
        self.goal = None;
    }

    /// Stops following where the reader is: text selected, find opened, focus moved up, a moment sought.
    pub fn stop_following(&mut self) {
        if self.following {
            let list_px = self.list_top_px();
            self.following = false;
            self.seen = self.heights.last();
            self.anchor_at(list_px);
        }
    }

    /// Whether it moves, so that `on_rest` is due once it does not.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.jumped || self.last_scroll_ms.is_some()
    }

    /// How fast it moves, in px a second; above 0 downwards.
    #[must_use]
    pub fn velocity_px_per_s(&self) -> f64 {
        self.velocity_px_per_s
    }

    /// Whether the list keeps to its end.
    #[must_use]
    pub fn following(&self) -> bool {
        self.following
    }

    /// Whether the end is within [`NEAR_END_PX`].
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.space().max_list_px - self.list_top_px() <= NEAR_END_PX
    }

    /// Shows a row and stops following. The row is put right again when it is first measured. Returns false for a
    /// row that is not there.
    pub fn scroll_to(&mut self, id: RowId, align: Align) -> bool {
        if !self.heights.contains(id) {
            return false;
        }
        let from_px = self.list_top_px();
        self.stop_following();
        self.goal = Some((id, align));
        self.aim();
        self.jumped |= (self.list_top_px() - from_px).abs() > self.height_px;
        true
    }

    /// Keeps this row's top edge where it is on the screen, until the reader scrolls: before a card under the
    /// pointer opens or closes. Returns false for a row that is not there.
    pub fn pin(&mut self, id: RowId) -> bool {
        let Some(top_px) = self.screen_top_px(id) else {
            return false;
        };
        if !self.following {
            self.goal = None;
            self.anchor = Some(Anchor { id, top_px });
        }
        true
    }

    /// Rows that came after the last one seen since following stopped.
    #[must_use]
    pub fn unseen(&self) -> usize {
        if self.following {
            return 0;
        }
        let n_seen = self
            .seen
            .and_then(|seen| self.heights.rank_of(seen))
            .map_or(0, |rank| rank + 1);
        self.heights.len() - n_seen
    }

    /// The first row that `unseen` counts.
    #[must_use]
    pub fn first_unseen(&self) -> Option<RowId> {
        if self.unseen() == 0 {
            return None;
        }
        match self.seen {
            Some(seen) => self.heights.next(seen),
            None => self.heights.first(),
        }
    }

    /// Counts every row there is as seen: after a recording was loaded, or the session changed.
    pub fn mark_all_seen(&mut self) {
        self.seen = self.heights.last();
    }

    // What the page draws.

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

    /// Where the top edge of a row belongs in the sizer: of the first mounted one, after measurements. (A new
    /// `window()` may begin with a row that is not mounted yet.)
    #[must_use]
    pub fn block_top_px(&self, first: RowId) -> Option<f64> {
        Some(self.dom_top_px + self.screen_top_px(first)?)
    }

    /// Height of the sizer, the element that gives the scrollbar its length.
    #[must_use]
    pub fn scroll_height_px(&self) -> f64 {
        self.space().element_px
    }

    /// Settles a frame after its measurements: the scroll position to write, if it must change. The sizer's height
    /// is to be written before it. The position counts as written.
    pub fn after_measure(&mut self) -> Option<f64> {
        self.aim();
        let space = self.space();
        let list_px = self.list_top_px();
        if !self.following {
            // Where the list became too short to stay, the place it fell to is the reader's place now.
            let stands = self
                .anchor_list_px()
                .is_some_and(|wanted_px| (wanted_px - list_px).abs() <= 1.0 / 64.0);
            if self.goal.is_none() && (!stands || self.stands_in || self.is_anchor_off_screen()) {
                self.anchor_at(list_px);
            }
            self.mark_seen_rows(list_px);
        }
        let dom_px = self.to_device(space.place(list_px)).min(space.max_dom_px);
        let stay = space.may_stay(self.dom_top_px, list_px);
        if stay || (dom_px - self.dom_top_px).abs() < 0.5 / self.device_pixel_ratio {
            return None;
        }
        self.dom_top_px = dom_px;
        Some(dom_px)
    }

    /// The scroll position the list stands at, as last reported or written.
    #[must_use]
    pub fn scroll_top_px(&self) -> f64 {
        self.dom_top_px
    }

    /// Where the viewport's top edge is in the whole list.
    #[must_use]
    pub fn list_top_px(&self) -> f64 {
        let max_px = (self.heights.total_px() - self.height_px).max(0.0);
        if self.following {
            return max_px;
        }
        within(self.anchor_list_px().unwrap_or(0.0), 0.0, max_px)
    }

    /// Where a row's top edge is, below the viewport's top edge.
    #[must_use]
    pub fn screen_top_px(&self, id: RowId) -> Option<f64> {
        Some(self.heights.top_of(id)? - self.list_top_px())
    }

    /// Where a scroll position, such as one under the pointer on a minimap, is in the whole list.
    #[must_use]
    pub fn list_px_at(&self, scroll_top_px: f64) -> f64 {
        let space = self.space();
        space.moved(
            self.dom_top_px,
            self.list_top_px(),
            within(scroll_top_px, 0.0, space.max_dom_px),
        )
    }

    /// The row that keeps its place, while not following.
    #[must_use]
    pub fn anchor(&self) -> Option<Anchor> {
        if self.following { None } else { self.anchor }
    }

    // Parts.

    fn space(&self) -> ScrollSpace {
        ScrollSpace::new(
            self.heights.total_px(),
            self.height_px,
            self.device_pixel_ratio,
        )
    }

    fn anchor_list_px(&self) -> Option<f64> {
        let anchor = self.anchor?;
        Some(self.heights.top_of(anchor.id)? - anchor.top_px)
    }

    /// Takes as the anchor the first row whose top edge is in the upper half of the viewport, since what is above
    /// that edge may change unseen; or else the row that reaches across it, whose growing end is below.
    ///
    /// Where that row was never measured, one further down is better that was: it was seen, and is to stay where it is
    /// when those above it turn out to be of another height. Not at the very top: who goes there wants its beginning.
    fn anchor_at(&mut self, list_px: f64) {
        self.stands_in = false;
        if list_px <= 0.0 {
            self.anchor = self.heights.first().map(|id| Anchor { id, top_px: 0.0 });
            return;
        }
        let Some((id, within_px)) = self.heights.at_offset(list_px) else {
            self.anchor = None;
            return;
        };
        let next_px = self.heights.height_of(id).unwrap_or(0.0) - within_px;
        let first = match self.heights.next(id) {
            Some(next) if within_px > 0.0 && next_px <= self.height_px / 2.0 => Anchor {
                id: next,
                top_px: next_px,
            },
            Some(_) | None => Anchor {
                id,
                top_px: -within_px,
            },
        };
        let seen = match self.heights.is_measured(first.id) {
            true => None,
            false => self.first_measured(first),
        };
        self.stands_in = seen.is_some();
        self.anchor = Some(seen.unwrap_or(first));
    }

    /// Whether measurements have put the anchor where it is not seen: there it may be taken out, or grow, unseen.
    fn is_anchor_off_screen(&self) -> bool {
        let Some(anchor) = self.anchor.filter(|_| !self.reflowing) else {
            return false;
        };
        let height_px = self.heights.height_of(anchor.id).unwrap_or(0.0);
        self.heights.is_measured(anchor.id)
            && (anchor.top_px + height_px <= 0.0 || anchor.top_px >= self.height_px)
    }

    /// The first measured row on the screen from this one on.
    fn first_measured(&self, from: Anchor) -> Option<Anchor> {
        let mut top_px = from.top_px;
        for (id, height_px) in self.heights.iter_from(from.id).take(ANCHOR_ROWS) {
            if top_px >= self.height_px {
                return None;
            }
            if self.heights.is_measured(id) {
                return Some(Anchor { id, top_px });
            }
            top_px += height_px;
        }
        None
    }

    /// Puts the row that was asked for where it was asked for, until it is measured.
    fn aim(&mut self) {
        let Some((id, align)) = self.goal else { return };
        let (Some(row_px), Some(now_px)) = (self.heights.height_of(id), self.screen_top_px(id))
        else {
            self.goal = None;
            return;
        };
        let spare_px = self.height_px - row_px;
        let top_px = match align {
            Align::Start => 0.0,
            Align::Center => (spare_px / 2.0).max(0.0),
            Align::End => spare_px,
            Align::Nearest => now_px.min(spare_px).max(0.0),
        };
        self.anchor = Some(Anchor { id, top_px });
        if self.heights.is_measured(id) {
            self.goal = None;
        }
    }

    fn mark_seen_rows(&mut self, list_px: f64) {
        if self.height_px < 1.0 {
            return;
        }
        let Some((bottom, _)) = self.heights.at_offset(list_px + self.height_px - 1.0) else {
            return;
        };
        let rank = |id| self.heights.rank_of(id);
        if self.seen.and_then(rank) < rank(bottom) {
            self.seen = Some(bottom);
        }
    }

    fn learn_velocity(&mut self, delta_px: f64, now_ms: f64) {
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

    /// To whole device pixels, as the browser would round what is written.
    fn to_device(&self, px: f64) -> f64 {
        (px * self.device_pixel_ratio).round() / self.device_pixel_ratio
    }
}

/// The most rows mounted for a height.
fn max_rows(height_px: f64) -> usize {
    (height_px / MIN_ROW_PX) as usize + 2
}
