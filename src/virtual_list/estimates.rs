//! Heights that nobody has measured: they are guessed, and guessed anew where the list has another width or the rows that
//! were measured taught better.

use chat_feed::viewport::RowId;

use super::VirtualList;
use crate::platform::measure as sizes;

/// Rows whose estimates are made a frame: of those that come, and anew after the width changed.
const RESTATED_A_FRAME: usize = 1_000;

impl VirtualList {
    pub(super) fn estimate_px(&self, id: RowId) -> f64 {
        self.estimator
            .borrow()
            .estimate_px(self.rows.shape(id), self.width_px.get())
    }

    /// How high a new row is expected. Where very many come at once, as when all that was hidden is shown, their texts are not
    /// read before the next frame: they are as high as others, until `restate` comes to them.
    pub(super) fn first_estimate_px(&self, id: RowId) -> f64 {
        let n_new = self.n_new.get() + 1;
        self.n_new.set(n_new);
        if n_new <= RESTATED_A_FRAME {
            return self.estimate_px(id);
        }
        let viewport = self.viewport.borrow();
        let heights = viewport.heights();
        // Rows are counted in 32 bits.
        #[allow(clippy::cast_precision_loss)]
        let n_rows = heights.len().max(1) as f64;
        heights.total_px() / n_rows
    }

    /// Another density or font: every height is due.
    pub(crate) fn invalidate(&self) {
        self.viewport.borrow_mut().invalidate();
        (self.request_frame)();
    }

    /// Measures mounted rows that are not yet, before the browser reports them; the page is laid out for it. Then `settle`.
    pub(super) fn measure(&self) {
        if self.hidden.get() {
            return;
        }
        let is_due = |id| !self.viewport.borrow().heights().is_measured(id);
        let mounted = self.mounted.borrow();
        let due = mounted.iter().filter(|row| is_due(row.id));
        let heights: Vec<_> = due
            .map(|row| (row.id, sizes::height(&row.element)))
            .collect();
        drop(mounted);
        for (id, height_px) in heights {
            self.measured(id, height_px);
        }
    }

    /// A row of the list was measured. Called for all of a frame, then `settle`.
    pub(super) fn measured(&self, id: RowId, height_px: f64) {
        {
            let viewport = self.viewport.borrow();
            let heights = viewport.heights();
            if heights.is_measured(id) && heights.height_of(id) == Some(height_px) {
                return;
            }
        }
        let shape = self.rows.shape(id);
        let mut viewport = self.viewport.borrow_mut();
        viewport.set_measured(id, height_px);
        self.estimator
            .borrow_mut()
            .observe(shape, self.width_px.get(), height_px);
    }

    /// Estimates rows anew, a stretch a frame, after the width changed, the oracle learned, or more came than it was asked for.
    ///
    /// Not while it moves: the texts of all rows are read for it, and what is seen does not depend on it.
    pub(super) fn restate(&self) {
        if self.n_new.take() > RESTATED_A_FRAME {
            self.viewport.borrow_mut().invalidate_estimates();
        }
        if self.viewport.borrow().is_moving() {
            return;
        }
        if self.estimator.borrow_mut().take_revised() {
            self.viewport.borrow_mut().invalidate_estimates();
        }
        let done = self
            .viewport
            .borrow_mut()
            .restate(RESTATED_A_FRAME, |id, _| self.estimate_px(id));
        if !done {
            (self.request_frame)();
        }
    }

    /// The scroller has another size. It is taken before the heights that its rows have by it: of the row across the upper
    /// edge the same share stays above.
    pub(super) fn resized(&self) {
        self.size_told.set(false);
        if self.width_px.get() > 0.0 {
            self.learn_size();
        }
        (self.request_frame)();
    }

    pub(super) fn learn_size(&self) {
        if self.size_told.replace(true) {
            return self.viewport.borrow_mut().reflowed();
        }
        self.rows.before_size();
        let (width_px, height_px) = sizes::client_size(&self.scroller);
        self.height_px.set(height_px);
        let is_reflow = self.width_px.replace(width_px) != width_px;
        self.viewport
            .borrow_mut()
            .on_resize(width_px, height_px, sizes::device_pixel_ratio());
        if is_reflow && let Some(observer) = &*self.observer.borrow() {
            // Every height is due now, also of rows that are as tall as before and would not be reported.
            for row in self.mounted.borrow().iter() {
                observer.unwatch(row.id, &row.element);
                observer.watch(row.id, &row.element);
            }
        }
    }
}
