//! Removing sessions: from a folder that is served, and from one that nobody holds.
//!
//! The files of a session go at once; which bodies they named is told, so that those that nobody else names can be removed
//! after it ([`Blobs::sweep`]), of many sessions together.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::session::Slot;
use super::{Session, Store, lock, locked};
use crate::blobs::Blobs;
use crate::error::Error;
use crate::log::{
    FileOfOne, Files, Freed, all_files_by_stem, all_files_of, removal_is_begun, remove_files,
    remove_files_of_each,
};
use crate::named::each_hash;
use crate::platform;
use crate::session_id::SessionId;

/// What was removed of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// Its files; none where there was nothing of it.
    pub freed: Freed,
    /// Bodies that it named, by their hashes as it named them.
    pub bodies: BTreeSet<String>,
}

impl Store {
    /// Removes all that the folder has of a session, but the bodies. Whoever holds the session finds that it is gone, as
    /// where somebody else removed its files; nothing is to be written to it meanwhile.
    ///
    /// # Errors
    ///
    /// Where the disk refuses. Some of it may be gone by then; the rest goes when the folder is opened, or this is called again.
    pub fn remove(&self, id: &SessionId) -> Result<Removal, Error> {
        let files = Files::of_one(&self.inner.dir, &id.stem());
        let bodies = bodies_in(&all_files_of(&files)?, &self.inner.blobs);
        // Nobody begins it in the middle of this, and the other sessions are not held while the disk works.
        let _changes = self.inner.changing.begin(id);
        let session = self.session(id);
        let freed = match &session {
            Some(session) => {
                // One that cannot be read can be removed all the same.
                let slot = session.held().ok();
                let freed = remove_files(&files);
                // What came to a log that is still open would go with the rest of it: opening it ends what was begun first.
                let goes = match &freed {
                    Ok(_) => true,
                    Err(_) => removal_is_begun(&files),
                };
                if goes
                    && let Some(mut slot) = slot
                    && let Slot::Open(log) = &*slot
                {
                    // What is known of the log is of no use any more, and what the disk refused was of those files.
                    let facts = log.facts_of_removed();
                    *slot = Slot::Closed(Box::new(facts));
                    locked(&self.inner.open).remove(id);
                }
                freed?
            }
            None => remove_files(&files)?,
        };
        locked(&self.inner.packed).remove(id);
        locked(&self.inner.unopened).remove(files.stem());
        Ok(Removal { freed, bodies })
    }

    /// Forgets a session whose log is gone; whether it was. What is sent to it later begins it anew, with numbers of its own;
    /// who still holds it is told that it is away.
    pub fn forget_gone(&self, session: &Session) -> bool {
        let id = session.id();
        // Nobody begins it in the middle of this.
        let _changes = self.inner.changing.begin(id);
        if !session.leave_gone(&self.inner) {
            return false;
        }
        locked(&self.inner.sessions).remove(id);
        locked(&self.inner.open).remove(id);
        true
    }

    /// Whether the folder has any file of a session.
    ///
    /// # Errors
    ///
    /// Where it cannot be listed.
    pub fn has_files(&self, id: &SessionId) -> Result<bool, Error> {
        Ok(!all_files_of(&Files::of_one(&self.inner.dir, &id.stem()))?.is_empty())
    }
}

/// A data folder that is held so that nobody serves it meanwhile. No log is opened or repaired.
#[derive(Debug)]
pub struct HeldFolder {
    dir: PathBuf,
    blobs: Blobs,
    /// The files of all sessions, by their stems, once one was asked for: nobody makes others meanwhile.
    files: OnceCell<HashMap<String, Vec<FileOfOne>>>,
    _lock: File,
}

impl HeldFolder {
    /// Takes the folder, which is there.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process has it, and where the disk refuses.
    pub fn take(dir: &Path) -> Result<Self, Error> {
        Ok(HeldFolder {
            dir: dir.to_owned(),
            blobs: Blobs::beside(dir),
            files: OnceCell::new(),
            _lock: lock::lock(dir)?,
        })
    }

