//! The hue of a sub-agent: one everywhere, by its place in the order they began.

use chat_feed::{BlockId, Feed, panel};

use super::Context;

/// How many there are.
const HUES: [u8; 3] = [1, 2, 3];

impl Context {
    /// The hue of the sub-agent that a call began. Where it is not known yet they are gone through once.
    pub(crate) fn agent_hue(&self, feed: &Feed, call: BlockId) -> u8 {
        let place = || self.agents.borrow().iter().position(|known| *known == call);
        let place = place().or_else(|| {
            let mut agents = self.agents.borrow_mut();
            agents.clear();
            agents.extend(panel::agent_calls(feed));
            drop(agents);
            place()
        });
        HUES[place.unwrap_or(0) % HUES.len()]
    }
}
