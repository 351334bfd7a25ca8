//! Finding in a whole session, whatever of it is folded, off the screen or closed.
//!
//! A [`Find`] looks through a feed in slices: [`Find::search`] does about as much as it is told and goes on from there
//! the next time, so that no session is long enough to hold up a frame. What is found stands in the feed's order. Events
//! may come all the while: [`Find::note`] hears of their patches, and what changed is looked at again. However it was
//! sliced, and whenever events came, what is found in the end is what a new search would find.
//!
//! One block is always looked at in one go. How hits are shown, marked and reached is for the page.

mod changes;
mod elsewhere;
mod glob;
mod hits;
mod kinds;
mod look;
mod needle;
mod pattern;
mod places;
mod query;
mod sought;
mod tokens;
mod totals;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::block::{BlockId, TurnIdx};
use crate::feed::Feed;

pub use kinds::{Chip, Kinds};
pub use query::{Query, QueryError};
pub use sought::{How, Sought};
pub use totals::Totals;
pub use words::cleaned;

/// A search through one feed.
#[derive(Clone, Debug, Default)]
pub struct Find {
    query: Query,
    /// The kinds that are let through; all where there is none.
    chosen: Kinds,
    /// By block.
    blocks: Vec<Looked>,
    /// The last block, in the feed's order, of those that were looked at; all behind it are yet to come.
    last: Option<BlockId>,
    /// Blocks before it that are to be looked at, again or for the first time.
    due: BTreeSet<BlockId>,
    /// Blocks whose text only grew, and behind how many bytes.
    grown: BTreeMap<BlockId, usize>,
    /// The turns that were undone when their blocks were looked at.
    undone: BTreeSet<TurnIdx>,
    /// What the agents of calls are called that rows lie within, where that is asked for.
    agents: BTreeMap<BlockId, Option<String>>,
    /// What was found, by label.
    hits: Vec<(u64, BlockId)>,
    totals: Totals,
    /// What somebody else found.
    elsewhere: elsewhere::Elsewhere,
}

/// What is known of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Looked {
    /// Its place among the others, while it is `known`.
    label: u64,
    /// Which of the texts stand in it.
    texts: u32,
    kinds: Kinds,
    known: bool,
    standing: bool,
    partly: bool,
    /// Whether it is what is asked for, but for the chips.
    fits: bool,
}

impl Find {
    /// A search that has looked at nothing yet.
    pub fn new(query: Query) -> Find {
        Find {
            query,
            ..Find::default()
        }
    }

    /// What is asked for.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The kinds that are let through; all where there is none.
    pub fn chosen(&self) -> Kinds {
        self.chosen
    }

    /// Lets other kinds through; nothing is looked at again for it.
    pub fn choose(&mut self, feed: &Feed, kinds: Kinds) {
        self.chosen = kinds;
        self.collect_hits(feed);
    }

    /// Asks for something else, with the same chips.
    pub fn ask(&mut self, query: Query) {
        *self = Find {
            query,
            chosen: self.chosen,
            ..Find::default()
        };
    }

    /// Whether nothing at all is asked for; then nothing is found.
    pub fn is_idle(&self) -> bool {
        self.query.is_empty() && self.chosen.is_empty()
    }

    // Looking.

    /// Looks at about so many bytes more, and notes in `changed` which blocks became hits or are none any more. False
    /// where something is left to look at.
    pub fn search(&mut self, feed: &Feed, budget_bytes: usize, changed: &mut Vec<BlockId>) -> bool {
        self.make_room(feed);
        let mut spent = 0;
        while spent < budget_bytes {
            let Some(cost) = self.look_at_next(feed, changed) else {
                return true;
            };
            spent = spent.saturating_add(cost);
        }
        self.is_done(feed)
    }

    /// Whether everything was looked at.
    pub fn is_done(&self, feed: &Feed) -> bool {
        self.due.is_empty() && self.grown.is_empty() && self.coming(feed).is_none()
    }

    /// How much was looked at, and found.
    pub fn totals(&self) -> Totals {
        self.totals
    }
}
