//! The tree below [`HeightIndex`](super::HeightIndex): leaves of rows under inner nodes that hold, for each
//! child, how many rows and how many height units lie below it.
//!
//! It knows places, counts and sums. What a height means (measured or guessed, of which layout) and which
//! leaf holds which id is its owner's business.

mod check;
mod shape;

/// Rows a leaf can hold: 64 ids are scanned in a few nanoseconds, and the tree above costs 0.3 bytes a row.
pub(super) const LEAF_ROWS: usize = 64;
/// Children an inner node can hold.
const FAN_OUT: usize = 32;
/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// Up to [`LEAF_ROWS`] consecutive rows.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub(super) ids: [u32; LEAF_ROWS],
    /// Height units with the owner's flag in the top bit.
    pub(super) heights: [u32; LEAF_ROWS],
    pub(super) len: u32,
    /// The layout the measured flags belong to.
    pub(super) measured_in: u32,
    /// The layout the estimates belong to.
    pub(super) estimated_in: u32,
    parent: u32,
}

impl Leaf {
    /// Where a row stands in its leaf.
    pub(super) fn slot_of(&self, id: u32) -> Option<usize> {
        self.ids[..self.len as usize]
            .iter()
            .position(|held| *held == id)
    }
}

#[derive(Clone, Debug)]
struct Inner {
    children: [u32; FAN_OUT],
    n_rows: [u32; FAN_OUT],
    units: [i64; FAN_OUT],
    len: usize,
    /// 0: the children are leaves.
    level: u32,
    parent: u32,
}

impl Inner {
    fn slot_of(&self, child: u32) -> usize {
        // A child's parent link is kept by the tree; a broken one would be a broken invariant (see `check`).
        self.children[..self.len]
            .iter()
            .position(|held| *held == child)
            .unwrap_or(0)
    }

    fn totals(&self, from: usize) -> (i64, i64) {
        (
            self.n_rows[from..self.len]
                .iter()
                .map(|n| i64::from(*n))
                .sum(),
            self.units[from..self.len].iter().sum(),
        )
    }
}

/// The nodes in two arenas, with free lists.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) leaves: Vec<Leaf>,
    inners: Vec<Inner>,
    free_leaves: Vec<u32>,
    free_inners: Vec<u32>,
    root: u32,
}

impl Tree {
    pub(super) fn new() -> Tree {
        let mut tree = Tree {
            leaves: Vec::new(),
            inners: Vec::new(),
            free_leaves: Vec::new(),
            free_inners: Vec::new(),
            root: 0,
        };
        tree.root = tree.new_inner(0);
        tree
    }

    /// Rows and height units of the whole tree.
    pub(super) fn totals(&self) -> (usize, i64) {
        let (n_rows, units) = self.inners[self.root as usize].totals(0);
        (n_rows as usize, units)
    }

    /// Rows and height units before the first row of a leaf.
    pub(super) fn before(&self, leaf: u32) -> (usize, i64) {
        let (mut n_rows, mut units) = (0usize, 0i64);
        let (mut child, mut parent) = (leaf, self.leaves[leaf as usize].parent);
        while parent != NONE {
            let inner = &self.inners[parent as usize];
            let slot = inner.slot_of(child);
            n_rows += inner.n_rows[..slot]
                .iter()
                .map(|n| *n as usize)
                .sum::<usize>();
            units += inner.units[..slot].iter().sum::<i64>();
            (child, parent) = (parent, inner.parent);
        }
        (n_rows, units)
    }

    /// The leaf that holds the row of a rank, and the row's slot in it.
    pub(super) fn leaf_at_rank(&self, rank: usize) -> Option<(u32, usize)> {
        let mut rest = rank;
        let mut node = self.root;
        loop {
            let inner = &self.inners[node as usize];
            let slot = (0..inner.len).find(|slot| {
                let n_rows = inner.n_rows[*slot] as usize;
                let inside = rest < n_rows;
                if !inside {
                    rest -= n_rows;
                }
                inside
            })?;
            node = inner.children[slot];
            if inner.level == 0 {
                return Some((node, rest));
            }
        }
    }

    /// The leaf over a height, and how far into the leaf that is. `None` at and beyond the end.
    pub(super) fn leaf_at_units(&self, units: i64) -> Option<(u32, i64)> {
        let mut rest = units;
        let mut node = self.root;
        loop {
            let inner = &self.inners[node as usize];
            let slot = (0..inner.len).find(|slot| {
                let inside = rest < inner.units[*slot];
                if !inside {
                    rest -= inner.units[*slot];
                }
                inside
            })?;
            node = inner.children[slot];
            if inner.level == 0 {
                return Some((node, rest));
            }
        }
    }

    /// The first or the last leaf.
    pub(super) fn edge(&self, last: bool) -> Option<u32> {
        self.edge_below(self.root, last)
    }

