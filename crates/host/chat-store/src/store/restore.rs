//! Logs that were made elsewhere: they are opened and repaired aside, and then stand where a log of this folder stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Store, found, locked, now_ms};
use crate::error::Error;
use crate::log::{Facts, Files, Log, Opening};
use crate::platform;
use crate::session_id::SessionId;

use super::session::Session;

/// The folder within the data folder in which logs wait that come from elsewhere.
const ASIDE: &str = "restoring";

impl Store {
    /// Where to write the log of that session that comes from elsewhere, for [`Store::restore`]. What stood there is gone.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn restoring(&self, id: &SessionId) -> Result<PathBuf, Error> {
        let aside = self.inner.dir.join(ASIDE);
        platform::create_private_dir(&aside)
            .map_err(|why| Error::io("make the folder", &aside, why))?;
        let files = Files::of_one(&aside, &id.stem());
        for path in [files.newest(), files.index()] {
            remove(&path)?;
        }
        Ok(files.newest())
    }

    /// Takes in the log that lies where [`Store::restoring`] said, as that session's. It is opened as any log is, with the
    /// same repairs, and keeps its epoch until it is appended to: from there on it goes on under another, since those who
    /// have it elsewhere may have gone on, too.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`] where there is a log of that session, [`Error::NotALog`] where the file is none of it, and where the
    /// disk refuses. The file is gone then.
    pub fn restore(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let aside = Files::of_one(&self.inner.dir.join(ASIDE), &id.stem());
        let taken = self.take_over(id, &aside);
        if taken.is_err() {
            let _ = remove(&aside.newest()).and(remove(&aside.index()));
        }
        taken
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
        let mut sessions = locked(&self.inner.sessions);
        let is_here = files.newest().exists() || !files.clone().listed_anew()?.sealed.is_empty();
        if is_here {
            return Err(Error::Exists {
                session: id.as_str().to_owned(),
            });
        }
        files.mark_restored().map_err(failed)?;
        // The index first: without it the log is only read again.
        let _ = std::fs::rename(aside.index(), files.index());
        std::fs::rename(aside.newest(), files.newest()).map_err(failed)?;
        platform::sync_dir(&self.inner.dir).map_err(failed)?;
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
        sessions.insert(id.clone(), session.clone());
        Ok(session)
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove a file", path, why))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
