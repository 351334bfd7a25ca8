//! Setting the files of a log aside: nothing of them is lost, and none is a log's any more.
//!
//! `<stem>.events.jsonl` becomes `<stem>.aside-<n>`, a segment `<stem>.NNNN.aside-<n>`, so that `cat <stem>.*aside-<n>` still
//! has them in order. They go from the last to the first: wherever this stops, what is left is the beginning of the log.

use std::ffi::OsString;
use std::io;

use super::Files;
use crate::error::Error;
use crate::platform;

/// Gives the files other names, and says the ending these have.
///
/// # Errors
///
/// Where the disk refuses; some of the files may then be set aside.
pub(super) fn set_aside(files: &Files) -> Result<String, Error> {
    let ending = free_ending(files)?;
    // Both say more than is there from now on. The index is made anew, and so is the manifest, should this stop here.
    let index = files.index();
    let removed = std::fs::remove_file(&index);
    if_there(removed).map_err(|why| Error::io("set the index aside", &index, why))?;
    let stem = &files.stem;
    let mut names = vec![
        (files.manifest(), format!("{stem}.manifest{ending}")),
        (files.newest(), format!("{stem}{ending}")),
    ];
    let segments = files.sealed.iter().rev().map(|segment| segment.number);
    names.extend(segments.map(|number| {
        let name = format!("{stem}.{number:04}{ending}");
        (files.segment(number), name)
    }));
    for (path, name) in names {
        let renamed = std::fs::rename(&path, files.dir.join(name));
        // Each is durable before the next: what is there after the power has gone is the beginning, too.
        let renamed = if_there(renamed).and_then(|()| platform::sync_dir(&files.dir));
        renamed.map_err(|why| Error::io("set the log aside", &path, why))?;
    }
    Ok(ending)
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
        let (_, n) = rest.rsplit_once(".aside-")?;
        n.parse::<u64>().ok()
    });
    Ok(format!(".aside-{}", taken.max().unwrap_or_default() + 1))
}

/// What is not there needs nothing.
fn if_there(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
