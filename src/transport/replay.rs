//! A session from a file or an address: bytes in pieces, reduced in slices short enough for a frame between them.
//!
//! The bytes never become a string or an object of the browser's. Nothing of a file leaves the page.

use std::ops::Range;
#[cfg(not(feature = "page"))]
use std::pin::pin;

use chat_event::{ChatEvent, StableHash};
use chat_normalize::AT_REST;
#[cfg(not(feature = "page"))]
use futures_util::future::{Either, select};

use super::aside::{ASIDE, Aside, Outcome};
use super::bytes::Bytes;
use super::kept::KEEP;
use super::readers::READERS;
use super::unpacked::{Broken, Unpacked};
use super::watch::Watch;
use super::{Failure, Limits, Running, Sink, Update};
#[cfg(not(feature = "page"))]
use crate::platform::frame;
use crate::platform::frame::Slice;
use crate::platform::reader::{Asked, Source};
use crate::platform::stream::{Blob, ByteStream, FetchError};

/// Bytes reduced between two looks at the clock: a fraction of a millisecond.
const STEP_BYTES: usize = 32 * 1024;

/// What to do where a file cannot be read any more.
const FILE_GONE: &str = "It may have changed or gone since it was chosen: choose it again.";
/// What to do where reading broke off.
const AGAIN: &str = "Load the page again; if it stays so, the server's log says more.";

/// What to do where a packed file is damaged.
pub(super) const PACKED_ANEW: &str = "Copy the file again, or pack it anew.";

/// So often a worker looks whether the reader wants no more, while nothing comes.
#[cfg(not(feature = "page"))]
const LOOK_MS: u32 = 500;

/// So much the page reads itself, for its first rows and for what is short; a worker goes on with what is longer, or a part
/// is waited for. As soon as a slice is over the fewer are enough.
const OWN_BYTES: Range<u64> = 64 * 1024..256 * 1024;
/// All that comes.
const ALL: Range<u64> = u64::MAX..u64::MAX;
/// What is shorter is read before a worker has begun.
const SHORT_BYTES: u64 = 2 * 1024 * 1024;
/// Logs come out so many times longer, where they were packed.
const UNPACKED_TIMES: u64 = 16;

/// Reads a dropped file.
pub(crate) fn of_file(file: Blob, limits: Limits, sink: Sink) -> Running {
    Running::begin(async move { read(Source::File(file), limits, &sink).await })
}

/// Reads what an address gives; it must have the page's own origin, or allow it.
pub(crate) fn of_address(
    address: String,
    token: Option<String>,
    limits: Limits,
    sink: Sink,
) -> Running {
    let source = Source::Address(address, token);
    Running::begin(async move { read(source, limits, &sink).await })
}

/// Reads a source, in a worker where it is long and there can be one.
async fn read(source: Source, limits: Limits, sink: &Sink) {
    let mut reading = Reading::new(AT_REST, &source);
    let Some(mut bytes) = open(&source, sink).await else {
        return;
    };
    let is_short = match bytes.byte_len() {
        Some(len) if len < SHORT_BYTES / UNPACKED_TIMES => true,
        // Whoever reads on tells what is wrong.
        Some(len) if len < SHORT_BYTES => !bytes.is_packed().await.unwrap_or(false),
        _ => false,
    };
    if is_short {
        sink(Update::Soon);
    }
    // It begins while the page reads its part.
    let aside = match is_short {
        true => None,
        false => Aside::start(
            &reading.asked(&source, limits.most_bytes),
            &limits.stop,
            sink,
        ),
    };
    let Some(aside) = aside else {
        let unwatched = match is_short {
            true => SHORT_BYTES..SHORT_BYTES,
            false => OWN_BYTES,
        };
        reading.read_all(&mut bytes, unwatched, limits, sink).await;
        return;
    };
    ASIDE.fetch();
    reading.hands_over = true;
    if reading.read(&mut bytes, sink, OWN_BYTES).await == Stopped::AtEnd {
        return;
    }
    drop(bytes);
    match aside.go_on(reading.n_events, sink).await {
        Outcome::Done => return,
        Outcome::NotBegun => {
            let Some(mut bytes) = open(&source, sink).await else {
                return;
            };
            reading.hands_over = false;
            if reading.pass_taken(&mut bytes).await {
                return reading.read_all(&mut bytes, OWN_BYTES, limits, sink).await;
            }
        }
        Outcome::Lost => {}
    }
    // What came of it cannot be gone on with.
    sink(Update::Clear);
    let Some(mut bytes) = open(&source, sink).await else {
        return;
    };
    let mut reading = Reading::new(reading.arrival_ms, &source);
    reading.read_all(&mut bytes, OWN_BYTES, limits, sink).await;
}

