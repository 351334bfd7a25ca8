//! What a row measures, and what it is expected to: said for one row, or due for all of them in a new layout.

use super::units::{MEASURED, to_px, to_units, units};
use super::{HeightIndex, RowId};

/// How far re-estimating has come in the leaves' arena.
#[derive(Clone, Debug)]
pub(super) struct Restate {
    next_leaf: usize,
    found_in_lap: bool,
    settled: bool,
}

impl Restate {
    /// From the first leaf on; `settled` where there is nothing to estimate.
    pub(super) fn begin(settled: bool) -> Restate {
        Restate {
            next_leaf: 0,
            found_in_lap: false,
            settled,
        }
    }
}

impl HeightIndex {
    /// Says what the browser measured. Returns by how much the row grew; 0 for a row that is not there.
    pub fn set_measured(&mut self, id: RowId, height_px: f64) -> f64 {
        self.set_height(id, to_units(height_px) | MEASURED)
    }

    /// Says what the row is expected to measure, forgetting what it measured. Returns by how much it grew.
    pub fn set_estimate(&mut self, id: RowId, height_px: f64) -> f64 {
        self.set_height(id, to_units(height_px))
    }

    /// A new layout: every measured height becomes an estimate, and every estimate is due for `restate`.
    /// Touches no row.
    pub fn invalidate(&mut self) {
        self.measured_in = self.measured_in.wrapping_add(1);
        self.invalidate_estimates();
    }

    /// The oracle knows better now: every estimate is due for `restate`. Measured heights stay.
    pub fn invalidate_estimates(&mut self) {
        self.estimated_in = self.estimated_in.wrapping_add(1);
        self.restate = Restate::begin(self.is_empty());
    }

    /// Estimates rows anew that were last estimated before an `invalidate`: about `max_rows` of them (at least
    /// 64), in no order. The function gets the row and the height it counts with now. Returns whether all is
    /// done.
    pub fn restate(
        &mut self,
        max_rows: usize,
        mut estimate_px: impl FnMut(RowId, f64) -> f64,
    ) -> bool {
        let mut n_rows = 0;
        while !self.restate.settled && n_rows < max_rows.max(1) {
            if self.restate.next_leaf >= self.tree.leaves.len() {
                // Merged leaves may carry old estimates to where the walk has been: walk until nothing is found.
                self.restate.settled = !self.restate.found_in_lap;
                self.restate.next_leaf = 0;
                self.restate.found_in_lap = false;
                continue;
            }
            let leaf = self.restate.next_leaf as u32;
            self.restate.next_leaf += 1;
            let here = &self.tree.leaves[leaf as usize];
            if here.estimated_in == self.estimated_in || here.len == 0 {
                continue;
            }
            self.restate.found_in_lap = true;
            self.freshen(leaf);
            let here = &mut self.tree.leaves[leaf as usize];
            here.estimated_in = self.estimated_in;
            let mut grown = 0;
            for slot in 0..here.len as usize {
                let old = here.heights[slot];
                n_rows += 1;
                if old & MEASURED == 0 {
                    let new = to_units(estimate_px(RowId(here.ids[slot]), to_px(i64::from(old))));
                    here.heights[slot] = new;
                    grown += i64::from(new) - i64::from(old);
                }
            }
            self.tree.add(leaf, 0, grown);
        }
        self.restate.settled
    }

    fn set_height(&mut self, id: RowId, height: u32) -> f64 {
        let Some((leaf, slot)) = self.find(id) else {
            return 0.0;
        };
        self.freshen(leaf);
        let held = &mut self.tree.leaves[leaf as usize].heights[slot];
        let grown = i64::from(units(height)) - i64::from(units(*held));
        *held = height;
        if grown != 0 {
            self.tree.add(leaf, 0, grown);
        }
        to_px(grown)
    }

    /// Brings a leaf into the present layout: what it measured before is an estimate now.
    pub(super) fn freshen(&mut self, leaf: u32) {
        let here = &mut self.tree.leaves[leaf as usize];
        if here.measured_in != self.measured_in {
            here.measured_in = self.measured_in;
            for height in &mut here.heights[..here.len as usize] {
                *height = units(*height);
            }
        }
    }
}
