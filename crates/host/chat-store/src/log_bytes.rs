//! The bytes of a log, whatever files it lies in, for those who read a folder that they do not hold.
//!
//! What is read this way is not checked and not repaired: that is for those who make events of it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::log::{Files, Segment, of_name};
use crate::platform::FileMark;

/// Reads the sealed segments of a log in order, and then its newest file, which may be sealed meanwhile. A file that is no
/// log of ours is read as it is.
#[derive(Debug)]
pub struct LogBytes {
    newest: PathBuf,
    stem: Option<String>,
    /// The file that is read, and its number where it is a segment.
    file: File,
    number: Option<u32>,
    /// The segments that are known to be part of it.
    known: Arc<Vec<Segment>>,
}

impl LogBytes {
    /// Opens the log whose newest file this is.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn open(newest: &Path) -> io::Result<Self> {
        Self::open_known(newest, Arc::default())
    }

    /// Opens a log of which it is known which segments it has: without one of them, or with another in its place, it is not
    /// read as if it were whole.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, and where one of them is missing or has another length; so while it is read.
    pub(crate) fn open_of(files: &Files) -> io::Result<Self> {
        Self::open_known(&files.newest(), files.sealed.clone())
    }

    fn open_known(newest: &Path, known: Arc<Vec<Segment>>) -> io::Result<Self> {
        let name = newest.file_name().and_then(|name| name.to_str());
        let stem = match name.and_then(of_name) {
            Some((stem, None)) => Some(stem.to_owned()),
            // Of a segment that is named, nothing else is meant.
            Some((_, Some(_))) | None => None,
        };
        let mut log = LogBytes {
            newest: newest.to_owned(),
            stem,
            file: File::open(newest)?,
            number: None,
            known,
        };
        if let Some((number, path)) = log.next_segment()? {
            log.file = File::open(path)?;
            log.number = Some(number);
        }
        Ok(log)
    }

    /// How many bytes there are now, and when something was written last.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn facts(&self) -> io::Result<(u64, std::time::SystemTime)> {
        let newest = self.newest.metadata()?;
        let mut bytes = newest.len();
        for (_, path) in self.segments()? {
            bytes += path.metadata()?.len();
        }
        Ok((bytes, newest.modified()?))
    }

    /// The segments there are now, in order.
    fn segments(&self) -> io::Result<Vec<(u32, PathBuf)>> {
        let Some(stem) = &self.stem else {
            return Ok(Vec::new());
        };
        let folder = self
            .newest
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut segments = Vec::new();
        for entry in std::fs::read_dir(folder.unwrap_or(Path::new(".")))? {
            let entry = entry?;
            let name = entry.file_name();
            if let Some((found, Some(number))) = name.to_str().and_then(of_name)
                && found == stem
            {
                // Who made the folder may be a stranger, and a link in it may lead to any file of the reader's.
                if entry.file_type()?.is_symlink() {
                    let name = name.to_string_lossy();
                    let why = format!("a part of the log is a link: {name}");
                    return Err(io::Error::other(why));
                }
                segments.push((number, entry.path()));
            }
        }
        segments.sort();
        Ok(segments)
    }

    /// The segment behind the one that is read, or the first.
    fn next_segment(&self) -> io::Result<Option<(u32, PathBuf)>> {
        let is_later = |number: u32| Some(number) > self.number;
        let mut found = self.segments()?.into_iter();
        let found = found.find(|(number, _)| is_later(*number));
        let mut known = self.known.iter();
        if let Some(known) = known.find(|known| is_later(known.number)) {
            let number = known.number;
            let Some((_, path)) = found.as_ref().filter(|(found, _)| *found == number) else {
                let why = format!("segment {number} of it is missing");
                return Err(io::Error::new(io::ErrorKind::NotFound, why));
            };
            if path.metadata()?.len() != known.bytes {
                let why = format!("segment {number} of it has another length than it had");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
        Ok(found)
    }

    /// Goes on in the next file, where there is one.
    fn go_on(&mut self) -> io::Result<bool> {
        if self.number.is_none() {
            let Ok(named) = FileMark::at(&self.newest) else {
                return Ok(false);
            };
            let open = FileMark::of(&self.file)?;
            if named.is_same_file(open) {
                return Ok(false);
            }
            // It was sealed under our eyes, or it is another log by now.
            let mut segments = self.segments()?.into_iter();
            let sealed = segments
                .find(|(_, path)| FileMark::at(path).is_ok_and(|mark| mark.is_same_file(open)));
            let Some((number, _)) = sealed else {
                return Ok(false);
            };
            self.number = Some(number);
            // What was written between our last look and the sealing is read first.
            return Ok(true);
        }
        let (number, path) = match self.next_segment()? {
            Some((number, path)) => (Some(number), path),
            None => (None, self.newest.clone()),
        };
        match File::open(path) {
            Ok(file) => {
                self.file = file;
                self.number = number;
                Ok(true)
            }
            // Between two files there is a moment without a newest one.
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(why) => Err(why),
        }
    }
}

impl Read for LogBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let n = self.file.read(buffer)?;
            if n > 0 || !self.go_on()? {
                return Ok(n);
            }
        }
    }
}

/// Whether the file is a sealed segment of a log that lies beside it, and so no log by itself.
pub fn is_part_of_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    match name.and_then(of_name) {
        Some((stem, Some(_))) => path
            .with_file_name(format!("{stem}{}", crate::log::ENDING))
            .is_file(),
        Some((_, None)) | None => false,
    }
}
