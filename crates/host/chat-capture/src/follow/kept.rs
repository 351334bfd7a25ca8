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

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::{Facts, Taken};
use super::opencode::Told;
use crate::pipe::now_ms;

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

/// The snapshot.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    /// Which snapshot it is.
    number: u64,
    /// Sessions by the paths of their own files.
    files: BTreeMap<String, Progress>,
    /// OpenCode's, by their ids.
    opencode: BTreeMap<String, Told>,
}

/// A line of what changed since.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Change {
    /// These are the changes since that snapshot.
    Since(u64),
    /// A session's file was told so far; `None` where it is gone.
    File(String, Option<Progress>),
    /// One of OpenCode's was; `None` where it is gone.
    Opencode(String, Option<Told>),
}

/// What a change is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    File(PathBuf),
    Opencode(String),
}

/// Changes are written into a new snapshot where they are longer than this, and longer than the last one.
const LEAST_CHANGES_BYTES: u64 = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Kept {
    sessions: HashMap<PathBuf, Progress>,
    opencode: BTreeMap<String, Told>,
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
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let Ok(mut written) = serde_json::from_str::<Written>(&text) else {
            return Kept::default();
        };
        let changes = std::fs::read(changes_of(path)).unwrap_or_default();
        let lines = changes.split(|byte| *byte == b'\n');
        let mut changes = lines.filter_map(|line| serde_json::from_slice::<Change>(line).ok());
        // Those of another snapshot stand in this one.
        if matches!(changes.next(), Some(Change::Since(number)) if number == written.number) {
            changes.for_each(|change| written.take(change));
        }
        let files = written.files.into_iter();
        let files = files.map(|(path, it)| (PathBuf::from(path), it));
        Kept {
            // Of files that are gone nothing more will be told.
            sessions: files.filter(|(path, _)| path.exists()).collect(),
            opencode: written.opencode,
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

    pub(super) fn put(&mut self, path: &Path, progress: Progress) {
        if self.get(path) != Some(&progress) {
            self.sessions.insert(path.to_owned(), progress);
            self.changed.insert(Key::File(path.to_owned()));
        }
    }

    /// Forgets a file that is gone.
    pub(super) fn forget(&mut self, path: &Path) {
        if self.sessions.remove(path).is_some() {
            self.changed.insert(Key::File(path.to_owned()));
        }
    }

    pub(super) fn opencode(&self) -> &BTreeMap<String, Told> {
        &self.opencode
    }

    pub(super) fn put_opencode(&mut self, session: String, told: Told) {
        if self.opencode.get(&session) != Some(&told) {
            self.changed.insert(Key::Opencode(session.clone()));
            self.opencode.insert(session, told);
        }
    }

    /// Forgets sessions of OpenCode that are gone.
    pub(super) fn retain_opencode(&mut self, is_there: impl Fn(&str) -> bool) {
        let changed = &mut self.changed;
        self.opencode.retain(|session, _| {
            let stays = is_there(session);
            if !stays {
                changed.insert(Key::Opencode(session.clone()));
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
        Written {
            number,
            files: named.collect(),
            opencode: self.opencode.clone(),
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
                Key::Opencode(session) => {
                    let told = self.opencode.get(&session).cloned();
                    Change::Opencode(session, told)
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

/// A snapshot that was written, and what is added to it.
#[derive(Debug)]
struct Snapshot {
    bytes: u64,
    changes: File,
    changes_bytes: u64,
}

impl Snapshot {
    /// Writes one, and begins the changes anew.
    fn write(path: &Path, number: u64, bytes: &[u8]) -> std::io::Result<Snapshot> {
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
    fn add(&mut self, lines: &[u8]) -> std::io::Result<()> {
        self.changes.write_all(lines)?;
        self.changes_bytes += lines.len() as u64;
        Ok(())
    }

    /// Whether another one costs no more than what was added.
    fn is_old(&self) -> bool {
        self.changes_bytes > self.bytes.max(LEAST_CHANGES_BYTES)
    }
}

fn line(change: &Change) -> Vec<u8> {
    let mut line = serde_json::to_vec(change).unwrap_or_default();
    line.push(b'\n');
    line
}

fn changes_of(path: &Path) -> PathBuf {
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
            Change::Opencode(session, Some(told)) => {
                self.opencode.insert(session, told);
            }
            Change::Opencode(session, None) => {
                self.opencode.remove(&session);
            }
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    fn told(bytes: u64) -> Progress {
        let text = format!(r#"{{"bytes":{bytes},"head":0,"tail":0}}"#);
        serde_json::from_str(&text).unwrap()
    }

    /// A folder with so many sessions' files, and what was noted of them.
    fn folder(n_files: usize) -> (tempfile::TempDir, Vec<PathBuf>, Kept) {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Kept::read(&dir.path().join("following.json"));
        let paths = (0..n_files).map(|nth| dir.path().join(format!("s{nth}.jsonl")));
        let paths: Vec<PathBuf> = paths.collect();
        for path in &paths {
            std::fs::write(path, "").unwrap();
            kept.put(path, told(1));
        }
        (dir, paths, kept)
    }

    #[test]
    fn what_is_written_is_one_note_old_and_all_of_it_at_the_end() {
        let (dir, paths, mut kept) = folder(3);
        let at = dir.path().join("following.json");
        let read = |path: &PathBuf| Kept::read(&at).get(path).map(|it| it.main.bytes);
        kept.write(&at).unwrap();
        assert_eq!(read(&paths[0]), None);
        kept.put(&paths[0], told(2));
        kept.write(&at).unwrap();
        assert_eq!(read(&paths[0]), Some(1));
        kept.put(&paths[0], told(3));
        kept.write(&at).unwrap();
        assert_eq!(read(&paths[0]), Some(2));
        kept.forget(&paths[1]);
        kept.put_opencode("o".to_owned(), Told::default());
        kept.write_all(&at).unwrap();
        assert_eq!((read(&paths[0]), read(&paths[1])), (Some(3), None));
        assert!(Kept::read(&at).opencode().contains_key("o"));
    }

    #[test]
    fn a_note_costs_what_changed_and_the_changes_never_grow_without_end() {
        let (dir, paths, mut kept) = folder(2000);
        let at = dir.path().join("following.json");
        let len = |path: &Path| std::fs::metadata(path).map_or(0, |it| it.len());
        kept.write_all(&at).unwrap();
        let snapshot = len(&at);
        let mut most = 0;
        let mut n_snapshots = 0;
        let mut number = Written::default().number;
        for bytes in 0..3000 {
            kept.put(&paths[7], told(bytes));
            kept.write(&at).unwrap();
            most = most.max(len(&changes_of(&at)));
            // It begins with its number.
            let mut head = [0; 30];
            std::io::Read::read_exact(&mut File::open(&at).unwrap(), &mut head).unwrap();
            let head = String::from_utf8_lossy(&head).into_owned();
            let now = head.bytes().filter(u8::is_ascii_digit);
            let now = now.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'));
            n_snapshots += usize::from(now != number);
            number = now;
        }
        assert!(most <= 2 * snapshot + LEAST_CHANGES_BYTES, "{most}");
        assert!((1..6).contains(&n_snapshots), "{n_snapshots}");
        kept.write_all(&at).unwrap();
        let again = Kept::read(&at);
        assert_eq!(again.get(&paths[7]), Some(&told(2999)));
        assert_eq!(again.get(&paths[8]), Some(&told(1)));
    }

    #[test]
    fn what_was_cut_off_or_is_of_another_snapshot_is_not_read_and_the_rest_is() {
        let (dir, paths, mut kept) = folder(2);
        let at = dir.path().join("following.json");
        kept.write_all(&at).unwrap();
        kept.put(&paths[0], told(2));
        kept.write_all(&at).unwrap();
        kept.put(&paths[1], told(3));
        kept.write_all(&at).unwrap();
        let changes = std::fs::read(changes_of(&at)).unwrap();
        for cut in 0..=changes.len() {
            std::fs::write(changes_of(&at), &changes[..cut]).unwrap();
            let again = Kept::read(&at);
            let bytes = |nth: usize| again.get(&paths[nth]).unwrap().main.bytes;
            assert!([1, 2].contains(&bytes(0)) && [1, 3].contains(&bytes(1)));
            assert!(cut < changes.len() || (bytes(0), bytes(1)) == (2, 3));
        }
        // As after a stop between the two files.
        let mut other = Kept::read(&at);
        let snapshot = std::fs::read(&at).unwrap();
        other.put(&paths[0], told(9));
        other.write_all(&at).unwrap();
        std::fs::write(changes_of(&at), &changes).unwrap();
        assert_eq!(Kept::read(&at).get(&paths[0]), Some(&told(9)));
        // Without a snapshot changes say nothing.
        std::fs::remove_file(&at).unwrap();
        assert!(!Kept::read(&at).has(&paths[0]));
        std::fs::write(&at, &snapshot[..snapshot.len() / 2]).unwrap();
        assert!(!Kept::read(&at).has(&paths[0]));
    }

    #[test]
    fn what_could_not_be_written_is_made_good() {
        let (dir, paths, mut kept) = folder(1);
        let away = dir.path().join("away").join("following.json");
        assert!(kept.write_all(&away).is_err());
        kept.put(&paths[0], told(5));
        assert!(kept.write(&away).is_err() || kept.write(&away).is_err());
        std::fs::create_dir(dir.path().join("away")).unwrap();
        kept.write(&away).unwrap();
        kept.write(&away).unwrap();
        assert_eq!(Kept::read(&away).get(&paths[0]), Some(&told(5)));
    }
}
