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

mod edit;
mod restate;
mod tree;
mod units;

use restate::Restate;
use tree::{NONE, Tree};
use units::{MEASURED, UNITS_PER_PX, to_px, units};

use super::RowId;

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
            restate: Restate::begin(true),
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

    fn units_before(&self, leaf: u32, slot: usize) -> i64 {
        self.tree.leaves[leaf as usize].heights[..slot]
            .iter()
            .map(|height| i64::from(units(*height)))
            .sum()
    }
}
