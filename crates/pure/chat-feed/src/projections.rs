//! Projections of the event log: what others want of a session, made from its events alone.
//!
//! Each is a struct that takes one event at a time and hands on what is finished, so that a log of any length can be
//! projected while it is read; a function of the same name does it for a slice. What is on screen is no projection of
//! this kind: that is [`crate::ChatRenderer`]'s.

mod conversation;
pub(crate) mod plain;

mod openai;

mod claude_prompt;

mod early_answers;

pub(crate) mod summary;

mod markdown;

pub mod trace;

mod two_sources;

pub use claude_prompt::{ClaudePrompt, TextSink, to_claude_prompt};
pub use markdown::{Markdown, to_markdown};
pub use openai::{
    MessageSink, OpenAiCallType, OpenAiContent, OpenAiFunction, OpenAiImageUrl, OpenAiMessage,
    OpenAiMessages, OpenAiPart, OpenAiToolCall, to_openai_messages,
};
pub use summary::{
    FileSummary, SessionOutcome, SessionSummarizer, SessionSummary, TokenCounts, ToolCallCounts,
    to_session_summary,
};
pub use trace::to_tool_trace;
