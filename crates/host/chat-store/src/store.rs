//! One data folder, held by one process, and the sessions in it.
//!
//! How their logs are opened is in `opening`, when what is written is made durable in `syncing`.

mod anew;
mod boot;
mod changing;
mod copies;
mod found;
pub(crate) mod lock;
mod opening;
mod packed;
mod removal;
mod restore;
mod rows;
mod session;
mod syncing;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::blobs::{self, Blobs};
use crate::error::Error;
use crate::log::{Files, Packed};
use crate::platform;
use crate::session_id::SessionId;
use anew::Anew;
pub use anew::{FoundTold, LogFound};
use boot::Boot;
use changing::Changing;
pub use removal::{HeldFolder, Removal, named_bodies};
pub(crate) use restore::ASIDE;
pub use restore::Restoring;
pub use rows::{Rows, rows, sizes};
pub use session::{Known, Session, StoredBody};
pub use syncing::{SyncPolicy, beside_each_other};

/// Each open log may hold two files, and a process often has no more than 1024.
const OPEN_LOGS: usize = 256;

/// How a folder is opened.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// When what is written is made durable.
    pub sync: SyncPolicy,
    /// A log's file of so many bytes is sealed, and the log goes on in a new one.
    pub segment_bytes: u64,
    /// Logs that are open at once; each may hold two files.
    pub open_logs: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            sync: SyncPolicy::default(),
            // Large enough that a session is mostly one file, small enough to be copied elsewhere in one go.
            segment_bytes: 64 * 1024 * 1024,
            open_logs: OPEN_LOGS,
        }
    }
}

/// One data folder. Dropping it does not say that the logs were left on purpose: [`Store::close`] does.
#[derive(Debug)]
pub struct Store {
    inner: Arc<Inner>,
    stop_syncing: Mutex<Option<mpsc::Sender<()>>>,
    syncing: Mutex<Option<std::thread::JoinHandle<()>>>,
}

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    options: Options,
    blobs: Arc<Blobs>,
    sessions: Mutex<BTreeMap<SessionId, Arc<Session>>>,
    /// Those that are begun, taken in or removed now.
    changing: Changing,
    /// What is known of logs that were packed away.
    packed: Mutex<BTreeMap<SessionId, Arc<Packed>>>,
    /// Those that have what is not durable.
    to_sync: Mutex<Vec<Arc<Session>>>,
    /// Held by who makes those durable: who comes behind it finds all of it done, and not only begun.
    sync_turn: Mutex<()>,
    /// Those whose log is open.
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    ticks: AtomicU64,
    anew: Anew,
    /// Those that are not closed yet, while all are.
    to_close: AtomicUsize,
    /// Logs of the folder that could not be opened.
    unopened: Mutex<BTreeSet<String>>,
    /// Released when the process ends, however it ends.
    _lock: File,
}

