//! A session from a file or an address: bytes in pieces, reduced in slices short enough for a frame between them.
//!
//! The bytes never become a string or an object of the browser's. Nothing of a file leaves the page.

use std::collections::HashMap;

use chat_normalize::{Context, FolderReader, NotASession, SessionParts, SessionReader};

use super::{Failure, Running, Sink, Update};
use crate::platform::stream::{Blob, ByteStream, FetchError};
use crate::platform::{clock, frame};

/// How long the page may be held at once; the rest of a frame is for layout and paint.
const SLICE_MS: f64 = 8.0;
/// Bytes reduced between two looks at the clock: a fraction of a millisecond.
const STEP_BYTES: usize = 32 * 1024;

/// What to do where a file cannot be read any more.
const FILE_GONE: &str = "It may have changed or gone since it was chosen: choose it again.";
/// What to do with a file that is no session.
const OTHER_FILE: &str = "Choose a session's file, or the folder it lies in.";
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

/// Reads the files of one session.
pub(crate) fn of_files(parts: SessionParts, files: Vec<(String, Blob)>, sink: Sink) -> Running {
    Running::begin(async move { read_parts(parts, files, &sink).await })
}

/// The same, for those who wait for its end.
pub(super) async fn read_parts(parts: SessionParts, files: Vec<(String, Blob)>, sink: &Sink) {
    let files = Files {
        n_bytes: files.iter().map(|(_, file)| file.size()).sum(),
        files: files.into_iter().collect(),
        open: HashMap::new(),
    };
    read_files(FolderReader::new(Context::default(), parts), files, sink).await;
}

/// Files that are read in turns, each from where it was left.
struct Files {
    files: HashMap<String, Blob>,
    open: HashMap<String, (u64, ByteStream)>,
    n_bytes: f64,
}

impl Files {
    /// The next bytes of a file from `offset` on; empty at its end.
    async fn next(&mut self, path: &str, offset: u64) -> Result<Vec<u8>, String> {
        let (_, mut stream) = match self.open.remove(path).filter(|(at, _)| *at == offset) {
            Some(open) => open,
            None => {
                let file = self.files.get(path).ok_or("it is not there")?;
                (offset, ByteStream::of_blob_from(file, offset)?)
            }
        };
        let piece = stream.next().await?.unwrap_or_default();
        if !piece.is_empty() {
            let at = offset + piece.len() as u64;
            self.open.insert(path.to_owned(), (at, stream));
        }
        Ok(piece)
    }
}

async fn read_files(mut reader: FolderReader, mut files: Files, sink: &Sink) {
    let mut n_read = 0.0;
    let mut events = Vec::new();
    let mut slice_began_ms = frame::now_ms();
    while let Some(want) = reader.wants() {
        let (path, offset) = (want.path.to_owned(), want.offset);
        let now_ms = clock::epoch_ms();
        match files.next(&path, offset).await {
            Ok(piece) => {
                // A file is shorter than 2^53 bytes.
                #[allow(clippy::cast_precision_loss)]
                let n_bytes = piece.len() as f64;
                n_read += n_bytes;
                if let Err(why) = reader.push(&piece, now_ms, &mut events) {
                    return refuse(sink, &why);
                }
            }
            Err(why) => reader.missing(&why, now_ms, &mut events),
        }
        if !events.is_empty() {
            sink(Update::Events(std::mem::take(&mut events)));
        }
        if frame::now_ms() - slice_began_ms > SLICE_MS {
            let percent = (n_read * 100.0 / files.n_bytes.max(1.0)).clamp(0.0, 100.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            sink(Update::Progress(percent as u8));
            frame::yield_now().await;
            slice_began_ms = frame::now_ms();
        }
    }
    sink(Update::End);
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
    let mut reader = SessionReader::new(Context::default());
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
            if let Err(why) = reader.push(step, clock::epoch_ms(), &mut events) {
                return refuse(sink, &why);
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
    if let Err(why) = reader.finish(clock::epoch_ms(), &mut events) {
        return refuse(sink, &why);
    }
    sink(Update::Events(events));
    sink(Update::End);
}

fn tell_progress(sink: &Sink, n_read: u64, byte_len: Option<u64>) {
    if let Some(len) = byte_len.filter(|len| *len > 0) {
        // At most 100, whatever a header claims.
        let percent = u8::try_from((n_read * 100 / len).min(100)).unwrap_or(100);
        sink(Update::Progress(percent));
    }
}

/// What is no session at all: what it could have been comes after what is wrong.
fn refuse(sink: &Sink, why: &NotASession) {
    let next = format!("{OTHER_FILE} Formats read are {}.", NotASession::formats());
    sink(Update::Failed(Failure::new(why.place(), next)));
}

fn fail(sink: &Sink, what: String, next: &'static str) {
    sink(Update::Failed(Failure::new(what, next)));
}
