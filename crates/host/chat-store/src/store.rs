//! One data folder, held by one process, and the sessions in it.

mod anew;
mod boot;
mod copies;
mod found;
pub(crate) mod lock;
mod packed;
mod removal;
mod restore;
mod rows;
mod session;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::blobs::Blobs;
use crate::error::Error;
use crate::log::{CopyOf, Facts, Files, Log, Opening, Packed, end_begun};
use crate::platform;
use crate::session_id::SessionId;
use anew::Anew;
pub use anew::{FoundTold, LogFound};
use boot::Boot;
use found::Found;
pub use removal::{HeldFolder, Removal, named_bodies};
pub(crate) use restore::ASIDE;
pub use restore::Restoring;
pub use rows::{Rows, rows, sizes};
pub use session::{Session, StoredBody};

/// Each open log may hold two files, and a process often has no more than 1024.
const OPEN_LOGS: usize = 256;

/// Logs that are opened beside each other when a folder is: each that has no index holds some MiB while it is read.
const MOST_OPENING: usize = 8;

/// Logs that are closed beside each other: nearly all of it is waiting for the disk, which takes many at once as soon as one.
const CLOSING: usize = 16;

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
    blobs: Blobs,
    sessions: Mutex<BTreeMap<SessionId, Arc<Session>>>,
    /// What is known of logs that were packed away.
    packed: Mutex<BTreeMap<SessionId, Arc<Packed>>>,
    /// Those that have what is not durable.
    to_sync: Mutex<Vec<Arc<Session>>>,
    /// Those whose log is open.
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    ticks: AtomicU64,
    anew: Anew,
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
                blobs: Blobs::open(dir.join("blobs"))?,
                sessions: Mutex::default(),
                packed: Mutex::default(),
                to_sync: Mutex::default(),
                open: Mutex::default(),
                ticks: AtomicU64::new(0),
                anew: Anew::default(),
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

    fn open_logs(&self, is_sure: bool) -> Result<(), Error> {
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

    fn start_syncing(&self) -> Result<(), Error> {
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

    /// The session of that id, where there is one.
    pub fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        locked(&self.inner.sessions).get(id).cloned()
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
    fn opened_or_new(
        &self,
        id: &SessionId,
        copy_of: Option<CopyOf>,
    ) -> Result<Arc<Session>, Error> {
        let mut sessions = locked(&self.inner.sessions);
        if let Some(session) = sessions.get(id) {
            return Ok(session.clone());
        }
        let mut files = Files::of_one(&self.inner.dir, &id.stem());
        let is_packed = self.is_packed(id);
        if is_packed && copy_of.is_none() {
            return Err(Error::PackedAway {
                session: id.as_str().to_owned(),
            });
        }
        if self.unopened_logs() > 0 {
            // It may be one of those: then it has more than its newest file.
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
        sessions.insert(id.clone(), session.clone());
        drop(sessions);
        locked(&self.inner.unopened).remove(files.stem());
        self.inner.opened(id);
        Ok(session)
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
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// Tries whether the folder takes a file.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn probe(&self) -> Result<(), Error> {
        let path = self.inner.dir.join(".probe");
        // As much as a disk gives at once: a full one may have room for an empty file.
        let written = lock::write_file(&path, &[b' '; 4096]);
        let _ = std::fs::remove_file(&path);
        written
    }

    /// The file that the log of a session is appended to, where it has one.
    pub fn log_path(&self, id: &SessionId) -> PathBuf {
        Files::of_one(&self.inner.dir, &id.stem()).newest()
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// Makes durable what is not yet; what cannot be is said, and tried again.
    pub fn sync(&self) {
        self.inner.sync_all();
    }

    /// Makes everything durable and says in each log that it was left on purpose.
    pub fn close(&self) {
        self.stop_syncing();
        beside_each_other(CLOSING, self.sessions(), &|session| {
            if let Err(why) = session.close() {
                tracing::error!(session = session.id().as_str(), "{why}");
            }
        });
    }
}

impl Store {
    fn stop_syncing(&self) {
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
    fn to_sync(&self, session: &Arc<Session>) {
        if self.options.sync == SyncPolicy::EverySecond {
            locked(&self.to_sync).push(session.clone());
        }
    }

    fn sync_all(&self) {
        let sessions = std::mem::take(&mut *locked(&self.to_sync));
        for session in sessions {
            if let Err(why) = session.sync() {
                tracing::error!(session = session.id().as_str(), "{why}");
                if session.condition().degraded.is_none() {
                    // There may only be no file to be had just now.
                    self.to_sync(&session);
                }
            } else if session.is_unsynced() {
                // What came while the disk was at it found the session among those that are to be synced.
                self.to_sync(&session);
            }
        }
    }

    /// The log of that session was opened: where there are too many, the one that was not used for longest is put away.
    fn opened(&self, id: &SessionId) {
        let Some(session) = locked(&self.sessions).get(id).cloned() else {
            return;
        };
        let mut open = locked(&self.open);
        open.insert(id.clone(), session);
        let most = self.options.open_logs;
        if open.len() <= most {
            return;
        }
        // A tenth at once, so that the search for the oldest is shared by many.
        let mut sessions: Vec<_> = open.values().cloned().collect();
        sessions.sort_by_key(|session| session.used());
        let n_too_many = sessions.len() - most + most / 10;
        sessions.retain(|session| session.id() != id);
        let sync = self.options.sync;
        let mut away = sessions
            .into_iter()
            .filter(|session| session.put_away(sync));
        for session in away.by_ref().take(n_too_many) {
            open.remove(session.id());
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

/// A full disk is no reason not to give what there is.
fn note_where_from(files: &Files, id: &SessionId) {
    if let Err(why) = files.note_where_from(id.as_str()) {
        tracing::warn!(
            session = id.as_str(),
            "could not note that the log may be from elsewhere: {why}"
        );
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
