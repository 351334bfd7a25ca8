//! The calls that requests are for: they wait while these are open, and take the answers, also those that came before them.

use std::collections::BTreeSet;

use chat_event::payload::is_empty_handed;

use super::ChatRenderer;
use crate::block::{Block, BlockBody, BlockId};

/// What is asked for one call.
#[derive(Clone, Debug, Default)]
pub(super) struct AskedFor {
    /// Requests that are open: the call has to wait.
    open: BTreeSet<BlockId>,
    /// Requests that were answered before the call came, as they were answered. One that was told anew may be for another
    /// call by now.
    answered: Vec<BlockId>,
}
chat_event::pack_fields!(AskedFor { open, answered });

impl ChatRenderer {
    /// A request is open: it is found by its call, and by the side that tells of it.
    pub(super) fn note_open(&mut self, ask: BlockId) {
        let block = self.feed.block(ask);
        if let Some(call_id) = call_id_of(block) {
            let asked = self.asked_for.entry(call_id.into()).or_default();
            asked.open.insert(ask);
        }
        self.open_sides.note(block);
    }

    /// It is open no more, or about to say something else.
    pub(super) fn forget_open(&mut self, ask: BlockId) {
        let block = self.feed.block(ask);
        self.open_sides.forget(block);
        let Some(call_id) = call_id_of(block) else {
            return;
        };
        if let Some(asked) = self.asked_for.get_mut(call_id) {
            asked.open.remove(&ask);
            if asked.open.is_empty() && asked.answered.is_empty() {
                self.asked_for.remove(call_id);
            }
        }
    }

    /// It was answered, and its call is not there yet.
    pub(super) fn note_early_answer(&mut self, ask: BlockId) {
        if let Some(call_id) = call_id_of(self.feed.block(ask)) {
            let asked = self.asked_for.entry(call_id.into()).or_default();
            if asked.answered.last() != Some(&ask) {
                asked.answered.push(ask);
            }
        }
    }

    /// A call came: it takes what was answered before.
    pub(super) fn take_early_answers(&mut self, call: BlockId, call_id: &str) {
        let Some(asked) = self.asked_for.get_mut(call_id) else {
            return;
        };
        let answered = std::mem::take(&mut asked.answered);
        if asked.open.is_empty() {
            self.asked_for.remove(call_id);
        }
        let turn = self.feed.block(call).turn;
        for ask in answered {
            let block = self.feed.block(ask);
            // A source that counts its calls anew in every turn means another one.
            let is_its = block.turn == turn && call_id_of(block) == Some(call_id);
            if !is_its || !self.feed.contains(ask) {
                continue;
            }
            let answered_ms = match &mut self.feed.slot(ask).block.body {
                BlockBody::Permission(block) => {
                    block.call = Some(call);
                    block.answered_ms
                }
                BlockBody::Question(block) => block.answered_ms,
                _ => continue,
            };
            self.update_quietly(ask);
            self.tell_call(ask, call, answered_ms);
        }
    }

    /// Whether something that a call has to wait for is open.
    pub(super) fn is_asked_for(&self, call_id: &str) -> bool {
        let asked = self.asked_for.get(call_id);
        asked.is_some_and(|asked| !asked.open.is_empty())
    }

    /// The row of the call that has to wait for what is asked.
    pub(super) fn row_of_asking_call(&self, ask: BlockId) -> Option<BlockId> {
        let block = self.feed.block(ask);
        self.known_call(call_id_of(block)?, block.turn)
    }

    /// A call waits from here on, or runs: its wait is told by the row of who waited, until the call is done.
    pub(super) fn asking_call_changed(&mut self, ask: BlockId, is_open: bool) {
        if let Some(call) = self.row_of_asking_call(ask) {
            let answered_ms = self.now_ms.filter(|_| !is_open);
            self.tell_call(ask, call, answered_ms);
        }
    }

    /// Tells a call what became of a request for it.
    fn tell_call(&mut self, ask: BlockId, call: BlockId, answered_ms: Option<i64>) {
        let (answered, denied) = match &self.feed.block(ask).body {
            BlockBody::Permission(block) => {
                let resolved = block.resolved.as_ref();
                let denied = resolved.is_some_and(|resolved| resolved.decision == "deny");
                (resolved.is_some(), denied)
            }
            _ => (false, false),
        };
        let block = self.call(call);
        let asked = answered.then_some(ask).or(block.asked);
        let before = (block.waits, block.denied, block.allowed_ms);
        let now = match block.result {
            // What was asked for it can still come to be known; whether it waits is over.
            Some(_) => before,
            None => {
                let waits = block.status.runs() && self.is_asked_for(&block.tool_call_id);
                (waits, denied, answered_ms.max(block.allowed_ms))
            }
        };
        if (before, block.asked) == (now, asked) {
            return;
        }
        let block = self.call_mut(call);
        (block.waits, block.denied, block.allowed_ms) = now;
        block.asked = asked;
        self.update_quietly(call);
    }

    /// Whether a call has its result: what was asked for it waits no more, though the answer may still come to be known.
    pub(super) fn is_done(&self, call: BlockId) -> bool {
        let call = self.call(call);
        let result = call.result.as_ref();
        result.is_some_and(|result| !is_empty_handed(result, call.error.as_ref()))
    }

    /// A call is done.
    pub(super) fn look_whether_asks_wait(&mut self, call: BlockId) {
        let asked = self.asked_for.get(&self.call(call).tool_call_id);
        let open = asked.map(|asked| asked.open.clone());
        for ask in open.unwrap_or_default() {
            if self.row_of_asking_call(ask) == Some(call) {
                self.asked_or_answered(ask);
            }
        }
    }

    /// When a request was answered, by the time of the answer: behind the result of its call nothing waited for it.
    pub(super) fn answered_ms(&self, ask: BlockId) -> Option<i64> {
        let call = self.row_of_asking_call(ask);
        let call = call.filter(|&call| self.is_done(call));
        let done_ms = call.and_then(|call| self.feed.settled_ms(call));
        self.now_ms
            .map(|now_ms| done_ms.map_or(now_ms, |done_ms| done_ms.min(now_ms)))
    }

    /// A request for a call is open no more, and nobody answered it.
    pub(super) fn look_whether_it_waits(&mut self, call: BlockId) {
        let block = self.call(call);
        let waits = block.status.runs() && self.is_asked_for(&block.tool_call_id);
        if block.waits != waits {
            self.call_mut(call).waits = waits;
            self.update_quietly(call);
        }
    }
}

/// The id of the call that has to wait for what is asked.
fn call_id_of(ask: &Block) -> Option<&str> {
    match &ask.body {
        BlockBody::Permission(block) => block.request.tool_call_id.as_deref(),
        BlockBody::Question(block) => block.request.tool_call_id.as_deref(),
        _ => None,
    }
}
