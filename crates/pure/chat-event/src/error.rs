//! What can be wrong with an event, a cursor or a frame.

use std::fmt;

/// Why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The text is no JSON object, or one without what every event has.
    NoEvent {
        /// Which field or character is wrong, and how.
        reason: String,
    },
    /// The nesting is deeper than [`crate::MAX_DEPTH`].
    TooDeep,
    /// The text is no cursor.
    BadCursor,
    /// The text is no frame.
    BadFrame {
        /// What is wrong.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoEvent { reason } => write!(f, "could not read the event: {reason}"),
            Error::TooDeep => write!(
                f,
                "could not read the event: nested deeper than {}",
                crate::MAX_DEPTH
            ),
            Error::BadCursor => {
                f.write_str("could not read the cursor: it is not of the form v1.<epoch>.<seq>")
            }
            Error::BadFrame { reason } => write!(f, "could not read the frame: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

/// serde_json's message without its " at line 1 column 17": a log's reader knows the line better, and the column of a
/// payload read apart would be wrong.
pub(crate) fn without_position(message: &str) -> &str {
    match message.rfind(" at line ") {
        Some(at) => &message[..at],
        None => message,
    }
}
