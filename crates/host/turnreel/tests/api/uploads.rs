//! Long bodies that are sent: in pieces, slowly, and many at once.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::ingest::EVENTS;
use crate::support::{self, Server, chunks};

#[test]
fn bodies_are_uploaded_in_pieces_checked_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let body = vec![b'x'; 64 * 1024 * 1024];
    let sha256 = chat_store::sha256_hex(&body);
    let path = format!("/api/v1/blobs/{sha256}");
    let head = |path: &str| server.exchange("HEAD", path, Some(&server.token), "", "");
    assert_eq!(head(&path).0, 404);
    let before = most_memory(&server);
    assert_eq!(server.put_blob(&sha256, &body), 204);
    if let (Some(before), Some(after)) = (before, most_memory(&server)) {
        assert!(after - before < 24 * 1024, "{before} kB became {after} kB");
    }
    let (status, found, _) = head(&path);
    assert_eq!(status, 200);
    assert!(
        found.contains(&format!("content-length: {}", body.len())),
        "{found}"
    );
    let other = "0".repeat(64);
    assert_eq!(server.put_blob(&other, b"not its body"), 400);
    assert_eq!(server.put_blob("ABC", b""), 400);
    let announced = "Content-Length: 300000000\r\n";
    let (status, _, _) = server.exchange("PUT", &path, Some(&server.token), announced, "");
    assert_eq!(status, 413);
    // A client that leaves in the middle leaves nothing.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let request = format!(
        "PUT /api/v1/blobs/{other} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 1000\r\n\r\nhalf",
        server.address(),
        server.token
    );
    stream.write_all(request.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    drop(stream);
    support::soon("what was half written is gone", || {
        let left = std::fs::read_dir(dir.path().join("blobs")).unwrap();
        let is_new = |name: std::ffi::OsString| name.to_string_lossy().starts_with(".new");
        left.flatten().all(|entry| !is_new(entry.file_name()))
    });
}

#[test]
fn who_uploads_slowly_leaves_room_for_others() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let slow = support::make_token(&server, &["--scope", "ingest"]);
    let other = support::make_token(&server, &["--scope", "ingest"]);
    let begin = |nth: usize, token: &str| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let request = format!(
            "PUT /api/v1/blobs/{nth:064x} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: 1000\r\n\r\nhalf",
            server.address(),
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let n_begun = || {
        let begun = std::fs::read_dir(dir.path().join("blobs")).unwrap();
        let names = begun.flatten().map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(".new"))
            .count()
    };
    // As many as one token may have, and as many of the server's own.
    let of_token: Vec<_> = (0..16).map(|nth| begin(nth, &slow)).collect();
    let own: Vec<_> = (16..32).map(|nth| begin(nth, &server.token)).collect();
    support::soon("all of them have begun", || n_begun() == 32);
    let body = b"a body";
    let path = format!("/api/v1/blobs/{}", chat_store::sha256_hex(body));
    let length = "Content-Length: 6\r\n";
    let put = |token: &str| {
        server
            .exchange("PUT", &path, Some(token), length, "a body")
            .0
    };
    assert_eq!(put(&slow), 503);
    assert_eq!((put(&other), put(&server.token)), (204, 204));
    drop((of_token, own));
    support::soon("what was begun is gone", || n_begun() == 0);
    assert_eq!(put(&slow), 204);
}

/// The most memory the server ever had, in kB; `None` where the system does not say.
fn most_memory(server: &Server) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn many_large_bodies_at_once_are_held_within_one_bound() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let piece = vec![b' '; 7 * 1024 * 1024];
    let head = format!(
        "POST {EVENTS} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address(),
        server.token,
        8 * 1024 * 1024
    );
    let (answered, n_refused) = (AtomicBool::new(false), AtomicUsize::new(0));
    // Who has room keeps it until the others were refused, however long that takes; it is less than a body may take.
    let is_over = |waited: Duration| {
        let is_seen = answered.load(Ordering::Relaxed) && n_refused.load(Ordering::Relaxed) >= 6;
        waited >= Duration::from_secs(if is_seen { 4 } else { 25 })
    };
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let sending: Vec<_> = (0..24)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = TcpStream::connect(server.address()).unwrap();
                    let timeout = Duration::from_millis(250);
                    stream.set_read_timeout(Some(timeout)).unwrap();
                    // Most of it, and then nothing; who is refused may be cut off in the middle.
                    let _ = stream.write_all(head.as_bytes());
                    let _ = stream.write_all(&piece);
                    let began = Instant::now();
                    let mut answer = [0; 12];
                    let n = loop {
                        match stream.read(&mut answer) {
                            Ok(n) => break n,
                            Err(why) if support::is_timeout(&why) && !is_over(began.elapsed()) => {}
                            Err(_) => break 0,
                        }
                    };
                    let answer = String::from_utf8_lossy(&answer[..n]);
                    let status: u16 = answer
                        .get(9..12)
                        .map_or(0, |status| status.parse().unwrap());
                    if status == 503 {
                        n_refused.fetch_add(1, Ordering::Relaxed);
                    }
                    status
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        // It does not wait for any of them: those that have room stay for longer than this.
        let asked = Instant::now();
        assert_eq!(server.get("/healthz").0, 200);
        assert!(
            asked.elapsed() < Duration::from_secs(15),
            "{:?}",
            asked.elapsed()
        );
        answered.store(true, Ordering::Relaxed);
        sending.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let refused = statuses.iter().filter(|status| **status == 503).count();
    // Nine have room; of the others some may be cut off before they hear why.
    assert!(refused >= 6, "{statuses:?}");
    if let Some(most) = most_memory(&server) {
        assert!(most < 140 * 1024, "{most} kB");
    }
    // And then there is room again.
    support::soon("room again", || server.post("s1", &chunks(1, 1)).0 == 200);
}
