//! Several sessions that one source carries side by side: which of them a value is of.
//!
//! A connection to an agent's server may carry more than one conversation, and their lines come mixed. Each is a session
//! of its own; what works for one, as a sub-agent does, is part of that.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

/// So many sessions of one source are read: each keeps what it has open.
const MAX_SESSIONS: usize = 1000;

/// Which session a value is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The session of this number, in the order in which they began.
    To(usize),
    /// It names none: it is of the first.
    Untold,
    /// A session of which nothing is read, for this reason.
    Unread(&'static str),
    /// What would have been kept for a session that is to begin, and is too much: it is told in the first one, in these
    /// words.
    LetGo(&'static str),
    /// One session more than are read.
    OneTooMany,
}

/// One dialect's rules for that.
pub(crate) trait Router: fmt::Debug + Send {
    /// Takes the next value.
    fn route(&mut self, value: &Value) -> Route;

    /// What that session has to be told before the value.
    fn before(&mut self) -> Vec<Value> {
        Vec::new()
    }

    /// What the source calls the session of a number that [`Router::route`] gave.
    fn name(&self, number: usize) -> &str;
}

/// What the source calls its sessions, and whoever works for one.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    of: HashMap<String, usize>,
    names: Vec<String>,
}

impl Sessions {
    /// Whether none began.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The session that is called so, or that who is called so works for.
    pub(crate) fn get(&self, name: &str) -> Option<usize> {
        self.of.get(name).copied()
    }

    /// As [`Sessions::get`]; one that is not known begins.
    pub(crate) fn begin(&mut self, name: &str) -> Route {
        if let Some(number) = self.get(name) {
            return Route::To(number);
        }
        let number = self.names.len();
        if number >= MAX_SESSIONS {
            return Route::OneTooMany;
        }
        self.names.push(name.to_owned());
        self.of.insert(name.to_owned(), number);
        Route::To(number)
    }

    /// Who is called so works for the session of this number, unless it is known for something else.
    pub(crate) fn join(&mut self, name: &str, number: usize) {
        self.of.entry(name.to_owned()).or_insert(number);
    }

    /// What the session of this number is called.
    pub(crate) fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }
}
