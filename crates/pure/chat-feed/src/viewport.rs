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
//! 1. changes of the feed → [`Viewport::insert_after`], [`Viewport::remove`],
//!    [`Viewport::set_estimate`]; what the reader did → [`Viewport::on_scroll`] and the others;
//! 2. unless what is mounted [will do](Viewport::will_do): [`Viewport::window`] → mount and unmount rows;
//! 3. read the heights of mounted rows → [`Viewport::set_measured`];
//! 4. [`Viewport::after_measure`]; write [`Viewport::scroll_height_px`] to the sizer, the [`Placement`] that has the
//!    first mounted row at [`Viewport::block_top_px`] to the block of mounted rows, and then the scroll position, if
//!    there is one. Where the measurements call for other rows, the next frame's window has them.
//!
//! The page sets `overflow-anchor: none`: two correctors would fight.
//!
//! | following | by | then |
//! |---|---|---|
//! | yes | the user scrolls up, `stop_following`, `scroll_to`, `on_home`, a pinned row that would go up as it opens | no |
//! | no | the user scrolls down to within 64 px of the end, `follow_end` | yes |
//! | either | any change of layout | the same |
//!
//! While [held](Viewport::hold) it stays where it is; whether it follows does not change by that.

mod anchor;
mod estimator;
mod heights;
mod placement;
mod reader;
mod rows;
mod scroll_space;
mod window;

pub use anchor::{Align, Anchor};
pub use estimator::{Estimator, FontMetrics, RowKind, RowShape};
pub use heights::HeightIndex;
pub use placement::Placement;
pub use window::Window;

use anchor::Opened;
use scroll_space::ScrollSpace;
pub(crate) use scroll_space::within;

/// The name of a row: opaque, dense from 0, never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub u32);

/// Where the reader is in the list; see the module for how a frame goes.
#[derive(Clone, Debug)]
pub struct Viewport {
    heights: HeightIndex,
    width_px: f64,
    height_px: f64,
    device_pixel_ratio: f64,
    overscan_viewports: f64,
    following: bool,
    /// While set nothing moves by itself, also not to the end that is followed.
    held: bool,
    /// `None`: the list's top, until the reader or a row says otherwise.
    anchor: Option<Anchor>,
    /// It stands in for a row that is not measured yet.
    stands_in: bool,
    /// Where a row was asked to be, until it is measured.
    goal: Option<(RowId, Align)>,
    /// The row that was opened while the end is followed.
    opened: Option<Opened>,
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
            held: false,
            anchor: None,
            stands_in: false,
            goal: None,
            opened: None,
            dom_top_px: 0.0,
            reflowing: false,
            velocity_px_per_s: 0.0,
            jumped: false,
            last_scroll_ms: None,
            seen: None,
        }
    }

    // What the page draws.

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
        self.settle_opened();
        let space = self.space();
        let list_px = self.list_top_px();
        if !self.keeps_to_end() {
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
        if self.keeps_to_end() {
            return self.opened_px(max_px).unwrap_or(max_px);
        }
        within(self.anchor_list_px().unwrap_or(0.0), 0.0, max_px)
    }

    /// Where a row's top edge is, below the viewport's top edge.
    #[must_use]
    pub fn screen_top_px(&self, id: RowId) -> Option<f64> {
        Some(self.heights.top_of(id)? - self.list_top_px())
    }

    // Parts.

    fn keeps_to_end(&self) -> bool {
        self.following && !self.held
    }

    fn space(&self) -> ScrollSpace {
        ScrollSpace::new(
            self.heights.total_px(),
            self.height_px,
            self.device_pixel_ratio,
        )
    }

    /// To whole device pixels, as the browser would round what is written.
    fn to_device(&self, px: f64) -> f64 {
        (px * self.device_pixel_ratio).round() / self.device_pixel_ratio
    }
}
