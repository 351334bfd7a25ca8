//! A session from a file or an address: bytes in pieces, reduced in slices short enough for a frame between them.
//!
//! The bytes never become a string or an object of the browser's. Nothing of a file leaves the page.

use chat_event::ChatEvent;

use super::aside::{ASIDE, Aside, Outcome};
use super::bytes::Bytes;
use super::readers::READERS;
use super::{Failure, Running, Sink, Update};
use crate::platform::reader::{Asked, Source};
use crate::platform::stream::{Blob, ByteStream, FetchError};
use crate::platform::{clock, frame};

/// How long the page may be held at once; the rest of a frame is for layout and paint.
pub(super) const SLICE_MS: f64 = 8.0;
/// Bytes reduced between two looks at the clock: a fraction of a millisecond.
const STEP_BYTES: usize = 32 * 1024;

/// What to do where a file cannot be read any more.
const FILE_GONE: &str = "It may have changed or gone since it was chosen: choose it again.";
/// What to do where reading broke off.
const AGAIN: &str = "Load the page again; if it stays so, the server's log says more.";

/// So much the page reads itself, for its first rows and for what is short; a worker goes on with what is longer.
const OWN_BYTES: u64 = 256 * 1024;
/// What is shorter is read before a worker has begun.
const SHORT_BYTES: u64 = 2 * 1024 * 1024;

/// Reads a dropped file.
pub(crate) fn of_file(file: Blob, sink: Sink) -> Running {
    Running::begin(async move { read(Source::File(file), &sink).await })
}

/// Reads what an address gives; it must have the page's own origin, or allow it.
pub(crate) fn of_address(address: String, token: Option<String>, sink: Sink) -> Running {
    Running::begin(async move { read(Source::Address(address, token), &sink).await })
}

/// Reads a source, in a worker where it is long and there can be one.
async fn read(source: Source, sink: &Sink) {
    let mut reading = Reading::new(clock::epoch_ms());
    let Some(mut bytes) = open(&source, sink).await else {
        return;
    };
    let is_short = bytes.byte_len.is_some_and(|len| len < SHORT_BYTES);
    // It begins while the page reads its part.
    let aside = match is_short {
        true => None,
        false => Aside::start(&reading.asked(&source), sink),
    };
    let Some(aside) = aside else {
        reading.read(&mut bytes, sink, u64::MAX).await;
        return;
    };
    ASIDE.fetch();
    if reading.read(&mut bytes, sink, OWN_BYTES).await == Stopped::AtEnd {
        return;
    }
    match aside.go_on(reading.n_events, bytes, sink).await {
        Outcome::Done => {}
        Outcome::NotBegun(mut bytes) => {
            reading.read(&mut bytes, sink, u64::MAX).await;
        }
        Outcome::Lost => {
            // What came of it cannot be gone on with.
            sink(Update::Clear);
            read_here(source, reading.arrival_ms, sink).await;
        }
    }
}

/// Reads a source without another worker.
pub(super) async fn read_here(source: Source, arrival_ms: i64, sink: &Sink) {
    if let Some(mut bytes) = open(&source, sink).await {
        Reading::new(arrival_ms)
            .read(&mut bytes, sink, u64::MAX)
            .await;
    }
}

async fn open(source: &Source, sink: &Sink) -> Option<ByteStream> {
    let (address, token) = match source {
        Source::File(file) => {
            let opened = ByteStream::of_blob(file);
            let told = |why| fail(sink, format!("could not read the file: {why}"), FILE_GONE);
            return opened.map_err(told).ok();
        }
        Source::Address(address, token) => (address, token.as_deref()),
    };
    let why = match ByteStream::of_address(address, token).await {
        Ok(bytes) => return Some(bytes),
        Err(why) => why,
    };
    let refused = matches!(why, FetchError::Status(401 | 403, _));
    let what = format!("could not load the session: {why}: {address}");
    let next = match why {
        FetchError::Status(401 | 403, _) => "It needs another token.",
        FetchError::Status(404 | 410, _) => "Check the address: nothing lies there.",
        FetchError::Status(..) => AGAIN,
        FetchError::Failed(_) => "Check the address, and that its server lets this page read it.",
    };
    let failure = Failure::new(what, next);
    sink(Update::Failed(match refused {
        true => failure.refused(),
        false => failure,
    }));
    None
}

