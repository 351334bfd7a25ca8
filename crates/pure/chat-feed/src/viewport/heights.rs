//! The height of every row and every sum of heights, in O(log n).
//!
//! A row is measured (the browser said so, in this layout) or estimated. Heights are whole 1/64 px — the unit
//! browsers lay out in — and sums are integers, so that no sequence of edits drifts from a plain sum.
//!
//! A new layout (another width, another font) touches no row: [`HeightIndex::invalidate`] counts up a layout
//! number, each leaf remembers the one it was measured in, and heights of older layouts go on counting as
//! estimates. [`HeightIndex::restate`] then lets the owner estimate anew, a bounded number of rows a frame.
//! (A factor over all old heights was the other choice: it would be at once, but wrong for every row that does
//! not wrap, and its sums would round.)
//!
//! Memory: 8 bytes a row in full leaves of 64, 4 for the id, 0.7 for the tree.
//! Not here: where the reader is ([`Viewport`](super::Viewport)), how a height is guessed
//! ([`Estimator`](super::Estimator)).

mod tree;

use tree::{LEAF_ROWS, NONE, Tree, reserve_some};

use super::RowId;

/// Heights are kept in 1/64 px.
const UNITS_PER_PX: f64 = 64.0;
/// The flag of a measured height; 31 bits remain, 33.5 million px a row, the tallest element of any browser.
const MEASURED: u32 = 1 << 31;

/// Rows in order, each with its height; see the module.
///
/// Ids are expected to be dense: memory follows the largest id ever inserted.
#[derive(Clone, Debug)]
pub struct HeightIndex {
    tree: Tree,
    /// The leaf of each id.
    leaf_of: Vec<u32>,
    /// Counts up when measured heights become worthless.
    measured_in: u32,
    /// Counts up when estimates become worthless.
    estimated_in: u32,
    restate: Restate,
}

/// How far re-estimating has come in the leaves' arena.
#[derive(Clone, Debug)]
struct Restate {
    next_leaf: usize,
    found_in_lap: bool,
    settled: bool,
}

impl Default for HeightIndex {
    fn default() -> Self {
        HeightIndex::new()
    }
}

