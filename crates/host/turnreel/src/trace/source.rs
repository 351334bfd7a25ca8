//! Where a trace comes from: a log of the data folder, a session file, standard input. All are only read, so a server
//! that holds the folder is not disturbed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use chat_store::{LogBytes, SessionId, is_part_of_log};

use crate::convert::{Reading, open};

/// How the logs of the data folder end.
const LOG_ENDING: &str = ".events.jsonl";
const PACKED_ENDING: &str = ".packed.json";

/// A log that is not there for so long was removed: while it goes on in a new file there is a moment without one.
const REMOVED_AFTER: Duration = Duration::from_secs(1);

/// One source.
pub(super) struct Source {
    name: String,
    path: Option<PathBuf>,
    /// Whether it is read as it lies there.
    is_plain: bool,
    reading: Reading,
    events: Vec<ChatEvent>,
    sessions: BTreeSet<String>,
    /// It said itself that it is over.
    over: bool,
    /// Since when its file is not there.
    missing_since: Option<Instant>,
    failed: Option<String>,
}

impl Source {
    /// Opens a file, a session of the data folder, or standard input.
    pub(super) fn open(
        named: &Path,
        data: Option<&Path>,
        from: Option<Dialect>,
    ) -> Result<Source, String> {
        let name = chat_feed::projections::trace::clean(&named.to_string_lossy());
        if named.is_dir() {
            return Err(format!(
                "a folder, where a session or a file is wanted: {name}"
            ));
        }
        let stdin = named.as_os_str() == "-";
        let (path, dialect) = match (stdin, named.exists()) {
            (true, _) => (None, from),
            (false, true) => (Some(named.to_owned()), from),
            (false, false) => {
                let id = named.to_string_lossy();
                let path = data.map_or(Ok(None), |data| log_of(data, &id))?;
                let Some(path) = path else {
                    return Err(format!(
                        "no file, and no session of the data folder: {name}"
                    ));
                };
                (Some(path), Some(Dialect::ChatEvents))
            }
        };
        let (bytes, n_bytes, arrival_ms) =
            open(path.as_deref()).map_err(|why| format!("could not open: {why}: {name}"))?;
        let reader = match dialect {
            Some(dialect) => SessionReader::with_dialect(Context::default(), dialect),
            None => SessionReader::new(Context::default()),
        };
        Ok(Source {
            name,
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

    /// Whether it is standard input, whose end is the session's.
    pub(super) fn is_stdin(&self) -> bool {
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
        let faults = [self.failed.clone(), self.reading.unreadable()];
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

    /// Nothing more comes of a file that was removed: where its session goes on, that is in another one.
    fn look_for_removal(&mut self) {
        let found = self.path.as_ref().map(|path| path.metadata());
        let is_missing = found.is_some_and(
            |found| matches!(found, Err(why) if why.kind() == std::io::ErrorKind::NotFound),
        );
        if !is_missing {
            self.missing_since = None;
            return;
        }
        let since = self.missing_since.get_or_insert_with(Instant::now);
        if since.elapsed() >= REMOVED_AFTER {
            self.failed = Some("the session's log was removed".to_owned());
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

/// The id of the session whose log that is, as its first line has it.
pub(crate) fn id_in(log: &Path) -> Option<String> {
    use std::io::{BufRead, BufReader, Read};
    let mut line = Vec::new();
    let file = std::fs::File::open(log).ok()?;
    let mut first = BufReader::new(file.take(64 * 1024));
    first.read_until(b'\n', &mut line).ok()?;
    let event = ChatEvent::from_json(std::str::from_utf8(&line).ok()?).ok()?;
    Some(event.session_id).filter(|id| !id.is_empty())
}

/// The log of the session of that id; where there is none, of the only one whose id begins so.
pub(crate) fn log_of(data: &Path, id: &str) -> Result<Option<PathBuf>, String> {
    let Ok(session) = SessionId::parse(id) else {
        return Ok(None);
    };
    let whole = data.join(format!("{}{LOG_ENDING}", session.stem()));
    if whole.is_file() {
        return Ok(Some(whole));
    }
    let beginning = id.to_ascii_lowercase();
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    let mut found: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(&beginning) && name.ends_with(LOG_ENDING))
        .filter(|name| !is_part_of_log(&data.join(name)))
        .collect();
    found.sort();
    match &*found {
        [] => packed_away(data, id).map_or(Ok(None), Err),
        [one] => Ok(Some(data.join(one))),
        [first, second, ..] => {
            let told = |name: &String| id_in(&data.join(name)).unwrap_or_else(|| name.clone());
            Err(format!(
                "several sessions begin with {id}: {}, {}{}",
                told(first),
                told(second),
                if found.len() > 2 { ", …" } else { "" }
            ))
        }
    }
}

/// What to say of a session whose log was packed away.
fn packed_away(data: &Path, id: &str) -> Option<String> {
    let beginning = id.to_ascii_lowercase();
    let mut entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    let is_it = |name: &str| name.starts_with(&beginning) && name.ends_with(PACKED_ENDING);
    entries
        .any(|entry| entry.file_name().to_str().is_some_and(is_it))
        .then(|| format!("the log of {id} was packed away; `turnreel restore {id}` brings it back"))
}
