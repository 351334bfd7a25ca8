//! A connection's bytes, with an eye on requests' heads: hyper takes some more kindly than is safe behind a proxy that
//! reads them otherwise, and leaves who is slow without an answer.
//!
//! Refused are line ends without CR, and bodies whose length is said twice, by number and by chunks (RFC 9112, 2.2 and
//! 6.3 allow both, and 11.2 says what comes of it). Bodies are passed over to the next head, also those in chunks. And
//! who is refused in the middle of a body is listened to for a while: closed at once, the connection is reset under the
//! answer, and the client never reads it.

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

/// Where in the stream of requests the next byte stands.
#[derive(Default)]
struct Heads {
    odd: bool,
    /// The rest is not looked at.
    blind: bool,
    /// Bytes of a body, or of a chunk of it, that are still to come.
    body_left: u64,
    /// What stands behind those, within a body in chunks.
    chunks: Option<Chunks>,
    /// The line that is read now, in lower case and without its end, as far as it matters.
    line: Vec<u8>,
    after_cr: bool,
    n_lines: u32,
    length: Option<u64>,
    in_chunks: bool,
}

/// A line within a body in chunks (RFC 9112, 7.1).
#[derive(Clone, Copy)]
enum Chunks {
    /// The size of the next.
    Size,
    /// The end of the one before, which is empty.
    End,
    /// What is said behind the last, up to an empty one.
    Trailer,
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
        let is_ended = std::mem::take(&mut self.after_cr);
        let line = std::mem::take(&mut self.line);
        self.odd |= !is_ended;
        let Some(chunks) = self.chunks else {
            return self.end_head_line(&line);
        };
        if !is_ended || !self.end_chunk_line(chunks, &line) {
            // Where the next head begins is not known then: its reader refuses it, or it is refused as odd.
            self.odd = true;
            self.blind = true;
        }
    }

    fn end_head_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            // An empty line before a request is none of it.
            if self.n_lines > 0 {
                self.end_head();
            }
            return;
        }
        self.n_lines = self.n_lines.saturating_add(1);
        let text = String::from_utf8_lossy(line);
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
            _ => {}
        }
    }

    fn end_head(&mut self) {
        *self = Heads {
            odd: self.odd | (self.in_chunks && self.length.is_some()),
            blind: self.blind,
            chunks: self.in_chunks.then_some(Chunks::Size),
            body_left: match self.in_chunks {
                true => 0,
                false => self.length.unwrap_or(0),
            },
            ..Heads::default()
        };
    }

    /// Goes on behind a line within a body in chunks; `false` where it is none that stands there.
    fn end_chunk_line(&mut self, chunks: Chunks, line: &[u8]) -> bool {
        match chunks {
            Chunks::Size => {
                let n_digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
                let (digits, rest) = line.split_at(n_digits.count());
                // Of a line that is longer than it matters the size may be another.
                let is_whole = digits.len() < LINE_BYTES
                    && rest.first().is_none_or(|byte| b" \t;".contains(byte));
                let digits = std::str::from_utf8(digits).unwrap_or_default();
                match u64::from_str_radix(digits, 16) {
                    Ok(size) if is_whole => {
                        self.body_left = size;
                        self.chunks = Some(match size {
                            0 => Chunks::Trailer,
                            _ => Chunks::End,
                        });
                        true
                    }
                    Ok(_) | Err(_) => false,
                }
            }
            Chunks::End => {
                self.chunks = Some(Chunks::Size);
                line.is_empty()
            }
            Chunks::Trailer => {
                if line.is_empty() {
                    self.chunks = None;
                }
                true
            }
        }
    }

    /// Whether more of a body is to come.
    fn is_within_body(&self) -> bool {
        self.body_left > 0 || self.chunks.is_some()
    }

    fn is_within(&self) -> bool {
        !self.blind && !self.is_within_body() && (self.n_lines > 0 || !self.line.is_empty())
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
        // Who asks for another protocol may not get it, and goes on with requests.
        let socket = "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
        assert!(odd(&format!("{socket}GET / HTTP/1.1\n\r\n")));
    }

    #[test]
    fn heads_behind_bodies_in_chunks_are_seen_and_nothing_within_them() {
        let chunked = |body: &str, next: &str| {
            odd(&format!(
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}{next}"
            ))
        };
        let next = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for body in [
            "2\r\n\n\n\r\n0\r\n\r\n",
            "0\r\n\r\n",
            "1;a=b\r\n\n\r\n000A \r\n0\r\n\r\n\n\n\n\n\n\r\n0\r\nExpires: 1\r\n\r\n",
        ] {
            assert!(!chunked(body, next), "{body:?}");
            assert!(chunked(body, "GET / HTTP/1.1\nHost: a\r\n\r\n"), "{body:?}");
            let both = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n";
            assert!(chunked(body, both), "{body:?}");
        }
        let zeros = "0".repeat(LINE_BYTES + 6);
        for body in [
            format!("{zeros}5\r\nGET /\r\n0\r\n\r\n"),
            "2\n\n\n\r\n0\r\n\r\n".to_owned(),
            "2\r\n\n\nx\r\n0\r\n\r\n".to_owned(),
            "2x\r\n\n\n\r\n0\r\n\r\n".to_owned(),
            "0\r\na: b\n\r\n".to_owned(),
        ] {
            assert!(chunked(&body, next), "{body:?}");
        }
        let mut heads = Heads::default();
        heads.see(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n");
        assert!(heads.is_within_body() && !heads.is_within());
        heads.see(b"\r\n");
        assert!(!heads.is_within_body() && !heads.is_within());
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
