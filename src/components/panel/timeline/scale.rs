//! Where on the chart a time lies, and which stretch of the session it shows.

use chat_feed::panel::{Bar, Timeline};

/// Browsers lay out unreliably beyond this width.
pub(super) const WIDEST_PX: f64 = 4_000_000.0;

/// Bars narrower than this could not be pointed at.
pub(super) const NARROWEST_PX: f64 = 3.0;

/// What of the chart is in view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// How many times wider the chart is than what is seen of it.
    pub(super) zoom: f64,
    pub(super) left_px: f64,
    pub(super) width_px: f64,
}

impl Default for Window {
    fn default() -> Self {
        // The panel's width without its padding, until the chart tells its own.
        Window {
            zoom: 1.0,
            left_px: 0.0,
            width_px: 288.0,
        }
    }
}

impl Window {
    pub(super) fn chart_px(self) -> f64 {
        (self.width_px * self.zoom).min(WIDEST_PX)
    }
}

/// Times of the session on the chart.
#[derive(Clone, Copy)]
pub(super) struct Scale<'t> {
    pub(super) line: &'t Timeline,
    pub(super) window: Window,
    px_per_ms: f64,
}

impl Scale<'_> {
    // Milliseconds of a session are exact in a double.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn new(line: &Timeline, window: Window) -> Scale<'_> {
        Scale {
            line,
            window,
            px_per_ms: window.chart_px() / line.length_ms().max(1) as f64,
        }
    }

    #[allow(clippy::cast_precision_loss)]
    pub(super) fn x_px(&self, at_ms: i64) -> f64 {
        self.line.place_ms(at_ms) as f64 * self.px_per_ms
    }

    /// From where to where a stretch is drawn; `None` where that is out of view.
    pub(super) fn stretch_px(&self, start_ms: i64, end_ms: i64) -> Option<(f64, f64)> {
        let (from, to) = (self.x_px(start_ms), self.x_px(end_ms));
        let (left, right) = (
            self.window.left_px,
            self.window.left_px + self.window.width_px,
        );
        (to >= left - self.window.width_px && from <= right + self.window.width_px)
            .then_some((from, to))
    }

    pub(super) fn is_seen(&self, bar: &Bar) -> bool {
        let (left, right) = (
            self.window.left_px,
            self.window.left_px + self.window.width_px,
        );
        self.x_px(bar.end_ms) >= left && self.x_px(bar.start_ms) <= right
    }
}
