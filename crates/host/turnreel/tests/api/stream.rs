//! Events in, pages and frames out, across crashes and restarts.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{self, Server, chunks};

#[test]
fn what_is_posted_is_in_the_page_in_its_order() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (status, answer) = server.post("s1", &chunks(1, 250));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["first"], 1);
    assert_eq!(answer["last"], 250);
    let expected: Vec<_> = (1..=250).map(|n| (n, format!("e{n}"))).collect();
    assert_eq!(server.all("s1", 7), expected);
    assert_eq!(server.all("s1", 1000), expected);
}

#[test]
fn a_batch_that_is_sent_again_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 10));
    let (status, answer) = server.post("s1", &chunks(5, 15));
    assert_eq!(status, 200);
    assert_eq!(answer["dups"], 6);
    assert_eq!(answer["first"], 11);
    assert_eq!(server.all("s1", 100).len(), 15);
}

#[test]
fn an_id_that_says_something_else_is_a_conflict_and_the_first_wins() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 2));
    let other = json!([{"id": "e1", "timestamp": 1, "type": "interrupt", "payload": {}}]);
    let (status, answer) = server.post("s1", &other);
    assert_eq!(status, 409);
    assert_eq!(answer["error"]["code"], "id_conflict");
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    assert_eq!(page["events"][0]["type"], "assistant_chunk");
    assert_eq!(page["head"], 2);
}

#[test]
fn a_bad_item_is_named_and_the_others_are_stored() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let batch = json!([
        {"id": "a", "timestamp": 1, "type": "user_message", "payload": {"text": "Hi"}},
        {"id": "b", "timestamp": 1, "type": "user_message", "payload": {}},
        {"id": "c", "type": "turn_end", "payload": {}},
        {"id": "d", "timestamp": 1, "payload": {}},
        {"id": "é", "timestamp": 1, "type": "turn_end", "payload": {}},
        {"id": "f", "timestamp": 1, "sessionId": "s2", "type": "turn_end", "payload": {}},
        {"id": "g", "timestamp": 1, "type": "log_end", "payload": {}},
        17,
        {"id": "h", "timestamp": 1, "type": "something_new", "payload": {"x": 1}},
    ]);
    let (status, answer) = server.post("s1", &batch);
    assert_eq!(status, 200, "{answer}");
    let results = answer["results"].as_array().unwrap();
    let statuses: Vec<_> = results
        .iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect();
    let (ok, bad) = ("stored", "rejected");
    assert_eq!(statuses, [ok, bad, bad, bad, bad, bad, bad, bad, ok]);
    for (index, field) in [
        (1, "text"),
        (2, "timestamp"),
        (3, "type"),
        (4, "id"),
        (5, "sessionId"),
        (6, "type"),
    ] {
        assert_eq!(results[index]["index"], index);
        let named = results[index]["field"].as_str().unwrap_or_default();
        assert!(named.ends_with(field), "{}", results[index]);
    }
    assert_eq!(server.all("s1", 10).len(), 2);
    let path = "/api/v1/sessions/s3/events?atomic=1";
    let (status, answer) = server.post_text(path, &batch.to_string());
    assert_eq!(status, 422);
    assert_eq!(answer["error"]["code"], "bad_event");
    assert_eq!(server.get("/api/v1/sessions/s3/events").0, 404);
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged_and_keeps_the_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 40));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let mut socket = server.socket();
    let hello = socket.open(1, "s1", Some((&epoch, 38)));
    assert_eq!(hello["head"], 40);
    drop(socket);
    server.kill_and_restart();
    server.post("s1", &chunks(41, 55));
    let mut socket = server.socket();
    let hello = socket.open(1, "s1", Some((&epoch, 38)));
    assert_eq!(hello["epoch"], epoch);
    assert_eq!(hello["resume"], "behind", "{hello}");
    let head = hello["head"].as_u64().unwrap();
    assert_eq!(head, 55);
    let (_, page) = server.get("/api/v1/sessions/s1/events?after=38");
    assert_eq!(page["events"].as_array().unwrap().len(), 17);
    server.post("s1", &chunks(56, 60));
    let events = socket.events(56, 60);
    assert_eq!(events.last().unwrap().1, "e60");
    let expected: Vec<_> = (1..=60).map(|n| (n, format!("e{n}"))).collect();
    assert_eq!(server.all("s1", 1000), expected);
}

