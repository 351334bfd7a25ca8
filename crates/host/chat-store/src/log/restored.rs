//! Logs that were made elsewhere, or came from a backup, until they are appended to: a file `<stem>.restored` beside the log
//! says that it is one.

use std::io::{self, Read};

use super::{Files, Log, index};
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

    /// Says that the log came from elsewhere where nothing shows that it was here all the time: its index is of other files, or
    /// is missing. Each log that was ever appended to here has one, and what came behind this one where it was may have been given
    /// the next numbers, however it ends.
    pub(crate) fn note_where_from(&self, session: &str) -> io::Result<()> {
        let is_from_here = || match self.index().exists() {
            true => !index::Before::of(self, session).is_some_and(|it| it.is_of_other_files(self)),
            false => self.is_only_begun(),
        };
        match self.is_restored() || !self.are_there() || is_from_here() {
            true => Ok(()),
            false => self.mark_restored(),
        }
    }

    /// Whether there is the first line and nothing else: a log that is begun has no index for a moment.
    fn is_only_begun(&self) -> bool {
        const MOST_BYTES: u64 = 4 * 1024;
        let read = || {
            let file = platform::private_file().read(true).open(self.newest())?;
            let mut text = Vec::new();
            file.take(MOST_BYTES).read_to_end(&mut text)?;
            io::Result::Ok(text)
        };
        let is_one_line = |text: Vec<u8>| {
            let n_lines = text.iter().filter(|byte| **byte == b'\n').count();
            n_lines < 2 && (text.len() as u64) < MOST_BYTES
        };
        self.sealed.is_empty() && read().is_ok_and(is_one_line)
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
        self.go_on_under(&epoch, None, "restored", now_ms)
    }

    /// Notes that the log is under an epoch now that was begun here: what comes is given no number that was given elsewhere.
    pub(super) fn note_own_epoch(&mut self) {
        if std::mem::take(&mut self.is_restored) {
            // Where it stays, the next one who opens the log begins one more epoch.
            let _ = std::fs::remove_file(self.files.restored());
        }
    }
}
