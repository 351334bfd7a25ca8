//! One file that somebody else writes: opened so that nothing can hold us up, and known again by what it says.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use chat_event::stable_hash;
use serde::{Deserialize, Serialize};

use crate::says_gone;

/// As much of a file's beginning, and of what stands before where it was read to, tells whether it is still the same.
const MARK_BYTES: u64 = 512;

/// What changed as lately as this may change once more within the same tick of its disk's clock.
pub(super) const SETTLED: Duration = Duration::from_secs(2);

/// What a look at a file tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) len: u64,
    /// When it was written last, Unix epoch in milliseconds.
    pub(super) changed_ms: i64,
    /// Which file it is, where the system says that.
    pub(super) inode: u64,
}

impl Facts {
    /// `None` for what is not there, or is no file.
    pub(super) fn of(path: &Path) -> Option<Facts> {
        Facts::try_of(path).ok().flatten()
    }

    /// The same.
    ///
    /// # Errors
    ///
    /// Where it may be there, and cannot be looked at now.
    pub(super) fn try_of(path: &Path) -> io::Result<Option<Facts>> {
        match path.symlink_metadata() {
            Ok(facts) => Ok(facts.is_file().then(|| Facts::from(&facts))),
            Err(why) if says_gone(&why) => Ok(None),
            Err(why) => Err(why),
        }
    }
}

impl From<&std::fs::Metadata> for Facts {
    fn from(facts: &std::fs::Metadata) -> Facts {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(facts);
        #[cfg(not(unix))]
        let inode = 0;
        let changed = facts.modified().ok();
        let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Facts {
            len: facts.len(),
            changed_ms: since.map_or(0, |since| {
                i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
            }),
            inode,
        }
    }
}

/// How far a file was told, and how it is known again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Taken {
    /// Bytes from its beginning.
    pub(super) bytes: u64,
    /// The hash of the first of them.
    head: u64,
    /// The hash of the last of them.
    tail: u64,
}

impl Taken {
    /// Of a file that is read whole each time, and is known again by its length.
    pub(super) fn of_length(bytes: u64) -> Taken {
        Taken {
            bytes,
            ..Taken::default()
        }
    }
}

/// Opens a file to be read. What is a link, a pipe or a device is none, whatever it was when it was seen last.
///
/// # Errors
///
/// Where it is no file, or the disk refuses.
pub fn open_own(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC,
    );
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok(file)
}

/// A file that is read on.
#[derive(Debug)]
pub(super) struct Followed {
    file: File,
}

impl Followed {
    /// Opens a file, as [`open_own`].
    pub(super) fn open(path: &Path) -> io::Result<Followed> {
        open_own(path).map(|file| Followed { file })
    }

    pub(super) fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// What a look at it would tell now, whatever lies at its path.
    pub(super) fn facts(&self) -> io::Result<Facts> {
        Ok(Facts::from(&self.file.metadata()?))
    }

    /// Reads at most `most` bytes from `at` on; none at its end.
    pub(super) fn read(&mut self, at: u64, most: u64, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        self.file.seek(SeekFrom::Start(at))?;
        (&self.file).take(most).read_to_end(into)?;
        Ok(())
    }

    /// How it is known again when it was told up to `bytes`.
    pub(super) fn taken(&mut self, bytes: u64) -> io::Result<Taken> {
        Ok(Taken {
            bytes,
            head: self.hash(0, bytes.min(MARK_BYTES))?,
            tail: self.hash(bytes.saturating_sub(MARK_BYTES), bytes.min(MARK_BYTES))?,
        })
    }

    /// Whether it says up to there what it said.
    pub(super) fn is(&mut self, taken: Taken) -> io::Result<bool> {
        Ok(self.len()? >= taken.bytes && self.taken(taken.bytes)? == taken)
    }

    fn hash(&mut self, at: u64, n_bytes: u64) -> io::Result<u64> {
        let mut bytes = Vec::new();
        self.read(at, n_bytes, &mut bytes)?;
        Ok(stable_hash(&bytes))
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_as_long_as_it_only_grows() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let text = "x".repeat(3000);
        std::fs::write(&path, &text).unwrap();
        let taken = Followed::open(&path).unwrap().taken(2000).unwrap();
        let is = |text: String| {
            std::fs::write(&path, text).unwrap();
            Followed::open(&path).unwrap().is(taken).unwrap()
        };
        assert!(is(text.clone()));
        assert!(is(format!("{text}more")));
        assert!(is(text[..2000].to_owned()));
        assert!(!is(text[..1999].to_owned()));
        assert!(!is(format!("y{text}")));
        assert!(!is(format!("{}y{}", &text[..1999], &text[2000..])));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_a_pipe_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link, pipe) = (
            dir.path().join("f"),
            dir.path().join("l"),
            dir.path().join("p"),
        );
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(Followed::open(&link).is_err());
        assert!(!made.is_ok_and(|it| it.success()) || Followed::open(&pipe).is_err());
        assert!(Followed::open(&file).is_ok());
    }
}
