//! What those who carry a session elsewhere read of it: bytes, as they lie in the folder.

use std::fs::File;

use super::Session;
use crate::error::Error;
use crate::log_bytes::LogBytes;

impl Session {
    /// The bytes of its log, its segments in order. What is appended while they are read may be among them.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, and where a segment that the log is known to have is missing; so while they are read.
    pub fn log_bytes(&self) -> Result<LogBytes, Error> {
        let files = self.files(&*self.held()?, &*self.store()?);
        LogBytes::open_of(&files).map_err(|why| Error::io("read the log", &files.newest(), why))
    }

    /// A body of this folder, opened, and its length; `None` where it is not here. It is not looked for elsewhere.
    ///
    /// # Errors
    ///
    /// Where the text is no hash, or the disk refuses.
    pub fn body_here(&self, sha256: &str) -> Result<Option<(File, u64)>, Error> {
        self.store()?.blobs.open_body(sha256)
    }
}