impl Store {
    /// Takes the folder, and opens and repairs the logs in it.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where another process has it, and where the disk refuses. A log that cannot be opened is left as
    /// it is and said to the operator.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        platform::create_private_dir(dir)
            .map_err(|why| Error::io("make the data folder", dir, why))?;
        let lock = lock::lock(dir)?;
        restore::clear(dir);
        let boot = Boot::new(dir, options.sync);
        let is_sure = boot.lost_nothing();
        let store = Store {
            inner: Arc::new(Inner {
                dir: dir.to_owned(),
                options,
                blobs: Arc::new(Blobs::open(dir.join("blobs"))?),
                sessions: Mutex::default(),
                changing: Changing::default(),
                packed: Mutex::default(),
                to_sync: Mutex::default(),
                sync_turn: Mutex::default(),
                open: Mutex::default(),
                ticks: AtomicU64::new(0),
                anew: Anew::default(),
                to_close: AtomicUsize::new(0),
                unopened: Mutex::default(),
                _lock: lock,
            }),
            stop_syncing: Mutex::default(),
            syncing: Mutex::default(),
        };
        store.open_logs(is_sure)?;
        // Only now: should we stop before, the next one must still see that the logs are of another boot.
        boot.keep()?;
        if options.sync == SyncPolicy::EverySecond {
            store.start_syncing()?;
        }
        Ok(store)
    }

    /// The session of that id, where there is one.
    pub fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        locked(&self.inner.sessions).get(id).cloned()
    }

    /// All sessions, by id.
    pub fn sessions(&self) -> Vec<Arc<Session>> {
        locked(&self.inner.sessions).values().cloned().collect()
    }

    /// Those of the sessions that have no file in the folder.
    ///
    /// # Errors
    ///
    /// Where the folder cannot be listed.
    pub fn without_log(&self, mut ids: Vec<SessionId>) -> Result<Vec<SessionId>, Error> {
        // What takes another name while the folder is read may be seen under neither: who is missing is looked for twice.
        for _ in 0..2 {
            if !ids.is_empty() {
                let stems = found::stems(&self.inner.dir)?;
                ids.retain(|id| !stems.contains(&id.stem()));
            }
        }
        Ok(ids)
    }

    /// How many logs of the folder could not be opened so far; they are left as they are.
    pub fn unopened_logs(&self) -> u64 {
        locked(&self.inner.unopened).len() as u64
    }

    /// The bodies beside the logs.
    pub fn blobs(&self) -> &Arc<Blobs> {
        &self.inner.blobs
    }

    /// Tries whether the folder takes a file.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn probe(&self) -> Result<(), Error> {
        let probe_in = |dir: &Path| {
            let path = dir.join(blobs::PROBE);
            // As much as a disk gives at once: a full one may have room for an empty file.
            let written = lock::write_file(&path, &[b' '; 4096]);
            let _ = std::fs::remove_file(&path);
            written
        };
        // Beside the bodies: where a name comes and goes in the folder itself, it is looked through for logs that went.
        probe_in(self.inner.blobs.dir()).or_else(|_| probe_in(&self.inner.dir))
    }

    /// The file that the log of a session is appended to, where it has one.
    pub fn log_path(&self, id: &SessionId) -> PathBuf {
        Files::of_one(&self.inner.dir, &id.stem()).newest()
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }
}

impl Inner {
    /// The log of that session was opened: where there are too many, the one that was not used for longest is put away.
    fn opened(&self, id: &SessionId) {
        let Some(session) = locked(&self.sessions).get(id).cloned() else {
            return;
        };
        locked(&self.open).insert(id.clone(), session);
        let sync = self.options.sync;
        self.keep_open(self.options.open_logs, id, &|session| {
            session.put_away(sync)
        });
    }

    /// Puts logs away by `put_away` where more than `most` are open, those that were not used for longest, and never that of
    /// `id`. The list of them is not held while the disk works.
    fn keep_open(&self, most: usize, id: &SessionId, put_away: &dyn Fn(&Session) -> bool) {
        let mut sessions: Vec<_> = {
            let open = locked(&self.open);
            if open.len() <= most {
                return;
            }
            open.values().cloned().collect()
        };
        // A tenth at once, so that the search for the oldest is shared by many.
        let mut n_too_many = sessions.len() - most + most / 10;
        // Each is asked once: others use their sessions meanwhile, and what changes while it is sorted has no order.
        sessions.sort_by_cached_key(|session| session.used());
        sessions.retain(|session| session.id() != id);
        for session in sessions {
            if n_too_many == 0 {
                return;
            }
            // Before it is put away: who opens it right behind that puts it in again.
            if locked(&self.open).remove(session.id()).is_none() {
                // Another one is at it.
                n_too_many -= 1;
            } else if put_away(&session) {
                n_too_many -= 1;
            } else {
                locked(&self.open).insert(session.id().clone(), session);
            }
        }
    }

    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The thread may hold the folder for a moment; it is free when this returns.
        self.stop_syncing();
    }
}

/// A thread that failed while it held a log has appended all or nothing; the others go on.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time, in milliseconds since 1970 (Unix epoch).
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

#[cfg(test)]
mod tests;
