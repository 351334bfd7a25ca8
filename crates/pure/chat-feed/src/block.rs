//! The shown unit: a block is one row of the feed, and all that a component needs to draw it.
//!
//! Blocks hold facts, not pixels: whether one is open, selected or measured is kept elsewhere, by [`BlockId`].

use chat_event::{Body, Json, payload};

use crate::projections::TokenCounts;
use crate::tool::{ToolKind, ToolStatus};

/// Names a block for as long as its feed lives; dense from 0, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);
chat_event::pack_fields!(BlockId { 0 });

/// Names a turn: its index in [`crate::Feed::turns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnIdx(pub u32);
chat_event::pack_fields!(TurnIdx { 0 });

/// Names a response (one assistant message): its index in [`crate::Feed::responses`].
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
    /// How far a long step is.
    Progress(payload::Progress),
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
        /// What.
        text: String,
        /// The line of the source it is about, from 1.
        line: Option<u64>,
        /// Who says so.
        source: Option<String>,
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
        /// Why.
        reason: String,
    },
    /// Events are missing here.
    Gap(payload::LogGap),
    /// The end of a turn: what it took.
    TurnEnd(Box<TurnEndBlock>),
}
chat_event::pack_variants!(BlockBody { 0 => Interrupt { reason }, 1 => Prompt(prompt), 2 => Text(text), 3 => Thinking(thinking), 4 => ToolCall(call), 5 => FileEdit(edit), 6 => AgentMessage(message), 7 => Permission(permission), 8 => Question(question), 9 => Plan(entries), 10 => Progress(progress), 11 => AgentSwitch(switch), 12 => Error { code, message, count }, 13 => Audio { chunks, duration_ms, done, sound }, 14 => Compaction(told), 15 => Notice { warning, text, line, source }, 16 => Raw { label, value }, 17 => SessionStart(start), 18 => SessionEnd { reason }, 19 => Gap(gap), 20 => TurnEnd(end) });

impl BlockBody {
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

/// What kind of Markdown block a text block is. A long block is cut into several rows, each a stretch of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// A paragraph, or anything that has no kind of its own.
    Paragraph,
    /// A heading of level 1 to 6.
    Heading(u8),
    /// Lines of a code block.
    Code {
        /// The first word behind the fence.
        language: Box<str>,
        /// So many columns of white space are taken from the start of each line.
        indent: u16,
        /// How many list items it stands in.
        depth: u8,
        /// Whether this row begins the code block.
        begins: bool,
        /// Whether this row ends it (so far).
        ends: bool,
    },
    /// Items of a list, or what goes on within one.
    List {
        /// So many columns of white space are taken from the start of each line.
        indent: u16,
        /// How many list items it stands in.
        depth: u8,
        /// The number of its first item, where that is numbered.
        number: Option<u64>,
    },
    /// Quoted lines.
    Quote,
    /// Rows of a table.
    Table {
        /// How the columns are aligned.
        columns: Box<[Align]>,
        /// Whether its first line is the header, and its second the line under that.
        begins: bool,
    },
    /// A rule between two parts.
    Rule,
    /// A stretch of a line that is too long for markup.
    LongLine,
}
chat_event::pack_variants!(TextKind { 0 => Paragraph, 1 => Heading(level), 2 => Code { language, indent, depth, begins, ends }, 3 => List { indent, depth, number }, 4 => Quote, 5 => Table { columns, begins }, 6 => Rule, 7 => LongLine });

/// Which side the cells of a column keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Where text begins.
    Start,
    /// The middle.
    Center,
    /// Where text ends.
    End,
}
chat_event::pack_variants!(Align { 0 => Start, 1 => Center, 2 => End });

/// A stretch of the assistant's text. Its Markdown: [`crate::Feed::text`].
#[derive(Clone, Debug, PartialEq)]
pub struct TextBlock {
    /// The body it is a stretch of.
    pub text: TextIdx,
    /// Where it starts in the body, in bytes.
    pub start: usize,
    /// Where it ends, in bytes.
    pub end: usize,
    /// What it is.
    pub kind: TextKind,
    /// Whether more may still be added to it.
    pub streaming: bool,
}
chat_event::pack_fields!(TextBlock {
    text,
    start,
    end,
    kind,
    streaming
});

/// One block of thinking. The text itself: [`crate::Feed::text`].
#[derive(Clone, Debug, PartialEq)]
pub struct ThinkingBlock {
    /// Its body.
    pub text: TextIdx,
    /// Whether more may still be added to it.
    pub streaming: bool,
    /// Whether the provider withheld it.
    pub redacted: bool,
    /// From its first to its last event, once it is whole.
    pub duration_ms: Option<u64>,
}
chat_event::pack_fields!(ThinkingBlock {
    text,
    streaming,
    redacted,
    duration_ms
});

