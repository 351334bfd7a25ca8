//! Which logs a folder has.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chat_event::ChatEvent;

use crate::error::Error;
use crate::log::{Files, Segment, of_name, stem_of_mark, stem_of_packed};
use crate::platform;
use crate::session_id::SessionId;

/// What a folder has.
pub(super) struct Found {
    /// Its logs by their stems, with the segments of each. Of a new one a full disk may have left no more than
    /// [a name](Files::are_there).
    pub(super) logs: Vec<Files>,
    /// Those with whose files something was begun that has not ended.
    pub(super) begun: BTreeSet<String>,
    /// The stems of logs that were packed away.
    pub(super) packed: Vec<Files>,
    /// What was being written when somebody was killed, and nobody has a use for.
    pub(super) half_written: Vec<PathBuf>,
}

/// How the names end of files that are given others when they are whole.
const HALF_WRITTEN: [&str; 4] = [
    ".compacting",
    ".idx.new",
    ".manifest.json.new",
    ".packing.new",
];

/// What the folder has. It is read once, however many logs there are.
pub(super) fn all(dir: &Path) -> Result<Found, Error> {
    let failed = |why| Error::io("list the data folder", dir, why);
    let mut logs: BTreeMap<String, Vec<Segment>> = BTreeMap::new();
    let (mut begun, mut packed) = (BTreeSet::new(), Vec::new());
    let mut half_written = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some(stem) = stem_of_mark(name) {
            begun.insert(stem.to_owned());
        } else if let Some(stem) = stem_of_packed(name) {
            packed.push(Files::of_one(dir, stem));
        } else if HALF_WRITTEN.iter().any(|ending| name.ends_with(ending)) {
            half_written.push(entry.path());
        }
        let Some((stem, number)) = of_name(name) else {
            continue;
        };
        let segments = logs.entry(stem.to_owned()).or_default();
        if let Some(number) = number {
            let bytes = entry.metadata().map_err(failed)?.len();
            segments.push(Segment { number, bytes });
        }
    }
    let files = logs.into_iter().map(|(stem, mut segments)| {
        segments.sort_by_key(|segment| segment.number);
        Files {
            dir: dir.to_owned(),
            stem,
            sealed: Arc::new(segments),
        }
    });
    Ok(Found {
        logs: files.collect(),
        begun,
        packed,
        half_written,
    })
}

/// The stems of the logs of the folder.
pub(super) fn stems(dir: &Path) -> Result<HashSet<String>, Error> {
    let failed = |why| Error::io("list the data folder", dir, why);
    let mut stems = HashSet::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if let Some((stem, _)) = name.to_str().and_then(of_name) {
            stems.insert(stem.to_owned());
        }
    }
    Ok(stems)
}

/// Whose log it is: the first event of its newest file says so.
pub(super) fn session_of(files: &Files) -> Result<SessionId, Error> {
    let mut path = files.newest();
    if let Some(last) = files.sealed.last()
        && !path.exists()
    {
        path = files.segment(last.number);
    }
    session_of_file(&path, &files.stem)
}

fn session_of_file(path: &Path, stem: &str) -> Result<SessionId, Error> {
    let not_a_log = |why: &str| Error::NotALog {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let mut file = platform::private_file()
        .read(true)
        .open(path)
        .map_err(|why| Error::io("open the log", path, why))?;
    // A session id stands near the beginning of every line, and most first lines are whole.
    let mut head = vec![0; 64 * 1024];
    let mut len = 0;
    loop {
        match file.read(&mut head[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(why) => return Err(Error::io("open the log", path, why)),
        }
    }
    head.truncate(len);
    for line in head.split(|&byte| byte == b'\n') {
        let event = std::str::from_utf8(line)
            .ok()
            .and_then(|line| ChatEvent::from_json(line).ok());
        if let Some(event) = event
            && let Ok(id) = SessionId::parse(&event.session_id)
            && id.stem() == stem
        {
            return Ok(id);
        }
    }
    // A log that was cut within its first line: all but the case of its letters stands in its name.
    let lower = stem.get(..stem.len().saturating_sub(9)).unwrap_or_default();
    match SessionId::parse(lower) {
        Ok(id) if id.stem() == stem => Ok(id),
        _ => Err(not_a_log(
            "no line of it names the session of its file name",
        )),
    }
}
