//! One body on its way among the others: it has a name of its own until it is whole.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::{Keeping, hex, keeping};
use crate::error::Error;
use crate::platform;

/// A body on its way to the disk. Dropped before its end it leaves nothing behind.
#[derive(Debug)]
pub struct Upload {
    pub(super) file: fs::File,
    pub(super) hash: Sha256,
    pub(super) sha256: String,
    pub(super) folder: PathBuf,
    pub(super) path: PathBuf,
    pub(super) temporary: PathBuf,
    pub(super) keeping: Keeping,
}

impl Upload {
    /// Writes the next piece.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.hash.update(piece);
        self.file
            .write_all(piece)
            .map_err(|why| Error::io("keep the body", &self.path, why))
    }

    /// Keeps what was written, where it has the hash it was said to have.
    ///
    /// # Errors
    ///
    /// [`Error::HashMismatch`] where it has another, and where the disk refuses.
    pub fn finish(self) -> Result<(), Error> {
        if hex(&self.hash.clone().finalize()) != self.sha256 {
            return Err(Error::HashMismatch);
        }
        let keep = || -> std::io::Result<()> {
            self.file.sync_data()?;
            let _keeping = keeping(&self.keeping);
            fs::rename(&self.temporary, &self.path)?;
            platform::sync_dir(&self.folder)
        };
        keep().map_err(|why| Error::io("keep the body", &self.path, why))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // After a rename there is nothing of that name.
        let _ = fs::remove_file(&self.temporary);
    }
}
