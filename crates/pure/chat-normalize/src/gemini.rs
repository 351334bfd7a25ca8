//! Gemini CLI: `gemini -o stream-json` and the chat files below `~/.gemini/tmp`.
//!
//! A run says the same tool calls by the same ids in both forms, so the events of its calls and results have the same
//! ids; its texts and turns have ids in the chat file alone. Formats: notes on formats, 10.1 and 10.2. Seen: 0.61.0, and
//! chat documents of 2025 and early 2026 from public repositories.

mod chat;
pub(crate) mod messages;
mod stream;
mod tools;

pub(crate) use chat::{GeminiChat, chat_session_of, is_chat_value};
pub(crate) use stream::{GeminiStream, is_stream_line};
pub(crate) use tools::{kind as tool_kind, plan as tool_plan, title as tool_title};
