//! Providers' logs and streams as ChatEvents: the only code that knows providers.
//!
//! - [`SessionReader`] takes bytes in any pieces and gives events; it tells the dialect itself.
//! - [`FolderReader`] does the same for a session of several files; [`SessionFolder`] tells which files those are.
//! - [`LogReader`] reads ChatEvent logs alone: the page has it long before the rules of all others.
//! - [`LogSessions`] finds the sessions of a log that holds several; [`tell_apart`] names their ids apart.
//! - [`Merge`] makes one of several sources of a session.
//! - [`detect`] tells the dialect alone.
//! - [`OpenCodeOut`] goes the other way: ChatEvents as OpenCode's bus would have told them.
//! - Each dialect has a module of its own below these.
//!
//! Nothing here reads a clock, a file or the environment: time comes in as arrival times ([`AT_REST`] for what is no
//! stream), ids come from the source. Any cut of the bytes gives the same events, and the same source gives the same
//! ids. What a line means that cannot be read is a `notice`, what no rule knows a `raw`; nothing is dropped without
//! being counted.
//!
//! How events look is for `chat-feed`, where they are kept for `chat-store`, who runs the agent for `chat-capture`.

mod detect;
mod dialect;
mod folder;
mod log_reader;
mod log_sessions;
mod merge;
mod reader;

mod acp;
mod ag_ui;
mod agent_events;
mod anthropic;
mod ask;
mod chat_events;
mod claude;
mod claude_like;
mod cline;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod droid;
mod gemini;
mod goose;
mod grok;
mod grok_build;
mod kimi;
mod mini_swe_agent;
mod openai;
mod opencode;
mod openhands;
mod pi;
mod qwen;
mod sandbox_agent;
mod swe_agent;
mod vibe;

mod busy;
mod edit;
mod emit;
mod error_words;
mod facts;
mod form;
mod history;
mod open_calls;
mod parse;
mod patch;
mod recent;
mod run_track;
mod set_back;
mod sides;
mod speech;
mod title;
mod told_apart;
mod tool;
mod track;
mod tries;
mod unanswered;
mod untold_edits;
mod value;
mod words;

pub use agent_events::{AgentEventAdapter, AgentEventsOut, system_event, to_agent_events};
pub use cline::TaskLine;
pub use detect::{Detection, HEAD_BYTES, NotASession, detect};
pub use dialect::Dialect;
pub use droid::droid_used;
pub use emit::{AT_REST, Report};
pub use folder::{
    AgentPart, Caller, FolderReader, MAX_RESULT_BYTES, SessionFolder, SessionParts, Want,
    cut_result, kimi_session_at, result_file,
};
pub use log_reader::{Head, LogReader};
pub use log_sessions::{LogSession, LogSessions};
pub use merge::Merge;
pub use opencode::{OpenCodeOut, to_opencode_events};
pub use openhands::{OpenHandsState, OpenHandsWeave, event_number as open_hands_event};
pub use reader::{Context, SessionReader};
pub use title::titled;
pub use told_apart::tell_apart;
