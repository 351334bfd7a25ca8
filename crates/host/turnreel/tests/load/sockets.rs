//! Ten thousand sockets: what they cost, and how they come back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{alone, full, quiet, rss_kib};
use crate::support::{self, Server, chunks};

/// A socket with no buffer of its own: ten thousand of them must fit here, too.
struct Thin(TcpStream);

impl Thin {
    fn open(server: &Server, session: &str, resume: Option<(&str, u64)>) -> Thin {
        let mut stream = support::upgraded(server);
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let mut open = json!({"op": "open", "sub": 1, "session": session});
        if let Some((epoch, after)) = resume {
            open["epoch"] = epoch.into();
            open["after"] = after.into();
        }
        let open = open.to_string();
        assert!(open.len() < 126);
        // Masked with zeros: the text stays as it is.
        let mut frame = vec![0x81, 0x80 | open.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(open.as_bytes());
        stream.write_all(&frame).unwrap();
        let mut thin = Thin(stream);
        assert_eq!(thin.next()["op"], "hello");
        thin
    }

    /// The next frame that is no heartbeat.
    fn next(&mut self) -> Value {
        loop {
            let mut head = [0; 2];
            self.0.read_exact(&mut head).unwrap();
            let len = match head[1] {
                126 => {
                    let mut len = [0; 2];
                    self.0.read_exact(&mut len).unwrap();
                    u64::from(u16::from_be_bytes(len))
                }
                127 => {
                    let mut len = [0; 8];
                    self.0.read_exact(&mut len).unwrap();
                    u64::from_be_bytes(len)
                }
                len => u64::from(len),
            };
            let mut text = vec![0; len as usize];
            self.0.read_exact(&mut text).unwrap();
            if head[0] == 0x81 {
                let frame: Value = serde_json::from_slice(&text).unwrap();
                if frame["op"] != "hb" {
                    return frame;
                }
            }
        }
    }
}

const SOCKETS: usize = 10_000;

const THREADS: usize = 8;

/// A server that takes them all from one address.
pub(super) fn open_to_all(data: &Path, listen: &str) -> Server {
    let more = ["--no-examples", "--connections-per-address", "0"];
    Server::start_on(data, listen, &more)
}

/// All sockets, on the session, from behind `resume` where there is one.
fn all_open(server: &Server, resume: Option<(&str, u64)>) -> Vec<Vec<Thin>> {
    let connect = || {
        let open = |_| Thin::open(server, "s1", resume);
        (0..SOCKETS / THREADS).map(open).collect()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(connect)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn ten_thousand_sockets_are_cheap_and_a_batch_reaches_all() {
    const BATCHES: u64 = 10;
    if !full() {
        return;
    }
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let server = open_to_all(dir.path(), "127.0.0.1:0");
    server.post("s1", &chunks(0, 0));
    let before = rss_kib(&server);
    let began = Instant::now();
    let mut sockets = all_open(&server, None);
    let connected = began.elapsed();
    std::thread::sleep(Duration::from_secs(3));
    let idle_from = server.cpu_ms();
    let idle_began = Instant::now();
    // A whole round of heartbeats.
    std::thread::sleep(Duration::from_secs(18));
    let idle = (server.cpu_ms() - idle_from) as f64 / idle_began.elapsed().as_millis() as f64;
    let rss = rss_kib(&server) / 1024;
    println!(
        "{SOCKETS} sockets in {connected:?}; rss {rss} MiB (before {} MiB), idle cpu {:.1} %",
        before / 1024,
        idle * 100.0
    );
    assert!(rss <= 150, "{rss} MiB");

    let text = "x".repeat(350);
    let mut costs = Vec::new();
    let mut times = Vec::new();
    for batch in 0..BATCHES {
        let from = server.cpu_ms();
        let sent = Instant::now();
        let event = json!([{"id": format!("b{batch}"), "timestamp": 1, "type": "assistant_done", "payload": {"text": text}}]);
        assert_eq!(server.post("s1", &event).0, 200);
        std::thread::scope(|scope| {
            for sockets in &mut sockets {
                scope.spawn(move || {
                    for socket in sockets {
                        let frame = socket.next();
                        assert_eq!(frame["from"], batch + 2);
                        assert_eq!(frame["to"], batch + 2);
                    }
                });
            }
        });
        times.push(sent.elapsed());
        costs.push(server.cpu_ms() - from);
    }
    let mean = costs.iter().sum::<u64>() / BATCHES;
    println!(
        "a batch to {SOCKETS}: {mean} ms of the processor ({costs:?}), all had it after {times:?}"
    );
    let rss = rss_kib(&server) / 1024;
    println!("rss after it {rss} MiB");
    assert!(rss <= 150, "{rss} MiB");
    if quiet() {
        assert!(mean <= 150, "{mean} ms");
        assert!(connected <= Duration::from_secs(15), "{connected:?}");
        assert!(idle <= 0.03, "{idle}");
    }
}

/// Connections that the system dropped because nobody accepted them.
fn listen_drops() -> u64 {
    let text = std::fs::read_to_string("/proc/net/netstat").unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("TcpExt:"))
        .collect();
    let mut fields = lines[0].split(' ').zip(lines[1].split(' '));
    let drops = fields.find(|(name, _)| *name == "ListenDrops");
    drops.unwrap().1.parse().unwrap()
}

#[test]
fn ten_thousand_come_back_after_a_restart_and_miss_nothing() {
    if !full() {
        return;
    }
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut server = open_to_all(dir.path(), "127.0.0.1:0");
    let (_, answer) = server.post("s1", &chunks(1, 1));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let sockets = all_open(&server, None);
    let drops = listen_drops();
    // An event that nobody was told of yet, and the end of the process.
    let waiting =
        json!([{"id": "w", "timestamp": 1, "type": "progress", "payload": {"message": "On"}}]);
    assert_eq!(server.post("s1", &waiting).0, 200);
    let address = server.address();
    server.kill();
    drop(sockets);
    let began = Instant::now();
    server = open_to_all(dir.path(), &address);
    let ready = began.elapsed();
    let mut sockets = all_open(&server, Some((&epoch, 1)));
    let back = began.elapsed();
    let rss = server.memory_kib("VmHWM:") / 1024;
    let event =
        json!([{"id": "b", "timestamp": 1, "type": "assistant_done", "payload": {"text": "x"}}]);
    assert_eq!(server.post("s1", &event).1["last"], 3);
    std::thread::scope(|scope| {
        for sockets in &mut sockets {
            scope.spawn(move || {
                for socket in sockets {
                    // What was missed is in the log, and they were told to read it there.
                    assert_eq!(socket.next()["from"], 3);
                }
            });
        }
    });
    let dropped = listen_drops() - drops;
    println!(
        "ready after {ready:?}, {SOCKETS} back after {back:?}, most rss {rss} MiB, {dropped} dropped by the system"
    );
    assert_eq!(server.all("s1", 10).len(), 3);
    assert!(rss <= 300, "{rss} MiB");
    assert_eq!(dropped, 0);
    if quiet() {
        assert!(back <= Duration::from_secs(30), "{back:?}");
    }
}
