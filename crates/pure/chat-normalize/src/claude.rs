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
pub(crate) use lines::is_stream_line;
pub(crate) use session::{Session, lost_result, task_result};
pub(crate) use stream::ClaudeStream;
pub(crate) use task_end::TaskEnd;
pub(crate) use tools::{kind as tool_kind, summary as tool_summary, title as tool_title};
pub(crate) use transcript::attachments;
pub(crate) use usage::usage as usage_of;

use crate::dialect::{Form, Origin, Profile, Sessions};
use hooks::{ClaudeHooks, is_hook_input};
use lines::{is_transcript_line, naming};
use transcript::ClaudeTranscript;

pub(crate) static HOOKS: Profile = Profile {
    word: "claude-hooks",
    name: "Claude Code hook input",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_hook_input,
    session_of: |_| None,
    make: |_| Box::new(ClaudeHooks::new()),
};

pub(crate) static STREAM: Profile = Profile {
    word: "claude-stream",
    name: "Claude Code stream-json",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::InTurn(naming),
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_stream_line,
    session_of: |_| None,
    make: |context| Box::new(ClaudeStream::new(context.prompt.clone())),
};

pub(crate) static TRANSCRIPT: Profile = Profile {
    word: "claude-transcript",
    name: "Claude Code transcript",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_transcript_line,
    session_of: |_| None,
    make: |_| Box::new(ClaudeTranscript::new()),
};
