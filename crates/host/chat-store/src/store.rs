//! One data folder, held by one process, and the sessions in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use chat_event::{ChatEvent, bodies};

use crate::blobs::Blobs;
use crate::error::Error;
use crate::log::{Appended, Condition, Log, Page, PageRequest};
use crate::platform;
use crate::session_id::SessionId;
use crate::summary::Summary;

/// How long the lock of another process is waited for: one that was killed may not be quite gone.
const LOCK_WAIT: Duration = Duration::from_millis(500);

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
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// When what is written is made durable.
    pub sync: SyncPolicy,
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
    /// Logs of the folder that could not be opened.
    unopened: AtomicU64,
    /// Released when the process ends, however it ends.
    _lock: File,
}

/// One session's log.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    log: Mutex<Log>,
    store: Weak<Inner>,
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
        let lock = lock(dir)?;
        let boot_path = dir.join("boot_id");
        let boot_id = platform::boot_id();
        let last_boot_id = std::fs::read_to_string(&boot_path).ok();
        let same_boot =
            boot_id.is_some() && boot_id.as_deref() == last_boot_id.as_deref().map(str::trim);
        let store = Store {
            inner: Arc::new(Inner {
                dir: dir.to_owned(),
                options,
                blobs: Blobs::open(dir.join("blobs"))?,
                sessions: Mutex::default(),
                unopened: AtomicU64::new(0),
                _lock: lock,
            }),
            stop_syncing: Mutex::default(),
            syncing: Mutex::default(),
        };
        store.open_logs(same_boot)?;
        // Only now: should we stop before, the next one must still see that the logs are of another boot.
        if let Some(boot_id) = boot_id {
            write_file(&boot_path, boot_id.as_bytes())?;
        }
        if options.sync == SyncPolicy::EverySecond {
            store.start_syncing()?;
        }
        Ok(store)
    }

    fn open_logs(&self, same_boot: bool) -> Result<(), Error> {
        let dir = &self.inner.dir;
        let entries =
            std::fs::read_dir(dir).map_err(|why| Error::io("list the data folder", dir, why))?;
        let mut sessions = locked(&self.inner.sessions);
        for entry in entries {
            let entry = entry.map_err(|why| Error::io("list the data folder", dir, why))?;
            let name = entry.file_name();
            let Some(stem) = name
                .to_str()
                .and_then(|name| name.strip_suffix(".events.jsonl"))
            else {
                continue;
            };
            let opened = session_of(&entry.path(), stem).and_then(|id| {
                let sync = self.inner.options.sync;
                Log::open(dir, id.clone(), same_boot, sync, now_ms()).map(|log| (id, log))
            });
            match opened {
                Ok((id, log)) => {
                    sessions.insert(id.clone(), Session::new(id, log, &self.inner));
                }
                Err(why) => {
                    self.inner.unopened.fetch_add(1, Ordering::Relaxed);
                    tracing::error!("{why}");
                }
            }
        }
        Ok(())
    }

    fn start_syncing(&self) -> Result<(), Error> {
        let (stop, stopped) = mpsc::channel();
        let inner = Arc::downgrade(&self.inner);
        let sync_each_second = move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let Some(inner) = inner.upgrade() else { return };
                let sessions: Vec<_> = locked(&inner.sessions).values().cloned().collect();
                for session in sessions {
                    if let Err(why) = locked(&session.log).sync() {
                        tracing::error!(session = session.id.as_str(), "{why}");
                    }
                }
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
    /// Where the disk refuses, or a file that is no log of that session stands in its place.
    pub fn session_or_new(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let mut sessions = locked(&self.inner.sessions);
        if let Some(session) = sessions.get(id) {
            return Ok(session.clone());
        }
        let sync = self.inner.options.sync;
        let log = Log::open(&self.inner.dir, id.clone(), true, sync, now_ms())?;
        let session = Session::new(id.clone(), log, &self.inner);
        sessions.insert(id.clone(), session.clone());
        Ok(session)
    }

    /// All sessions, by id.
    pub fn sessions(&self) -> Vec<Arc<Session>> {
        locked(&self.inner.sessions).values().cloned().collect()
    }

    /// How many logs of the folder could not be opened; they are left as they are.
    pub fn unopened_logs(&self) -> u64 {
        self.inner.unopened.load(Ordering::Relaxed)
    }

    /// The bodies beside the logs.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// Makes everything durable and says in each log that it was left on purpose.
    pub fn close(&self) {
        self.stop_syncing();
        for session in self.sessions() {
            if let Err(why) = locked(&session.log).close(now_ms()) {
                tracing::error!(session = session.id.as_str(), "{why}");
            }
        }
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

impl Drop for Store {
    fn drop(&mut self) {
        // The thread may hold the folder for a moment; it is free when this returns.
        self.stop_syncing();
    }
}

impl Session {
    fn new(id: SessionId, log: Log, store: &Arc<Inner>) -> Arc<Self> {
        Arc::new(Session {
            id,
            log: Mutex::new(log),
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
    /// Where the disk refuses; then none is stored.
    pub fn append(
        &self,
        events: Vec<ChatEvent>,
        atomic: bool,
        recv_ms: i64,
    ) -> Result<Appended, Error> {
        let store = self.store()?;
        locked(&self.log).append(events, &store.blobs, store.options.sync, atomic, recv_ms)
    }

    /// A page of events.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn page(&self, request: PageRequest) -> Result<Page, Error> {
        let snapshot = locked(&self.log).snapshot(request.after);
        snapshot.read(request)
    }

    /// Shows `visit` the number and the line of each event behind `after`, in order, until it breaks. What is stored
    /// meanwhile is not shown.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn walk(
        &self,
        after: u64,
        visit: &mut dyn FnMut(u64, &str) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let snapshot = locked(&self.log).snapshot(after);
        snapshot.walk(after, visit)
    }

    /// How the log is.
    pub fn condition(&self) -> Condition {
        locked(&self.log).condition()
    }

    /// The event with that id, with its bodies where they were.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn event_whole(&self, event_id: &str) -> Result<Option<ChatEvent>, Error> {
        let store = self.store()?;
        let Some((mut event, _)) = locked(&self.log).find(event_id)? else {
            return Ok(None);
        };
        bodies::put_back(&mut event, &mut |reference| {
            let Ok(body) = store.blobs.get(&reference.sha256) else {
                return Ok(None);
            };
            Ok::<_, Error>(body.and_then(|body| String::from_utf8(body).ok()))
        })?;
        event.extra.remove("c");
        Ok(Some(event))
    }

    /// The session's row in the list.
    pub fn summary(&self) -> Summary {
        locked(&self.log).summary().clone()
    }

    /// The epoch and the last number.
    pub fn position(&self) -> (String, u64) {
        let log = locked(&self.log);
        (log.epoch().to_owned(), log.head())
    }

    /// The number of the first event there is.
    pub fn oldest(&self) -> u64 {
        locked(&self.log).oldest()
    }

    /// How many damaged lines were found on opening.
    pub fn damaged_lines(&self) -> u64 {
        locked(&self.log).damaged()
    }

    /// Makes what was written durable.
    ///
    /// # Errors
    ///
    /// Where the disk refuses; the session then takes no more events.
    pub fn sync(&self) -> Result<(), Error> {
        locked(&self.log).sync()
    }

    fn store(&self) -> Result<Arc<Inner>, Error> {
        self.store.upgrade().ok_or_else(|| Error::Degraded {
            why: "the store is closed".to_owned(),
        })
    }
}

/// `N` random bytes as base64url without padding.
///
/// # Errors
///
/// Where the system has no random bytes to give.
pub fn random_base64url<const N: usize>() -> Result<String, Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|why| Error::Degraded {
        why: format!("no random bytes: {why}"),
    })?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

/// Takes the folder's lock, and writes who has it for others to read.
fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join(".lock");
    let mut file = platform::private_file()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|why| Error::io("lock the data folder", &path, why))?;
    let deadline = Instant::now() + LOCK_WAIT;
    let locked = loop {
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_WAIT / 25);
            }
            locked => break locked,
        }
    };
    match locked {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            return Err(Error::Locked {
                dir: dir.to_owned(),
                pid: text
                    .split_whitespace()
                    .next()
                    .and_then(|pid| pid.parse().ok()),
            });
        }
        Err(std::fs::TryLockError::Error(why)) => {
            return Err(Error::io("lock the data folder", &path, why));
        }
    }
    let boot_id = platform::boot_id().unwrap_or_default();
    let text = format!("{} {boot_id}\n", std::process::id());
    file.set_len(0)
        .and_then(|()| file.write_all(text.as_bytes()))
        .map_err(|why| Error::io("lock the data folder", &path, why))?;
    Ok(file)
}

