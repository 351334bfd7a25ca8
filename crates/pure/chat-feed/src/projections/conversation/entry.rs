//! One thing that happened, and its place among the others.

use chat_event::{ChatEvent, Payload};

use super::owner::Owner;
use super::{CallKey, Conversation, OVERHEAD_BYTES, Response, call};

/// Names an entry; ascending in the order they came.
pub(in crate::projections) type EntryKey = u64;

/// One thing that happened.
#[derive(Debug)]
pub(in crate::projections) struct Entry {
    /// The call whose sub-agent did it.
    pub(in crate::projections) parent: Option<CallKey>,
    /// Names the turn; equal for what belongs together.
    pub(in crate::projections) turn: u64,
    /// Which agent.
    pub(in crate::projections) agent_id: Option<Box<str>>,
    pub(in crate::projections) body: EntryBody,
    depth: u32,
    /// The events it was made of, for the table of owners.
    pub(super) hashes: Vec<u64>,
    pub(super) n_bytes: usize,
}

#[derive(Debug)]
pub(in crate::projections) enum EntryBody {
    /// An assistant message.
    Response(Response),
    /// An event that says all by itself.
    Event(Box<ChatEvent>),
}

impl Conversation {
    /// An event that is an entry of its own.
    pub(super) fn event(&mut self, event: &ChatEvent) {
        let scope = self.scope(event);
        // What is said after these begins anew.
        if matches!(
            event.payload,
            Payload::TurnStart(_)
                | Payload::TurnEnd(_)
                | Payload::UserMessage(_)
                | Payload::UserAudio(_)
                | Payload::AgentCallback(_)
                | Payload::Interrupt(_)
        ) {
            self.newest.remove(&scope);
        }
        let entry = self.new_entry(scope, event, EntryBody::Event(Box::new(event.clone())));
        self.add_bytes(entry, cost_of(&event.payload));
        self.own(event, entry, Owner::Entry(entry));
    }

    /// A new entry, with its place among the others.
    pub(super) fn new_entry(
        &mut self,
        parent: Option<CallKey>,
        event: &ChatEvent,
        body: EntryBody,
    ) -> EntryKey {
        let key = self.key_for(parent, &body);
        let mut depth = 0;
        match parent {
            None => {
                self.roots.insert(key);
            }
            Some(parent) => {
                depth = self.depth_of(parent) + 1;
                if let Some(call) = self.calls.get_mut(&parent) {
                    call.children.push(key);
                }
            }
        }
        let entry = Entry {
            parent,
            turn: self.turn,
            agent_id: event.agent_id.as_deref().map(Into::into),
            body,
            depth,
            hashes: Vec::new(),
            n_bytes: 0,
        };
        self.entries.insert(key, entry);
        self.add_bytes(key, OVERHEAD_BYTES);
        key
    }

    /// The place of an entry: behind all others, but for the prompt of a turn that is told after its answer began.
    fn key_for(&mut self, parent: Option<CallKey>, body: &EntryBody) -> EntryKey {
        let key = self.next_key;
        // Room for one entry before each.
        self.next_key += 2;
        if parent.is_some() {
            return key;
        }
        match body {
            EntryBody::Response(_) => {
                if let Some(answer) = self.unprompted.get_mut(&self.turn) {
                    answer.get_or_insert(key);
                }
                key
            }
            EntryBody::Event(event) => match &event.payload {
                Payload::TurnStart(start) => {
                    if start.trigger == "user" {
                        self.unprompted.entry(self.turn).or_insert(None);
                    }
                    key
                }
                Payload::UserMessage(_) | Payload::UserAudio(_) => {
                    let answer = self.unprompted.remove(&self.turn).flatten();
                    let open = answer.filter(|answer| self.entries.contains_key(answer));
                    open.map_or(key, |answer| answer.saturating_sub(1))
                }
                Payload::TurnEnd(_) => {
                    self.unprompted.remove(&self.turn);
                    key
                }
                _ => key,
            },
        }
    }

    /// In how many calls the entry lies that made a call.
    pub(super) fn depth_of(&self, call: CallKey) -> u32 {
        let home = self.calls.get(&call).map(|call| call.home);
        let entry = home.and_then(|home| self.entries.get(&home));
        entry.map_or(0, |entry| entry.depth)
    }

    /// Counts what an entry keeps in memory.
    pub(super) fn add_bytes(&mut self, entry: EntryKey, n_bytes: usize) {
        if let Some(entry) = self.entries.get_mut(&entry) {
            entry.n_bytes = entry.n_bytes.saturating_add(n_bytes);
            self.held_bytes = self.held_bytes.saturating_add(n_bytes);
        }
    }
}

/// How much an event of its own keeps in memory, about.
fn cost_of(payload: &Payload) -> usize {
    match payload {
        Payload::UserMessage(message) => {
            let attached = message.attachments.as_ref();
            message.text.preview().len() + attached.map_or(0, |json| json.text_len())
        }
        Payload::UserAudio(audio) => audio.transcription.len(),
        Payload::AgentCallback(callback) => callback.result.preview().len(),
        Payload::AudioChunk(chunk) => chunk.data.as_ref().map_or(0, String::len),
        Payload::FileEdit(edit) => call::cost_of_edit(edit),
        Payload::PermissionRequest(request) => {
            request.args.as_ref().map_or(0, |json| json.text_len())
        }
        Payload::QuestionRequest(request) => request.questions.len().saturating_mul(512),
        Payload::Plan(plan) => plan
            .entries
            .iter()
            .map(|entry| entry.content.len() + 64)
            .sum(),
        Payload::Compaction(told) => told.summary.as_ref().map_or(0, String::len),
        Payload::Notice(notice) => notice.text.len(),
        Payload::ErrorEvent(error) => error.message.len(),
        Payload::SessionStart(start) => start.tools.as_ref().map_or(0, |json| json.text_len()),
        Payload::Raw(raw) => raw.value.text_len(),
        Payload::Unknown { value, .. } | Payload::Malformed { value, .. } => value.text_len(),
        _ => 0,
    }
}
