//! Logs that were packed away elsewhere: what is left of one here is `<stem>.packed.json`, so that its session stays listed.
//!
//! The files go while `<stem>.packing.json` says that they do; it becomes `<stem>.packed.json` when they are gone. So all of a
//! log is here or none of it, whatever stops this (`begun`). Where there is a log beside `<stem>.packed.json`, it came back,
//! and counts.

use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Files;
use super::begun::{Step, take_all};
use crate::blobs::hex;
use crate::error::Error;
use crate::log_bytes::LogBytes;
use crate::platform;
use crate::session_id::SessionId;
use crate::summary::Summary;

/// How the name of the mark ends.
pub(super) const MARK: &str = ".packing.json";

/// How the name ends of what is left.
const ENDING: &str = ".packed.json";

/// One that is longer is none of ours.
const MOST_BYTES: u64 = 1024 * 1024;

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 256 * 1024;

const DOING: &str = "pack the log away";

/// What is known of a log that is elsewhere, and not here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Packed {
    /// The session.
    pub session: String,
    /// The epoch of its log.
    pub epoch: String,
    /// Its last number.
    pub head: u64,
    /// The length of its log.
    pub bytes: u64,
    /// The hash of its log, lower-case hex.
    pub sha256: String,
    /// The session's row in the list.
    pub summary: Summary,
}

impl Packed {
    /// Reads what is left of a log of that stem; `None` where there is nothing.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, and where it is none of ours.
    pub(crate) fn read(files: &Files) -> Result<Option<Packed>, Error> {
        let path = files.packed();
        let mut text = String::new();
        let file = match platform::private_file().read(true).open(&path) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(Error::io("read", &path, why)),
        };
        let read = file.take(MOST_BYTES).read_to_string(&mut text);
        read.map_err(|why| Error::io("read", &path, why))?;
        let packed = serde_json::from_str::<Packed>(&text).ok();
        let is_of_stem =
            |session: &str| SessionId::parse(session).is_ok_and(|id| id.stem() == files.stem);
        match packed.filter(|it| is_of_stem(&it.session) && it.summary.id == it.session) {
            Some(packed) => Ok(Some(packed)),
            None => Err(Error::NotALog {
                path,
                why: "it does not say what was packed away".to_owned(),
            }),
        }
    }

    /// Whether the log in these files is the one that this says.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub(crate) fn is_of(&self, files: &Files) -> Result<bool, Error> {
        let failed = |why| Error::io("read the log", &files.newest(), why);
        let mut log = LogBytes::open_of(files).map_err(failed)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            match log.read(&mut block) {
                Ok(0) => break,
                Ok(n) => {
                    hash.update(&block[..n]);
                    bytes += n as u64;
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(failed(why)),
            }
        }
        Ok(bytes == self.bytes && hex(&hash.finalize()) == self.sha256)
    }

    /// Removes the files of the log, and says instead what was there. The caller holds the log.
    ///
    /// # Errors
    ///
    /// Where the disk refuses. Where it [is begun](is_begun) by then, it is ended when the folder is opened, and nothing may
    /// be written to the log before.
    pub(crate) fn pack_away(&self, files: &Files) -> Result<(), Error> {
        take_all(&beginning(self, files)?, DOING, files)?;
        take_all(&rest(files), DOING, files)
    }
}

impl Files {
    /// What is left where they were packed away.
    pub(crate) fn packed(&self) -> PathBuf {
        self.dir.join(format!("{}{ENDING}", self.stem))
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.packed().exists()
    }

    fn packing(&self) -> PathBuf {
        self.dir.join(format!("{}{MARK}", self.stem))
    }

    /// The log came back, or another one is begun on purpose.
    pub(crate) fn forget_packed(&self) -> io::Result<()> {
        Step::Remove {
            path: self.packed(),
        }
        .take()?;
        platform::sync_dir(&self.dir)
    }
}

/// The stem of a log that was packed away, where the name is of what is left.
pub(crate) fn stem_of_packed(name: &str) -> Option<&str> {
    name.strip_suffix(ENDING)
}

/// Whether the files are to go, and not all are gone.
pub(crate) fn is_begun(files: &Files) -> bool {
    files.packing().exists()
}

/// Ends what was begun; whether it was.
pub(super) fn end(files: &Files) -> Result<bool, Error> {
    if !is_begun(files) {
        return Ok(false);
    }
    let files = Files::of_one(&files.dir, &files.stem).listed_anew()?;
    take_all(&rest(&files), DOING, &files)?;
    Ok(true)
}

fn sync(files: &Files) -> Step {
    let dir = files.dir.clone();
    Step::Sync { dir }
}

fn beginning(packed: &Packed, files: &Files) -> Result<Vec<Step>, Error> {
    let bytes = serde_json::to_vec_pretty(packed);
    let bytes = bytes.map_err(|why| Error::io(DOING, &files.packing(), io::Error::other(why)))?;
    let path = files.packing();
    Ok(vec![Step::Write { path, bytes }, sync(files)])
}

/// What follows the mark.
fn rest(files: &Files) -> Vec<Step> {
    let mut paths = vec![
        files.index(),
        files.manifest(),
        files.restored(),
        files.newest(),
    ];
    let segments = files.sealed.iter().rev();
    paths.extend(segments.map(|segment| files.segment(segment.number)));
    let mut steps: Vec<Step> = paths
        .into_iter()
        .map(|path| Step::Remove { path })
        .collect();
    steps.push(sync(files));
    let (from, to) = (files.packing(), files.packed());
    steps.push(Step::Rename { from, to });
    // A mark that came back would be of a log that was fetched again.
    steps.push(sync(files));
    steps
}

#[cfg(test)]
mod tests;
