//! What the projections share: events put together to the messages and calls they are pieces of.
//!
//! [`Conversation`] takes events and gives [`Tree`]s: one entry of the main conversation with all that sub-agents did
//! within its calls. The newest of them are kept in a window, because what comes later may still change them: the text
//! of a `_done` wins over chunks, a result finds its call, a `retract` takes out what it names. What leaves the window
//! is finished; what is said of it later is shown where it came. How a tree is worded is left to each projection.
//!
//! Where entries lie follows [`crate::ChatRenderer`], but for pieces without a `responseId`: these join the newest
//! response until a result or a prompt comes, so that each round of a model's work is a message of its own.

mod call;
mod text;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::{ChatEvent, Payload};

pub(super) use call::{Call, CallKey};
pub(super) use text::Text;
pub(super) use tree::Tree;

use crate::piece::Piece;
use crate::renderer::seen::{Seen, hash};
use text::Parts;

/// How much is kept open. Everything in a log up to about this size is put together whatever its order.
pub(super) const WINDOW_BYTES: usize = 32 << 20;

/// What an entry, a call or a block costs beside its texts, about.
const OVERHEAD_BYTES: usize = 256;

/// Sub-agents of sub-agents below this depth are shown in the call around them, so that walking a tree is safe.
const MAX_DEPTH: u32 = 64;

/// Names an entry; ascending in the order they came.
pub(super) type EntryKey = u64;

/// One thing that happened.
#[derive(Debug)]
pub(super) struct Entry {
    /// The call whose sub-agent did it.
    pub(super) parent: Option<CallKey>,
    /// Names the turn; equal for what belongs together.
    pub(super) turn: u64,
    /// Which agent.
    pub(super) agent_id: Option<Box<str>>,
    pub(super) body: EntryBody,
    depth: u32,
    /// The events it was made of, for the table of owners.
    hashes: Vec<u64>,
    n_bytes: usize,
}

#[derive(Debug)]
pub(super) enum EntryBody {
    /// An assistant message.
    Response(Response),
    /// An event that says all by itself.
    Event(Box<ChatEvent>),
}

/// An assistant message.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// What it is made of, in the order it began.
    pub(super) blocks: Vec<Block>,
    /// Where a text began after all calls before it had their results: what was said with knowledge of these.
    pub(super) rounds: Vec<usize>,
    id_hash: Option<u64>,
    texts: Parts,
    thinking: Parts,
    n_calls_in_round: usize,
    n_open_calls: usize,
}

#[derive(Debug)]
pub(super) enum Block {
    Text(Text),
    Thinking(Text),
    Call(CallKey),
    /// A message to another agent.
    Message(Box<ChatEvent>),
    /// Taken back, or moved to the message it belongs to.
    Gone,
}

/// What an event made, in case it is taken back.
#[derive(Clone, Copy, Debug)]
enum Owner {
    Entry(EntryKey),
    Block(EntryKey, usize),
    Call(CallKey),
    Edit(CallKey, usize),
}

/// Puts events together.
#[derive(Debug)]
pub(super) struct Conversation {
    window_bytes: usize,
    held_bytes: usize,
    seen: Seen,
    next_key: u64,
    entries: BTreeMap<EntryKey, Entry>,
    /// The entries of the main conversation.
    roots: BTreeSet<EntryKey>,
    calls: BTreeMap<CallKey, Call>,
    /// The newest call of an id.
    call_ids: HashMap<Box<str>, CallKey>,
    responses: HashMap<(Option<CallKey>, u64), EntryKey>,
    /// The response that a piece without a `responseId` may join.
    newest: HashMap<Option<CallKey>, EntryKey>,
    owners: HashMap<u64, Owner>,
    turn: u64,
    n_unnamed_turns: u64,
    /// Turns that a user began and whose prompt was not told yet, with their first answer where there is one: a prompt
    /// that is told late stands before it.
    unprompted: HashMap<u64, Option<EntryKey>>,
    /// Whether a turn without an id began just now, so that the next prompt is its own.
    turn_waits_for_prompt: bool,
}

impl Default for Conversation {
    fn default() -> Self {
        Self::with_window(WINDOW_BYTES)
    }
}

