//! The tree of a transcript: which turn a line stands in by its parents, and where a person went back.
//!
//! A file is read in its order; the tree only says what must be told beside it. A prompt whose parent lies in an earlier
//! turn than the latest one leaves the turns between on a dead branch. Nothing is concluded from a parent that is not
//! in the file, and a line can have no parent that comes after it, so there are no cycles to walk.

use std::collections::HashMap;

/// The lines seen, each with the turn it stands in.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    turn_of: HashMap<String, Option<usize>>,
    turns: Vec<TreeTurn>,
}

#[derive(Debug)]
struct TreeTurn {
    id: String,
    parent: Option<usize>,
    /// On a dead branch, and said so.
    left: bool,
}

impl Tree {
    /// Whether the line was seen.
    pub(crate) fn knows(&self, uuid: &str) -> bool {
        self.turn_of.contains_key(uuid)
    }

    /// A line that begins no turn.
    pub(crate) fn line(&mut self, uuid: &str, parent: Option<&str>) {
        let turn = parent
            .and_then(|parent| self.turn_of.get(parent))
            .copied()
            .flatten();
        self.turn_of.insert(uuid.to_owned(), turn);
    }

    /// A line that begins the turn `id`; the turns that are left behind by it.
    pub(crate) fn turn(&mut self, uuid: &str, parent: Option<&str>, id: &str) -> Vec<String> {
        let known = parent.and_then(|parent| self.turn_of.get(parent)).copied();
        let above = known.flatten();
        let mut left = Vec::new();
        // The parent must be known, and lie before the latest turn: in an earlier one, or above the first.
        if let Some(above) = known
            && above.is_none_or(|above| above + 1 < self.turns.len())
            && !self.turns.is_empty()
        {
            left = self.leave(above);
        }
        self.turns.push(TreeTurn {
            id: id.to_owned(),
            parent: above,
            left: false,
        });
        self.turn_of
            .insert(uuid.to_owned(), Some(self.turns.len() - 1));
        left
    }

    /// Marks the turns below `above` as left behind.
    fn leave(&mut self, above: Option<usize>) -> Vec<String> {
        let first = above.map_or(0, |above| above + 1);
        let mut below = vec![false; self.turns.len()];
        let mut left = Vec::new();
        for at in first..self.turns.len() {
            let turn = &mut self.turns[at];
            below[at] = turn.parent == above
                || turn
                    .parent
                    .is_some_and(|parent| parent >= first && below[parent]);
            if below[at] && !turn.left {
                turn.left = true;
                left.push(turn.id.clone());
            }
        }
        left
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
}
