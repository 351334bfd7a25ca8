//! Where the block of mounted rows stands in the list: so far below its own top edge, and that edge so far below the
//! list's. The space above the rows takes up what comes and goes there, so that the rows that stay do not move within
//! the block: what was laid out and painted of them holds.

use chat_feed::viewport::RowId;

use super::VirtualList;
use crate::platform::dom;

/// The most space above the rows. A layer so high and a window of rows is drawn in tiles as any other.
const MOST_ABOVE_PX: f64 = 32_768.0;
/// The space above rows that come where none of those before stayed: so far up it goes before all are moved once.
const FIRST_ABOVE_PX: f64 = 8_192.0;
/// The browser lays out in such parts of a px.
const PARTS_PER_PX: f64 = 64.0;

/// Where the rows were put last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placement {
    /// Space above the first row within the block, in px.
    pub(super) above_px: f64,
    /// Top edge of the block within the list, in px.
    pub(super) block_px: f64,
}

impl Placement {
    /// The placement for a first row at `top_px` in the list. `moved_px` says how far it lies below the row that was the
    /// first before, above where negative; `None` where that one is gone.
    pub(super) fn of(before: Option<Placement>, moved_px: Option<f64>, top_px: f64) -> Placement {
        let kept = before
            .zip(moved_px)
            .map(|(before, moved_px)| before.above_px + moved_px);
        let above_px = kept
            .filter(|above_px| (0.0..=MOST_ABOVE_PX).contains(above_px))
            .unwrap_or(FIRST_ABOVE_PX);
        // As the browser would round it: two sums of the same heights differ in their last digits.
        let above_px = (above_px * PARTS_PER_PX).round() / PARTS_PER_PX;
        let block_px = top_px - above_px;
        let block_px = match before {
            Some(before) if (before.block_px - block_px).abs() < 1.0 / PARTS_PER_PX => {
                before.block_px
            }
            _ => block_px,
        };
        Placement { above_px, block_px }
    }
}

impl VirtualList {
    /// Puts the block of mounted rows where the heights known so far say.
    pub(super) fn place(&self) -> Option<(RowId, Placement)> {
        let first = self.mounted.borrow().first()?.id;
        let placement = {
            let viewport = self.viewport.borrow();
            let heights = viewport.heights();
            let first_px = heights.top_of(first)?;
            let settled = self.settled.get();
            let moved_px =
                settled.and_then(|(was_first, _)| Some(first_px - heights.top_of(was_first)?));
            let top_px = viewport.scroll_top_px() + viewport.screen_top_px(first)?;
            Placement::of(settled.map(|(_, placement)| placement), moved_px, top_px)
        };
        let written = self.placed.replace(Some(placement));
        if written.map(|written| written.above_px) != Some(placement.above_px) {
            dom::set_style(
                &self.window,
                "padding-block-start",
                &exact_px(placement.above_px),
            );
        }
        if written.map(|written| written.block_px) != Some(placement.block_px) {
            let shift = format!("translateY({})", dom::px(placement.block_px));
            dom::set_style(&self.window, "transform", &shift);
        }
        Some((first, placement))
    }

    /// The same once all heights are known: what comes next is placed by this.
    pub(super) fn place_settled(&self) {
        if let Some(placed) = self.place() {
            self.settled.set(Some(placed));
        }
    }
}

/// A length in whole parts of a px, with all its digits.
fn exact_px(length_px: f64) -> String {
    // At most `MOST_ABOVE_PX`.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let parts = (length_px * PARTS_PER_PX) as u32;
    let millionths = parts % 64 * 15_625;
    format!("{}.{millionths:06}px", parts / 64)
}
