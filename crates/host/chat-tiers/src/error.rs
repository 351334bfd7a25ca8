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
    /// The store gives back another object than was put there, or none: somebody, or something, changed or removed it.
    Damaged {
        /// What was to be done.
        what: &'static str,
        /// What is wrong.
        why: &'static str,
        /// The object, below the prefix of the address.
        key: String,
    },
    /// The data folder refused: a log, or a body beside it.
    Log(chat_store::Error),
    /// This machine refused anything else: a file that is read to be copied, or written with what is fetched.
    Local {
        /// What was to be done.
        what: &'static str,
        /// What it said.
        why: String,
    },
}

impl Error {
    pub(crate) fn store(what: &'static str, why: impl fmt::Display) -> Self {
        let why = why.to_string();
        Error::Store { what, why }
    }

    pub(crate) fn local(what: &'static str, why: impl fmt::Display) -> Self {
        let why = why.to_string();
        Error::Local { what, why }
    }

    /// Whether it says nothing of the store: what is asked of it next may be done.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Error::Log(_) | Error::Local { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store { what, why } | Error::Local { what, why } => {
                write!(f, "could not {what}: {why}")
            }
            Error::Damaged { what, why, key } => write!(f, "could not {what}: {why}: {key}"),
            // It says what could not be done, and where.
            Error::Log(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<chat_store::Error> for Error {
    fn from(why: chat_store::Error) -> Self {
        Error::Log(why)
    }
}
