//! How much one request may have, in which form, and how long it may take.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::support::inside::Inside;
use crate::support::{self, Server, chunks};

/// So many MiB of zeros, packed.
pub(super) fn gzip_of_zeros(n_mib: usize) -> Vec<u8> {
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let zeros = vec![0; 1024 * 1024];
    for _ in 0..n_mib {
        packing.write_all(&zeros).unwrap();
    }
    packing.finish().unwrap()
}

#[test]
fn packed_bodies_are_taken_where_that_is_asked_for_and_within_bounds() {
    let (off_dir, on_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let off = Server::start(off_dir.path());
    let on = Server::start_on(
        on_dir.path(),
        "127.0.0.1:0",
        &["--no-examples", "--gzip-bodies"],
    );
    let post = |server: &Server, packed: &[u8]| {
        let head = format!(
            "POST /api/v1/sessions/s1/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            server.address(),
            server.token,
            packed.len()
        );
        server.raw_bytes(&[head.as_bytes(), packed].concat()).0
    };
    let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packing
        .write_all(chunks(1, 50).to_string().as_bytes())
        .unwrap();
    let packed = packing.finish().unwrap();
    assert_eq!(post(&off, &packed), 415);
    assert_eq!(post(&on, &packed), 200);
    assert_eq!(on.all("s1", 100).len(), 50);
    assert_eq!(post(&on, &packed[..packed.len() - 9]), 400);
    // Within the limit, and beyond all proportion.
    assert_eq!(post(&on, &gzip_of_zeros(4)), 413);
    // What is packed otherwise is told what is taken there.
    for (server, said) in [
        (&on, "packed by gzip are taken"),
        (&off, "with `--gzip-bodies`"),
    ] {
        let more =
            "Content-Type: application/json\r\nContent-Encoding: br\r\nContent-Length: 2\r\n";
        let path = "/api/v1/sessions/s1/events";
        let (status, _, body) = server.exchange("POST", path, Some(&server.token), more, "[]");
        assert_eq!(status, 415);
        assert!(body.contains(said), "{body}");
    }
}

/// The status for who sends these parts with pauses and then nothing, where it is this one. A machine that stops for a moment
/// makes anybody slow or idle, and so it is tried again.
pub(super) fn slowly(parts: &[&str], expected: u16) -> Option<u16> {
    let mut answers = (0..10).map(|_| answer_to_slow(parts));
    answers.find(|status| *status == expected)
}

/// In this process, with shorter limits, so that nobody waits for half a minute.
fn answer_to_slow(parts: &[&str]) -> u16 {
    let server = Inside::start(turnreel::Settings {
        body_timeout_ms: 400,
        head_timeout_ms: 400,
        ..turnreel::Settings::default()
    });
    let address = server.address;
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    for part in parts {
        let part = part.replace("ADDRESS", &address.to_string());
        // Who is let go meanwhile cannot write any more.
        let _ = stream.write_all(part.as_bytes());
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let mut answer = Vec::new();
    if let Err(why) = stream.read_to_end(&mut answer) {
        assert_eq!(why.kind(), std::io::ErrorKind::ConnectionReset, "{why}");
    }
    server.stop();
    let answer = String::from_utf8(answer).unwrap();
    answer
        .split(' ')
        .nth(1)
        .map_or(0, |status| status.parse().unwrap())
}

#[test]
fn who_is_slow_is_told_so_and_who_is_idle_is_let_go() {
    assert_eq!(slowly(&["GET"], 408), Some(408));
    assert_eq!(slowly(&[""], 0), Some(0));
    let whole = "GET /healthz HTTP/1.1\r\nHost: ADDRESS\r\n\r\n";
    assert_eq!(slowly(&[whole], 200), Some(200));
}

#[test]
fn a_body_over_the_limit_and_one_that_is_no_json_are_refused_with_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let path = "/api/v1/sessions/s1/events";
    let (status, answer) = server.post_text(path, "[{\"id\":\"a\",\n  nope}]");
    assert_eq!(status, 400);
    assert_eq!(answer["error"]["code"], "bad_json");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("line 2 column 3"), "{message}");
    let many: Vec<u8> = vec![1; 1001];
    let (status, answer) = server.post_text(path, &serde_json::to_string(&many).unwrap());
    assert_eq!(
        (status, &answer["error"]["code"]),
        (413, &Value::from("too_large"))
    );
    let deep = format!("[{}{}]", "[".repeat(70), "]".repeat(70));
    let (status, answer) = server.post_text(path, &deep);
    assert_eq!(status, 400);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("nested deeper than 64"), "{message}");
    for session in ["..", "a%2Fb", "-rf", "CON.txt", "a%00b"] {
        let (status, _) = server.post_text(&format!("/api/v1/sessions/{session}/events"), "[]");
        assert!(
            status == 400 || status == 404 || status == 405,
            "{session}: {status}"
        );
    }
    assert_eq!(
        server.get("/api/v1/sessions").1["sessions"],
        Value::Array(Vec::new())
    );
}

#[test]
fn an_address_that_cannot_be_read_is_refused_in_the_words_of_all_refusals() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for (path, code) in [
        ("/api/v1/sessions?limit=-1", "bad_query"),
        ("/api/v1/sessions/s1/events?max_bytes=x", "bad_query"),
        ("/api/v1/sessions/%ff/events", "bad_path"),
    ] {
        let (status, answer) = server.get(path);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &code.into()),
            "{path}: {answer}"
        );
    }
    let (_, answer) = server.get("/api/v1/sessions?limit=-1");
    assert_eq!(
        answer["error"]["message"],
        "limit: invalid digit found in string"
    );
}
