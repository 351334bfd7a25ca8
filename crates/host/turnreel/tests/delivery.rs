//! What followers get: every event once and in the log's order, whatever its tier, however often the line breaks, and
//! whoever else does not read.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use support::cutter::Cutter;
use support::{Server, Socket, chunks, seq_and_id};

/// Event `n`: all tiers in turn, by a rule that has no period of the batches.
fn mixed(n: u64) -> Value {
    let (kind, payload) = match n * 7 % 11 {
        0 => ("assistant_done", json!({"text": format!("Done {n}")})),
        1..=3 => ("assistant_chunk", json!({"text": format!("word {n} ")})),
        4 => ("progress", json!({"message": "Half way", "percent": 50})),
        5 => {
            let edit = json!({"toolCallId": "t", "filePath": "a.rs", "changeType": "modified", "diffPreview": "+x"});
            ("file_edit", edit)
        }
        6 | 7 => {
            let args = json!({"path": "x".repeat(n as usize % 6000)});
            (
                "tool_call",
                json!({"toolCallId": n.to_string(), "toolName": "Read", "args": args}),
            )
        }
        8 => {
            let error = json!({"message": "it failed"});
            (
                "tool_result",
                json!({"toolCallId": n.to_string(), "result": null, "error": error}),
            )
        }
        9 => ("something_new", json!({"n": n})),
        _ => (
            "tool_result",
            json!({"toolCallId": n.to_string(), "result": "ok"}),
        ),
    };
    json!({"id": format!("e{n}"), "timestamp": n, "type": kind, "payload": payload})
}

#[test]
fn ten_thousand_events_of_all_tiers_come_in_the_logs_order() {
    const EVENTS: u64 = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(0, 0));
    let mut socket = server.socket();
    socket.open(1, "s1", None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut first = 1;
            let sizes = [1, 2, 100, 17, 250, 5, 60].into_iter().cycle();
            for size in sizes {
                let last = (first + size - 1).min(EVENTS);
                let batch: Value = (first..=last).map(mixed).collect();
                assert_eq!(server.post("s1", &batch).0, 200);
                if last == EVENTS {
                    break;
                }
                first = last + 1;
            }
        });
        // It checks that each frame begins where the last one ended.
        let got = socket.events(2, EVENTS + 1);
        let expected: Vec<_> = (1..=EVENTS).map(|n| (n + 1, format!("e{n}"))).collect();
        assert!(got == expected, "the order is another");
    });
}

/// What the founding document calls heavy coding: 50 to 100 calls a minute, 150 to 300 events, in a third of the frames.
#[test]
fn heavy_coding_takes_a_third_of_the_frames() {
    const STEPS: u64 = 4;
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(0, 0));
    let mut socket = server.socket();
    socket.open(1, "s1", None);
    let mut n_events = 0;
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let (mut n_frames, mut last) = (0, 0);
            while last < STEPS * 8 + 2 {
                let frame = socket.next();
                last = frame["to"].as_u64().unwrap();
                n_frames += 1;
            }
            n_frames
        });
        let mut post = |id: String, kind: &str, payload: Value| {
            n_events += 1;
            let event = json!([{"id": id, "timestamp": 1, "type": kind, "payload": payload}]);
            assert_eq!(server.post("s1", &event).0, 200);
        };
        let pause = |ms| std::thread::sleep(Duration::from_millis(ms));
        // A step: three calls at once, their results as they come, and what it cost.
        for step in 0..STEPS {
            let call = |n| format!("{step}-{n}");
            for n in 0..3 {
                let payload = json!({"toolCallId": call(n), "toolName": "Read", "args": {}});
                post(format!("c{}", call(n)), "tool_call", payload);
            }
            for n in 0..3 {
                pause(60);
                let payload = json!({"toolCallId": call(n), "result": "ok"});
                post(format!("r{}", call(n)), "tool_result", payload);
            }
            post(format!("p{step}"), "progress", json!({"message": "On"}));
            let usage = json!({"scope": "response", "inputTokens": 1, "outputTokens": 1});
            post(format!("u{step}"), "usage", usage);
            pause(1000);
        }
        post("end".to_owned(), "turn_end", json!({}));
        let n_frames: u64 = reading.join().unwrap();
        println!("{n_events} events in {n_frames} frames");
        assert!(
            n_events >= 3 * n_frames,
            "{n_events} events, {n_frames} frames"
        );
    });
}

#[test]
fn one_of_twenty_that_does_not_read_changes_nothing_for_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(0, 0));
    let open = |_| {
        let mut socket = server.socket();
        socket.open(1, "s1", None);
        socket
    };
    let mut readers: Vec<Socket> = (0..19).map(open).collect();
    let mut stalled = open(0);
    // Each batch is more than a frame, and all are more than the ring and what the system holds for a socket.
    let text = "x".repeat(18_000);
    for batch in 0..8u64 {
        let first = 2 + batch * 100;
        let events: Value = (first..first + 100)
            .map(|n| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_done", "payload": {"text": text}}))
            .collect();
        assert_eq!(server.post("s1", &events).0, 200);
        std::thread::scope(|scope| {
            for reader in &mut readers {
                scope.spawn(move || assert_eq!(reader.events(first, first + 99).len(), 100));
            }
        });
    }
    // It has what fitted, and then it is told; or it was let go, where the machine was slow.
    loop {
        match stalled.try_next() {
            Some(frame) if frame["op"] == "ev" => {}
            Some(frame) => {
                assert_eq!(frame, json!({"op": "lag", "sub": 1, "head": 801}));
                break;
            }
            None => break,
        }
    }
}

