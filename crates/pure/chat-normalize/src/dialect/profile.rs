//! What is known of a format: what it is called, how it is told, how it is laid out, and who reads it.

use serde_json::Value;

use super::Normalizer;
use crate::reader::Context;
use crate::sides::Router;

/// What is known of a dialect. Its module says it of itself.
pub(crate) struct Profile {
    /// The word it goes by on a command line.
    pub(crate) word: &'static str,
    /// Its name, for people.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) origin: Origin,
    pub(crate) sessions: Sessions,
    /// Whether the source says when a turn is over; where it does not, a quiet period tells.
    pub(crate) tells_turn_end: bool,
    /// Whether a call's edits may be told apart from its result, after other events.
    pub(crate) tells_edits_late: bool,
    /// Whether a value is of this dialect: `None` no, `Some(false)` likely, `Some(true)` for sure.
    pub(crate) recognise: fn(&Value) -> Option<bool>,
    /// The session that a value of this dialect names.
    pub(crate) session_of: fn(&Value) -> Option<String>,
    pub(crate) make: fn(&Context) -> Box<dyn Normalizer>,
}

/// How the values of a source are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A value to a line; the lines of an event stream (`data: …`) are read as well.
    Lines,
    /// One document, on one line or many. Of one that is cut off, the whole items of its list are read.
    Document,
}

/// Who writes a source, which says what its end means where its own rules do not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is a file, read to its end. One that is read again while it grows is the same each time.
    File,
    /// One run of a program prints it; at its end that program is gone.
    Run,
    /// A server sends it, which stands for many runs; at its end that server is gone.
    Server,
    /// It is a log of ChatEvents, which says itself when its session ends.
    Log,
}

/// How many sessions a source may hold.
#[derive(Clone, Copy)]
pub(crate) enum Sessions {
    One,
    /// One that the source names at its end, if it does: the beginnings of all are the same.
    NamedLate,
    /// One after the other: what each value says of the session it stands in.
    InTurn(fn(&Value) -> Naming<'_>),
    /// Several at once: who tells them apart.
    SideBySide(fn() -> Box<dyn Router>),
}

/// What a value says of the session it stands in, where a source can go on in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming<'v> {
    /// This session begins with it, or goes on.
    Begins(&'v str),
    /// It comes before a session begins; what it calls that may be no session's name.
    Before(&'v str),
    /// Nothing else than all others.
    Untold,
}
