//! The logs of a folder, opened and repaired: all when the folder is, and one of a session that is new.

use std::sync::Arc;

use super::found::{self, Found};
use super::syncing::beside_each_other;
use super::{Session, Store, locked, now_ms};
use crate::error::Error;
use crate::log::{CopyOf, Facts, Files, Log, Opening, end_begun};
use crate::session_id::SessionId;

/// Logs that are opened beside each other when a folder is: each that has no index holds some MiB while it is read.
const MOST_OPENING: usize = 8;

impl Store {
    pub(super) fn open_logs(&self, is_sure: bool) -> Result<(), Error> {
        let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
        let found = self.found()?;
        self.take_in_packed(&found.packed);
        // No log has to do with another, and each is waited for: for its files, or for all of it being read.
        beside_each_other(n_threads.min(MOST_OPENING), found.logs, &|files| {
            let stem = files.stem().to_owned();
            if let Err(why) = self.take_in(files, is_sure) {
                locked(&self.inner.unopened).insert(stem);
                tracing::error!("{why}");
            }
        });
        Ok(())
    }

    /// What the folder has, once all is ended that was begun with files of it. A log of which that is refused is left out.
    fn found(&self) -> Result<Found, Error> {
        let dir = &self.inner.dir;
        let mut found = found::all(dir)?;
        // The folder is ours: nobody writes them any more. One that stays costs room and nothing else.
        for path in &found.half_written {
            let _ = std::fs::remove_file(path);
        }
        if found.begun.is_empty() {
            return Ok(found);
        }
        let mut begun = std::mem::take(&mut found.begun);
        begun.retain(|stem| match end_begun(&Files::of_one(dir, stem)) {
            Ok(_) => false,
            Err(why) => {
                locked(&self.inner.unopened).insert(stem.clone());
                tracing::error!("{why}");
                true
            }
        });
        let mut found = found::all(dir)?;
        found.logs.retain(|files| !begun.contains(files.stem()));
        Ok(found)
    }

    /// Takes in a log that was found. Its index is enough, where nothing is to be repaired.
    fn take_in(&self, files: Files, is_sure: bool) -> Result<(), Error> {
        if let Some(facts) = Facts::of_whole(&files)
            && (facts.ends_clean || is_sure)
            && let Ok(id) = SessionId::parse(&facts.session)
            && id.stem() == files.stem()
        {
            let session = Session::of_facts(id.clone(), facts, &self.inner);
            locked(&self.inner.sessions).insert(id, session);
            return Ok(());
        }
        // Looked at only here: a whole index is of a log that is there.
        if !files.are_there() {
            return Ok(());
        }
        let id = found::session_of(&files)?;
        note_where_from(&files, &id);
        let log = Log::open(Opening {
            files,
            id: id.clone(),
            segment_bytes: self.inner.options.segment_bytes,
            why_new_epoch: (!is_sure).then_some("unclean_boot"),
            least_head: 0,
            copy_of: None,
            use_index: true,
            now_ms: now_ms(),
        })?;
        let session = Session::of_log(id.clone(), log, &self.inner);
        locked(&self.inner.sessions).insert(id.clone(), session);
        self.inner.opened(&id);
        Ok(())
    }

    /// The session of that id, made where there is none.
    ///
    /// # Errors
    ///
    /// [`Error::PackedAway`] where its log is to be fetched first, where the disk refuses, or a file that is no log of that session stands in its place.
    pub fn session_or_new(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.opened_or_new(id, None)
    }

    /// As [`Store::session_or_new`]; where there is no file of it, it is made a copy of another's.
    pub(super) fn opened_or_new(
        &self,
        id: &SessionId,
        copy_of: Option<CopyOf>,
    ) -> Result<Arc<Session>, Error> {
        if let Some(session) = self.session(id) {
            return Ok(session);
        }
        // One does so at a time, and when nothing of it is being removed; who has to do with other sessions does not wait.
        let _changes = self.inner.changing.begin(id);
        if let Some(session) = self.session(id) {
            return Ok(session);
        }
        let mut files = Files::of_one(&self.inner.dir, &id.stem());
        let is_packed = self.is_packed(id);
        if is_packed && copy_of.is_none() {
            return Err(Error::PackedAway {
                session: id.as_str().to_owned(),
            });
        }
        if self.unopened_logs() > 0 || files.are_there() {
            // It may be one that could not be opened, or that somebody brought: then it has more than its newest file.
            files = files.listed_anew()?;
            note_where_from(&files, id);
        }
        let log = Log::open(Opening {
            id: id.clone(),
            segment_bytes: self.inner.options.segment_bytes,
            why_new_epoch: None,
            least_head: 0,
            // What stands in a file may be no part of what it would be a copy of.
            copy_of: copy_of.filter(|_| !files.are_there()),
            files: files.clone(),
            use_index: true,
            now_ms: now_ms(),
        })?;
        if is_packed {
            // Its home has it all.
            self.unpacked(id, &files);
        }
        let session = Session::of_log(id.clone(), log, &self.inner);
        locked(&self.inner.sessions).insert(id.clone(), session.clone());
        locked(&self.inner.unopened).remove(files.stem());
        self.inner.opened(id);
        Ok(session)
    }
}

/// A full disk is no reason not to give what there is.
fn note_where_from(files: &Files, id: &SessionId) {
    if let Err(why) = files.note_where_from(id.as_str()) {
        tracing::warn!(
            session = id.as_str(),
            "could not note that the log may be from elsewhere: {why}"
        );
    }
}
