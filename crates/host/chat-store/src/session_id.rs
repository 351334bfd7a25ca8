//! Session ids, and the file names made of them.

use crate::blobs::sha256_hex;
use crate::error::Error;

/// A session's id: `[A-Za-z0-9_][A-Za-z0-9_-]{0,63}`, never a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Takes an id that fits.
    ///
    /// # Errors
    ///
    /// [`Error::BadSessionId`] for any other text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if chat_event::session_id::fits(text) {
            Ok(SessionId(text.to_owned()))
        } else {
            Err(Error::BadSessionId)
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file name without its ending.
    ///
    /// Disks that ignore case would make one file of `S1` and `s1`, and some names are reserved on some systems; the hash
    /// keeps them apart.
    pub fn stem(&self) -> String {
        let hash = sha256_hex(self.0.as_bytes());
        format!("{}-{}", self.0.to_ascii_lowercase(), &hash[..8])
    }
}

/// Ids stand in the order of their texts: of a map of them a part is had by any text.
impl std::borrow::Borrow<str> for SessionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_differ_only_in_case_have_different_files() {
        let upper = SessionId::parse("S1").unwrap().stem();
        let lower = SessionId::parse("s1").unwrap().stem();
        assert_ne!(upper, lower);
        assert!(upper.starts_with("s1-") && lower.starts_with("s1-"));
    }

    #[test]
    fn paths_and_options_are_no_ids() {
        for text in [
            "", ".", "..", "../x", "x/y", "-rf", "x y", "x\0y", "é", "x.",
        ] {
            assert!(SessionId::parse(text).is_err(), "{text:?}");
        }
        assert!(SessionId::parse(&"a".repeat(64)).is_ok());
        assert!(SessionId::parse(&"a".repeat(65)).is_err());
    }
}
