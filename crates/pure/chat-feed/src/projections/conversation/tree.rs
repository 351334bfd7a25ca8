//! What leaves the window: an entry of the main conversation with all that lies within its calls.

use std::collections::BTreeMap;

use super::{Block, Call, CallKey, Conversation, Entry, EntryBody, EntryKey};

/// An entry of the main conversation and what lies within; no deeper than the conversation allows.
#[derive(Debug)]
pub(in crate::projections) struct Tree {
    root: EntryKey,
    entries: BTreeMap<EntryKey, Entry>,
    calls: BTreeMap<CallKey, Call>,
}

impl Tree {
    /// The entry itself.
    pub(in crate::projections) fn root(&self) -> Option<&Entry> {
        self.entries.get(&self.root)
    }

    /// All entries by their places, the root first.
    pub(in crate::projections) fn entries(&self) -> &BTreeMap<EntryKey, Entry> {
        &self.entries
    }

    pub(in crate::projections) fn call(&self, key: CallKey) -> Option<&Call> {
        self.calls.get(&key)
    }

    /// All calls.
    pub(in crate::projections) fn calls(&self) -> &BTreeMap<CallKey, Call> {
        &self.calls
    }

    /// What a call's sub-agent did, in order.
    pub(in crate::projections) fn within(&self, call: &Call) -> impl Iterator<Item = &Entry> {
        let entries = &self.entries;
        call.children.iter().filter_map(|key| entries.get(key))
    }
}

impl Conversation {
    /// Takes the oldest entry of the main conversation out, with all that lies within.
    pub(super) fn pop(&mut self) -> Option<Tree> {
        let root = *self.roots.first()?;
        Some(self.take_out(root))
    }

    /// Forgets an entry and all that lies within.
    pub(super) fn remove(&mut self, key: EntryKey) {
        self.take_out(key);
    }

    fn take_out(&mut self, root: EntryKey) -> Tree {
        let mut tree = Tree {
            root,
            entries: BTreeMap::new(),
            calls: BTreeMap::new(),
        };
        self.roots.remove(&root);
        let mut open = vec![root];
        while let Some(key) = open.pop() {
            let Some(entry) = self.entries.remove(&key) else {
                continue;
            };
            self.held_bytes = self.held_bytes.saturating_sub(entry.n_bytes);
            for id_hash in &entry.hashes {
                self.owners.remove(id_hash);
            }
            if let EntryBody::Response(response) = &entry.body {
                if let Some(id_hash) = response.id_hash {
                    self.responses.remove(&(entry.parent, id_hash));
                }
                for block in &response.blocks {
                    if let Block::Call(call_key) = block
                        && let Some(call) = self.forget_call(*call_key)
                    {
                        open.extend(&call.children);
                        tree.calls.insert(*call_key, call);
                    }
                }
            }
            tree.entries.insert(key, entry);
        }
        tree
    }
}
