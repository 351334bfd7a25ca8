//! Logs that were made elsewhere: they are opened and repaired aside, and then stand where a log of this folder stands.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Store, found, locked, now_ms};
use crate::error::Error;
use crate::log::{ENDING, Facts, Files, Log, Opening, end_begun};
use crate::platform;
use crate::session_id::SessionId;

use super::session::Session;

/// The folder within the data folder in which logs wait that come from elsewhere.
pub(crate) const ASIDE: &str = "restoring";

/// Removes what a server that was killed had begun to restore. What was torn off a log stays.
pub(super) fn clear(dir: &Path) {
    let entries = std::fs::read_dir(dir.join(ASIDE)).into_iter().flatten();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(ENDING) || name.ends_with(".idx") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A log on its way into a folder. What is left of it goes when it is dropped.
#[derive(Debug)]
pub struct Restoring {
    id: SessionId,
    aside: Files,
    file: File,
}

impl Restoring {
    /// The file to write the log to, which is empty.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Restoring {
    fn drop(&mut self) {
        // Once it was taken in there is nothing of these names.
        for path in [self.aside.newest(), self.aside.index()] {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Store {
    /// Begins to take in a log of that session that was made elsewhere. There is one at a time for each session: another
    /// one would be written to the same file.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn restoring(&self, id: &SessionId) -> Result<Restoring, Error> {
        let dir = self.inner.dir.join(ASIDE);
        platform::create_private_dir(&dir)
            .map_err(|why| Error::io("make the folder", &dir, why))?;
        let aside = Files::of_one(&dir, &id.stem());
        let path = aside.newest();
        // What a server that was killed left here is another file's.
        for left in [&path, &aside.index()] {
            let _ = std::fs::remove_file(left);
        }
        let mut options = platform::private_file();
        let file = options.write(true).create_new(true).open(&path);
        Ok(Restoring {
            id: id.clone(),
            file: file.map_err(|why| Error::io("write the log", &path, why))?,
            aside,
        })
    }

    /// Takes in the log that was written there. It is opened as any log is, with the same repairs, and keeps its epoch until
    /// it is appended to: from there on it goes on under another, since those who have it elsewhere may have gone on, too.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] where there is a log of that session, [`Error::NotALog`] where the file is none of it, and where the
    /// disk refuses.
    pub fn restore(&self, restoring: &Restoring) -> Result<Arc<Session>, Error> {
        self.take_over(&restoring.id, &restoring.aside)
    }

    fn take_over(&self, id: &SessionId, aside: &Files) -> Result<Arc<Session>, Error> {
        let opening = |files: Files| Opening {
            files,
            id: id.clone(),
            // It is not appended to here.
            segment_bytes: u64::MAX,
            why_new_epoch: None,
            least_head: 0,
            copy_of: None,
            use_index: true,
            now_ms: now_ms(),
        };
        // Read and repaired while nothing waits for it; its index says what there is to know when it stands in its place.
        let is_its_own = found::session_of(aside)? == *id;
        if !is_its_own || Log::open(opening(aside.clone()))?.head() == 0 {
            return Err(Error::NotALog {
                path: aside.newest(),
                why: "it has no event of the session".to_owned(),
            });
        }
        let files = Files::of_one(&self.inner.dir, &id.stem());
        let failed = |why| Error::io("take in the log", &files.newest(), why);
        // What is being removed of it is gone first, and nobody begins it meanwhile.
        let _changes = self.inner.changing.begin(id);
        // What was there may have been packed away, but for some files.
        end_begun(&files)?;
        if files.clone().listed_anew()?.are_there() {
            return Err(Error::Exists {
                session: id.as_str().to_owned(),
            });
        }
        files.mark_restored().map_err(failed)?;
        // The index first: without it the log is only read again.
        let _ = std::fs::rename(aside.index(), files.index());
        std::fs::rename(aside.newest(), files.newest()).map_err(failed)?;
        platform::sync_dir(&self.inner.dir).map_err(failed)?;
        self.unpacked(id, &files);
        let session = match Facts::of_whole(&files) {
            Some(facts) => Session::of_facts(id.clone(), facts, &self.inner),
            None => {
                let log = Log::open(Opening {
                    segment_bytes: self.inner.options.segment_bytes,
                    ..opening(files)
                })?;
                Session::of_log(id.clone(), log, &self.inner)
            }
        };
        // One that was taken away is forgotten with what was known of it.
        locked(&self.inner.open).remove(id);
        let before = locked(&self.inner.sessions).insert(id.clone(), session.clone());
        if let Some(before) = before {
            // What who still holds it writes would go behind a log that is not there.
            before.is_away.store(true, Ordering::Relaxed);
        }
        Ok(session)
    }
}
