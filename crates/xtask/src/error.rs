//! The one error type of this program: what could not be done, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line was not understood.
    Usage(String),
    /// Something this program does not install itself is not there.
    Missing { what: String, remedy: String },
    /// A step did not do its work; `why` holds what is known.
    Failed { what: String, why: String },
    /// A child process ended badly after saying why on its own.
    Child {
        command_line: String,
        status: String,
    },
    /// A file or folder could not be read or written.
    File {
        doing: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn file(doing: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File {
            doing,
            path: path.to_owned(),
            source,
        }
    }

    /// 2 for a command line that was not understood, as other tools do; 1 for the rest.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Missing { .. } | Self::Failed { .. } | Self::Child { .. } | Self::File { .. } => {
                1
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(why) => write!(
                f,
                "could not read the command line: {why}\nSee `cargo xtask --help`"
            ),
            Self::Missing { what, remedy } => write!(f, "could not find {what}\n{remedy}"),
            Self::Failed { what, why } => write!(f, "could not {what}: {why}"),
            Self::Child {
                command_line,
                status,
            } => write!(f, "could not finish: {status}: {command_line}"),
            Self::File {
                doing,
                path,
                source,
            } => write!(f, "could not {doing}: {source}: {}", path.display()),
        }
    }
}

impl std::error::Error for Error {}
