//! Where a trace comes from: a log of the data folder, a session file, standard input. All are only read, so a server
//! that holds the folder is not disturbed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_capture::context_of;
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Dialect, SessionReader};
use chat_store::{LogBytes, is_part_of_log};

use super::named::{Named, find, gives_once};
use crate::convert::{Reading, open};
use crate::draft::{FileId, folder_of};

/// A log that is not there for so long was removed: while it goes on in a new file there is a moment without one.
const REMOVED_AFTER: Duration = Duration::from_secs(1);

/// One source.
pub(super) struct Source {
    name: String,
    /// `None` where it is standard input, or a pipe.
    path: Option<PathBuf>,
    /// The file that stood there when it was opened.
    file: Option<FileId>,
    /// Whether it is read as it lies there.
    is_plain: bool,
    reading: Reading,
    events: Vec<ChatEvent>,
    sessions: BTreeSet<String>,
    /// It said itself that it is over.
    over: bool,
    /// Since when its file is not there, or is another one.
    missing_since: Option<Instant>,
    failed: Option<String>,
}

impl Source {
    /// Opens a file, a session of the data folder, or standard input.
    pub(super) fn open(
        named: &Path,
        data: Option<PathBuf>,
        from: Option<Dialect>,
    ) -> Result<Source, String> {
        let name = chat_feed::projections::trace::clean(&named.to_string_lossy());
        let (path, dialect) = match find(named, data)? {
            Named::Stdin => (None, from),
            Named::File(path) => (Some(path), from),
            Named::Log(path) => (Some(path), Some(Dialect::ChatEvents)),
        };
        let is_once = path.as_deref().is_some_and(gives_once);
        let (bytes, n_bytes, arrival_ms) =
            open(path.as_deref()).map_err(|why| format!("could not open: {why}: {name}"))?;
        // Nothing is to be looked for at the place of a pipe: its end is its session's.
        let path = path.filter(|_| !is_once);
        let context = path.as_deref().map(context_of).unwrap_or_default();
        let reader = match dialect {
            Some(dialect) => SessionReader::with_dialect(context, dialect),
            None => SessionReader::new(context),
        };
        Ok(Source {
            name,
            file: FileId::of(path.as_deref()),
            path,
            is_plain: n_bytes.is_some(),
            reading: Reading::new(reader, bytes, arrival_ms),
            events: Vec::new(),
            sessions: BTreeSet::new(),
            over: false,
            missing_since: None,
            failed: None,
        })
    }

    /// Reads what is there; false where there is nothing more now.
    pub(super) fn read(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let read = self.reading.read_more(&mut self.events);
        self.note_events();
        match read {
            Ok(true) => true,
            Ok(false) => {
                self.look_for_removal();
                self.look_for_cut();
                false
            }
            Err(why) => {
                self.failed = Some(why.to_string());
                // What was read before the failure is still to be told.
                !self.events.is_empty()
            }
        }
    }

    /// Nothing more will come.
    pub(super) fn finish(&mut self) {
        if self.failed.is_none()
            && let Err(why) = self.reading.finish(&mut self.events)
        {
            self.failed = Some(why.to_string());
        }
        self.note_events();
    }

    /// The events that were read since.
    pub(super) fn events(&mut self) -> Vec<ChatEvent> {
        std::mem::take(&mut self.events)
    }

    /// What arrives from now on arrives at this time.
    pub(super) fn arrives_at(&mut self, arrival_ms: i64) {
        self.reading.arrives_at(arrival_ms);
    }

    /// The sessions it holds; mostly one.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().map(String::as_str)
    }

    /// Whether it is standard input, or a pipe: its end is the session's.
    pub(super) fn is_stream(&self) -> bool {
        self.path.is_none()
    }

    /// Whether nothing more is to be expected.
    pub(super) fn is_over(&self) -> bool {
        self.over || self.failed.is_some()
    }

    /// Whether it held anything.
    pub(super) fn is_session(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// What could not be read of it.
    pub(super) fn faults(&self) -> Vec<String> {
        let (unreadable, misread) = (self.reading.unreadable(), self.reading.misread());
        let faults = [self.failed.clone(), unreadable, misread];
        let name = &self.name;
        let faults = faults.into_iter().flatten();
        faults.map(|fault| format!("{fault}: {name}")).collect()
    }

    fn note_events(&mut self) {
        for event in &self.events {
            if event.is_control() {
                continue;
            }
            self.over = matches!(event.payload, Payload::SessionEnd(_));
            if !self.sessions.contains(&event.session_id) {
                self.sessions.insert(event.session_id.clone());
            }
        }
    }

    /// Nothing more comes of a file that was removed, or that another one has taken the place of: where its session goes on, that
    /// is in the other one.
    fn look_for_removal(&mut self) {
        let Some(path) = &self.path else { return };
        let found = path.metadata();
        let there = FileId::of(Some(path));
        let is_other = there.is_some() && self.file.is_some() && there != self.file;
        let why = if found.is_err_and(|why| why.kind() == std::io::ErrorKind::NotFound) {
            "the session's log was removed"
        } else if is_other && !has_parts_beside(path) {
            "another file took its place while it was followed"
        } else {
            // A log of ours may go on in a new file.
            self.file = there.or(self.file.take());
            self.missing_since = None;
            return;
        };
        let since = self.missing_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= REMOVED_AFTER {
            self.failed = Some(why.to_owned());
        }
    }

    /// A file that became shorter is another one; what was told of it stands. One that is packed does not grow, and has not as
    /// many bytes as are read of it.
    fn look_for_cut(&mut self) {
        if !self.is_plain {
            return;
        }
        let log = self
            .path
            .as_ref()
            .and_then(|path| LogBytes::open(path).ok());
        let facts = log.and_then(|log| log.facts().ok());
        if facts.is_some_and(|(bytes, _)| bytes < self.reading.n_bytes()) {
            self.failed = Some("it became shorter while it was followed".to_owned());
        }
    }
}

/// Whether parts of a log lie beside this file, as they do beside the newest one of a log.
fn has_parts_beside(path: &Path) -> bool {
    let entries = std::fs::read_dir(folder_of(path)).into_iter().flatten();
    let mut files = entries.flatten().map(|entry| entry.path());
    files.any(|file| is_part_of_log(&file))
}
