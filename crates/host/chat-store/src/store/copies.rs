//! Sessions whose numbers another server gives: their logs are copies of their home's.
//!
//! A copy has the epoch and the numbers of its home, so that a reader's place in one log is the same place in the other. It
//! is read as any log is. Which server is a session's home, and how its log is fetched, is for the server; so is what to do
//! where a copy cannot go on.

use std::sync::Arc;

use super::{Session, Store, now_ms};
use crate::error::Error;
use crate::log::{Appended, Copied, CopyOf, Epoch};
use crate::session_id::SessionId;

impl Store {
    /// The session of that id; where there is none, or it has had no event, it is an empty copy of `home`'s, which is at
    /// `epoch`. One that is another's copy, or its own home, is given as it is.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, or a file that is no log of that session stands in its place.
    pub fn session_or_copy(
        &self,
        id: &SessionId,
        home: &str,
        epoch: &str,
    ) -> Result<Arc<Session>, Error> {
        let session = self.opened_or_new(id, Some(copy_of(home, epoch)))?;
        // A stop may have left an empty file.
        if session.position().1 == 0 && session.home().is_none() {
            let epoch = Epoch {
                epoch: epoch.to_owned(),
                base: 0,
            };
            session.copy_from(home, &[epoch])?;
        }
        Ok(session)
    }
}

impl Session {
    /// Whose log this one is a copy of; `None` where it gives its numbers itself.
    pub fn home(&self) -> Option<String> {
        self.of_epochs(|epochs| epochs.home().map(str::to_owned))
    }

    /// The epochs of the log, in order: what a copy of it must know to go on. Taken after a page of the same
    /// [`epoch`](crate::Page::epoch), they are those of that page.
    pub fn epochs(&self) -> Vec<Epoch> {
        self.of_epochs(|epochs| epochs.all().to_vec())
    }

    /// Stores what is new of a part of the home's log, under the numbers it has there. What is known is left out. The
    /// promises are those of [`Session::append`].
    ///
    /// # Errors
    ///
    /// Nothing is stored then:
    ///
    /// - [`Error::NotItsCopy`] where the log is not a copy of that home's;
    /// - [`Error::Parted`] where it has events that the home's has not, or has them under an epoch that the part does not
    ///   tell of. With all epochs of the home told, only [`Session::begin_anew`] helps; what would be set aside by it can
    ///   be sent to the home before, as a page from `shared_up_to` on;
    /// - [`Error::Lacking`] where numbers before it are neither here nor said to be gaps;
    /// - [`Error::Differs`] where the copy is not what it should be;
    /// - [`Error::BadLine`] where a line was changed on its way;
    /// - and where the disk refuses.
    pub fn append_copied(self: &Arc<Self>, copied: Copied) -> Result<Appended, Error> {
        self.append_with(|log, store| log.append_copied(copied, store.options.sync, now_ms()))
    }

    /// Makes the log a copy of the one that has these epochs: from now on its numbers are `home`'s. All that is here must
    /// be there, too.
    ///
    /// What was lost here stays lost: a copy with [`gaps`](Session::gaps) that its home has not is made whole by
    /// [`Session::begin_anew`].
    ///
    /// # Errors
    ///
    /// [`Error::Parted`] where it is not, and where the disk refuses. The log is then as it was.
    pub fn copy_from(&self, home: &str, epochs: &[Epoch]) -> Result<(), Error> {
        let store = self.store()?;
        self.with(&store, |log| log.copy_from(home, epochs, now_ms()))
    }

    /// Sets the log aside, copy or not, and begins an empty copy of `home`'s, which is at `epoch`. The files that were here
    /// have other names then (`<stem>.aside-<n>`), and are read by nobody.
    ///
    /// # Errors
    ///
    /// Where the disk refuses. The log is then as it was; or, where some of it has its other name by then, it takes nothing
    /// until the folder is opened again, which sets the rest aside.
    pub fn begin_anew(&self, home: &str, epoch: &str) -> Result<(), Error> {
        let store = self.store()?;
        self.with(&store, |log| log.begin_anew(copy_of(home, epoch), now_ms()))
    }

    /// Makes a copy its own home: it gives numbers from now on, under an epoch of its own, for the home it had may have given
    /// the same numbers to others. Of a log that is its own home already nothing changes.
    ///
    /// # Errors
    ///
    /// Where the disk refuses; it is then the copy it was.
    pub fn take_over(&self) -> Result<(), Error> {
        let store = self.store()?;
        self.with(&store, |log| log.take_over(now_ms()))
    }
}

fn copy_of(home: &str, epoch: &str) -> CopyOf {
    CopyOf {
        home: home.to_owned(),
        epoch: epoch.to_owned(),
    }
}
