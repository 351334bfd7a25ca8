//! What can go wrong with a store that others run.

use std::fmt;

/// Why something was not done. It is tried again as long as the process runs.
#[derive(Debug)]
pub enum Error {
    /// The store is away, refuses, or says what cannot be.
    Store {
        /// What was to be done: "connect", "take events".
        what: &'static str,
        /// What it said.
        why: String,
    },
    /// The log could not be read.
    Log(chat_store::Error),
}

impl Error {
    pub(crate) fn store(what: &'static str, why: impl fmt::Display) -> Self {
        let why = why.to_string();
        Error::Store { what, why }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store { what, why } => write!(f, "could not {what}: {why}"),
            Error::Log(why) => write!(f, "could not read a log: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<chat_store::Error> for Error {
    fn from(why: chat_store::Error) -> Self {
        Error::Log(why)
    }
}
