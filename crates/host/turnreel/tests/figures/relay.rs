//! One session, to which much comes, and its readers.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::readers;
use super::report::{Report, Target};
use super::workload::Workload;
use crate::support::Server;

const A_SECOND: u64 = 20_000;
const READERS: usize = 100;

/// Events of one request: fewer are more requests, and more frames.
const BATCH: u64 = 100;
const BATCHES_A_SECOND: u64 = A_SECOND / BATCH;

/// Not measured: buffers find their size.
const WARM_UP_S: u64 = 2;
const WINDOW_S: u64 = 10;
const WINDOWS: u64 = 3;

pub(crate) fn measure() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let n_batches = (WARM_UP_S + WINDOW_S * WINDOWS) * BATCHES_A_SECOND;
    let mut workload = Workload::new(1);
    let requests: Vec<Vec<u8>> = (0..n_batches)
        .map(|_| request(&server, &mut workload))
        .collect();
    let n_bytes: usize = requests.iter().map(Vec::len).sum();
    let first = serde_json::json!([workload.next()]);
    assert_eq!(server.post("s1", &first).0, 200);
    let before = server.memory_kib("VmHWM:");
    let mut report = Report::new("relay");

    let start: OnceLock<Instant> = OnceLock::new();
    let due_of = |batch: u64| {
        let start = start.get()?;
        Some(*start + Duration::from_micros(batch * 1_000_000 / BATCHES_A_SECOND))
    };
    // The first event is not one of the batches.
    let due = |seq: u64| {
        let batch = (seq - 2) / BATCH;
        (batch >= WARM_UP_S * BATCHES_A_SECOND).then(|| due_of(batch))?
    };
    let send = || {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut windows = Vec::new();
        for (batch, request) in (0..).zip(&requests) {
            let left = due_of(batch)
                .unwrap()
                .saturating_duration_since(Instant::now());
            std::thread::sleep(left);
            if batch % BATCHES_A_SECOND == 0 {
                windows.push((Instant::now(), server.cpu_ms()));
            }
            stream.write_all(request).unwrap();
            read_answer(&mut stream);
        }
        windows.push((Instant::now(), server.cpu_ms()));
        windows
    };
    let last = 1 + n_batches * BATCH;
    let (seen, seconds) = std::thread::scope(|scope| {
        let sending = OnceLock::new();
        let began = || {
            start
                .set(Instant::now() + Duration::from_millis(100))
                .unwrap();
            assert!(sending.set(scope.spawn(send)).is_ok());
        };
        let seen = readers::follow(&server, "s1", READERS, last, &due, &began);
        (seen, sending.into_inner().unwrap().join().unwrap())
    });

    let window = |n: u64| {
        let at = |n: u64| seconds[(WARM_UP_S + n * WINDOW_S) as usize];
        let ((from, cpu_from), (to, cpu_to)) = (at(n), at(n + 1));
        let wall_ms = to.duration_since(from).as_secs_f64() * 1e3;
        let events_a_second = (A_SECOND * WINDOW_S) as f64 / wall_ms * 1e3;
        (
            (cpu_to - cpu_from) as f64 / wall_ms * 100.0,
            events_a_second,
        )
    };
    let (cpu, rate): (Vec<f64>, Vec<f64>) = (0..WINDOWS).map(window).unzip();
    let lost = (READERS as u64 * n_batches * BATCH - seen.n_events) as f64;
    let grew = (server.memory_kib("VmHWM:") - before) as f64 / 1024.0;
    report.tell(
        "CPU of the server, 20,000 events/s of one session to 100 readers",
        "% of a core",
        Target::AtMost(100.0),
        &cpu,
    );
    report.tell("events lost", "events", Target::AtMost(0.0), &[lost]);
    report.tell(
        "events taken",
        "events/s",
        Target::AtLeast(A_SECOND as f64 * 0.99),
        &rate,
    );
    for percent in [50, 95, 99] {
        let what =
            format!("from when an event is due at the sender until it is at a reader, p{percent}");
        report.tell(&what, "ms", Target::None, &[seen.percentile_ms(percent)]);
    }
    let mean = seen.n_events as f64 / seen.n_frames as f64;
    report.tell(
        "events of a frame, on average",
        "events",
        Target::None,
        &[mean],
    );
    report.tell(
        "readers that were too slow and read on by pages",
        "times",
        Target::None,
        &[seen.n_lags as f64],
    );
    let event_bytes = n_bytes as f64 / (n_batches * BATCH) as f64;
    report.tell(
        "an event as it is sent, on average",
        "bytes",
        Target::None,
        &[event_bytes],
    );
    report.tell(
        "memory above that of an idle server, at most",
        "MiB",
        Target::None,
        &[grew],
    );
    report.write();
}

/// A request with the next events.
fn request(server: &Server, workload: &mut Workload) -> Vec<u8> {
    let events: Vec<String> = (0..BATCH).map(|_| workload.next().to_line()).collect();
    let body = format!("[{}]", events.join(","));
    let head = format!(
        "POST /api/v1/sessions/s1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address(),
        server.token,
        body.len()
    );
    [head, body].concat().into_bytes()
}

fn read_answer(stream: &mut TcpStream) {
    let mut answer = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "the server closed the sender's connection");
        answer.extend_from_slice(&piece[..n]);
        let Some(end) = answer.windows(4).position(|it| it == b"\r\n\r\n") else {
            continue;
        };
        let head = std::str::from_utf8(&answer[..end])
            .unwrap()
            .to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        let (_, length) = head.split_once("content-length: ").unwrap();
        let length: usize = length.split('\r').next().unwrap().parse().unwrap();
        if answer.len() >= end + 4 + length {
            return;
        }
    }
}
