//! One session that is held: how far it was read, and what comes next.

use std::io;
use std::path::Path;
use std::time::Instant;

use chat_event::{ChatEvent, stable_hash};
use chat_normalize::{Context, Dialect};
use serde::Deserialize;

use super::folder::{Snapshot, chunk, meta, piece_path, pieces};
use crate::follow::file::{Followed, Taken};
use crate::follow::store::{self, Reading, Told, upto_of};

/// As much of a journal is read at once, and of a record that is longer, twice as much each time.
const PIECE_BYTES: u64 = 256 * 1024;

/// Longer records are passed over.
const MOST_BYTES: u64 = chat_event::jsonl::MAX_LINE_BYTES as u64;

#[derive(Debug)]
pub(in crate::follow) struct Held {
    session: String,
    reading: Reading,
    /// Events of records up to this one were told by an earlier start.
    upto: u64,
    /// The number of the record that comes next; 0 where nothing was read.
    next: u64,
    /// The snapshot that is being read.
    snapshot: Option<Snapshot>,
    /// The piece of the journal that is read, by its first number, and how far.
    piece: Option<(u64, Taken)>,
    /// What `meta.json` said last.
    about: Option<u64>,
    /// It is only read for what was told, up to this record.
    is_anew: bool,
    most: u64,
}

impl AsMut<Reading> for Held {
    fn as_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }
}

/// What is looked at of a record before a reader is given it.
#[derive(Deserialize)]
struct Numbered {
    sequence: u64,
}

impl From<Held> for Reading {
    fn from(held: Held) -> Reading {
        held.reading
    }
}

impl store::Held for Held {
    fn new(session: &str, told: Told) -> Held {
        Held {
            session: session.to_owned(),
            upto: upto_of(&told, session),
            reading: Reading::new(Context::default(), Dialect::VibeSession, told),
            next: 0,
            snapshot: None,
            piece: None,
            about: None,
            is_anew: false,
            most: u64::MAX,
        }
    }

    fn anew(session: &str, told: &Told) -> Held {
        Held {
            upto: 0,
            is_anew: true,
            most: upto_of(told, session),
            ..Held::new(session, Told::default())
        }
    }

    fn read(
        &mut self,
        folder: &Path,
        until: Instant,
        out: &mut Vec<ChatEvent>,
    ) -> io::Result<bool> {
        self.read_meta(folder, out)?;
        // What is damaged is begun anew once, and not for ever.
        let mut began_anew = false;
        loop {
            if Instant::now() >= until {
                return Ok(true);
            }
            if self.snapshot.is_some() {
                self.read_snapshot(folder, out)?;
                continue;
            }
            let pieces = pieces(folder)?;
            let piece = pieces.iter().rfind(|first| **first <= self.next).copied();
            match piece.filter(|_| self.next > 0) {
                Some(first) => match self.read_piece(folder, first, out)? {
                    Slice::More => {}
                    Slice::Other if !began_anew => {
                        began_anew = true;
                        self.next = 0;
                        self.piece = None;
                        // Its records have numbers of others that were told: here ids alone tell what is new.
                        self.upto = 0;
                        self.reading.told.seqs.remove(&self.session);
                    }
                    // What stands between was put into a snapshot by now.
                    Slice::End if pieces.last() > Some(&self.next) => {
                        if !self.begin_snapshot(folder, &pieces)? {
                            return Ok(false);
                        }
                    }
                    Slice::End | Slice::Other => return Ok(false),
                },
                None => {
                    if !self.begin_snapshot(folder, &pieces)? {
                        return Ok(false);
                    }
                }
            }
        }
    }
}

impl Held {
    fn read_meta(&mut self, folder: &Path, out: &mut Vec<ChatEvent>) -> io::Result<()> {
        let Some(line) = meta(folder)? else {
            return Ok(());
        };
        let hash = stable_hash(line.as_bytes());
        if self.about == Some(hash) {
            return Ok(());
        }
        self.about = Some(hash);
        let mut events = self.reading.push(&(line + "\n"));
        if self.reading.told.about != Some(hash) || self.is_anew {
            self.reading.told.about = Some(hash);
            out.append(&mut events);
        }
        Ok(())
    }

