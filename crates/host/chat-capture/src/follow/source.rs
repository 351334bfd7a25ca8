//! One file of a session on its way in: bytes to events, each with its time, and how far it was told.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Context, NotASession, SessionReader};

use super::document::{List, Slice, State, is_document, is_settled};
use super::file::{Facts, Followed, Taken};

/// As much is read at once.
const PIECE_BYTES: u64 = 256 * 1024;

/// So many events wait for the first that has a time, and no more bytes than that; a source without one in so many has none
/// of its own. It is as in a conversion of the file.
const MAX_UNTIMED: usize = 10_000;
const MAX_UNTIMED_BYTES: usize = 64 * 1024 * 1024;

/// One file on its way in.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) reader: SessionReader,
    /// Bytes that the reader was given, and how the file is known again there.
    pub(super) fed: u64,
    mark: Taken,
    /// What stands before this was told by an earlier reader.
    pub(super) skip: Taken,
    /// As the file was when it could not be read: it is tried again once it changed.
    failed: Option<Facts>,
    /// The time of the last event, and events before the first that has one.
    last_ms: Option<i64>,
    pub(super) untimed: Vec<ChatEvent>,
    untimed_bytes: usize,
    /// When the file was written last.
    changed_ms: i64,
    finished: bool,
    /// Whether what was read ends within a line.
    is_within_line: bool,
    /// The messages of a document that is a list of them.
    list: Option<List>,
    /// How long its state was read so far.
    took: Duration,
}

/// What a slice was.
pub(super) enum Piece {
    /// It was told before.
    Told,
    New,
    /// All of a document, which took so long.
    Whole {
        is_told: bool,
        took: Duration,
    },
    /// What there is of a document that is being written, or was cut off; it took so long.
    Torn {
        stays_so: bool,
        took: Duration,
    },
    /// The file is another one.
    Replaced,
}

#[derive(Debug)]
pub(super) enum Failed {
    Io(io::Error),
    NotASession(NotASession),
    /// It cannot be read as it is, and is not read again until it changes.
    Broken(String),
}

impl From<io::Error> for Failed {
    fn from(why: io::Error) -> Failed {
        Failed::Io(why)
    }
}

impl Source {
    pub(super) fn new(context: Context, skip: Taken) -> Source {
        Source {
            reader: SessionReader::new(context),
            fed: 0,
            mark: Taken::default(),
            skip,
            failed: None,
            last_ms: None,
            untimed: Vec::new(),
            untimed_bytes: 0,
            changed_ms: 0,
            finished: false,
            is_within_line: false,
            list: None,
            took: Duration::ZERO,
        }
    }

    /// Whether there is something to be read, as far as it is known.
    pub(super) fn is_due(&self, facts: Facts) -> bool {
        self.fed != facts.len && self.failed != Some(facts)
    }

