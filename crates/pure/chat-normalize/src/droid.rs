//! Factory's Droid: `droid exec --output-format stream-json` and the session files below `~/.factory/sessions`.
//!
//! Both name calls by the same ids; what a call and its result mean stands in `talk`, what a line means, in `stream` and
//! `session`. After the program's own documentation and public readers of its files, versions of 2025 and 2026.

mod lines;
mod session;
mod stream;
mod talk;
mod tools;
mod used;

use crate::dialect::{Form, Origin, Profile, Sessions};
use lines::{is_session_line, is_stream_line, session_of};
use session::DroidSession;
use stream::DroidStream;
pub use used::droid_used;
pub(crate) use used::{NOTE, used_in};

pub(crate) static STREAM: Profile = Profile {
    word: "droid-stream",
    name: "Droid stream-json",
    form: Form::Lines,
    origin: Origin::Run,
    sessions: Sessions::One,
    tells_turn_end: true,
    tells_edits_late: false,
    recognise: is_stream_line,
    session_of: |_| None,
    make: |context| Box::new(DroidStream::new(context)),
};

pub(crate) static SESSION: Profile = Profile {
    word: "droid-session",
    name: "Droid session file",
    form: Form::Lines,
    origin: Origin::File,
    sessions: Sessions::One,
    // Older files say no end of a turn.
    tells_turn_end: false,
    tells_edits_late: false,
    recognise: is_session_line,
    session_of,
    make: |context| Box::new(DroidSession::new(context)),
};

const FORMAT: &str = "droid";
