//! The shape of the tree: inner nodes are split when full, put together when thin, and taken out when empty.

use super::{FAN_OUT, Inner, NONE, Tree, reserve_some};

impl Tree {
    pub(super) fn new_inner(&mut self, level: u32) -> u32 {
        let made = Inner {
            children: [NONE; FAN_OUT],
            n_rows: [0; FAN_OUT],
            units: [0; FAN_OUT],
            len: 0,
            level,
            parent: NONE,
        };
        match self.free_inners.pop() {
            Some(free) => {
                self.inners[free as usize] = made;
                free
            }
            None => {
                reserve_some(&mut self.inners);
                self.inners.push(made);
                (self.inners.len() - 1) as u32
            }
        }
    }

    fn set_parent(&mut self, level: u32, child: u32, parent: u32) {
        if level == 0 {
            self.leaves[child as usize].parent = parent;
        } else {
            self.inners[child as usize].parent = parent;
        }
    }

    /// Whether nothing stands to the right of an inner node.
    fn is_rightmost(&self, node: u32) -> bool {
        let mut child = node;
        loop {
            let parent = self.inners[child as usize].parent;
            if parent == NONE {
                return true;
            }
            let inner = &self.inners[parent as usize];
            if inner.children[inner.len - 1] != child {
                return false;
            }
            child = parent;
        }
    }

    /// Hangs a child in at a slot, with nothing counted below it yet; splits full nodes on the way up.
    pub(super) fn attach(&mut self, parent: u32, slot: usize, child: u32) {
        let (mut parent, mut slot) = (parent, slot);
        if self.inners[parent as usize].len == FAN_OUT {
            // At the far end a new node starts empty, so that a log that only grows fills its nodes; anywhere
            // else it takes half.
            let cut = if slot == FAN_OUT && self.is_rightmost(parent) {
                FAN_OUT
            } else {
                FAN_OUT / 2
            };
            let right = self.split(parent, cut);
            if slot > cut || cut == FAN_OUT {
                (parent, slot) = (right, slot - cut);
            }
        }
        let inner = &mut self.inners[parent as usize];
        let len = inner.len;
        inner.children.copy_within(slot..len, slot + 1);
        inner.n_rows.copy_within(slot..len, slot + 1);
        inner.units.copy_within(slot..len, slot + 1);
        inner.children[slot] = child;
        inner.n_rows[slot] = 0;
        inner.units[slot] = 0;
        inner.len += 1;
        let level = inner.level;
        self.set_parent(level, child, parent);
    }

    /// Moves the children from `cut` on to a new node to the right.
    fn split(&mut self, node: u32, cut: usize) -> u32 {
        let level = self.inners[node as usize].level;
        if self.inners[node as usize].parent == NONE {
            let root = self.new_inner(level + 1);
            let (n_rows, units) = self.inners[node as usize].totals(0);
            let inner = &mut self.inners[root as usize];
            (
                inner.children[0],
                inner.n_rows[0],
                inner.units[0],
                inner.len,
            ) = (node, n_rows as u32, units, 1);
            self.inners[node as usize].parent = root;
            self.root = root;
        }
        let grand = self.inners[node as usize].parent;
        let right = self.new_inner(level);
        let slot = self.inners[grand as usize].slot_of(node);
        self.attach(grand, slot + 1, right);
        self.move_children(node, cut, right);
        right
    }

    /// Moves the children of `from` from a slot on to the end of `to`.
    fn move_children(&mut self, from: u32, first: usize, to: u32) {
        let source = self.inners[from as usize].clone();
        let (n_rows, units) = source.totals(first);
        self.inners[from as usize].len = first;
        let target = &mut self.inners[to as usize];
        let (start, moved) = (target.len, source.len - first);
        target.children[start..start + moved].copy_from_slice(&source.children[first..source.len]);
        target.n_rows[start..start + moved].copy_from_slice(&source.n_rows[first..source.len]);
        target.units[start..start + moved].copy_from_slice(&source.units[first..source.len]);
        target.len += moved;
        for child in &source.children[first..source.len] {
            self.set_parent(source.level, *child, to);
        }
        self.add_above(from, self.inners[from as usize].parent, -n_rows, -units);
        self.add_above(to, self.inners[to as usize].parent, n_rows, units);
    }

    /// Takes out a child below which nothing is counted any more, and thin or empty nodes above it.
    pub(super) fn detach(&mut self, parent: u32, child: u32) {
        let inner = &mut self.inners[parent as usize];
        let (slot, len) = (inner.slot_of(child), inner.len);
        inner.children.copy_within(slot + 1..len, slot);
        inner.n_rows.copy_within(slot + 1..len, slot);
        inner.units.copy_within(slot + 1..len, slot);
        inner.len -= 1;
        let (left, level, grand) = (inner.len, inner.level, inner.parent);
        if grand == NONE {
            if left == 1 && level > 0 {
                let only = self.inners[parent as usize].children[0];
                self.inners[only as usize].parent = NONE;
                self.root = only;
                self.free_inners.push(parent);
            }
        } else if left == 0 {
            self.free_inners.push(parent);
            self.detach(grand, parent);
        } else if left <= FAN_OUT / 4 {
            self.merge_inner(grand, parent);
        }
    }

    /// Puts a thin node together with one beside it where both fit with room to spare.
    fn merge_inner(&mut self, grand: u32, node: u32) {
        let above = &self.inners[grand as usize];
        let slot = above.slot_of(node);
        let fits = |a: u32, b: u32| {
            self.inners[a as usize].len + self.inners[b as usize].len <= FAN_OUT * 3 / 4
        };
        let pair = match (slot.checked_sub(1), slot + 1) {
            (Some(before), _) if fits(above.children[before], node) => {
                Some((above.children[before], node))
            }
            (_, after) if after < above.len && fits(node, above.children[after]) => {
                Some((node, above.children[after]))
            }
            (Some(_) | None, _) => None,
        };
        if let Some((left, right)) = pair {
            self.move_children(right, 0, left);
            self.free_inners.push(right);
            self.detach(grand, right);
        }
    }
}
