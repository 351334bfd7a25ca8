//! The changes between two long texts that differ in a few places: found in one pass over both, and given up on early
//! where there are more.
//!
//! After E. W. Myers, "An O(ND) difference algorithm and its variations" (1986), the greedy search from the front: after
//! `d` changes it knows how far each diagonal reaches. Only `d` is bounded, so long stretches that are equal cost nothing
//! but to be looked at once.

use crate::lines::Block;

/// Each item is compared so often at most, taken over all: where the same item stands over and over, every diagonal is long.
const MOST_VISITS: usize = 16;

/// The changed blocks; `None` where more than `most` items are removed and added, or where that would take long to find
/// out.
pub(crate) fn changes(old: &[&str], new: &[&str], most: usize) -> Option<Vec<Block>> {
    let mut visits = (old.len() + new.len()).saturating_mul(MOST_VISITS);
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for n_changes in 0..=most {
        // By diagonal, from the one with most added to the one with most removed: the old items that lie behind.
        let mut reach = Vec::with_capacity(n_changes + 1);
        for n_removed in 0..=n_changes {
            let n_added = n_changes - n_removed;
            let mut old_at = match rounds.last() {
                Some(before) => step(before, n_removed).0,
                None => 0,
            };
            // Each item that is removed lies behind.
            let new_at = (old_at + n_added).saturating_sub(n_removed);
            // Beyond the end of a side nothing is equal.
            let (old_rest, new_rest) = (old.get(old_at..), new.get(new_at..));
            let pairs = old_rest
                .into_iter()
                .flatten()
                .zip(new_rest.into_iter().flatten());
            let n_equal = pairs
                .take(visits)
                .take_while(|(old, new)| old == new)
                .count();
            old_at += n_equal;
            if old_at == old.len() && new_at + n_equal == new.len() {
                return Some(joined(walk_back(&rounds, n_removed), old, new));
            }
            if n_equal == visits {
                return None;
            }
            visits -= n_equal;
            reach.push(old_at);
        }
        rounds.push(reach);
    }
    None
}

/// Where a diagonal begins after one change more, and whether that removes an item: from whichever neighbour reaches
/// further.
fn step(before: &[usize], n_removed: usize) -> (usize, bool) {
    let added = before.get(n_removed).copied();
    let removed = n_removed.checked_sub(1).and_then(|at| before.get(at));
    match (added, removed.map(|at| at + 1)) {
        (Some(added), Some(removed)) if removed > added => (removed, true),
        (Some(added), _) => (added, false),
        (None, Some(removed)) => (removed, true),
        (None, None) => (0, false),
    }
}

/// The way that led to the end, as blocks.
fn walk_back(rounds: &[Vec<usize>], mut n_removed: usize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (n_before, before) in rounds.iter().enumerate().rev() {
        let (old_end, removes) = step(before, n_removed);
        let n_added = n_before + 1 - n_removed;
        let new_end = (old_end + n_added).saturating_sub(n_removed);
        let (old_start, new_start) = match removes {
            true => (old_end - 1, new_end),
            false => (old_end, new_end.saturating_sub(1)),
        };
        n_removed -= usize::from(removes);
        match blocks.last_mut() {
            Some(last) if (last.old.start, last.new.start) == (old_end, new_end) => {
                (last.old.start, last.new.start) = (old_start, new_start);
            }
            Some(_) | None => blocks.push(Block {
                old: old_start..old_end,
                new: new_start..new_end,
            }),
        }
    }
    blocks.reverse();
    blocks
}

/// Blocks that can be one are: where the same items stand over and over, one that replaces another may be found as an
/// added one here and a removed one there.
fn joined(blocks: Vec<Block>, old: &[&str], new: &[&str]) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::new();
    for block in blocks {
        match joined.last_mut() {
            Some(last) if moves_up(&block, block.old.start - last.old.end, old, new) => {
                last.old.end += block.old.len();
                last.new.end += block.new.len();
            }
            Some(_) | None => joined.push(block),
        }
    }
    joined
}

/// Whether a block that only adds or only removes says the same where it stands so many items further up.
fn moves_up(block: &Block, by: usize, old: &[&str], new: &[&str]) -> bool {
    let (items, range) = match (block.old.is_empty(), block.new.is_empty()) {
        (true, _) => (new, &block.new),
        (_, true) => (old, &block.old),
        (false, false) => return false,
    };
    let above = items[range.start - by..range.end].iter();
    above
        .rev()
        .zip(items[range.start - by..range.start].iter().rev())
        .all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The new items, by the blocks.
    fn applied<'a>(old: &[&'a str], new: &[&'a str], blocks: &[Block]) -> Vec<&'a str> {
        let (mut made, mut at) = (Vec::new(), 0);
        for block in blocks {
            made.extend(&old[at..block.old.start]);
            assert_eq!(made.len(), block.new.start);
            made.extend(&new[block.new.clone()]);
            at = block.old.end;
        }
        made.extend(&old[at..]);
        made
    }

    /// How many items are removed and added at least.
    fn fewest(old: &[&str], new: &[&str]) -> usize {
        let mut below: Vec<usize> = (0..=new.len()).collect();
        for (n_above, old) in (1..).zip(old) {
            let mut row = vec![n_above];
            for (at, new) in new.iter().enumerate() {
                let changed = 1 + row[at].min(below[at + 1]);
                row.push(if old == new { below[at] } else { changed });
            }
            below = row;
        }
        below.last().copied().unwrap_or(0)
    }

    fn items() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..30)
    }

    proptest! {
        #[test]
        fn the_fewest_changes_are_found_or_none(old in items(), new in items(), most in 0..40_usize) {
            let n_changes = fewest(&old, &new);
            match changes(&old, &new, most) {
                Some(blocks) => {
                    prop_assert_eq!(applied(&old, &new, &blocks), new);
                    let n_items = blocks.iter().map(|block| block.old.len() + block.new.len());
                    prop_assert_eq!(n_items.sum::<usize>(), n_changes);
                    let apart = |two: &[Block]| {
                        two[0].old.end < two[1].old.start && two[0].new.end < two[1].new.start
                    };
                    prop_assert!(blocks.windows(2).all(apart));
                }
                // Of so few changes no more than every item is looked at for each diagonal.
                None => prop_assert!(n_changes > most.min(7)),
            }
        }
    }

    #[test]
    fn one_of_many_that_are_the_same_is_replaced() {
        let old = vec!["a"; 20_000];
        let mut new = old.clone();
        new[10_000] = "b";
        let replaced = Block {
            old: 10_000..10_001,
            new: 10_000..10_001,
        };
        assert_eq!(changes(&old, &new, 2), Some(vec![replaced]));
        assert_eq!(changes(&old, &new, 1), None);
        assert_eq!(changes(&[], &[], 0), Some(Vec::new()));
    }
}
