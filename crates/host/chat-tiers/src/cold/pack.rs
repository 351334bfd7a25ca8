//! Packing and unpacking, piece by piece: nothing is held as a whole.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use chat_store::Upload;
use flate2::Compression;
use flate2::write::{GzDecoder, GzEncoder};
use object_store::PutPayload;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

/// A packed object goes in parts of this size: with 10,000 of them, as many as an upload may have, it may have 80 GiB.
pub(super) const PART_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// What plain bytes are known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Digest {
    pub(super) bytes: u64,
    /// Lower-case hex.
    pub(super) sha256: String,
}

/// Counts and hashes what goes through it.
#[derive(Clone, Default)]
pub(super) struct Hashing {
    bytes: u64,
    hash: Sha256,
}

impl Hashing {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hash.update(bytes);
    }

    pub(super) fn digest(self) -> Digest {
        let hash = self.hash.finalize();
        Digest {
            bytes: self.bytes,
            sha256: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// The digest of all bytes, and of their first so many, for each length asked for that there is; these ascend.
pub(super) fn digest(mut from: impl Read, lengths: &[u64]) -> io::Result<(Digest, Vec<Digest>)> {
    let mut hashing = Hashing::default();
    let mut beginnings = Vec::new();
    let mut lengths = lengths.iter().copied().peekable();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let n = read(&mut from, &mut block)?;
        if n == 0 {
            break;
        }
        let mut rest = &block[..n];
        while let Some(length) = lengths.next_if(|at| *at <= hashing.bytes + rest.len() as u64) {
            let within = length.saturating_sub(hashing.bytes);
            let (before, behind) = rest.split_at(usize::try_from(within).unwrap_or(0));
            hashing.take(before);
            beginnings.push(hashing.clone().digest());
            rest = behind;
        }
        hashing.take(rest);
    }
    Ok((hashing.digest(), beginnings))
}

fn read(from: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(block) {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Packs all bytes and sends the parts on; all but the last have [`PART_BYTES`]. The digest is of the plain bytes.
pub(super) fn pack(mut from: impl Read, to: mpsc::Sender<PutPayload>) -> io::Result<Digest> {
    let parts = Parts {
        part: Vec::new(),
        to,
    };
    let mut packing = GzEncoder::new(parts, Compression::default());
    let mut hashing = Hashing::default();
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let n = read(&mut from, &mut block)?;
        if n == 0 {
            break;
        }
        hashing.take(&block[..n]);
        packing.write_all(&block[..n])?;
    }
    packing.finish()?.send()?;
    Ok(hashing.digest())
}

struct Parts {
    part: Vec<u8>,
    to: mpsc::Sender<PutPayload>,
}

impl Parts {
    fn send(&mut self) -> io::Result<()> {
        let part = std::mem::take(&mut self.part);
        let sent = self.to.blocking_send(part.into());
        sent.map_err(|_| io::Error::other("nobody takes it any more"))
    }
}

impl Write for Parts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(PART_BYTES - self.part.len());
        self.part.extend_from_slice(&bytes[..n]);
        if self.part.len() == PART_BYTES {
            self.send()?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why something was not unpacked.
#[derive(Debug)]
pub(super) enum NotUnpacked {
    /// It is not packed, is cut off, goes on behind its end, has another checksum, or unpacks to more than it should.
    Broken,
    /// What it was to be written to refuses.
    Refused(io::Error),
}

/// Unpacks the pieces as they come, into `to`; what unpacks to more than `most_bytes` is refused.
pub(super) fn unpack<B: AsRef<[u8]>>(
    mut pieces: mpsc::Receiver<B>,
    to: impl Write,
    most_bytes: u64,
) -> Result<Digest, NotUnpacked> {
    let mut unpacking = GzDecoder::new(Unpacked {
        hashing: Hashing::default(),
        most_bytes,
        refused: None,
        to,
    });
    let mut unpack = || {
        while let Some(piece) = pieces.blocking_recv() {
            unpacking.write_all(piece.as_ref())?;
        }
        unpacking.try_finish()
    };
    let is_whole = unpack().is_ok();
    let unpacked = unpacking.get_mut();
    if let Some(why) = unpacked.refused.take() {
        return Err(NotUnpacked::Refused(why));
    }
    if !is_whole {
        return Err(NotUnpacked::Broken);
    }
    unpacked.to.flush().map_err(NotUnpacked::Refused)?;
    Ok(unpacked.hashing.clone().digest())
}

struct Unpacked<W> {
    hashing: Hashing,
    most_bytes: u64,
    /// Why `to` refused. A full disk here is no fault of what is in the store, and who unpacks cannot tell the two apart.
    refused: Option<io::Error>,
    to: W,
}

impl<W: Write> Write for Unpacked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let over = || Err(io::ErrorKind::InvalidData.into());
        if self.refused.is_some() || self.hashing.bytes + bytes.len() as u64 > self.most_bytes {
            return over();
        }
        if let Err(why) = self.to.write_all(bytes) {
            self.refused = Some(why);
            return over();
        }
        self.hashing.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A body on its way to the disk, for one who writes and one who finishes.
#[derive(Clone)]
pub(super) struct Uploading(Arc<Mutex<Option<Upload>>>);

impl Uploading {
    pub(super) fn new(upload: Upload) -> Self {
        Uploading(Arc::new(Mutex::new(Some(upload))))
    }

    pub(super) fn finish(&self) -> Result<(), chat_store::Error> {
        let upload = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        upload.map_or(Ok(()), Upload::finish)
    }
}

impl Write for Uploading {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut upload = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(upload) = &mut *upload {
            upload.write(bytes).map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