    /// Begins to read the snapshot that counts, where it goes farther than was read; else whether there are records that no
    /// snapshot comes before.
    fn begin_snapshot(&mut self, folder: &Path, pieces: &[u64]) -> io::Result<bool> {
        let snapshot = Snapshot::of(folder)?;
        // Behind the highest number nothing comes: one that says so is not read again and again.
        let goes_on = |upto: u64| upto >= self.next && self.next < u64::MAX;
        let is_new = |snapshot: &Snapshot| self.next == 0 || goes_on(snapshot.upto);
        self.snapshot = snapshot.filter(is_new);
        if self.snapshot.is_some() {
            return Ok(true);
        }
        // They count from 1; a piece that is called otherwise is read all the same.
        let first = pieces.first().filter(|_| self.next == 0);
        let first = first.map(|first| (*first).max(1));
        self.next = first.unwrap_or(self.next);
        Ok(first.is_some())
    }

    /// Reads the next chunk of the snapshot, or behind the last one how the session stands in it.
    fn read_snapshot(&mut self, folder: &Path, out: &mut Vec<ChatEvent>) -> io::Result<()> {
        let Some(snapshot) = &mut self.snapshot else {
            return Ok(());
        };
        let upto = snapshot.upto;
        let Some(name) = snapshot.chunks.next() else {
            let about = snapshot.about.take().filter(|_| self.about.is_none());
            let processes = std::mem::take(&mut snapshot.processes);
            let state = std::mem::take(&mut snapshot.state);
            self.snapshot = None;
            if let Some(about) = about {
                self.take(upto, &about, out);
            }
            for process in processes {
                self.take(upto, &process, out);
            }
            self.take(upto, &state, out);
            self.note(upto);
            self.next = upto.saturating_add(1);
            return Ok(());
        };
        match chunk(folder, &name) {
            Ok(entries) => self.take(upto, &entries, out),
            Err(why) => {
                // It is another one by now: it is looked for again.
                self.snapshot = None;
                return Err(why);
            }
        }
        Ok(())
    }

    /// Reads on in a piece of the journal.
    fn read_piece(
        &mut self,
        folder: &Path,
        first: u64,
        out: &mut Vec<ChatEvent>,
    ) -> io::Result<Slice> {
        let mut file = Followed::open(&piece_path(folder, first))?;
        let taken = self.piece.filter(|(own, _)| *own == first);
        let taken = taken.map_or(Taken::default(), |(_, taken)| taken);
        if taken.bytes > 0 && !file.is(taken)? {
            return Ok(Slice::Other);
        }
        let len = file.len()?;
        let mut most = PIECE_BYTES;
        let mut bytes = Vec::new();
        // A record that has no end yet is being written.
        let end = loop {
            file.read(taken.bytes, most, &mut bytes)?;
            if let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') {
                break end + 1;
            }
            if taken.bytes + bytes.len() as u64 >= len {
                return Ok(Slice::End);
            }
            if most > MOST_BYTES {
                // It has no end that is worth waiting for: the reader says so of it.
                break bytes.len();
            }
            most *= 2;
        };
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        for line in text.split_inclusive('\n') {
            let line_of = line.trim_end_matches('\n');
            match serde_json::from_str::<Numbered>(line) {
                Ok(Numbered { sequence }) if sequence > self.most => return Ok(Slice::End),
                Ok(Numbered { sequence }) if sequence >= self.next => {
                    self.take(sequence, line_of, out);
                    self.note(sequence);
                    self.next = sequence.saturating_add(1);
                }
                Ok(_) => {}
                // No record: it is told as what it is, and the one of that number comes yet.
                Err(_) => self.take(self.next, line_of, out),
            }
        }
        let taken = file.taken(taken.bytes + end as u64)?;
        self.piece = Some((first, taken));
        Ok(Slice::More)
    }

    /// Gives a line of a record, or of a snapshot up to it, to the reader, and adds what was not told before.
    fn take(&mut self, number: u64, line: &str, out: &mut Vec<ChatEvent>) {
        let mut events = self.reading.push(&format!("{line}\n"));
        if number <= self.upto {
            return;
        }
        out.append(&mut events);
        if !self.is_anew {
            self.reading.told.ended = false;
        }
    }

    /// All up to this record was handed on. Of a snapshot that is so behind its last chunk alone: who begins anew before that
    /// would pass over the others.
    fn note(&mut self, number: u64) {
        if number > self.upto && !self.is_anew {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            let session = self.session.clone();
            let upto = self.reading.told.seqs.entry(session).or_default();
            *upto = number.max(*upto);
        }
    }
}

/// What a look at a piece of the journal gave.
enum Slice {
    More,
    End,
    /// It is another one than was read.
    Other,
}
