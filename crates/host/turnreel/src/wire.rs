//! A connection's bytes, with an eye on requests' heads: hyper takes some more kindly than is safe behind a proxy that
//! reads them otherwise, and leaves who is slow without an answer.
//!
//! Refused are line ends without CR, and bodies whose length is said twice, by number and by chunks (RFC 9112, 2.2 and
//! 6.3 allow both, and 11.2 says what comes of it). And who is refused in the middle of a body is listened to for a
//! while: closed at once, the connection is reset under the answer, and the client never reads it.

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

/// What a client that is too slow with its head is told.
const TOO_SLOW: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// As much of a line as tells which header it is.
const LINE_BYTES: usize = 64;

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

    /// Reads on to the end of a body that nobody took, within bounds. The connection is over otherwise.
    pub(crate) async fn linger(&self) {
        if !locked(&self.0.heads).is_within_body() {
            return;
        }
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

/// Where in the stream of requests the next byte stands.
#[derive(Default)]
struct Heads {
    odd: bool,
    /// The rest is not looked at: frames of a socket, or chunks, whose end only their reader knows.
    blind: bool,
    /// It is blind for chunks.
    chunks_follow: bool,
    /// Bytes of a body that are still to come.
    body_left: u64,
    /// The line that is read now, in lower case and without its end, as far as it matters.
    line: Vec<u8>,
    after_cr: bool,
    n_lines: u32,
    length: Option<u64>,
    in_chunks: bool,
    upgrades: bool,
}

impl Heads {
    fn see(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.blind {
            if self.body_left > 0 {
                let skipped = usize::try_from(self.body_left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                self.body_left -= skipped as u64;
                bytes = &bytes[skipped..];
                continue;
            }
            let byte = bytes[0];
            bytes = &bytes[1..];
            match byte {
                b'\n' => self.end_line(),
                b'\r' => self.after_cr = true,
                _ => {
                    self.after_cr = false;
                    // However much room there is before a value, it is read by whoever reads the head, and so here.
                    let is_room = matches!(byte, b' ' | b'\t') && self.line.last() == Some(&b':');
                    if self.line.len() < LINE_BYTES && !is_room {
                        self.line.push(byte.to_ascii_lowercase());
                    }
                }
            }
        }
    }

    fn end_line(&mut self) {
        self.odd |= !std::mem::take(&mut self.after_cr);
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            // An empty line before a request is none of it.
            if self.n_lines > 0 {
                self.end_head();
            }
            return;
        }
        self.n_lines = self.n_lines.saturating_add(1);
        let text = String::from_utf8_lossy(&line);
        let Some((name, value)) = text.split_once(':') else {
            return;
        };
        match name {
            "content-length" => match value.trim().parse() {
                Ok(length) => self.length = Some(length),
                // It is refused by its reader.
                Err(_) => self.blind = true,
            },
            "transfer-encoding" => self.in_chunks = true,
            "upgrade" => self.upgrades = true,
            _ => {}
        }
    }

    fn end_head(&mut self) {
        self.odd |= self.in_chunks && self.length.is_some();
        *self = Heads {
            odd: self.odd,
            blind: self.in_chunks || self.upgrades,
            chunks_follow: self.in_chunks && !self.upgrades,
            body_left: self.length.unwrap_or(0),
            ..Heads::default()
        };
    }

    /// Whether more of a body is to come. Frames of a socket are none.
    fn is_within_body(&self) -> bool {
        self.body_left > 0 || self.chunks_follow
    }

    fn is_within(&self) -> bool {
        !self.blind && self.body_left == 0 && (self.n_lines > 0 || !self.line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are cut.
    fn odd(text: &str) -> bool {
        let mut whole = Heads::default();
        whole.see(text.as_bytes());
        for at in 0..text.len() {
            let mut cut = Heads::default();
            cut.see(&text.as_bytes()[..at]);
            cut.see(&text.as_bytes()[at..]);
            assert_eq!(cut.odd, whole.odd, "cut at {at}: {text:?}");
        }
        whole.odd
    }

    #[test]
    fn line_ends_without_cr_and_two_lengths_are_seen_in_heads_only() {
        assert!(!odd("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(odd("GET / HTTP/1.1\nHost: a\r\n\r\n"));
        assert!(odd("GET / HTTP/1.1\r\nHost: a\r\n\n"));
        let both = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nContent-LENGTH: 5\r\n\r\n";
        assert!(odd(both));
        let room = " ".repeat(100);
        assert!(odd(&format!(
            "POST / HTTP/1.1\r\nContent-Length:{room}5\r\nTransfer-Encoding: chunked\r\n\r\n"
        )));
        let body = "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n{\n\n}";
        assert!(!odd(body));
        assert!(!odd(&format!("{body}{body}GET / HTTP/1.1\r\n\r\n")));
        assert!(odd(&format!("{body}GET / HTTP/1.1\n")));
        let socket = "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
        assert!(!odd(&format!("{socket}\n\n\n")));
        let chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(!odd(&format!("{chunks}2\r\n\n\n\r\n0\r\n\r\n")));
    }

    #[test]
    fn who_is_idle_is_not_within_a_head() {
        let mut heads = Heads::default();
        assert!(!heads.is_within());
        heads.see(b"GET / HTTP/1.1\r\nHo");
        assert!(heads.is_within());
        heads.see(b"st: a\r\n\r\n");
        assert!(!heads.is_within());
        heads.see(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{");
        assert!(!heads.is_within());
        assert!(heads.is_within_body());
        heads.see(b"}G");
        assert!(!heads.is_within_body());
        assert!(heads.is_within());
    }
}
