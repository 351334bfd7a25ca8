//! The folder's lock, and small files that are written whole or not at all.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::platform;

/// How long the lock of another process is waited for: one that was killed may not be quite gone.
const LOCK_WAIT: Duration = Duration::from_millis(500);

/// Takes the folder's lock, and writes who has it for others to read.
pub(crate) fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join(".lock");
    let mut file = platform::private_file()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|why| Error::io("lock the data folder", &path, why))?;
    let deadline = Instant::now() + LOCK_WAIT;
    let locked = loop {
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_WAIT / 25);
            }
            locked => break locked,
        }
    };
    match locked {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let mut text = String::new();
            let _ = file.read_to_string(&mut text);
            return Err(Error::Locked {
                dir: dir.to_owned(),
                pid: text
                    .split_whitespace()
                    .next()
                    .and_then(|pid| pid.parse().ok()),
            });
        }
        Err(std::fs::TryLockError::Error(why)) => {
            return Err(Error::io("lock the data folder", &path, why));
        }
    }
    let boot_id = platform::boot_id().unwrap_or_default();
    let text = format!("{} {boot_id}\n", std::process::id());
    let told = file
        .set_len(0)
        .and_then(|()| file.write_all(text.as_bytes()));
    match told.map_err(|why| Error::io("lock the data folder", &path, why)) {
        // It is held, and only who waits for it is not told by whom.
        Ok(()) | Err(Error::DiskFull) => Ok(file),
        Err(why) => Err(why),
    }
}

pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    platform::write_whole(path, &path.with_extension("new"), bytes)
        .map_err(|why| Error::io("write", path, why))
}
