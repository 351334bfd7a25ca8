//! What many readers and much writing cost. Minutes long: only with `TURNREEL_FULL=1`.
//!
//! Counts and memory hold always; times and the processor's only in a release build, and times of the clock only on a
//! machine that has nothing else to do.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::support::{self, Server, Socket, agent, chunks, figure, make_token, seq_and_id};
use serde_json::{Value, json};

/// They measure, so they run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// Held by the one that measures. One that failed is no reason for the next to fail.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    server.memory_kib("VmRSS:")
}

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
fn open_to_all(data: &Path, listen: &str) -> Server {
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

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() - 1) * percent / 100]
}

#[test]
fn one_stalled_of_a_hundred_costs_the_others_nothing() {
    if full() {
        stalled_ones_cost_nothing(99, 1);
    }
}

#[test]
fn a_hundred_stalled_cost_a_hundred_others_nothing() {
    if full() {
        stalled_ones_cost_nothing(100, 100);
    }
}

fn stalled_ones_cost_nothing(n_readers: usize, n_stalled: usize) {
    const A_SECOND: u64 = 200;
    const SECONDS: u64 = 20;
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(0, 0));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let open = || {
        let mut socket = server.socket();
        socket.open(1, "s1", None);
        socket
    };
    let mut readers: Vec<Socket> = (0..n_readers).map(|_| open()).collect();
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
    let mut stalled: Vec<Socket> = (0..n_stalled).map(|_| open()).collect();
    let with_stalled = phase(&mut readers);
    println!(
        "{n_readers} readers: p50, p99, rss KiB: warm {warm:?}, baseline {baseline:?}, with {n_stalled} stalled {with_stalled:?}"
    );
    // What the log's index takes, and the allocator's holes, grow by themselves.
    let grew = baseline.2.saturating_sub(warm.2);
    assert!(
        with_stalled.2 <= baseline.2 + grew + 4 * 1024,
        "the stalled one takes memory"
    );
    assert_eq!(
        figure(&server, "turnreel_stalled_sockets_total"),
        n_stalled as f64
    );
    // The stalled ones read again: they were let go, and come to the end by pages. They opened at the end of the phase before.
    let mut fewest = u64::MAX;
    for stalled in &mut stalled {
        let mut had = last - A_SECOND * SECONDS;
        while let Some(frame) = stalled.try_next() {
            assert_eq!(
                (&frame["op"], &frame["from"]),
                (&json!("ev"), &json!(had + 1))
            );
            had = frame["to"].as_u64().unwrap();
        }
        assert!(had < last, "it was not held up");
        fewest = fewest.min(last - had);
        while had < last {
            let path = format!("/api/v1/sessions/s1/events?after=v1.{epoch}.{had}");
            for event in server.get(&path).1["events"].as_array().unwrap() {
                assert_eq!(seq_and_id(event).0, had + 1);
                had += 1;
            }
        }
    }
    println!(
        "each of the stalled read at least {fewest} of {} by pages",
        A_SECOND * SECONDS
    );
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
    let _alone = alone();
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
    let _alone = alone();
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
        let cpu = server.cpu_ms() as f64 * 1000.0 / (waits.len() as f64 * BATCH as f64);
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

