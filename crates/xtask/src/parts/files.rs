//! Files and folders that the parts are made of, and errors that say what was done with them.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::workspace;

/// The folder for what is made on the way.
pub(super) fn scratch_dir(root: &Path) -> Result<PathBuf, Error> {
    Ok(workspace::scratch_dir(root)?.join("parts"))
}

/// The program, in one of these folders or else wherever the system finds it.
pub(super) fn program_in(bin_dirs: &[PathBuf], program: &str) -> PathBuf {
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    bin_dirs
        .iter()
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
        .unwrap_or_else(|| name.into())
}

/// A tool wrote something else than it used to.
pub(crate) fn unexpected(why: &str) -> Error {
    Error::Failed {
        what: "cut the page's module into parts".to_owned(),
        why: why.to_owned(),
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::file("read a part", path, source))
}

pub(crate) fn read_text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::file("read a part", path, source))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|source| Error::file("write a part", path, source))
}

pub(super) fn remove_dir(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(folder) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("remove a folder", folder, source))
        }
        _ => Ok(()),
    }
}
