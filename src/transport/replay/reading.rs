//! A log that is read: in pieces, as long as somebody waits for it.

use std::ops::Range;
#[cfg(not(feature = "page"))]
use std::pin::pin;

use chat_event::{ChatEvent, StableHash};
#[cfg(not(feature = "page"))]
use futures_util::future::{Either, select};

use super::{AGAIN, ALL, FILE_GONE, PACKED_ANEW, fail, give_part};
#[cfg(not(feature = "page"))]
use crate::platform::frame;
use crate::platform::frame::Slice;
use crate::platform::reader::{Asked, Source};
use crate::transport::bytes::Bytes;
use crate::transport::kept::KEEP;
use crate::transport::readers::READERS;
use crate::transport::unpacked::{Broken, Unpacked};
use crate::transport::watch::Watch;
use crate::transport::{Failure, Limits, Sink, Update};

/// Bytes reduced between two looks at the clock: a fraction of a millisecond.
const STEP_BYTES: usize = 32 * 1024;

/// So often a worker looks whether the reader wants no more, while nothing comes.
#[cfg(not(feature = "page"))]
const LOOK_MS: u32 = 500;

/// Why reading stopped.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Stopped {
    /// Nothing is left, or it failed; that was told.
    AtEnd,
    /// As much was read as was to be read.
    Early,
}

/// Bytes, and how many of them were taken before.
type NextPiece = Result<Option<(Vec<u8>, usize)>, Broken>;

/// A source that is being read.
pub(super) struct Reading {
    pub(super) reader: Bytes,
    pub(super) arrival_ms: i64,
    pub(super) watch: Option<Box<dyn Watch>>,
    /// Whether another reads on.
    pub(super) hands_over: bool,
    /// Whether another may have to pass by what it took.
    pub(super) is_summed: bool,
    /// The bytes that came last, and how many of them were taken.
    piece: (Vec<u8>, usize),
    /// How many bytes it took, unpacked.
    n_taken: u64,
    /// Of those, where they are summed.
    sum: StableHash,
    /// How many events they gave.
    pub(super) n_events: usize,
    /// The session of the first of them.
    session_id: String,
    is_file: bool,
}

impl Reading {
    pub(super) fn new(arrival_ms: i64, source: &Source) -> Reading {
        Reading {
            reader: Bytes::default(),
            arrival_ms,
            watch: None,
            hands_over: false,
            is_summed: false,
            piece: Default::default(),
            n_taken: 0,
            sum: StableHash::default(),
            n_events: 0,
            session_id: String::new(),
            is_file: matches!(source, Source::File(_)),
        }
    }

    /// What is asked of a worker that reads the same.
    pub(super) fn asked(&self, source: &Source, most_bytes: u64) -> Asked {
        Asked {
            source: source.clone(),
            arrival_ms: self.arrival_ms,
            most_bytes,
        }
    }

    /// Reads all that there is, watched after the first `unwatched` bytes: what watches is a part of its own, which is
    /// waited for.
    pub(super) async fn read_all(
        &mut self,
        bytes: &mut Unpacked,
        unwatched: Range<u64>,
        limits: Limits,
        sink: &Sink,
    ) {
        if self.read(bytes, sink, unwatched).await == Stopped::Early {
            let keep = KEEP.needed(|lack| sink(Update::Lacks(lack))).await;
            self.watch = Some((keep.watch)(limits));
            self.read(bytes, sink, ALL).await;
        }
    }

    /// Hands events on.
    fn hand_on(&mut self, mut events: Vec<ChatEvent>, at_rest: bool, sink: &Sink) {
        self.n_events += events.len();
        let watch = self.watch.as_mut();
        if let Some(taken) = watch.and_then(|watch| watch.take(&mut events, at_rest)) {
            sink(taken);
        }
        sink(Update::Events(events));
    }

    /// A file may hold several sessions, which use the same ids: those of the first stay as they are.
    async fn tell_apart(&mut self, events: &mut [ChatEvent], sink: &Sink) {
        if self.session_id.is_empty()
            && let Some(first) = events.iter().find(|event| !event.session_id.is_empty())
        {
            self.session_id.clone_from(&first.session_id);
        }
        if events
            .iter()
            .any(|event| event.session_id != self.session_id)
        {
            let readers = READERS.needed(|lack| sink(Update::Lacks(lack))).await;
            (readers.tell_apart)(events, &self.session_id);
        }
    }

