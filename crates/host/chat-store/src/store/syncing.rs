//! When what is written is made durable, and how: once a second for all logs that have something new, and at the end.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Inner, Session, Store, locked};
use crate::error::Error;

/// Logs that are made durable, or closed, beside each other: nearly all of it is waiting for the disk, which takes many at once
/// as soon as one.
const SYNCING: usize = 16;

/// When what is written is made to survive a power failure. It survives the end of this process in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Before each acknowledgement.
    Always,
    /// Once a second.
    #[default]
    EverySecond,
    /// When the system likes.
    Never,
}

impl Store {
    pub(super) fn start_syncing(&self) -> Result<(), Error> {
        let (stop, stopped) = mpsc::channel();
        let inner = Arc::downgrade(&self.inner);
        let sync_each_second = move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let Some(inner) = inner.upgrade() else { return };
                inner.sync_all();
            }
        };
        let syncing = std::thread::Builder::new()
            .name("sync".to_owned())
            .spawn(sync_each_second)
            .map_err(|why| Error::io("start a thread", &self.inner.dir, why))?;
        *locked(&self.stop_syncing) = Some(stop);
        *locked(&self.syncing) = Some(syncing);
        Ok(())
    }

    /// Makes durable what is not yet, also where that is begun; what cannot be is said, and tried again.
    pub fn sync(&self) {
        self.inner.sync_all();
    }

    /// Makes everything durable and says in each log that it was left on purpose.
    pub fn close(&self) {
        let sessions = self.sessions();
        let to_close = &self.inner.to_close;
        to_close.store(sessions.len(), Ordering::Relaxed);
        self.stop_syncing();
        beside_each_other(SYNCING, sessions, &|session| {
            if let Err(why) = session.close() {
                tracing::error!(session = session.id().as_str(), "{why}");
            }
            to_close.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// How many logs a [`Store::close`] that goes on has not come to the end of; some of them may have nothing to be closed for.
    pub fn n_to_close(&self) -> usize {
        self.inner.to_close.load(Ordering::Relaxed)
    }

    pub(super) fn stop_syncing(&self) {
        drop(locked(&self.stop_syncing).take());
        if let Some(syncing) = locked(&self.syncing).take()
            && syncing.join().is_err()
        {
            tracing::error!("the syncing thread had failed");
        }
    }
}

impl Inner {
    /// The session has what is not durable.
    pub(super) fn to_sync(&self, session: &Arc<Session>) {
        if self.options.sync == SyncPolicy::EverySecond {
            locked(&self.to_sync).push(session.clone());
        }
    }

    /// What came to many sessions within a second is made durable within about the next.
    fn sync_all(&self) {
        let _turn = locked(&self.sync_turn);
        let sessions = std::mem::take(&mut *locked(&self.to_sync));
        let n_threads = sessions.len().clamp(1, SYNCING);
        beside_each_other(n_threads, sessions, &|session| self.sync_one(&session));
    }

    fn sync_one(&self, session: &Arc<Session>) {
        if let Err(why) = session.sync() {
            tracing::error!(session = session.id().as_str(), "{why}");
            if session.condition().degraded.is_none() {
                // There may only be no file to be had just now.
                self.to_sync(session);
            }
        } else if session.is_unsynced() {
            // What came while the disk was at it found the session among those that are to be synced.
            self.to_sync(session);
        }
    }
}

/// Does the work for each, on at most so many threads: this one does all of it where there is no other to be had.
pub fn beside_each_other<T: Send>(n_threads: usize, all: Vec<T>, work: &(dyn Fn(T) + Sync)) {
    let left = Mutex::new(all.into_iter());
    let work_on = || {
        loop {
            let next = locked(&left).next();
            let Some(next) = next else { return };
            work(next);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads {
            // Where there is no thread to be had, those that are there do it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work_on);
        }
        work_on();
    });
}

#[cfg(test)]
mod tests;
