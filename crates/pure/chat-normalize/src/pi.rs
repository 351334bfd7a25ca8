//! Pi: `pi --mode json` and the session files below `~/.pi/agent/sessions`.
//!
//! Both say the same messages, with the same times to the millisecond: ids are made of these, so that both forms of a run
//! give the same events. What a message means stands once, in `talk`; `stream` adds the pieces, `session` the tree.
//! Formats: notes on formats, section 10, the program's own documents on its session files, and recordings of 0.73.1.

mod edits;
mod session;
mod stream;
mod talk;
mod tools;

pub(crate) use session::{PiSession, is_session_line};
pub(crate) use stream::{PiStream, is_stream_line};

use serde_json::Value;

use crate::value::{str_of, text_of};

/// Whether a line is the first one of either form.
fn is_header(value: &Value) -> bool {
    str_of(value, "type") == Some("session")
        && text_of(value, "id").is_some()
        && text_of(value, "timestamp").is_some()
        && str_of(value, "cwd").is_some()
        && value.get("message").is_none()
}

/// The session a line names.
pub(crate) fn session_of(value: &Value) -> Option<String> {
    is_header(value).then(|| str_of(value, "id").unwrap_or("").to_owned())
}
