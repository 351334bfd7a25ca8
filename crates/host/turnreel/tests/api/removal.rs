//! What is remembered of a session goes with its log: where somebody removed that, nothing of it decides about what is sent.

use crate::support::cold::{copied, end, log, manifests, post, server};
use crate::support::s3::moto;
use crate::support::{Server, chunks, soon};
use serde_json::{Value, json};

/// Takes the session's log away, and waits until the server has seen it.
fn remove(server: &Server, session: &str) {
    take_away(server, session);
    soon("the session is gone", || {
        let (_, list) = server.get("/api/v1/sessions");
        let mut rows = list["sessions"].as_array().unwrap().iter();
        rows.all(|row| row["id"] != session)
    });
}

/// Takes the session's log away.
fn take_away(server: &Server, session: &str) {
    for entry in std::fs::read_dir(&server.data).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(&format!("{session}-")) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

fn types(server: &Server, session: &str) -> Vec<String> {
    let (status, page) = server.get(&format!("/api/v1/sessions/{session}/events"));
    assert_eq!(status, 200, "{page}");
    let events = page["events"].as_array().unwrap().iter();
    let types = events.map(|event| event["type"].as_str().unwrap().to_owned());
    types.collect()
}

#[test]
fn what_is_sent_to_a_session_whose_log_was_removed_goes_on_behind_its_copy() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &bucket.url(), &[]);
    post(&server, "s1", &chunks(1, 50));
    end(&server, "s1", "end");
    copied(&bucket, &server, "s1");
    let before = log(dir.path(), "s1");
    // Whether the server has seen it by then or not.
    for (take_away, n) in [remove as fn(&Server, &str), take_away]
        .into_iter()
        .zip(0..)
    {
        take_away(&server, "s1");
        let last = 50 + 3 * n;
        let (status, answer) = server.post("s1", &chunks(last, last + 2));
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["dups"], u64::from(n == 0), "{answer}");
        assert!(log(dir.path(), "s1").starts_with(&before));
        // The copy that takes the other's place has all of it.
        end(&server, "s1", &format!("end-{n}"));
        copied(&bucket, &server, "s1");
        soon("one copy is left", || manifests(&bucket, "s1").len() == 1);
    }
    assert_eq!(server.all("s1", 1000).len(), 58);
}

#[test]
fn a_session_whose_log_was_just_removed_is_read_from_its_copy_and_nobody_makes_another() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &bucket.url(), &[]);
    for session in ["s1", "s2"] {
        post(&server, session, &chunks(1, 20));
        end(&server, session, "end");
    }
    copied(&bucket, &server, "s1");
    let paths = [
        "events",
        "events/e3/full",
        "summary",
        "search?q=w",
        "health",
    ];
    for path in paths {
        let path = format!("/api/v1/sessions/s1/{path}");
        let before = (server.get(&path), log(dir.path(), "s1"));
        take_away(&server, "s1");
        assert!(
            (server.get(&path), log(dir.path(), "s1")) == before,
            "{path}"
        );
    }
}

#[test]
fn who_reads_a_session_whose_log_was_just_removed_makes_none() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    post(&server, "s1", &chunks(1, 20));
    take_away(&server, "s1");
    for path in ["events", "events/e3/full", "events?after=5"] {
        let (status, answer) = server.get(&format!("/api/v1/sessions/s1/{path}"));
        assert_eq!(status, 404, "{answer}");
        assert_eq!(log(dir.path(), "s1"), b"");
    }
    let (_, list) = server.get("/api/v1/sessions");
    assert!(!list.to_string().contains("\"s1\""), "{list}");
}

#[test]
fn answers_go_with_the_log_that_had_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let asks = json!([{"id": "p1", "timestamp": 1, "type": "permission_request",
        "payload": {"requestId": "r1", "toolName": "Bash", "options": []}}]);
    let request = "/api/v1/sessions/s1/permissions/r1";
    let pending = json!({"requestId": "r1", "status": "pending"});
    for _ in 0..2 {
        assert_eq!(server.post("s1", &asks).0, 200);
        assert_eq!(server.get(request), (200, pending.clone()));
        let (status, answer) = server.post_text(request, r#"{"decision": "allow"}"#);
        assert_eq!(status, 200, "{answer}");
        remove(&server, "s1");
        assert_eq!(server.get(request).0, 404);
    }
}

