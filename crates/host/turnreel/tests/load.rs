//! What many readers and much writing cost. Minutes long: only with `TURNREEL_FULL=1`.
//!
//! Counts and memory hold always; times and the processor's only in a release build, and times of the clock only on a
//! machine that has nothing else to do.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(target_os = "linux")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Server, Socket, agent, chunks, seq_and_id};

/// They measure, so they run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

fn full() -> bool {
    let full = std::env::var_os("TURNREEL_FULL").is_some_and(|value| value == "1");
    if !full {
        eprintln!("skipped: takes minutes (set TURNREEL_FULL=1)");
    }
    full
}

/// Whether times can be held against their bars here and now; says why not.
fn quiet() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap();
    let load: f64 = load.split(' ').next().unwrap().parse().unwrap();
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    if cfg!(debug_assertions) {
        eprintln!("times are not held: this is no release build");
        return false;
    }
    if load > 2.0 * cores {
        eprintln!("times are not held: the load is {load} on {cores} cores");
        return false;
    }
    true
}

fn rss_kib(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

/// What the server took of the processors so far. The kernel counts in hundredths of a second.
fn cpu_ms(server: &Server) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.child.id())).unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) * 10
}

/// A socket with no buffer of its own: ten thousand of them must fit here, too.
struct Thin(TcpStream);

impl Thin {
    fn open(server: &Server, session: &str) -> Thin {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let head = format!(
            "GET /api/v1/ws HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: turnreel.v1, tr.tok.{}\r\n\r\n",
            server.address(),
            server.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"));
        let open = json!({"op": "open", "sub": 1, "session": session}).to_string();
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

#[test]
fn ten_thousand_sockets_are_cheap_and_a_batch_reaches_all() {
    const SOCKETS: usize = 10_000;
    const BATCHES: u64 = 10;
    const THREADS: usize = 8;
    if !full() {
        return;
    }
    let _alone = ALONE.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(0, 0));
    let before = rss_kib(&server);
    let began = Instant::now();
    let connect = || {
        (0..SOCKETS / THREADS)
            .map(|_| Thin::open(&server, "s1"))
            .collect()
    };
    let mut sockets: Vec<Vec<Thin>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(connect)).collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let connected = began.elapsed();
    std::thread::sleep(Duration::from_secs(3));
    let idle_from = cpu_ms(&server);
    let idle_began = Instant::now();
    // A whole round of heartbeats.
    std::thread::sleep(Duration::from_secs(18));
    let idle = (cpu_ms(&server) - idle_from) as f64 / idle_began.elapsed().as_millis() as f64;
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
        let from = cpu_ms(&server);
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
        costs.push(cpu_ms(&server) - from);
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

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() - 1) * percent / 100]
}

#[test]
fn one_stalled_of_a_hundred_costs_the_others_nothing() {
    const READERS: usize = 99;
    const A_SECOND: u64 = 200;
    const SECONDS: u64 = 20;
    if !full() {
        return;
    }
    let _alone = ALONE.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(0, 0));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let open = || {
        let mut socket = server.socket();
        socket.open(1, "s1", None);
        socket
    };
    let mut readers: Vec<Socket> = (0..READERS).map(|_| open()).collect();
    // More than the system holds for a socket that is not read.
    let text = "x".repeat(4000);
    let mut last = 1;
    let mut phase = |readers: &mut Vec<Socket>| {
        let first = last + 1;
        last += A_SECOND * SECONDS;
        let to = last;
        let sent: Vec<Mutex<Option<Instant>>> = (first..=to).map(|_| Mutex::new(None)).collect();
        let mut all = std::thread::scope(|scope| {
            let sent = &sent;
            let reading: Vec<_> = readers
                .iter_mut()
                .map(|reader| {
                    scope.spawn(move || {
                        let mut waits = Vec::new();
                        let mut next = first;
                        while next <= to {
                            let frame = reader.next();
                            assert_eq!(frame["op"], "ev", "{frame}");
                            assert_eq!(frame["from"], next);
                            let end = frame["to"].as_u64().unwrap();
                            for seq in next..=end {
                                let sent = sent[(seq - first) as usize].lock().unwrap();
                                waits.push(sent.unwrap().elapsed());
                            }
                            next = end + 1;
                        }
                        waits
                    })
                })
                .collect();
            let began = Instant::now();
            for seq in first..=to {
                let due = Duration::from_micros((seq - first) * 1_000_000 / A_SECOND);
                std::thread::sleep(due.saturating_sub(began.elapsed()));
                *sent[(seq - first) as usize].lock().unwrap() = Some(Instant::now());
                let event = json!([{"id": format!("e{seq}"), "timestamp": 1, "type": "assistant_done", "payload": {"text": text}}]);
                assert_eq!(server.post("s1", &event).0, 200);
            }
            let took = began.elapsed();
            println!("{} events in {took:?}", A_SECOND * SECONDS);
            let waits = reading.into_iter().flat_map(|it| it.join().unwrap());
            waits.collect::<Vec<_>>()
        });
        all.sort();
        let [p50, p99] = [50, 99].map(|percent| percentile(&all, percent));
        (p50, p99, rss_kib(&server))
    };
    // The ring is full after it, so that what is measured next is not its filling.
    let warm = phase(&mut readers);
    let baseline = phase(&mut readers);
    let mut stalled = open();
    let with_stalled = phase(&mut readers);
    println!(
        "p50, p99, rss KiB: warm {warm:?}, baseline {baseline:?}, with one stalled {with_stalled:?}"
    );
    // What the log's index takes, and the allocator's holes, grow by themselves.
    let grew = baseline.2.saturating_sub(warm.2);
    assert!(
        with_stalled.2 <= baseline.2 + grew + 4 * 1024,
        "the stalled one takes memory"
    );
    // The stalled one reads again: it was told or let go, and comes to the end by pages.
    // It opened at the end of the phase before.
    let mut had = last - A_SECOND * SECONDS;
    let mut lagged = false;
    while let Some(frame) = stalled.try_next() {
        if frame["op"] == "lag" {
            lagged = true;
            break;
        }
        assert_eq!(frame["from"], had + 1);
        had = frame["to"].as_u64().unwrap();
        if had == last {
            break;
        }
    }
    println!("the stalled one had all to {had} of {last}, was told that it lags: {lagged}");
    while had < last {
        let page = server
            .get(&format!(
                "/api/v1/sessions/s1/events?after=v1.{epoch}.{had}"
            ))
            .1;
        for event in page["events"].as_array().unwrap() {
            assert_eq!(seq_and_id(event).0, had + 1);
            had += 1;
        }
    }
    if quiet() {
        let more = with_stalled.1.saturating_sub(baseline.1);
        let bar = (baseline.1 / 5).max(Duration::from_millis(20));
        assert!(more <= bar, "{more:?} more");
    }
}

