//! Why the file of tokens was not read or changed.

use std::fmt;
use std::io;
use std::path::Path;

use axum::http::StatusCode;

use crate::error::ApiError;

/// How long who comes with a token that cannot be held against the file waits before it comes again.
const COME_AGAIN_MS: u64 = 5000;

/// Why not, with words for who runs the server: they name files.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The file is there, and is none that can be read.
    Unreadable(String),
    /// There are as many as there may be.
    Full(String),
    /// The disk has no room.
    DiskFull(String),
    /// Anything else the system refused.
    Io(String),
}

impl Refusal {
    pub(super) fn io(doing: &str, path: &Path, why: &io::Error) -> Self {
        let said = format!("could not {doing}: {why}: {}", path.display());
        match why.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Refusal::DiskFull(said),
            _ => Refusal::Io(said),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Refusal::Unreadable(said)
        | Refusal::Full(said)
        | Refusal::DiskFull(said)
        | Refusal::Io(said)) = self;
        f.write_str(said)
    }
}

impl From<Refusal> for String {
    fn from(why: Refusal) -> Self {
        why.to_string()
    }
}

/// To who asked over the network: the cause names paths of this machine, and stays in our own log.
impl From<Refusal> for ApiError {
    fn from(why: Refusal) -> Self {
        tracing::error!("{why}");
        match why {
            Refusal::Full(said) => ApiError::new(StatusCode::CONFLICT, "too_many_tokens", said),
            Refusal::DiskFull(_) => chat_store::Error::DiskFull.into(),
            Refusal::Unreadable(_) => unreadable(),
            Refusal::Io(_) => {
                let message = "the server could not write its tokens; its log says why";
                ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
            }
        }
    }
}

/// To who comes with a token that may be a good one, or makes one, while the file cannot be read.
pub(crate) fn unreadable() -> ApiError {
    let message = "the server cannot read its tokens; its log says why";
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "tokens_unreadable",
        message,
    )
    .retry_after(COME_AGAIN_MS)
}
