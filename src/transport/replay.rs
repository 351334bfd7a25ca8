//! A session from a file or an address: bytes in pieces, reduced in slices short enough for a frame between them.
//!
//! The bytes never become a string or an object of the browser's. Nothing of a file leaves the page.

use chat_event::ChatEvent;

use super::bytes::Bytes;
use super::readers::READERS;
use super::{Failure, Running, Sink, Update};
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

/// Reads a dropped file.
pub(crate) fn of_file(file: Blob, sink: Sink) -> Running {
    Running::begin(async move { read_file(file, &sink).await })
}

/// The same, for those who wait for its end.
pub(super) async fn read_file(file: Blob, sink: &Sink) {
    match ByteStream::of_blob(&file) {
        Ok(bytes) => read(bytes, sink).await,
        Err(why) => fail(sink, format!("could not read the file: {why}"), FILE_GONE),
    }
}

/// Reads what an address gives; it must have the page's own origin, or allow it.
pub(crate) fn of_address(address: String, token: Option<String>, sink: Sink) -> Running {
    Running::begin(async move { read_address(address, token, &sink).await })
}

/// The same, for those who wait for its end.
pub(super) async fn read_address(address: String, token: Option<String>, sink: &Sink) {
    match ByteStream::of_address(&address, token.as_deref()).await {
        Ok(bytes) => read(bytes, sink).await,
        Err(why) => {
            let refused = matches!(why, FetchError::Status(401 | 403, _));
            let what = format!("could not load the session: {why}: {address}");
            let next = match why {
                FetchError::Status(401 | 403, _) => "It needs another token.",
                FetchError::Status(404 | 410, _) => "Check the address: nothing lies there.",
                FetchError::Status(..) => AGAIN,
                FetchError::Failed(_) => {
                    "Check the address, and that its server lets this page read it."
                }
            };
            let failure = Failure::new(what, next);
            sink(Update::Failed(Failure {
                word: if refused { "Sign in" } else { failure.word },
                refused,
                ..failure
            }));
        }
    }
}

async fn read(mut bytes: ByteStream, sink: &Sink) {
    let mut reader = Bytes::default();
    let mut n_read: u64 = 0;
    let mut events = Vec::new();
    let mut slice_began_ms = frame::now_ms();
    loop {
        let piece = match bytes.next().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(why) => return fail(sink, format!("could not read on: {why}"), AGAIN),
        };
        for step in piece.chunks(STEP_BYTES) {
            n_read += step.len() as u64;
            if let Err(failure) = reader.push(step, clock::epoch_ms(), &mut events) {
                return sink(Update::Failed(failure));
            }
            if reader.waits() && !has_part(&mut reader, &mut events, sink).await {
                return;
            }
            if !events.is_empty() {
                sink(Update::Events(std::mem::take(&mut events)));
            }
            if frame::now_ms() - slice_began_ms > SLICE_MS {
                tell_progress(sink, n_read, bytes.byte_len);
                frame::yield_now().await;
                slice_began_ms = frame::now_ms();
            }
        }
    }
    if let Err(failure) = reader.finish(clock::epoch_ms(), &mut events) {
        return sink(Update::Failed(failure));
    }
    if reader.waits() && !has_part(&mut reader, &mut events, sink).await {
        return;
    }
    sink(Update::Events(events));
    sink(Update::End);
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
