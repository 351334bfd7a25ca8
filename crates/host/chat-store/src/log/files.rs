//! The files of one log, read as if they were one: its sealed segments in order, then the file that is appended to.
//!
//! A segment is `<stem>.NNNN.events.jsonl`, the newest file `<stem>.events.jsonl`: `0` comes before `e`, so a plain
//! `cat <stem>.*events.jsonl` has them in order. Offsets count over all of them. Behind each segment one newline is counted
//! that no file has, so no two lines run into each other whatever a segment ends with; and what is missing of a segment reads
//! as newlines, so its events are missing and nothing else.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::begun;
use crate::error::Error;
use crate::platform::{self, FileMark};

/// How the files of logs end.
pub(crate) const ENDING: &str = ".events.jsonl";

/// With one more digit the names would stand in another order than the events; the last file then grows on.
pub(super) const MOST_SEGMENTS: usize = 9999;

/// One sealed segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Segment {
    /// Its number, from 1.
    pub(crate) number: u32,
    /// Length of the file.
    pub(crate) bytes: u64,
}

/// What a file name says: the stem, and the segment's number where it is one.
pub(crate) fn of_name(name: &str) -> Option<(&str, Option<u32>)> {
    let stem = name.strip_suffix(ENDING)?;
    match stem.rsplit_once('.') {
        None => Some((stem, None)),
        Some((stem, digits)) => {
            let is_number = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = digits
                .parse()
                .ok()
                .filter(|number| is_number && *number > 0)?;
            Some((stem, Some(number)))
        }
    }
}

/// The segments of the log in its folder, in order.
pub(crate) fn list(dir: &Path, stem: &str) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if let Some((found, Some(number))) = name.to_str().and_then(of_name)
            && found == stem
        {
            let bytes = entry.metadata()?.len();
            segments.push(Segment { number, bytes });
        }
    }
    segments.sort_by_key(|segment| segment.number);
    Ok(segments)
}

/// Where the files of a log are.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) dir: PathBuf,
    pub(crate) stem: String,
    pub(crate) sealed: Arc<Vec<Segment>>,
}

impl Files {
    /// Those of a log that has no segments.
    pub(crate) fn of_one(dir: &Path, stem: &str) -> Self {
        Files {
            dir: dir.to_owned(),
            stem: stem.to_owned(),
            sealed: Arc::default(),
        }
    }

    /// The same, with the segments that are there now.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub(crate) fn listed_anew(self) -> Result<Self, Error> {
        let sealed = list(&self.dir, &self.stem);
        let sealed = sealed.map_err(|why| Error::io("list the data folder", &self.dir, why))?;
        Ok(Files {
            sealed: Arc::new(sealed),
            ..self
        })
    }

    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    /// The file that is appended to.
    pub(crate) fn newest(&self) -> PathBuf {
        self.dir.join(format!("{}{ENDING}", self.stem))
    }

    /// Whether the newest one is not there.
    pub(crate) fn is_gone(&self) -> bool {
        let there = std::fs::symlink_metadata(self.newest());
        there.is_err_and(|why| why.kind() == io::ErrorKind::NotFound)
    }

    /// Whether none of them is there, and nothing is under way with them.
    pub(crate) fn are_gone(&self) -> bool {
        self.is_gone()
            && list(&self.dir, &self.stem).is_ok_and(|sealed| sealed.is_empty())
            && !begun::is_begun(self)
    }

    pub(crate) fn segment(&self, number: u32) -> PathBuf {
        self.dir.join(format!("{}.{number:04}{ENDING}", self.stem))
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.dir.join(format!("{}.idx", self.stem))
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.dir.join(format!("{}.manifest.json", self.stem))
    }

    /// Whether there is any that has something: what a full disk leaves of a new one is a name, and no log.
    pub(crate) fn are_there(&self) -> bool {
        let newest = || self.newest().symlink_metadata();
        !self.sealed.is_empty() || newest().is_ok_and(|newest| newest.len() > 0)
    }

    /// Where the newest file begins.
    pub(crate) fn base(&self) -> u64 {
        self.sealed.iter().map(|segment| segment.bytes + 1).sum()
    }

    /// Opens the log for reading. The newest file is opened at once: its name may be another file's later.
    pub(super) fn reader(&self) -> Result<Reader, Error> {
        let path = self.newest();
        let newest = match platform::private_file().read(true).open(&path) {
            Ok(file) => Some(file),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(Error::io("read the log", &path, why)),
        };
        Ok(Reader {
            base: self.base(),
            files: self.clone(),
            newest,
            opened: None,
        })
    }
}

/// A log, open for reading.
#[derive(Debug)]
pub(super) struct Reader {
    files: Files,
    newest: Option<File>,
    base: u64,
    /// The segment that was read last; `None` in it where it cannot be opened.
    opened: Option<(u32, Option<File>)>,
}

impl Reader {
    /// Where the newest file ends now.
    pub(super) fn end(&self) -> io::Result<u64> {
        let newest = self.newest.as_ref();
        let bytes = newest.map_or(Ok(0), |file| file.metadata().map(|it| it.len()))?;
        Ok(self.base + bytes)
    }

    /// Which file the newest is, and how long; `None` where there is none.
    pub(super) fn newest_mark(&self) -> Option<FileMark> {
        FileMark::of(self.newest.as_ref()?).ok()
    }

    /// Reads at `offset`; 0 bytes are the end of the log.
    pub(super) fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.base {
            let Some(newest) = &self.newest else {
                return Ok(0);
            };
            return platform::read_at(newest, buffer, offset - self.base);
        }
        let mut begins = 0;
        for segment in self.files.sealed.iter() {
            let ends = begins + segment.bytes + 1;
            if offset >= ends {
                begins = ends;
                continue;
            }
            let number = segment.number;
            if self.opened.as_ref().is_none_or(|(open, _)| *open != number) {
                let path = self.files.segment(number);
                let file = match platform::private_file().read(true).open(&path) {
                    Ok(file) => Some(file),
                    Err(why) if why.kind() == io::ErrorKind::NotFound => None,
                    Err(why) => return Err(why),
                };
                self.opened = Some((number, file));
            }
            let wanted = usize::try_from(ends - offset).unwrap_or(usize::MAX);
            let wanted = wanted.min(buffer.len());
            let in_file = segment.bytes.saturating_sub(offset - begins);
            let in_file = usize::try_from(in_file).unwrap_or(usize::MAX).min(wanted);
            let mut read = 0;
            if let Some((_, Some(file))) = &self.opened {
                read = platform::read_at(file, &mut buffer[..in_file], offset - begins)?;
            }
            if read == 0 {
                buffer[..wanted].fill(b'\n');
                read = wanted;
            }
            return Ok(read);
        }
        Ok(0)
    }
}
