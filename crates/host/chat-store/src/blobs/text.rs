//! Bodies as texts that are held in memory, for who has only so much room.

use std::io::Read;

use chat_event::BodyRef;

use super::{Blobs, BodyFile};
use crate::error::Error;

/// A body as a text, for who holds no more than so much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyText {
    /// All of it.
    Text(String),
    /// It is longer than what may be held: so many bytes.
    TooLong(u64),
    /// It is not UTF-8.
    NoText,
    /// It was never stored, or is lost.
    Missing,
}

impl Blobs {
    /// The body that is referred to as a text of at most `most_bytes`, wherever it is. The length that the reference tells is
    /// its producer's word: the body's own counts as well.
    ///
    /// # Errors
    ///
    /// [`Error::Elsewhere`] where it may be there and cannot be had now, and where the disk refuses.
    pub fn text(&self, reference: &BodyRef, most_bytes: u64) -> Result<BodyText, Error> {
        // What is said to be too long is not fetched from elsewhere to learn that it is.
        if reference.bytes > most_bytes {
            return Ok(BodyText::TooLong(reference.bytes));
        }
        let opened = match self.open_anywhere(&reference.sha256) {
            // A reference that has no hash is one to nothing.
            Err(Error::BadHash) => None,
            opened => opened?,
        };
        let Some(BodyFile { file, bytes, .. }) = opened else {
            return Ok(BodyText::Missing);
        };
        if bytes > most_bytes {
            return Ok(BodyText::TooLong(bytes));
        }
        let body = self.read(&reference.sha256, file.take(bytes))?;
        Ok(String::from_utf8(body).map_or(BodyText::NoText, BodyText::Text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_what_a_body_has_and_what_is_claimed_of_it_counts() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::open(dir.path().join("blobs")).unwrap();
        let [text, odd] = [&b"four"[..], b"\xff"].map(|body| blobs.put(body).unwrap());
        let look = |sha256: &str, bytes, most_bytes| {
            let reference = BodyRef {
                sha256: sha256.to_owned(),
                bytes,
                ..BodyRef::default()
            };
            blobs.text(&reference, most_bytes).unwrap()
        };
        assert_eq!(look(&text, 1, 4), BodyText::Text("four".to_owned()));
        assert_eq!(look(&text, 1, 3), BodyText::TooLong(4));
        assert_eq!(look(&text, 9, 8), BodyText::TooLong(9));
        assert_eq!(look(&odd, 1, 8), BodyText::NoText);
        assert_eq!(look(&"0".repeat(64), 1, 8), BodyText::Missing);
        assert_eq!(look("no hash", 1, 8), BodyText::Missing);
    }
}
