//! The tree of a transcript: which turn a line stands in by its parents, and where a person went back.
//!
//! A file is read in its order; the tree only says what must be told beside it. A prompt whose parent lies in an earlier
//! turn than the latest one leaves the turns between on a dead branch. Nothing is concluded from a parent that is not
//! in the file: such a line, and one without a parent, stands in the latest turn. A line can have no parent that comes
//! after it, so there are no cycles to walk.

use std::collections::{BTreeSet, VecDeque};

use crate::recent::{LATE_SMALL, Recent};

/// How many turns that were left before are made part of the tree again by one that stands below them; a person does not
/// go back into dead branches that often.
const MAX_CLIMB: usize = 1000;

/// Turns that are known; those before are not gone back behind.
const MAX_TURNS: usize = 100_000;

/// The lines seen, each with the turn it stands in: the last 458,752 at least.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    turn_of: Recent<Option<usize>, LATE_SMALL>,
    /// The last turns; the first of them has the number `n_forgotten`.
    turns: VecDeque<TreeTurn>,
    n_forgotten: usize,
    /// Those that stand below no other.
    roots: BTreeSet<usize>,
}

#[derive(Debug)]
struct TreeTurn {
    id: String,
    parent: Option<usize>,
    /// Those below it that are `hung`.
    children: Vec<usize>,
    /// Its parent, or the roots, lists it. What was left behind is taken down, so that no one looks at it again before
    /// something alive stands below it.
    hung: bool,
    /// No one went back behind it.
    alive: bool,
}

impl Tree {
    /// Whether the line was seen.
    pub(crate) fn knows(&self, uuid: &str) -> bool {
        self.turn_of.contains(uuid)
    }

    /// A line that begins no turn.
    pub(crate) fn line(&mut self, uuid: &str, parent: Option<&str>) {
        let latest = (self.n_forgotten + self.turns.len()).checked_sub(1);
        let known = parent.and_then(|parent| self.turn_of.get(parent)).copied();
        self.turn_of.insert(uuid, known.unwrap_or(latest));
    }

    /// A line that begins the turn `id`; the turns that are left behind by it.
    pub(crate) fn turn(&mut self, uuid: &str, parent: Option<&str>, id: &str) -> Vec<String> {
        let known = parent.and_then(|parent| self.turn_of.get(parent)).copied();
        let above = known.flatten();
        let mut left = Vec::new();
        // The parent must be known, and lie before the latest turn: in an earlier one, or above the first.
        if let Some(above) = known
            && above.is_none_or(|above| above + 1 < self.n_forgotten + self.turns.len())
            && !self.turns.is_empty()
        {
            left = self.leave(above);
        }
        self.turns.push_back(TreeTurn {
            id: id.to_owned(),
            parent: above,
            children: Vec::new(),
            hung: false,
            alive: true,
        });
        let at = self.n_forgotten + self.turns.len() - 1;
        self.hang(at);
        self.turn_of.insert(uuid, Some(at));
        if self.turns.len() > MAX_TURNS {
            self.turns.pop_front();
            self.roots.remove(&self.n_forgotten);
            self.n_forgotten += 1;
        }
        left
    }

    /// Marks the turns below `above` as left behind.
    fn leave(&mut self, above: Option<usize>) -> Vec<String> {
        let mut below = match above {
            Some(above) => self
                .at(above)
                .map(|turn| std::mem::take(&mut turn.children)),
            None => Some(std::mem::take(&mut self.roots).into_iter().collect()),
        }
        .unwrap_or_default();
        let mut left = BTreeSet::new();
        while let Some(at) = below.pop() {
            let Some(turn) = self.at(at) else { continue };
            turn.hung = false;
            if std::mem::replace(&mut turn.alive, false) {
                left.insert(at);
            }
            below.append(&mut turn.children);
        }
        let left = left.into_iter();
        left.filter_map(|at| Some(self.at(at)?.id.clone()))
            .collect()
    }

