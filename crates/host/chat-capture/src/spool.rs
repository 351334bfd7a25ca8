//! Events on their way: lines in a file, from the moment they are made until the server has them.
//!
//! The file is locked by the process that writes it; one that nobody holds was left over.

mod batch;
mod meant;
mod names;
mod refused;
mod unnamed;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use crate::client::Error;
use crate::shallow::line_of;
pub use batch::Batch;
pub(crate) use batch::Reader;
pub(crate) use meant::is_for_another;
pub use meant::{is_same_endpoint, spools_for, spools_for_others};
pub(crate) use names::{dialect_of, is_of_a_provider, safe_name};
pub use names::{is_beside_others, sessions_behind, sessions_named};
pub(crate) use refused::keep;
pub use refused::{Kept, Refused};
pub(crate) use unnamed::unnamed_file;

/// The ending of a spool whose disk had no lock for it.
const UNLOCKED: &str = "unlocked";

/// The spool of a running pipe.
#[derive(Debug)]
pub(crate) struct Spool {
    dir: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    file: Option<(File, PathBuf)>,
    /// Whether the file has no lock, for its disk has none.
    unlocked: bool,
    written: u64,
    /// No more events come.
    finished: bool,
}

impl Spool {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Spool {
            dir,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Appends the events, which a source of this dialect tells.
    pub(crate) fn append(
        &self,
        dialect: Option<Dialect>,
        events: &[ChatEvent],
    ) -> Result<(), Error> {
        let Some(first) = events.first() else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        for event in events {
            bytes.extend_from_slice(line_of(event).as_bytes());
            bytes.push(b'\n');
        }
        let mut state = self.locked();
        if state.file.is_none() {
            let (file, path, locked) = self.create(&first.session_id, dialect, &File::lock)?;
            state.file = Some((file, path));
            state.unlocked = !locked;
        }
        let written = state.written;
        let Some((file, path)) = &mut state.file else {
            return Ok(());
        };
        if let Err(source) = file.write_all(&bytes) {
            // A part of them may stand there; they may come again, in the same words.
            let _ = file.set_len(written);
            return Err(spool_error("write", path, source));
        }
        state.written += bytes.len() as u64;
        self.changed.notify_all();
        Ok(())
    }

    /// Says that no more events come.
    pub(crate) fn finish(&self) {
        self.locked().finished = true;
        self.changed.notify_all();
    }

    /// Waits until there is more than `sent` bytes; false where there is not and never will be.
    pub(crate) fn wait_beyond(&self, sent: u64) -> bool {
        let state = self.locked();
        let state = self
            .changed
            .wait_while(state, |state| state.written <= sent && !state.finished)
            .unwrap_or_else(PoisonError::into_inner);
        state.written > sent
    }

    /// Waits at most `timeout`, less where the end comes meanwhile. After the end it waits as long as it is asked to:
    /// what the server refuses then is not to be tried again at once, and again.
    pub(crate) fn rest(&self, timeout: Duration) {
        let state = self.locked();
        if state.finished {
            drop(state);
            std::thread::sleep(timeout);
            return;
        }
        // Woken early only by the end: what is written in the meantime goes with the next batch.
        let _ = self
            .changed
            .wait_timeout_while(state, timeout, |state| !state.finished)
            .unwrap_or_else(PoisonError::into_inner);
    }

    /// Where it lies.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn written(&self) -> u64 {
        self.locked().written
    }