/// From the answer to the sender until the reader has it.
#[test]
fn urgent_events_are_there_at_once_and_others_within_their_window() {
    if !full() {
        return;
    }
    let _alone = ALONE.lock().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(0, 0));
    let mut socket = server.socket();
    socket.open(1, "s1", None);
    let mut seq = 1;
    let mut wait = |kind: &str, payload: Value| {
        seq += 1;
        let event =
            json!([{"id": format!("n{seq}"), "timestamp": 1, "type": kind, "payload": payload}]);
        assert_eq!(server.post("s1", &event).0, 200);
        let stored = Instant::now();
        assert_eq!(socket.next()["to"], seq);
        stored.elapsed()
    };
    let mut urgent: Vec<_> = (0..500)
        .map(|_| wait("assistant_done", json!({"text": "Done"})))
        .collect();
    let mut chunks: Vec<_> = (0..100)
        .map(|_| wait("assistant_chunk", json!({"text": "word "})))
        .collect();
    let mut batched: Vec<_> = (0..20)
        .map(|_| wait("progress", json!({"message": "On"})))
        .collect();
    let p99 = |name, waits: &mut Vec<Duration>| {
        waits.sort();
        let [p50, p99] = [50, 99].map(|percent| percentile(waits, percent));
        println!("{name}: p50 {p50:?}, p99 {p99:?}");
        p99
    };
    let urgent = p99("tier 1", &mut urgent);
    let chunks = p99("chunks", &mut chunks);
    let batched = p99("tier 2", &mut batched);
    if quiet() {
        assert!(urgent <= Duration::from_millis(50), "{urgent:?}");
        assert!(chunks <= Duration::from_millis(83), "{chunks:?}");
        assert!(batched <= Duration::from_millis(600), "{batched:?}");
    }
}

#[test]
fn batches_of_a_hundred_are_taken_at_ten_thousand_events_a_second() {
    const BATCH: u64 = 100;
    if !full() {
        return;
    }
    let _alone = ALONE.lock().unwrap();
    let text = "x".repeat(870);
    for (n_sessions, senders) in [(1u64, 2u64), (50, 2)] {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(dir.path());
        let body = |batch: u64| {
            let events: Value = (batch * BATCH..(batch + 1) * BATCH)
                .map(|n| json!({"id": format!("e{n}"), "timestamp": n, "type": "tool_result", "payload": {"toolCallId": n.to_string(), "result": text}}))
                .collect();
            events.to_string()
        };
        let bodies: Vec<String> = (0..600).map(body).collect();
        let next = AtomicU64::new(0);
        let over = AtomicBool::new(false);
        let began = Instant::now();
        let mut waits: Vec<Duration> = std::thread::scope(|scope| {
            let send = || {
                let agent = agent();
                let mut waits = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(body) = bodies.get(n as usize) else {
                        break;
                    };
                    let path = format!("/api/v1/sessions/s{}/events", n % n_sessions);
                    let sent = Instant::now();
                    let answer = agent
                        .post(format!("{}{path}", server.url))
                        .header("Authorization", format!("Bearer {}", server.token))
                        .header("Content-Type", "application/json")
                        .send(body.as_str())
                        .unwrap();
                    assert_eq!(answer.status().as_u16(), 200);
                    drop(answer.into_body().read_to_string().unwrap());
                    waits.push(sent.elapsed());
                    if began.elapsed() > Duration::from_secs(20) {
                        over.store(true, Ordering::Relaxed);
                    }
                }
                waits
            };
            let threads: Vec<_> = (0..senders).map(|_| scope.spawn(send)).collect();
            threads
                .into_iter()
                .flat_map(|it| it.join().unwrap())
                .collect()
        });
        let took = began.elapsed();
        waits.sort();
        let rate = waits.len() as f64 * BATCH as f64 / took.as_secs_f64();
        let cpu = cpu_ms(&server) as f64 * 1000.0 / (waits.len() as f64 * BATCH as f64);
        let [p50, p99] = [50, 99].map(|percent| percentile(&waits, percent));
        println!(
            "{n_sessions} sessions: {rate:.0} events/s of 1 KB, ack p50 {p50:?} p99 {p99:?}, {cpu:.0} us of the processor each"
        );
        if quiet() {
            assert!(rate >= 10_000.0, "{rate} events/s");
            assert!(p99 <= Duration::from_millis(20), "{p99:?}");
        }
    }
}
