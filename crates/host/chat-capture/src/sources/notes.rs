//! What the pipes of a data folder know of each other: a file for each session, locked while one of them tells something.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::client::Error;
use crate::spool::{has_no_locks, is_at, is_held, make_dir, open_to_lock, safe_name, spool_error};

/// A session of which nothing was told for so long is taken to be over: it is not gone on with.
const FORGOTTEN_AFTER: Duration = Duration::from_hours(24 * 60);

/// The sources of a session.
pub(super) type ByDialect = BTreeMap<String, Note>;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Note {
    /// How often it told something.
    pub(super) told: u64,
    /// The name of its spool, which it holds as long as it runs.
    pub(super) spool: String,
}

/// The notes of one session; nobody else has them as long as this lives.
#[derive(Debug)]
pub(super) struct Notes {
    file: File,
    path: PathBuf,
    pub(super) sources: ByDialect,
}

impl Notes {
    /// Waits until nobody else has them.
    pub(super) fn lock(spool_dir: &Path, session_id: &str) -> Result<Self, Error> {
        let path = path_of(spool_dir, session_id);
        loop {
            let file = open(&path)?;
            file.lock().map_err(|why| not_locked(&path, why))?;
            // Who forgets old ones may have been there before our lock, and deleted it.
            if is_at(&file, &path) {
                return Notes::read(file, path);
            }
        }
    }

    /// Waits for nobody: where somebody else has them, the path of their file.
    pub(super) fn try_lock(
        spool_dir: &Path,
        session_id: &str,
    ) -> Result<Result<Self, PathBuf>, Error> {
        let path = path_of(spool_dir, session_id);
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Notes::read(file, path).map(Ok),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Err(path)),
                Err(TryLockError::Error(why)) => return Err(not_locked(&path, why)),
            }
        }
    }

    fn read(mut file: File, path: PathBuf) -> Result<Self, Error> {
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|source| spool_error("note the source of", &path, source))?;
        Ok(Notes {
            sources: noted_in(&text),
            file,
            path,
        })
    }

    pub(super) fn write(&mut self) -> Result<(), Error> {
        let text = serde_json::to_string(&self.sources).unwrap_or_default();
        let mut file = &self.file;
        // Written over, and then cut: where it ends in between, the rest of what was there is behind it.
        file.rewind()
            .and_then(|()| file.write_all(text.as_bytes()))
            .and_then(|()| file.set_len(text.len() as u64))
            .map_err(|source| spool_error("note the source of", &self.path, source))
    }
}

/// What stands at the beginning: behind it there may be the rest of what was written over. One that was cut off tells
/// nothing, and is written anew.
fn noted_in(text: &str) -> ByDialect {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    values.next().and_then(Result::ok).unwrap_or_default()
}

fn open(path: &Path) -> Result<File, Error> {
    make_dir(path.parent().unwrap_or(path))?;
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path);
    file.map_err(|source| spool_error("note the source of", path, source))
}

/// Why notes cannot be locked. Where the disk has no locks nothing is ever noted, and no file stays that would say nothing
/// and that nobody could forget.
fn not_locked(path: &Path, why: std::io::Error) -> Error {
    let is_empty = || path.metadata().is_ok_and(|about| about.len() == 0);
    if has_no_locks(&why) && is_empty() {
        let _ = std::fs::remove_file(path);
    }
    spool_error("note the source of", path, why)
}

/// What is noted of a session, whoever has it.
pub(super) fn peek(spool_dir: &Path, session_id: &str) -> ByDialect {
    read(&path_of(spool_dir, session_id))
}

/// Whether somebody has a session's notes now.
pub(super) fn are_held(spool_dir: &Path, session_id: &str) -> bool {
    is_held(&path_of(spool_dir, session_id))
}

