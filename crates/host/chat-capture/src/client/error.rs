//! Why nothing was sent, or read.

use std::fmt;

/// Why something was not sent.
#[derive(Debug)]
pub enum Error {
    /// The address is none that is spoken to.
    BadEndpoint {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server is away or asks to wait; it is worth trying again, with the same ids.
    Later {
        /// What happened.
        why: String,
        /// How long it asks to wait, in milliseconds.
        after_ms: Option<u64>,
        /// Its status, where it answered.
        status: Option<u16>,
    },
    /// What answers at the address is no server of ours: it may be away, and be back there, or elsewhere.
    NoServer {
        /// Where that is, and what to do.
        why: String,
    },
    /// The server refuses this client.
    Unauthorized {
        /// What it said.
        why: String,
    },
    /// The server knows nothing of that, or this client sees nothing of it: these answers are the same.
    NotFound {
        /// What it said.
        why: String,
    },
    /// The batch is too large for the server.
    TooLarge,
    /// The server refuses the batch, and would each time.
    Refused {
        /// What it said.
        why: String,
    },
    /// Other events have the ids of all of the batch.
    IdsTaken {
        /// What it said.
        why: String,
        /// Which of the batch say the same as those, at another time.
        there: Vec<usize>,
    },
    /// The spool could not be written or read.
    Spool {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::BadEndpoint { url, why } => {
                write!(f, "could not use the endpoint: {why}: {url}")
            }
            Error::Later { why, .. } | Error::NoServer { why } => {
                write!(f, "could not send yet: {why}")
            }
            Error::Unauthorized { why } => write!(f, "could not send: {why}"),
            Error::TooLarge => write!(f, "could not send: the batch is too large"),
            Error::NotFound { why } | Error::Refused { why } | Error::IdsTaken { why, .. } => {
                write!(f, "could not send: {why}")
            }
            Error::Spool {
                doing,
                path,
                source,
            } => write!(
                f,
                "could not {doing} the spool: {source}: {}",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Error {}
