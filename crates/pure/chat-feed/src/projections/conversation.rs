//! What the projections share: events put together to the messages and calls they are pieces of.
//!
//! [`Conversation`] takes events and gives [`Tree`]s: one entry of the main conversation with all that sub-agents did
//! within its calls. The newest of them are kept in a window, because what comes later may still change them: the text
//! of a `_done` wins over chunks, a result finds its call, a `retract` takes out what it names. What leaves the window
//! is finished; what is said of it later is shown where it came. How a tree is worded is left to each projection.
//!
//! Where entries lie follows [`crate::ChatRenderer`], but for pieces without a `responseId`: these join the newest
//! response until a result or a prompt comes, so that each round of a model's work is a message of its own.

mod asked;
mod call;
mod entry;
mod owner;
mod response;
mod text;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chat_event::{ChatEvent, Payload};

pub(super) use call::{Call, CallKey};
pub(super) use entry::{Entry, EntryBody, EntryKey};
pub(super) use response::{Block, Response};
pub(super) use tree::Tree;

use crate::piece::Piece;
use crate::renderer::seen::{Seen, hash};
use asked::Asks;
use owner::Owner;
use response::Joins;

/// How much is kept open. Everything in a log up to about this size is put together whatever its order.
pub(super) const WINDOW_BYTES: usize = 32 << 20;

/// What an entry, a call or a block costs beside its texts, about.
const OVERHEAD_BYTES: usize = 256;

/// Sub-agents of sub-agents below this depth are shown in the call around them, so that walking a tree is safe.
const MAX_DEPTH: u32 = 64;

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
    asks: Asks,
    turn: u64,
    /// Whether it ended with the event before.
    turn_is_over: bool,
    /// The turn with an id that began last, until it ends.
    open_named: Option<u64>,
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
            asks: Asks::default(),
            turn: 0,
            turn_is_over: false,
            open_named: None,
            n_unnamed_turns: 0,
            unprompted: HashMap::new(),
            turn_waits_for_prompt: false,
        }
    }

    /// Notes an event; true where it was not seen before.
    pub(super) fn is_new(&mut self, event: &ChatEvent) -> bool {
        self.seen.is_new(event)
    }

    /// Names the turn of the event that was pushed last, also of one that ended it.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// What was used and names no turn is of the one that goes on; behind its end it is of none, as what a compaction takes
    /// between two turns.
    pub(super) fn note_usage_of_no_turn(&mut self) {
        if std::mem::take(&mut self.turn_is_over) {
            match self.open_named {
                Some(turn) => self.turn = turn,
                None => self.begin_unnamed_turn(),
            }
        }
    }

    /// What is still open, as it would be given now: entries by their places, and calls by their keys.
    pub(super) fn open(&self) -> (&BTreeMap<EntryKey, Entry>, &BTreeMap<CallKey, Call>) {
        (&self.entries, &self.calls)
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
        self.note_ask(event);
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
        let ends = matches!(event.payload, Payload::TurnEnd(_));
        self.turn_is_over = ends;
        if ends && self.open_named == Some(self.turn) {
            self.open_named = None;
        }
    }

    /// Events without a `turnId` belong to the turn before them, until that is over.
    fn note_turn(&mut self, event: &ChatEvent) {
        if std::mem::take(&mut self.turn_is_over) {
            self.begin_unnamed_turn();
        }
        match (&event.turn_id, &event.payload) {
            (Some(id), payload) => {
                self.turn = hash(id);
                if event.parent_tool_call_id.is_none() && matches!(payload, Payload::TurnStart(_)) {
                    self.open_named = Some(self.turn);
                }
            }
            (None, Payload::TurnStart(_)) => {
                self.begin_unnamed_turn();
                self.turn_waits_for_prompt = true;
                return;
            }
            (None, Payload::UserMessage(_) | Payload::UserAudio(_))
                if event.parent_tool_call_id.is_none() && !self.turn_waits_for_prompt =>
            {
                match self.open_named {
                    Some(turn) => self.turn = turn,
                    None => self.begin_unnamed_turn(),
                }
            }
            (None, _) => {}
        }
        self.turn_waits_for_prompt = false;
    }

    fn begin_unnamed_turn(&mut self) {
        self.n_unnamed_turns += 1;
        self.turn = self.n_unnamed_turns;
    }
}
