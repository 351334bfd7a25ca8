//! The hue of a sub-agent: one everywhere, by its place in the order they began.

use std::cell::{Cell, RefCell};

use chat_feed::{BlockId, Feed, panel};

use super::Context;

/// How many there are.
const HUES: [u8; 3] = [1, 2, 3];

/// What is known of the hues.
#[derive(Default)]
pub(super) struct Hues {
    /// By the block that began the sub-agent; 0 where it began none.
    known: RefCell<Vec<u8>>,
    /// Events and rows of the feed that was gone through last.
    seen: Cell<(u32, usize)>,
}

impl Hues {
    /// Another session.
    pub(super) fn forget(&self) {
        self.known.borrow_mut().clear();
        self.seen.take();
    }
}

impl Context {
    /// The hue of the sub-agent that a call began. Where it is not known they are gone through, once for what has come.
    pub(crate) fn agent_hue(&self, feed: &Feed, call: BlockId) -> u8 {
        let hue_of = |known: &[u8]| {
            let hue = known.get(call.0 as usize).copied();
            hue.filter(|hue| *hue > 0)
        };
        let mut known = self.hues.known.borrow_mut();
        let seen = (self.store.event_count(), feed.len());
        if hue_of(&known).is_none() && self.hues.seen.replace(seen) != seen {
            known.clear();
            for (call, hue) in panel::agent_calls(feed).zip(HUES.into_iter().cycle()) {
                let at = call.0 as usize;
                let n_known = known.len().max(at + 1);
                known.resize(n_known, 0);
                known[at] = hue;
            }
        }
        hue_of(&known).unwrap_or(HUES[0])
    }
}
