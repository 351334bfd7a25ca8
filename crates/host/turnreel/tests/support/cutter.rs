//! A proxy before the server that cuts each connection once it has carried so many bytes to the client.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One connection's way, cut behind `at` bytes. The client connects to the address that is given.
pub(crate) struct Cutter {
    pub(crate) address: String,
    /// Bytes that reached the client.
    pub(crate) carried: Arc<AtomicUsize>,
}

impl Cutter {
    pub(crate) fn new(server: &str, at: usize) -> Cutter {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let carried = Arc::new(AtomicUsize::new(0));
        let (server, counted) = (server.to_owned(), carried.clone());
        std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect(server).unwrap();
            for stream in [&client, &server] {
                stream.set_nodelay(true).unwrap();
            }
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || carry(from, to, usize::MAX, &AtomicUsize::new(0)));
            carry(server, client, at, &counted);
        });
        Cutter { address, carried }
    }
}

/// Carries bytes one way, and ends both ways behind `at` of them.
fn carry(mut from: TcpStream, mut to: TcpStream, at: usize, carried: &AtomicUsize) {
    let mut piece = [0; 4096];
    while carried.load(Ordering::Relaxed) < at {
        let room = (at - carried.load(Ordering::Relaxed)).min(piece.len());
        match from.read(&mut piece[..room]) {
            Ok(0) | Err(_) => break,
            Ok(n) => {
                if to.write_all(&piece[..n]).is_err() {
                    break;
                }
                carried.fetch_add(n, Ordering::Relaxed);
            }
        }
    }
    for stream in [&from, &to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}