/// Whose log the file is: its first event says so.
fn session_of(path: &Path, stem: &str) -> Result<SessionId, Error> {
    let not_a_log = |why: &str| Error::NotALog {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let mut file = platform::private_file()
        .read(true)
        .open(path)
        .map_err(|why| Error::io("open the log", path, why))?;
    // A session id stands near the beginning of every line, and most first lines are whole.
    let mut head = vec![0; 64 * 1024];
    let mut len = 0;
    loop {
        match file.read(&mut head[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(why) => return Err(Error::io("open the log", path, why)),
        }
    }
    head.truncate(len);
    for line in head.split(|&byte| byte == b'\n') {
        let event = std::str::from_utf8(line)
            .ok()
            .and_then(|line| ChatEvent::from_json(line).ok());
        if let Some(event) = event
            && let Ok(id) = SessionId::parse(&event.session_id)
            && id.stem() == stem
        {
            return Ok(id);
        }
    }
    // A log that was cut within its first line: all but the case of its letters stands in its name.
    let lower = stem.get(..stem.len().saturating_sub(9)).unwrap_or_default();
    match SessionId::parse(lower) {
        Ok(id) if id.stem() == stem => Ok(id),
        _ => Err(not_a_log(
            "no line of it names the session of its file name",
        )),
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let temporary = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut file = platform::private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write().map_err(|why| Error::io("write", path, why))
}

/// A thread that failed while it held a log has appended all or nothing; the others go on.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}
