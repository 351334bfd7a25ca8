//! What a failure says of a thing that was asked for: that there is none, or only that it was not seen.

use std::io;
use std::path::Path;

/// Whether a failure says that there is no such thing. After any other one, as where too many files are open, a folder may
/// not be entered, or a disk of the network is away, it may be there as it was.
///
/// ```
/// let missing = std::fs::metadata("no such file").unwrap_err();
/// assert!(chat_capture::says_gone(&missing));
/// assert!(!chat_capture::says_gone(&std::io::ErrorKind::PermissionDenied.into()));
/// ```
pub fn says_gone(why: &io::Error) -> bool {
    matches!(
        why.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Whether something is there, or may be: in a folder that cannot be looked into there may be anything.
pub fn may_be_there(path: &Path) -> bool {
    path.metadata().err().is_none_or(|why| !says_gone(&why))
}