#[test]
fn a_resume_gives_exactly_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 5));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    // One that stays keeps the newest events at hand.
    let mut stays = server.socket();
    assert_eq!(stays.open(1, "s1", Some((&epoch, 5)))["resume"], "ok");
    server.post("s1", &chunks(6, 20));
    stays.events(6, 20);
    for n in 0..10 {
        let mut back = server.socket();
        let hello = back.open(9, "s1", Some((&epoch, 12)));
        assert_eq!(hello["resume"], "ok", "try {n}");
        assert_eq!(back.events(13, 20).len(), 8);
    }
    let mut other = server.socket();
    assert_eq!(
        other.open(1, "s1", Some(("another", 12)))["resume"],
        "reset"
    );
    assert_eq!(other.open(2, "s1", Some((&epoch, 21)))["resume"], "reset");
    assert_eq!(other.open(3, "s1", None)["resume"], "none");
}

#[test]
fn one_socket_follows_several_sessions_and_the_list() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("a", &chunks(1, 1));
    server.post("b", &chunks(1, 1));
    let mut socket = server.socket();
    socket.open(7, "*", None);
    let list = socket.next();
    assert_eq!(list["op"], "sessions");
    assert_eq!(list["changed"].as_array().unwrap().len(), 2);
    socket.open(1, "a", None);
    socket.open(2, "b", None);
    server.post("b", &chunks(2, 2));
    server.post("c", &chunks(1, 1));
    let mut seen_b = false;
    let mut seen_c = false;
    while !(seen_b && seen_c) {
        let frame = socket.next();
        match frame["op"].as_str().unwrap() {
            "ev" => {
                assert_eq!(frame["sub"], 2);
                seen_b = true;
            }
            "sessions" => {
                let mut changed = frame["changed"].as_array().unwrap().iter();
                seen_c |= changed.any(|row| row["id"] == "c");
            }
            other => panic!("{other}"),
        }
    }
    socket.send(&json!({"op": "close", "sub": 2}));
    socket.send(&json!({"op": "ping", "n": 5}));
    while socket.next()["op"] != "pong" {}
    server.post("b", &chunks(3, 3));
    server.post("a", &chunks(2, 2));
    loop {
        let frame = socket.next();
        if frame["op"] == "ev" {
            assert_eq!(frame["sub"], 1);
            break;
        }
    }
}

#[test]
fn an_urgent_event_takes_all_before_it_along() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 1));
    let mut socket = server.socket();
    socket.open(1, "s1", None);
    let call = |n: u64| json!({"id": format!("t{n}"), "timestamp": n, "type": "tool_call", "payload": {"toolCallId": n.to_string(), "toolName": "Read", "args": {}}});
    let posted = Instant::now();
    server.post("s1", &json!([call(1)]));
    assert_eq!(socket.events(2, 2).len(), 1);
    let waited = posted.elapsed();
    assert!(waited > Duration::from_millis(400), "{waited:?}");
    for seq in (3..43).step_by(2) {
        let posted = Instant::now();
        server.post("s1", &json!([call(seq)]));
        let end =
            json!({"id": format!("end{seq}"), "timestamp": 9, "type": "turn_end", "payload": {}});
        server.post("s1", &json!([end]));
        let waited = posted.elapsed();
        let frame = socket.next();
        assert_eq!(frame["from"], seq, "{frame}");
        if frame["to"] == seq + 1 {
            return;
        }
        // It goes alone only where the other one comes when its time is over.
        assert!(waited > Duration::from_millis(400), "{frame}: {waited:?}");
        socket.events(seq + 1, seq + 1);
    }
    panic!("they never came together");
}

