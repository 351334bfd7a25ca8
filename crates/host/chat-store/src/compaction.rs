//! Compacting the log of a session that is over.
//!
//! Each file of the log is folded for itself into a new one beside it, so that a run of chunks that two files share stays two
//! runs and every mixture of old and new files is the log. The new files are read back and held against the old ones, event
//! by event; then each takes the name of its old one. Whatever stops this, at any moment there is under each name the whole
//! old file or the whole new one. What is known of the files elsewhere (the index, the manifest) is forgotten before and made
//! anew behind; a stop in between costs a longer start.
//!
//! What is folded is for `chat_event::compaction`.

mod lines;
mod same;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use chat_event::ChatEvent;
use chat_event::compaction::{Compactor, Out};

use crate::error::Error;
use crate::log::{Files, Log, Opening, checksum_holds, end_begun, forget_segment};
use crate::platform::{self, FileMark};
use crate::session_id::SessionId;
use crate::store::{lock, now_ms};
use crate::summing::Summing;
use lines::RawLines;

/// Bytes that are read or written at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// What was made of how much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folding {
    /// Lines there were.
    pub lines_before: u64,
    /// Lines there are.
    pub lines_after: u64,
    /// Bytes there were.
    pub bytes_before: u64,
    /// Bytes there are.
    pub bytes_after: u64,
}

impl Folding {
    /// Whether anything was folded.
    pub fn is_shorter(&self) -> bool {
        self.lines_after < self.lines_before
    }

    fn add(&mut self, other: Folding) {
        self.lines_before += other.lines_before;
        self.lines_after += other.lines_after;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
    }
}

/// Folds the lines of a log into a shorter one. `read` makes an event of a line where it can be trusted; all other lines stay
/// what they are, to the byte.
///
/// # Errors
///
/// Where what is read or written refuses.
pub fn fold(
    from: impl Read,
    to: &mut dyn Write,
    read: &mut dyn FnMut(&[u8]) -> Option<ChatEvent>,
) -> io::Result<Folding> {
    let mut lines = RawLines::new(BufReader::with_capacity(BLOCK_BYTES, from));
    let mut compactor: Compactor<Vec<u8>> = Compactor::new();
    let mut folding = Folding::default();
    let mut written = Ok(());
    let mut bytes_after = 0;
    let mut lines_after = 0;
    let mut write = |out: Out<Vec<u8>>| {
        let line = match out {
            Out::AsItWas(line) => line,
            Out::Folded(event) => {
                let line = match event.extra.get("c") {
                    Some(_) => event.to_line_with_checksum(),
                    None => event.to_line(),
                };
                (line + "\n").into_bytes()
            }
        };
        bytes_after += line.len() as u64;
        // What has no newline is the beginning of a line, or its middle.
        lines_after += u64::from(line.ends_with(b"\n"));
        if written.is_ok() {
            written = to.write_all(&line);
        }
    };
    while let Some(line) = lines.next_line()? {
        folding.bytes_before += line.bytes.len() as u64;
        folding.lines_before += u64::from(line.bytes.ends_with(b"\n"));
        let event = line.is_whole.then(|| read(line.text())).flatten();
        compactor.push(line.bytes, event, &mut write);
    }
    compactor.finish(&mut write);
    written?;
    (folding.bytes_after, folding.lines_after) = (bytes_after, lines_after);
    Ok(folding)
}

/// Whether a line has its checksum, and the right one.
pub fn has_checksum(line: &[u8]) -> bool {
    checksum_holds(line)
}

/// A log that is being compacted. The folder is held until it is over; nothing is changed before [`Compaction::commit`].
#[derive(Debug)]
pub struct Compaction {
    id: SessionId,
    files: Files,
    parts: Vec<Part>,
    folding: Folding,
    _lock: File,
}

/// One file of the log, and what was made of it.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    /// Its number where it is a sealed segment.
    number: Option<u32>,
    mark: FileMark,
    /// The new file; `None` where nothing was folded.
    new: Option<Temporary>,
}

