//! Bodies that are kept as others than were sent, as secrets are masked: who sends one calls it by the hash it had.
//!
//! Beside the body lies `<sha256 of what was sent>.as`, which says what is kept in its place. Of a body in which nothing
//! changed there is one, too: it says that it was looked at.

use std::fs;

use chat_event::{BodyEnds, BodyRef};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Blobs, Upload, check_hash, hex, keeping};
use crate::error::Error;
use crate::platform;

/// What is kept in the place of a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptAs {
    /// The length of what was sent, in bytes.
    pub sent_bytes: u64,
    /// What is kept.
    pub body: BodyRef,
}

/// A body on its way to the disk that is kept as another one. Dropped before its end it leaves nothing behind.
#[derive(Debug)]
pub struct RewrittenUpload {
    upload: Upload,
    sent: Sha256,
    sent_bytes: u64,
    ends: BodyEnds,
}

impl Blobs {
    /// Begins to keep a body that comes in pieces, under the hash it is said to have, as another one.
    ///
    /// # Errors
    ///
    /// As [`Blobs::begin`].
    pub fn begin_rewritten(&self, sha256: &str) -> Result<RewrittenUpload, Error> {
        Ok(RewrittenUpload {
            upload: self.begin(sha256)?,
            sent: Sha256::new(),
            sent_bytes: 0,
            ends: BodyEnds::default(),
        })
    }

    /// What is kept of the body that was sent with that hash, where it was rewritten. It need not be here any more.
    ///
    /// # Errors
    ///
    /// Where the text is no hash, or the disk refuses.
    pub fn kept_as(&self, sha256: &str) -> Result<Option<KeptAs>, Error> {
        check_hash(sha256)?;
        let path = self.path(sha256).with_extension("as");
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(Error::io("read what is kept", &path, why)),
        };
        // One that cannot be read is as none: the body is sent again.
        let kept: Option<KeptAs> = serde_json::from_slice(&text).ok();
        Ok(kept.filter(|kept| check_hash(&kept.body.sha256).is_ok()))
    }
}

impl RewrittenUpload {
    /// Takes the next piece of what is sent.
    pub fn sent(&mut self, piece: &[u8]) {
        self.sent.update(piece);
        self.sent_bytes += piece.len() as u64;
    }

    /// Writes the next piece of what is kept.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn write(&mut self, piece: &str) -> Result<(), Error> {
        self.ends.push(piece);
        self.upload.write(piece.as_bytes())
    }

    /// Keeps what was written, where what was sent has the hash it was said to have.
    ///
    /// # Errors
    ///
    /// [`Error::HashMismatch`] where it has another, and where the disk refuses.
    pub fn finish(self, blobs: &Blobs) -> Result<KeptAs, Error> {
        let RewrittenUpload {
            mut upload,
            sent,
            sent_bytes,
            ends,
        } = self;
        let sha256 = hex(&sent.finalize());
        if sha256 != upload.sha256 {
            return Err(Error::HashMismatch);
        }
        let kept = hex(&upload.hash.clone().finalize());
        upload.path = blobs.path(&kept);
        blobs
            .make_folder(&upload.path)?
            .clone_into(&mut upload.folder);
        upload.sha256.clone_from(&kept);
        upload.finish()?;
        let kept = KeptAs {
            sent_bytes,
            body: ends.reference(kept),
        };
        let path = blobs.path(&sha256).with_extension("as");
        let folder = blobs.make_folder(&path)?;
        let text = serde_json::to_vec(&kept).unwrap_or_default();
        let _keeping = keeping(&blobs.keeping);
        platform::write_whole(&path, &blobs.temporary(), &text)
            .and_then(|()| platform::sync_dir(folder))
            .map_err(|why| Error::io("keep the body", &path, why))?;
        Ok(kept)
    }
}
