//! A small proxy between page and server that cuts connections: at once, or at moments drawn from a seed.
//!
//! The server answers only to its own Host and Origin, so heads of requests are rewritten on the way. Bodies, and what
//! follows an upgrade, pass as they are.
#![allow(
    clippy::expect_used,
    reason = "a proxy that cannot be started fails the test"
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

#[path = "../../crates/host/turnreel/tests/support/dice.rs"]
mod dice;

pub(crate) use dice::Dice;

/// A folder that the server does not know of: what is asked for below it is asked for there without.
pub(crate) const BELOW: &str = "/below-a-path/";

/// A running proxy.
pub(crate) struct Proxy {
    /// `http://127.0.0.1:PORT`
    pub(crate) url: String,
    /// Counts up at each cut; what is connected then ends.
    cuts: watch::Sender<u64>,
    /// Draws how many bytes the next connection carries to its client, while it is there.
    limits: Arc<Mutex<Option<(Dice, u64)>>>,
    n_cut: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port for the server on `server_port`.
    pub(crate) async fn start(server_port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (cuts, cut) = watch::channel(0);
        let n_cut = Arc::new(AtomicUsize::new(0));
        let ended = n_cut.clone();
        let limits: Arc<Mutex<Option<(Dice, u64)>>> = Arc::default();
        let drawn = limits.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (mut cut, ended) = (cut.clone(), ended.clone());
                cut.mark_unchanged();
                let most_bytes = {
                    let mut limits = drawn.lock().unwrap_or_else(PoisonError::into_inner);
                    let limits = limits.as_mut();
                    limits.map_or(u64::MAX, |(dice, below)| dice.between(1, *below))
                };
                tokio::spawn(async move {
                    tokio::select! {
                        cut_short = pass(client, port, server_port, most_bytes) => {
                            ended.fetch_add(usize::from(cut_short), Ordering::Relaxed);
                        }
                        _ = cut.changed() => { ended.fetch_add(1, Ordering::Relaxed); }
                    }
                });
            }
        });
        Proxy {
            url: format!("http://127.0.0.1:{port}"),
            cuts,
            limits,
            n_cut,
            accepting,
        }
    }

    /// Cuts every connection, in the middle of whatever it carries.
    pub(crate) fn cut_all(&self) {
        self.cuts.send_modify(|count| *count += 1);
    }

    /// From now on each new connection is cut behind a byte below `below`, drawn from a seed; 0 lets all of them be.
    pub(crate) fn cut_behind_bytes(&self, seed: u64, below: u64) {
        let limits = (below > 1).then(|| (Dice::new(seed), below));
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Connections that were cut so far.
    pub(crate) fn n_cut(&self) -> usize {
        self.n_cut.load(Ordering::Relaxed)
    }

    /// Cuts again and again, after pauses between `from_ms` and `to_ms`, until the handle is aborted.
    pub(crate) fn cut_at_random(&self, seed: u64, (from_ms, to_ms): (u64, u64)) -> JoinHandle<()> {
        let cuts = self.cuts.clone();
        let mut dice = Dice::new(seed);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(dice.between(from_ms, to_ms))).await;
                cuts.send_modify(|count| *count += 1);
            }
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut_all();
    }
}

/// Carries one connection until either side ends it, or so many bytes have come to the client: then it is true. A server
/// that is away is a connection that is refused.
async fn pass(client: TcpStream, port: u16, server_port: u16, most_bytes: u64) -> bool {
    let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)).await else {
        return false;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let names = (
        format!("127.0.0.1:{port}"),
        format!("127.0.0.1:{server_port}"),
    );
    tokio::select! {
        () = requests(from_client, to_server, names) => false,
        () = copy(from_server, to_client, most_bytes) => most_bytes < u64::MAX,
    }
}

async fn copy(from: OwnedReadHalf, mut to: OwnedWriteHalf, most_bytes: u64) {
    let _ = tokio::io::copy(&mut from.take(most_bytes), &mut to).await;
}

/// Passes requests on with the server's own name in their heads.
async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    (own, server): (String, String),
) {
    let mut held = Vec::new();
    let mut piece = vec![0; 16 * 1024];
    loop {
        while let Some(end) = held.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = held.split_off(end + 4);
            let head = String::from_utf8_lossy(&held).into_owned();
            let upgrades = head.to_lowercase().contains("\r\nupgrade:");
            let passed = head.replace(&own, &server).replacen(BELOW, "/", 1);
            if to.write_all(passed.as_bytes()).await.is_err() {
                return;
            }
            held = rest;
            let length = head.to_lowercase().lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                (name == "content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if let Some(length) = length.filter(|length| *length > 0) {
                while held.len() < length {
                    match from.read(&mut piece).await {
                        Ok(0) | Err(_) => return,
                        Ok(n_read) => held.extend_from_slice(&piece[..n_read]),
                    }
                }
                let rest = held.split_off(length);
                if to.write_all(&held).await.is_err() {
                    return;
                }
                held = rest;
            }
            if upgrades {
                if to.write_all(&held).await.is_ok() {
                    copy(from, to, u64::MAX).await;
                }
                return;
            }
        }
        match from.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(n_read) => held.extend_from_slice(&piece[..n_read]),
        }
    }
}
