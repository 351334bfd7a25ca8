//! How far each session was told, over restarts: a snapshot in the data folder, and beside it what changed since.
//!
//! | file | what it is |
//! |---|---|
//! | `following.json` | all of it; written whole or not at all |
//! | `following.changes` | a line for each change since, after one that says of which snapshot; what is no line counts for nothing |
//!
//! So a note costs what changed and not what is known. Once the changes are as long as the snapshot, and with a start's
//! first note, a new snapshot is written and the changes begin anew.
//!
//! What is written is at least one note old: the server makes its logs durable once a second, and after a power failure
//! these files must not say that more was told than stands there. What is told twice for that is known by its ids.

mod written;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{Facts, Taken};
use super::process::Processes;
use super::store::Told;
use crate::may_be_there;
use crate::pipe::now_ms;
use written::{Change, OfDatabase, Snapshot, Written, line};

/// How far the files of one session were told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    #[serde(flatten)]
    pub(super) main: Taken,
    /// The sub-agents' files, by their paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) agents: BTreeMap<String, Taken>,
    /// Its end was told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) ended: bool,
    /// It was taken to be idle, which its file does not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) quiet: bool,
    /// Who wrote to its own file, as long as it has not ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) holders: Option<Processes>,
}

/// What a change is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    File(PathBuf),
    /// A session of a database.
    Database(PathBuf, String),
    Holders(PathBuf),
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    sessions: HashMap<PathBuf, Progress>,
    databases: BTreeMap<PathBuf, OfDatabase>,
    /// What changed since the last note.
    changed: BTreeSet<Key>,
    /// What the last note took, to be written with the next one.
    waiting: Option<Waiting>,
    /// The snapshot that changes are added to; the first note of a start makes one.
    snapshot: Option<Snapshot>,
    /// The number of the newest one.
    newest: u64,
    /// What was to be written is lost: the next note takes all.
    failed: bool,
}

#[derive(Debug)]
enum Waiting {
    Snapshot { number: u64, bytes: Vec<u8> },
    Changes(Vec<u8>),
}

