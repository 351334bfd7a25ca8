//! What a pipe left that is gone: events of its spool that the server has not, and the ends of sessions that it never told.
//!
//! Who sends it, the next pipe or the server, is told batch by batch what is new.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chat_event::payload::SessionEnd;
use chat_event::{ChatEvent, Payload};

use crate::client::Error;
use crate::sources::{Entered, ReadLog, Sources, Turn, Words};
use crate::spool::{Batch, Reader, has_no_locks, is_at, keep, open_to_lock, spool_error};

/// What [`Leftover::next_new`] gives.
#[derive(Debug)]
pub enum Next {
    /// What the log has not yet, and our turn to send it.
    Batch(Batch, Option<Turn>),
    /// Another source tells of the session now, or was stopped in the middle of that: the file of its notes. The same comes
    /// again when it is asked again.
    Held {
        /// Nobody else tells of the session as long as it is locked.
        notes: PathBuf,
    },
    /// There is no more.
    End,
}

/// A spool that nobody writes to any more.
#[derive(Debug)]
pub struct Leftover {
    reader: Reader,
    /// What others tell of its sessions.
    sources: Sources,
    /// The newest event of each session, where a provider's lines were read.
    newest: BTreeMap<String, ChatEvent>,
    /// A session that its successor goes on with, before that is noted.
    gone_on: Option<String>,
    /// What is still to be said at the end.
    ends: Option<VecDeque<Batch>>,
    /// What was read while another source told of its session, and whether that is all of its session.
    pending: Option<(Batch, bool)>,
    /// Held until it is sent, so that only one process sends it.
    _lock: File,
}

impl Leftover {
    /// What texts are compared by, where others tell of its sessions, too.
    #[must_use]
    pub fn compared_by(mut self, words: Words) -> Self {
        self.sources = self.sources.compared_by(Some(words));
        self
    }

    /// Says that the session goes on: it is not ended.
    pub(crate) fn gone_on_with(mut self, session_id: &str) -> Self {
        self.gone_on = Some(session_id.to_owned());
        self
    }

    /// Takes the file; `None` where a process holds it, or it is gone, or its disk has no locks: then it may be held.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let lock = match open_to_lock(path) {
            Ok(lock) => lock,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(spool_error("open", path, source)),
        };
        if !is_ours(path, lock.try_lock())? {
            return Ok(None);
        }
        // Its owner may have deleted it between our two steps, and begun another.
        if !is_at(&lock, path) {
            return Ok(None);
        }
        Ok(Some(Leftover {
            reader: Reader::open(path)?,
            sources: Sources::of_leftover(path),
            newest: BTreeMap::new(),
            gone_on: None,
            ends: None,
            pending: None,
            _lock: lock,
        }))
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, Error> {
        let batch = self.reader.next_batch(u64::MAX)?;
        let newest = batch.as_ref().and_then(|batch| batch.lines.last());
        if let Some(event) = newest.and_then(|line| ChatEvent::from_json(line).ok())
            && self.sources.is_of_a_provider()
        {
            self.newest.insert(event.session_id.clone(), event);
        }
        Ok(batch)
    }

    /// Deletes the file: the server has all of it. Its lines that are no events are kept beside what was refused; what is
    /// to be said of them.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn remove(self) -> Result<Option<String>, Error> {
        let path = &self.reader.path;
        let kept = self.keep_unread()?;
        std::fs::remove_file(path).map_err(|source| spool_error("delete", path, source))?;
        Ok(kept)
    }

    fn keep_unread(&self) -> Result<Option<String>, Error> {
        let Reader { path, unread, .. } = &self.reader;
        let (Some((first, _)), Some(dir), Some(name)) =
            (unread.first(), path.parent(), path.file_name())
        else {
            return Ok(None);
        };
        let lines: Vec<&[u8]> = unread.iter().map(|(_, line)| line.as_slice()).collect();
        let kept = keep(dir, Path::new(name), &lines)?;
        let which = match unread.len() {
            1 => format!("line {first} of {} is no event", path.display()),
            n => format!(
                "{n} lines of {} are no events, the first is line {first}",
                path.display()
            ),
        };
        Ok(Some(format!("{which}; kept in {}", kept.display())))
    }

    /// The next batch of what the log has not yet. It waits for nobody.
    ///
    /// # Errors
    ///
    /// Where the disk or the log refuses.
    pub fn next_new(&mut self, read_log: &mut ReadLog<'_>) -> Result<Next, Error> {
        let next = match self.pending.take() {
            Some(pending) => Some(pending),
            None => match self.next_batch()? {
                Some(batch) => Some((batch, false)),
                None => self.next_end(),
            },
        };
        let Some((mut batch, is_end)) = next else {
            return Ok(Next::End);
        };
        let turn = match self.sources.try_enter(&batch.session_id) {
            Ok(Entered::Turn(turn)) => Some(turn),
            Ok(Entered::Held { notes }) => {
                self.pending = Some((batch, is_end));
                return Ok(Next::Held { notes });
            }
            // Where nothing can be noted, nobody is known of.
            Ok(Entered::Alone) | Err(_) => None,
        };
        // Who goes on with it may have come meanwhile.
        if self.ends.is_some() && !is_end && self.sources.goes_on(&batch.session_id) {
            batch.lines.clear();
        }
        let new = match &turn {
            Some(turn) => self.sources.new_of(turn, &batch, is_end, read_log)?,
            None => None,
        };
        Ok(Next::Batch(new.unwrap_or(batch), turn))
    }

    /// What is to be said at the end, and whether that is all of its session.
    fn next_end(&mut self) -> Option<(Batch, bool)> {
        let ends = match &mut self.ends {
            Some(ends) => ends,
            None => {
                let cut_off = self.cut_off();
                let shared = self.sources.shared().into_iter().map(|session_id| Batch {
                    session_id,
                    lines: Vec::new(),
                    end: u64::MAX,
                });
                let ends = cut_off.into_iter().chain(shared).collect();
                self.ends.insert(ends)
            }
        };
        let batch = ends.pop_front()?;
        let is_end = batch.lines.is_empty();
        Some((batch, is_end))
    }

    /// Whether its pipe was killed before it told a session's end.
    pub(crate) fn has_open(&self) -> bool {
        self.left_open().next().is_some()
    }

    fn left_open(&self) -> impl Iterator<Item = &ChatEvent> {
        let newest = self.newest.values();
        newest.filter(|event| {
            let is_over = matches!(event.payload, Payload::SessionEnd(_));
            !is_over && self.gone_on.as_ref() != Some(&event.session_id)
        })
    }

    /// The ends of sessions that it left open, where no other pipe tells of them.
    pub(crate) fn cut_off(&self) -> Vec<Batch> {
        let over = self
            .left_open()
            .filter(|event| !self.sources.goes_on(&event.session_id));
        let ends = over.map(|newest| {
            let end = SessionEnd {
                reason: "the pipe was stopped".to_owned(),
                ..SessionEnd::default()
            };
            // Nothing is known of what came later.
            let at_ms = newest.timestamp.unwrap_or_default();
            let id = format!("{}:stopped", newest.id);
            let end = ChatEvent::new(id, at_ms, &newest.session_id, end);
            Batch {
                session_id: newest.session_id.clone(),
                lines: vec![end.to_line()],
                end: u64::MAX,
            }
        });
        ends.collect()
    }
}

