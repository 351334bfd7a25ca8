//! Readers that read nothing, and how soon the others are told.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{alone, full, percentile, quiet, rss_kib};
use crate::support::{Server, Socket, chunks, figure, seq_and_id};

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
