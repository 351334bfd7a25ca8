//! What changed, and nothing else.
//!
//! A patch names what changed; the new content is read from the [`crate::Feed`]. Applying the patches of an event to a
//! copy of the feed as it was gives the feed as it is.

use std::collections::{BTreeMap, BTreeSet};

use crate::block::{BlockId, TurnIdx};

/// One change of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedPatch {
    /// A new row stands behind `after`; at the very top where that is `None`.
    Insert {
        /// The new row.
        block: BlockId,
        /// The row before it.
        after: Option<BlockId>,
    },
    /// A row is gone.
    Remove {
        /// The row.
        block: BlockId,
    },
    /// A row's text grew at its end and nothing else of it changed.
    AppendText {
        /// The row.
        block: BlockId,
        /// Length of the row's text before, in bytes: what is new is `feed.text(block)[from..]`.
        from: usize,
    },
    /// Anything else of a row changed.
    Update {
        /// The row.
        block: BlockId,
    },
    /// The facts of a turn changed: [`crate::Feed::turn`].
    Turn {
        /// The turn.
        turn: TurnIdx,
    },
    /// The facts of the session changed: [`crate::Feed::session`].
    Session,
    /// Everything changed: the feed was emptied.
    Clear,
}
chat_event::pack_variants!(FeedPatch { 0 => Session, 1 => Insert { block, after }, 2 => Update { block }, 3 => AppendText { block, from }, 4 => Remove { block }, 5 => Turn { turn }, 6 => Clear });

/// The patches of many events, each kept once: who takes them looks at the feed as it is then.
#[derive(Debug, Default)]
pub struct Gathered {
    structure: Vec<FeedPatch>,
    updated: BTreeSet<BlockId>,
    grown: BTreeMap<BlockId, usize>,
    facts: bool,
}

impl Gathered {
    /// Takes patches out of a list; the list keeps its memory.
    pub fn take_from(&mut self, patches: &mut Vec<FeedPatch>) {
        for patch in patches.drain(..) {
            match patch {
                FeedPatch::AppendText { block, from } => {
                    self.grown.entry(block).or_insert(from);
                }
                FeedPatch::Update { block } => {
                    if self.updated.insert(block) {
                        self.structure.push(patch);
                    }
                }
                FeedPatch::Insert { .. } | FeedPatch::Remove { .. } => self.structure.push(patch),
                FeedPatch::Turn { .. } => {
                    self.facts = true;
                    if self.structure.last() != Some(&patch) {
                        self.structure.push(patch);
                    }
                }
                FeedPatch::Session => self.facts = true,
                FeedPatch::Clear => {
                    *self = Gathered::default();
                    self.structure.push(patch);
                    self.facts = true;
                }
            }
        }
    }

    /// What changed of the rows and turns, in order.
    pub fn structure(&mut self) -> Vec<FeedPatch> {
        self.updated.clear();
        std::mem::take(&mut self.structure)
    }

    /// The rows whose text grew, and behind how many bytes.
    pub fn grown(&mut self) -> BTreeMap<BlockId, usize> {
        std::mem::take(&mut self.grown)
    }

    /// Whether the facts of the session or of a turn changed.
    pub fn facts(&mut self) -> bool {
        std::mem::take(&mut self.facts)
    }

    /// All of it as patches again.
    pub fn patches(&mut self) -> Vec<FeedPatch> {
        let mut patches = self.structure();
        let grown = self.grown().into_iter();
        patches.extend(grown.map(|(block, from)| FeedPatch::AppendText { block, from }));
        if self.facts() {
            patches.push(FeedPatch::Session);
        }
        patches
    }
}
