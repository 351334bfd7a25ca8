//! What the disk can refuse.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why bytes could not be kept or read.
#[derive(Debug)]
pub enum Error {
    /// Another process holds the data folder.
    Locked {
        /// The folder, or the one log in it.
        dir: PathBuf,
        /// Who holds it, where its lock file says so.
        pid: Option<u32>,
    },
    /// The text is no session id.
    BadSessionId,
    /// The text is no lower-case hex SHA-256.
    BadHash,
    /// The bytes have another hash than they should.
    HashMismatch,
    /// There is no room; it is worth trying again.
    DiskFull,
    /// The log takes no more events until the server is restarted.
    Degraded {
        /// What happened.
        why: String,
    },
    /// A file that stands in a log's place is none of ours.
    NotALog {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is no log of that session.
    NoSession {
        /// The session.
        session: String,
        /// The folder.
        dir: PathBuf,
    },
    /// Somebody removed the session's log; who only reads makes no other.
    Gone {
        /// The session.
        session: String,
    },
    /// There is a log of that session, so another is not taken in.
    Exists {
        /// The session.
        session: String,
    },
    /// The log was packed away elsewhere, and is to be fetched first.
    PackedAway {
        /// The session.
        session: String,
    },
    /// What is not here may be elsewhere, and cannot be had from there now.
    Elsewhere {
        /// Why.
        why: String,
    },
    /// The session may go on, and a log is compacted only when it is over.
    NotEnded {
        /// The session.
        session: String,
        /// What it does: `busy`, `idle` or `retrying`.
        status: String,
    },
    /// The log is a copy: only its home gives numbers.
    IsCopy {
        /// Whose log it is.
        home: String,
    },
    /// The log is no copy of that home's.
    NotItsCopy {
        /// Whose log was to be copied.
        home: String,
        /// Whose copy it is; `None` where it is nobody's.
        copy_of: Option<String>,
    },
    /// The log and the one that is to be copied have gone on without each other, or that is told as it was once.
    Parted {
        /// The last number here.
        head: u64,
        /// Up to which number both have the same events.
        shared_up_to: u64,
    },
    /// What comes to be copied does not follow what is here.
    Lacking {
        /// The number that is the next one here.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// Another event has that number here, under the same epoch.
    Differs {
        /// The number.
        seq: u64,
    },
    /// What came to be copied is no line of that session's log.
    BadLine {
        /// Its place among those that came, from 0.
        at: usize,
        /// Why.
        why: &'static str,
    },
    /// What was written is not what it was made of.
    NotTheSame {
        /// The log, which is as it was.
        path: PathBuf,
        /// Where the two part.
        why: String,
    },
    /// Anything else the system refused.
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Error::DiskFull,
            _ => Error::Io {
                doing,
                path: path.to_owned(),
                source,
            },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Locked {
                dir,
                pid: Some(pid),
            } => write!(
                f,
                "could not open the data folder: locked by pid {pid}: {}",
                dir.display()
            ),
            Error::Locked { dir, pid: None } => write!(
                f,
                "could not write here: locked by another process: {}",
                dir.display()
            ),
            Error::BadSessionId => write!(
                f,
                "could not take the session id: it is not of the form [A-Za-z0-9_][A-Za-z0-9_-]{{0,63}}"
            ),
            Error::BadHash => write!(
                f,
                "could not take the hash: it is no lower-case hex SHA-256"
            ),
            Error::HashMismatch => write!(f, "could not keep the body: its hash is another"),
            Error::DiskFull => write!(f, "could not write: the disk is full"),
            Error::Degraded { why } => write!(f, "could not write: the log is read-only: {why}"),
            Error::NotALog { path, why } => {
                write!(f, "could not open the log: {why}: {}", path.display())
            }
            Error::NoSession { session, dir } => {
                write!(f, "could not find the session {session}: {}", dir.display())
            }
            Error::Gone { session } => {
                write!(f, "could not read the log: somebody removed it: {session}")
            }
            Error::Exists { session } => {
                write!(
                    f,
                    "could not take in the session: there is a log of it: {session}"
                )
            }
            Error::PackedAway { session } => write!(
                f,
                "could not open the log: it was packed away, and is to be fetched first: {session}"
            ),
            Error::Elsewhere { why } => write!(f, "could not get the body: {why}"),
            Error::NotEnded { session, status } => write!(
                f,
                "could not compact {session}: it has not ended, it is {status}"
            ),
            Error::IsCopy { home } => {
                write!(f, "could not append: the log is a copy of {home}'s")
            }
            Error::NotItsCopy {
                home,
                copy_of: Some(copy_of),
            } => write!(
                f,
                "could not copy from {home}: the log is a copy of {copy_of}'s"
            ),
            Error::NotItsCopy {
                home,
                copy_of: None,
            } => write!(f, "could not copy from {home}: the log is no copy"),
            Error::Parted { head, shared_up_to } => write!(
                f,
                "could not copy the log: it has events up to {head} here, and shares those up to {shared_up_to}"
            ),
            Error::Lacking { expected, found } => write!(
                f,
                "could not copy event {found}: event {expected} is the next one"
            ),
            Error::Differs { seq } => {
                write!(f, "could not copy event {seq}: another has its number here")
            }
            Error::BadLine { at, why } => write!(f, "could not copy line {at}: {why}"),
            Error::NotTheSame { path, why } => write!(
                f,
                "could not compact the log: read back it is not the same: {why}: {}",
                path.display()
            ),
            Error::Io {
                doing,
                path,
                source,
            } => write!(f, "could not {doing}: {source}: {}", path.display()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
