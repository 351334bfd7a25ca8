//! Events on their way: lines in a file, from the moment they are made until the server has them.
//!
//! The file is locked by the process that writes it; one that nobody holds was left over.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat_event::ChatEvent;
use chat_normalize::Dialect;

use crate::client::Error;

/// Events of one batch.
const BATCH_EVENTS: usize = 1000;
/// Bytes of one batch; the server takes twice as many.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Lines that go to the server together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The session of all of them.
    pub session_id: String,
    /// One event each, as JSON text.
    pub lines: Vec<String>,
    /// Bytes of the file up to their end.
    pub(crate) end: u64,
}

impl Batch {
    /// The JSON array that is sent.
    pub fn body(&self) -> String {
        format!("[{}]", self.lines.join(","))
    }
}

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
            bytes.extend_from_slice(event.to_line().as_bytes());
            bytes.push(b'\n');
        }
        let mut state = self.locked();
        if state.file.is_none() {
            state.file = Some(self.create(&first.session_id, dialect)?);
        }
        let Some((file, path)) = &mut state.file else {
            return Ok(());
        };
        file.write_all(&bytes)
            .map_err(|source| spool_error("write", path, source))?;
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

    /// Deletes the file: the server has all of it.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        match self.locked().file.take() {
            Some((_, path)) => {
                std::fs::remove_file(&path).map_err(|source| spool_error("delete", &path, source))
            }
            None => Ok(()),
        }
    }

    fn create(&self, session_id: &str, dialect: Option<Dialect>) -> Result<(File, PathBuf), Error> {
        make_dir(&self.dir)?;
        let pid = std::process::id();
        let word = dialect.map_or_else(String::new, |dialect| format!(".{}", dialect.word()));
        let mut n = 1;
        loop {
            let safe = safe_name(session_id);
            let again = if n == 1 {
                String::new()
            } else {
                format!("-{n}")
            };
            let path = self.dir.join(format!("{safe}-{pid}{again}{word}.jsonl"));
            let mut options = File::options();
            options.append(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Ok(file) => {
                    file.lock()
                        .map_err(|source| spool_error("lock", &path, source))?;
                    // Who looks for what others left may have been there before our lock, and deleted it.
                    if is_at(&file, &path) {
                        return Ok((file, path));
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

/// Reads batches off a spool from its beginning.
#[derive(Debug)]
pub(crate) struct Reader {
    lines: BufReader<File>,
    pub(crate) path: PathBuf,
    /// Bytes up to the end of the last batch.
    at: u64,
    /// A line that was read and belongs to the next batch.
    ahead: Option<(String, String, u64)>,
    n_lines: u64,
    /// The lines that are no events, with their numbers.
    pub(crate) unread: Vec<(u64, Vec<u8>)>,
}

impl Reader {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|source| spool_error("read", path, source))?;
        Ok(Reader {
            lines: BufReader::new(file),
            path: path.to_owned(),
            at: 0,
            ahead: None,
            n_lines: 0,
            unread: Vec::new(),
        })
    }

    /// The next batch of what stands before `end`; `None` where there is none.
    pub(crate) fn next_batch(&mut self, end: u64) -> Result<Option<Batch>, Error> {
        let mut batch: Option<Batch> = None;
        let mut bytes = 0;
        while let Some((session_id, line, line_end)) = self.next_line(end)? {
            let fits = batch.as_ref().is_none_or(|batch| {
                batch.session_id == session_id
                    && batch.lines.len() < BATCH_EVENTS
                    && bytes + line.len() < BATCH_BYTES
            });
            if !fits {
                self.ahead = Some((session_id, line, line_end));
                break;
            }
            bytes += line.len() + 1;
            let batch = batch.get_or_insert_with(|| Batch {
                session_id,
                lines: Vec::new(),
                end: 0,
            });
            batch.lines.push(line);
            batch.end = line_end;
        }
        Ok(batch)
    }

    /// The next event's session, its line, and where it ends. Lines that are none, as half a line that a killed process
    /// leaves, are set aside.
    fn next_line(&mut self, end: u64) -> Result<Option<(String, String, u64)>, Error> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        while self.at < end {
            let mut bytes = Vec::new();
            let n = self
                .lines
                .read_until(b'\n', &mut bytes)
                .map_err(|source| spool_error("read", &self.path, source))?;
            if n == 0 {
                return Ok(None);
            }
            self.at += n as u64;
            self.n_lines += 1;
            let is_whole = bytes.pop_if(|last| *last == b'\n').is_some();
            match std::str::from_utf8(&bytes).ok().and_then(session_of) {
                Some(session_id) if is_whole => {
                    let line = String::from_utf8(bytes).unwrap_or_default();
                    return Ok(Some((session_id, line, self.at)));
                }
                _ if bytes.iter().all(u8::is_ascii_whitespace) => {}
                _ => self.unread.push((self.n_lines, bytes)),
            }
        }
        Ok(None)
    }
}

fn session_of(line: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Envelope {
        #[serde(rename = "sessionId")]
        session_id: String,
    }
    let envelope: Envelope = serde_json::from_str(line).ok()?;
    Some(envelope.session_id)
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

/// The dialect of the source whose events are in a spool.
pub(crate) fn dialect_of(path: &Path) -> Option<Dialect> {
    let stem = path.file_stem()?.to_str()?;
    Dialect::from_word(stem.rsplit_once('.')?.1)
}

/// Whether a process writes to this spool, or sends it.
pub(crate) fn is_held(path: &Path) -> bool {
    let lock = File::open(path).map(|file| file.try_lock());
    matches!(lock, Ok(Err(std::fs::TryLockError::WouldBlock)))
}

/// Keeps events that the server refuses for good, beside the spool in `dir`, so that they are not lost; the file.
///
/// # Errors
///
/// Where the disk refuses.
pub fn keep_refused(dir: &Path, session_id: &str, lines: &[&str]) -> Result<PathBuf, Error> {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let name = format!("{}.jsonl", safe_name(session_id));
    keep(dir, Path::new(&name), &lines)
}

pub(crate) fn keep(dir: &Path, name: &Path, lines: &[&[u8]]) -> Result<PathBuf, Error> {
    let dir = dir.join("refused");
    make_dir(&dir)?;
    let path = dir.join(name);
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    options
        .open(&path)
        .and_then(|mut file| file.write_all(&bytes))
        .map_err(|source| spool_error("keep what was refused beside", &path, source))?;
    Ok(path)
}

/// An id that fits the wire fits a file name; anything else stays out of it.
pub(crate) fn safe_name(session_id: &str) -> String {
    session_id
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .take(64)
        .collect()
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
