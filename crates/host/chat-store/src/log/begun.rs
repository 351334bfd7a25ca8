//! Changes of several files of a log, which are made whole however often they are stopped.
//!
//! A mark is written first and taken away last. While it stands, nobody reads or writes the log: whoever opens it, or the
//! folder, ends what was begun. What is to be done is a list of steps, each of which may be taken again.

use std::io;
use std::path::PathBuf;

use super::{Files, aside, packed, removal};
use crate::error::Error;
use crate::platform;

/// One step; what is not there needs none.
#[derive(Debug)]
pub(super) enum Step {
    /// Writes a file whole.
    Write { path: PathBuf, bytes: Vec<u8> },
    /// Gives a file another name.
    Rename { from: PathBuf, to: PathBuf },
    /// Removes a file.
    Remove { path: PathBuf },
    /// Makes the names in the folder durable: what stands before it never comes after what stands behind it.
    Sync { dir: PathBuf },
}

impl Step {
    pub(super) fn take(&self) -> io::Result<()> {
        match self {
            Step::Write { path, bytes } => {
                platform::write_whole(path, &path.with_extension("new"), bytes)
            }
            Step::Rename { from, to } => if_there(std::fs::rename(from, to)),
            Step::Remove { path } => if_there(std::fs::remove_file(path)),
            Step::Sync { dir } => platform::sync_dir(dir),
        }
    }
}

/// Takes one step after the other, until one is refused.
pub(super) fn take_all(steps: &[Step], doing: &'static str, files: &Files) -> Result<(), Error> {
    let taken = steps.iter().try_for_each(Step::take);
    taken.map_err(|why| Error::io(doing, &files.newest(), why))
}

/// Whether the name of a file is a mark, and of which stem.
pub(crate) fn stem_of_mark(name: &str) -> Option<&str> {
    name.strip_suffix(aside::MARK)
        .or_else(|| name.strip_suffix(packed::MARK))
        .or_else(|| name.strip_suffix(removal::MARK))
}

/// Whether something was begun with the files of the log, and has not ended.
pub(super) fn is_begun(files: &Files) -> bool {
    removal::is_begun(files) || aside::is_begun(files) || packed::is_begun(files)
}

/// Ends what was begun with the files of the log, where something was; whether it was.
///
/// # Errors
///
/// Where the disk refuses. The log is not to be opened then.
pub(crate) fn end(files: &Files) -> Result<bool, Error> {
    // Whatever else was begun with files that are to go need not be ended.
    Ok(removal::end(files)? | aside::end(files)? | packed::end(files)?)
}

fn if_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