/// Why reading stopped.
#[derive(Clone, Copy, PartialEq)]
enum Stopped {
    /// Nothing is left, or it failed; that was told.
    AtEnd,
    /// As much was read as was to be read.
    Early,
}

/// A source that is being read.
struct Reading {
    reader: Bytes,
    arrival_ms: i64,
    n_read: u64,
    /// How many events it gave.
    n_events: usize,
}

impl Reading {
    fn new(arrival_ms: i64) -> Reading {
        Reading {
            reader: Bytes::default(),
            arrival_ms,
            n_read: 0,
            n_events: 0,
        }
    }

    /// What is asked of a worker that reads the same.
    fn asked(&self, source: &Source) -> Asked {
        Asked {
            source: source.clone(),
            arrival_ms: self.arrival_ms,
        }
    }

    /// Reads on, until about so many bytes were read.
    async fn read(&mut self, bytes: &mut ByteStream, sink: &Sink, upto: u64) -> Stopped {
        let mut events = Vec::new();
        let mut slice_began_ms = frame::now_ms();
        while self.n_read < upto {
            let piece = match bytes.next().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return self.finish(sink, events).await,
                Err(why) => {
                    fail(sink, format!("could not read on: {why}"), AGAIN);
                    return Stopped::AtEnd;
                }
            };
            for step in piece.chunks(STEP_BYTES) {
                self.n_read += step.len() as u64;
                if let Err(failure) = self.reader.push(step, self.arrival_ms, &mut events) {
                    sink(Update::Failed(failure));
                    return Stopped::AtEnd;
                }
                if self.reader.waits() && !has_part(&mut self.reader, &mut events, sink).await {
                    return Stopped::AtEnd;
                }
                if !events.is_empty() {
                    self.n_events += events.len();
                    sink(Update::Events(std::mem::take(&mut events)));
                }
                if frame::now_ms() - slice_began_ms > SLICE_MS {
                    tell_progress(sink, self.n_read, bytes.byte_len);
                    frame::yield_now().await;
                    slice_began_ms = frame::now_ms();
                }
            }
        }
        Stopped::Early
    }

    async fn finish(&mut self, sink: &Sink, mut events: Vec<ChatEvent>) -> Stopped {
        if let Err(failure) = self.reader.finish(self.arrival_ms, &mut events) {
            sink(Update::Failed(failure));
        } else if !self.reader.waits() || has_part(&mut self.reader, &mut events, sink).await {
            sink(Update::Events(events));
            sink(Update::End);
        }
        Stopped::AtEnd
    }
}

/// Fetches the part that reads what is no ChatEvent log; false where it turns out to be no session.
async fn has_part(reader: &mut Bytes, events: &mut Vec<ChatEvent>, sink: &Sink) -> bool {
    let readers = READERS.needed(|lack| sink(Update::Lacks(lack))).await;
    if let Err(failure) = reader.give(readers, events) {
        sink(Update::Failed(failure));
        return false;
    }
    true
}

fn tell_progress(sink: &Sink, n_read: u64, byte_len: Option<u64>) {
    if let Some(len) = byte_len.filter(|len| *len > 0) {
        // At most 100, whatever a header claims.
        let percent = u8::try_from((n_read * 100 / len).min(100)).unwrap_or(100);
        sink(Update::Progress(percent));
    }
}

fn fail(sink: &Sink, what: String, next: &'static str) {
    sink(Update::Failed(Failure::new(what, next)));
}
