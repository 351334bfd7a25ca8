//! Finding in a whole session, whatever of it is folded, off the screen or closed.
//!
//! A [`Find`] looks through a feed in slices: [`Find::search`] does about as much as it is told and goes on from there
//! the next time, so that no session is long enough to hold up a frame. What is found stands in the feed's order. Events
//! may come all the while: [`Find::note`] hears of their patches, and what changed is looked at again. However it was
//! sliced, and whenever events came, what is found in the end is what a new search would find.
//!
//! One block is always looked at in one go. How hits are shown, marked and reached is for the page.

mod elsewhere;
mod glob;
mod kinds;
mod needle;
mod query;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::arrangement::stands_for;
use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;
use crate::patch::FeedPatch;

pub use kinds::{Chip, Kinds};
pub use needle::Needle;
pub use query::{Query, QueryError};

use query::{Fact, Wanted};

/// Looking at a block takes so much beside its text: what it is, and where it stands.
const BYTES_PER_BLOCK: usize = 64;
/// Labels of blocks at the end stand so far apart …
const STEP: u64 = 1 << 36;
/// … and those that are put between two others so far behind the first: what comes into the middle comes in order.
const STEP_BETWEEN: u64 = 1 << 16;

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
    /// What was found, by label.
    hits: Vec<(u64, BlockId)>,
    totals: Totals,
    /// What somebody else found.
    elsewhere: elsewhere::Elsewhere,
}

