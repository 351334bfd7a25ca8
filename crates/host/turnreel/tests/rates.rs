//! How much one sender may send, and that a sender which is told to wait loses nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, PROGRAM, Server, chunks, make_token};
use serde_json::{Value, json};

fn pipe(data: &Path, more: &[&str], input: &str) -> Output {
    let mut child = Command::new(PROGRAM)
        .args(["pipe", "--data"])
        .arg(data)
        .args(more)
        .env_remove("TURNREEL_ENDPOINT")
        .env_remove("TURNREEL_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn lines(n: u64) -> String {
    let line = |n: u64| {
        json!({"id": format!("e{n}"), "timestamp": n, "sessionId": "s1", "type": "assistant_chunk",
            "responseId": "r1", "payload": {"text": "x"}})
        .to_string()
            + "\n"
    };
    (1..=n).map(line).collect()
}

#[test]
fn a_flood_is_told_to_wait_and_others_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--rate", "10", "--burst", "200"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let (mut n_taken, mut n_refused) = (0, 0);
    let started = Instant::now();
    for n in 0..100 {
        let batch = chunks(n * 20 + 1, n * 20 + 20);
        let (status, answer) = server.post("s1", &batch);
        match status {
            200 => n_taken += 20,
            429 => {
                n_refused += 1;
                let wait_ms = answer["error"]["retryAfterMs"].as_u64().unwrap();
                assert!((1..=2000).contains(&wait_ms), "{answer}");
            }
            other => panic!("{other}: {answer}"),
        }
    }
    let most = 200.0 + started.elapsed().as_secs_f64() * 10.0 + 20.0;
    assert!(f64::from(n_taken) <= most, "{n_taken} were taken");
    assert!(n_refused > 0);
    assert_eq!(server.all("s1", 1000).len(), n_taken as usize);
    // The server's own token is what all agents here send with: another session has its own share.
    assert_eq!(server.post("s2", &chunks(1, 20)).0, 200);
    // A token that was made has one, whichever sessions it sends to.
    let token = make_token(&server, &["--scope", "ingest"]);
    let body = chunks(1, 200).to_string();
    let post = |session: &str| {
        let path = format!("/api/v1/sessions/{session}/events");
        server.ask("POST", &path, &token, &body).0
    };
    assert_eq!((post("s3"), post("s4")), (200, 429));
}

#[test]
fn what_is_no_batch_costs_too() {
    let dir = tempfile::tempdir().unwrap();
    // So slow that a busy machine does not outwait it.
    let more = ["--no-examples", "--rate", "1", "--burst", "10"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let bad = || server.post_text("/api/v1/sessions/s5/events", "{nope").0;
    let statuses: Vec<u16> = (0..60).map(|_| bad()).collect();
    assert!(
        statuses.contains(&400) && statuses.contains(&429),
        "{statuses:?}"
    );
}

#[test]
fn a_pipe_that_is_told_to_wait_waits_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--rate", "1000", "--burst", "1000"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let output = pipe(dir.path(), &["--wait", "60"], &lines(3500));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let all = server.all("s1", 1000);
    let expected: Vec<_> = (1..=3500).map(|n| (n, format!("e{n}"))).collect();
    assert_eq!(all, expected);
    let spool = std::fs::read_dir(dir.path().join("spool")).unwrap();
    assert_eq!(spool.count(), 0);
}

/// A server that refuses in every way that passes, then takes what is sent.
#[test]
fn what_is_refused_for_now_is_sent_again_with_the_same_ids() {
    let dir = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let refusals = [
        "429 Wait",
        "503 Later",
        "507 Full",
        "423 Locked",
        "408 Slow",
    ];
    let serving = std::thread::spawn(move || {
        let mut bodies: Vec<(Instant, Value)> = Vec::new();
        while bodies.len() <= refusals.len() {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() == 0 || line == "\r\n" {
                    break;
                }
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            if length == 0 || reader.read_exact(&mut body).is_err() {
                continue;
            }
            let status = refusals.get(bodies.len());
            bodies.push((Instant::now(), serde_json::from_slice(&body).unwrap()));
            let answer = match status {
                Some(_) => r#"{"error":{"code":"x","message":"later","retryAfterMs":300}}"#,
                None => r#"{"epoch":"e","dups":0,"durable":"written","results":[]}"#,
            };
            let status = status.unwrap_or(&"200 OK");
            let text = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}",
                answer.len()
            );
            reader.get_mut().write_all(text.as_bytes()).unwrap();
        }
        bodies
    });
    let more = ["--wait", "30", "--endpoint", &url, "--token", "t"];
    let output = pipe(dir.path(), &more, &lines(3));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let bodies = serving.join().unwrap();
    assert_eq!(bodies[0].1.as_array().unwrap().len(), 3);
    for pair in bodies.windows(2) {
        assert_eq!(pair[0].1, pair[1].1);
        // The input had ended long before: the wait holds all the same.
        let waited = pair[1].0 - pair[0].0;
        assert!(waited >= Duration::from_millis(300), "{waited:?}");
    }
}

#[test]
fn what_a_server_does_not_take_in_time_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--rate", "1", "--burst", "1000"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    server.post("s1", &chunks(5001, 6000));
    let output = pipe(dir.path(), &["--wait", "0"], &lines(1000));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("they wait in"), "{said}");
    drop(server);
    let server = Server::start(dir.path());
    support::soon("what waited is taken in", || {
        server.all("s1", 1000).len() == 2000
    });
}

#[test]
fn what_a_sandbox_s_limit_refuses_costs_its_sender_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let more = [
        "--no-examples",
        "--rate",
        "1",
        "--burst",
        "40",
        "--sandbox-rate",
        "5",
    ];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let token = make_token(&server, &["--scope", "ingest"]);
    let report = |n: u64| {
        let body = json!({"event_type": "info", "event_id": format!("e{n}"), "message": "x"});
        let path = "/api/v1/sandbox/task/t1/progress";
        server.ask("POST", path, &token, &body.to_string()).0
    };
    let statuses: Vec<u16> = (0..60).map(report).collect();
    assert_eq!(statuses[..5], [200; 5]);
    assert!(statuses[5..].contains(&429), "{statuses:?}");
    let n_taken = statuses.iter().filter(|status| **status == 200).count() as u64;
    let body = chunks(1, 40 - n_taken).to_string();
    let path = "/api/v1/sessions/s1/events";
    let (status, answer) = server.ask("POST", path, &token, &body);
    assert_eq!(status, 200, "{answer}");
}
