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

impl Error {
    /// What is wrong, for who says before it what could not be read.
    pub fn reason(&self) -> String {
        match self {
            Error::NoEvent { reason } | Error::BadFrame { reason } => reason.clone(),
            Error::TooDeep => format!("it is nested deeper than {}", crate::MAX_DEPTH),
            Error::BadCursor => "it is not of the form v1.<epoch>.<seq>".to_owned(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Error::NoEvent { .. } | Error::TooDeep => "event",
            Error::BadCursor => "cursor",
            Error::BadFrame { .. } => "frame",
        };
        write!(f, "could not read the {what}: {}", self.reason())
    }
}

impl std::error::Error for Error {}

/// What is wrong with a payload: `payload.text: expected a string`, ``payload: missing field `text` ``.
pub(crate) fn in_payload(message: &str) -> String {
    let message = without_position(message);
    let names_a_field = message
        .split_once(": ")
        .is_some_and(|(name, _)| !name.contains(' '));
    match names_a_field {
        true => format!("payload.{message}"),
        false => format!("payload: {message}"),
    }
}

/// serde_json's message without its " at line 1 column 17": a log's reader knows the line better, and the column of a
/// payload read apart would be wrong.
pub(crate) fn without_position(message: &str) -> &str {
    match message.rfind(" at line ") {
        Some(at) => &message[..at],
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::in_payload;

    #[test]
    fn a_field_is_named_by_its_place() {
        assert_eq!(
            in_payload("text: expected a string at line 1 column 9"),
            "payload.text: expected a string"
        );
        assert_eq!(
            in_payload("missing field `text` at line 1 column 2"),
            "payload: missing field `text`"
        );
    }
}