#[test]
fn an_answer_makes_no_log_where_the_one_that_asked_was_just_removed() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let asks = json!([{"id": "p1", "timestamp": 1, "type": "permission_request",
        "payload": {"requestId": "r1", "toolName": "Bash", "options": []}}]);
    assert_eq!(server.post("s1", &asks).0, 200);
    let request = "/api/v1/sessions/s1/permissions/r1";
    assert_eq!(server.get(request).0, 200);
    take_away(&server, "s1");
    let (status, answer) = server.post_text(request, r#"{"decision": "allow"}"#);
    assert_eq!(status, 404, "{answer}");
    assert_eq!(log(dir.path(), "s1"), b"");
}

#[test]
fn the_end_of_a_text_makes_no_log_where_its_own_was_just_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start_on(dir.path(), "127.0.0.1:0", &["--mask"]);
    let chunk = json!([{"id": "c1", "timestamp": 1, "type": "assistant_chunk",
        "payload": {"messageId": "m1", "text": "the token is sk-ant-"}}]);
    for session in ["s1", "s2"] {
        assert_eq!(server.post(session, &chunk).0, 200);
    }
    let before = log(dir.path(), "s2");
    take_away(&server, "s1");
    // What waits is told when it stops.
    server.stop();
    assert_eq!(log(dir.path(), "s1"), b"");
    assert!(log(dir.path(), "s2").len() > before.len());
}

#[test]
fn producers_begin_anew_with_a_new_log() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let send = |seq: u64| -> Value {
        let body = json!([{"timestamp": seq, "type": "user_message", "payload": {"text": seq.to_string()}}]);
        let body = body.to_string();
        let more = format!(
            "Producer-Id: p\r\nProducer-Epoch: 1\r\nProducer-Seq: {seq}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        let path = "/api/v1/sessions/s1/events";
        let (status, _, answer) = server.exchange("POST", path, Some(&server.token), &more, &body);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(&answer).unwrap()
    };
    for take_away in [remove, take_away, remove] {
        for seq in 0..3 {
            assert_eq!(send(seq)["dups"], 0, "{seq}");
        }
        assert_eq!(send(2)["dups"], 1);
        assert_eq!(types(&server, "s1").len(), 3);
        take_away(&server, "s1");
    }
}

#[test]
fn a_task_whose_log_was_removed_is_reported_from_its_beginning() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let report = |index: u64| {
        let chunk = json!({"message_id": "m1", "chunk": "Hello", "chunk_index": index, "is_thinking": false});
        let path = "/api/v1/sandbox/task/t1/message-chunks";
        let (status, answer) = server.post_text(path, &chunk.to_string());
        assert_eq!(status, 200, "{answer}");
    };
    for take_away in [remove, take_away, remove] {
        report(0);
        report(0);
        report(1);
        let told = types(&server, "t1");
        let n_of = |kind: &str| told.iter().filter(|told| *told == kind).count();
        assert_eq!(
            (n_of("session_start"), n_of("assistant_chunk")),
            (1, 2),
            "{told:?}"
        );
        take_away(&server, "t1");
    }
}

#[test]
fn a_log_that_was_removed_is_told_to_no_other_server() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let log_of = |session: &str| {
        server
            .get(&format!("/api/v1/fleet/sessions/{session}/log"))
            .0
    };
    for take_away in [remove as fn(&Server, &str), take_away] {
        for session in ["s1", "s2"] {
            server.post(session, &chunks(1, 5));
        }
        assert_eq!(log_of("s1"), 200);
        take_away(&server, "s1");
        // Who keeps a copy would have all of it as gaps.
        assert_eq!(log_of("s1"), 404);
        let (_, told) = server.get("/api/v1/fleet/sessions");
        let told = told["sessions"].as_array().unwrap().iter();
        let told: Vec<&Value> = told.map(|row| &row["id"]).collect();
        assert_eq!(told, ["s2"]);
    }
}

#[test]
fn a_diff_is_found_in_one_of_a_sandboxs_sessions_though_another_was_just_removed() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    for session in ["s1", "s2"] {
        let events = json!([
            {"id": "b", "timestamp": 1, "type": "session_start", "payload": {"sandboxId": "box"}},
            {"id": session, "timestamp": 2, "type": "file_edit", "payload": {
                "filePath": "/a.rs", "changeType": "modified", "diffPreview": "+ a\n", "fullDiffSize": 4}},
        ]);
        post(&server, session, &events);
    }
    take_away(&server, "s1");
    let diff = |event: &str| {
        server
            .get(&format!("/api/v1/sandbox/box/file-diffs/{event}"))
            .0
    };
    assert_eq!((diff("s2"), diff("s1")), (200, 404));
}
