//! Logs that are there when the server starts: many, and a long one.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use chat_store::{Options, SessionId, Store, SyncPolicy};
use serde_json::{Value, json};

use super::readers::Socket;
use super::report::{Report, Target};
use super::workload::Workload;
use crate::support::Server;

const SESSIONS: usize = 10_000;
const EVENTS_A_SESSION: usize = 30;
const LOG_BYTES: u64 = 1 << 30;

/// Each row of the list has it once, near its end; within texts the quotes are escaped.
const ROW_END: &[u8] = b"\"epoch\":\"";

/// How often the cheap ones are measured.
const TIMES: usize = 5;

fn store(dir: &Path) -> Store {
    let sync = SyncPolicy::Never;
    let options = Options {
        sync,
        ..Options::default()
    };
    Store::open(dir, options).unwrap()
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// A new server on the folder, and how long it took until it says that it listens, in milliseconds.
fn started(dir: &Path) -> (Server, f64) {
    let began = Instant::now();
    let server = Server::start(dir);
    (server, ms(began))
}

pub(crate) fn measure_list() {
    let dir = tempfile::tempdir().unwrap();
    let began = Instant::now();
    make_sessions(dir.path());
    // Its first start makes the indexes.
    started(dir.path()).0.stop();
    println!("made {SESSIONS} sessions in {:?}", began.elapsed());

    let mut report = Report::new("list");
    let (mut start, mut cold, mut both, mut warm, mut paged) =
        (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..TIMES {
        let began = Instant::now();
        let (mut server, took) = started(dir.path());
        start.push(took);
        cold.push(list_by_socket(&server));
        both.push(ms(began));
        for _ in 0..TIMES {
            warm.push(list_by_socket(&server));
            paged.push(list_by_pages(&server));
        }
        server.stop();
    }
    let what = "from a new process's first request";
    report.tell(
        &format!("all 10,000 rows as the page asks for them, {what}"),
        "ms",
        Target::AtMost(100.0),
        &cold,
    );
    report.tell(
        "all 10,000 rows as the page asks for them, warm",
        "ms",
        Target::AtMost(100.0),
        &warm,
    );
    report.tell(
        "the same by ten pages of `GET /api/v1/sessions`, warm",
        "ms",
        Target::AtMost(100.0),
        &paged,
    );
    report.tell(
        "from the start of the process until it listens",
        "ms",
        Target::None,
        &start,
    );
    report.tell(
        "from the start of the process until all rows are there",
        "ms",
        Target::None,
        &both,
    );
    report.write();
}

/// Makes them in memory, where that can be: a new log is made durable at once, and ten thousand times that takes minutes.
fn make_sessions(dir: &Path) {
    let memory = Path::new("/dev/shm");
    let beside = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    let beside = beside.unwrap();
    let made = store(beside.path());
    for n in 0..SESSIONS {
        let id = SessionId::parse(&format!("s{n:05}")).unwrap();
        let mut workload = Workload::new(n as u64);
        let events = (0..EVENTS_A_SESSION).map(|_| workload.next()).collect();
        let session = made.session_or_new(&id).unwrap();
        session.append(events, false, 1_767_225_600_000).unwrap();
    }
    made.close();
    for entry in std::fs::read_dir(beside.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "jsonl") {
            std::fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// As the page does: a request that says whether it may, then a socket.
fn list_by_socket(server: &Server) -> f64 {
    let began = Instant::now();
    let (status, _) = get(server, "/api/v1/sessions?limit=1", "");
    assert_eq!(status, 200);
    let mut socket = Socket::open(server, &json!({"op": "open", "sub": 1, "session": "*"}));
    let mut buffer = vec![0; 256 * 1024];
    // What may be the beginning of the end of a row stays in front of what is read next.
    let (mut n_rows, mut kept) = (0, 0);
    while n_rows < SESSIONS {
        let end = kept + socket.read_raw(&mut buffer[kept..]);
        n_rows += memchr::memmem::find_iter(&buffer[..end], ROW_END).count();
        let rest = end.saturating_sub(ROW_END.len() - 1);
        buffer.copy_within(rest..end, 0);
        kept = end - rest;
    }
    ms(began)
}

fn list_by_pages(server: &Server) -> f64 {
    let began = Instant::now();
    let mut n_rows = 0;
    let mut after = String::new();
    loop {
        let (status, body) = get(server, &format!("/api/v1/sessions?after={after}"), "");
        assert_eq!(status, 200);
        n_rows += memchr::memmem::find_iter(&body, ROW_END).count();
        let end = String::from_utf8_lossy(&body[body.len().saturating_sub(100)..]).into_owned();
        let (_, next) = end.rsplit_once("\"next\":").unwrap();
        let Some(next) = next.strip_prefix('"') else {
            break;
        };
        next.split('"').next().unwrap().clone_into(&mut after);
    }
    assert_eq!(n_rows, SESSIONS);
    ms(began)
}

/// A request on a connection of its own, and its body as it came.
fn get(server: &Server, path: &str, more: &str) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{more}Connection: close\r\n\r\n",
        server.address(),
        server.token
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = memchr::memmem::find(&answer, b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&answer[9..12])
        .unwrap()
        .parse()
        .unwrap();
    (status, answer.split_off(end + 4))
}

pub(crate) fn measure_log() {
    let dir = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let made = store(dir.path());
    let id = SessionId::parse("s1").unwrap();
    let session = made.session_or_new(&id).unwrap();
    let mut workload = Workload::new(1);
    while session.condition().bytes < LOG_BYTES {
        let events = (0..1000).map(|_| workload.next()).collect();
        session.append(events, false, 1_767_225_600_000).unwrap();
    }
    let (bytes, events) = (session.condition().bytes, session.condition().events);
    drop(session);
    made.close();
    drop(made);
    println!(
        "made {events} events, {bytes} bytes in {:?}",
        began.elapsed()
    );

    let mut report = Report::new("log");
    let mut start = vec![];
    for (what, after) in [("first", 0), ("last", events - 1000)] {
        for (packed, more) in [
            ("", ""),
            (
                ", packed as for browsers",
                "Accept-Encoding: gzip, deflate, br\r\n",
            ),
        ] {
            let path = format!("/api/v1/sessions/s1/events?after={after}&limit=1000");
            let (mut cold, mut warm) = (vec![], vec![]);
            for _ in 0..TIMES {
                let (server, took) = started(dir.path());
                start.push(took);
                let first = Instant::now();
                let (status, body) = get(&server, &path, more);
                cold.push(ms(first));
                assert_eq!(status, 200);
                if more.is_empty() {
                    let page: Value = serde_json::from_slice(&body).unwrap();
                    assert_eq!(page["head"], events);
                    assert_eq!(page["events"][0]["seq"], after + 1);
                }
                for _ in 0..TIMES {
                    let again = Instant::now();
                    assert_eq!(get(&server, &path, more).0, 200);
                    warm.push(ms(again));
                }
            }
            let name = format!("the {what} page of a log of 1 GiB{packed}");
            let to = || Target::AtMost(100.0);
            report.tell(
                &format!("{name}, from a new process's first request"),
                "ms",
                to(),
                &cold,
            );
            report.tell(&format!("{name}, warm"), "ms", to(), &warm);
        }
    }
    report.tell(
        "from the start of the process until it listens, with its index",
        "ms",
        Target::None,
        &start,
    );
    let (mut rates, mut cpu) = (vec![], vec![]);
    for _ in 0..3 {
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "idx") {
                std::fs::remove_file(path).unwrap();
            }
        }
        let (server, took) = started(dir.path());
        rates.push(bytes as f64 / 1e6 / (took / 1e3));
        cpu.push(bytes as f64 / 1e3 / server.cpu_ms() as f64);
        let (_, page) = server.get("/api/v1/sessions/s1/events?limit=1");
        assert_eq!(page["head"], events);
        drop(server);
        std::thread::sleep(Duration::from_millis(200));
    }
    report.tell(
        "a log without its index, from the start of the process until it listens",
        "MB/s",
        Target::AtLeast(200.0),
        &rates,
    );
    report.tell(
        "the same by the time that the server itself had of the processors",
        "MB/s",
        Target::AtLeast(200.0),
        &cpu,
    );
    report.write();
}