/// A hundred times what a token may send, while another sends what it may.
#[test]
fn a_flood_is_refused_and_another_sender_waits_no_longer() {
    if !full() {
        return;
    }
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start_on(
        dir.path(),
        "127.0.0.1:0",
        &["--no-examples", "--rate", "200", "--burst", "2000"],
    );
    let [flooding, other] = [0, 1].map(|_| make_token(&server, &["--scope", "ingest"]));
    let agent_of = |token: &str, session: &str, body: &str, agent: &ureq::Agent| {
        let answer = agent
            .post(format!("{}/api/v1/sessions/{session}/events", server.url))
            .header("Authorization", format!("Bearer {token}"))
            .header("Content-Type", "application/json")
            .send(body)
            .unwrap();
        let status = answer.status().as_u16();
        drop(answer.into_body().read_to_string().unwrap());
        status
    };
    let calm = |name: &str| {
        let agent = agent();
        let mut waits: Vec<Duration> = (0..500)
            .map(|n| {
                let event = json!([{"id": format!("{name}{n}"), "timestamp": 1, "type": "progress", "payload": {"message": "On"}}]);
                std::thread::sleep(Duration::from_millis(10));
                let sent = Instant::now();
                assert_eq!(agent_of(&other, "calm", &event.to_string(), &agent), 200);
                sent.elapsed()
            })
            .collect();
        waits.sort();
        percentile(&waits, 99)
    };
    let alone = calm("alone");
    let before = rss_kib(&server);
    let over = AtomicBool::new(false);
    let (n_taken, n_refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let began = Instant::now();
    let beside = std::thread::scope(|scope| {
        let (agent_of, flooding, over) = (&agent_of, &flooding, &over);
        for thread in 0..2 {
            let (n_taken, n_refused) = (&n_taken, &n_refused);
            scope.spawn(move || {
                let agent = agent();
                let mut n = 0;
                while !over.load(Ordering::Relaxed) {
                    // In all 20 000 events a second.
                    let due = Duration::from_millis(n * 10);
                    std::thread::sleep(due.saturating_sub(began.elapsed()));
                    let ids = (0..100).map(|it| json!({"id": format!("f{thread}-{n}-{it}"), "timestamp": 1, "type": "progress", "payload": {"message": "On"}}));
                    let body = ids.collect::<Value>().to_string();
                    match agent_of(flooding, "flood", &body, &agent) {
                        200 => n_taken.fetch_add(1, Ordering::Relaxed),
                        429 => n_refused.fetch_add(1, Ordering::Relaxed),
                        other => panic!("{other}"),
                    };
                    n += 1;
                }
            });
        }
        // What may be sent at once is gone first.
        std::thread::sleep(Duration::from_secs(1));
        for counted in [&n_taken, &n_refused] {
            counted.store(0, Ordering::Relaxed);
        }
        let beside = calm("beside");
        over.store(true, Ordering::Relaxed);
        beside
    });
    let (taken, refused) = (n_taken.into_inner() as f64, n_refused.into_inner() as f64);
    let share = refused / (taken + refused);
    let grew = rss_kib(&server).saturating_sub(before) / 1024;
    println!(
        "{:.1} % of {} batches refused; another's p99 {alone:?} alone, {beside:?} beside; rss +{grew} MiB",
        share * 100.0,
        taken + refused
    );
    assert!(grew <= 32, "{grew} MiB");
    if quiet() {
        assert!(share >= 0.95, "{share}");
        // A pause of the machine's own is no wait of the server's.
        assert!(
            beside <= (alone * 2).max(Duration::from_millis(5)),
            "{beside:?}"
        );
    }
}

/// Bodies of 100 MiB that say so and that do not, heads that never end, heads with ten thousand lines, and bombs.
#[test]
fn bodies_heads_and_bombs_are_refused_and_health_is_answered_throughout() {
    const BODIES: usize = 200;
    const BODY_MIB: usize = 100;
    const SLOW: usize = 1000;
    if !full() {
        return;
    }
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let server = open_to_all(dir.path(), "127.0.0.1:0");
    server.post("s1", &chunks(1, 1));
    let before = rss_kib(&server);
    let over = AtomicBool::new(false);
    let head = |more: &str| {
        format!(
            "POST /api/v1/sessions/s1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n{more}\r\n",
            server.address(),
            server.token
        )
    };
    // The answer's status; 0 where there is none.
    let status_of = |mut stream: TcpStream| {
        let mut answer = [0; 12];
        let read = stream.read_exact(&mut answer);
        read.map_or(0, |()| {
            std::str::from_utf8(&answer[9..]).unwrap().parse().unwrap()
        })
    };
    let connect = || {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
            .set_write_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream
    };
    let large = |said: bool| {
        let mut stream = connect();
        let piece = vec![b'1'; 1024 * 1024];
        let length = format!("Content-Length: {}\r\n", BODY_MIB * piece.len());
        let more = if said {
            &length
        } else {
            "Transfer-Encoding: chunked\r\n"
        };
        stream.write_all(head(more).as_bytes()).unwrap();
        for _ in 0..BODY_MIB {
            let size = format!("{:x}\r\n", piece.len());
            let parts: [&[u8]; 3] = if said {
                [b"", &piece, b""]
            } else {
                [size.as_bytes(), &piece, b"\r\n"]
            };
            if parts.iter().any(|part| stream.write_all(part).is_err()) {
                break;
            }
        }
        status_of(stream)
    };
    let slow = || {
        let mut streams: Vec<_> = (0..SLOW / 4).map(|_| connect()).collect();
        let head = head("X-Slow: 1\r\n");
        for byte in head.as_bytes().chunks(1).take(12) {
            for stream in &mut streams {
                let _ = stream.write_all(byte);
            }
            std::thread::sleep(Duration::from_secs(1));
        }
        streams.into_iter().map(status_of).collect::<Vec<u16>>()
    };
    let (bodies, slows, longest) = std::thread::scope(|scope| {
        let health = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                let sent = Instant::now();
                assert_eq!(server.get("/healthz").0, 200);
                longest = longest.max(sent.elapsed());
                std::thread::sleep(Duration::from_millis(20));
            }
            longest
        });
        let slows: Vec<_> = (0..4).map(|_| scope.spawn(slow)).collect();
        let bodies: Vec<_> = (0..BODIES)
            .map(|n| scope.spawn(move || large(n % 2 == 0)))
            .collect();
        let bodies: Vec<u16> = bodies.into_iter().map(|it| it.join().unwrap()).collect();
        let slows: Vec<u16> = slows
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect();
        over.store(true, Ordering::Relaxed);
        (bodies, slows, health.join().unwrap())
    });
    let count = |statuses: &[u16]| {
        let mut counts = std::collections::BTreeMap::new();
        for status in statuses {
            *counts.entry(*status).or_insert(0) += 1;
        }
        counts
    };
    let grew = server.memory_kib("VmHWM:").saturating_sub(before) / 1024;
    println!(
        "bodies {:?}, slow heads {:?}; healthz at most {longest:?}; most rss +{grew} MiB",
        count(&bodies),
        count(&slows)
    );
    assert!(
        bodies
            .iter()
            .all(|status| matches!(status, 413 | 429 | 503)),
        "{:?}",
        count(&bodies)
    );
    assert!(bodies.contains(&413));
    assert_eq!(count(&slows), [(408, SLOW)].into());
    let lines: String = (0..10_000).map(|n| format!("X-{n}: 1\r\n")).collect();
    assert_eq!(server.raw(&head(&lines)).0, 431);
    let gzip = server.raw(&head("Content-Encoding: gzip\r\nContent-Length: 2\r\n"));
    assert_eq!(gzip.0, 415);
    assert!(grew <= 64, "{grew} MiB");
    if quiet() {
        assert!(longest <= Duration::from_millis(100), "{longest:?}");
    }
}
