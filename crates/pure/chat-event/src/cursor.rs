//! Where a reader of a log stands.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The highest number an event can have: browsers hold no higher integer exactly.
pub const MAX_SEQ: u64 = (1 << 53) - 1;

/// A place in a session's log: behind the event `seq` of an epoch.
///
/// ```
/// use chat_event::cursor::Cursor;
/// let cursor: Cursor = "v1.Qm9vdHN0cmFwcGluZ0lzSA.104".parse().unwrap();
/// assert_eq!(cursor.seq, 104);
/// assert_eq!(cursor.to_string(), "v1.Qm9vdHN0cmFwcGluZ0lzSA.104");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The log's epoch: letters, digits, `_` and `-` as base64url has them.
    pub epoch: String,
    /// The last event that was read; 0 before the first.
    pub seq: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1.{}.{}", self.epoch, self.seq)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        read(text).ok_or(Error::BadCursor)
    }
}

fn read(text: &str) -> Option<Cursor> {
    let (epoch, seq) = text.strip_prefix("v1.")?.split_once('.')?;
    // An epoch is 22 characters; more room is left for other writers, but not without end.
    let epoch_fits = (1..=64).contains(&epoch.len())
        && epoch
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    // A cursor has one spelling, so that it can be compared as text.
    let seq_fits =
        seq.bytes().all(|byte| byte.is_ascii_digit()) && (seq == "0" || !seq.starts_with('0'));
    if !epoch_fits || !seq_fits {
        return None;
    }
    let seq = seq.parse().ok().filter(|&seq| seq <= MAX_SEQ)?;
    let epoch = epoch.to_owned();
    Some(Cursor { epoch, seq })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_spelling_is_taken() {
        let refused = [
            "",
            "v1",
            "v1.",
            "v1..1",
            "v2.E.1",
            "v1.E.",
            "v1.E.+1",
            "v1.E.-1",
            "v1.E.01",
            "v1.E.1.5",
            "v1.E.1 ",
            "v1.a/b.1",
            "v1.E.9007199254740992",
            "v1.E.99999999999999999999999",
        ];
        for text in refused {
            assert_eq!(text.parse::<Cursor>(), Err(Error::BadCursor), "{text}");
        }
        for text in ["v1.E.0", "v1.a_-Z9.9007199254740991"] {
            assert_eq!(text.parse::<Cursor>().unwrap().to_string(), text);
        }
    }
}