impl HeightIndex {
    /// No rows.
    #[must_use]
    pub fn new() -> HeightIndex {
        HeightIndex {
            tree: Tree::new(),
            leaf_of: Vec::new(),
            measured_in: 0,
            estimated_in: 0,
            restate: Restate {
                next_leaf: 0,
                found_in_lap: false,
                settled: true,
            },
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tree.totals().0
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Height of all rows.
    #[must_use]
    pub fn total_px(&self) -> f64 {
        to_px(self.tree.totals().1)
    }

    /// Whether the row is there.
    #[must_use]
    pub fn contains(&self, id: RowId) -> bool {
        self.leaf(id).is_some()
    }

    /// Height of a row, measured or estimated.
    #[must_use]
    pub fn height_of(&self, id: RowId) -> Option<f64> {
        let (leaf, slot) = self.find(id)?;
        Some(to_px(i64::from(units(
            self.tree.leaves[leaf as usize].heights[slot],
        ))))
    }

    /// Whether the row's height was measured in the present layout.
    #[must_use]
    pub fn is_measured(&self, id: RowId) -> bool {
        self.find(id).is_some_and(|(leaf, slot)| {
            let leaf = &self.tree.leaves[leaf as usize];
            leaf.measured_in == self.measured_in && leaf.heights[slot] & MEASURED != 0
        })
    }

    /// Height of all rows before this one.
    #[must_use]
    pub fn top_of(&self, id: RowId) -> Option<f64> {
        let (leaf, slot) = self.find(id)?;
        Some(to_px(
            self.tree.before(leaf).1 + self.units_before(leaf, slot),
        ))
    }

    /// Number of rows before this one.
    #[must_use]
    pub fn rank_of(&self, id: RowId) -> Option<usize> {
        let (leaf, slot) = self.find(id)?;
        Some(self.tree.before(leaf).0 + slot)
    }

    /// The row with so many rows before it.
    #[must_use]
    pub fn at_rank(&self, rank: usize) -> Option<RowId> {
        let (leaf, slot) = self.tree.leaf_at_rank(rank)?;
        Some(RowId(self.tree.leaves[leaf as usize].ids[slot]))
    }

    /// The row over a height, and how far below its top that is.
    ///
    /// A row reaches from its top up to, not including, its bottom; a row without height is never met. Before
    /// the first row this is the first row at 0, at and beyond the end the last row at its height. `None` only
    /// without rows.
    #[must_use]
    pub fn at_offset(&self, offset_px: f64) -> Option<(RowId, f64)> {
        let wanted = if offset_px > 0.0 {
            (offset_px * UNITS_PER_PX).floor().min(9e15) as i64
        } else {
            0
        };
        let fraction_px = if offset_px > 0.0 {
            (offset_px - to_px(wanted)).max(0.0)
        } else {
            0.0
        };
        match self.tree.leaf_at_units(wanted) {
            Some((leaf, rest)) => {
                let leaf = &self.tree.leaves[leaf as usize];
                let mut rest = rest;
                for slot in 0..leaf.len as usize {
                    let height = i64::from(units(leaf.heights[slot]));
                    if rest < height {
                        return Some((RowId(leaf.ids[slot]), to_px(rest) + fraction_px));
                    }
                    rest -= height;
                }
                None
            }
            None => {
                let last = self.last()?;
                Some((last, self.height_of(last)?))
            }
        }
    }

    /// The first row.
    #[must_use]
    pub fn first(&self) -> Option<RowId> {
        let leaf = self.tree.edge(false)?;
        Some(RowId(self.tree.leaves[leaf as usize].ids[0]))
    }

    /// The last row.
    #[must_use]
    pub fn last(&self) -> Option<RowId> {
        let leaf = &self.tree.leaves[self.tree.edge(true)? as usize];
        Some(RowId(leaf.ids[leaf.len as usize - 1]))
    }

    /// The row after this one.
    #[must_use]
    pub fn next(&self, id: RowId) -> Option<RowId> {
        let (leaf, slot) = self.find(id)?;
        let here = &self.tree.leaves[leaf as usize];
        if slot + 1 < here.len as usize {
            return Some(RowId(here.ids[slot + 1]));
        }
        let after = self.tree.neighbour(leaf, true)?;
        Some(RowId(self.tree.leaves[after as usize].ids[0]))
    }

    /// The row before this one.
    #[must_use]
    pub fn prev(&self, id: RowId) -> Option<RowId> {
        let (leaf, slot) = self.find(id)?;
        if slot > 0 {
            return Some(RowId(self.tree.leaves[leaf as usize].ids[slot - 1]));
        }
        let before = &self.tree.leaves[self.tree.neighbour(leaf, false)? as usize];
        Some(RowId(before.ids[before.len as usize - 1]))
    }

    /// This row and all after it, each with its height.
    pub fn iter_from(&self, id: RowId) -> impl Iterator<Item = (RowId, f64)> + '_ {
        let mut place = self.find(id);
        std::iter::from_fn(move || {
            let (leaf, slot) = place?;
            let here = &self.tree.leaves[leaf as usize];
            place = if slot + 1 < here.len as usize {
                Some((leaf, slot + 1))
            } else {
                self.tree.neighbour(leaf, true).map(|after| (after, 0))
            };
            Some((
                RowId(here.ids[slot]),
                to_px(i64::from(units(here.heights[slot]))),
            ))
        })
    }

    /// Puts a row after another one, or first of all. Returns false, and does nothing, where `after` is not
    /// there or `id` is there already.
    pub fn insert_after(&mut self, after: Option<RowId>, id: RowId, estimate_px: f64) -> bool {
        if self.contains(id) {
            return false;
        }
        let (leaf, slot) = match after {
            Some(after) => match self.find(after) {
                Some((leaf, slot)) => (leaf, slot + 1),
                None => return false,
            },
            None => match self.tree.edge(false) {
                Some(leaf) => (leaf, 0),
                None => (
                    self.tree
                        .new_leaf_after(None, self.measured_in, self.estimated_in),
                    0,
                ),
            },
        };
        let (leaf, slot) = self.make_room(leaf, slot);
        let height = to_units(estimate_px);
        let here = &mut self.tree.leaves[leaf as usize];
        let len = here.len as usize;
        here.ids.copy_within(slot..len, slot + 1);
        here.heights.copy_within(slot..len, slot + 1);
        here.ids[slot] = id.0;
        here.heights[slot] = height;
        here.len += 1;
        self.tree.add(leaf, 1, i64::from(height));
        self.set_leaf(id, leaf);
        true
    }

    /// Puts rows after the last one; ids that are there already are left out. Returns how many came in.
    pub fn extend_back(&mut self, rows: impl IntoIterator<Item = (RowId, f64)>) -> usize {
        let rows = rows.into_iter();
        let expected = rows.size_hint().0;
        if expected > 4 * LEAF_ROWS {
            self.tree.reserve_leaves(expected / LEAF_ROWS + 1);
            self.leaf_of.reserve_exact(expected);
        }
        let mut leaf = self.tree.edge(true);
        let (mut n_rows, mut n_in_leaf, mut units_in_leaf) = (0, 0, 0);
        for (id, estimate_px) in rows {
            if self.contains(id) {
                continue;
            }
            let full =
                leaf.is_none_or(|leaf| self.tree.leaves[leaf as usize].len as usize == LEAF_ROWS);
            let here = match leaf {
                Some(leaf) if !full => leaf,
                Some(_) | None => {
                    if let Some(leaf) = leaf {
                        self.tree.add(leaf, n_in_leaf, units_in_leaf);
                    }
                    (n_in_leaf, units_in_leaf) = (0, 0);
                    self.tree
                        .new_leaf_after(leaf, self.measured_in, self.estimated_in)
                }
            };
            leaf = Some(here);
            let height = to_units(estimate_px);
            let rows_here = &mut self.tree.leaves[here as usize];
            rows_here.ids[rows_here.len as usize] = id.0;
            rows_here.heights[rows_here.len as usize] = height;
            rows_here.len += 1;
            n_in_leaf += 1;
            units_in_leaf += i64::from(height);
            n_rows += 1;
            self.set_leaf(id, here);
        }
        if let Some(leaf) = leaf {
            self.tree.add(leaf, n_in_leaf, units_in_leaf);
        }
        n_rows
    }

    /// Takes a row out and returns its height.
    pub fn remove(&mut self, id: RowId) -> Option<f64> {
        let (leaf, slot) = self.find(id)?;
        let here = &mut self.tree.leaves[leaf as usize];
        let len = here.len as usize;
        let height = i64::from(units(here.heights[slot]));
        here.ids.copy_within(slot + 1..len, slot);
        here.heights.copy_within(slot + 1..len, slot);
        here.len -= 1;
        let left = here.len as usize;
        self.leaf_of[id.0 as usize] = NONE;
        self.tree.add(leaf, -1, -height);
        if left == 0 {
            self.tree.drop_leaf(leaf);
        } else if left <= LEAF_ROWS / 4 {
            self.merge(leaf);
        }
        Some(to_px(height))
    }

    /// Takes all rows out.
    pub fn clear(&mut self) {
        *self = HeightIndex::new();
    }

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
        self.restate = Restate {
            next_leaf: 0,
            found_in_lap: false,
            settled: self.is_empty(),
        };
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

    /// Bytes held, spare room included.
    #[must_use]
    pub fn capacity_bytes(&self) -> usize {
        self.tree.capacity_bytes() + self.leaf_of.capacity() * size_of::<u32>()
    }

    /// Every invariant of the index; for tests.
    ///
    /// # Errors
    /// The first one found broken.
    pub fn check(&self) -> Result<(), String> {
        self.tree.check(units)?;
        let mut n_rows = 0;
        let mut leaf = self.tree.edge(false);
        while let Some(here) = leaf {
            let rows = &self.tree.leaves[here as usize];
            for id in &rows.ids[..rows.len as usize] {
                n_rows += 1;
                if self.leaf(RowId(*id)) != Some(here) {
                    return Err(format!("row {id} does not know its leaf {here}"));
                }
            }
            leaf = self.tree.neighbour(here, true);
        }
        let named = self.leaf_of.iter().filter(|leaf| **leaf != NONE).count();
        if n_rows != self.len() || named != n_rows {
            return Err(format!(
                "{n_rows} rows in the leaves, {} counted, {named} named",
                self.len()
            ));
        }
        Ok(())
    }

    fn leaf(&self, id: RowId) -> Option<u32> {
        self.leaf_of
            .get(id.0 as usize)
            .copied()
            .filter(|leaf| *leaf != NONE)
    }

    fn find(&self, id: RowId) -> Option<(u32, usize)> {
        let leaf = self.leaf(id)?;
        Some((leaf, self.tree.leaves[leaf as usize].slot_of(id.0)?))
    }

    fn set_leaf(&mut self, id: RowId, leaf: u32) {
        let place = id.0 as usize;
        if place >= self.leaf_of.len() {
            if place >= self.leaf_of.capacity() {
                reserve_some(&mut self.leaf_of);
            }
            self.leaf_of.resize(place + 1, NONE);
        }
        self.leaf_of[place] = leaf;
    }

    fn units_before(&self, leaf: u32, slot: usize) -> i64 {
        self.tree.leaves[leaf as usize].heights[..slot]
            .iter()
            .map(|height| i64::from(units(*height)))
            .sum()
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
    fn freshen(&mut self, leaf: u32) {
        let here = &mut self.tree.leaves[leaf as usize];
        if here.measured_in != self.measured_in {
            here.measured_in = self.measured_in;
            for height in &mut here.heights[..here.len as usize] {
                *height = units(*height);
            }
        }
    }

    /// Room for one row at a slot, splitting a full leaf.
    fn make_room(&mut self, leaf: u32, slot: usize) -> (u32, usize) {
        let here = &self.tree.leaves[leaf as usize];
        if (here.len as usize) < LEAF_ROWS {
            self.freshen(leaf);
            return (leaf, slot);
        }
        let at_end = slot == LEAF_ROWS && self.tree.neighbour(leaf, true).is_none();
        // As in the tree: a log that only grows fills its leaves.
        let cut = if at_end { LEAF_ROWS } else { LEAF_ROWS / 2 };
        self.freshen(leaf);
        let estimated_in = if at_end {
            self.estimated_in
        } else {
            self.tree.leaves[leaf as usize].estimated_in
        };
        let right = self
            .tree
            .new_leaf_after(Some(leaf), self.measured_in, estimated_in);
        self.move_rows(leaf, cut, right);
        if slot > cut || at_end {
            (right, slot - cut)
        } else {
            (leaf, slot)
        }
    }

    /// Puts a thin leaf together with one beside it where both fit with room to spare.
    fn merge(&mut self, leaf: u32) {
        let fits = |other: u32| {
            let n_rows = self.tree.leaves[leaf as usize].len + self.tree.leaves[other as usize].len;
            n_rows as usize <= LEAF_ROWS * 3 / 4
        };
        let (before, after) = self.tree.siblings(leaf);
        let (left, right) = match (
            before.filter(|other| fits(*other)),
            after.filter(|other| fits(*other)),
        ) {
            (Some(before), _) => (before, leaf),
            (None, Some(after)) => (leaf, after),
            (None, None) => return,
        };
        self.freshen(left);
        self.freshen(right);
        if self.tree.leaves[right as usize].estimated_in != self.estimated_in {
            self.tree.leaves[left as usize].estimated_in =
                self.tree.leaves[right as usize].estimated_in;
        }
        self.move_rows(right, 0, left);
        self.tree.drop_leaf(right);
    }

    fn move_rows(&mut self, from: u32, first: usize, to: u32) {
        let source = &self.tree.leaves[from as usize];
        for id in &source.ids[first..source.len as usize] {
            self.leaf_of[*id as usize] = to;
        }
        let moved = source.heights[first..source.len as usize]
            .iter()
            .map(|height| i64::from(units(*height)))
            .sum();
        self.tree.move_rows(from, first, to, moved);
    }
}

/// The height without its flag.
fn units(height: u32) -> u32 {
    height & !MEASURED
}

/// Anything a caller may hold as a height; what is no number or below 0 counts as 0.
fn to_units(height_px: f64) -> u32 {
    // The cast saturates, and turns NaN into 0.
    ((height_px * UNITS_PER_PX).round() as u32).min(MEASURED - 1)
}

fn to_px(units: i64) -> f64 {
    units as f64 / UNITS_PER_PX
}
