//! What changed, and nothing else.
//!
//! A patch names what changed; the new content is read from the [`crate::Feed`]. Applying the patches of an event to a
//! copy of the feed as it was gives the feed as it is.

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

