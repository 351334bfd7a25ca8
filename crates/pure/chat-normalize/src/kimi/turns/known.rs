//! What is known of a session's turns: how the open one stands, and which of them the user can go back behind.

use std::collections::{BTreeSet, VecDeque};

use crate::set_back::Standing;

/// So many of the user's turns can be gone back behind, and so many words wait to be read.
const MOST_KNOWN: usize = 10_000;

/// What is known of them.
#[derive(Debug)]
pub(in crate::kimi) struct Turns {
    /// How the turn would end now.
    pub(super) outcome: &'static str,
    /// The user said something that the agent has not read.
    pub(super) is_steered: bool,
    /// The step that was running when the user stopped the turn.
    pub(super) stopped: Option<String>,
    /// The user stopped the turn, whose end comes.
    pub(super) is_cancelled: bool,
    /// The turn that the last step was of, as the source calls it, and whether that is the open one.
    pub(super) native: (String, bool),
    /// The source says when a turn is over.
    pub(in crate::kimi) tells_ends: bool,
    /// The turns that stand, and those of them that the user can go back behind.
    standing: Standing,
    anchors: VecDeque<String>,
    /// Words that were told when they were said, by their ids.
    steered: BTreeSet<String>,
}

impl Default for Turns {
    fn default() -> Self {
        Turns {
            outcome: "interrupted",
            is_steered: false,
            stopped: None,
            is_cancelled: false,
            native: (String::new(), false),
            tells_ends: false,
            standing: Standing::default(),
            anchors: VecDeque::new(),
            steered: BTreeSet::new(),
        }
    }
}

impl Turns {
    /// Whether the user stopped the turn that is open.
    pub(in crate::kimi) fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Whether what comes may be of a turn that the user stopped.
    pub(in crate::kimi) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    pub(super) fn begin(&mut self, turn_id: &str, is_anchor: bool) {
        self.native.1 = false;
        self.standing.begin(turn_id);
        if is_anchor {
            self.anchors.push_back(turn_id.to_owned());
            if self.anchors.len() > MOST_KNOWN {
                self.anchors.pop_front();
            }
        }
    }

    /// The last turns of the user's are left, so many, with those that the program began behind them; which those were.
    pub(super) fn leave(&mut self, n_turns: usize) -> Vec<String> {
        let first = self.anchors.len().saturating_sub(n_turns);
        let left = self.anchors.split_off(first);
        let Some(first) = left.front() else {
            return Vec::new();
        };
        let n_behind = self.standing.behind(first).count();
        self.standing.leave(n_behind.saturating_add(1))
    }

    /// A word is said, of this id, and not read yet; whether that was not known.
    pub(super) fn said_first(&mut self, id: &str) -> bool {
        if self.steered.len() >= MOST_KNOWN {
            self.steered.clear();
        }
        self.steered.insert(id.to_owned())
    }

    /// A word of this id is read; whether it was told when it was said.
    pub(super) fn was_said(&mut self, id: &str) -> bool {
        self.steered.remove(id)
    }

    /// All of them are left; which those were.
    pub(in crate::kimi) fn leave_all(&mut self) -> Vec<String> {
        self.anchors.clear();
        self.standing.leave(usize::MAX)
    }
}
