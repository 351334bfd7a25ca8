//! A session of several files that lie on this machine.

use std::collections::HashMap;

use chat_event::ChatEvent;
use chat_normalize::{AT_REST, Context, FolderReader, SessionFolder, SessionParts};

use super::called;
use super::readers::refusal;
use super::unpacked::{Broken, Unpacked, name_unpacked};
use super::watch::{Watch, watch};
use super::{Failure, Limits, Progress, Running, Sink, Update};
use crate::platform::frame::Slice;
use crate::platform::stream::Blob;

/// Reads the files of one session.
pub(super) fn of_files(
    files: Vec<(String, Blob)>,
    limits: Limits,
    sink: Sink,
) -> Result<Running, Failure> {
    let files = named(files);
    let folder = SessionFolder::group(files.iter().map(|(path, _)| path.as_str()));
    if folder.sessions.is_empty() {
        return Err(Failure::new(
            "there is no session in these files",
            "Choose a session's file.",
        ));
    }
    Ok(Running::begin(async move {
        let folder = called::join(folder, files.iter().cloned().collect()).await;
        match <[SessionParts; 1]>::try_from(folder.sessions) {
            Ok([parts]) => read_parts(parts, files, Some(watch(limits)), &sink).await,
            Err(sessions) => {
                let what = format!("these files are {} sessions", sessions.len());
                let next = "Choose the files of one of them.";
                sink(Update::Failed(Failure::new(what, next)));
            }
        }
    }))
}

/// The sessions that these files make; packed ones are [`named`].
pub(super) async fn sessions_of(files: &[(String, Blob)]) -> Vec<SessionParts> {
    let folder = SessionFolder::group(files.iter().map(|(path, _)| path.as_str()));
    let folder = called::join(folder, files.iter().cloned().collect()).await;
    folder.sessions
}

/// The files, named as if none were packed.
pub(super) fn named(mut files: Vec<(String, Blob)>) -> Vec<(String, Blob)> {
    name_unpacked(files.iter_mut().map(|(path, _)| path).collect());
    files
}

/// The same, for those who know them to be one session and wait for its end.
pub(super) async fn read_parts(
    parts: SessionParts,
    files: Vec<(String, Blob)>,
    watch: Option<Box<dyn Watch>>,
    sink: &Sink,
) {
    // Files are shorter than 2^53 bytes.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let n_bytes = files.iter().map(|(_, file)| file.size() as u64).sum();
    let files = Files {
        n_bytes,
        n_read: 0,
        files: files.into_iter().collect(),
        open: HashMap::new(),
        sink: sink.clone(),
    };
    let reader = FolderReader::new(Context::default(), parts);
    read_files(reader, files, watch, sink).await;
}

/// Files that are read in turns, each from where it was left.
struct Files {
    files: HashMap<String, Blob>,
    open: HashMap<String, (u64, Unpacked)>,
    n_bytes: u64,
    n_read: u64,
    sink: Sink,
}

impl Files {
    /// The next bytes of a file from `offset` on; empty at its end.
    async fn next(&mut self, path: &str, offset: u64) -> Result<Vec<u8>, String> {
        let told = |(Broken::Source(why) | Broken::Packing(why))| why;
        let (_, mut stream) = match self.open.remove(path).filter(|(at, _)| *at == offset) {
            Some(open) => open,
            None => {
                let file = self.files.get(path).ok_or("it is not there")?;
                let opened = Unpacked::of_blob_from(file, offset, &self.sink).await;
                (offset, opened.map_err(told)?)
            }
        };
        let n_before = stream.progress().n_read;
        let piece = stream.next().await.map_err(told)?.unwrap_or_default();
        self.n_read += stream.progress().n_read - n_before;
        if !piece.is_empty() {
            let at = offset + piece.len() as u64;
            self.open.insert(path.to_owned(), (at, stream));
        }
        Ok(piece)
    }
}

async fn read_files(
    mut reader: FolderReader,
    mut files: Files,
    mut watch: Option<Box<dyn Watch>>,
    sink: &Sink,
) {
    let mut events: Vec<ChatEvent> = Vec::new();
    let mut slice = Slice::begin();
    while let Some(want) = reader.wants() {
        let (path, offset) = (want.path.to_owned(), want.offset);
        match files.next(&path, offset).await {
            Ok(piece) => {
                if let Err(why) = reader.push(&piece, AT_REST, &mut events) {
                    return sink(Update::Failed(refusal(&why)));
                }
            }
            Err(why) => reader.missing(&why, AT_REST, &mut events),
        }
        let taken = watch.as_mut().map(|watch| watch.take(&mut events, true));
        if let Some(taken) = taken.flatten() {
            sink(taken);
        }
        if !events.is_empty() {
            sink(Update::Events(std::mem::take(&mut events)));
        }
        let mut progress = Progress {
            n_read: files.n_read.min(files.n_bytes),
            of_bytes: Some(files.n_bytes),
            fits: None,
        };
        if let Some(watch) = &watch {
            progress = match watch.look(progress.n_read, progress) {
                Ok(progress) => progress,
                Err(full) => return sink(Update::Stopped(full)),
            };
        }
        if slice.is_over() {
            sink(Update::Progress(progress));
            slice.give_way().await;
        }
    }
    sink(Update::End);
}
