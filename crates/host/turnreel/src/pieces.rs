//! Files that are sent, and never in memory whole.

use std::fs::File;
use std::io::{Error, Read, Result, Seek, SeekFrom};
use std::path::PathBuf;

use futures_util::Stream;

/// So much is read at once.
const PIECE_BYTES: usize = 256 * 1024;

/// The next `left` bytes of the file, each piece read when it is asked for. Where the file is shorter the last is an error.
pub(crate) fn of_file(file: File, left: u64) -> impl Stream<Item = Result<Vec<u8>>> + Send {
    futures_util::stream::try_unfold((file, left), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let len = usize::try_from(left).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        let reading = move || -> Result<(Vec<u8>, File)> {
            let mut piece = vec![0; len];
            file.read_exact(&mut piece)?;
            Ok((piece, file))
        };
        let read = tokio::task::spawn_blocking(reading).await;
        let (piece, file) = read.map_err(Error::other)??;
        Ok(Some((piece, (file, left - len as u64))))
    })
}

/// The bytes `from..to` of a file that never changes, each piece read when it is asked for. It is opened for each of them: who
/// takes them slowly, or not at all, would keep a file open that the logs need.
pub(crate) fn of_path(
    path: PathBuf,
    from: u64,
    to: u64,
) -> impl Stream<Item = Result<Vec<u8>>> + Send {
    futures_util::stream::try_unfold((path, from), move |(path, from)| async move {
        if from >= to {
            return Ok(None);
        }
        let len = usize::try_from(to - from).map_or(PIECE_BYTES, |left| left.min(PIECE_BYTES));
        let reading = move || -> Result<(Vec<u8>, PathBuf)> {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(from))?;
            let mut piece = vec![0; len];
            file.read_exact(&mut piece)?;
            Ok((piece, path))
        };
        let read = tokio::task::spawn_blocking(reading).await;
        let (piece, path) = read.map_err(Error::other)??;
        Ok(Some((piece, (path, from + len as u64))))
    })
}
