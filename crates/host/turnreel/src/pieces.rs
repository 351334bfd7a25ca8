//! Files that are sent, and never in memory whole.

use std::fs::File;
use std::io::{Error, Read, Result};

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
