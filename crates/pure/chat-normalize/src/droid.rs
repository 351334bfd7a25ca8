//! Factory's Droid: `droid exec --output-format stream-json` and the session files below `~/.factory/sessions`.
//!
//! Both name calls by the same ids; what a call and its result mean stands in `talk`, what a line means, in `stream` and
//! `session`. After the program's own documentation and public readers of its files, versions of 2025 and 2026.

mod lines;
mod session;
mod stream;
mod talk;
mod tools;

pub(crate) use lines::{is_session_line, is_stream_line, session_of};
pub(crate) use session::DroidSession;
pub(crate) use stream::DroidStream;

const FORMAT: &str = "droid";
