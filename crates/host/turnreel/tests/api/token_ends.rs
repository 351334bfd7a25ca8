//! Tokens that end while somebody is connected with them, and sockets that nobody is behind any more.

use serde_json::json;

use super::tokens::text;
use crate::support::events::Stream;
use crate::support::inside::Inside;
use crate::support::{self, Server, chunks, command, make_token, soon, token_command};

#[test]
fn who_follows_by_a_token_that_is_taken_back_is_told_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let token = make_token(&server, &["--scope", "read", "--label", "follower"]);
    let events = "/api/v1/sessions/s1/events";
    let paths = [
        "sse?after=head",
        "sse?after=head&format=agent",
        "opencode/event",
    ];
    let mut streams = paths.map(|path| {
        let path = format!("/api/v1/sessions/s1/{path}");
        let mut stream = Stream::open(&server.address(), &token, &path, None);
        assert_eq!(stream.status, 200, "{path}");
        stream.next();
        stream
    });
    let mut sockets = ["s1", "*"].map(|session| {
        let mut socket = server.socket_with(&token);
        socket.open(1, session, None);
        socket
    });
    let list = text(&token_command(dir.path(), "list", &[]));
    let id = list.split('\t').next().unwrap();
    assert!(token_command(dir.path(), "revoke", &[id]).status.success());
    assert_eq!(server.ask("GET", events, &token, "").0, 401);
    let secret = json!([{"id": "after", "timestamp": 2, "type": "user_message", "turnId": "t", "payload": {"text": "a secret"}}]);
    assert_eq!(server.post("s1", &secret).0, 200);
    for stream in &mut streams {
        let said = std::iter::from_fn(|| stream.next());
        let said: Vec<_> = said.map(|news| news.data.to_string()).collect();
        assert!(!said.iter().any(|said| said.contains("secret")), "{said:?}");
    }
    for socket in &mut sockets {
        assert_eq!(socket.close_code(), Some(4001));
    }
}

#[test]
fn a_socket_ends_with_its_token_and_a_token_has_so_many() {
    let server = Inside::start(turnreel::Settings {
        heartbeat_ms: 200,
        sockets_per_token: 2,
        ..turnreel::Settings::default()
    });
    let lasting = server.make_token(&[]);
    let mut opened = None;
    // On a busy machine a token may be over before it is used.
    soon("there is one with a token that ends soon", || {
        let token = server.make_token(&["--expires", "3s"]);
        opened = server.connect(&token).ok();
        opened.is_some()
    });
    let first = server.connect(&lasting).unwrap();
    let second = server.connect(&lasting).unwrap();
    let refused = server.connect(&lasting).unwrap_err();
    assert!(refused.contains("429"), "{refused}");
    drop(second);
    soon("the seat is free again", || {
        server.connect(&lasting).is_ok()
    });
    drop(first);
    let socket = opened.unwrap();
    let mut socket = support::Socket { socket };
    assert_eq!(socket.close_code(), Some(4001));
    server.stop();
}

#[test]
fn the_servers_own_token_is_another_at_once_and_the_one_before_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let mut socket = server.socket();
    socket.open(1, "s1", None);
    let rotated = token_command(dir.path(), "rotate", &[]);
    assert!(rotated.status.success(), "{rotated:?}");
    let token = text(&rotated).trim().to_owned();
    assert_ne!(token, server.token);
    assert_eq!(
        std::fs::read_to_string(dir.path().join("token")).unwrap(),
        token
    );
    let sessions = "/api/v1/sessions";
    assert_eq!(server.ask("GET", sessions, &server.token, "").0, 401);
    assert_eq!(server.ask("GET", sessions, &token, "").0, 200);
    assert_eq!(socket.close_code(), Some(4001));
    // A pipe takes it from where it took the one before.
    let event = br#"{"id":"a","timestamp":1,"sessionId":"s2","type":"user_message","payload":{"text":"Hi"}}"#;
    let pipe = command::start_at(dir.path(), "pipe", &["--wait", "60"]);
    let piped = command::finish(pipe, event);
    assert_eq!(command::text(&piped.stderr), "");
    let listed = server.ask("GET", "/api/v1/sessions/s2/events", &token, "");
    assert_eq!(listed.0, 200, "{listed:?}");
}

/// One that is half open takes what little it is sent, and answers nothing: its computer is gone.
#[test]
fn a_socket_that_nobody_is_behind_any_more_is_closed_and_one_that_says_nothing_stays() {
    let server = Inside::start(turnreel::Settings {
        heartbeat_ms: 100,
        silence_ms: 3_000,
        sockets_per_token: 1,
        ..turnreel::Settings::default()
    });
    let (dead, living) = (server.make_token(&[]), server.make_token(&[]));
    let mut there = server.connect(&living).unwrap();
    let _nobody_reads = server.connect(&dead).unwrap();
    // Who reads answers what asks whether it is there.
    let reading = std::thread::spawn(move || while there.read().is_ok() {});
    soon("the seat of the dead one is free", || {
        server.connect(&dead).is_ok()
    });
    assert!(
        server.connect(&living).is_err(),
        "the other one has its seat"
    );
    server.stop();
    reading.join().unwrap();
}
