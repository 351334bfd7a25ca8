//! What each event made, so that it can be taken back.

use chat_event::ChatEvent;

use super::{Block, CallKey, Conversation, EntryKey};
use crate::renderer::seen::hash;

/// What an event made, in case it is taken back.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    Entry(EntryKey),
    Block(EntryKey, usize),
    Call(CallKey),
    Edit(CallKey, usize),
}

impl Conversation {
    /// Remembers what an event made.
    pub(super) fn own(&mut self, event: &ChatEvent, entry: EntryKey, owner: Owner) {
        if event.id.is_empty() {
            return;
        }
        let id_hash = hash(&event.id);
        if let Some(entry) = self.entries.get_mut(&entry) {
            entry.hashes.push(id_hash);
            self.owners.insert(id_hash, owner);
        }
        self.add_bytes(entry, size_of::<(u64, Owner)>() * 2);
    }

    /// Takes out what an event made.
    pub(super) fn retract(&mut self, event_id: &str) {
        let Some(owner) = self.owners.get(&hash(event_id)).copied() else {
            return;
        };
        match owner {
            Owner::Entry(entry) => self.remove(entry),
            Owner::Call(call) => self.remove_call(call),
            Owner::Block(entry, block_idx) => {
                let Some(response) = self.response_mut(entry) else {
                    return;
                };
                let Some(block) = response.blocks.get_mut(block_idx) else {
                    return;
                };
                match std::mem::replace(block, Block::Gone) {
                    Block::Text(text) => response.texts.forget(&text, block_idx),
                    Block::Thinking(text) => response.thinking.forget(&text, block_idx),
                    _ => {}
                }
            }
            Owner::Edit(call, edit_idx) => {
                let edits = self.calls.get_mut(&call).map(|call| &mut call.edits);
                if let Some(edit) = edits.and_then(|edits| edits.get_mut(edit_idx)) {
                    edit.edit = None;
                }
            }
        }
    }
}