#[test]
fn bad_frames_are_answered_and_the_tenth_closes() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut socket = server.socket();
    socket.send(&json!({"op": "zap"}));
    for _ in 0..9 {
        socket.send(&json!([1]));
        let frame = socket.next();
        assert_eq!(frame["op"], "err");
        assert_eq!(frame["code"], "bad_frame");
    }
    socket.send(&json!(3));
    assert_eq!(socket.close_code(), Some(1008));
    let mut socket = server.socket();
    socket
        .socket
        .send(tungstenite::Message::binary(vec![1, 2]))
        .unwrap();
    assert_eq!(socket.close_code(), Some(1003));
    let mut socket = server.socket();
    let long = "x".repeat(70 * 1024);
    socket
        .socket
        .send(tungstenite::Message::text(long))
        .unwrap();
    assert_eq!(socket.close_code(), Some(1009));
    let mut socket = server.socket();
    socket.send(&json!({"op": "open", "sub": 1, "session": "nobody"}));
    assert_eq!(socket.next()["code"], "no_session");
}

#[test]
fn a_stop_says_bye_and_leaves_a_clean_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &chunks(1, 3));
    let mut socket = server.socket();
    socket.open(1, "s1", None);
    support::signal(&server.child, "TERM");
    let bye = socket.next();
    assert_eq!(bye["op"], "bye");
    assert_eq!(socket.close_code(), Some(1012));
    assert!(support::wait_for(&mut server.child, support::PATIENCE).success());
    let log = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with(".events.jsonl"))
        .unwrap();
    let text = std::fs::read_to_string(log).unwrap();
    let last = text.lines().last().unwrap();
    assert!(
        last.contains(r#""type":"log_end","payload":{"clean":true}"#),
        "{last}"
    );
    assert!(!dir.path().join("server.json").exists());
}

#[test]
fn a_reader_that_does_not_read_is_told_that_it_lags_and_nobody_else_waits() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 1));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let mut stalled = server.socket();
    stalled.open(1, "s1", Some((&epoch, 1)));
    let mut reads = server.socket();
    reads.open(1, "s1", Some((&epoch, 1)));
    // 18 MB in all: more than the ring and the sockets' buffers hold.
    let text = "x".repeat(18_000);
    let began = Instant::now();
    for batch in 0..10u64 {
        let first = 2 + batch * 100;
        let events: serde_json::Value = (first..first + 100)
            .map(|n| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_done", "payload": {"text": text}}))
            .collect();
        assert_eq!(server.post("s1", &events).0, 200);
        reads.events(first, first + 99);
    }
    if began.elapsed() > Duration::from_secs(9) {
        // On a busy machine it has taken nothing for so long that it was let go, which is as good.
        return;
    }
    loop {
        let frame = stalled.next();
        if frame["op"] == "lag" {
            assert_eq!(frame["head"], 1001);
            break;
        }
        assert_eq!(frame["op"], "ev");
    }
    let hello = stalled.open(1, "s1", Some((&epoch, 1001)));
    assert_eq!(hello["resume"], "ok");
}

