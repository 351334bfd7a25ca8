//! What became of the feed, and which blocks are therefore looked at again.

use std::collections::BTreeSet;

use super::{Find, Looked};
use crate::arrangement::stands_for;
use crate::block::{BlockBody, BlockId};
use crate::feed::Feed;
use crate::patch::FeedPatch;

impl Find {
    /// Hears what became of the feed since the last time. The feed is as it is after all of it.
    pub fn note(&mut self, feed: &Feed, patches: &[FeedPatch]) {
        self.make_room(feed);
        self.note_turns(feed, patches);
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

    /// Of turns that are undone now and were not, or the other way round, everything is looked at again.
    fn note_turns(&mut self, feed: &Feed, patches: &[FeedPatch]) {
        if !self.query.asks_for_undone() {
            return;
        }
        let mut turned = BTreeSet::new();
        for patch in patches {
            if let FeedPatch::Turn { turn } = *patch
                && let Some(facts) = feed.turns().get(turn.0 as usize)
            {
                let is_new = match facts.is_undone() {
                    true => self.undone.insert(turn),
                    false => self.undone.remove(&turn),
                };
                if is_new {
                    turned.insert(turn);
                }
            }
        }
        if !turned.is_empty() {
            let rows = feed.rows().filter(|block| turned.contains(&block.turn));
            rows.for_each(|block| self.look_again(block.id));
        }
    }

    fn block_came(&mut self, feed: &Feed, block: BlockId, after: Option<BlockId>) {
        self.agents.remove(&block);
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
        self.agents.remove(&block);
        self.look_again_beside(feed, block);
        // What lay between a call and its changed file may have been the last that did.
        if let Some(call) = feed.block(block).parent.filter(|&call| feed.contains(call)) {
            let behind = stands_for(feed, call);
            if behind != call {
                self.look_again(call);
                self.look_again(behind);
            }
        }
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
        if self.is_agent_another(feed, block) {
            feed.rows_within(block).for_each(|id| self.look_again(id));
        }
    }

    /// Whether a call's agent may be called something else than when the rows within it were looked at, and that is asked for.
    fn is_agent_another(&mut self, feed: &Feed, block: BlockId) -> bool {
        let call = match &feed.block(block).body {
            BlockBody::ToolCall(call) if self.query.asks_for_agent() => call,
            _ => return false,
        };
        // What comes later is looked at as it is then.
        if feed.tail(block) == block {
            self.agents.remove(&block);
            return false;
        }
        let name = call.agent();
        match self.agents.insert(block, name.clone()) {
            Some(known) => known != name,
            None => true,
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

    pub(super) fn look_again(&mut self, block: BlockId) {
        if self.knows(block) {
            self.due.insert(block);
        }
    }
}
