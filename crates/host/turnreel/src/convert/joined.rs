//! Reading one session of several files: the reader says which bytes it wants next.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use chat_capture::{UnreadLines, context_of};
use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Dialect, FolderReader};

use super::inputs::Joined;
use super::reading::{Failed, PIECE_BYTES, Session, unix_ms};

/// Files that are kept open; beyond, all are closed, and opened again where they are wanted.
const MAX_OPEN: usize = 64;

/// One session of several files on its way in.
pub(super) struct JoinedReading {
    reader: FolderReader,
    joined: Joined,
    /// When the session's own file was written.
    written_ms: i64,
    open: BTreeMap<String, File>,
    piece: Vec<u8>,
    n_bytes: u64,
    missing: Vec<String>,
    unread: UnreadLines,
}

impl JoinedReading {
    /// A reading of these files, and the length of the session's own.
    ///
    /// # Errors
    ///
    /// Where the session's own file cannot be opened.
    pub(super) fn open(joined: &Joined, from: Option<Dialect>) -> io::Result<(Self, Option<u64>)> {
        let Joined { folder, parts, .. } = joined;
        let first = parts.agents.first().map(|agent| &agent.path);
        let timed = parts.main.as_ref().or(first);
        let facts = timed.map(|path| folder.join(path).metadata());
        let facts = match facts {
            Some(facts) if parts.main.is_some() => Some(facts?),
            Some(facts) => facts.ok(),
            None => None,
        };
        let written = facts.as_ref().and_then(|facts| facts.modified().ok());
        let main = parts.main.as_ref();
        let context = main.map(|main| context_of(&folder.join(main)));
        let context = context.unwrap_or_default();
        let reader = match from {
            Some(dialect) => FolderReader::with_dialect(context, parts.clone(), dialect),
            None => FolderReader::new(context, parts.clone()),
        };
        let mut reading = JoinedReading {
            reader,
            joined: joined.clone(),
            written_ms: written.map_or(0, unix_ms),
            open: BTreeMap::new(),
            piece: vec![0; PIECE_BYTES],
            n_bytes: 0,
            missing: Vec::new(),
            unread: UnreadLines::default(),
        };
        if let Some(main) = &parts.main {
            reading.open.insert(main.clone(), joined.open(main)?);
        }
        Ok((reading, facts.map(|facts| facts.len())))
    }

    pub(super) fn written_ms(&self) -> i64 {
        self.written_ms
    }

    /// Reads the next piece of a file, from where it is wanted.
    fn fill(&mut self, path: &str, offset: u64) -> io::Result<usize> {
        let mut file = match self.open.remove(path) {
            Some(file) => file,
            None => {
                let mut file = self.joined.open(path)?;
                file.seek(SeekFrom::Start(offset))?;
                file
            }
        };
        let n_bytes = loop {
            match file.read(&mut self.piece) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if n_bytes > 0 {
            if self.open.len() >= MAX_OPEN {
                self.open.clear();
            }
            self.open.insert(path.to_owned(), file);
        }
        Ok(n_bytes)
    }
}

impl Session for JoinedReading {
    fn read(&mut self, events: &mut Vec<ChatEvent>) -> Result<bool, Failed> {
        let Some(want) = self.reader.wants() else {
            return Ok(false);
        };
        let (path, offset) = (want.path.to_owned(), want.offset);
        match self.fill(&path, offset) {
            Ok(n_bytes) => {
                self.n_bytes += n_bytes as u64;
                let piece = self.piece.get(..n_bytes).unwrap_or_default();
                let before = events.len();
                let pushed = self.reader.push(piece, AT_REST, events);
                let new = events.get(before..).unwrap_or_default();
                self.unread.note(new, Some(&path));
                pushed.map_err(Failed::NotASession)?;
            }
            Err(why) if self.joined.parts.main.as_deref() == Some(&path) => {
                return Err(Failed::Io(why));
            }
            Err(why) => {
                let shown = super::shown(&self.joined.folder.join(&path));
                self.missing
                    .push(format!("could not read: {why}: {shown}, a part"));
                self.reader.missing(&why.to_string(), AT_REST, events);
            }
        }
        Ok(self.reader.wants().is_some())
    }

    fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    fn n_events(&self) -> u64 {
        self.reader.report().events
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = self.missing.clone();
        let said = self.unread.sentence(self.reader.report().unreadable);
        faults.extend(said.map(|said| chat_feed::projections::trace::clean(&said)));
        faults
    }

    fn unread(&self) -> Vec<PathBuf> {
        let unread = self.reader.unread().iter();
        unread.map(|path| self.joined.folder.join(path)).collect()
    }
}
