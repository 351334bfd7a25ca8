//! How far each session was told, over restarts: one JSON file in the data folder.
//!
//! What is written is at least one note old: the server makes its logs durable once a second, and after a power failure
//! this file must not say that more was told than stands there. What is told twice for that is known by its ids.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{Facts, Taken};
use super::opencode::Told;

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
}

/// What is written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    /// Sessions by the paths of their own files.
    files: BTreeMap<String, Progress>,
    /// OpenCode's, by their ids.
    opencode: BTreeMap<String, Told>,
}

#[derive(Debug, Default)]
pub(super) struct Kept {
    sessions: HashMap<PathBuf, Progress>,
    opencode: BTreeMap<String, Told>,
    /// What changed since the last note, and what the note before that waits to write.
    dirty: bool,
    waiting: Option<Vec<u8>>,
}

impl Kept {
    /// What an earlier start noted. What cannot be read is nothing: all is read again, and known by its ids.
    pub(super) fn read(path: &Path) -> Kept {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let written: Written = serde_json::from_str(&text).unwrap_or_default();
        let files = written.files.into_iter();
        let files = files.map(|(path, it)| (PathBuf::from(path), it));
        Kept {
            // Of files that are gone nothing more will be told.
            sessions: files.filter(|(path, _)| path.exists()).collect(),
            opencode: written.opencode,
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

    pub(super) fn put(&mut self, path: &Path, progress: Progress) {
        if self.get(path) != Some(&progress) {
            self.sessions.insert(path.to_owned(), progress);
            self.dirty = true;
        }
    }

    pub(super) fn opencode(&self) -> &BTreeMap<String, Told> {
        &self.opencode
    }

    pub(super) fn put_opencode(&mut self, session: String, told: Told) {
        self.dirty |= self.opencode.insert(session, told.clone()) != Some(told);
    }

    /// Writes what was to be noted the last time, and takes what is to be noted now.
    pub(super) fn write(&mut self, path: &Path) -> Result<(), String> {
        let written = match self.waiting.take() {
            Some(text) => write(path, &text),
            None => Ok(()),
        };
        // What could not be written is taken anew.
        self.dirty |= written.is_err();
        if std::mem::take(&mut self.dirty) {
            self.waiting = Some(self.text());
        }
        written
    }

    /// Writes all of it, once nothing more is told.
    pub(super) fn write_all(&mut self, path: &Path) -> Result<(), String> {
        if self.waiting.take().is_some() || self.dirty {
            return write(path, &self.text());
        }
        Ok(())
    }

    fn text(&self) -> Vec<u8> {
        let sessions = self.sessions.iter();
        let named = sessions.filter_map(|(path, it)| Some((path.to_str()?.to_owned(), it.clone())));
        let written = Written {
            files: named.collect(),
            opencode: self.opencode.clone(),
        };
        serde_json::to_vec(&written).unwrap_or_default()
    }
}

/// Writes the file whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let new = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut options = std::fs::File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, path)
    };
    write().map_err(|why| {
        format!(
            "could not note how far sessions were read: {why}: {}",
            path.display()
        )
    })
}
