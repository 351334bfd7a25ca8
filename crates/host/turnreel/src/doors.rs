//! Who is let in: how many connections one address holds, and how many there are.
//!
//! Where all have as many as they may, those who come wait in the system's queue, so that files are left for the logs. What
//! a token may hold is for `seats`, how long a connection may be idle or slow for `server` and `stall`.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::seats::{Seat, Seats};

/// Open files that are not for connections: logs, their pages, bodies, the listener. A quarter of all, but no more than this.
const FILES_KEPT: usize = 512;
/// Of these the server has some that are no log's: the listener, the lock, what the runtime waits on; and pages are read.
const OWN_FILES: usize = 18;

/// Those who are refused with a word at once; others are cut off without one, for a flood is no conversation.
const REFUSALS: usize = 64;
/// How long one who is refused has to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);
/// And as much of what it says is taken meanwhile: its request's head.
const REFUSAL_BYTES: u64 = 64 * 1024;

/// What cannot be accepted is said this often at most.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// The doors of the server.
pub(crate) struct Doors {
    all: Option<Arc<Semaphore>>,
    addresses: Arc<Seats<IpAddr>>,
    most_of_address: usize,
    refusals: Arc<Semaphore>,
}

/// A way in for one connection.
pub(crate) struct Way {
    _permit: Option<OwnedSemaphorePermit>,
}

/// One who is in; the place is free again when this goes.
pub(crate) struct Inside {
    _way: Way,
    _seat: Option<Seat<IpAddr>>,
}

impl Doors {
    /// With `most` in all and `most_of_address` of one address; 0 is no limit.
    pub(crate) fn new(most: usize, most_of_address: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Doors {
            all: (most > 0).then(|| Arc::new(Semaphore::new(most))),
            addresses: Arc::default(),
            most_of_address,
            refusals: Arc::new(Semaphore::new(REFUSALS)),
        }
    }

    /// Ready once there is room for another.
    pub(crate) async fn way_in(&self) -> Way {
        Way {
            _permit: match &self.all {
                // It is never closed, so there is a permit.
                Some(all) => all.clone().acquire_owned().await.ok(),
                None => None,
            },
        }
    }

    /// Lets one in; `None` where its address has all it may.
    pub(crate) fn let_in(&self, way: Way, address: IpAddr) -> Option<Inside> {
        let seat = match self.most_of_address {
            0 => None,
            most => Some(self.addresses.take(owner_of(address), most)?),
        };
        Some(Inside {
            _way: way,
            _seat: seat,
        })
    }

    /// Says to one who is not let in why not. What it says is taken and not read.
    pub(crate) fn turn_away(&self, mut stream: TcpStream) -> impl Future<Output = ()> + use<> {
        let refusing = self.refusals.clone().try_acquire_owned();
        async move {
            let Ok(_refusing) = refusing else { return };
            let body = "{\"error\":{\"code\":\"too_many_connections\",\"message\":\"this address has too many connections\",\"retryAfterMs\":5000}}";
            let answer = format!(
                "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            // Closed with words unread, the connection would be reset under the answer.
            let telling = async {
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await?;
                let mut words = stream.take(REFUSAL_BYTES);
                tokio::io::copy(&mut words, &mut tokio::io::sink()).await
            };
            let _ = tokio::time::timeout(REFUSAL_TIME, telling).await;
        }
    }
}

/// Who is counted as one: of IPv6 a home has a whole /64, and IPv4 may come in its clothes.
fn owner_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// Connections that leave open files for the logs; 0, no limit, where the system does not say how many files there may be.
pub(crate) fn as_many_as_files_allow() -> usize {
    most_files().map_or(0, |most| (most - files_kept(most)).max(1))
}

/// Logs that may be open at once, so that what is kept for them is enough: each may hold two files.
pub(crate) fn open_logs() -> usize {
    let as_ever = chat_store::Options::default().open_logs;
    let kept = most_files().map_or(usize::MAX, files_kept);
    let taken = OWN_FILES + files_open();
    (kept.saturating_sub(taken) / 2).clamp(2, as_ever)
}

/// Files that are open already: a program is started with those its parent left open, too.
fn files_open() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

fn files_kept(most: usize) -> usize {
    (most / 4).min(FILES_KEPT)
}

fn most_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
}

/// What is said of connections that cannot be accepted: the first, and then some.
#[derive(Default)]
pub(crate) struct Complaints {
    said: Option<Instant>,
    unsaid: u64,
}

impl Complaints {
    pub(crate) fn say(&mut self, why: &std::io::Error) {
        if self
            .said
            .is_some_and(|said| said.elapsed() < COMPLAIN_EVERY)
        {
            self.unsaid += 1;
            return;
        }
        let unsaid = std::mem::take(&mut self.unsaid);
        self.said = Some(Instant::now());
        tracing::warn!(unsaid, "could not accept a connection: {why}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_has_its_share_and_gives_it_back() {
        let doors = Doors::new(0, 2);
        let come = async |text: &str| {
            let way = doors.way_in().await;
            doors.let_in(way, text.parse().unwrap())
        };
        let first = come("192.0.2.1").await;
        let second = come("::ffff:192.0.2.1").await;
        assert!(first.is_some() && second.is_some());
        assert!(come("192.0.2.1").await.is_none());
        assert!(come("192.0.2.2").await.is_some());
        drop(first);
        assert!(come("192.0.2.1").await.is_some());
        let home = (come("2001:db8::1").await, come("2001:db8::2").await);
        assert!(home.0.is_some() && home.1.is_some());
        assert!(come("2001:db8::3").await.is_none());
        assert!(come("2001:db8:0:1::3").await.is_some());
    }

    #[tokio::test]
    async fn where_all_are_in_the_next_waits_until_one_leaves() {
        let doors = Doors::new(1, 0);
        let way = doors.way_in().await;
        let inside = doors.let_in(way, "192.0.2.1".parse().unwrap());
        let waiting = tokio::time::timeout(Duration::from_millis(20), doors.way_in());
        assert!(waiting.await.is_err());
        drop(inside);
        let _way = doors.way_in().await;
    }
}
