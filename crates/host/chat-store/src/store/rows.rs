//! The rows of a folder's sessions for those who do not hold it: nothing is locked, repaired or written.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use chat_event::jsonl::{LogReader, Record};

use super::found;
use crate::error::Error;
use crate::log::{Facts, Files, Freed, Packed};
use crate::log_bytes::LogBytes;
use crate::summary::Summary;
use crate::summing::Summing;

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// What a folder has.
#[derive(Debug, Default)]
pub struct Rows {
    /// A row for each session, by their ids.
    pub rows: Vec<Summary>,
    /// Why there is none of a log that is there.
    pub unread: Vec<Error>,
}

/// The rows of the sessions in a folder, also while a server holds it. Where an index is not of all of a log, that is read.
///
/// # Errors
///
/// Where the folder cannot be listed.
pub fn rows(dir: &Path) -> Result<Rows, Error> {
    let found = found::all(dir)?;
    let mut told = Rows::default();
    let mut note = |row: Result<Option<Summary>, Error>| match row {
        Ok(row) => told.rows.extend(row),
        Err(why) => told.unread.push(why),
    };
    // A log beside what is left of one came back, and counts.
    let packed = found.packed.iter().filter(|files| !files.are_there());
    packed.for_each(|files| {
        let packed = Packed::read(files);
        note(packed.map(|packed| {
            packed.map(|packed| Summary {
                packed: true,
                ..packed.summary
            })
        }));
    });
    found.logs.iter().for_each(|files| note(row_of(files)));
    told.rows.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(told)
}

/// What the folder has of each session, by the [stems](crate::SessionId::stem) of their ids: the log, and all beside it but
/// the bodies, which sessions share. Files that are no session's stand there by how their names begin.
///
/// # Errors
///
/// Where the folder cannot be listed.
pub fn sizes(dir: &Path) -> Result<BTreeMap<String, Freed>, Error> {
    let failed = |why| Error::io("list the data folder", dir, why);
    let mut sizes: BTreeMap<String, Freed> = BTreeMap::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let stem = name.to_str().and_then(|name| name.split('.').next());
        // One that went meanwhile has no length.
        if let Some(stem) = stem.filter(|stem| !stem.is_empty())
            && let Ok(metadata) = entry.metadata()
            && !metadata.is_dir()
        {
            let freed = sizes.entry(stem.to_owned()).or_default();
            freed.add(metadata.len());
        }
    }
    Ok(sizes)
}

/// The row of a log; `None` where it is a name and no more.
fn row_of(files: &Files) -> Result<Option<Summary>, Error> {
    if let Some(facts) = Facts::of_whole(files) {
        return Ok(Some(Arc::unwrap_or_clone(facts.summary)));
    }
    if !files.are_there() {
        // A folder may be listed and not entered.
        let newest = files.newest();
        return match newest.symlink_metadata() {
            Err(why) if why.kind() != ErrorKind::NotFound => {
                Err(Error::io("read the log", &newest, why))
            }
            _ => Ok(None),
        };
    }
    let mut summing = Summing::new(found::session_of(files)?.as_str());
    let path = files.newest();
    let failed = |why| Error::io("read the log", &path, why);
    let mut log = LogBytes::open(&path).map_err(failed)?;
    let mut reader = LogReader::new();
    let mut take = |record: Record| {
        if let Ok(event) = &record.content
            && !event.is_control()
        {
            summing.take(event);
        }
    };
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match log.read(&mut block) {
            Ok(0) => break,
            Ok(n) => reader.push(&block[..n], &mut take),
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => return Err(failed(why)),
        }
    }
    reader.finish(&mut take);
    Ok(Some(summing.row))
}
