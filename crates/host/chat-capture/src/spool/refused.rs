//! What the server refuses for good: kept beside the spool, so that it is not lost and no longer in the way.
//!
//! A spool of which something cannot be sent is read from its beginning the next time, and the same is refused again. So what
//! is refused is held until all of its spool is sent, and kept then: it stands there once.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{make_dir, safe_name, spool_error, unnamed_file};
use crate::client::Error;

/// What was refused of one spool, in a file without a name: it may be all of a long one.
#[derive(Debug)]
pub struct Refused {
    dir: PathBuf,
    file: Option<File>,
    parts: Vec<Part>,
}

/// Lines that were refused together.
#[derive(Debug)]
struct Part {
    session_id: String,
    why: String,
    n_lines: usize,
    n_bytes: u64,
}

/// What was kept of one session for one reason.
#[derive(Debug, PartialEq, Eq)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// Why it was refused.
    pub why: String,
    /// How many events.
    pub n_lines: usize,
}

impl Refused {
    /// Of a spool in this folder.
    pub fn beside(dir: &Path) -> Self {
        Refused {
            dir: dir.to_owned(),
            file: None,
            parts: Vec::new(),
        }
    }

    /// How often something was refused.
    pub(crate) fn n_parts(&self) -> usize {
        self.parts.len()
    }

    /// Forgets what was refused since there were so many.
    pub(crate) fn truncate(&mut self, n_parts: usize) {
        self.parts.truncate(n_parts);
    }

    /// Holds events of a session that the server refuses for good.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn hold(&mut self, session_id: &str, why: &str, lines: &[&str]) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut bytes = lines.join("\n").into_bytes();
        bytes.push(b'\n');
        let begin = self.parts.iter().map(|part| part.n_bytes).sum();
        let failed = |source| spool_error("keep what was refused beside", &self.dir, source);
        if self.file.is_none() {
            self.file = Some(unnamed_file(&self.dir).map_err(failed)?);
        }
        let written = self.file.iter_mut().try_for_each(|file| {
            file.seek(SeekFrom::Start(begin))?;
            file.write_all(&bytes)
        });
        written.map_err(failed)?;
        self.parts.push(Part {
            session_id: session_id.to_owned(),
            why: why.to_owned(),
            n_lines: lines.len(),
            n_bytes: bytes.len() as u64,
        });
        Ok(())
    }

    /// Keeps it in files of the sessions' names: the spool is sent, and will be deleted.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn keep(&mut self) -> Result<Vec<Kept>, Error> {
        let mut all: Vec<Kept> = Vec::new();
        let parts = std::mem::take(&mut self.parts);
        let Some(mut file) = self.file.take() else {
            return Ok(all);
        };
        let failed = |source| spool_error("keep what was refused beside", &self.dir, source);
        file.rewind().map_err(failed)?;
        for part in parts {
            let mut lines = Read::take(&mut file, part.n_bytes);
            let path = append(
                &self.dir,
                Path::new(&name_for(&part.session_id)),
                &mut lines,
            )?;
            let is_same = |kept: &&mut Kept| kept.path == path && kept.why == part.why;
            match all.iter_mut().find(is_same) {
                Some(kept) => kept.n_lines += part.n_lines,
                None => all.push(Kept {
                    path,
                    why: part.why,
                    n_lines: part.n_lines,
                }),
            }
        }
        Ok(all)
    }
}

/// The file of a session's refused events. What is no id may have nothing that a name can hold.
fn name_for(session_id: &str) -> String {
    match safe_name(session_id) {
        name if name.is_empty() => "unnamed.jsonl".to_owned(),
        name => format!("{name}.jsonl"),
    }
}

/// Keeps lines that are no events.
pub(crate) fn keep(dir: &Path, name: &Path, lines: &[&[u8]]) -> Result<PathBuf, Error> {
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    append(dir, name, &mut bytes.as_slice())
}

fn append(dir: &Path, name: &Path, lines: &mut dyn Read) -> Result<PathBuf, Error> {
    let dir = dir.join("refused");
    make_dir(&dir)?;
    let path = dir.join(name);
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(&path)
        .and_then(|mut file| std::io::copy(lines, &mut file))
        .map_err(|source| spool_error("keep what was refused beside", &path, source))?;
    Ok(path)
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_kept_by_its_session_once_all_is_sent() {
        let dir = tempfile::tempdir().unwrap();
        let mut refused = Refused::beside(dir.path());
        refused.hold("s1", "bad", &["1", "2"]).unwrap();
        refused.hold("/", "no id", &["3"]).unwrap();
        // Tried again, and refused once more.
        let n_parts = refused.n_parts();
        refused.hold("s1", "bad", &["a longer line"]).unwrap();
        refused.truncate(n_parts);
        refused.hold("s1", "bad", &["4"]).unwrap();
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 0, "it is gone with who holds it");
        let kept = refused.keep().unwrap();
        let kept: Vec<_> = kept.iter().map(|it| (&*it.why, it.n_lines)).collect();
        assert_eq!(kept, [("bad", 3), ("no id", 1)]);
        let read = |name: &str| std::fs::read_to_string(dir.path().join("refused").join(name));
        assert_eq!(read("s1.jsonl").unwrap(), "1\n2\n4\n");
        assert_eq!(read("unnamed.jsonl").unwrap(), "3\n");
        assert_eq!(refused.keep().unwrap(), []);
    }
}
