//! The shown unit: a block is one row of the feed, and all that a component needs to draw it.
//!
//! Blocks hold facts, not pixels: whether one is open, selected or measured is kept elsewhere, by [`BlockId`].

mod asked;
mod call;
mod progress;
mod text;
mod turn_end;

use chat_event::{Body, Json, payload};

pub use asked::{PermissionBlock, QuestionBlock};
pub use call::{FileEditBlock, ToolCallBlock};
pub use progress::ProgressBlock;
pub use text::{Align, TextBlock, TextKind, ThinkingBlock};
pub use turn_end::TurnEndBlock;

/// Names a block for as long as its feed lives; dense from 0, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);
chat_event::pack_fields!(BlockId { 0 });

/// Names a turn: its index in [`crate::Feed::turns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnIdx(pub u32);
chat_event::pack_fields!(TurnIdx { 0 });

/// Names a response (one assistant message): its index in `Feed::responses`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponseIdx(pub u32);
chat_event::pack_fields!(ResponseIdx { 0 });

/// Names a body of streamed text: its index among the feed's bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextIdx(pub u32);
chat_event::pack_fields!(TextIdx { 0 });

/// How many events the renderer had taken before this one: 0 for the first.
pub type EventIdx = u32;

/// One row of the feed.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Its name.
    pub id: BlockId,
    /// The turn it belongs to.
    pub turn: TurnIdx,
    /// The response it belongs to, where it is part of one.
    pub response: Option<ResponseIdx>,
    /// The tool call it is shown within, for what a sub-agent did.
    pub parent: Option<BlockId>,
    /// How many tool calls it is nested in.
    pub depth: u16,
    /// The id of the event that made it.
    pub event_id: Box<str>,
    /// The event that made it.
    pub first_event: EventIdx,
    /// When that first event happened, Unix epoch in milliseconds.
    pub at_ms: Option<i64>,
    /// What it shows.
    pub body: BlockBody,
}
chat_event::pack_fields!(Block {
    id,
    turn,
    response,
    parent,
    depth,
    event_id,
    first_event,
    at_ms,
    body
});

/// What a block shows. What few rows are is boxed: most rows are of text, and all take the room of the largest.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockBody {
    /// What the user (or another agent, or the system) asked.
    Prompt(Box<Prompt>),
    /// A paragraph, heading, list or any other block of the assistant's text.
    Text(TextBlock),
    /// The assistant's thinking.
    Thinking(ThinkingBlock),
    /// A tool call with its result.
    ToolCall(Box<ToolCallBlock>),
    /// A changed file.
    FileEdit(Box<FileEditBlock>),
    /// A message to another agent, with its answer.
    AgentMessage(Box<AgentMessageBlock>),
    /// A request for permission, with its answer.
    Permission(Box<PermissionBlock>),
    /// Questions, with their answers.
    Question(Box<QuestionBlock>),
    /// The newest plan of its turn.
    Plan(Vec<payload::PlanEntry>),
    /// How far a long step is, or was.
    Progress(ProgressBlock),
    /// Another agent took over.
    AgentSwitch(payload::AgentSwitch),
    /// The turn was stopped.
    Interrupt {
        /// `user_cancel`, `timeout`, `error` …
        reason: String,
    },
    /// Something failed; the same failure again counts up.
    Error {
        /// A short word for the kind of failure.
        code: String,
        /// What happened.
        message: String,
        /// How often in a row.
        count: u32,
        /// How often the provider had been asked again before.
        retries: u32,
        /// How long that went on, in milliseconds.
        retried_ms: Option<u64>,
    },
    /// Spoken answer.
    Audio {
        /// How many pieces have come.
        chunks: u32,
        /// Length in milliseconds, once it is whole.
        duration_ms: Option<u64>,
        /// Whether it is whole.
        done: bool,
        /// The pieces that the log holds, each on a line of its own: [`crate::media::Sound::joined`].
        sound: Option<TextIdx>,
    },
    /// The context was made shorter.
    Compaction(payload::Compaction),
    /// Something a reader should know.
    Notice {
        /// Whether it is a warning.
        warning: bool,
        /// What is told.
        text: String,
        /// The line of the source it is about, from 1.
        line: Option<u64>,
        /// Who says so.
        source: Option<String>,
        /// What stands in a line that could not be read, as far as it is kept.
        found: Option<String>,
    },
    /// What nobody has a rule for: a provider's raw line, an unknown or malformed event.
    Raw {
        /// The format or type, and what is wrong with it.
        label: String,
        /// The JSON.
        value: Json,
    },
    /// The session as its source introduces it.
    SessionStart(Box<payload::SessionStart>),
    /// The source is at its end.
    SessionEnd {
        /// Why, in words of the source.
        reason: String,
    },
    /// Events are missing here.
    Gap(payload::LogGap),
    /// The end of a turn: what it took.
    TurnEnd(Box<TurnEndBlock>),
}
chat_event::pack_variants!(BlockBody { 0 => Interrupt { reason }, 1 => Prompt(prompt), 2 => Text(text), 3 => Thinking(thinking), 4 => ToolCall(call), 5 => FileEdit(edit), 6 => AgentMessage(message), 7 => Permission(permission), 8 => Question(question), 9 => Plan(entries), 10 => Progress(progress), 11 => AgentSwitch(switch), 12 => Error { code, message, count, retries, retried_ms }, 13 => Audio { chunks, duration_ms, done, sound }, 14 => Compaction(told), 15 => Notice { warning, text, line, source, found }, 16 => Raw { label, value }, 17 => SessionStart(start), 18 => SessionEnd { reason }, 19 => Gap(gap), 20 => TurnEnd(end) });

