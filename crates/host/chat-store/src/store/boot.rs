//! Whether the power may have gone since the folder was served last: numbers that were given may then be lost.

use std::path::{Path, PathBuf};

use super::{SyncPolicy, lock};
use crate::error::Error;
use crate::platform;

/// What is kept of the policy under which each event was durable before it was seen.
const ALWAYS: &str = "always";

/// This run of the system, and the last one that served the folder.
pub(super) struct Boot {
    dir: PathBuf,
    path: PathBuf,
    /// The system's name for its run, where it has one.
    id: Option<String>,
    sync: SyncPolicy,
    /// What the last server kept: its run, and in a second line its policy.
    last: String,
}

impl Boot {
    pub(super) fn new(dir: &Path, sync: SyncPolicy) -> Boot {
        let path = dir.join("boot_id");
        Boot {
            last: std::fs::read_to_string(&path).unwrap_or_default(),
            id: platform::boot_id(),
            dir: dir.to_owned(),
            path,
            sync,
        }
    }

    /// Whether nothing that was seen can be lost: the system goes on running, or it was all durable.
    pub(super) fn lost_nothing(&self) -> bool {
        let mut last = self.last.lines().map(str::trim);
        let id = last.next().filter(|id| !id.is_empty());
        (id.is_some() && id == self.id.as_deref()) || last.next() == Some(ALWAYS)
    }

    /// Says so to the next server, before anything is stored.
    pub(super) fn keep(&self) -> Result<(), Error> {
        let id = self.id.as_deref().unwrap_or_default();
        let policy = match self.sync {
            SyncPolicy::Always => ALWAYS,
            SyncPolicy::EverySecond | SyncPolicy::Never => "",
        };
        let text = format!("{id}\n{policy}\n");
        // A full disk is no reason not to give what there is.
        if text == self.last {
            return Ok(());
        }
        match lock::write_file(&self.path, text.as_bytes()) {
            // Without the file the next server takes numbers to be lost, which costs another epoch. To leave what it says could
            // promise more than holds.
            Err(Error::DiskFull) => remove(&self.path)?,
            written => written?,
        }
        // The file that was there before may promise more.
        platform::sync_dir(&self.dir).map_err(|why| Error::io("sync the folder", &self.dir, why))
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(why) if why.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path, why))
        }
        _ => Ok(()),
    }
}
