//! All invariants of a feed in one place. Every property test calls it after every event.

use super::ChatRenderer;
use crate::block::{Block, BlockBody, BlockId};
use crate::tool::ToolKind;

impl ChatRenderer {
    /// Holds the feed against everything that is promised of it.
    ///
    /// # Errors
    ///
    /// The first promise that is broken, in words.
    pub fn check(&self) -> Result<(), String> {
        self.check_list()?;
        self.check_turns_and_calls()?;
        self.check_texts()?;
        self.check_counts()?;
        self.check_undone()?;
        for block in self.feed.rows() {
            self.check_nothing_waits(block)?;
            self.check_waits(block)?;
            check_known(block)?;
        }
        Ok(())
    }

    fn check_list(&self) -> Result<(), String> {
        let mut n_rows = 0;
        let mut before: Option<BlockId> = None;
        for block in self.feed.rows() {
            let link = &self.feed.links[block.id.0 as usize];
            if link.prev != before || !link.live {
                return Err(format!("{:?} is not linked behind {before:?}", block.id));
            }
            before = Some(block.id);
            n_rows += 1;
        }
        if before != self.feed.last || n_rows != self.feed.n_rows {
            return Err(format!(
                "{n_rows} rows are linked, {} counted",
                self.feed.n_rows
            ));
        }
        let n_live = self.feed.links.iter().filter(|link| link.live).count();
        match n_live == n_rows {
            true => Ok(()),
            false => Err(format!("{n_rows} rows are linked, {n_live} are live")),
        }
    }

    /// Rows of a turn stand together, rows of a call stand behind it and end with its tail.
    fn check_turns_and_calls(&self) -> Result<(), String> {
        let mut last_of_turn = std::collections::BTreeMap::new();
        let mut newest = None;
        let mut hosts: Vec<BlockId> = Vec::new();
        for block in self.feed.rows() {
            if newest > Some(block.turn) {
                return Err(format!("{:?} stands behind a later turn", block.id));
            }
            newest = Some(block.turn);
            last_of_turn.insert(block.turn, block.id);
            let live_parent = block.parent.filter(|&parent| self.feed.contains(parent));
            while hosts.last().is_some_and(|&host| Some(host) != live_parent) {
                let Some(host) = hosts.pop() else { break };
                let tail = self.feed.tail(host);
                if self.feed.prev(block.id) != Some(tail) && !self.is_within(tail, &hosts) {
                    return Err(format!("{host:?} ends before its tail {tail:?}"));
                }
            }
            if let Some(parent) = live_parent
                && hosts.last() != Some(&parent)
            {
                return Err(format!("{:?} does not stand within {parent:?}", block.id));
            }
            if self.feed.tail(block.id) != block.id {
                hosts.push(block.id);
            }
        }
        for (turn, last) in last_of_turn {
            if self.turn_works[turn.0 as usize].last != Some(last) {
                return Err(format!("{turn:?} ends with {last:?} and does not know it"));
            }
        }
        Ok(())
    }

    fn is_within(&self, row: BlockId, hosts: &[BlockId]) -> bool {
        let mut host = self.feed.block(row).parent;
        while let Some(parent) = host {
            if hosts.contains(&parent) {
                return true;
            }
            host = self.feed.block(parent).parent;
        }
        false
    }

    /// The rows of a text are stretches of it, in order.
    fn check_texts(&self) -> Result<(), String> {
        let mut ends = std::collections::BTreeMap::new();
        for block in self.feed.rows() {
            let BlockBody::Text(text) = &block.body else {
                continue;
            };
            let whole = self.feed.stream(text.text);
            if whole.get(text.start..text.end).is_none() {
                return Err(format!("{:?} is no stretch of its text", block.id));
            }
            let end = ends.insert(text.text.0, text.end);
            if end.is_some_and(|end| end > text.start) {
                return Err(format!("{:?} overlaps the row before it", block.id));
            }
        }
        Ok(())
    }

    /// What a turn says of its edits is what its rows say.
    fn check_counts(&self) -> Result<(), String> {
        let mut counted = vec![(0, 0, 0); self.feed.turns().len()];
        for block in self.feed.rows() {
            if let BlockBody::FileEdit(edit) = &block.body {
                let (edits, added, removed) = &mut counted[block.turn.0 as usize];
                *edits += 1;
                *added += u64::from(edit.edit.lines_added);
                *removed += u64::from(edit.edit.lines_removed);
            }
        }
        for (turn_idx, (turn, counted)) in self.feed.turns().iter().zip(counted).enumerate() {
            let told = (
                turn.edits,
                turn.lines_added.into(),
                turn.lines_removed.into(),
            );
            // Counts that have no room stop at the most they can say.
            let is_full = turn.lines_added == u32::MAX || turn.lines_removed == u32::MAX;
            if told != counted && !is_full {
                return Err(format!(
                    "turn {turn_idx} says {told:?} of its edits, its rows {counted:?}"
                ));
            }
        }
        Ok(())
    }

    /// Those turns are undone of which a row says so that is there.
    fn check_undone(&self) -> Result<(), String> {
        for (turn_idx, turn) in self.feed.turns().iter().enumerate() {
            let told = turn.id.as_deref().and_then(|id| self.undone(id));
            let by = turn.undone.map(|undone| undone.by);
            let is_told = by.is_none_or(|by| self.feed.contains(by));
            if !is_told || (turn.undone != told && !self.closed) {
                return Err(format!(
                    "turn {turn_idx} is undone: {:?}, its notices say {told:?}",
                    turn.undone
                ));
            }
        }
        Ok(())
    }

    fn check_nothing_waits(&self, block: &Block) -> Result<(), String> {
        let goes_on = self.background.contains_key(&block.id);
        if let BlockBody::ToolCall(call) = &block.body
            && goes_on != (call.background && call.status.runs())
        {
            return Err(format!(
                "{:?} goes on in the background: {goes_on}",
                block.id
            ));
        }
        if goes_on || !self.is_over_around(block.id) || self.free_asks.contains(&block.id) {
            return Ok(());
        }
        let waits = match &block.body {
            BlockBody::Text(text) => text.streaming,
            BlockBody::Thinking(thinking) => thinking.streaming,
            BlockBody::ToolCall(call) => call.status.runs(),
            BlockBody::Permission(ask) => ask.resolved.is_none() && !ask.expired,
            BlockBody::Question(ask) => ask.resolved.is_none() && !ask.expired,
            BlockBody::Audio { done, .. } => !done,
            BlockBody::Progress(progress) => !progress.over,
            _ => false,
        };
        match waits {
            true => Err(format!("{:?} waits although its turn is over", block.id)),
            false => Ok(()),
        }
    }
    /// A call waits while it runs and something is asked for it.
    fn check_waits(&self, block: &Block) -> Result<(), String> {
        let BlockBody::ToolCall(call) = &block.body else {
            return Ok(());
        };
        let waits = call.status.runs() && self.is_asked_for(&call.tool_call_id);
        match call.waits == waits {
            true => Ok(()),
            false => Err(format!("{:?} says that it waits: {}", block.id, call.waits)),
        }
    }
}

/// What is known of a call without reading it is what it says.
fn check_known(block: &Block) -> Result<(), String> {
    let BlockBody::ToolCall(call) = &block.body else {
        return Ok(());
    };
    let lists_steps = call.kind == ToolKind::Plan && call.plan().is_some();
    match call.lists_steps == lists_steps {
        true => Ok(()),
        false => Err(format!("{:?} is known to list other steps", block.id)),
    }
}