/// Reads a source without another worker, watched from its beginning on or not at all.
pub(super) async fn read_here(
    source: Source,
    arrival_ms: i64,
    watch: Option<Box<dyn Watch>>,
    sink: &Sink,
) {
    if let Some(mut bytes) = open(&source, sink).await {
        let mut reading = Reading::new(arrival_ms, &source);
        reading.watch = watch;
        reading.read(&mut bytes, sink, ALL).await;
    }
}

async fn open(source: &Source, sink: &Sink) -> Option<Unpacked> {
    let bytes = open_bytes(source, sink).await?;
    Some(Unpacked::new(bytes, sink))
}

async fn open_bytes(source: &Source, sink: &Sink) -> Option<ByteStream> {
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
    let refused = matches!(
        why,
        FetchError::Status {
            code: 401 | 403,
            ..
        }
    );
    let what = format!("could not load the session: {why}: {address}");
    let next = match why {
        FetchError::Status {
            code: 401 | 403, ..
        } => "It needs another token.",
        FetchError::Status {
            code: 404 | 410, ..
        } => "Check the address: nothing lies there.",
        FetchError::Status { .. } => AGAIN,
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

/// Bytes, and how many of them were taken before.
type NextPiece = Result<Option<(Vec<u8>, usize)>, Broken>;

/// A source that is being read.
struct Reading {
    reader: Bytes,
    arrival_ms: i64,
    watch: Option<Box<dyn Watch>>,
    /// Whether another reads on.
    hands_over: bool,
    /// The bytes that came last, and how many of them were taken.
    piece: (Vec<u8>, usize),
    /// How many bytes it took, unpacked.
    n_taken: u64,
    /// Of those that another may have to pass by.
    sum: StableHash,
    /// How many events they gave.
    n_events: usize,
    /// The session of the first of them.
    session_id: String,
    is_file: bool,
}

impl Reading {
    fn new(arrival_ms: i64, source: &Source) -> Reading {
        Reading {
            reader: Bytes::default(),
            arrival_ms,
            watch: None,
            hands_over: false,
            piece: Default::default(),
            n_taken: 0,
            sum: StableHash::default(),
            n_events: 0,
            session_id: String::new(),
            is_file: matches!(source, Source::File(_)),
        }
    }

    /// What is asked of a worker that reads the same.
    fn asked(&self, source: &Source, most_bytes: u64) -> Asked {
        Asked {
            source: source.clone(),
            arrival_ms: self.arrival_ms,
            most_bytes,
        }
    }

    /// Reads all that there is, watched after the first `unwatched` bytes: what watches is a part of its own, which is
    /// waited for.
    async fn read_all(
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
    async fn pass_taken(&mut self, bytes: &mut Unpacked) -> bool {
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
    fn stop(&mut self, bytes: &Unpacked, sink: &Sink) -> Stopped {
        let watch = self.watch.as_ref();
        let looked = watch.map(|watch| watch.look(self.n_taken, bytes.progress()));
        self.hand_on(Vec::new(), true, sink);
        if let Some(Err(stopped)) = looked {
            sink(Update::Stopped(stopped));
        }
        Stopped::AtEnd
    }

    /// Reads on, until about so many bytes were read: at the end of a slice the fewer.
    async fn read(&mut self, bytes: &mut Unpacked, sink: &Sink, upto: Range<u64>) -> Stopped {
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
                if self.hands_over {
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

/// Fetches the part that reads what is no ChatEvent log, and gives it what was held; an error where it turns out to be no
/// session.
async fn give_part(
    reader: &mut Bytes,
    events: &mut Vec<ChatEvent>,
    sink: &Sink,
) -> Result<(), Failure> {
    let readers = READERS.needed(|lack| sink(Update::Lacks(lack))).await;
    reader.give(readers, events)
}

fn fail(sink: &Sink, what: String, next: &'static str) {
    sink(Update::Failed(Failure::new(what, next)));
}
