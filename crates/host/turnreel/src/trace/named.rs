//! What a command is told to read: a file, a session of the data folder by its id, or standard input.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_store::{Packed, SessionId, is_part_of_log};

use crate::convert::shown;
use crate::data_dir;
use crate::serve::spool_dir;

/// How the logs of the data folder end.
const LOG_ENDING: &str = ".events.jsonl";
const PACKED_ENDING: &str = ".packed.json";

/// What is left of a log that was packed away is short; more is none of ours.
const PACKED_BYTES: u64 = 1024 * 1024;

/// What was named.
#[derive(Debug)]
pub(crate) enum Named {
    Stdin,
    File(PathBuf),
    /// The log of a session.
    Log(PathBuf),
}

/// Finds what is named: a file goes before a session of that id.
///
/// # Errors
///
/// Where it is neither, and why not.
pub(crate) fn find(named: &Path, data: Option<PathBuf>) -> Result<Named, String> {
    if named.as_os_str() == "-" {
        return Ok(Named::Stdin);
    }
    let name = shown(named);
    match named.metadata() {
        Ok(found) if found.is_dir() => {
            return Err(format!(
                "a folder, where a session or a file is wanted: {name}"
            ));
        }
        Ok(_) => return Ok(Named::File(named.to_owned())),
        Err(why) if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) => {}
        Err(why) => return Err(format!("could not open: {why}: {name}")),
    }
    let data = data_dir::resolve(data).map_err(|why| format!("no such file: {name}; {why}"))?;
    let id = named.to_string_lossy();
    if let Some(log) = log_of(&data, &id)? {
        return Ok(Named::Log(log));
    }
    let folder = shown(&data);
    let why = format!("no file, and no session of the data folder {folder}: {name}");
    Err(match waiting(&data, &id) {
        Some(spool) => format!(
            "{why}; events of it wait for their server in {}",
            shown(&spool)
        ),
        None => why,
    })
}

/// Whether what has that name is no file: a pipe or a device gives what it has once, and its end is that of what it gives, as
/// it is with standard input.
pub(crate) fn gives_once(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Where events of a session whose id begins so wait for their server.
fn waiting(data: &Path, id: &str) -> Option<PathBuf> {
    SessionId::parse(id).ok()?;
    let spool = spool_dir(data);
    let others = chat_capture::spools_for_others(&spool);
    let spools = [spool].into_iter().chain(others);
    let mut paths = spools.flat_map(|spool| chat_capture::leftovers(&spool));
    paths.find(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(id))
    })
}

/// The id of the session whose log that is, as its first line has it.
pub(crate) fn id_in(log: &Path) -> Option<String> {
    let mut line = Vec::new();
    let file = std::fs::File::open(log).ok()?;
    let mut first = BufReader::new(file.take(64 * 1024));
    first.read_until(b'\n', &mut line).ok()?;
    let event = ChatEvent::from_json(std::str::from_utf8(&line).ok()?).ok()?;
    Some(event.session_id).filter(|id| !id.is_empty())
}

/// The log of the session of that id; where there is none, of the only one whose id begins so. One that was packed away is
/// there: no other takes its place.
pub(crate) fn log_of(data: &Path, id: &str) -> Result<Option<PathBuf>, String> {
    let Ok(session) = SessionId::parse(id) else {
        return Ok(None);
    };
    let of_stem = |stem: &str, ending: &str| data.join(format!("{stem}{ending}"));
    let whole = of_stem(&session.stem(), LOG_ENDING);
    if whole.is_file() {
        return Ok(Some(whole));
    }
    if of_stem(&session.stem(), PACKED_ENDING).is_file() {
        return Err(packed_away(id));
    }
    let beginning = id.to_ascii_lowercase();
    let entries = match std::fs::read_dir(data) {
        Ok(entries) => Some(entries),
        Err(why) if why.kind() == ErrorKind::NotFound => None,
        Err(why) => return Err(format!("could not list: {why}: {}", shown(data))),
    };
    // Whether the log of each is here: beside one that came back may stand what was left of it.
    let mut stems: BTreeMap<String, bool> = BTreeMap::new();
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(&beginning)) else {
            continue;
        };
        if let Some(stem) = name.strip_suffix(LOG_ENDING) {
            if !is_part_of_log(&data.join(name)) {
                stems.insert(stem.to_owned(), true);
            }
        } else if let Some(stem) = name.strip_suffix(PACKED_ENDING) {
            stems.entry(stem.to_owned()).or_default();
        }
    }
    let told = |stem: &str, is_here: bool| {
        let told = match is_here {
            true => id_in(&of_stem(stem, LOG_ENDING)),
            false => id_of_packed(&of_stem(stem, PACKED_ENDING)),
        };
        told.unwrap_or_else(|| stem.to_owned())
    };
    let n_found = stems.len();
    let mut found = stems.iter();
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some((stem, true)), None) => Ok(Some(of_stem(stem, LOG_ENDING))),
        (Some((stem, false)), None) => Err(packed_away(&told(stem, false))),
        (Some((first, first_is_here)), Some((second, second_is_here))) => Err(format!(
            "several sessions begin with {id}: {}, {}{}",
            told(first, *first_is_here),
            told(second, *second_is_here),
            if n_found > 2 { ", …" } else { "" }
        )),
    }
}

/// The id of the session of whose log that is left.
fn id_of_packed(path: &Path) -> Option<String> {
    let left = std::fs::File::open(path).ok()?.take(PACKED_BYTES);
    let left: Packed = serde_json::from_reader(BufReader::new(left)).ok()?;
    SessionId::parse(&left.session).ok()?;
    Some(left.session)
}

/// What to say of a session whose log was packed away.
fn packed_away(id: &str) -> String {
    format!("the log of {id} was packed away; `turnreel restore {id}` brings it back")
}