    /// Passes by what was taken, in a source that was opened anew, and says whether it still begins so: it may be another
    /// log by now, and would be gone on with in the middle.
    pub(super) async fn pass_taken(&mut self, bytes: &mut Unpacked) -> bool {
        let mut n_left = self.n_taken;
        let mut sum = StableHash::default();
        self.piece = Default::default();
        while n_left > 0 {
            let piece = match bytes.next().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return false,
                // Whoever reads on tells what is wrong.
                Err(_) => return true,
            };
            let n_passed = usize::try_from(n_left).map_or(piece.len(), |n| n.min(piece.len()));
            n_left -= n_passed as u64;
            sum.take(&piece[..n_passed]);
            self.piece = (piece, n_passed);
        }
        sum == self.sum
    }

    /// The last bytes where not all of them were taken, else the next ones.
    async fn next_piece(&mut self, bytes: &mut Unpacked) -> NextPiece {
        let (piece, n_taken) = std::mem::take(&mut self.piece);
        match n_taken < piece.len() {
            true => Ok(Some((piece, n_taken))),
            false => Ok(bytes.next().await?.map(|piece| (piece, 0))),
        }
    }

    /// The same, and `None` where nothing comes and no more is wanted: in the page the element looks for that.
    #[cfg(feature = "page")]
    async fn next_wanted(&mut self, bytes: &mut Unpacked) -> Option<NextPiece> {
        Some(self.next_piece(bytes).await)
    }

    #[cfg(not(feature = "page"))]
    async fn next_wanted(&mut self, bytes: &mut Unpacked) -> Option<NextPiece> {
        let watch = self.watch.take();
        let piece = {
            let mut next = pin!(self.next_piece(bytes));
            loop {
                match select(&mut next, frame::sleep(LOOK_MS)).await {
                    Either::Left((piece, _)) => break Some(piece),
                    Either::Right(_) if watch.as_ref().is_some_and(|watch| watch.is_stopped()) => {
                        break None;
                    }
                    Either::Right(_) => {}
                }
            }
        };
        self.watch = watch;
        piece
    }

    /// No more of it is wanted.
    pub(super) fn stop(&mut self, bytes: &Unpacked, sink: &Sink) -> Stopped {
        let watch = self.watch.as_ref();
        let looked = watch.map(|watch| watch.look(self.n_taken, bytes.progress()));
        self.hand_on(Vec::new(), true, sink);
        if let Some(Err(stopped)) = looked {
            sink(Update::Stopped(stopped));
        }
        Stopped::AtEnd
    }

    /// Reads on, until about so many bytes were read: at the end of a slice the fewer.
    pub(super) async fn read(
        &mut self,
        bytes: &mut Unpacked,
        sink: &Sink,
        upto: Range<u64>,
    ) -> Stopped {
        let mut events = Vec::new();
        let mut slice = Slice::begin();
        while self.n_taken < upto.end {
            let Some(piece) = self.next_wanted(bytes).await else {
                return self.stop(bytes, sink);
            };
            let (piece, mut at) = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => return self.finish(sink, events, None).await,
                Err(Broken::Source(why)) => {
                    let what = format!("could not read on: {why}");
                    if self.is_file {
                        // What came of it stays, and nothing will go on.
                        let gone = Failure::new(what, FILE_GONE);
                        return self.finish(sink, events, Some(gone)).await;
                    }
                    // What refers to a body that came was handed on.
                    self.hand_on(std::mem::take(&mut events), true, sink);
                    fail(sink, what, AGAIN);
                    return Stopped::AtEnd;
                }
                Err(Broken::Packing(why)) => {
                    let damage = Failure::new(format!("could not unpack it: {why}"), PACKED_ANEW);
                    return self.finish(sink, events, Some(damage)).await;
                }
            };
            // A piece may be of some megabytes.
            let mut is_enough = false;
            while at < piece.len() && self.n_taken < upto.end {
                let step = &piece[at..piece.len().min(at + STEP_BYTES)];
                at += step.len();
                self.n_taken += step.len() as u64;
                if self.is_summed {
                    self.sum.take(step);
                }
                if let Err(failure) = self.reader.push(step, self.arrival_ms, &mut events) {
                    sink(Update::Failed(failure));
                    return Stopped::AtEnd;
                }
                if self.reader.waits()
                    && let Err(failure) = give_part(&mut self.reader, &mut events, sink).await
                {
                    sink(Update::Failed(failure));
                    return Stopped::AtEnd;
                }
                let is_over = slice.is_over();
                if !events.is_empty() {
                    self.tell_apart(&mut events, sink).await;
                    self.hand_on(std::mem::take(&mut events), is_over, sink);
                }
                let mut progress = bytes.progress();
                if let Some(watch) = &self.watch {
                    progress = match watch.look(self.n_taken, progress) {
                        Ok(progress) => progress,
                        Err(full) => {
                            self.hand_on(Vec::new(), true, sink);
                            sink(Update::Stopped(full));
                            return Stopped::AtEnd;
                        }
                    };
                }
                is_enough = is_over && self.n_taken >= upto.start;
                if is_enough {
                    break;
                }
                if is_over {
                    sink(Update::Progress(progress));
                    slice.give_way().await;
                }
            }
            self.piece = (piece, at);
            if is_enough {
                break;
            }
        }
        if self.hands_over {
            // The browser reads on by itself and keeps what nobody asks for, on the page's own thread: all of 42 MB had come
            // before the worker began.
            bytes.close();
        }
        Stopped::Early
    }

    /// No more bytes come: they are at their end, or damaged.
    async fn finish(
        &mut self,
        sink: &Sink,
        mut events: Vec<ChatEvent>,
        damage: Option<Failure>,
    ) -> Stopped {
        let mut finished = self.reader.finish(self.arrival_ms, &mut events);
        if finished.is_ok() && self.reader.waits() {
            finished = give_part(&mut self.reader, &mut events, sink).await;
        }
        self.tell_apart(&mut events, sink).await;
        self.hand_on(events, true, sink);
        sink(match (damage, finished) {
            (None, Ok(())) => Update::End,
            (Some(damage), Ok(())) if self.n_events > 0 => Update::Stopped(damage),
            // Of what is damaged there was not enough to be a session.
            (Some(failure), _) | (None, Err(failure)) => Update::Failed(failure),
        });
        Stopped::AtEnd
    }
}
