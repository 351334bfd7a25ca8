//! The tree of a transcript: which turn a line stands in by its parents, and where a person went back.
//!
//! A file is read in its order; the tree only says what must be told beside it. A prompt whose parent lies in an earlier
//! turn than the latest one leaves the turns between on a dead branch. Nothing is concluded from a parent that is not
//! in the file: such a line, and one without a parent, stands in the latest turn. A line can have no parent that comes
//! after it, so there are no cycles to walk.

use std::collections::{BTreeSet, VecDeque};

use crate::recent::{LATE_SMALL, Recent};

/// How far is climbed through turns that were left before; a person does not go back into dead branches that often.
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
    /// Those that no one went back behind.
    alive: BTreeSet<usize>,
}

#[derive(Debug)]
struct TreeTurn {
    id: String,
    parent: Option<usize>,
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
        });
        let at = self.n_forgotten + self.turns.len() - 1;
        self.alive.insert(at);
        self.turn_of.insert(uuid, Some(at));
        if self.turns.len() > MAX_TURNS {
            self.turns.pop_front();
            self.alive.remove(&self.n_forgotten);
            self.n_forgotten += 1;
        }
        left
    }

    /// Marks the turns below `above` as left behind.
    fn leave(&mut self, above: Option<usize>) -> Vec<String> {
        let first = above.map_or(0, |above| above + 1);
        let mut below = BTreeSet::new();
        // A turn stands behind its parent, so one pass in order finds all.
        for at in self.alive.range(first..) {
            if self.is_below(*at, above, &below) {
                below.insert(*at);
            }
        }
        self.alive.retain(|at| !below.contains(at));
        let below = below.iter().filter_map(|at| self.at(*at));
        below.map(|turn| turn.id.clone()).collect()
    }

    fn at(&self, at: usize) -> Option<&TreeTurn> {
        self.turns.get(at.checked_sub(self.n_forgotten)?)
    }

    fn is_below(&self, at: usize, above: Option<usize>, below: &BTreeSet<usize>) -> bool {
        let Some(mut parent) = self.at(at).map(|turn| turn.parent) else {
            return false;
        };
        for _ in 0..MAX_CLIMB {
            if parent == above || parent.is_some_and(|parent| below.contains(&parent)) {
                return true;
            }
            match parent {
                // Above a turn that is still alive and not below there is nothing more to find.
                Some(at) if !self.alive.contains(&at) => match self.at(at) {
                    Some(turn) => parent = turn.parent,
                    None => return false,
                },
                Some(_) | None => return false,
            }
        }
        false
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