#[test]
fn a_large_body_stands_beside_the_log_and_can_be_had_whole() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let long = "é\n".repeat(200_000);
    let batch = json!([
        {"id": "r", "timestamp": 1, "type": "tool_result", "payload": {"toolCallId": "t", "result": {"n": 1.50, "stdout": long}}},
        {"id": "f", "timestamp": 1, "type": "file_edit", "payload": {"filePath": "a.txt", "changeType": "modified", "fullDiff": long, "fullDiffAvailable": true, "fullDiffSize": long.len()}},
        {"id": "p", "timestamp": 1, "type": "file_edit", "payload": {"filePath": "b.txt", "changeType": "modified", "diffPreview": "+x", "fullDiffAvailable": true, "fullDiffSize": 2}},
    ]);
    assert_eq!(server.post("s1", &batch).0, 200);
    assert_eq!(server.post("s1", &batch).1["dups"], 3);
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    let reference = &page["events"][0]["payload"]["result"]["stdout"]["$body"];
    assert_eq!(reference["bytes"], long.len());
    assert!(reference["preview"].as_str().unwrap().len() <= 4096);
    let (status, body) = server.get(&format!(
        "/api/v1/blobs/{}",
        reference["sha256"].as_str().unwrap()
    ));
    assert_eq!((status, body.as_str()), (200, Some(long.as_str())));
    let (_, whole) = server.get("/api/v1/sessions/s1/events/r/full");
    assert_eq!(whole["payload"]["result"]["stdout"], long);
    for path in [
        "/api/v1/sessions/s1/file-diffs/f",
        "/api/v1/sandbox/s1/file-diffs/f",
        "/api/v1/sandboxes/s1/file-diffs/f",
    ] {
        let (status, diff) = server.get(path);
        assert_eq!(status, 200);
        assert_eq!(diff, json!({"file_path": "a.txt", "diff": long}));
    }
    assert_eq!(
        server.get("/api/v1/sessions/s1/file-diffs/p").1["diff"],
        "+x"
    );
    assert_eq!(server.get("/api/v1/sessions/s1/file-diffs/r").0, 404);
    assert_eq!(server.get("/api/v1/sandbox/s2/file-diffs/f").0, 404);
}

#[test]
fn blobs_are_held_against_their_hash() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(server.put_blob(hello, b"hello"), 204);
    assert_eq!(server.put_blob(hello, b"hello"), 204);
    assert_eq!(server.put_blob(hello, b"other"), 400);
    assert_eq!(server.put_blob("../token", b"x"), 405);
    assert_eq!(server.put_blob(&hello.to_uppercase(), b"hello"), 400);
    assert_eq!(
        server.get(&format!("/api/v1/blobs/{hello}")),
        (200, json!("hello"))
    );
    assert_eq!(
        server.get(&format!("/api/v1/blobs/{}", "0".repeat(64))).0,
        404
    );
}

#[test]
fn the_list_says_what_each_session_is_and_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let start = json!([
        {"id": "1", "timestamp": 5, "type": "session_start", "payload": {"agent": "Claude Code 2.1", "model": "m", "cwd": "/x"}},
        {"id": "2", "timestamp": 6, "type": "turn_start", "payload": {"trigger": "user"}},
        {"id": "3", "timestamp": 7, "type": "user_message", "payload": {"text": "\n  Fix the test\nplease"}},
    ]);
    server.post("s1", &start);
    let row = |server: &Server| server.get("/api/v1/sessions").1["sessions"][0].clone();
    let busy = row(&server);
    assert_eq!(busy["title"], "Fix the test");
    assert_eq!(busy["status"], "busy");
    assert_eq!(busy["agent"], "Claude Code 2.1");
    assert_eq!((&busy["head"], &busy["events"]), (&json!(3), &json!(3)));
    server.post(
        "s1",
        &json!([{"id": "4", "timestamp": 8, "type": "turn_end", "payload": {}}]),
    );
    let idle = row(&server);
    assert_eq!(idle["status"], "idle");
    server.kill_and_restart();
    assert_eq!(row(&server), idle);
}

#[test]
fn a_cursor_that_is_not_known_is_refused_and_not_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (_, answer) = server.post("s1", &chunks(1, 3));
    let epoch = answer["epoch"].as_str().unwrap();
    let page = |after: &str| server.get(&format!("/api/v1/sessions/s1/events?after={after}"));
    assert_eq!(
        page(&format!("v1.{epoch}.2")).1["events"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(page("v1.AAAAAAAAAAAAAAAAAAAAAA.2").0, 410);
    assert_eq!(page("4").0, 410);
    assert_eq!(page("-1").0, 400);
    assert_eq!(page("1.5").0, 400);
    assert_eq!(page("3").1["events"], json!([]));
}
