//! One session: its log, open or put away.
//!
//! Of a log that is put away only the facts are held. It is opened when it is asked for, by its index, and put away again when
//! too many others were used since.
//!
//! What is read of it is in `read`.

mod carried;
mod opening;
mod read;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use chat_event::ChatEvent;

use super::{Inner, SyncPolicy, now_ms};
use crate::error::Error;
use crate::log::{
    Appended, Epochs, Facts, Files, Log, Packed, Rewrite, Snapshot, Storing, items_of,
};
use crate::session_id::SessionId;
pub use read::{Known, StoredBody};

/// One session's log.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    slot: Mutex<Slot>,
    used: AtomicU64,
    /// Held by each who reads: what is read is not taken away meanwhile.
    readers: Arc<()>,
    /// The log was packed away, another one took its place, or it was forgotten, while somebody held the session.
    pub(super) is_away: AtomicBool,
    store: Weak<Inner>,
}

#[derive(Debug)]
pub(super) enum Slot {
    Open(Box<Log>),
    Closed(Box<Facts>),
}

impl Slot {
    fn epoch(&self) -> &str {
        match self {
            Slot::Open(log) => log.epochs().now(),
            Slot::Closed(facts) => facts.epochs.now(),
        }
    }
}

impl Session {
    pub(super) fn of_log(id: SessionId, log: Log, store: &Arc<Inner>) -> Arc<Self> {
        Self::new(id, Slot::Open(Box::new(log)), store)
    }

    pub(super) fn of_facts(id: SessionId, facts: Facts, store: &Arc<Inner>) -> Arc<Self> {
        Self::new(id, Slot::Closed(Box::new(facts)), store)
    }

    fn new(id: SessionId, slot: Slot, store: &Arc<Inner>) -> Arc<Self> {
        Arc::new(Session {
            id,
            slot: Mutex::new(slot),
            used: AtomicU64::new(0),
            readers: Arc::default(),
            is_away: AtomicBool::default(),
            store: Arc::downgrade(store),
        })
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Stores the events that are new. When this returns they are with the operating system, and with
    /// [`SyncPolicy::Always`] on the disk.
    ///
    /// `recv_ms` is the time of arrival, Unix epoch in milliseconds. With `atomic` all are stored or none.
    ///
    /// # Errors
    ///
    /// [`Error::IsCopy`] where another server gives the numbers, and where the disk refuses; then none is stored.
    pub fn append(
        self: &Arc<Self>,
        events: Vec<ChatEvent>,
        atomic: bool,
        recv_ms: i64,
    ) -> Result<Appended, Error> {
        self.append_as(events, atomic, recv_ms, None)
    }

    /// As [`Session::append`], of events that are changed before they are stored. Where it fails, or says that all of it is
    /// refused, `rewrite` may have seen events that are not stored.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn append_rewritten(
        self: &Arc<Self>,
        events: Vec<ChatEvent>,
        atomic: bool,
        recv_ms: i64,
        rewrite: &mut dyn Rewrite,
    ) -> Result<Appended, Error> {
        self.append_as(events, atomic, recv_ms, Some(rewrite))
    }

    fn append_as(
        self: &Arc<Self>,
        events: Vec<ChatEvent>,
        atomic: bool,
        now_ms: i64,
        rewrite: Option<&mut dyn Rewrite>,
    ) -> Result<Appended, Error> {
        let items = items_of(events, &self.store()?.blobs, rewrite.is_some())?;
        self.append_with(|log, store| {
            let storing = Storing {
                sync: store.options.sync,
                atomic,
                now_ms,
                rewrite,
            };
            log.append(items, &store.blobs, storing)
        })
    }

    /// Does what writes to the log, and sees that it is made durable.
    pub(super) fn append_with(
        self: &Arc<Self>,
        append: impl FnOnce(&mut Log, &Inner) -> Result<Appended, Error>,
    ) -> Result<Appended, Error> {
        let store = self.store()?;
        let appended = self.with(&store, |log| {
            let was_unsynced = log.is_unsynced();
            let appended = append(log, &store);
            Ok((appended, !was_unsynced && log.is_unsynced()))
        });
        let (appended, is_newly_unsynced) = appended?;
        if is_newly_unsynced {
            store.to_sync(self);
        }
        appended
    }

    /// Reads the log anew where somebody else wrote to it, or put another one in its place.
    ///
    /// # Errors
    ///
    /// [`Error::Gone`] where somebody removed it, and where the disk refuses.
    pub fn look_anew(&self) -> Result<(), Error> {
        self.with_to_read(|log| log.check_unchanged(now_ms()))
    }

    /// Makes what was written durable.
    ///
    /// # Errors
    ///
    /// Where the disk refuses; the session then takes no more events.
    pub fn sync(&self) -> Result<(), Error> {
        let syncing = match &mut *self.held()? {
            Slot::Open(log) => log.begin_sync()?,
            Slot::Closed(_) => None,
        };
        let Some(syncing) = syncing else {
            return Ok(());
        };
        // The log is not held while the disk works: a slow one is no reason for senders and readers to wait.
        let synced = syncing.run();
        match &mut *self.held()? {
            Slot::Open(log) => log.end_sync(synced),
            // It is not put away while it is made durable.
            Slot::Closed(_) => Ok(()),
        }
    }