impl BlockBody {
    /// Whether it asks for something that nobody has answered, and that can still be answered.
    pub fn waits(&self) -> bool {
        match self {
            BlockBody::Permission(ask) => ask.resolved.is_none() && !ask.expired,
            BlockBody::Question(ask) => ask.resolved.is_none() && !ask.expired,
            _ => false,
        }
    }

    /// Whether something of the log could not be read, or was lost, where this row stands.
    pub fn is_damage(&self) -> bool {
        match self {
            BlockBody::Gap(gap) => gap.n_missing() > 0,
            // The words of whoever reads a file, not of the agent.
            BlockBody::Notice {
                warning, source, ..
            } => *warning && source.as_deref() == Some("reader"),
            _ => false,
        }
    }
}

/// What started a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// What was written; `None` while the source has not told.
    pub text: Option<Body>,
    /// Whether it was spoken.
    pub spoken: bool,
    /// `[{name?, mediaType, data | ref}]`
    pub attachments: Option<Json>,
    /// `user`, `callback` or `system`.
    pub trigger: Box<str>,
    /// When the turn began that the prompt before it is of, Unix epoch in milliseconds.
    pub before_ms: Option<i64>,
}
chat_event::pack_fields!(Prompt {
    text,
    spoken,
    attachments,
    trigger,
    before_ms
});

/// A message to another agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentMessageBlock {
    /// Links it to its callback.
    pub message_id: Box<str>,
    /// From whom; empty for the session's own agent.
    pub sender: Box<str>,
    /// To whom; empty where only the answer came.
    pub target: Box<str>,
    /// The hues of both, from 1: the session's own agent has the first.
    pub sender_hue: u8,
    /// See `sender_hue`.
    pub target_hue: u8,
    /// What was said.
    pub message: Option<Body>,
    /// The id of the event that said it.
    pub message_event: Option<Box<str>>,
    /// Whether the sender waits.
    pub wait: bool,
    /// The answer.
    pub result: Option<Body>,
    /// The id of the event that brought it.
    pub result_event: Option<Box<str>>,
}
chat_event::pack_fields!(AgentMessageBlock {
    message_id,
    sender,
    target,
    sender_hue,
    target_hue,
    message,
    message_event,
    wait,
    result,
    result_event
});
