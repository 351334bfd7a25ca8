//! A file that is read whole, up to a bound, before anything is made of it.

use super::Want;

/// The file, as far as it is read.
#[derive(Debug)]
pub(super) struct Held {
    path: String,
    /// So much of it is kept, in bytes.
    most: usize,
    bytes: Vec<u8>,
    offset: u64,
}

impl Held {
    pub(super) fn new(path: String, most: usize) -> Self {
        Held {
            path,
            most,
            bytes: Vec::new(),
            offset: 0,
        }
    }

    pub(super) fn wants(&self) -> Want<'_> {
        Want {
            path: &self.path,
            offset: self.offset,
        }
    }

    /// Takes its next bytes, none where it is at its end; whether that is all that is read of it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        self.offset += bytes.len() as u64;
        let room = self.most.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        bytes.is_empty() || room == 0
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether all that was read of it is kept.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.offset
    }
}
