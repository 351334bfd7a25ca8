//! A proxy before the server that does to connections what networks do, once they have carried so many bytes to the client.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Both ways end.
    Cut,
    /// It is reset: what was not read is lost as well.
    Reset,
    /// The way to the client ends, the other stays open.
    HalfClose,
    /// Nothing comes any more, and nobody says so.
    Stall,
    /// It is slow from there on.
    Delay,
}

/// A way to the server on an address of its own. One fault strikes, behind `at` bytes of all that was carried to the client;
/// connections after it are good.
pub(crate) struct Proxy {
    pub(crate) address: String,
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    fault: Fault,
    at: usize,
    carried: AtomicUsize,
    struck: AtomicBool,
    over: AtomicBool,
}

impl Proxy {
    pub(crate) fn new(server: &str, at: usize, fault: Fault) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            fault,
            at,
            carried: AtomicUsize::new(0),
            struck: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if accepting.over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect(&accepting.server) else {
                    continue;
                };
                pass(client, server, accepting.clone());
            }
        });
        Proxy { address, shared }
    }

    /// Bytes that reached the client, over all connections.
    pub(crate) fn carried(&self) -> usize {
        self.shared.carried.load(Ordering::Relaxed)
    }

    pub(crate) fn has_struck(&self) -> bool {
        self.shared.struck.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the one who accepts.
        let _ = TcpStream::connect(&self.address);
    }
}

fn pass(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    // Who reads the client looks now and then whether it is to let go: a reset needs that nobody holds the socket.
    client
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let (client, server) = (Arc::new(client), Arc::new(server));
    let let_go = Arc::new(AtomicBool::new(false));
    let up = (client.clone(), server.clone(), let_go.clone());
    std::thread::spawn(move || {
        let (client, server, let_go) = up;
        let mut piece = [0; 4096];
        while !let_go.load(Ordering::Relaxed) {
            match (&*client).read(&mut piece) {
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Ok(0) | Err(_) => break,
                Ok(n) => {
                    if (&*server).write_all(&piece[..n]).is_err() {
                        break;
                    }
                }
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        carry(&client, &server, &shared);
        let_go.store(true, Ordering::Relaxed);
    });
}

/// Carries bytes to the client until one end closes, and strikes where it is time.
fn carry(client: &TcpStream, server: &TcpStream, shared: &Shared) {
    let mut piece = [0; 4096];
    let (mut client_way, mut server_way) = (client, server);
    let (mut is_slow, mut discards) = (false, false);
    loop {
        let carried = shared.carried.load(Ordering::Relaxed);
        let due =
            carried >= shared.at && !shared.struck.swap(carried >= shared.at, Ordering::Relaxed);
        if due {
            match shared.fault {
                Fault::Cut => break,
                Fault::Reset => {
                    lose_at_close(client);
                    let _ = server.shutdown(Shutdown::Both);
                    return;
                }
                Fault::HalfClose => {
                    let _ = client.shutdown(Shutdown::Write);
                    discards = true;
                }
                Fault::Stall => discards = true,
                Fault::Delay => is_slow = true,
            }
        }
        let mut room = piece.len();
        if !shared.struck.load(Ordering::Relaxed) {
            room = room.min(shared.at - carried);
        }
        if is_slow {
            room = room.min(16);
            std::thread::sleep(Duration::from_millis(3));
        }
        match server_way.read(&mut piece[..room]) {
            Ok(0) | Err(_) => break,
            Ok(_) if discards => {}
            Ok(n) => {
                if client_way.write_all(&piece[..n]).is_err() {
                    break;
                }
                shared.carried.fetch_add(n, Ordering::Relaxed);
            }
        }
    }
    for stream in [client, server] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// From now on the close of the socket is a reset. The standard library cannot ask for that.
fn lose_at_close(stream: &TcpStream) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let _within = runtime.enter();
    let other = stream.try_clone().unwrap();
    other.set_nonblocking(true).unwrap();
    let other = tokio::net::TcpStream::from_std(other).unwrap();
    other.set_zero_linger().unwrap();
    drop(other);
    // Both are one socket: who reads it still waits at most as long as before.
    stream.set_nonblocking(false).unwrap();
}