    pub(super) fn fail(&mut self, facts: Facts) {
        self.failed = Some(facts);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Whether all that was told by an earlier reader was read, and nothing more.
    pub(super) fn is_at_skip(&self) -> bool {
        // Of a document nothing is skipped: it is the same, or it is not.
        self.fed == self.skip.bytes || self.skip == Taken::default()
    }

    /// Whether a list that was read may have changed since, although this is what a look at it told and tells.
    pub(super) fn is_unsure(&self, facts: Facts) -> bool {
        self.list.as_ref().is_some_and(|list| list.is_unsure(facts))
    }

    /// How far it was told.
    pub(super) fn told(&self) -> Taken {
        if self.fed < self.skip.bytes {
            self.skip
        } else {
            self.mark
        }
    }

    /// Reads the next slice of what the file has up to that length.
    pub(super) fn read(
        &mut self,
        path: &Path,
        facts: Facts,
        out: &mut Vec<ChatEvent>,
    ) -> Result<Piece, Failed> {
        self.changed_ms = facts.changed_ms;
        if self.list.is_none() && self.fed == 0 {
            self.list = List::of(path);
        }
        if self.list.is_some() {
            return self.read_list(path, facts, out);
        }
        if is_document(path) {
            return self.read_document(path, facts, out);
        }
        let mut file = Followed::open(path)?;
        if facts.len < self.fed || (self.told().bytes > 0 && !file.is(self.told())?) {
            return Ok(Piece::Replaced);
        }
        let is_told = self.fed < self.skip.bytes;
        let end = if is_told { self.skip.bytes } else { facts.len };
        let mut piece = Vec::new();
        file.read(self.fed, PIECE_BYTES.min(end - self.fed), &mut piece)?;
        if piece.is_empty() && self.fed < end {
            // Cut off since it was looked at: the next look finds what it is now.
            return Err(Failed::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut events = Vec::new();
        self.fed += piece.len() as u64;
        if let Some(last) = piece.last() {
            self.is_within_line = *last != b'\n';
        }
        let pushed = self.reader.push(&piece, AT_REST, &mut events);
        self.time(events, out);
        pushed.map_err(Failed::NotASession)?;
        if self.fed >= self.skip.bytes && !piece.is_empty() {
            self.mark = file.taken(self.fed)?;
        }
        self.failed = None;
        Ok(if is_told { Piece::Told } else { Piece::New })
    }

    /// Reads the document as it is now; its reader tells what is new in it.
    fn read_document(
        &mut self,
        path: &Path,
        facts: Facts,
        out: &mut Vec<ChatEvent>,
    ) -> Result<Piece, Failed> {
        let state = State::read(path, facts)?;
        let is_first = self.fed == 0;
        let is_told = is_first && state.taken == self.skip;
        let mut events = Vec::new();
        let line = state.line(is_first);
        // As it was seen: it may be another one by now, which the next look finds.
        self.fed = facts.len.max(1);
        self.mark = state.taken;
        self.skip = Taken::default();
        let pushed = self.reader.push(line.as_bytes(), AT_REST, &mut events);
        self.time(events, out);
        pushed.map_err(Failed::NotASession)?;
        Ok(if is_told { Piece::Told } else { Piece::New })
    }

    /// Reads the next slice of a list of messages.
    fn read_list(
        &mut self,
        path: &Path,
        facts: Facts,
        out: &mut Vec<ChatEvent>,
    ) -> Result<Piece, Failed> {
        let Some(list) = self.list.as_mut().filter(|list| !list.has(facts)) else {
            return Ok(Piece::New);
        };
        let began = Instant::now();
        let mut file = Followed::open(path)?;
        let mut lines = Vec::new();
        let (slice, taken, is_told) = list.read(&mut file, self.skip, &mut lines)?;
        let at = list.at();
        let mut events = Vec::new();
        let pushed = self.reader.push(&lines, AT_REST, &mut events);
        self.time(events, out);
        pushed.map_err(Failed::NotASession)?;
        self.took += began.elapsed();
        self.failed = None;
        self.fed = match slice {
            // It is not at its end before that is seen.
            Slice::More => at.unwrap_or(0).clamp(1, facts.len.saturating_sub(1).max(1)),
            Slice::Whole | Slice::Torn | Slice::Other => facts.len.max(1),
        };
        Ok(match slice {
            Slice::More if is_told => Piece::Told,
            Slice::More => Piece::New,
            Slice::Whole => {
                (self.mark, self.skip) = (taken, Taken::default());
                let took = std::mem::take(&mut self.took);
                Piece::Whole { is_told, took }
            }
            Slice::Torn => Piece::Torn {
                stays_so: is_settled(file.facts()?),
                took: std::mem::take(&mut self.took),
            },
            Slice::Other => Piece::Replaced,
        })
    }

    /// Nothing came for a while. When the file was written last says nothing of when its session was busy last: it may have
    /// been copied.
    pub(super) fn quiet(&mut self, out: &mut Vec<ChatEvent>) {
        let mut events = Vec::new();
        self.reader.quiet(AT_REST, &mut events);
        self.time(events, out);
    }

    /// Takes the end of the file: what is open is closed.
    pub(super) fn finish(&mut self, out: &mut Vec<ChatEvent>) -> Result<(), NotASession> {
        self.finished = true;
        let mut events = Vec::new();
        let finished = self.reader.finish(AT_REST, &mut events);
        self.time(events, out);
        self.release(self.changed_ms, out);
        finished
    }

    /// Whether the line that was read last is still being written.
    pub(super) fn is_within_line(&self) -> bool {
        self.is_within_line
    }

    /// Whether its reader takes no more.
    pub(super) fn is_finished(&self) -> bool {
        self.finished
    }

    /// Gives events without a time that of the one before, at the beginning that of the first one that has one: as those
    /// have who read the whole file at rest.
    fn time(&mut self, events: Vec<ChatEvent>, out: &mut Vec<ChatEvent>) {
        for mut event in events {
            self.last_ms = event.timestamp.or(self.last_ms);
            event.timestamp = self.last_ms;
            let Some(last_ms) = self.last_ms else {
                self.untimed_bytes += event.to_line().len();
                self.untimed.push(event);
                let is_long = self.untimed_bytes >= MAX_UNTIMED_BYTES;
                if is_long || self.untimed.len() == MAX_UNTIMED {
                    // Nor have those behind them: they do not wait.
                    self.last_ms = Some(self.changed_ms);
                    self.release(self.changed_ms, out);
                }
                continue;
            };
            self.release(last_ms, out);
            out.push(event);
        }
    }

    fn release(&mut self, at_ms: i64, out: &mut Vec<ChatEvent>) {
        self.untimed_bytes = 0;
        for mut event in self.untimed.drain(..) {
            event.timestamp = Some(at_ms);
            out.push(event);
        }
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]
mod tests {
    use super::*;

    /// What is told of prompts without a time, before their file is at its end; and how many events wait.
    fn told_untimed(n_lines: usize, words: &str) -> (usize, usize) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let line = |nth: usize| {
            let message = format!(r#"{{"role":"user","content":"{words}"}}"#);
            format!(r#"{{"type":"user","uuid":"u{nth}","sessionId":"s","message":{message}}}"#)
        };
        let lines: Vec<String> = (0..n_lines).map(line).collect();
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let facts = Facts::of(&path).unwrap();
        let mut source = Source::new(Context::default(), Taken::default());
        let mut events = Vec::new();
        while source.fed < facts.len {
            source.read(&path, facts, &mut events).unwrap();
        }
        let at_ms = Some(facts.changed_ms);
        assert!(events.iter().all(|event| event.timestamp == at_ms));
        let is_prompt = |event: &&ChatEvent| event.payload.event_type() == "user_message";
        (
            events.iter().filter(is_prompt).count(),
            source.untimed.len(),
        )
    }

    #[test]
    fn so_many_events_wait_for_a_time_and_so_many_bytes_of_them() {
        let (told, waiting) = told_untimed(5, "Go");
        assert!(told == 0 && waiting >= 5, "{told} {waiting}");
        // Nor do those wait that come behind them.
        assert_eq!(told_untimed(MAX_UNTIMED + 5, "Go"), (MAX_UNTIMED + 5, 0));
        assert_eq!(told_untimed(70, &"a".repeat(1_000_000)), (70, 0));
    }

    #[test]
    fn a_file_that_is_cut_off_after_it_was_looked_at_is_not_read_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, "{}\n{}\n").unwrap();
        let facts = Facts::of(&path).unwrap();
        let mut source = Source::new(Context::default(), Taken::default());
        let mut events = Vec::new();
        std::fs::write(&path, "{}\n").unwrap();
        // What is there is read, and then nothing comes although the look said so.
        assert!(source.read(&path, facts, &mut events).is_ok());
        let read = source.read(&path, facts, &mut events);
        assert!(matches!(read, Err(Failed::Io(why)) if why.kind() == io::ErrorKind::UnexpectedEof));
    }
}
