//! Reading one session in pieces, and what could not be read of it.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use chat_capture::UnreadLines;
use chat_event::ChatEvent;
use chat_normalize::{Dialect, NotASession, Report, SessionReader};
use chat_store::LogBytes;

use crate::unpack::unpacked;

/// As much is read at once.
pub(super) const PIECE_BYTES: usize = 256 * 1024;

/// Bytes as they are unpacked, their number where it is known, and when they arrived or were written.
type Opened = (Box<dyn Read>, Option<u64>, i64);

/// Opens a file, or standard input.
pub(crate) fn open(path: Option<&Path>) -> io::Result<Opened> {
    let Some(path) = path else {
        let (bytes, _) = unpacked(Box::new(io::stdin()))?;
        return Ok((bytes, None, unix_ms(SystemTime::now())));
    };
    let log = LogBytes::open(path)?;
    let (n_bytes, written) = log.facts()?;
    let (bytes, was_packed) = unpacked(Box::new(log))?;
    let n_bytes = (!was_packed).then_some(n_bytes);
    Ok((bytes, n_bytes, unix_ms(written)))
}

/// Milliseconds since the Unix epoch.
pub(crate) fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Why an input was not read to its end.
#[derive(Debug)]
pub(crate) enum Failed {
    /// It is no session.
    NotASession(NotASession),
    /// It refused.
    Io(io::Error),
    /// It is of several sources that do not go together, or one of them could not be read.
    Merge(String),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // Which formats there are is said where help is asked for.
            Failed::NotASession(why) => {
                f.write_str(&chat_feed::projections::trace::clean(&why.place()))
            }
            Failed::Io(why) => write!(f, "could not read: {why}"),
            Failed::Merge(why) => f.write_str(why),
        }
    }
}

/// A session on its way in, of one file or of several.
pub(crate) trait Session {
    /// Reads on and adds the events; false at the end.
    ///
    /// # Errors
    ///
    /// Where what it is read from refuses or is no session.
    fn read(&mut self, events: &mut Vec<ChatEvent>) -> Result<bool, Failed>;

    /// How many bytes were read.
    fn n_bytes(&self) -> u64;

    /// How many events they gave.
    fn n_events(&self) -> u64;

    /// What could not be read, a sentence each.
    fn faults(&self) -> Vec<String>;

    /// How many files were no session and left out.
    fn n_skipped(&self) -> usize {
        0
    }

    /// Whether it is a log of ChatEvents.
    fn is_log(&self) -> bool {
        false
    }

    /// Whether it says no times, and has that of its file, which is not when it was.
    fn is_untimed(&self) -> bool {
        false
    }

    /// Files that lie beside the session, and are not of it.
    fn unread(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

impl Session for Reading {
    fn read(&mut self, events: &mut Vec<ChatEvent>) -> Result<bool, Failed> {
        Reading::read(self, events)
    }

    fn n_bytes(&self) -> u64 {
        Reading::n_bytes(self)
    }

    fn n_events(&self) -> u64 {
        self.report().events
    }

    fn faults(&self) -> Vec<String> {
        let faults = [self.cut.clone(), self.unreadable(), self.misread()];
        faults.into_iter().flatten().collect()
    }

    fn is_log(&self) -> bool {
        self.reader.dialect() == Some(Dialect::ChatEvents)
    }
}

/// One session on its way in, of one file.
pub(crate) struct Reading {
    reader: SessionReader,
    bytes: Box<dyn Read>,
    arrival_ms: i64,
    piece: Vec<u8>,
    n_bytes: u64,
    /// Why what is behind the last piece could not be unpacked.
    cut: Option<String>,
    /// The first lines that could not be read.
    unread: UnreadLines,
}

impl Reading {
    pub(crate) fn new(reader: SessionReader, bytes: Box<dyn Read>, arrival_ms: i64) -> Self {
        Reading {
            reader,
            bytes,
            arrival_ms,
            piece: vec![0; PIECE_BYTES],
            n_bytes: 0,
            cut: None,
            unread: UnreadLines::default(),
        }
    }

    /// Reads the next piece and adds its events; false at the end, which ends the session.
    ///
    /// # Errors
    ///
    /// Where the input refuses or is no session.
    pub(crate) fn read(&mut self, events: &mut Vec<ChatEvent>) -> Result<bool, Failed> {
        match self.read_more(events) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            // What could be unpacked before the damage is there, as that of a log which was cut off.
            Err(Failed::Io(why))
                if why.kind() == io::ErrorKind::InvalidData && self.n_bytes > 0 =>
            {
                let read = self.finish(events);
                let failed = Failed::Io(why);
                self.cut = Some(failed.to_string());
                return read.map(|()| false).map_err(|_| failed);
            }
            Err(why) => return Err(why),
        }
        self.finish(events)?;
        Ok(false)
    }

    /// Reads the next piece, and says whether there was one. What is not there may still come.
    ///
    /// # Errors
    ///
    /// As [`Reading::read`].
    pub(crate) fn read_more(&mut self, events: &mut Vec<ChatEvent>) -> Result<bool, Failed> {
        let n_bytes = loop {
            match self.bytes.read(&mut self.piece) {
                Ok(n_bytes) => break n_bytes,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(Failed::Io(why)),
            }
        };
        self.n_bytes += n_bytes as u64;
        let before = events.len();
        let piece = self.piece.get(..n_bytes).unwrap_or_default();
        let pushed = self.reader.push(piece, self.arrival_ms, events);
        self.unread
            .note(events.get(before..).unwrap_or_default(), None);
        pushed.map_err(Failed::NotASession)?;
        Ok(n_bytes > 0)
    }

    /// Ends the session: nothing more will come.
    ///
    /// # Errors
    ///
    /// Where all of it was no session.
    pub(crate) fn finish(&mut self, events: &mut Vec<ChatEvent>) -> Result<(), Failed> {
        let before = events.len();
        let finished = self.reader.finish(self.arrival_ms, events);
        self.unread
            .note(events.get(before..).unwrap_or_default(), None);
        finished.map_err(Failed::NotASession)
    }

    /// What arrives from now on arrives at this time.
    pub(crate) fn arrives_at(&mut self, arrival_ms: i64) {
        self.arrival_ms = arrival_ms;
    }

    /// How many bytes were read.
    pub(crate) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// What the reader counted.
    pub(crate) fn report(&self) -> Report {
        self.reader.report()
    }

    /// What it looks like, where nothing of it was what the command line says.
    pub(crate) fn misread(&self) -> Option<String> {
        self.reader.misread()
    }

    /// Which lines could not be read, and why, as a sentence.
    pub(crate) fn unreadable(&self) -> Option<String> {
        let said = self.unread.sentence(self.report().unreadable)?;
        Some(chat_feed::projections::trace::clean(&said))
    }
}