    fn at(&mut self, at: usize) -> Option<&mut TreeTurn> {
        self.turns.get_mut(at.checked_sub(self.n_forgotten)?)
    }

    /// Makes a turn part of the tree, with those above it that were taken down.
    fn hang(&mut self, mut at: usize) {
        for _ in 0..MAX_CLIMB {
            let Some(turn) = self.at(at).filter(|turn| !turn.hung) else {
                return;
            };
            turn.hung = true;
            let Some(parent) = turn.parent else {
                self.roots.insert(at);
                return;
            };
            if let Some(above) = self.at(parent) {
                above.children.push(at);
            }
            at = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_below_an_earlier_turn_leaves_the_turns_between() {
        let mut tree = Tree::default();
        assert!(tree.turn("u1", None, "t1").is_empty());
        tree.line("a1", Some("u1"));
        assert!(tree.turn("u2", Some("a1"), "t2").is_empty());
        tree.line("a2", Some("u2"));
        assert!(tree.turn("u3", Some("a2"), "t3").is_empty());
        assert_eq!(tree.turn("u4", Some("a1"), "t4"), ["t2", "t3"]);
        assert!(tree.turn("u5", Some("u4"), "t5").is_empty());
        assert_eq!(tree.turn("u6", Some("a1"), "t6"), ["t4", "t5"]);
    }

    #[test]
    fn nothing_is_left_behind_by_a_root_or_a_lost_parent() {
        let mut tree = Tree::default();
        tree.turn("u1", None, "t1");
        tree.turn("u2", Some("u1"), "t2");
        assert!(tree.turn("u3", None, "t3").is_empty());
        assert!(tree.turn("u4", Some("lost"), "t4").is_empty());
        assert!(tree.turn("u5", Some("u5"), "t5").is_empty());
    }

    /// What is left behind is what stands below and was not left before, as a walk up from each turn says.
    #[test]
    fn what_is_left_behind_is_what_stands_below() {
        // A small generator of numbers that look like chance, the same each time.
        let mut seed = 1_u32;
        let mut any = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        for _ in 0..200 {
            let mut tree = Tree::default();
            let mut parents: Vec<Option<usize>> = Vec::new();
            let mut alive: Vec<bool> = Vec::new();
            for at in 0..40 {
                let parent = (at > 0).then(|| at - 1 - any(at) * any(2));
                let named = parent.map(|parent| format!("u{parent}"));
                let left = tree.turn(&format!("u{at}"), named.as_deref(), &format!("t{at}"));
                let is_below = |mut it: usize| loop {
                    match parents[it] {
                        above if above == parent => return true,
                        Some(above) => it = above,
                        None => return false,
                    }
                };
                let goes_back = parent.is_some_and(|parent| parent + 1 < at);
                let below = (0..at).filter(|it| goes_back && alive[*it] && is_below(*it));
                let below: Vec<usize> = below.collect();
                let wanted: Vec<String> = below.iter().map(|it| format!("t{it}")).collect();
                assert_eq!(left, wanted, "turn {at} below {parent:?}");
                below.into_iter().for_each(|it| alive[it] = false);
                parents.push(parent);
                alive.push(true);
            }
        }
    }

    #[test]
    fn a_line_whose_parent_is_lost_stands_in_the_latest_turn() {
        let mut tree = Tree::default();
        tree.line("head", None);
        tree.turn("u1", Some("head"), "t1");
        tree.turn("u2", Some("u1"), "t2");
        tree.line("a2", Some("lost"));
        tree.line("b2", Some("a2"));
        assert!(tree.turn("u3", Some("b2"), "t3").is_empty());
        tree.line("root", None);
        assert!(tree.turn("u4", Some("root"), "t4").is_empty());
        assert_eq!(tree.turn("u5", Some("b2"), "t5"), ["t3", "t4"]);
        assert_eq!(
            tree.turn("u6", Some("head"), "t6"),
            ["t1", "t2", "t5"],
            "above the first turn"
        );
    }
}
