//! Where the browser's scrollbar stands for a place in a list that may be taller than any element can be.
//!
//! Up to `MAX_SCROLL_PX` the two are the same. Above, the element stays that tall and the surroundings of the
//! viewport keep scale 1: a small movement of the scrollbar (wheel, keys, touch) moves the list by as much, a
//! large one (the thumb) moves it in proportion to what is left on that side. Both ends are always reached, and
//! down is never up.
//!
//! This module is the arithmetic alone; [`Viewport`](super::Viewport) holds the state, a pair of places.

/// Above this height the scroll space is compressed. CodeMirror 6 compresses above 7 million, Firefox ignores
/// heights above 17.9 million, Chromium cuts at 33 554 428 device pixels.
const MAX_SCROLL_PX: f64 = 8_000_000.0;
/// The tallest element of Chromium, in device pixels.
const MAX_DEVICE_PX: f64 = 33_554_428.0;
/// A movement within so many viewports in one event is local. A thumb moves by at least one device pixel of the
/// track, which is more than this in a compressed space.
const LOCAL_VIEWPORTS: f64 = 3.0;
/// So many viewports of room must be left on a side that has as much or more to show.
const ROOM_VIEWPORTS: f64 = 8.0;
/// So many viewports of room are given when there was not enough: then the next write is far away.
const GIVEN_ROOM_VIEWPORTS: f64 = 32.0;
/// The thumb may be off by this share of the track before it is put right.
const MAX_SHARE_OFF: f64 = 1.0 / 32.0;

/// The number, or the bound it is beyond. [`f64::clamp`] would bring the printing of numbers along, for what it says of
/// bounds that cross.
pub(crate) fn within(number: f64, low: f64, high: f64) -> f64 {
    number.max(low).min(high)
}

/// The two spaces at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScrollSpace {
    /// Height of the element.
    pub(super) element_px: f64,
    /// The largest scroll position of the element.
    pub(super) max_dom_px: f64,
    /// The largest scroll position in the list.
    pub(super) max_list_px: f64,
    viewport_px: f64,
}

impl ScrollSpace {
    pub(super) fn new(total_px: f64, viewport_px: f64, device_pixel_ratio: f64) -> ScrollSpace {
        // A margin, so that rounding to device pixels never reaches the limit itself.
        let limit_px = (MAX_DEVICE_PX / device_pixel_ratio.max(1.0) * 0.99).min(MAX_SCROLL_PX);
        let element_px = total_px.min(limit_px.max(viewport_px * 4.0));
        ScrollSpace {
            element_px,
            max_dom_px: (element_px - viewport_px).max(0.0),
            max_list_px: (total_px - viewport_px).max(0.0),
            viewport_px,
        }
    }

    pub(super) fn compressed(&self) -> bool {
        self.max_list_px > self.max_dom_px
    }

    /// Where the list is after the scrollbar went from `dom_px`, which showed `list_px`, to `new_dom_px`.
    pub(super) fn moved(&self, dom_px: f64, list_px: f64, new_dom_px: f64) -> f64 {
        let delta_px = new_dom_px - dom_px;
        let new_list_px = if !self.compressed() {
            // A browser that rounds positions must still reach the very ends.
            let near = list_px + delta_px;
            if new_dom_px <= 0.0 && near < 1.0 {
                0.0
            } else if new_dom_px >= self.max_dom_px - 0.5 && near > self.max_list_px - 1.5 {
                self.max_list_px
            } else {
                near
            }
        } else if new_dom_px <= 0.0 {
            0.0
        } else if new_dom_px >= self.max_dom_px - 0.5 {
            self.max_list_px
        } else if delta_px.abs() <= LOCAL_VIEWPORTS * self.viewport_px {
            list_px + delta_px
        } else if delta_px > 0.0 {
            list_px + delta_px * (self.max_list_px - list_px) / (self.max_dom_px - dom_px).max(1.0)
        } else {
            list_px + delta_px * list_px / dom_px.max(1.0)
        };
        within(new_list_px, 0.0, self.max_list_px)
    }

    /// Where the scrollbar belongs for a place in the list.
    pub(super) fn place(&self, list_px: f64) -> f64 {
        let list_px = within(list_px, 0.0, self.max_list_px);
        if !self.compressed() {
            return list_px;
        }
        let room_px = self.room_px(GIVEN_ROOM_VIEWPORTS);
        let (low, high) = self.bounds(list_px, room_px);
        within(self.in_proportion(list_px), low, high)
    }

    /// Whether the scrollbar may stay at `dom_px` while the list is at `list_px`.
    pub(super) fn may_stay(&self, dom_px: f64, list_px: f64) -> bool {
        if !self.compressed() {
            // What is off by less is rounding, and the rows are placed by where the scrollbar really is.
            return (dom_px - list_px).abs() <= 1.0;
        }
        let (low, high) = self.bounds(list_px, self.room_px(ROOM_VIEWPORTS));
        let off_px = (dom_px - self.place(list_px)).abs();
        dom_px >= low - 1.0 && dom_px <= high + 1.0 && off_px <= self.max_dom_px * MAX_SHARE_OFF
    }