/// The events that a client has, in the order it took them.
#[derive(Default)]
struct Client {
    taken: Vec<(u64, String)>,
}

impl Client {
    fn last(&self) -> u64 {
        self.taken.last().map_or(0, |(seq, _)| *seq)
    }

    /// Takes events that follow those it has; what it has already is cut off, and a hole fails.
    fn take<'e>(&mut self, events: impl Iterator<Item = &'e Value>) {
        for (seq, id) in events.map(seq_and_id) {
            if seq > self.last() {
                assert_eq!(seq, self.last() + 1, "a hole");
                self.taken.push((seq, id));
            }
        }
    }

    /// One connection, from `open` until the last event or the cut.
    fn follow(
        &mut self,
        server: &Server,
        (address, session, epoch): (&str, &str, &str),
        last: u64,
        opened: &mut dyn FnMut(),
    ) -> Option<()> {
        let mut socket = server.socket_over(address)?;
        let open = json!({"op": "open", "sub": 1, "session": session, "epoch": epoch, "after": self.last()});
        socket
            .socket
            .send(tungstenite::Message::text(open.to_string()))
            .ok()?;
        let hello = socket.try_next()?;
        assert_eq!(hello["op"], "hello");
        opened();
        if hello["resume"] == "behind" {
            let path = format!("/api/v1/sessions/{session}/events?after={}", self.last());
            self.take(server.get(&path).1["events"].as_array().unwrap().iter());
        } else {
            assert_eq!(hello["resume"], "ok", "{hello}");
        }
        while self.last() < last {
            let frame = socket.try_next()?;
            assert_eq!(frame["op"], "ev", "{frame}");
            let events = frame["e"].as_array().unwrap();
            let from = frame["from"].as_u64().unwrap();
            assert!(from <= self.last() + 1, "a hole before {from}");
            assert_eq!(
                events.len() as u64,
                frame["to"].as_u64().unwrap() + 1 - from
            );
            self.take(events.iter());
        }
        Some(())
    }
}

/// Sends three batches to clients of which each is cut off behind another byte. The bytes that an uncut one was sent.
fn cut_round(server: &Server, session: &str, cuts: &[usize]) -> usize {
    let (_, answer) = server.post(session, &chunks(1, 1));
    let epoch = answer["epoch"].as_str().unwrap();
    let expected: Vec<_> = (1..=7).map(|n| (n, format!("e{n}"))).collect();
    let (opened, all_opened) = mpsc::channel();
    let mut most = 0;
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for &at in cuts {
            let opened = opened.clone();
            clients.push(scope.spawn(move || {
                let cutter = Cutter::new(&server.address(), at);
                let mut client = Client {
                    taken: vec![(1, "e1".to_owned())],
                };
                let mut told = false;
                let mut tell = || {
                    if !std::mem::replace(&mut told, true) {
                        opened.send(()).unwrap();
                    }
                };
                let whole = client.follow(server, (&cutter.address, session, epoch), 7, &mut tell);
                // One that was cut off before it was heard waits for nothing either.
                tell();
                if whole.is_none() {
                    let again = (server.address(), client.last());
                    let resumed = client.follow(server, (&again.0, session, epoch), 7, &mut || {});
                    assert!(resumed.is_some(), "cut at {at}, had {}", again.1);
                }
                (at, client.taken, cutter.carried.load(Ordering::Relaxed))
            }));
        }
        for _ in cuts {
            all_opened.recv().unwrap();
        }
        for first in [2, 4, 6] {
            // Urgent ones: each batch is a frame.
            let batch: Value = (first..first + 2)
                .map(|n| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_done", "payload": {"text": "Hi"}}))
                .collect();
            assert_eq!(server.post(session, &batch).0, 200);
        }
        for client in clients {
            let (at, taken, carried) = client.join().unwrap();
            assert_eq!(taken, expected, "cut at {at}");
            most = most.max(carried);
        }
    });
    most
}

#[test]
fn a_cut_behind_any_byte_loses_nothing_and_repeats_nothing() {
    const AT_ONCE: usize = 64;
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let whole = cut_round(&server, "whole", &[usize::MAX]);
    assert!(whole > 800, "{whole} bytes");
    let cuts: Vec<usize> = (0..whole).collect();
    let mut n_cuts = BTreeMap::new();
    for (round, cuts) in cuts.chunks(AT_ONCE).enumerate() {
        let carried = cut_round(&server, &format!("r{round:04}"), cuts);
        n_cuts.insert(round, carried);
    }
    println!(
        "cut behind each of {whole} bytes, in {} rounds",
        n_cuts.len()
    );
}
