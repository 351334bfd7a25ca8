//! What the server refuses for good: kept beside the spool, so that it is not lost and no longer in the way.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{make_dir, safe_name, spool_error};
use crate::client::Error;

/// Keeps events that the server refuses for good, beside the spool in `dir`, so that they are not lost; the file.
///
/// # Errors
///
/// Where the disk refuses.
pub fn keep_refused(dir: &Path, session_id: &str, lines: &[&str]) -> Result<PathBuf, Error> {
    let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
    let name = format!("{}.jsonl", safe_name(session_id));
    keep(dir, Path::new(&name), &lines)
}

pub(crate) fn keep(dir: &Path, name: &Path, lines: &[&[u8]]) -> Result<PathBuf, Error> {
    let dir = dir.join("refused");
    make_dir(&dir)?;
    let path = dir.join(name);
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    options
        .open(&path)
        .and_then(|mut file| file.write_all(&bytes))
        .map_err(|source| spool_error("keep what was refused beside", &path, source))?;
    Ok(path)
}
