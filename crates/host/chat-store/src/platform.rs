//! What differs between systems: reading at an offset, which file is which, folders of one's own, and which boot this is.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Reads at `offset` without moving anything shared.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, buffer, offset);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, buffer, offset);
}

/// Options for a file that only its owner can read, and that is no link to elsewhere.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A link in the data folder would let another user choose what is written.
        options.custom_flags(libc::O_NOFOLLOW);
        options.mode(0o600);
    }
    options
}

/// Writes a file under a name of its own and renames it when it is whole and durable: a reader never sees half of it.
pub(crate) fn write_whole(path: &Path, temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    let write = || {
        let mut file = private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(temporary, path)
    };
    write().inspect_err(|_| {
        let _ = std::fs::remove_file(temporary);
    })
}

/// Makes the folder, readable by its owner only, and those above it.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return File::open(dir)?.sync_all();
    #[cfg(not(unix))]
    {
        let _ = dir;
        Ok(())
    }
}

/// A number that is another after each boot; `None` where the system has none to give.
pub(crate) fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// What tells a file from another of its name, and from itself after somebody else wrote to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileMark {
    device: u64,
    inode: u64,
    /// When it was made, where the system says so; 0 else. A node that is free again is given to the next file.
    #[serde(default)]
    born_ns: u64,
    pub(crate) bytes: u64,
    modified_ns: u64,
}

impl FileMark {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from(&metadata))
    }

    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        std::fs::symlink_metadata(path).map(|metadata| Self::from(&metadata))
    }

    /// Of a file that is there no more, and had so many bytes: no file has it.
    pub(crate) fn of_gone(bytes: u64) -> Self {
        FileMark {
            device: 0,
            inode: 0,
            born_ns: 0,
            bytes,
            modified_ns: 0,
        }
    }

    /// Whether both are one file, whatever was written to it between, where this process saw both.
    pub(crate) fn is_same_file(self, other: Self) -> bool {
        // Not its birth: a file of a lower layer (overlayfs) has another one once it is written to.
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// The same, where one of them was seen by a process before, maybe before a boot.
    pub(crate) fn is_same_file_since(self, other: Self) -> bool {
        // Devices are numbered anew at a boot, or when they are mounted; two files that were made in one moment have two nodes.
        let is_birth_known = self.born_ns != 0 && other.born_ns != 0;
        self.inode == other.inode && (!is_birth_known || self.born_ns == other.born_ns)
    }
}

#[cfg(test)]
impl FileMark {
    /// As a file of a lower layer is, which this was before it was written to; `None` where files have no birth.
    pub(crate) fn born_before(self) -> Option<Self> {
        let born_ns = self.born_ns.checked_sub(1)?;
        Some(FileMark { born_ns, ..self })
    }
}

impl From<&std::fs::Metadata> for FileMark {
    fn from(metadata: &std::fs::Metadata) -> Self {
        #[cfg(unix)]
        let (device, inode) = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        // Elsewhere length and time have to do.
        #[cfg(not(unix))]
        let (device, inode) = (0, 0);
        let ns = |time: std::io::Result<SystemTime>| {
            let since = time.ok()?.duration_since(UNIX_EPOCH).ok()?;
            u64::try_from(since.as_nanos()).ok()
        };
        FileMark {
            device,
            inode,
            born_ns: ns(metadata.created()).unwrap_or_default(),
            bytes: metadata.len(),
            modified_ns: ns(metadata.modified()).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests;
