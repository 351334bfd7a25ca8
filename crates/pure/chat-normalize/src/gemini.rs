//! Gemini CLI: `gemini -o stream-json` and the chat files below `~/.gemini/tmp`.
//!
//! A run says the same tool calls by the same ids in both forms, so the events of its calls and results have the same
//! ids; its texts and turns have ids in the chat file alone. Formats: notes on formats, 10.1 and 10.2. Seen: 0.61.0, and
//! chat documents of 2025 and early 2026 from public repositories.

mod chat;
pub(crate) mod messages;
mod stream;
mod tools;

pub(crate) use tools::{kind as tool_kind, plan as tool_plan, title as tool_title};

use crate::dialect::{Form, Origin, Profile, Sessions};
use chat::{GeminiChat, chat_session_of, is_chat_value};
use stream::{GeminiStream, is_stream_line};

pub(crate) static STREAM: Profile = Profile {
    word: "gemini-stream",
    name: "Gemini CLI stream-json",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_stream_line,
    session_of: |_| None,
    make: |context| Box::new(GeminiStream::new(context)),
};

pub(crate) static CHAT: Profile = Profile {
    word: "gemini-chat",
    name: "Gemini CLI chat file",
    form: Form::Document,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_chat_value,
    session_of: chat_session_of,
    make: |_| Box::new(GeminiChat::new()),
};
