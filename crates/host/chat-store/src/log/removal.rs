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
    let all = all_of(files)?;
    let mut removed = remove_each(&[(files.clone(), &all)]);
    removed.pop().unwrap_or_else(|| Ok(Freed::default()))
}

/// The same of many sessions of one folder, of each of which there is what stands beside it; what came of each, in their order.
/// The folder is made durable for all of them together, and for each it is what it would be alone: its mark is durable before
/// the first of its files goes, and these are gone for good before the mark is.
pub(crate) fn remove_each(each: &[(Files, &[One])]) -> Vec<Result<Freed, Error>> {
    let mut going: Vec<Going<'_>> = each.iter().map(Going::of).collect();
    let is_alone = going.len() == 1;
    for one in &mut going {
        if let Err(why) = one.begin() {
            one.not_begun(why, is_alone);
        }
    }
    sync(&mut going, |one, why| one.not_begun(why, is_alone));
    going.iter_mut().for_each(Going::remove_files);
    sync(&mut going, Going::ends);
    sync_aside(&mut going);
    going.iter_mut().for_each(Going::remove_mark);
    // A mark that came back would be of the next log of this name.
    sync(&mut going, Going::ends);
    for one in going.iter_mut().filter(|one| one.waits) {
        let mut removed = remove_each(&[(one.files.clone(), one.all)]);
        one.done = removed.pop().unwrap_or_else(|| Ok(Freed::default()));
    }
    going.into_iter().map(|one| one.done).collect()
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
    remove(files)?;
    tracing::warn!(
        stem = files.stem,
        "a session was being removed when all was stopped; now it is"
    );
    Ok(true)
}

/// One session on its way.
struct Going<'a> {
    files: &'a Files,
    all: &'a [One],
    /// There is something of it.
    is_any: bool,
    /// Some of it may be gone already: whatever comes of the rest, the mark stays.
    was_begun: bool,
    /// There was no room for its mark: it goes alone, behind those that make some.
    waits: bool,
    /// Files of it were in the folder within the folder.
    was_aside: bool,
    /// What went so far, or why no more does.
    done: Result<Freed, Error>,
}

impl<'a> Going<'a> {
    fn of((files, all): &'a (Files, &'a [One])) -> Self {
        // What else has that name is in the way of a mark, and none.
        let marked = mark(files).symlink_metadata();
        let was_begun = marked.is_ok_and(|mark| mark.is_file());
        Going {
            is_any: !all.is_empty() || is_begun(files),
            was_begun,
            files,
            all,
            waits: false,
            was_aside: false,
            done: Ok(Freed::default()),
        }
    }

    fn goes_on(&self) -> bool {
        self.is_any && self.done.is_ok() && !self.waits
    }

    fn begin(&self) -> Result<(), Error> {
        if !self.goes_on() || self.was_begun {
            return Ok(());
        }
        let mark = mark(self.files);
        let mut options = platform::private_file();
        let made = options.write(true).create(true).open(&mark);
        made.map_err(|why| Error::io(DOING, &mark, why))?;
        Ok(())
    }

    /// Its mark could not be made, or made durable.
    fn not_begun(&mut self, why: Error, is_alone: bool) {
        let is_full = matches!(why, Error::DiskFull);
        if is_full && is_alone {
            // Removing makes the room that the mark has not.
            return;
        }
        self.forget_mark();
        if is_full {
            self.waits = true;
        } else {
            self.ends(why);
        }
    }

    fn ends(&mut self, why: Error) {
        self.done = Err(why);
    }

    /// The session stays, and what comes to it from now on is not to go with the next start.
    fn forget_mark(&self) {
        if !self.was_begun {
            let _ = std::fs::remove_file(mark(self.files));
        }
    }

    fn remove_files(&mut self) {
        if !self.goes_on() {
            return;
        }
        let mut freed = Freed::default();
        for One { path, bytes } in self.all {
            match std::fs::remove_file(path) {
                Ok(()) => {
                    freed.add(*bytes);
                    self.was_aside |= path.parent() != Some(&*self.files.dir);
                }
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => {
                    self.done = Err(Error::io(DOING, path, why));
                    return;
                }
            }
        }
        self.done = Ok(freed);
    }

    fn remove_mark(&mut self) {
        if !self.goes_on() {
            return;
        }
        let mark = mark(self.files);
        if let Err(why) = std::fs::remove_file(&mark)
            && why.kind() != io::ErrorKind::NotFound
        {
            self.done = Err(Error::io(DOING, &mark, why));
        }
    }
}

/// Makes the folder durable, where one of them goes on; each that does is told where the disk refuses.
fn sync<'a>(going: &mut [Going<'a>], refused: impl Fn(&mut Going<'a>, Error)) {
    let mut going = going.iter_mut().filter(|one| one.goes_on()).peekable();
    let Some(first) = going.peek() else { return };
    if let Err(why) = platform::sync_dir(&first.files.dir) {
        tell_each(going, &why, refused);
    }
}

/// The same of the folder within it, for those that had files there.
fn sync_aside(going: &mut [Going<'_>]) {
    let had = |one: &&mut Going<'_>| one.goes_on() && one.was_aside;
    let mut going = going.iter_mut().filter(had).peekable();
    let Some(first) = going.peek() else { return };
    if let Err(why) = platform::sync_dir(&first.files.dir.join(ASIDE)) {
        tell_each(going, &why, Going::ends);
    }
}

fn tell_each<'g, 'a: 'g>(
    going: impl Iterator<Item = &'g mut Going<'a>>,
    why: &io::Error,
    refused: impl Fn(&mut Going<'a>, Error),
) {
    for one in going {
        let same = match why.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => why.kind().into(),
        };
        refused(one, Error::io(DOING, &mark(one.files), same));
    }
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