    /// Whether it has what is not durable.
    pub(super) fn is_unsynced(&self) -> bool {
        match &*self.seen() {
            Slot::Open(log) => log.is_unsynced(),
            Slot::Closed(_) => false,
        }
    }

    /// Says in the log that it was left on purpose, and puts it away: there may be more logs than files to be had.
    pub(super) fn close(&self) -> Result<(), Error> {
        let mut slot = self.held()?;
        let store = self.store()?;
        // What somebody removed is not to be there again for its end.
        let is_over = match &*slot {
            Slot::Closed(facts) => {
                facts.ends_clean || facts.is_gone(&facts.files(&store.dir, &self.id.stem()))
            }
            Slot::Open(log) => log.facts_of_gone().is_some(),
        };
        if is_over {
            return Ok(());
        }
        let log = self.opened(&mut slot, &store)?;
        log.close(now_ms())?;
        if let Some(facts) = log.kept_facts() {
            *slot = Slot::Closed(Box::new(facts));
        }
        Ok(())
    }

    /// Puts the log away until it is asked for again, where all that is known of it is on the disk.
    pub(super) fn put_away(&self, sync: SyncPolicy) -> bool {
        let Ok(mut slot) = self.slot.try_lock() else {
            return false;
        };
        let Slot::Open(log) = &mut *slot else {
            return true;
        };
        // How it went is told to who had the disk write it.
        if log.is_syncing() || log.is_degraded() {
            return false;
        }
        if let Some(facts) = log.facts_of_gone() {
            *slot = Slot::Closed(Box::new(facts));
            return true;
        }
        // A burst of new logs is not waited for until the next second: each holds its files.
        let is_durable = sync == SyncPolicy::Never
            || !log.is_unsynced()
            || log.sync().is_ok() && !log.is_unsynced();
        if !is_durable {
            return false;
        }
        log.write_index();
        match log.kept_facts() {
            Some(facts) => {
                *slot = Slot::Closed(Box::new(facts));
                true
            }
            None => false,
        }
    }

    /// When it was used last; only the order of these numbers means anything.
    pub(super) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// The log for who changes or reads it. Where a task failed while it had it, what is known of it may be half changed: it
    /// is read anew first.
    pub(super) fn held(&self) -> Result<MutexGuard<'_, Slot>, Error> {
        self.slot.lock().or_else(|poisoned| {
            let mut slot = poisoned.into_inner();
            match &mut *slot {
                Slot::Open(log) => log.recover(now_ms())?,
                // What is known of a log that is put away is only changed as a whole.
                Slot::Closed(_) => {}
            }
            self.slot.clear_poison();
            Ok(slot)
        })
    }

    /// The log for who only looks at what is known of it.
    fn seen(&self) -> MutexGuard<'_, Slot> {
        self.held().unwrap_or_else(|why| {
            tracing::error!(session = self.id.as_str(), "{why}");
            self.slot.lock().unwrap_or_else(PoisonError::into_inner)
        })
    }

    fn snapshot(&self, after: u64) -> Result<Snapshot, Error> {
        let readers = &self.readers;
        self.with_to_read(|log| log.snapshot(after, readers.clone(), now_ms()))
    }

    /// The files of the log, where it is at the position that `packed` says, gives its numbers itself, and nobody reads it.
    /// It is put away then.
    pub(super) fn resting(&self, slot: &mut Slot, store: &Inner, packed: &Packed) -> Option<Files> {
        if Arc::strong_count(&self.readers) > 1 {
            return None;
        }
        if let Slot::Open(log) = slot {
            if log.is_degraded() || log.is_unsynced() {
                return None;
            }
            log.write_index();
            *slot = Slot::Closed(Box::new(log.kept_facts()?));
        }
        let Slot::Closed(facts) = slot else {
            return None;
        };
        let files = facts.files(&store.dir, &self.id.stem());
        let is_of_it = facts.epochs.home().is_none()
            && (facts.epochs.now(), facts.head) == (&*packed.epoch, packed.head)
            && self.id.as_str() == packed.session
            && !self.is_away.load(Ordering::Relaxed)
            && facts.is_of_now(&files);
        is_of_it.then_some(files)
    }

    /// What the epochs of the log say.
    pub(super) fn of_epochs<T>(&self, say: impl FnOnce(&Epochs) -> T) -> T {
        match &*self.seen() {
            Slot::Open(log) => say(log.epochs()),
            Slot::Closed(facts) => say(&facts.epochs),
        }
    }

    pub(super) fn store(&self) -> Result<Arc<Inner>, Error> {
        self.store.upgrade().ok_or_else(|| Error::Degraded {
            why: "the store is closed".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
