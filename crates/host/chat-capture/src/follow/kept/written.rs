//! The two files of what is kept: the snapshot, and what changed since.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Progress;
use crate::follow::process::Processes;
use crate::follow::store::Told;

/// The snapshot.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Written {
    /// Which snapshot it is.
    pub(super) number: u64,
    /// Sessions by the paths of their own files.
    pub(super) files: BTreeMap<String, Progress>,
    /// Databases by their paths.
    pub(super) databases: BTreeMap<String, OfDatabase>,
}

/// What is kept of one database.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct OfDatabase {
    /// Its sessions by their ids.
    pub(super) sessions: BTreeMap<String, Told>,
    /// Who wrote to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) holders: Option<Processes>,
}

/// A line of what changed since.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Change {
    /// These are the changes since that snapshot.
    Since(u64),
    /// A session's file was told so far; `None` where it is gone.
    File(String, Option<Progress>),
    /// One of the database at that path was; `None` where it is gone.
    Database(String, String, Option<Told>),
    /// Others write to that database.
    Holders(String, Option<Processes>),
}

/// Changes are written into a new snapshot where they are longer than this, and longer than the last one.
pub(super) const LEAST_CHANGES_BYTES: u64 = 64 * 1024;

/// A snapshot that was written, and what is added to it.
#[derive(Debug)]
pub(super) struct Snapshot {
    bytes: u64,
    changes: File,
    changes_bytes: u64,
}

impl Snapshot {
    /// Writes one, and begins the changes anew.
    pub(super) fn write(path: &Path, number: u64, bytes: &[u8]) -> std::io::Result<Snapshot> {
        write_whole(path, bytes)?;
        // A stop here leaves the changes of an earlier one, which are not read with this.
        let changes = private().truncate(true).open(changes_of(path))?;
        let mut snapshot = Snapshot {
            bytes: bytes.len() as u64,
            changes,
            changes_bytes: 0,
        };
        snapshot.add(&line(&Change::Since(number)))?;
        Ok(snapshot)
    }

    /// Adds changes. They are not made durable: after a power failure less may stand there, and is told again.
    pub(super) fn add(&mut self, lines: &[u8]) -> std::io::Result<()> {
        self.changes.write_all(lines)?;
        self.changes_bytes += lines.len() as u64;
        Ok(())
    }

    /// Whether another one costs no more than what was added.
    pub(super) fn is_old(&self) -> bool {
        self.changes_bytes > self.bytes.max(LEAST_CHANGES_BYTES)
    }
}

pub(super) fn line(change: &Change) -> Vec<u8> {
    let mut line = serde_json::to_vec(change).unwrap_or_default();
    line.push(b'\n');
    line
}

pub(super) fn changes_of(path: &Path) -> PathBuf {
    path.with_extension("changes")
}

/// A file for its owner's eyes: paths tell what somebody works on.
fn private() -> std::fs::OpenOptions {
    let mut options = File::options();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Writes the file whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut file = private().truncate(true).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

impl Written {
    /// What was written last; `None` where that cannot be read.
    pub(super) fn read(path: &Path) -> Option<Written> {
        let text = std::fs::read_to_string(path).ok()?;
        let mut written: Written = serde_json::from_str(&text).ok()?;
        let changes = std::fs::read(changes_of(path)).unwrap_or_default();
        let lines = changes.split(|byte| *byte == b'\n');
        let mut changes = lines.filter_map(|line| serde_json::from_slice::<Change>(line).ok());
        // Those of another snapshot stand in this one.
        if matches!(changes.next(), Some(Change::Since(number)) if number == written.number) {
            changes.for_each(|change| written.take(change));
        }
        Some(written)
    }

    fn take(&mut self, change: Change) {
        match change {
            // There is one, at the beginning.
            Change::Since(_) => {}
            Change::File(path, Some(told)) => {
                self.files.insert(path, told);
            }
            Change::File(path, None) => {
                self.files.remove(&path);
            }
            Change::Database(path, session, Some(told)) => {
                let database = self.databases.entry(path).or_default();
                database.sessions.insert(session, told);
            }
            Change::Database(path, session, None) => {
                if let Some(database) = self.databases.get_mut(&path) {
                    database.sessions.remove(&session);
                }
            }
            Change::Holders(path, holders) => {
                self.databases.entry(path).or_default().holders = holders;
            }
        }
    }
}
