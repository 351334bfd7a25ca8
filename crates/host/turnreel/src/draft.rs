//! Files that are written beside their name, and take it when they are whole. One that is not goes with the program, also
//! where a signal ends that.
//!
//! A link is followed, a file that is there keeps its rights, and what is no file (a pipe, a device) is written to and never
//! replaced.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// The folder that a path lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What tells a file from all others, whatever it is called: who writes must not take the place of what is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
    #[cfg(not(unix))]
    path: PathBuf,
}

impl FileId {
    /// Of the file of that name, or of standard input; `None` of what is no file, or is not there.
    pub(crate) fn of(path: Option<&Path>) -> Option<FileId> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            use std::os::unix::fs::MetadataExt;
            let facts = match path {
                Some(path) => path.metadata(),
                None => {
                    let input = io::stdin().as_fd().try_clone_to_owned();
                    input.and_then(|input| File::from(input).metadata())
                }
            };
            let facts = facts.ok().filter(Metadata::is_file)?;
            let device_and_inode = (facts.dev(), facts.ino());
            Some(FileId { device_and_inode })
        }
        #[cfg(not(unix))]
        {
            let path = path?.canonicalize().ok().filter(|path| path.is_file())?;
            Some(FileId { path })
        }
    }
}

/// A file beside the one it will be, with the rights that one has or a new file has; it is gone unless it takes its place.
///
/// # Errors
///
/// Where the folder is not there, or may not be written.
pub(crate) fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let there = path.metadata().ok();
    let mut builder = tempfile::Builder::new();
    builder.prefix(".turnreel-").suffix(".new");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let rights = there.as_ref().filter(|there| there.is_file());
        let mode = rights.map_or(0o666, |there| 0o600 | there.permissions().mode());
        builder.permissions(std::fs::Permissions::from_mode(mode & 0o777));
    }
    going_with_us(|| match there {
        Some(there) if is_special(&there) => builder.tempfile(),
        _ => builder.tempfile_in(folder_of(&followed(path))),
    })
    .map_err(without_path)
}

/// Files that nobody needs when the program ends before its time.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a file that is removed where a signal ends the program: its own end does not run then.
///
/// # Errors
///
/// Where it cannot be made.
pub(crate) fn going_with_us(
    make: impl FnOnce() -> io::Result<NamedTempFile>,
) -> io::Result<NamedTempFile> {
    #[cfg(unix)]
    {
        static LISTENING: std::sync::Once = std::sync::Once::new();
        LISTENING.call_once(remove_when_ended);
    }
    // Held meanwhile, so that none is there which is not known.
    let mut paths = unfinished();
    let made = make()?;
    paths.insert(made.path().to_owned());
    Ok(made)
}

/// Where signals cannot be listened for, they do what they do by themselves.
#[cfg(unix)]
fn remove_when_ended() {
    let signals = crate::signals::that_end();
    let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) else {
        return;
    };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Held to the end: nothing takes its place any more.
            let paths = unfinished();
            for path in &*paths {
                let _ = std::fs::remove_file(path);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// The file is whole, and takes the place that it was made for.
///
/// # Errors
///
/// Where the place refuses.
pub(crate) fn take_place(draft: NamedTempFile, path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(there) if is_special(&there) => {
            let mut file = draft.as_file();
            file.rewind()?;
            let mut place = File::options().write(true).open(path)?;
            io::copy(&mut file, &mut place).map(drop)
        }
        Ok(there) => {
            draft.as_file().set_permissions(there.permissions())?;
            persist(draft, path)
        }
        Err(_) => persist(draft, path),
    }
}

fn persist(draft: NamedTempFile, path: &Path) -> io::Result<()> {
    let mut paths = unfinished();
    paths.remove(draft.path());
    let persisted = draft.persist(followed(path));
    persisted.map(drop).map_err(|why| why.error)
}

fn is_special(there: &Metadata) -> bool {
    !there.is_file() && !there.is_dir()
}

/// Where a link leads; what is none, or leads nowhere, is the place itself.
fn followed(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The failure itself: who reads of it knows the name that was given, and not that of a draft.
pub(crate) fn without_path(why: io::Error) -> io::Error {
    match why.to_string().rsplit_once(" at path ") {
        Some((own, _)) => io::Error::new(why.kind(), own),
        None => why,
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn write(path: &Path, text: &str) {
        let mut draft = beside(path).unwrap();
        draft.write_all(text.as_bytes()).unwrap();
        take_place(draft, path).unwrap();
    }

    #[test]
    fn a_file_keeps_its_rights_and_a_link_leads_where_it_led() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        write(&link, "new");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_file_is_written_to_and_stays() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let reading = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        };
        write(&pipe, "through");
        assert_eq!(reading.join().unwrap(), "through");
        assert!(!pipe.metadata().unwrap().is_file());
    }

    #[test]
    fn a_refusal_names_no_draft() {
        let dir = tempfile::tempdir().unwrap();
        let why = beside(&dir.path().join("nowhere/file")).unwrap_err();
        assert!(!why.to_string().contains(".turnreel-"), "{why}");
        assert_eq!(why.kind(), io::ErrorKind::NotFound);
    }
}
