//! Where calls lie: the one an event is about, the one it is within, and places for calls that did not come yet.

use chat_event::{ChatEvent, Json};

use super::{Call, CallKey};
use crate::projections::conversation::{
    Block, Conversation, EntryBody, EntryKey, Joins, MAX_DEPTH, OVERHEAD_BYTES, Response,
};
use crate::tool::ToolKind;

impl Conversation {
    /// The call that an event of a sub-agent belongs to.
    pub(in crate::projections::conversation) fn scope(
        &mut self,
        event: &ChatEvent,
    ) -> Option<CallKey> {
        let id = event.parent_tool_call_id.as_deref()?;
        let mut host = match self.call_ids.get(id) {
            Some(&call) => call,
            None => self.placeholder(None, id, event),
        };
        while self.depth_of(host) >= MAX_DEPTH {
            let home = self.calls.get(&host)?.home;
            host = self.entries.get(&home)?.parent?;
        }
        Some(host)
    }

    /// The call that an event begins or goes on with, in the response it belongs to.
    pub(super) fn call_of(&mut self, event: &ChatEvent, id: &str) -> CallKey {
        let scope = self.scope(event);
        let turn = self.turn;
        let known = self.call_ids.get(id).copied().filter(|key| {
            // A source that counts its calls anew in every turn means another call by the same id.
            let call = self.calls.get(key);
            call.is_some_and(|call| call.turn == turn || call.result.is_none() || !call.called)
        });
        let Some(key) = known else {
            let entry = self.response(scope, event, Joins::Any);
            return self.new_call(entry, id, true);
        };
        let Some(call) = self.calls.get(&key).filter(|call| !call.called) else {
            return key;
        };
        // So far it only stood for the call that something was a part of.
        let (old_home, old_idx) = (call.home, call.block_idx);
        let old_scope = self.entries.get(&old_home).and_then(|entry| entry.parent);
        let moves = old_scope == scope || (call.children.is_empty() && scope != Some(key));
        let answered = call.result.is_some();
        if moves {
            let entry = self.response(scope, event, Joins::Any);
            let block_idx = self.add_block(entry, Block::Call(key), 0);
            let old = self.response_mut(old_home);
            if let Some(block) = old.and_then(|response| response.blocks.get_mut(old_idx)) {
                *block = Block::Gone;
            }
            self.move_bytes(old_home, entry);
            if let Some(call) = self.calls.get_mut(&key) {
                call.home = entry;
                call.block_idx = block_idx;
            }
        }
        if let Some(call) = self.calls.get_mut(&key) {
            call.called = true;
            call.turn = turn;
            let home = call.home;
            self.count_call(home, !answered);
        }
        key
    }

    /// What a placeholder was made of goes with its call.
    fn move_bytes(&mut self, from: EntryKey, to: EntryKey) {
        let Some(old) = self.entries.get_mut(&from) else {
            return;
        };
        let hashes = std::mem::take(&mut old.hashes);
        let n_bytes = old.n_bytes.saturating_sub(OVERHEAD_BYTES);
        old.n_bytes -= n_bytes;
        if let Some(new) = self.entries.get_mut(&to) {
            new.hashes.extend(hashes);
            new.n_bytes += n_bytes;
        }
    }

    pub(super) fn call_or_placeholder(&mut self, event: &ChatEvent, id: &str) -> CallKey {
        if let Some(&key) = self.call_ids.get(id) {
            return key;
        }
        let scope = self.scope(event);
        // Asking for the scope may have made it.
        match self.call_ids.get(id) {
            Some(&key) => key,
            None => self.placeholder(scope, id, event),
        }
    }

    /// An entry that stands for a call until it comes.
    fn placeholder(&mut self, scope: Option<CallKey>, id: &str, event: &ChatEvent) -> CallKey {
        let body = EntryBody::Response(Response::default());
        let entry = self.new_entry(scope, event, body);
        self.new_call(entry, id, false)
    }

    fn new_call(&mut self, entry: EntryKey, id: &str, called: bool) -> CallKey {
        let key = self.next_key;
        self.next_key += 1;
        let block_idx = self.add_block(entry, Block::Call(key), OVERHEAD_BYTES * 2 + id.len());
        let call = Call {
            id: id.into(),
            name: "".into(),
            kind: ToolKind::Other,
            title: None,
            args: Json::default(),
            input: String::new(),
            output: String::new(),
            result: None,
            ended_behind: false,
            n_other_results: 0,
            edits: Vec::new(),
            called,
            called_ms: None,
            allowed_ms: self.asks.early.take(id, Some(self.turn)),
            ran_ms: None,
            children: Vec::new(),
            home: entry,
            block_idx,
            turn: self.turn,
            input_chars: 0,
        };
        self.calls.insert(key, call);
        self.call_ids.insert(id.into(), key);
        if called {
            self.count_call(entry, true);
        }
        key
    }

    fn count_call(&mut self, entry: EntryKey, open: bool) {
        if let Some(response) = self.response_mut(entry) {
            response.n_calls_in_round += 1;
            response.n_open_calls += usize::from(open);
        }
    }

    /// Takes out a call with all that lies within.
    pub(in crate::projections::conversation) fn remove_call(&mut self, key: CallKey) {
        let Some(call) = self.calls.get(&key) else {
            return;
        };
        let (home, block_idx) = (call.home, call.block_idx);
        let open = call.called && call.result.is_none();
        if let Some(response) = self.response_mut(home) {
            if let Some(block) = response.blocks.get_mut(block_idx) {
                *block = Block::Gone;
            }
            response.n_open_calls = response.n_open_calls.saturating_sub(usize::from(open));
        }
        if let Some(call) = self.forget_call(key) {
            for child in call.children {
                self.remove(child);
            }
        }
    }

    /// Takes a call out of the tables.
    pub(in crate::projections::conversation) fn forget_call(
        &mut self,
        key: CallKey,
    ) -> Option<Call> {
        let call = self.calls.remove(&key)?;
        if self.call_ids.get(&call.id) == Some(&key) {
            self.call_ids.remove(&call.id);
        }
        self.newest.remove(&Some(key));
        Some(call)
    }
}