impl Conversation {
    /// A conversation that keeps about `window_bytes` open.
    pub(super) fn with_window(window_bytes: usize) -> Self {
        Conversation {
            window_bytes,
            held_bytes: 0,
            seen: Seen::default(),
            next_key: 1,
            entries: BTreeMap::new(),
            roots: BTreeSet::new(),
            calls: BTreeMap::new(),
            call_ids: HashMap::new(),
            responses: HashMap::new(),
            newest: HashMap::new(),
            owners: HashMap::new(),
            turn: 0,
            n_unnamed_turns: 0,
            unprompted: HashMap::new(),
            turn_waits_for_prompt: false,
        }
    }

    /// Notes an event; true where it was not seen before.
    pub(super) fn is_new(&mut self, event: &ChatEvent) -> bool {
        self.seen.is_new(event)
    }

    /// Names the turn of the event that was pushed last.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// What is still open, as it would be given now: entries in order, and calls by their keys.
    pub(super) fn open(&self) -> (impl Iterator<Item = &Entry>, &BTreeMap<CallKey, Call>) {
        (self.entries.values(), &self.calls)
    }

    /// Takes an event that is new; what is finished goes to `finished`.
    pub(super) fn push(&mut self, event: &ChatEvent, finished: &mut impl FnMut(Tree)) {
        self.take(event);
        while self.held_bytes > self.window_bytes
            && let Some(tree) = self.pop()
        {
            finished(tree);
        }
    }

    /// Gives all that is left.
    pub(super) fn finish(&mut self, finished: &mut impl FnMut(Tree)) {
        while self.finish_next(finished) {}
    }

    /// Gives the next of what is left; false where nothing is.
    pub(super) fn finish_next(&mut self, finished: &mut impl FnMut(Tree)) -> bool {
        self.pop().map(finished).is_some()
    }

    /// Forgets all that is open.
    pub(super) fn forget(&mut self) {
        while self.pop().is_some() {}
    }

    fn take(&mut self, event: &ChatEvent) {
        self.note_turn(event);
        match &event.payload {
            Payload::AssistantChunk(chunk) => {
                self.text(
                    event,
                    Piece::chunk(&chunk.text, chunk.part, chunk.index),
                    false,
                );
            }
            Payload::AssistantDone(done) => {
                self.text(event, Piece::done(&done.text, done.part), false);
            }
            Payload::ThinkingChunk(chunk) => {
                self.text(
                    event,
                    Piece::chunk(&chunk.text, chunk.part, chunk.index),
                    true,
                );
            }
            Payload::ThinkingDone(done) => {
                let mut piece = Piece::done(&done.text, done.part);
                piece.redacted = done.redacted.unwrap_or_default();
                self.text(event, piece, true);
            }
            Payload::ToolCall(call) => self.tool_call(event, call),
            Payload::ToolInputChunk(chunk) => self.tool_input_chunk(event, chunk),
            Payload::ToolOutputChunk(chunk) => self.tool_output_chunk(event, chunk),
            Payload::ToolResult(result) => self.tool_result(event, result),
            Payload::FileEdit(edit) => self.file_edit(event, edit),
            Payload::AgentMessage(message) => {
                let scope = self.scope(event);
                let entry = self.response(scope, event, Joins::Any);
                let cost = message.message.preview().len() + OVERHEAD_BYTES;
                let block = Block::Message(Box::new(event.clone()));
                let block_idx = self.add_block(entry, block, cost);
                self.own(event, entry, Owner::Block(entry, block_idx));
            }
            Payload::Retract(retract) => {
                for id in &retract.event_ids {
                    self.retract(id);
                }
            }
            // What a log says about itself is not part of the session; but that some of it is lost, is.
            Payload::LogStart(_) | Payload::LogEpoch(_) | Payload::LogEnd(_) => {}
            Payload::TurnStart(_)
            | Payload::TurnEnd(_)
            | Payload::UserMessage(_)
            | Payload::UserAudio(_)
            | Payload::AgentCallback(_)
            | Payload::AgentSwitch(_)
            | Payload::Interrupt(_)
            | Payload::ErrorEvent(_)
            | Payload::AudioChunk(_)
            | Payload::AudioDone(_)
            | Payload::SessionStart(_)
            | Payload::SessionEnd(_)
            | Payload::SessionStatus(_)
            | Payload::Progress(_)
            | Payload::Plan(_)
            | Payload::PermissionRequest(_)
            | Payload::PermissionResolved(_)
            | Payload::QuestionRequest(_)
            | Payload::QuestionResolved(_)
            | Payload::Usage(_)
            | Payload::Compaction(_)
            | Payload::Notice(_)
            | Payload::Raw(_)
            | Payload::LogGap(_)
            | Payload::Unknown { .. }
            | Payload::Malformed { .. } => self.event(event),
        }
        if matches!(event.payload, Payload::TurnEnd(_)) {
            self.begin_unnamed_turn();
        }
    }

