//! A message of the assistant, and which pieces it is made of.

use chat_event::ChatEvent;

use super::text::{Parts, Text};
use super::{CallKey, Conversation, EntryBody, EntryKey};
use crate::renderer::seen::hash;

/// An assistant message.
#[derive(Debug, Default)]
pub(in crate::projections) struct Response {
    /// What it is made of, in the order it began.
    pub(in crate::projections) blocks: Vec<Block>,
    /// Where a text began after all calls before it had their results: what was said with knowledge of these.
    pub(in crate::projections) rounds: Vec<usize>,
    pub(super) id_hash: Option<u64>,
    pub(super) texts: Parts,
    pub(super) thinking: Parts,
    pub(super) n_calls_in_round: usize,
    pub(super) n_open_calls: usize,
}

#[derive(Debug)]
pub(in crate::projections) enum Block {
    Text(Text),
    Thinking(Text),
    Call(CallKey),
    /// A message to another agent.
    Message(Box<ChatEvent>),
    /// Taken back, or moved to the message it belongs to.
    Gone,
}

/// Which response a piece without a `responseId` may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    /// One that has no id either.
    Unnamed,
    /// The newest, whichever it is: a call follows the text it comes with.
    Any,
}

impl Conversation {
    /// The response that a piece belongs to, new where there is none yet.
    pub(super) fn response(
        &mut self,
        scope: Option<CallKey>,
        event: &ChatEvent,
        joins: Joins,
    ) -> EntryKey {
        let id_hash = event.response_id.as_deref().map(hash);
        let known = match id_hash {
            Some(id_hash) => self.responses.get(&(scope, id_hash)).copied(),
            None => {
                let newest = self.newest.get(&scope).copied();
                newest.filter(|newest| self.may_join(*newest, joins))
            }
        };
        let entry = known.unwrap_or_else(|| {
            let response = Response {
                id_hash,
                ..Response::default()
            };
            let entry = self.new_entry(scope, event, EntryBody::Response(response));
            if let Some(id_hash) = id_hash {
                self.responses.insert((scope, id_hash), entry);
            }
            entry
        });
        self.newest.insert(scope, entry);
        entry
    }

    fn may_join(&self, entry: EntryKey, joins: Joins) -> bool {
        let Some(entry) = self.entries.get(&entry) else {
            return false;
        };
        let named =
            matches!(&entry.body, EntryBody::Response(response) if response.id_hash.is_some());
        entry.turn == self.turn && (joins == Joins::Any || !named)
    }

    /// The message that an entry is.
    pub(super) fn response_mut(&mut self, entry: EntryKey) -> Option<&mut Response> {
        match &mut self.entries.get_mut(&entry)?.body {
            EntryBody::Response(response) => Some(response),
            EntryBody::Event(_) => None,
        }
    }

    /// Adds a block to a response and returns where it stands.
    pub(super) fn add_block(&mut self, entry: EntryKey, block: Block, n_bytes: usize) -> usize {
        self.add_bytes(entry, n_bytes);
        let Some(response) = self.response_mut(entry) else {
            return 0;
        };
        response.blocks.push(block);
        response.blocks.len() - 1
    }
}
