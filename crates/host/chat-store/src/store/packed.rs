//! Sessions whose logs were packed away: listed here, and to be fetched from elsewhere before anybody reads or goes on.
//!
//! Whether what is elsewhere is the same is for who asks for it; that the log here still is what was compared there is seen
//! here, while nobody can write to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Session, Store, locked};
use crate::error::Error;
use crate::log::{Files, Packed, packing_is_begun};
use crate::session_id::SessionId;

impl Store {
    /// Removes the log of a session, where it is what `packed` says, to the byte, and nobody reads it; whether it did. The
    /// session is none of the folder's then, but one of [`Store::packed`].
    ///
    /// The caller has read back and compared what is elsewhere. A log that is a copy of another server's stays.
    ///
    /// # Errors
    ///
    /// Where the disk refuses; the log is then as it was.
    pub fn pack_away(&self, session: &Arc<Session>, packed: Packed) -> Result<bool, Error> {
        let id = session.id().clone();
        {
            let mut slot = session.held()?;
            let Some(files) = session.resting(&mut slot, &self.inner, &packed) else {
                return Ok(false);
            };
            if !packed.is_of(&files)? {
                return Ok(false);
            }
            if let Err(why) = packed.pack_away(&files) {
                if !packing_is_begun(&files) {
                    return Err(why);
                }
                tracing::error!(
                    session = id.as_str(),
                    "{why}; it is ended at the next start"
                );
            }
            // Who still holds the session finds no log, and makes none.
            session.is_away.store(true, Ordering::Relaxed);
        }
        locked(&self.inner.packed).insert(id.clone(), Arc::new(packed));
        locked(&self.inner.sessions).remove(&id);
        locked(&self.inner.open).remove(&id);
        Ok(true)
    }

    /// What is known of the logs that were packed away, by their sessions' ids.
    pub fn packed(&self) -> Vec<Arc<Packed>> {
        locked(&self.inner.packed).values().cloned().collect()
    }

    /// Whether any was.
    pub fn has_packed(&self) -> bool {
        !locked(&self.inner.packed).is_empty()
    }

    /// Whether the log of that session was packed away, and is not here.
    pub fn is_packed(&self, id: &SessionId) -> bool {
        locked(&self.inner.packed).contains_key(id)
    }

    /// Forgets those of which somebody took away what was left, and says which.
    pub fn packed_that_went(&self) -> Vec<SessionId> {
        let known: Vec<SessionId> = locked(&self.inner.packed).keys().cloned().collect();
        let mut gone = Vec::new();
        for id in known {
            let files = Files::of_one(&self.inner.dir, &id.stem());
            let is_there = files.is_packed() || packing_is_begun(&files);
            if !is_there && locked(&self.inner.packed).remove(&id).is_some() {
                gone.push(id);
            }
        }
        gone
    }

    /// Takes note of what is left of logs that were packed away.
    pub(super) fn take_in_packed(&self, packed: &[Files]) {
        for files in packed {
            let taken = match files.clone().listed_anew() {
                // It came back before all was stopped.
                Ok(files) if files.are_there() => files
                    .forget_packed()
                    .map_err(|why| Error::io("forget what was packed away", &files.packed(), why)),
                Ok(_) => Packed::read(files).map(|packed| self.note_packed(packed)),
                Err(why) => Err(why),
            };
            if let Err(why) = taken {
                tracing::error!("{why}");
            }
        }
    }

    /// A log of the session is here again. Where what was left of the other stays, the next start removes it.
    pub(super) fn unpacked(&self, id: &SessionId, files: &Files) {
        locked(&self.inner.packed).remove(id);
        if let Err(why) = files.forget_packed() {
            tracing::warn!(session = id.as_str(), "{why}: {}", files.packed().display());
        }
    }

    fn note_packed(&self, packed: Option<Packed>) {
        if let Some(packed) = packed
            && let Ok(id) = SessionId::parse(&packed.session)
        {
            locked(&self.inner.packed).insert(id, Arc::new(packed));
        }
    }
}