/// How much was looked at, and found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Blocks that were looked at.
    pub looked_at: usize,
    /// Those of them that stand for themselves: a call whose changed file says it all does not.
    pub standing: usize,
    /// Those of which a part is elsewhere and was not looked through.
    pub partly: usize,
    /// What the texts and facts asked for fit, by [`Kinds::CHIPS`], whatever chips are chosen.
    pub by_chip: [usize; Kinds::CHIPS.len()],
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

    /// Hears what became of the feed since the last time. The feed is as it is after all of it.
    pub fn note(&mut self, feed: &Feed, patches: &[FeedPatch]) {
        self.make_room(feed);
        for patch in patches {
            if let FeedPatch::Insert { block, .. }
            | FeedPatch::Update { block }
            | FeedPatch::AppendText { block, .. } = *patch
            {
                self.elsewhere.note_change(block);
            }
            match *patch {
                FeedPatch::Insert { block, after } => self.block_came(feed, block, after),
                FeedPatch::Remove { block } => self.block_went(feed, block),
                FeedPatch::Update { block } => self.block_changed(feed, block),
                FeedPatch::AppendText { block, from } => {
                    if self.knows(block) {
                        let grown = self.grown.entry(block).or_insert(from);
                        *grown = (*grown).min(from);
                    }
                }
                FeedPatch::Turn { .. } | FeedPatch::Session => {}
                FeedPatch::Clear => {
                    let query = std::mem::take(&mut self.query);
                    self.ask(query);
                    self.make_room(feed);
                }
            }
        }
    }

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

    // What was found.

    /// How many hits there are.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// The hits in the feed's order.
    pub fn hits(&self) -> impl ExactSizeIterator<Item = BlockId> + '_ {
        self.hits.iter().map(|&(_, block)| block)
    }

    /// A hit by its number, from 0.
    pub fn hit(&self, number: usize) -> Option<BlockId> {
        self.hits.get(number).map(|&(_, block)| block)
    }

    /// Whether a block is a hit.
    pub fn is_hit(&self, block: BlockId) -> bool {
        self.number_of(block).is_some()
    }

    /// The number of a hit, from 0.
    pub fn number_of(&self, block: BlockId) -> Option<usize> {
        let looked = self
            .blocks
            .get(block.0 as usize)
            .filter(|looked| looked.known)?;
        self.hits
            .binary_search_by_key(&looked.label, |&(label, _)| label)
            .ok()
    }

    /// The next hit behind a block, or before it; beyond the last it begins again. Without a block it is the first, or
    /// the last.
    pub fn next(&self, feed: &Feed, from: Option<BlockId>, forward: bool) -> Option<BlockId> {
        // What was not looked at yet stands behind everything that was.
        let before = from.map(|block| {
            let mut at = std::iter::successors(Some(block), |&id| feed.prev(id));
            at.find(|&id| self.knows(id))
        });
        let number = match (before, forward) {
            (None, true) => 0,
            (None, false) => self.hits.len().checked_sub(1)?,
            (Some(None), true) => 0,
            (Some(None), false) => self.hits.len().checked_sub(1)?,
            (Some(Some(known)), true) => {
                let label = self.blocks[known.0 as usize].label;
                self.hits.partition_point(|&(hit, _)| hit <= label)
            }
            (Some(Some(known)), false) => {
                let label = self.blocks[known.0 as usize].label;
                let own = from != Some(known);
                let n_before = self
                    .hits
                    .partition_point(|&(hit, _)| hit < label || (own && hit == label));
                n_before
                    .checked_sub(1)
                    .unwrap_or(self.hits.len().checked_sub(1)?)
            }
        };
        self.hit(number).or_else(|| self.hit(0))
    }

    // Changes.

    fn block_came(&mut self, feed: &Feed, block: BlockId, after: Option<BlockId>) {
        // Everything behind the last that was looked at is come to anyway.
        let inside = match after {
            Some(after) => {
                self.last != Some(after) && (self.knows(after) || self.due.contains(&after))
            }
            None => self.last.is_some(),
        };
        // One that went again meanwhile tells of those that came behind it, until its going is heard of.
        if inside {
            self.due.insert(block);
        }
        self.look_again_beside(feed, block);
    }

    fn block_went(&mut self, feed: &Feed, block: BlockId) {
        self.due.remove(&block);
        self.grown.remove(&block);
        self.look_again_beside(feed, block);
        if !self.knows(block) {
            return;
        }
        self.put(block, Looked::default(), &mut Vec::new());
        if self.last == Some(block) {
            let mut from_end = std::iter::successors(feed.last(), |&id| feed.prev(id));
            self.last = from_end.find(|&id| self.knows(id));
        }
    }

    fn block_changed(&mut self, feed: &Feed, block: BlockId) {
        if !feed.contains(block) {
            return;
        }
        self.look_again(block);
        self.look_again_beside(feed, block);
        // What is done within a call is done by its agent.
        if self.query.asks_for_agent() && matches!(feed.block(block).body, BlockBody::ToolCall(_)) {
            let (mut id, tail) = (block, feed.tail(block));
            while id != tail
                && let Some(next) = feed.next(id)
            {
                id = next;
                self.look_again(id);
            }
        }
    }

    /// A call and the changed file that stands for it are found by each other's texts.
    fn look_again_beside(&mut self, feed: &Feed, block: BlockId) {
        match &feed.block(block).body {
            BlockBody::FileEdit(edit) => {
                if let Some(call) = edit.call {
                    self.look_again(call);
                }
            }
            BlockBody::ToolCall(_) if feed.contains(block) => {
                if let Some(next) = feed.next(block) {
                    self.look_again(next);
                }
            }
            _ => {}
        }
        // What comes behind a call may part it from its changed file.
        if let Some(before) = feed.contains(block).then(|| feed.prev(block)).flatten()
            && let BlockBody::ToolCall(_) = feed.block(before).body
        {
            self.look_again(before);
            if let Some(next) = feed.next(block) {
                self.look_again(next);
            }
        }
    }

    fn look_again(&mut self, block: BlockId) {
        if self.knows(block) {
            self.due.insert(block);
        }
    }

    // One block.

    /// Looks at one block and says what that took; `None` where nothing is left.
    fn look_at_next(&mut self, feed: &Feed, changed: &mut Vec<BlockId>) -> Option<usize> {
        if let Some(block) = self.due.pop_first() {
            self.grown.remove(&block);
            if !feed.contains(block) || !self.give_place(feed, block) {
                return Some(BYTES_PER_BLOCK);
            }
            return Some(self.look_at(feed, block, None, changed));
        }
        if let Some((block, from)) = self.grown.pop_first() {
            if !feed.contains(block) || !self.knows(block) {
                return Some(BYTES_PER_BLOCK);
            }
            return Some(self.look_at(feed, block, Some(from), changed));
        }
        let block = self.coming(feed)?;
        let label = self
            .last
            .map_or(0, |last| self.blocks[last.0 as usize].label);
        let label = label.checked_add(STEP).unwrap_or_else(|| {
            self.label_anew(feed);
            let last = self
                .last
                .map_or(0, |last| self.blocks[last.0 as usize].label);
            last.saturating_add(STEP)
        });
        self.blocks[block.0 as usize].label = label;
        self.last = Some(block);
        Some(self.look_at(feed, block, None, changed))
    }

    /// The next block that was never looked at.
    fn coming(&self, feed: &Feed) -> Option<BlockId> {
        match self.last {
            Some(last) => feed.next(last),
            None => feed.first(),
        }
    }

    /// Looks at a block; where its text only grew behind `from`, at what is new of it.
    fn look_at(
        &mut self,
        feed: &Feed,
        block: BlockId,
        from: Option<usize>,
        changed: &mut Vec<BlockId>,
    ) -> usize {
        let before = self.blocks[block.0 as usize];
        let mut looked = Looked {
            label: before.label,
            kinds: Kinds::of(feed, block),
            known: true,
            standing: stands_for(feed, block) == block,
            partly: before.partly,
            ..Looked::default()
        };
        let mut cost = BYTES_PER_BLOCK;
        // A call is looked through with the changed file behind it.
        let call = match &feed.block(block).body {
            BlockBody::FileEdit(edit) => edit.call.filter(|&call| stands_for(feed, call) == block),
            _ => None,
        };
        let asked = looked.standing && self.facts_hold(feed, block, call, looked.kinds);
        if asked {
            let grown = from.zip(self.query.longest_text());
            match grown {
                Some((from, longest)) => {
                    looked.texts = before.texts;
                    cost += self.look_at_end(feed.text(block), from, longest, &mut looked.texts);
                }
                None => {
                    let mut seen = self.look_through(feed, block, &mut looked.texts, &mut cost);
                    if let Some(call) = call {
                        let more = self.look_through(feed, call, &mut looked.texts, &mut cost);
                        seen.partly |= more.partly;
                        seen.beyond |= more.beyond;
                    }
                    let ids = [Some(block), call];
                    let ids = || ids.into_iter().flatten();
                    if seen.partly {
                        let found = ids().map(|id| self.elsewhere.texts_in(id));
                        looked.texts |= found.fold(0, |all, texts| all | texts);
                    }
                    let n_texts = self.query.texts.len();
                    let whole = ids().all(|id| self.elsewhere.is_whole(id, n_texts));
                    let beyond = seen.beyond && !self.elsewhere.has_all();
                    looked.partly = seen.partly && (beyond || !whole);
                }
            }
        } else {
            looked.partly = false;
        }
        looked.fits = asked && self.texts_hold(looked.texts);
        self.put(block, looked, changed);
        cost
    }

    /// Looks for all texts that were not found yet in all texts of a block.
    fn look_through(
        &self,
        feed: &Feed,
        block: BlockId,
        found: &mut u32,
        cost: &mut usize,
    ) -> words::Seen {
        let texts = &self.query.texts;
        if texts.is_empty() {
            return words::Seen::default();
        }
        let all = u32::MAX >> (query::MOST_TEXTS - texts.len());
        let cost_per_byte = self.query.cost_per_byte();
        words::visit_texts(feed, block, &mut |text| {
            *cost = cost.saturating_add(text.len().saturating_mul(cost_per_byte));
            for (nth, wanted) in texts.iter().enumerate() {
                if *found & (1 << nth) == 0 && wanted.what.is_in(text) {
                    *found |= 1 << nth;
                }
            }
            if *found == all {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    /// Looks at what is new of a text, from the line on in which it could begin.
    fn look_at_end(&self, text: &str, from: usize, longest: usize, found: &mut u32) -> usize {
        let start = text.floor_char_boundary(from.saturating_sub(longest).min(text.len()));
        let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let new = words::cleaned(&text[start..]);
        for (nth, wanted) in self.query.texts.iter().enumerate() {
            if *found & (1 << nth) == 0 && wanted.what.is_in(&new) {
                *found |= 1 << nth;
            }
        }
        new.len().saturating_mul(self.query.cost_per_byte())
    }

    fn texts_hold(&self, found: u32) -> bool {
        let mut texts = self.query.texts.iter().enumerate();
        texts.all(|(nth, wanted)| (found & (1 << nth) != 0) != wanted.not)
    }

    fn facts_hold(&self, feed: &Feed, block: BlockId, call: Option<BlockId>, kinds: Kinds) -> bool {
        self.query.facts.iter().all(|wanted| {
            let Wanted { what, not } = wanted;
            let ids = [Some(block), call];
            let mut ids = ids.into_iter().flatten();
            let holds = match what {
                Fact::Is(asked) => asked.meets(kinds),
                Fact::Tool(name) => ids.any(|id| match &feed.block(id).body {
                    BlockBody::ToolCall(call) => name.is_in(&call.tool_name),
                    BlockBody::Permission(ask) => name.is_in(&ask.request.tool_name),
                    _ => false,
                }),
                Fact::File(glob) => ids.any(|id| {
                    any(
                        |visit| words::visit_paths(feed, id, visit),
                        |path| glob.is_of(path),
                    )
                }),
                Fact::Agent(name) => any(
                    |visit| words::visit_agents(feed, block, visit),
                    |agent| name.is_in(agent),
                ),
            };
            holds != *not
        })
    }

    // Places.

    fn knows(&self, block: BlockId) -> bool {
        let looked = self.blocks.get(block.0 as usize);
        looked.is_some_and(|looked| looked.known)
    }

    fn make_room(&mut self, feed: &Feed) {
        self.blocks.resize_with(feed.slots.len(), Looked::default);
    }

    /// Gives a block before the last one its place; false where it stands behind, and is come to anyway.
    fn give_place(&mut self, feed: &Feed, block: BlockId) -> bool {
        if self.knows(block) {
            return true;
        }
        let mut backwards = std::iter::successors(feed.prev(block), |&id| feed.prev(id));
        let before = backwards.find(|&id| self.knows(id));
        if before == self.last {
            return false;
        }
        let mut onwards = std::iter::successors(feed.next(block), |&id| feed.next(id));
        let after = onwards.find(|&id| self.knows(id));
        let label = |id: BlockId| self.blocks[id.0 as usize].label;
        let low = before.map_or(0, label);
        let high = after.map_or(u64::MAX, label);
        let gap = high.saturating_sub(low);
        if gap < 2 {
            self.label_anew(feed);
            return self.give_place(feed, block);
        }
        self.blocks[block.0 as usize].label = low + (gap / 2).min(STEP_BETWEEN);
        true
    }

    /// Puts all places as far apart as they were at first.
    fn label_anew(&mut self, feed: &Feed) {
        let mut label: u64 = 0;
        let mut next = feed.first();
        while let Some(id) = next {
            if self.knows(id) {
                label = label.saturating_add(STEP);
                self.blocks[id.0 as usize].label = label;
            }
            next = feed.next(id);
        }
        self.collect_hits(feed);
    }

    fn collect_hits(&mut self, feed: &Feed) {
        let mut hits = Vec::new();
        let mut next = feed.first().filter(|_| !self.is_idle());
        while let Some(id) = next {
            if let Some(looked) = self.blocks.get(id.0 as usize)
                && looked.known
                && self.lets_through(looked)
            {
                hits.push((looked.label, id));
            }
            next = feed.next(id);
        }
        self.hits = hits;
    }

    fn lets_through(&self, looked: &Looked) -> bool {
        let chosen = self.chosen.is_empty() || self.chosen.meets(looked.kinds);
        looked.fits && chosen && !self.is_idle()
    }

    /// Puts what is known of a block in the place of what was known before.
    fn put(&mut self, block: BlockId, looked: Looked, changed: &mut Vec<BlockId>) {
        let before = std::mem::replace(&mut self.blocks[block.0 as usize], looked);
        self.totals.take(before, looked);
        let was = before.known && self.lets_through(&before);
        let is = looked.known && self.lets_through(&looked);
        if was == is {
            return;
        }
        changed.push(block);
        let label = if is { looked.label } else { before.label };
        let at = self.hits.partition_point(|&(hit, _)| hit < label);
        if is {
            self.hits.insert(at, (label, block));
        } else if self.hits.get(at).is_some_and(|&(_, hit)| hit == block) {
            self.hits.remove(at);
        }
    }
}

impl Totals {
    fn take(&mut self, before: Looked, now: Looked) {
        let change = |count: &mut usize, was: bool, is: bool| {
            *count = (*count + usize::from(is)).saturating_sub(usize::from(was));
        };
        change(&mut self.looked_at, before.known, now.known);
        change(
            &mut self.standing,
            before.known && before.standing,
            now.known && now.standing,
        );
        change(
            &mut self.partly,
            before.known && before.partly,
            now.known && now.partly,
        );
        for (count, chip) in self.by_chip.iter_mut().zip(Kinds::CHIPS) {
            let fits =
                |looked: Looked| looked.known && looked.fits && chip.kinds.meets(looked.kinds);
            change(count, fits(before), fits(now));
        }
    }
}

/// Whether any of what is shown is wanted.
fn any(show: impl FnOnce(words::Visit<'_>), wanted: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    show(&mut |text| {
        found = wanted(text);
        if found {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    found
}
