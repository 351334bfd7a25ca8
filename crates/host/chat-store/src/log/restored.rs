//! Logs that were made elsewhere, until they are appended to: a file `<stem>.restored` beside the log says that it is one.

use std::io;

use super::{Files, Log};
use crate::error::Error;
use crate::platform;
use crate::random::random_base64url;

impl Files {
    pub(super) fn restored(&self) -> std::path::PathBuf {
        self.dir.join(format!("{}.restored", self.stem))
    }

    pub(super) fn is_restored(&self) -> bool {
        self.restored().exists()
    }

    /// Says that the log which will stand here was made elsewhere.
    pub(crate) fn mark_restored(&self) -> io::Result<()> {
        let mut options = platform::private_file();
        options.write(true).create(true).truncate(true);
        options.open(self.restored())?.sync_all()
    }
}

impl Log {
    /// Begins a new epoch, where the log was made elsewhere and is appended to for the first time: whoever made it may have
    /// given the next numbers to other events.
    pub(super) fn go_on_from_elsewhere(&mut self, now_ms: i64) -> Result<(), Error> {
        if !self.is_restored {
            return Ok(());
        }
        let epoch = random_base64url::<16>()?;
        self.go_on_under(&epoch, None, "restored", now_ms)?;
        self.is_restored = false;
        // Where it stays, the next one who opens the log begins one more epoch.
        let _ = std::fs::remove_file(self.files.restored());
        Ok(())
    }
}
