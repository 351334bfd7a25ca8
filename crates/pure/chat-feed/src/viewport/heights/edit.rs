//! Rows come and go: a full leaf is split, a thin one put together with one beside it.

use super::tree::{LEAF_ROWS, NONE, reserve_some};
use super::units::{to_px, to_units, units};
use super::{HeightIndex, RowId};

impl HeightIndex {
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
