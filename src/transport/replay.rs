//! A session from a file or an address: bytes in pieces, reduced in slices short enough for a frame between them.
//!
//! The bytes never become a string or an object of the browser's. Nothing of a file leaves the page.
//!
//! A log that is read goes on in `reading`.

mod reading;

use std::ops::Range;

use chat_event::ChatEvent;
use chat_normalize::AT_REST;

use super::aside::{ASIDE, Aside, Outcome};
use super::bytes::Bytes;
use super::readers::READERS;
use super::unpacked::Unpacked;
use super::watch::Watch;
use super::{Failure, Limits, Running, Sink, Update};
use crate::platform::reader::Source;
use crate::platform::stream::{Blob, ByteStream, FetchError};
use reading::{Reading, Stopped};

/// What to do where a file cannot be read any more.
const FILE_GONE: &str = "It may have changed or gone since it was chosen: choose it again.";
/// What to do where reading broke off.
const AGAIN: &str = "Load the page again; if it stays so, the server's log says more.";

/// What to do where a packed file is damaged.
pub(super) const PACKED_ANEW: &str = "Copy the file again, or pack it anew.";

/// So much the page reads itself, for its first rows and for what is short; a worker goes on with what is longer, or a part
/// is waited for. As soon as a slice is over the fewer are enough.
const OWN_BYTES: Range<u64> = 64 * 1024..256 * 1024;
/// So much the page reads itself of what nobody told the length of: most of that is short, as what a server packs on its
/// way. The program of a worker would be fetched for nothing (840 KB).
const UNTOLD_BYTES: Range<u64> = 512 * 1024..1024 * 1024;
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
    reading.is_summed = !is_short;
    if !is_short && bytes.byte_len().is_none() {
        let read = reading.read(&mut bytes, sink, UNTOLD_BYTES).await;
        if read == Stopped::AtEnd {
            return;
        }
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
        reading.is_summed = false;
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
            reading.is_summed = false;
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
