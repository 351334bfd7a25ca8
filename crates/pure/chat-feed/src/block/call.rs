//! Rows of what the agent does: a tool call, a changed file.

use chat_event::{Json, payload};

use super::{BlockId, EventIdx, TextIdx};
use crate::tool::{ToolKind, ToolStatus};

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
    /// Whether they list things to do (a plan), known without reading them: they lie packed.
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
    /// The id of the event that gave the result.
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
    /// Whether it gave something and goes on in the background: how that ends is still to come.
    pub background: bool,
    /// Whether it has to wait until somebody answers.
    pub waits: bool,
    /// Whether that was answered by no: it does not run, and what it gives is still to come.
    pub denied: bool,
    /// When it was called, Unix epoch in milliseconds.
    pub called_ms: Option<i64>,
    /// When what was asked for it was answered, Unix epoch in milliseconds: it runs from then on.
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
    background,
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