    /// The file, once there is one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        let state = self.locked();
        state.file.as_ref().map(|(_, path)| path.clone())
    }

    /// Whether the disk of the file has no locks: no other process takes it when we are gone, for none knows that we are.
    pub(crate) fn is_unlocked(&self) -> bool {
        self.locked().unlocked
    }

    /// Deletes the file: the server has all of it.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        match self.locked().file.take() {
            Some((_, path)) => {
                std::fs::remove_file(&path).map_err(|source| spool_error("delete", &path, source))
            }
            None => Ok(()),
        }
    }

    /// Makes the file: itself, its path, and whether it is locked. One that is not has a name that nobody takes for left over:
    /// locks may be out for a moment only.
    fn create(
        &self,
        session_id: &str,
        dialect: Option<Dialect>,
        lock: &dyn Fn(&File) -> std::io::Result<()>,
    ) -> Result<(File, PathBuf, bool), Error> {
        make_dir(&self.dir)?;
        let pid = std::process::id();
        let mut n = 1;
        loop {
            let name = names::name_of(session_id, pid, n, dialect);
            let path = self.dir.join(name);
            let mut options = File::options();
            options.append(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Ok(file) => {
                    if take_lock(&path, lock(&file))? {
                        // Who looks for what others left may have been there before our lock, and deleted it.
                        if is_at(&file, &path) {
                            return Ok((file, path, true));
                        }
                        continue;
                    }
                    let path = path.with_extension(UNLOCKED);
                    match options.open(&path) {
                        Ok(file) => return Ok((file, path, false)),
                        Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => n += 1,
                        Err(source) => return Err(spool_error("open", &path, source)),
                    }
                }
                // A process that had our number left it.
                Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => n += 1,
                Err(source) => return Err(spool_error("open", &path, source)),
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What comes of locking a file that we made just now: whether it is locked, or its disk has no locks. One that is not locked
/// goes: somebody else may take it, and each try would leave one more.
fn take_lock(path: &Path, locked: std::io::Result<()>) -> Result<bool, Error> {
    match locked {
        Ok(()) => Ok(true),
        Err(why) => {
            let _ = std::fs::remove_file(path);
            match has_no_locks(&why) {
                true => Ok(false),
                false => Err(spool_error("lock", path, why)),
            }
        }
    }
}

/// Whether a file could not be locked because its disk has no locks. One on the network (NFS) without a service for them
/// says that it has none left.
pub(crate) fn has_no_locks(why: &std::io::Error) -> bool {
    #[cfg(unix)]
    if why.raw_os_error() == Some(libc::ENOLCK) {
        return true;
    }
    why.kind() == std::io::ErrorKind::Unsupported
}

/// Whether the file is the one that bears the name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok().zip(file.metadata().ok());
        found.is_some_and(|(named, ours)| (named.dev(), named.ino()) == (ours.dev(), ours.ino()))
    }
    // An open file keeps its name there.
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Opens a file so that it can be locked. Where files lie on a server of the network (NFS), only who may write to one has it
/// alone; what cannot be written to can be read, and locked elsewhere.
pub(crate) fn open_to_lock(path: &Path) -> std::io::Result<File> {
    let to_write = File::options().read(true).write(true).open(path);
    to_write.or_else(|why| match why.kind() {
        std::io::ErrorKind::NotFound => Err(why),
        _ => File::open(path),
    })
}

/// Whether a process writes to this spool, or sends it.
pub(crate) fn is_held(path: &Path) -> bool {
    let lock = open_to_lock(path).map(|file| file.try_lock());
    matches!(lock, Ok(Err(std::fs::TryLockError::WouldBlock)))
}

pub(crate) fn make_dir(dir: &Path) -> Result<(), Error> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(dir)
        .map_err(|source| spool_error("make the folder of", dir, source))
}

pub(crate) fn spool_error(doing: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Spool {
        doing,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use chat_event::payload::TurnEnd;

    use super::*;
    use crate::leftover::{Leftover, leftovers};

    #[test]
    fn a_spool_that_cannot_be_locked_leaves_no_file_and_one_without_locks_is_used()
    -> Result<(), Error> {
        let dir = std::env::temp_dir().join(format!("lock-{}", std::process::id()));
        let spool = Spool::new(dir.clone());
        let create = |kind: std::io::ErrorKind| {
            spool.create("s1", Dialect::from_word("claude-stream"), &|_| {
                Err(kind.into())
            })
        };
        assert!(create(std::io::ErrorKind::Other).is_err());
        let n_files = || std::fs::read_dir(&dir).into_iter().flatten().count();
        assert_eq!(n_files(), 0);
        // A process that had our number may have left one.
        for n_made in 1..3 {
            let (_, path, locked) = create(std::io::ErrorKind::Unsupported)?;
            assert!(!locked && path.exists());
            assert_eq!(
                names::dialect_of(&path),
                Dialect::from_word("claude-stream")
            );
            // Locks that are there again meanwhile do not make it one that somebody left.
            assert_eq!((n_files(), leftovers(&dir)), (n_made, Vec::new()));
        }
        let _ = std::fs::remove_dir_all(&dir);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_disk_of_the_network_that_has_no_locks_left_has_none() {
        let none_left = std::io::Error::from_raw_os_error(libc::ENOLCK);
        assert!(has_no_locks(&none_left));
    }

    #[test]
    fn who_looks_for_leftovers_takes_nothing_from_a_spool_that_begins() -> Result<(), Error> {
        let dir = std::env::temp_dir().join(format!("spool-{}", std::process::id()));
        let is_over = AtomicBool::new(false);
        let mut gone = Vec::new();
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    for path in leftovers(&dir) {
                        if let Ok(Some(mut leftover)) = Leftover::open(&path)
                            && let Ok(None) = leftover.next_batch()
                        {
                            let _ = leftover.remove();
                        }
                    }
                }
            });
            let event = ChatEvent::new("e1", 1, "s1", TurnEnd::default());
            let begun = (0..2000).try_for_each(|nth| -> Result<(), Error> {
                let spool = Spool::new(dir.clone());
                spool.append(None, std::slice::from_ref(&event))?;
                let path = spool.path().unwrap_or_default();
                let kept = std::fs::read_to_string(&path).unwrap_or_default();
                if !kept.ends_with('\n') {
                    gone.push(nth);
                }
                let _ = spool.remove();
                Ok(())
            });
            is_over.store(true, Ordering::SeqCst);
            let _ = looking.join();
            begun
        })?;
        let _ = std::fs::remove_dir_all(&dir);
        assert_eq!(gone, [0; 0]);
        Ok(())
    }
}
