//! Which files wait: for their turn, for another source, or for a disk that takes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{TRY_AGAIN, TRY_LAST};

/// Files that could not be taken in: when, and how long each rests since.
#[derive(Default)]
pub(super) struct PutOff(pub(super) BTreeMap<PathBuf, (Instant, Duration)>);

impl PutOff {
    pub(super) fn waits(&self, path: &Path, now: Instant) -> bool {
        let rests = self.0.get(path);
        rests.is_some_and(|(since, pause)| now.duration_since(*since) < *pause)
    }

    pub(super) fn put_off(&mut self, path: PathBuf, now: Instant) {
        let before = self.0.get(&path);
        let pause = before.map_or(TRY_AGAIN, |(_, pause)| (2 * *pause).min(TRY_LAST));
        self.0.insert(path, (now, pause));
    }
}

/// Sessions of which an earlier file waits, as the names of files have them: their logs shall stand in the order of the runs.
/// A file that cannot be taken in at all holds up nothing.
#[derive(Default)]
pub(super) struct Behind(pub(super) BTreeSet<String>);

impl Behind {
    pub(super) fn waits(&self, path: &Path) -> bool {
        let named = chat_capture::sessions_named(path);
        chat_capture::is_beside_others(path) && named.iter().any(|session| self.0.contains(session))
    }

    /// The file waits for who holds these notes of a session.
    pub(super) fn stays(&mut self, path: &Path, notes: &Path) {
        let session = notes.file_stem().and_then(|stem| stem.to_str());
        let behind = chat_capture::sessions_behind(path, session.unwrap_or_default());
        self.0.extend(behind);
    }
}
