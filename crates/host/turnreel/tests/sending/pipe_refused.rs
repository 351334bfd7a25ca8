//! What a pipe sends where the server refuses it, cannot be reached, or takes nothing.

use std::io::{Read, Write};
use std::time::Duration;

use super::pipe::{PATIENT, SMALL, run, spooled, start};
use crate::support::{self, Server, command, soon};

#[test]
fn the_token_is_read_from_the_file_that_is_named() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(dir.path());
    let file = dir.path().join("token");
    let named = [
        "--endpoint",
        &server.url,
        "--token-file",
        file.to_str().unwrap(),
        "--wait",
        "60",
    ];
    let output = run(other.path(), &named, SMALL.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(server.all("s1", 10).len(), 3);
}

#[test]
fn one_event_over_the_servers_limit_arrives_with_its_body_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let body = "0123456789abcdef".repeat(700_000);
    let line = format!(
        r#"{{"id":"big","timestamp":1,"sessionId":"s1","type":"tool_result","payload":{{"toolCallId":"t","result":"{body}"}}}}"#
    );
    let output = run(dir.path(), &PATIENT, format!("{line}\n").as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let (status, whole) = server.get("/api/v1/sessions/s1/events/big/full");
    assert_eq!(status, 200);
    assert_eq!(
        whole["payload"]["result"].as_str().map(str::len),
        Some(body.len())
    );
}

#[test]
fn a_wrong_token_and_a_far_endpoint_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let output = run(
        dir.path(),
        &["--token", "wrong", "--wait", "1"],
        SMALL.as_bytes(),
    );
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("401"), "{said}");
    assert!(said.contains("they wait in"), "{said}");
    drop(server);
    let output = run(dir.path(), &["--endpoint", "https://example.org"], b"");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("https"), "{said}");
}

#[test]
fn what_a_token_of_another_session_cannot_send_waits_for_one_that_can() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let token = support::make_token(&server, &["--scope", "ingest", "--session", "s2"]);
    let more = ["--token", &token, "--wait", "1"];
    let output = run(dir.path(), &more, SMALL.as_bytes());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("404"), "{said}");
    assert!(said.contains("they wait in"), "{said}");
    assert_eq!(spooled(dir.path()), 1);
    assert!(run(dir.path(), &[], b"").stdout.is_empty());
    soon("it is sent with the server's own", || {
        spooled(dir.path()) == 0
    });
    assert_eq!(server.all("s1", 10).len(), 3);
}

#[test]
fn what_the_server_refuses_is_kept_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let event = |id: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":1,"sessionId":"s1","type":"user_message","payload":{{"text":"{text}"}}}}"#
        ) + "\n"
    };
    run(dir.path(), &PATIENT, event("a", "One").as_bytes());
    let other = event("a", "Other");
    let refused = [other.clone(), event("b", "Two") + &other];
    for (n, input) in refused.iter().enumerate() {
        let output = run(dir.path(), &PATIENT, input.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("1 event is not in the session"), "{said}");
        // Once, however it is found out.
        let told = "1 event of s1 stood there in other words: another source tells of this session";
        assert!(said.contains(told), "{said}");
        assert!(!said.contains("could not send"), "{said}");
        let kept = dir.path().join("spool/refused/s1.jsonl");
        assert!(said.contains(&kept.display().to_string()), "{said}");
        let kept = std::fs::read_to_string(kept).unwrap();
        assert_eq!(kept.matches(r#""text":"Other""#).count(), n + 1, "{kept}");
    }
    assert_eq!(server.all("s1", 10).len(), 2);
    assert_eq!(spooled(dir.path()), 0);
    // What waits for a server to start is not lost either.
    drop(server);
    run(dir.path(), &["--wait", "0"], other.as_bytes());
    let server = Server::start(dir.path());
    soon("it is taken in", || spooled(dir.path()) == 0);
    let kept = std::fs::read_to_string(dir.path().join("spool/refused/s1.jsonl")).unwrap();
    assert_eq!(kept.matches(r#""text":"Other""#).count(), 3, "{kept}");
    assert_eq!(server.all("s1", 10).len(), 2);
}

/// It asks to wait each time, and takes nothing.
#[test]
fn a_server_that_can_take_nothing_is_not_waited_for_longer_than_asked() {
    for status in ["507 Full", "503 Later"] {
        let dir = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        // Ends with the test's process.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut piece = [0; 4096];
                let _ = stream.read(&mut piece);
                let answer = format!(
                    "HTTP/1.1 {status}\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let more = ["--wait", "3", "--endpoint", &url, "--token", "t"];
        let mut child = start(dir.path(), &more);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(SMALL.as_bytes()).unwrap();
        drop(stdin);
        assert!(support::wait_for(&mut child, Duration::from_secs(40)).success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("they wait in"), "{said}");
    }
}

/// An agent is not to be stopped because its events cannot be kept.
#[test]
fn what_cannot_be_kept_is_passed_on_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(
        dir.path(),
        &["--endpoint", "https://feed.example.org"],
        SMALL.as_bytes(),
    );
    assert_eq!(command::text(&output.stdout), SMALL);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        command::text(&output.stderr).contains("all is passed on: "),
        "{output:?}"
    );
}