/// A tool call with all that came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallBlock {
    /// Links it to the source.
    pub tool_call_id: Box<str>,
    /// The tool, as the provider names it; empty where only the result came.
    pub tool_name: Box<str>,
    /// What sort of tool that is.
    pub kind: ToolKind,
    /// One line of the source's own.
    pub title: Option<String>,
    /// The arguments; `null` until they are whole.
    pub args: Json,
    /// Whether they list things to do ([`ToolCallBlock::plan`]), known without reading them: they lie packed.
    pub lists_steps: bool,
    /// The id of the event that brought them.
    pub args_event: Option<Box<str>>,
    /// The arguments while they stream, as JSON text so far.
    pub input: Option<TextIdx>,
    /// What it has printed so far.
    pub output: Option<TextIdx>,
    /// What it gave.
    pub result: Option<Json>,
    /// Whether the result is more than opens by itself ([`crate::long_text::OPEN_BYTES`]), known without reading it.
    pub result_is_large: bool,
    /// The id of the event that said so.
    pub result_event: Option<Box<str>>,
    /// What came along with the result: `[{name?, mediaType, data | ref}]`.
    pub attachments: Option<Json>,
    /// Why it failed.
    pub error: Option<payload::ToolError>,
    /// One line of the source's own about the result.
    pub summary: Option<String>,
    /// A command's exit code.
    pub exit_code: Option<i64>,
    /// How far it is, while it runs.
    pub progress: Option<payload::Progress>,
    /// Where it stands.
    pub status: ToolStatus,
    /// Whether it has to wait until somebody answers.
    pub waits: bool,
    /// Whether that was answered by no: it does not run, and what it gives is still to come.
    pub denied: bool,
    /// When it was called, Unix epoch in milliseconds.
    pub called_ms: Option<i64>,
    /// When that was answered, from where on it runs.
    pub allowed_ms: Option<i64>,
    /// The row of the request for it that was answered last.
    pub asked: Option<BlockId>,
    /// How long it took, in milliseconds: as the source says, else by the events' times.
    pub duration_ms: Option<u64>,
    /// The event that gave its result, or ended it without one.
    pub settled_event: Option<EventIdx>,
    /// How many rows lie within it.
    pub steps: u32,
    /// Whether its result came without a call.
    pub orphan: bool,
    /// How many further results contradicted the first.
    pub conflicts: u32,
}
chat_event::pack_fields!(ToolCallBlock {
    tool_call_id,
    tool_name,
    kind,
    title,
    args,
    lists_steps,
    args_event,
    input,
    output,
    result,
    result_is_large,
    result_event,
    attachments,
    error,
    summary,
    exit_code,
    progress,
    status,
    waits,
    denied,
    called_ms,
    allowed_ms,
    asked,
    duration_ms,
    settled_event,
    steps,
    orphan,
    conflicts
});

/// A changed file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileEditBlock {
    /// The facts.
    pub edit: payload::FileEdit,
    /// The tool call that did it, where that is in the feed.
    pub call: Option<BlockId>,
}
chat_event::pack_fields!(FileEditBlock { edit, call });

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

/// A request for permission.
#[derive(Clone, Debug, PartialEq)]
pub struct PermissionBlock {
    /// What is asked; of an answer that came first, only the id.
    pub request: payload::PermissionRequest,
    /// The row of the call that was asked for, once that is answered.
    pub call: Option<BlockId>,
    /// The answer.
    pub resolved: Option<payload::PermissionResolved>,
    /// When it was given, Unix epoch in milliseconds.
    pub answered_ms: Option<i64>,
    /// Whether it can no longer be answered.
    pub expired: bool,
}
chat_event::pack_fields!(PermissionBlock {
    request,
    call,
    resolved,
    answered_ms,
    expired
});

/// Questions to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionBlock {
    /// What is asked; of answers that came first, only the id.
    pub request: payload::QuestionRequest,
    /// The answers.
    pub resolved: Option<payload::QuestionResolved>,
    /// When they were given, Unix epoch in milliseconds.
    pub answered_ms: Option<i64>,
    /// Whether they can no longer be answered.
    pub expired: bool,
}
chat_event::pack_fields!(QuestionBlock {
    request,
    resolved,
    answered_ms,
    expired
});

/// What a turn took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnEndBlock {
    /// `completed`, `interrupted` or `failed`.
    pub outcome: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: Option<u64>,
    /// The model that answered last in it.
    pub model: Option<String>,
    /// Tokens, counted as the session's are.
    pub tokens: Option<TokenCounts>,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
}

impl TurnEndBlock {
    /// Whether nothing is known of what it took, and nothing went wrong.
    pub fn says_nothing(&self) -> bool {
        let went_on = !matches!(self.outcome.as_deref(), Some("failed" | "interrupted"));
        let n_tokens = self.tokens.map_or(0, |tokens| tokens.total());
        let took = self.duration_ms.and_then(crate::units::told_duration);
        went_on
            && took.is_none()
            && n_tokens == 0
            && self.model.is_none()
            && self.cost_usd.is_none()
    }
}

chat_event::pack_fields!(TurnEndBlock {
    outcome,
    duration_ms,
    model,
    tokens,
    cost_usd
});