/// Deletes the notes of sessions that are long over, so that there are no more of them than a user has sessions in that
/// time. What cannot be deleted stays: it does no harm.
pub(crate) fn forget_old(spool_dir: &Path, now: SystemTime) {
    let Ok(entries) = std::fs::read_dir(folder_of(spool_dir)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(file) = open_to_lock(&path) else {
            continue;
        };
        // Locked, so that who waits for it sees that it is gone, and makes another.
        let is_ours = file.try_lock().is_ok();
        let told = file.metadata().and_then(|about| about.modified());
        let is_old = told.is_ok_and(|told| {
            let age = now.duration_since(told);
            age.is_ok_and(|age| age > FORGOTTEN_AFTER)
        });
        let runs = |note: &Note| is_held(&spool_dir.join(&note.spool));
        if is_ours && is_old && !read(&path).values().any(runs) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn read(path: &Path) -> ByDialect {
    noted_in(&std::fs::read_to_string(path).unwrap_or_default())
}

fn folder_of(spool_dir: &Path) -> PathBuf {
    spool_dir.join("sources")
}

fn path_of(spool_dir: &Path, session_id: &str) -> PathBuf {
    folder_of(spool_dir).join(format!("{}.json", safe_name(session_id)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_are_no_locks_no_file_without_notes_stays() -> std::io::Result<()> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("s1.json");
        let left = |text: &str, kind: std::io::ErrorKind| {
            std::fs::write(&path, text)?;
            let _ = not_locked(&path, kind.into());
            Ok::<_, std::io::Error>(path.exists())
        };
        assert!(!left("", std::io::ErrorKind::Unsupported)?);
        assert!(left("{}", std::io::ErrorKind::Unsupported)?);
        // Another may hold it, who wrote nothing yet.
        assert!(left("", std::io::ErrorKind::Interrupted)?);
        Ok(())
    }

    #[test]
    fn notes_whose_writer_was_killed_before_it_cut_them_are_read_without_their_rest()
    -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let held = File::create(dir.path().join("held.jsonl"))?;
        held.lock()?;
        let mut notes = Notes::lock(dir.path(), "s1")?;
        let note = Note {
            told: 1,
            spool: "held.jsonl".to_owned(),
        };
        notes.sources.insert("claude-stream".to_owned(), note);
        notes.write()?;
        let mut file = &notes.file;
        file.write_all(br#"l.jsonl"}}"#)?;
        let told = SystemTime::now() - FORGOTTEN_AFTER - Duration::from_secs(1);
        file.set_modified(told)?;
        drop(notes);
        forget_old(dir.path(), SystemTime::now());
        let spools = peek(dir.path(), "s1").into_values().map(|it| it.spool);
        assert_eq!(spools.collect::<Vec<_>>(), ["held.jsonl"]);
        Ok(())
    }

    #[test]
    fn what_is_noted_of_sessions_that_are_long_over_is_forgotten() -> Result<(), Error> {
        let dir = std::env::temp_dir().join(format!("notes-{}", std::process::id()));
        let now = SystemTime::now();
        let failed = |source| spool_error("prepare", &dir, source);
        make_dir(&dir)?;
        // Its pipe runs, and has nothing to tell.
        let held = File::create(dir.join("held.jsonl")).map_err(failed)?;
        held.lock().map_err(failed)?;
        for (session_id, spool, days) in [
            ("old", "gone.jsonl", 61),
            ("waiting", "held.jsonl", 61),
            ("young", "gone.jsonl", 59),
        ] {
            let mut notes = Notes::lock(&dir, session_id)?;
            let note = Note {
                told: 1,
                spool: spool.to_owned(),
            };
            notes.sources.insert("claude-stream".to_owned(), note);
            notes.write()?;
            let told = now - Duration::from_hours(24 * days);
            notes.file.set_modified(told).map_err(failed)?;
        }
        forget_old(&dir, now);
        let left: Vec<&str> = ["old", "waiting", "young"]
            .into_iter()
            .filter(|session_id| !peek(&dir, session_id).is_empty())
            .collect();
        // Who comes back begins anew.
        let again = Notes::lock(&dir, "old")?;
        let n_known = again.sources.len();
        let _ = std::fs::remove_dir_all(&dir);
        assert_eq!((left, n_known), (vec!["waiting", "young"], 0));
        Ok(())
    }
}
