//! A connection's bytes, with an eye on requests' heads: hyper takes some more kindly than is safe behind a proxy that
//! reads them otherwise, and leaves who is slow without an answer.
//!
//! Refused are line ends without CR, and bodies whose length is said twice, by number and by chunks (RFC 9112, 2.2 and
//! 6.3 allow both, and 11.2 says what comes of it). Bodies are passed over to the next head, also those in chunks. And
//! who is refused in the middle of a body is listened to for a while: closed at once, the connection is reset under the
//! answer, and the client never reads it.

mod heads;

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::locked::locked;
use heads::Heads;

/// What a client that is too slow with its head is told.
const TOO_SLOW: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// How long and how much of a refused body is read for nothing.
const LINGER: Duration = Duration::from_secs(2);

const LINGER_BYTES: usize = 32 * 1024 * 1024;

/// It is read in pieces of this size, and after so many bytes of them others have their turn: 32 MiB in two seconds.
const LINGER_PIECE_BYTES: usize = 16 * 1024;

const LINGER_TURN_BYTES: usize = 256 * 1024;

const LINGER_PAUSE: Duration = Duration::from_millis(15);

/// The stream that hyper reads and writes.
pub(crate) struct Wire(Watch);

/// The other hold on it: ours.
#[derive(Clone)]
pub(crate) struct Watch(Arc<Shared>);

struct Shared {
    read: Mutex<OwnedReadHalf>,
    write: Mutex<OwnedWriteHalf>,
    heads: Mutex<Heads>,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> (Self, Watch) {
        let (read, write) = stream.into_split();
        let watch = Watch(Arc::new(Shared {
            read: Mutex::new(read),
            write: Mutex::new(write),
            heads: Mutex::default(),
        }));
        (Wire(watch.clone()), watch)
    }
}

impl Watch {
    /// Whether a head was seen that must be refused.
    pub(crate) fn is_odd(&self) -> bool {
        locked(&self.0.heads).odd
    }

    /// The head took too long: says so where one had begun. Who sent nothing since its last answer is only idle.
    pub(crate) fn too_slow(&self) {
        if locked(&self.0.heads).is_within() {
            // It is waiting to write and not to read, but some bytes always fit.
            let _ = locked(&self.0.write).try_write(TOO_SLOW);
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *locked(&self.0.0.write)).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *locked(&self.0.0.write)).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *locked(&self.0.0.write)).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *locked(&self.0.0.write)).poll_shutdown(cx)
    }
}

impl Watch {
    fn poll_read(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut *locked(&self.0.read)).poll_read(cx, buf);
        let read = buf.filled().get(before..).unwrap_or_default();
        if !read.is_empty() {
            locked(&self.0.heads).see(read);
        }
        polled
    }

    /// Reads on to the end of a body that nobody took, within bounds. No head is read behind it: the connection is over
    /// otherwise, or goes on with frames.
    pub(crate) async fn linger(&self) {
        if locked(&self.0.heads).is_within_body() {
            self.read_on().await;
        }
        locked(&self.0.heads).blind = true;
    }

    async fn read_on(&self) {
        let _ = tokio::time::timeout(LINGER, async {
            let mut scratch = vec![0; LINGER_PIECE_BYTES];
            let (mut n_bytes, mut n_bytes_due) = (0, LINGER_TURN_BYTES);
            while n_bytes < LINGER_BYTES && locked(&self.0.heads).is_within_body() {
                let reading = poll_fn(|cx| {
                    let mut buf = ReadBuf::new(&mut scratch);
                    let polled = self.poll_read(cx, &mut buf);
                    polled.map_ok(|()| buf.filled().len())
                });
                match reading.await {
                    Ok(n @ 1..) => n_bytes += n,
                    Ok(0) | Err(_) => return,
                }
                // There may always be more, and it is worth the least of all that waits: who sends it waits, too.
                if n_bytes >= n_bytes_due {
                    n_bytes_due = n_bytes + LINGER_TURN_BYTES;
                    tokio::time::sleep(LINGER_PAUSE).await;
                }
            }
        })
        .await;
    }
}

#[cfg(test)]
mod tests;
