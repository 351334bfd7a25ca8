//! Readers that cost next to nothing: all of them on one thread, and of what they read only the numbers of its events are
//! looked at.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{self, Server};

/// What begins a frame: enough for its numbers.
const BEGINNING_BYTES: usize = 96;

/// A socket, and how far what came over it was read.
pub(crate) struct Socket {
    stream: TcpStream,
    frames: Frames,
}

impl Socket {
    /// Asks for a socket, and sends the frame.
    pub(crate) fn open(server: &Server, open: &Value) -> Socket {
        let stream = support::upgraded(server);
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut socket = Socket {
            stream,
            frames: Frames::default(),
        };
        socket.send(open);
        socket
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        let text = frame.to_string();
        assert!(text.len() < 126);
        // Masked with zeros: the text stays as it is.
        let mut bytes = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
        bytes.extend_from_slice(text.as_bytes());
        self.stream.write_all(&bytes).unwrap();
    }

    /// Waits for bytes, and reads them as they come.
    pub(crate) fn read_raw(&mut self, buffer: &mut [u8]) -> usize {
        self.stream.read(buffer).unwrap()
    }

    /// Reads what is there, or waits for it where the stream does; `false` where nothing was.
    pub(crate) fn read(&mut self, buffer: &mut [u8], on_frame: &mut dyn FnMut(&[u8])) -> bool {
        match self.stream.read(buffer) {
            Ok(0) => panic!("the server closed a socket"),
            Ok(n) => {
                self.frames.take(&buffer[..n], on_frame);
                true
            }
            Err(why) if why.kind() == ErrorKind::WouldBlock => false,
            Err(why) => panic!("{why}"),
        }
    }
}

/// Finds where frames begin and end in bytes that come in pieces.
#[derive(Default)]
struct Frames {
    head: Vec<u8>,
    left: u64,
    beginning: Vec<u8>,
}

impl Frames {
    /// Shows the beginning of each frame that ends within `bytes`.
    fn take(&mut self, mut bytes: &[u8], on_frame: &mut dyn FnMut(&[u8])) {
        while !bytes.is_empty() {
            if self.left == 0 {
                let (byte, rest) = bytes.split_first().unwrap();
                self.head.push(*byte);
                bytes = rest;
                self.left = match *self.head.as_slice() {
                    [_, len @ 0..126] => u64::from(len),
                    [_, 126, high, low] => u64::from(u16::from_be_bytes([high, low])),
                    [_, 127, a, b, c, d, e, f, g, h] => {
                        u64::from_be_bytes([a, b, c, d, e, f, g, h])
                    }
                    _ => continue,
                };
                self.head.clear();
                self.beginning.clear();
                continue;
            }
            let n = usize::try_from(self.left).unwrap().min(bytes.len());
            let wanted = BEGINNING_BYTES - self.beginning.len();
            self.beginning.extend_from_slice(&bytes[..n.min(wanted)]);
            self.left -= n as u64;
            bytes = &bytes[n..];
            if self.left == 0 {
                on_frame(&self.beginning);
            }
        }
    }
}

/// `"name":<number>` in the beginning of a frame.
pub(crate) fn number(beginning: &[u8], name: &str) -> Option<u64> {
    let text = std::str::from_utf8(beginning).ok();
    // It may be cut within a character.
    let text = text.unwrap_or_else(|| beginning.utf8_chunks().next().unwrap().valid());
    let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
    let end = rest.find(|it: char| !it.is_ascii_digit())?;
    rest[..end].parse().ok()
}

/// Who follows a session.
struct Reader {
    socket: Socket,
    /// The last number it has.
    has: u64,
}

/// What all readers together found.
#[derive(Default)]
pub(crate) struct Seen {
    /// Events that reached them, counted for each.
    pub(crate) n_events: u64,
    pub(crate) n_frames: u64,
    /// How often one of them was told that it was too slow, and read on by pages.
    pub(crate) n_lags: u64,
    /// Events by how long they took, in tenths of a millisecond; the last has all that took longer.
    pub(crate) waits: Vec<u64>,
}

impl Seen {
    /// What so many of a hundred events took at most, in milliseconds.
    pub(crate) fn percentile_ms(&self, percent: u64) -> f64 {
        let mut left = self.waits.iter().sum::<u64>() * percent / 100;
        let at = self.waits.iter().position(|n| {
            let is_it = *n >= left;
            left = left.saturating_sub(*n);
            is_it
        });
        at.unwrap_or_default() as f64 / 10.0
    }
}

/// Reads a session with so many sockets until each has all up to `last`.
///
/// `due` says when an event was to be sent; `None` for one whose time does not count.
pub(crate) fn follow(
    server: &Server,
    session: &str,
    n_readers: usize,
    last: u64,
    due: &dyn Fn(u64) -> Option<Instant>,
    began: &dyn Fn(),
) -> Seen {
    const PAUSE: Duration = Duration::from_millis(1);
    const SLOWEST: usize = 100_000;
    let open = |after: u64, epoch: &str| json!({"op": "open", "sub": 1, "session": session, "epoch": epoch, "after": after});
    let (_, page) = server.get(&format!("/api/v1/sessions/{session}/events?limit=1"));
    let (epoch, head) = (
        page["epoch"].as_str().unwrap(),
        page["head"].as_u64().unwrap(),
    );
    let mut readers: Vec<Reader> = (0..n_readers)
        .map(|_| Reader {
            socket: Socket::open(server, &open(head, epoch)),
            has: head,
        })
        .collect();
    for reader in &readers {
        reader.socket.stream.set_nonblocking(true).unwrap();
    }
    began();
    let mut seen = Seen {
        waits: vec![0; SLOWEST],
        ..Seen::default()
    };
    let mut buffer = vec![0; 256 * 1024];
    while readers.iter().any(|reader| reader.has < last) {
        std::thread::sleep(PAUSE);
        for reader in &mut readers {
            let mut is_behind = false;
            let has = &mut reader.has;
            let mut take = |frame: &[u8]| {
                if frame.starts_with(b"{\"op\":\"lag\"") {
                    is_behind = true;
                }
                if !frame.starts_with(b"{\"op\":\"ev\"") {
                    return;
                }
                let (from, to) = (number(frame, "from").unwrap(), number(frame, "to").unwrap());
                assert_eq!(from, *has + 1, "a hole or an event twice");
                let now = Instant::now();
                for seq in from..=to {
                    if let Some(due) = due(seq) {
                        let tenths = now.saturating_duration_since(due).as_micros() / 100;
                        seen.waits[(tenths as usize).min(SLOWEST - 1)] += 1;
                    }
                }
                seen.n_events += to - from + 1;
                seen.n_frames += 1;
                *has = to;
            };
            while reader.socket.read(&mut buffer, &mut take) {}
            if is_behind {
                seen.n_lags += 1;
                read_pages(server, session, reader, &mut seen);
                let frame = open(reader.has, epoch);
                reader.socket.send(&frame);
            }
        }
    }
    seen
}

/// Reads on from the log, as a page does that was too slow.
fn read_pages(server: &Server, session: &str, reader: &mut Reader, seen: &mut Seen) {
    loop {
        let path = format!("/api/v1/sessions/{session}/events?after={}", reader.has);
        let (_, page) = server.get(&path);
        let next = page["next"].as_u64().unwrap();
        assert_eq!(page["gaps"], json!([]));
        seen.n_events += page["events"].as_array().unwrap().len() as u64;
        reader.has = next;
        if next >= page["head"].as_u64().unwrap() {
            return;
        }
    }
}