    fn in_proportion(&self, list_px: f64) -> f64 {
        if self.max_list_px > 0.0 {
            list_px / self.max_list_px * self.max_dom_px
        } else {
            0.0
        }
    }

    fn room_px(&self, n_viewports: f64) -> f64 {
        (n_viewports * self.viewport_px).min(self.max_dom_px / 4.0)
    }

    /// The lowest and highest place of the scrollbar: on each side as much room as there is to show, up to
    /// `room_px`, and never more room than there is to show.
    fn bounds(&self, list_px: f64, room_px: f64) -> (f64, f64) {
        let below_px = self.max_list_px - list_px;
        let low = list_px.min(room_px).max(self.max_dom_px - below_px);
        let high = (self.max_dom_px - below_px.min(room_px)).min(list_px);
        (low.min(high), high)
    }
}

#[cfg(test)]
mod tests {
    use super::ScrollSpace;
    use proptest::prelude::*;

    fn space() -> impl Strategy<Value = ScrollSpace> {
        (0.0..4e9f64, 1.0..3000.0f64, 0.25..6.0f64).prop_map(
            |(total_px, viewport_px, device_pixel_ratio)| {
                ScrollSpace::new(total_px, viewport_px, device_pixel_ratio)
            },
        )
    }

    #[test]
    fn a_list_that_fits_is_not_compressed() {
        let space = ScrollSpace::new(7_999_999.0, 900.0, 1.0);
        assert!(!space.compressed());
        assert_eq!(space.place(123_456.5), 123_456.5);
        assert_eq!(space.moved(100.0, 100.0, 5_000_000.0), 5_000_000.0);
    }

    #[test]
    fn a_thumb_far_from_its_share_is_put_right() {
        let space = ScrollSpace::new(170e6, 900.0, 1.0);
        let dom_px = space.place(85e6);
        assert!(space.may_stay(dom_px + 100_000.0, 85e6));
        assert!(!space.may_stay(dom_px + 400_000.0, 85e6));
    }

    #[test]
    fn no_element_is_taller_than_the_browser_allows() {
        for device_pixel_ratio in [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0] {
            let element_px = ScrollSpace::new(170e6, 900.0, device_pixel_ratio).element_px;
            assert!(element_px <= 8e6 && element_px * device_pixel_ratio < 33_554_428.0);
        }
    }

    proptest! {
        #[test]
        fn both_ends_are_reached_from_anywhere(space in space(), share in 0.0..=1.0f64) {
            let list_px = space.max_list_px * share;
            let dom_px = space.place(list_px);
            prop_assert!(space.moved(dom_px, list_px, 0.0) == 0.0);
            prop_assert_eq!(space.moved(dom_px, list_px, space.max_dom_px), space.max_list_px);
            prop_assert_eq!(space.place(0.0), 0.0);
            prop_assert!((space.place(space.max_list_px) - space.max_dom_px).abs() < 1e-3);
        }

        #[test]
        fn down_is_never_up(space in space(), share in 0.0..=1.0f64, mut stops in prop::collection::vec(0.0..=1.0f64, 2..40)) {
            let list_px = space.max_list_px * share;
            let dom_px = space.place(list_px);
            stops.sort_by(f64::total_cmp);
            let places: Vec<f64> = stops.iter().map(|stop| space.moved(dom_px, list_px, stop * space.max_dom_px)).collect();
            prop_assert!(places.windows(2).all(|pair| pair[0] <= pair[1] + 1e-3));
            let bars: Vec<f64> = stops.iter().map(|stop| space.place(stop * space.max_list_px)).collect();
            prop_assert!(bars.windows(2).all(|pair| pair[0] <= pair[1] + 1e-3));
        }

        #[test]
        fn a_place_given_may_stay_and_a_small_move_is_itself(space in space(), share in 0.0..=1.0f64, step in -2.9..2.9f64) {
            let list_px = space.max_list_px * share;
            let dom_px = space.place(list_px);
            prop_assert!(space.may_stay(dom_px, list_px));
            let step_px = step * space.viewport_px;
            let new_dom_px = dom_px + step_px;
            prop_assume!(new_dom_px > 1.0 && new_dom_px < space.max_dom_px - 2.0);
            let new_list_px = space.moved(dom_px, list_px, new_dom_px);
            prop_assert!((new_list_px - list_px - step_px).abs() < 1e-3, "{} for {}", new_list_px - list_px, step_px);
            let back_px = space.moved(new_dom_px, new_list_px, dom_px);
            prop_assert!((back_px - list_px).abs() < 1.0 || dom_px < 1.0 || dom_px > space.max_dom_px - 1.0);
        }
    }
}
