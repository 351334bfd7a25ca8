//! OpenCode: its event bus, `opencode run --format json` and `opencode export`.
//!
//! All three say the same messages and parts, so what a part means stands once: `session` (turns, nesting), `messages`
//! (which answer is for what), `parts` and `texts` (what they hold), `calls` (tools) and the files below them. How each
//! dialect brings the parts stands in `events`, `run` and `export`. Event ids are made of the parts' own, so that the
//! three agree. The other way, from ChatEvents to the bus, is in `out`. Seen: 1.1.49, 1.18.33 and 1.18.34.

mod asks;
mod bus_sessions;
mod calls;
mod edits;
mod events;
mod export;
mod forget;
mod messages;
mod next;
mod out;
mod parts;
mod run;
mod session;
mod set_backs;
mod shapes;
mod texts;
mod times;
mod tools;

pub(crate) use bus_sessions::BusSessions;
pub(crate) use edits::Edits;
pub(crate) use events::OpenCodeEvents;
pub(crate) use export::OpenCodeExport;
pub use out::{OpenCodeOut, to_opencode_events};
pub(crate) use run::OpenCodeRun;
pub(crate) use shapes::{Shape, is_of, session_of};
pub(crate) use tools::{kind as tool_kind, summary as tool_summary, title as tool_title};