    /// Events without a `turnId` belong to the turn before them, until that is over.
    fn note_turn(&mut self, event: &ChatEvent) {
        match (&event.turn_id, &event.payload) {
            (Some(id), _) => self.turn = hash(id),
            (None, Payload::TurnStart(_)) => {
                self.begin_unnamed_turn();
                self.turn_waits_for_prompt = true;
                return;
            }
            (None, Payload::UserMessage(_) | Payload::UserAudio(_))
                if event.parent_tool_call_id.is_none() && !self.turn_waits_for_prompt =>
            {
                self.begin_unnamed_turn();
            }
            (None, _) => {}
        }
        self.turn_waits_for_prompt = false;
    }

    fn begin_unnamed_turn(&mut self) {
        self.n_unnamed_turns += 1;
        self.turn = self.n_unnamed_turns;
    }

    /// An event that is an entry of its own.
    fn event(&mut self, event: &ChatEvent) {
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

    fn new_entry(
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

    fn depth_of(&self, call: CallKey) -> u32 {
        let home = self.calls.get(&call).map(|call| call.home);
        let entry = home.and_then(|home| self.entries.get(&home));
        entry.map_or(0, |entry| entry.depth)
    }

    fn add_bytes(&mut self, entry: EntryKey, n_bytes: usize) {
        if let Some(entry) = self.entries.get_mut(&entry) {
            entry.n_bytes = entry.n_bytes.saturating_add(n_bytes);
            self.held_bytes = self.held_bytes.saturating_add(n_bytes);
        }
    }

    /// The response that a piece belongs to, new where there is none yet.
    fn response(&mut self, scope: Option<CallKey>, event: &ChatEvent, joins: Joins) -> EntryKey {
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

    fn response_mut(&mut self, entry: EntryKey) -> Option<&mut Response> {
        match &mut self.entries.get_mut(&entry)?.body {
            EntryBody::Response(response) => Some(response),
            EntryBody::Event(_) => None,
        }
    }

    /// Adds a block to a response and returns where it stands.
    fn add_block(&mut self, entry: EntryKey, block: Block, n_bytes: usize) -> usize {
        self.add_bytes(entry, n_bytes);
        let Some(response) = self.response_mut(entry) else {
            return 0;
        };
        response.blocks.push(block);
        response.blocks.len() - 1
    }

    /// Remembers what an event made.
    fn own(&mut self, event: &ChatEvent, entry: EntryKey, owner: Owner) {
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
    fn retract(&mut self, event_id: &str) {
        let Some(owner) = self.owners.get(&hash(event_id)).copied() else {
            return;
        };
        match owner {
            Owner::Entry(entry) => self.remove(entry),
            Owner::Call(call) => self.remove_call(call),
            Owner::Block(entry, block_idx) => {
                let response = self.response_mut(entry);
                if let Some(block) = response.and_then(|found| found.blocks.get_mut(block_idx)) {
                    *block = Block::Gone;
                }
            }
            Owner::Edit(call, edit_idx) => {
                let edits = self.calls.get_mut(&call).map(|call| &mut call.edits);
                if let Some(edit) = edits.and_then(|edits| edits.get_mut(edit_idx)) {
                    *edit = None;
                }
            }
        }
    }
}

/// Which response a piece without a `responseId` may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joins {
    /// One that has no id either.
    Unnamed,
    /// The newest, whichever it is: a call follows the text it comes with.
    Any,
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
