//! What must hold of the tree after each change.

use super::{NONE, Tree};

impl Tree {
    /// Every invariant of the tree; for tests.
    ///
    /// # Errors
    /// The first one found broken.
    pub(in crate::viewport::heights) fn check(
        &self,
        units_of: impl Fn(u32) -> u32,
    ) -> Result<(), String> {
        let root = &self.inners[self.root as usize];
        if root.parent != NONE {
            return Err("the root has a parent".to_owned());
        }
        let mut n_leaves = 0;
        let mut stack = vec![self.root];
        while let Some(node) = stack.pop() {
            let inner = &self.inners[node as usize];
            if inner.len == 0 && node != self.root {
                return Err(format!("inner node {node} is empty"));
            }
            for slot in 0..inner.len {
                let child = inner.children[slot];
                let (parent, totals) = if inner.level == 0 {
                    n_leaves += 1;
                    let leaf = &self.leaves[child as usize];
                    let units = leaf.heights[..leaf.len as usize]
                        .iter()
                        .map(|height| i64::from(units_of(*height)))
                        .sum();
                    if leaf.len == 0 {
                        return Err(format!("leaf {child} is empty"));
                    }
                    (leaf.parent, (i64::from(leaf.len), units))
                } else {
                    stack.push(child);
                    let below = &self.inners[child as usize];
                    if below.level + 1 != inner.level {
                        return Err(format!("inner node {child} is on the wrong level"));
                    }
                    (below.parent, below.totals(0))
                };
                if parent != node {
                    return Err(format!(
                        "child {child} of {node} names {parent} as its parent"
                    ));
                }
                if totals != (i64::from(inner.n_rows[slot]), inner.units[slot]) {
                    return Err(format!(
                        "child {child} of {node} holds {totals:?}, counted otherwise"
                    ));
                }
            }
        }
        if n_leaves + self.free_leaves.len() != self.leaves.len() {
            return Err("a leaf is neither used nor free".to_owned());
        }
        Ok(())
    }
}
