//! A session of several files that lie on this machine.

use std::collections::HashMap;

use chat_normalize::{Context, FolderReader, SessionFolder, SessionParts};

use super::readers::refusal;
use super::replay::SLICE_MS;
use super::{Failure, Running, Sink, Update};
use crate::platform::stream::{Blob, ByteStream};
use crate::platform::{clock, frame};

/// Reads the files of one session.
pub(super) fn of_files(files: Vec<(String, Blob)>, sink: Sink) -> Result<Running, Failure> {
    let folder = SessionFolder::group(files.iter().map(|(path, _)| path.as_str()));
    let [parts] = <[SessionParts; 1]>::try_from(folder.sessions).map_err(|sessions| {
        let what = format!("these files are {} sessions", sessions.len());
        Failure::new(what, "Choose the files of one of them.")
    })?;
    Ok(Running::begin(async move {
        read_parts(parts, files, &sink).await;
    }))
}

/// The same, for those who know them to be one session and wait for its end.
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
                    return sink(Update::Failed(refusal(&why)));
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