/// Whether nobody else has the file, as far as trying to lock it says.
fn is_ours(path: &Path, locked: Result<(), TryLockError>) -> Result<bool, Error> {
    match locked {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(why)) if has_no_locks(&why) => Ok(false),
        Err(TryLockError::Error(source)) => Err(spool_error("lock", path, source)),
    }
}

/// The files in a spool folder, the one that was written to longest ago first: what several runs told of one session stands
/// in the order of the runs, and their names begin with no time. Those of which it is not known when come last.
pub fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let spools = paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let mut dated: Vec<(bool, Option<SystemTime>, PathBuf)> = spools
        .map(|path| {
            let written = path.metadata().and_then(|about| about.modified()).ok();
            (written.is_none(), written, path)
        })
        .collect();
    dated.sort();
    dated.into_iter().map(|(_, _, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn what_lies_where_there_are_no_locks_may_be_held_and_is_no_fault() {
        let tried = |why: std::io::Error| {
            let tried = Err(TryLockError::Error(why));
            is_ours(Path::new("s1-1.jsonl"), tried).ok()
        };
        let unsupported = std::io::ErrorKind::Unsupported.into();
        assert_eq!(tried(unsupported), Some(false));
        #[cfg(unix)]
        {
            let none_left = std::io::Error::from_raw_os_error(libc::ENOLCK);
            assert_eq!(tried(none_left), Some(false));
        }
        assert_eq!(tried(std::io::ErrorKind::Other.into()), None);
    }

    #[test]
    fn what_an_earlier_run_left_comes_before_what_a_later_one_left() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        for (name, seconds) in [("s1-98.jsonl", 1), ("s1-105.jsonl", 2), ("r1-9.jsonl", 2)] {
            let file = File::create(dir.path().join(name))?;
            file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))?;
        }
        // It is not known when a link that leads nowhere was written to.
        #[cfg(unix)]
        std::os::unix::fs::symlink("nowhere", dir.path().join("a-1.jsonl"))?;
        let found = leftovers(dir.path());
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
        let expected = ["s1-98.jsonl", "r1-9.jsonl", "s1-105.jsonl", "a-1.jsonl"];
        assert_eq!(names[..3], expected[..3]);
        #[cfg(unix)]
        assert_eq!(names, expected);
        Ok(())
    }
}
