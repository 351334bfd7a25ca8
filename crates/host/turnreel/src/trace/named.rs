//! What a command is told to read: a file, a session of the data folder by its id, or standard input.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_store::{SessionId, is_part_of_log};

use crate::convert::shown;
use crate::data_dir;
use crate::serve::spool_dir;

/// How the logs of the data folder end.
const LOG_ENDING: &str = ".events.jsonl";
const PACKED_ENDING: &str = ".packed.json";

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
    let entries = match std::fs::read_dir(data) {
        Ok(entries) => Some(entries),
        Err(why) if why.kind() == ErrorKind::NotFound => None,
        Err(why) => return Err(format!("could not list: {why}: {}", shown(data))),
    };
    let mut found: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
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