/// A file that goes away again, unless it was given a name.
#[derive(Debug)]
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // It is gone where it was renamed.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Compaction {
    /// Makes the new files of a session's log, and holds them against the old ones.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] where a server holds the folder, [`Error::NoSession`], [`Error::NotEnded`], [`Error::NotTheSame`],
    /// and where the disk refuses. The log is then as it was.
    pub fn prepare(dir: &Path, id: &SessionId) -> Result<Compaction, Error> {
        let none = || Error::NoSession {
            session: id.as_str().to_owned(),
            dir: dir.to_owned(),
        };
        let files = Files::of_one(dir, &id.stem());
        let is_there = |files: &Files| files.newest().is_file() || !files.sealed.is_empty();
        // Looked for before the folder is locked: no lock is left where no folder of ours is.
        if !dir.is_dir() || !is_there(&files.clone().listed_anew()?) {
            return Err(none());
        }
        let lock = lock::lock(dir)?;
        end_begun(&files)?;
        let files = files.listed_anew()?;
        if !is_there(&files) {
            return Err(none());
        }
        let mut compaction = Compaction {
            id: id.clone(),
            parts: Vec::new(),
            folding: Folding::default(),
            files,
            _lock: lock,
        };
        let segments = compaction.files.sealed.iter();
        let mut paths: Vec<_> = segments
            .map(|segment| {
                (
                    compaction.files.segment(segment.number),
                    Some(segment.number),
                )
            })
            .collect();
        if compaction.files.newest().is_file() {
            paths.push((compaction.files.newest(), None));
        }
        let mut summing = Summing::new(id.as_str());
        for (path, number) in paths {
            compaction.take_part(path, number, &mut summing)?;
        }
        let row = summing.row;
        if row.status != "ended" {
            return Err(Error::NotEnded {
                session: id.as_str().to_owned(),
                status: row.status,
            });
        }
        for part in &compaction.parts {
            part.check(id)?;
        }
        Ok(compaction)
    }

    fn take_part(
        &mut self,
        path: PathBuf,
        number: Option<u32>,
        summing: &mut Summing,
    ) -> Result<(), Error> {
        let failed = |why| Error::io("compact the log", &path, why);
        let old = open(&path).map_err(failed)?;
        let mark = FileMark::of(&old).map_err(failed)?;
        // A server that was told of another folder by another name would have this one's log open.
        if let Err(std::fs::TryLockError::WouldBlock) = old.try_lock() {
            return Err(Error::Locked {
                dir: path,
                pid: None,
            });
        }
        let name = match number {
            Some(number) => format!("{}.{number:04}.compacting", self.files.stem()),
            None => format!("{}.compacting", self.files.stem()),
        };
        let new = Temporary(self.files.dir.join(name));
        let file = platform::private_file()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&new.0)
            .map_err(failed)?;
        let mut to = BufWriter::with_capacity(BLOCK_BYTES, file);
        let mut read = |line: &[u8]| {
            let event = event_of(line, &self.id)?;
            if !event.is_control() {
                summing.take(&event);
            }
            Some(event)
        };
        let folding = fold(&old, &mut to, &mut read).map_err(failed)?;
        let written = to.into_inner().map_err(io::IntoInnerError::into_error);
        written.and_then(|file| file.sync_all()).map_err(failed)?;
        self.folding.add(folding);
        self.parts.push(Part {
            path,
            number,
            mark,
            new: folding.is_shorter().then_some(new),
        });
        Ok(())
    }

    /// What was made of how much.
    pub fn folding(&self) -> Folding {
        self.folding
    }

    /// The bytes of the log as it is.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn original(&self) -> Result<Box<dyn Read>, Error> {
        self.read_all(|part| &part.path)
    }

    /// The bytes of the log as it will be.
    ///
    /// # Errors
    ///
    /// Where the disk refuses.
    pub fn compacted(&self) -> Result<Box<dyn Read>, Error> {
        self.read_all(|part| part.new.as_ref().map_or(&part.path, |new| &new.0))
    }

    fn read_all<'p>(
        &'p self,
        path: impl Fn(&'p Part) -> &'p PathBuf,
    ) -> Result<Box<dyn Read>, Error> {
        let mut all: Box<dyn Read> = Box::new(io::empty());
        for part in &self.parts {
            let path = path(part);
            let file = open(path).map_err(|why| Error::io("read the log", path, why))?;
            // No two lines run into each other, whatever a file ends with.
            all = Box::new(all.chain(file).chain(&b"\n"[..]));
        }
        Ok(all)
    }

    /// Gives the new files the names of the old ones.
    ///
    /// # Errors
    ///
    /// Where the disk refuses, or somebody wrote to the log meanwhile. Each name then has the old file or the new one.
    pub fn commit(mut self) -> Result<Folding, Error> {
        if self.parts.iter().all(|part| part.new.is_none()) {
            return Ok(self.folding);
        }
        for part in &self.parts {
            if FileMark::at(&part.path).ok() != Some(part.mark) {
                return Err(Error::NotTheSame {
                    path: part.path.clone(),
                    why: "somebody wrote to it meanwhile".to_owned(),
                });
            }
        }
        let index = self.files.index();
        // The index of the new files says no more whose these were.
        let noted = self.files.note_where_from(self.id.as_str());
        noted.map_err(|why| Error::io("compact the log", &index, why))?;
        match std::fs::remove_file(&index) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("compact the log", &index, why));
            }
            _ => {}
        }
        for part in &mut self.parts {
            let Some(new) = part.new.take() else { continue };
            let replace = || {
                if let Some(number) = part.number {
                    forget_segment(&self.files, number)?;
                }
                std::fs::rename(&new.0, &part.path)?;
                platform::sync_dir(&self.files.dir)
            };
            replace().map_err(|why| Error::io("compact the log", &part.path, why))?;
        }
        // Opened once, so that the index and the manifest are those of the new files.
        let opening = Opening {
            files: self.files.clone().listed_anew()?,
            id: self.id.clone(),
            segment_bytes: u64::MAX,
            why_new_epoch: None,
            least_head: 0,
            copy_of: None,
            use_index: false,
            now_ms: now_ms(),
        };
        Log::open(opening)?;
        Ok(self.folding)
    }
}

impl Part {
    /// Reads the new file back and holds it against the old one.
    fn check(&self, id: &SessionId) -> Result<(), Error> {
        let Some(new) = &self.new else { return Ok(()) };
        let failed = |why| Error::io("read the compacted log back", &self.path, why);
        let old = open(&self.path).map_err(failed)?;
        let new = open(&new.0).map_err(failed)?;
        let mut read = |line: &[u8]| event_of(line, id);
        match same::difference(old, new, &mut read).map_err(failed)? {
            None => Ok(()),
            Some(why) => Err(Error::NotTheSame {
                path: self.path.clone(),
                why,
            }),
        }
    }
}

/// The event of a line of that session, where its checksum is right.
fn event_of(line: &[u8], id: &SessionId) -> Option<ChatEvent> {
    if !checksum_holds(line) {
        return None;
    }
    let event = ChatEvent::from_json(std::str::from_utf8(line).ok()?).ok()?;
    (event.session_id == id.as_str()).then_some(event)
}

fn open(path: &Path) -> io::Result<File> {
    platform::private_file().read(true).open(path)
}