    /// The leaf after this one, or before it.
    pub(super) fn neighbour(&self, leaf: u32, forward: bool) -> Option<u32> {
        let (mut child, mut parent) = (leaf, self.leaves[leaf as usize].parent);
        while parent != NONE {
            let inner = &self.inners[parent as usize];
            let slot = inner.slot_of(child);
            let beside = if forward {
                Some(slot + 1).filter(|slot| *slot < inner.len)
            } else {
                slot.checked_sub(1)
            };
            match beside {
                Some(beside) if inner.level == 0 => return Some(inner.children[beside]),
                Some(beside) => return self.edge_below(inner.children[beside], !forward),
                None => (child, parent) = (parent, inner.parent),
            }
        }
        None
    }

    /// Adds rows and units to every node above a leaf.
    pub(super) fn add(&mut self, leaf: u32, n_rows: i64, units: i64) {
        self.add_above(leaf, self.leaves[leaf as usize].parent, n_rows, units);
    }

    /// Makes an empty leaf after another one, or the first of all.
    pub(super) fn new_leaf_after(
        &mut self,
        leaf: Option<u32>,
        measured_in: u32,
        estimated_in: u32,
    ) -> u32 {
        let made = Leaf {
            ids: [NONE; LEAF_ROWS],
            heights: [0; LEAF_ROWS],
            len: 0,
            measured_in,
            estimated_in,
            parent: NONE,
        };
        let new = match self.free_leaves.pop() {
            Some(free) => {
                self.leaves[free as usize] = made;
                free
            }
            None => {
                reserve_some(&mut self.leaves);
                self.leaves.push(made);
                (self.leaves.len() - 1) as u32
            }
        };
        match leaf {
            Some(leaf) => {
                let parent = self.leaves[leaf as usize].parent;
                let slot = self.inners[parent as usize].slot_of(leaf);
                self.attach(parent, slot + 1, new);
            }
            None => match self.edge(false) {
                Some(first) => self.attach(self.leaves[first as usize].parent, 0, new),
                None => self.attach(self.root, 0, new),
            },
        }
        new
    }

    /// Moves the rows of `from` from a slot on to the end of `to`, which must be its neighbour. The caller
    /// tells the rows where they are now.
    pub(super) fn move_rows(&mut self, from: u32, first: usize, to: u32, units: i64) {
        let source = &self.leaves[from as usize];
        let (ids, heights, n_rows) = (source.ids, source.heights, source.len as usize - first);
        let target = &mut self.leaves[to as usize];
        let end = target.len as usize;
        target.ids[end..end + n_rows].copy_from_slice(&ids[first..first + n_rows]);
        target.heights[end..end + n_rows].copy_from_slice(&heights[first..first + n_rows]);
        target.len += n_rows as u32;
        self.leaves[from as usize].len = first as u32;
        self.add(from, -(n_rows as i64), -units);
        self.add(to, n_rows as i64, units);
    }

    /// The leaves beside this one under the same parent: the one before and the one after.
    pub(super) fn siblings(&self, leaf: u32) -> (Option<u32>, Option<u32>) {
        let inner = &self.inners[self.leaves[leaf as usize].parent as usize];
        let slot = inner.slot_of(leaf);
        let before = slot.checked_sub(1).map(|slot| inner.children[slot]);
        let after = Some(slot + 1)
            .filter(|slot| *slot < inner.len)
            .map(|slot| inner.children[slot]);
        (before, after)
    }

    /// Takes an empty leaf out.
    pub(super) fn drop_leaf(&mut self, leaf: u32) {
        let parent = self.leaves[leaf as usize].parent;
        self.leaves[leaf as usize].parent = NONE;
        self.free_leaves.push(leaf);
        self.detach(parent, leaf);
    }

    /// Bytes held, spare room included.
    pub(super) fn capacity_bytes(&self) -> usize {
        self.leaves.capacity() * size_of::<Leaf>()
            + self.inners.capacity() * size_of::<Inner>()
            + (self.free_leaves.capacity() + self.free_inners.capacity()) * size_of::<u32>()
    }

    fn edge_below(&self, top: u32, last: bool) -> Option<u32> {
        let mut node = top;
        loop {
            let inner = &self.inners[node as usize];
            if inner.len == 0 {
                return None;
            }
            node = inner.children[if last { inner.len - 1 } else { 0 }];
            if inner.level == 0 {
                return Some(node);
            }
        }
    }

    fn add_above(&mut self, child: u32, parent: u32, n_rows: i64, units: i64) {
        let (mut child, mut parent) = (child, parent);
        while parent != NONE {
            let inner = &mut self.inners[parent as usize];
            let slot = inner.slot_of(child);
            inner.n_rows[slot] = (i64::from(inner.n_rows[slot]) + n_rows) as u32;
            inner.units[slot] += units;
            (child, parent) = (parent, inner.parent);
        }
    }
}

/// Grows a full vector by an eighth: doubling would keep half of the memory spare.
pub(super) fn reserve_some<T>(items: &mut Vec<T>) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len() / 8 + 16);
    }
}
