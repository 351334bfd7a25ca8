//! Pi: `pi --mode json` and the session files below `~/.pi/agent/sessions`.
//!
//! Both say the same messages, with the same times to the millisecond: ids are made of these, so that both forms of a run
//! give the same events. What a message means stands once, in `talk`; `stream` adds the pieces, `session` the tree.
//! Formats: notes on formats, section 10, the program's own documents on its session files, and recordings of 0.73.1
//! and 1.6.0.

mod edits;
mod session;
mod stream;
mod talk;
mod tools;

use serde_json::Value;

use crate::dialect::{Form, Naming, Origin, Profile, Sessions};
use crate::value::{str_of, text_of};
use session::{PiSession, is_session_line};
use stream::{PiStream, is_stream_line, state_of};

pub(crate) static STREAM: Profile = Profile {
    word: "pi-json",
    name: "Pi JSON",
    form: Form::Lines,
    origin: Origin::Run,
    // RPC mode goes on in another session where one is forked, cloned, opened or begun.
    sessions: Sessions::InTurn(naming),
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_stream_line,
    session_of,
    make: |context| Box::new(PiStream::new(context.prompt.clone())),
};

pub(crate) static SESSION: Profile = Profile {
    word: "pi-session",
    name: "Pi session file",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_session_line,
    session_of,
    make: |_| Box::new(PiSession::new()),
};

/// Whether a line is the first one of either form.
fn is_header(value: &Value) -> bool {
    str_of(value, "type") == Some("session")
        && text_of(value, "id").is_some()
        && text_of(value, "timestamp").is_some()
        && str_of(value, "cwd").is_some()
        && value.get("message").is_none()
}

/// The session a line names.
fn session_of(value: &Value) -> Option<String> {
    id_in(value).map(str::to_owned)
}

fn id_in(value: &Value) -> Option<&str> {
    match state_of(value) {
        Some(state) => text_of(state, "sessionId"),
        None => text_of(value, "id").filter(|_| is_header(value)),
    }
}

fn naming(value: &Value) -> Naming<'_> {
    id_in(value).map_or(Naming::Untold, Naming::Begins)
}
