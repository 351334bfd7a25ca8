//! Setting the files of a log aside: nothing of them is lost, and none is a log's any more.
//!
//! `<stem>.events.jsonl` becomes `<stem>.aside-<n>`, a segment `<stem>.NNNN.aside-<n>`, so that `cat <stem>.*aside-<n>` still
//! has them in order. All go or none: once the mark `<stem>.setting-aside` is durable, whatever stops this only puts the rest
//! off until the log is opened (`begun`), and no part of a log is ever taken for all of it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::Files;
use super::begun::{Step, take_all};
use crate::error::Error;

/// How the name of the mark ends. It holds the ending that the files are given.
pub(super) const MARK: &str = ".setting-aside";

/// Before the number in the ending.
const ENDING: &str = ".aside-";

const DOING: &str = "set the log aside";

/// Gives the files other names, and says the ending these have.
///
/// # Errors
///
/// Where the disk refuses. Where it [is begun](is_begun) by then, it is ended when the log is opened, and nothing may be
/// written to the log before.
pub(super) fn set_aside(files: &Files) -> Result<String, Error> {
    let ending = free_ending(files)?;
    take_all(&beginning(files, &ending), DOING, files)?;
    take_all(&rest(files, &ending), DOING, files)?;
    Ok(ending)
}

/// Whether the files are to be set aside, and not all are.
pub(super) fn is_begun(files: &Files) -> bool {
    mark(files).exists()
}

/// Ends what was begun; whether it was.
pub(super) fn end(files: &Files) -> Result<bool, Error> {
    let said = match std::fs::read_to_string(mark(files)) {
        Ok(said) => said,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(why) => return Err(Error::io(DOING, &mark(files), why)),
    };
    let files = Files::of_one(&files.dir, &files.stem).listed_anew()?;
    let is_ending = |said: &str| {
        let number = said.strip_prefix(ENDING);
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    };
    // No name is ever taken from another file.
    let is_free = |ending: &str| {
        names(&files, ending)
            .iter()
            .all(|(from, to)| !from.exists() || !to.exists())
    };
    let ending = match is_ending(&said) && is_free(&said) {
        true => said,
        false => free_ending(&files)?,
    };
    take_all(&rest(&files, &ending), DOING, &files)?;
    tracing::warn!(
        stem = files.stem,
        kept_as = ending,
        "a log was being set aside when all was stopped; now it is"
    );
    Ok(true)
}

fn mark(files: &Files) -> PathBuf {
    files.dir.join(format!("{}{MARK}", files.stem))
}

fn sync(files: &Files) -> Step {
    let dir = files.dir.clone();
    Step::Sync { dir }
}

fn beginning(files: &Files, ending: &str) -> Vec<Step> {
    let said = Step::Write {
        path: mark(files),
        bytes: ending.as_bytes().to_vec(),
    };
    vec![said, sync(files)]
}

/// What follows the mark.
fn rest(files: &Files, ending: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = names(files, ending)
        .into_iter()
        .map(|(from, to)| Step::Rename { from, to })
        .collect();
    // What they say is of that log alone.
    let beside = [files.index(), files.restored()];
    steps.extend(beside.map(|path| Step::Remove { path }));
    steps.push(sync(files));
    steps.push(Step::Remove { path: mark(files) });
    // A mark that came back would be of the next log of this name.
    steps.push(sync(files));
    steps
}

/// The names the files have, and will have: the newest first, so that what is still there is the beginning of the log.
fn names(files: &Files, ending: &str) -> Vec<(PathBuf, PathBuf)> {
    let (dir, stem) = (&files.dir, &files.stem);
    let mut names = vec![
        (
            files.manifest(),
            dir.join(format!("{stem}.manifest{ending}")),
        ),
        (files.newest(), dir.join(format!("{stem}{ending}"))),
    ];
    let segments = files.sealed.iter().rev().map(|segment| segment.number);
    names.extend(segments.map(|number| {
        let name = format!("{stem}.{number:04}{ending}");
        (files.segment(number), dir.join(name))
    }));
    names
}

/// The ending of names that no file of the log has.
fn free_ending(files: &Files) -> Result<String, Error> {
    let failed = |why| Error::io("list the data folder", &files.dir, why);
    let names = std::fs::read_dir(&files.dir)
        .and_then(|entries| {
            let names = entries.map(|entry| Ok(entry?.file_name()));
            names.collect::<io::Result<Vec<OsString>>>()
        })
        .map_err(failed)?;
    let taken = names.iter().filter_map(|name| {
        let rest = name.to_str()?.strip_prefix(&files.stem)?;
        let (_, n) = rest.rsplit_once(ENDING)?;
        n.parse::<u64>().ok()
    });
    Ok(format!("{ENDING}{}", taken.max().unwrap_or_default() + 1))
}

#[cfg(test)]
pub(super) mod tests;
