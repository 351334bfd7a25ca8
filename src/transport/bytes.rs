//! A source of bytes as events. A ChatEvent log is read at once; anything else is held until the part that reads it is
//! here.

use std::cell::RefCell;

use chat_event::ChatEvent;
use chat_normalize::{Head, LogReader};

use super::Failure;
use super::readers::{Readers, Reads};

thread_local! {
    /// Events whose memory is free: most are dropped as soon as they are shown, and as many come at once.
    static SPARE: RefCell<Vec<ChatEvent>> = const { RefCell::new(Vec::new()) };
}

/// Takes events that nobody needs any more.
pub(crate) fn give_back(events: Vec<ChatEvent>) {
    SPARE.set(events);
}

/// A source that is read.
#[derive(Default)]
pub(crate) struct Bytes {
    reads: As,
}

/// How a source is read.
enum As {
    /// Its first line is not whole yet.
    Unsure(Held),
    Log(Box<LogReader>),
    /// It waits for the part that reads it.
    Held(Held),
    Other(Box<dyn Reads>),
}

impl Default for As {
    fn default() -> As {
        As::Unsure(Held::default())
    }
}

/// What came, with its arrival times.
#[derive(Default)]
struct Held {
    pieces: Vec<(Vec<u8>, i64)>,
    ended_ms: Option<i64>,
}

impl Held {
    fn head(&self) -> Head {
        match self.pieces.as_slice() {
            [(only, _)] => Head::of(only),
            pieces => {
                let pieces = pieces.iter().map(|(bytes, _)| bytes.as_slice());
                Head::of(&pieces.collect::<Vec<_>>().concat())
            }
        }
    }
}

impl Bytes {
    /// Takes the next bytes, which arrived at `arrival_ms`.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Failure> {
        match &mut self.reads {
            As::Log(reader) => {
                reader.give_back(SPARE.take());
                reader.push(bytes, arrival_ms, out);
            }
            As::Other(reader) => return reader.push(bytes, arrival_ms, out),
            As::Held(held) => held.pieces.push((bytes.to_vec(), arrival_ms)),
            As::Unsure(held) => {
                held.pieces.push((bytes.to_vec(), arrival_ms));
                match held.head() {
                    Head::Unsure => {}
                    Head::Other => self.reads = As::Held(std::mem::take(held)),
                    Head::Log(session_id) => {
                        let mut reader = LogReader::new(&session_id);
                        for (bytes, arrival_ms) in &held.pieces {
                            reader.push(bytes, *arrival_ms, out);
                        }
                        self.reads = As::Log(Box::new(reader));
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the end of the source.
    pub(crate) fn finish(
        &mut self,
        arrival_ms: i64,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Failure> {
        match &mut self.reads {
            As::Log(reader) => reader.finish(arrival_ms, out),
            As::Other(reader) => return reader.finish(arrival_ms, out),
            As::Held(held) => held.ended_ms = Some(arrival_ms),
            As::Unsure(held) => {
                held.ended_ms = Some(arrival_ms);
                self.reads = As::Held(std::mem::take(held));
            }
        }
        Ok(())
    }

    /// Whether its first line is not whole yet.
    pub(crate) fn is_unsure(&self) -> bool {
        matches!(self.reads, As::Unsure(_))
    }

    /// Whether what came waits for [`Bytes::give`].
    pub(crate) fn waits(&self) -> bool {
        matches!(self.reads, As::Held(_))
    }

    /// The part is here: what was held is read.
    pub(crate) fn give(
        &mut self,
        readers: Readers,
        out: &mut Vec<ChatEvent>,
    ) -> Result<(), Failure> {
        let As::Held(held) = &mut self.reads else {
            return Ok(());
        };
        let held = std::mem::take(held);
        let mut reader = (readers.session)();
        let mut result = Ok(());
        for (bytes, arrival_ms) in held.pieces {
            result = result.and(reader.push(&bytes, arrival_ms, out));
        }
        if let (Ok(()), Some(ended_ms)) = (&result, held.ended_ms) {
            result = reader.finish(ended_ms, out);
        }
        self.reads = As::Other(reader);
        result
    }
}
