//! What the reader does: scrolling, following the end, and which rows were seen.

use super::{Viewport, within};

/// Within this distance the reader counts as being at the end.
const NEAR_END_PX: f64 = 64.0;
/// A scroll event that reports less than this, and is not the user's, is the browser's rounding.
const ECHO_PX: f64 = 1.0;

impl Viewport {
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

    /// The rows on the screen have the heights that another width gave them: a row that grows from now on has more to show.
    /// A browser may measure a row more than once for one width, as styles for that width come in.
    pub fn reflowed(&mut self) {
        self.reflowing = false;
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
        let kept_at_end = self.keeps_to_end() && (!by_user || dom_px >= space.max_dom_px - ECHO_PX);
        if kept_at_end || delta_px.abs() < rounding_px {
            self.dom_top_px = dom_px;
            return;
        }
        self.opened = None;
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
        self.held = false;
        self.goal = None;
        self.opened = None;
    }

    /// Stops following where the reader is: text selected, find opened, focus moved up, a moment sought.
    pub fn stop_following(&mut self) {
        if self.following {
            let list_px = self.list_top_px();
            self.opened = None;
            self.following = false;
            self.seen = self.heights.last();
            self.anchor_at(list_px);
        }
    }

    /// The reader's hand is on a row, which is to stay under it: until it is off again nothing moves by itself.
    pub fn hold(&mut self, held: bool) {
        if held && self.keeps_to_end() {
            self.anchor_at(self.list_top_px());
        }
        self.held = held;
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

    /// Whether the end is within `NEAR_END_PX`.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.space().max_list_px - self.list_top_px() <= NEAR_END_PX
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

    pub(super) fn mark_seen_rows(&mut self, list_px: f64) {
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
}