    /// Removes all that the folder has of these sessions, but the bodies; what came of each, in their order. The folder is made
    /// durable for all of them together: of many that takes a small part of the time that one after the other takes. Wherever
    /// it is stopped, of each all is there or none, once the folder is opened; but of one for whose mark a full disk has no room.
    ///
    /// `begin` is shown each that goes, right before the first of them does: what it was looked at for is done by then.
    ///
    /// # Errors
    ///
    /// Of all, where the folder cannot be listed; nothing went then. Of each, [`Error::Locked`] where another process has its
    /// log, and as [`Store::remove`].
    pub fn remove<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i SessionId>,
        begin: &mut dyn FnMut(&SessionId),
    ) -> Result<Vec<Result<Removal, Error>>, Error> {
        let all = self.all_files()?;
        let asked: Vec<_> = ids
            .into_iter()
            .map(|id| {
                let files = Files::of_one(&self.dir, &id.stem());
                is_free(&files)?;
                let all = all.get(files.stem()).map_or(&[][..], Vec::as_slice);
                Ok((id, files, all))
            })
            .collect();
        let free = asked.iter().flatten();
        let free: Vec<_> = free.map(|(_, files, all)| (files.clone(), *all)).collect();
        let bodies: Vec<_> = free
            .iter()
            .map(|(_, all)| bodies_in(all, &self.blobs))
            .collect();
        asked.iter().flatten().for_each(|(id, ..)| begin(id));
        let freed = remove_files_of_each(&free);
        let mut removed = freed.into_iter().zip(bodies);
        let each = asked.into_iter().map(|one: Result<_, Error>| {
            one?;
            // There is one for each that is free.
            let (freed, bodies) = removed
                .next()
                .unwrap_or((Ok(Freed::default()), BTreeSet::new()));
            freed.map(|freed| Removal { freed, bodies })
        });
        Ok(each.collect())
    }

    fn all_files(&self) -> Result<&HashMap<String, Vec<FileOfOne>>, Error> {
        match self.files.get() {
            Some(all) => Ok(all),
            None => {
                let all = all_files_by_stem(&self.dir)?;
                Ok(self.files.get_or_init(|| all))
            }
        }
    }

    /// The bodies beside its logs.
    pub fn blobs(&self) -> &Blobs {
        &self.blobs
    }
}

/// # Errors
///
/// [`Error::Locked`] where another process has the log: a server that was told of another folder by another name would.
fn is_free(files: &Files) -> Result<(), Error> {
    let newest = files.newest();
    if let Ok(log) = platform::private_file().read(true).open(&newest)
        && let Err(TryLockError::WouldBlock) = log.try_lock()
    {
        return Err(Error::Locked {
            dir: newest,
            pid: None,
        });
    }
    Ok(())
}

/// The bodies that sessions name in a folder that nobody need hold, by their hashes as they name them.
///
/// # Errors
///
/// Where the folder cannot be listed.
pub fn named_bodies<'i>(
    dir: &Path,
    ids: impl IntoIterator<Item = &'i SessionId>,
) -> Result<BTreeSet<String>, Error> {
    let blobs = Blobs::beside(dir);
    let all = all_files_by_stem(dir)?;
    let files = ids.into_iter().filter_map(|id| all.get(&id.stem()));
    Ok(files.flat_map(|files| bodies_in(files, &blobs)).collect())
}

/// The hashes that files of a session name, and of which there is a body.
fn bodies_in(files: &[FileOfOne], blobs: &Blobs) -> BTreeSet<String> {
    let mut bodies = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut note = |hash: &str| {
        if !seen.contains(hash) {
            seen.insert(hash.to_owned());
            if blobs.is_known(hash) {
                bodies.insert(hash.to_owned());
            }
        }
        ControlFlow::Continue(())
    };
    for one in files {
        let is_index = one.path.extension().is_some_and(|it| it == "idx");
        if is_index {
            continue;
        }
        let read = File::open(&one.path).and_then(|file| each_hash(file, &mut note));
        match read {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                // It goes all the same; what it named is found when all bodies are looked at.
                tracing::warn!("{}", Error::io("read what is removed", &one.path, why));
            }
            _ => {}
        }
    }
    bodies
}
