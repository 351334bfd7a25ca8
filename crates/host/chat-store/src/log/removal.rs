//! Removing all that a folder has of a session: its log and its index, what was torn off or set aside, what is left of one that
//! was packed away.
//!
//! All of it goes or none: once the mark `<stem>.removing` is durable, whatever stops this only puts the rest off until the
//! folder is opened (`begun`). The bodies beside the logs are those of all sessions, and are for `blobs`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::Files;
use super::files::of_name;
use crate::error::Error;
use crate::platform;
use crate::store::ASIDE;

/// How the name of the mark ends.
pub(super) const MARK: &str = ".removing";

const DOING: &str = "remove the session";

/// What there was of a session, in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    /// How many.
    pub files: u64,
    /// Their length together.
    pub bytes: u64,
}

impl Freed {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// One file of a session, and its length.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

/// All files of the session, without the mark; those that are no log first, and of the log the newest: what a stop leaves where
/// there was no room for a mark is the beginning of the log.
///
/// # Errors
///
/// Where the folder cannot be listed.
pub(crate) fn all_of(files: &Files) -> Result<Vec<One>, Error> {
    let mut all = Vec::new();
    let mut note = |_: &str, one| all.push(one);
    each_of(&files.dir, Some(&files.stem), &mut note)?;
    sort(&mut all);
    Ok(all)
}

/// The same of all sessions of a folder, by their stems: it is listed once, however many there are.
///
/// # Errors
///
/// Where the folder cannot be listed.
pub(crate) fn all_by_stem(dir: &Path) -> Result<HashMap<String, Vec<One>>, Error> {
    let mut all: HashMap<String, Vec<One>> = HashMap::new();
    let mut note = |stem: &str, one| match all.get_mut(stem) {
        Some(files) => files.push(one),
        None => {
            all.insert(stem.to_owned(), vec![one]);
        }
    };
    each_of(dir, None, &mut note)?;
    all.values_mut().for_each(|files| sort(files));
    Ok(all)
}

fn sort(files: &mut [One]) {
    files.sort_by_cached_key(|one| {
        let name = one.path.file_name().unwrap_or_default();
        let segment = name.to_str().and_then(of_name).map(|(_, number)| number);
        (
            segment.is_some(),
            Reverse(segment.flatten().unwrap_or(u32::MAX)),
        )
    });
}

/// Removes all files of the session, and says what that was; nothing where there was none. The caller holds the folder, and
/// the log where that is open.
///
/// # Errors
///
/// Where the disk refuses. Where it [is begun](is_begun) by then, it is ended when the folder is opened, or by the next call.
pub(crate) fn remove(files: &Files) -> Result<Freed, Error> {
    remove_these(files, &all_of(files)?)
}

/// The same, where `all` is what there is of it.
///
/// # Errors
///
/// As [`remove`].
pub(crate) fn remove_these(files: &Files, all: &[One]) -> Result<Freed, Error> {
    if all.is_empty() && !is_begun(files) {
        return Ok(Freed::default());
    }
    begin(files)?;
    finish(files, all)
}

/// Whether the files are to go, and not all are gone.
pub(crate) fn is_begun(files: &Files) -> bool {
    mark(files).exists()
}

/// Ends what was begun; whether it was.
pub(super) fn end(files: &Files) -> Result<bool, Error> {
    if !is_begun(files) {
        return Ok(false);
    }
    finish(files, &all_of(files)?)?;
    tracing::warn!(
        stem = files.stem,
        "a session was being removed when all was stopped; now it is"
    );
    Ok(true)
}

fn begin(files: &Files) -> Result<(), Error> {
    let mark = mark(files);
    let mut options = platform::private_file();
    let made = options.write(true).create(true).open(&mark);
    let begun = made.and_then(|_| platform::sync_dir(&files.dir));
    match begun.map_err(|why| Error::io(DOING, &mark, why)) {
        // Removing makes the room that the mark has not.
        Err(Error::DiskFull) => Ok(()),
        Err(why) => {
            // The session stays, and what comes to it from now on is not to go with the next start.
            let _ = std::fs::remove_file(&mark);
            Err(why)
        }
        Ok(()) => Ok(()),
    }
}

fn finish(files: &Files, all: &[One]) -> Result<Freed, Error> {
    let mut freed = Freed::default();
    for One { path, bytes } in all {
        match std::fs::remove_file(path) {
            Ok(()) => freed.add(*bytes),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(Error::io(DOING, path, why)),
        }
    }
    let mark = mark(files);
    // A mark that came back would be of the next log of this name.
    let done = platform::sync_dir(&files.dir)
        .and_then(|()| match std::fs::remove_file(&mark) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(()),
        })
        .and_then(|()| platform::sync_dir(&files.dir));
    done.map_err(|why| Error::io(DOING, &mark, why))?;
    Ok(freed)
}

fn mark(files: &Files) -> PathBuf {
    files.dir.join(format!("{}{MARK}", files.stem))
}

/// Shows `note` each file of a session, with the session's stem; with a `stem` only those of that one. No stem has a point, so
/// that no other session's name begins so.
fn each_of(dir: &Path, stem: Option<&str>, note: &mut dyn FnMut(&str, One)) -> Result<(), Error> {
    for dir in [dir, &dir.join(ASIDE)] {
        let failed = |why| Error::io("list the data folder", dir, why);
        let entries = match std::fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            Err(why) => return Err(failed(why)),
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let parts = name.to_str().and_then(|name| Some((name, name.find('.')?)));
            let Some((of, rest)) = parts.map(|(name, at)| name.split_at(at)) else {
                continue;
            };
            if stem.is_some_and(|stem| stem != of) || rest == MARK {
                continue;
            }
            match entry.metadata() {
                // No folder is one of ours.
                Ok(found) if found.is_dir() => {}
                Ok(metadata) => note(
                    of,
                    One {
                        path: entry.path(),
                        bytes: metadata.len(),
                    },
                ),
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(failed(why)),
            }
        }
    }
    Ok(())
}
