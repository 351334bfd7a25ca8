//! Several sessions in one source: which there are.

use std::pin::Pin;

use chat_normalize::{Head, LogSession, LogSessions};

use crate::platform::frame::Slice;
use crate::platform::stream::{self, Blob, ByteStream};

/// Of a file so much is looked at for a second session, at its beginning and at its end: where there is one, at all of it.
/// Looking at 16 MiB of each took a tenth of a second before its first rows.
const LOOKED_BYTES: u64 = 64 * 1024;

/// The sessions of a file, once it is looked through.
pub(crate) type Found = Pin<Box<dyn Future<Output = Vec<LogSession>>>>;

/// Finds the sessions of a file; none where it is no log of several, or cannot be read: whoever reads it tells why.
pub(super) fn sessions_in(file: Blob) -> Found {
    Box::pin(async move {
        let sessions = look_through(&file).await.unwrap_or_default();
        match sessions.len() {
            0 | 1 => Vec::new(),
            _ => sessions,
        }
    })
}

async fn look_through(file: &Blob) -> Option<Vec<LogSession>> {
    let beginning = stream::bytes_of_blob(file, 0, LOOKED_BYTES).await.ok()?;
    if !matches!(Head::of(&beginning), Head::Log(_)) {
        return None;
    }
    // A length is no fraction, and not below 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let n_bytes = file.size() as u64;
    let end_at = n_bytes.saturating_sub(LOOKED_BYTES);
    let end = stream::bytes_of_blob(file, end_at, n_bytes - end_at)
        .await
        .ok()?;
    let mut ends = LogSessions::default();
    ends.push(&beginning);
    // Both may be cut within a line, and are no one text.
    ends.push(b"\n");
    ends.push(&end);
    if ends.n_sessions() < 2 {
        return None;
    }
    let mut bytes = ByteStream::of_blob(file).ok()?;
    let mut sessions = LogSessions::default();
    let mut slice = Slice::begin();
    while let Some(piece) = bytes.next().await.ok()? {
        sessions.push(&piece);
        slice.give_way().await;
    }
    Some(sessions.finish())
}
