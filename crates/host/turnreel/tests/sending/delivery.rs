//! What followers get: every event once and in the log's order, whatever its tier, and whoever else does not read. Lines
//! that break are for `chaos.rs`.

use std::time::{Duration, Instant};

use crate::support::{Server, Socket, chunks};
use serde_json::{Value, json};

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
    let mut n_events: u64 = 0;
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
        // A step that takes longer than it should is told in so many more frames: one for each window, and one at its end.
        let mut n_windows: u64 = 1;
        // A step: three calls at once, their results as they come, and what it cost.
        for step in 0..STEPS {
            let began = Instant::now();
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
            n_windows += began.elapsed().as_millis() as u64 / 500 + 2;
            pause(1000);
        }
        post("end".to_owned(), "turn_end", json!({}));
        let n_frames: u64 = reading.join().unwrap();
        println!("{n_events} events in {n_frames} frames");
        assert!(
            n_frames <= n_windows.max(n_events / 3),
            "{n_events} events, {n_frames} frames, {n_windows} windows"
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