impl Kept {
    /// What an earlier start noted. What cannot be read is nothing: all is read again, and known by its ids.
    pub(super) fn read(path: &Path) -> Kept {
        let Some(written) = Written::read(path) else {
            return Kept::default();
        };
        let files = written.files.into_iter();
        let files = files.map(|(path, it)| (PathBuf::from(path), it));
        let databases = written.databases.into_iter();
        let databases = databases.map(|(path, it)| (PathBuf::from(path), it));
        Kept {
            // Of files that are gone nothing more will be told.
            sessions: files.filter(|(path, _)| may_be_there(path)).collect(),
            databases: databases.filter(|(path, _)| may_be_there(path)).collect(),
            newest: written.number,
            ..Kept::default()
        }
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.sessions.contains_key(path)
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Progress> {
        self.sessions.get(path)
    }

    pub(super) fn is_ended(&self, path: &Path) -> bool {
        self.get(path).is_some_and(|progress| progress.ended)
    }

    /// Whether all of these files was told, as far as their lengths say.
    pub(super) fn is_at(&self, path: &Path, main: Facts, parts: &BTreeMap<PathBuf, Facts>) -> bool {
        let Some(progress) = self.get(path) else {
            return false;
        };
        let is_told = |(path, facts): (&PathBuf, &Facts)| {
            let taken = path.to_str().and_then(|path| progress.agents.get(path));
            // What was no part of the session when it ended, as an agent that nothing started, is none now.
            taken.map_or(progress.ended, |taken| taken.bytes == facts.len)
        };
        progress.main.bytes == main.len && parts.iter().all(is_told)
    }

    /// Takes how far a session's files are told; who writes to them stays as it was noted, until its end.
    pub(super) fn put(&mut self, path: &Path, mut progress: Progress) {
        let holders = self.get(path).and_then(|before| before.holders.clone());
        progress.holders = holders.filter(|_| !progress.ended);
        if self.get(path) != Some(&progress) {
            self.sessions.insert(path.to_owned(), progress);
            self.changed.insert(Key::File(path.to_owned()));
        }
    }

    /// Takes who writes to a session's own file.
    pub(super) fn hold(&mut self, path: &Path, holders: Option<Processes>) {
        let progress = self.sessions.get_mut(path);
        if let Some(progress) = progress.filter(|it| !it.ended && it.holders != holders) {
            progress.holders = holders;
            self.changed.insert(Key::File(path.to_owned()));
        }
    }

    pub(super) fn database_holders(&self, path: &Path) -> Option<&Processes> {
        self.databases.get(path)?.holders.as_ref()
    }

    /// Takes who writes to a database.
    pub(super) fn hold_database(&mut self, path: &Path, holders: Option<Processes>) {
        if self.database_holders(path) != holders.as_ref() {
            let database = self.databases.entry(path.to_owned()).or_default();
            database.holders = holders;
            self.changed.insert(Key::Holders(path.to_owned()));
        }
    }

    /// Forgets a file that is gone.
    pub(super) fn forget(&mut self, path: &Path) {
        if self.sessions.remove(path).is_some() {
            self.changed.insert(Key::File(path.to_owned()));
        }
    }

    /// How far the sessions of a database were told, by their ids.
    pub(super) fn database(&self, path: &Path) -> &BTreeMap<String, Told> {
        static NONE: BTreeMap<String, Told> = BTreeMap::new();
        self.databases.get(path).map_or(&NONE, |it| &it.sessions)
    }

    pub(super) fn put_database(&mut self, path: &Path, session: String, told: Told) {
        if self.database(path).get(&session) != Some(&told) {
            let database = self.databases.entry(path.to_owned()).or_default();
            let key = Key::Database(path.to_owned(), session.clone());
            self.changed.insert(key);
            database.sessions.insert(session, told);
        }
    }

    /// Forgets sessions of a database that are gone.
    pub(super) fn retain_database(&mut self, path: &Path, is_there: impl Fn(&str) -> bool) {
        let Some(database) = self.databases.get_mut(path) else {
            return;
        };
        let changed = &mut self.changed;
        database.sessions.retain(|session, _| {
            let stays = is_there(session);
            if !stays {
                changed.insert(Key::Database(path.to_owned(), session.clone()));
            }
            stays
        });
    }

    /// Writes what was to be noted the last time, and takes what is to be noted now.
    pub(super) fn write(&mut self, path: &Path) -> Result<(), String> {
        let written = self.write_waiting(path);
        self.waiting = self.take();
        written
    }

    /// Writes all of it, once nothing more is told.
    pub(super) fn write_all(&mut self, path: &Path) -> Result<(), String> {
        // A failure is made good by what is taken then.
        let _ = self.write_waiting(path);
        self.waiting = self.take();
        self.write_waiting(path)
    }

    /// What is to be noted now.
    fn take(&mut self) -> Option<Waiting> {
        if self.changed.is_empty() && !self.failed {
            return None;
        }
        let adds = self.snapshot.as_ref().is_some_and(|it| !it.is_old());
        if adds && !self.failed {
            return Some(Waiting::Changes(self.changes()));
        }
        self.changed.clear();
        self.failed = false;
        // None has the number of another one, whatever is left of earlier starts.
        let now = u64::try_from(now_ms()).unwrap_or_default();
        self.newest = now.max(self.newest + 1);
        let number = self.newest;
        let bytes = serde_json::to_vec(&self.written(number)).unwrap_or_default();
        Some(Waiting::Snapshot { number, bytes })
    }

    fn written(&self, number: u64) -> Written {
        let sessions = self.sessions.iter();
        let named = sessions.filter_map(|(path, it)| Some((path.to_str()?.to_owned(), it.clone())));
        let databases = self.databases.iter();
        let databases =
            databases.filter_map(|(path, it)| Some((path.to_str()?.to_owned(), it.clone())));
        Written {
            number,
            files: named.collect(),
            databases: databases.collect(),
        }
    }

    fn changes(&mut self) -> Vec<u8> {
        let mut lines = Vec::new();
        for key in std::mem::take(&mut self.changed) {
            let change = match key {
                Key::File(path) => {
                    let told = self.sessions.get(&path).cloned();
                    // One whose name is no text is not read at all.
                    let Some(path) = path.to_str() else { continue };
                    Change::File(path.to_owned(), told)
                }
                Key::Database(path, session) => {
                    let told = self.database(&path).get(&session).cloned();
                    let Some(path) = path.to_str() else { continue };
                    Change::Database(path.to_owned(), session, told)
                }
                Key::Holders(path) => {
                    let holders = self.database_holders(&path).cloned();
                    let Some(path) = path.to_str() else { continue };
                    Change::Holders(path.to_owned(), holders)
                }
            };
            lines.append(&mut line(&change));
        }
        lines
    }

    fn write_waiting(&mut self, path: &Path) -> Result<(), String> {
        let written = match (self.waiting.take(), &mut self.snapshot) {
            (None, _) => Ok(()),
            (Some(Waiting::Changes(lines)), Some(snapshot)) => snapshot.add(&lines),
            (Some(Waiting::Changes(_)), None) => Err(std::io::ErrorKind::NotFound.into()),
            (Some(Waiting::Snapshot { number, bytes }), _) => {
                Snapshot::write(path, number, &bytes).map(|new| self.snapshot = Some(new))
            }
        };
        // It is not known how much of it stands there: what comes next begins anew.
        self.failed |= written.is_err();
        written.map_err(|why| {
            format!(
                "could not note how far sessions were read: {why}: {}",
                path.display()
            )
        })
    }
}

#[cfg(test)]
mod tests;
