//! Bodies that are masked before they are kept: under the hash that they have then. What refers to one by the hash it was sent
//! with is changed to say the other.

use std::collections::BTreeSet;
use std::io::Read;

use chat_event::{BodyRef, ChatEvent, bodies};
use chat_feed::mask::TextMasker;
use chat_store::{Blobs, Error, KeptAs, RewrittenUpload};

use super::Masking;

/// A body is read in pieces of this size where it is here already.
const PIECE_BYTES: usize = 64 * 1024;

/// A body that is masked while it comes.
pub(crate) struct MaskedUpload {
    upload: RewrittenUpload,
    masker: TextMasker,
    /// The beginning of a character that is not whole yet.
    begun: Vec<u8>,
}

impl MaskedUpload {
    pub(crate) fn begin(blobs: &Blobs, sha256: &str) -> Result<Self, Error> {
        Ok(MaskedUpload {
            upload: blobs.begin_rewritten(sha256)?,
            masker: TextMasker::default(),
            begun: Vec::new(),
        })
    }

    /// Takes the next piece. What is no text is kept as the sign for that: bodies are texts.
    pub(crate) fn write(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.upload.sent(piece);
        self.begun.extend_from_slice(piece);
        let bytes = std::mem::take(&mut self.begun);
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            let may_go_on = chunks.peek().is_none() && is_begun(invalid);
            if may_go_on {
                self.begun = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.upload.write(&self.masker.push(&text))
    }

    /// Keeps the body, where it has the hash it was said to have.
    pub(crate) fn finish(mut self, blobs: &Blobs, masking: &Masking) -> Result<KeptAs, Error> {
        if !self.begun.is_empty() {
            let rest = self.masker.push("\u{fffd}");
            self.upload.write(&rest)?;
        }
        let rest = self.masker.finish();
        self.upload.write(&rest)?;
        masking.count(self.masker.take_masked());
        self.upload.finish(blobs)
    }
}

/// Whether these are the first bytes of a character, and not all.
fn is_begun(bytes: &[u8]) -> bool {
    let n_bytes = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => 0,
    };
    bytes.len() < n_bytes
}

impl Masking {
    /// Has the event refer to what is kept of its bodies. What is said of a body that is not here may be half a secret, and goes.
    ///
    /// # Errors
    ///
    /// Where the disk refuses; the event may then refer to some of both.
    pub(crate) fn refer(&self, blobs: &Blobs, event: &mut ChatEvent) -> Result<(), Error> {
        let mut failed = None;
        bodies::refer(event, &mut |reference| {
            let kept = self.kept(blobs, &reference.sha256).unwrap_or_else(|why| {
                failed = Some(why);
                None
            });
            Some(match kept {
                Some(kept) => kept.body,
                None => BodyRef {
                    sha256: reference.sha256.clone(),
                    bytes: reference.bytes,
                    truncated: true,
                    ..BodyRef::default()
                },
            })
        });
        failed.map_or(Ok(()), Err)
    }

    /// Masks the bodies that are here as they were sent, before anybody waits for it.
    pub(crate) fn prepare(&self, blobs: &Blobs, hashes: &BTreeSet<String>) {
        for sha256 in hashes {
            // Who speaks of it is told.
            let _ = self.kept(blobs, sha256);
        }
    }

    /// What is kept of a body that was sent with this hash. One that came here unmasked is masked now.
    fn kept(&self, blobs: &Blobs, sha256: &str) -> Result<Option<KeptAs>, Error> {
        let kept = match blobs.kept_as(sha256) {
            Err(Error::BadHash) => return Ok(None),
            kept => kept?,
        };
        if let Some(kept) = kept {
            // What is stored next names it.
            blobs.claim(&kept.body.sha256)?;
            return Ok(Some(kept));
        }
        let Some((mut file, _)) = blobs.open_body(sha256)? else {
            return Ok(None);
        };
        let mut upload = MaskedUpload::begin(blobs, sha256)?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => return upload.finish(blobs, self).map(Some),
                Ok(n_bytes) => upload.write(&piece[..n_bytes])?,
                Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
                // It is not to be had.
                Err(_) => return Ok(None),
            }
        }
    }
}
