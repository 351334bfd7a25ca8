//! Much that is sent: batches, floods, and what is too large or never ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::sockets::open_to_all;
use super::{alone, full, percentile, quiet, rss_kib};
use crate::support::{Server, agent, chunks, make_token};

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
