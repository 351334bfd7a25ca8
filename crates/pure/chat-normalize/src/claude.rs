//! Claude Code: its stream-json, its transcripts and what it tells hooks.
//!
//! What they have in common stands in `session` (turns, tool calls, messages) and the files below it; what a line of
//! each dialect means, in `stream`, `transcript` and `hooks`. Seen: 1.0.51 to 2.1.330.

mod blocks;
mod edits;
mod hooks;
mod lines;
mod permissions;
mod plan;
mod queue;
mod results;
mod said;
mod seen;
mod session;
mod side_lines;
mod stream;
mod task_end;
mod tools;
mod transcript;
pub(crate) mod tree;
mod usage;

pub(crate) use blocks::call_id_of;
pub(crate) use edits::edit_of;
pub(crate) use hooks::{ClaudeHooks, is_hook_input};
pub(crate) use lines::{is_stream_line, is_transcript_line, naming};
pub(crate) use session::Session;
pub(crate) use stream::ClaudeStream;
pub(crate) use tools::{kind as tool_kind, summary as tool_summary, title as tool_title};
pub(crate) use transcript::{ClaudeTranscript, attachments};
pub(crate) use usage::usage as usage_of;
