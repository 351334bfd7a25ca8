//! Long bodies: told as references on every way, whole where that is asked for, and fetched one by one.

use crate::support::{Server, make_token};
use serde_json::{Value, json};

/// What `sha256` gives for a text, by a program that is not ours.
fn sha256(text: &str) -> String {
    use std::io::Write;
    let mut child = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

fn lines(n: usize, word: &str) -> String {
    (0..n).map(|at| format!("{word} {at}\n")).collect()
}

fn result(id: &str, text: &str) -> Value {
    json!([{"id": id, "timestamp": 1, "type": "tool_result", "payload": {"toolCallId": "t", "result": text}}])
}

/// The reference that a text is told as.
fn reference(value: &Value, text: &str) -> Value {
    let told = &value["$body"];
    assert_eq!(told["sha256"], sha256(text), "{value}");
    assert_eq!(told["bytes"], text.len());
    assert_eq!(told["lines"], text.lines().count());
    assert_eq!(told["truncated"], true);
    let preview = told["preview"].as_str().unwrap();
    let tail = told["tail"].as_str().unwrap();
    assert!(text.starts_with(preview) && preview.len() <= 4096 && preview.len() > 4092);
    assert!(text.ends_with(tail) && tail.len() <= 2048 && tail.len() > 1024);
    told.clone()
}

#[test]
fn frames_pages_and_streams_tell_long_bodies_as_references_and_the_log_keeps_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &result("short", "ok"));
    let mut first = server.socket();
    first.open(1, "s1", None);
    let mut second = server.socket();
    second.open(1, "s1", None);
    let text = lines(5_000, "é line");
    server.post("s1", &result("long", &text));
    let frame = first.next();
    assert_eq!(frame["op"], "ev");
    assert!(frame.to_string().len() < 12_000);
    reference(&frame["e"][0]["payload"]["result"], &text);
    assert_eq!(second.next(), frame, "one frame for all");
    // Another body is another line: nothing is said of the checksum that the log's own has.
    assert!(frame["e"][0].get("c").is_none());

    let (_, page) = server.get("/api/v1/sessions/s1/events");
    assert_eq!(page["events"][1], frame["e"][0], "live as read later");
    assert_eq!(page["events"][0]["payload"]["result"], "ok");
    let mut stream = server.stream("/api/v1/sessions/s1/sse?after=1", None);
    stream.next();
    assert_eq!(stream.next().unwrap().data, frame["e"][0]);

    let (_, page) = server.get("/api/v1/sessions/s1/events?bodies=full");
    assert_eq!(page["events"][1]["payload"]["result"], text.as_str());
    let mut stream = server.stream("/api/v1/sessions/s1/sse?after=1&bodies=full", None);
    stream.next();
    let told = stream.next().unwrap().data;
    assert_eq!(told["payload"]["result"], text.as_str());
    assert_eq!(server.get("/api/v1/sessions/s1/events?bodies=x").0, 400);
    assert_eq!(
        server
            .stream("/api/v1/sessions/s1/sse?bodies=x", None)
            .status,
        400
    );

    let log = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with(".events.jsonl"))
        .unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("$body"), "the log has it inline");
}

#[test]
fn every_place_of_a_body_is_told_by_reference_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let text = lines(900, "a line");
    let event = |id: &str, kind: &str, payload: Value| json!({"id": id, "timestamp": 1, "type": kind, "payload": payload});
    let batch = json!([
        event(
            "call",
            "tool_call",
            json!({"toolCallId": "t", "toolName": "Write", "args": {"edits": [{"new": text, "n": 1.50}]}})
        ),
        event(
            "result",
            "tool_result",
            json!({"toolCallId": "t", "result": [{"type": "text", "text": text}]})
        ),
        event(
            "edit",
            "file_edit",
            json!({"filePath": "a", "changeType": "modified", "fullDiff": text})
        ),
        event(
            "prompt",
            "user_message",
            json!({"text": text, "attachments": [{"mediaType": "text/plain", "data": text}]})
        ),
        event(
            "message",
            "agent_message",
            json!({"messageId": "m", "message": text})
        ),
        event(
            "callback",
            "agent_callback",
            json!({"messageId": "m", "result": text})
        ),
        event(
            "raw",
            "raw",
            json!({"format": "x", "value": {"deep": [text]}})
        ),
        event("said", "assistant_done", json!({"text": text})),
        event("notice", "notice", json!({"level": "info", "text": text})),
    ]);
    assert_eq!(server.post("s1", &batch).0, 200);
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    let told = |at: usize, path: &str| page["events"][at]["payload"].pointer(path).unwrap().clone();
    let places = [
        (0, "/args/edits/0/new"),
        (1, "/result/0/text"),
        (2, "/fullDiff"),
        (3, "/text"),
        (3, "/attachments/0/data"),
        (4, "/message"),
        (5, "/result"),
        (6, "/value/deep/0"),
    ];
    for (at, path) in places {
        reference(&told(at, path), &text);
    }
    assert_eq!(told(7, "/text"), text.as_str());
    assert_eq!(told(8, "/text"), text.as_str());
    let (_, whole) = server.get("/api/v1/sessions/s1/events?bodies=full");
    for (at, path) in places {
        assert_eq!(whole["events"][at]["payload"].pointer(path).unwrap(), &text);
    }
}

#[test]
fn a_page_with_whole_bodies_has_those_that_stand_beside_the_log_too() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (here, beside) = (lines(5_000, "here"), lines(50_000, "beside"));
    server.post("s1", &result("here", &here));
    server.post("s1", &result("beside", &beside));
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    reference(&page["events"][0]["payload"]["result"], &here);
    reference(&page["events"][1]["payload"]["result"], &beside);
    let (_, page) = server.get("/api/v1/sessions/s1/events?bodies=full");
    assert_eq!(page["events"][0]["payload"]["result"], here.as_str());
    assert_eq!(page["events"][1]["payload"]["result"], beside.as_str());
    // A page and one with whole bodies are two answers, also to who has one of them.
    let tag = |path: &str| {
        let (_, head, _) = server.exchange("GET", path, Some(&server.token), "", "");
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut tags = lines.filter(|(name, _)| name.eq_ignore_ascii_case("etag"));
        tags.next().unwrap().1.to_owned()
    };
    assert_ne!(
        tag("/api/v1/sessions/s1/events"),
        tag("/api/v1/sessions/s1/events?bodies=full")
    );
}

#[test]
fn one_body_can_be_had_whole_in_parts_packed_and_by_its_own_event_only() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let (here, beside) = (lines(5_000, "here"), lines(400_000, "beside"));
    server.post("s1", &result("here", &here));
    server.post("s1", &result("beside", &beside));
    server.post("s2", &result("other", &lines(5_000, "other")));
    let path = |session: &str, event: &str, text: &str| {
        format!(
            "/api/v1/sessions/{session}/events/{event}/full?body={}",
            sha256(text)
        )
    };
    for (event, text) in [("here", &here), ("beside", &beside)] {
        let path = path("s1", event, text);
        let ask = |method: &str, more: &str| {
            let (status, head, body) =
                server.exchange(method, &path, Some(&server.token), more, "");
            (status, head.to_lowercase(), body)
        };
        let (status, head, body) = ask("GET", "");
        assert_eq!(status, 200, "{head}");
        assert!(body == *text, "{event}: the body is another");
        assert!(head.contains("content-type: text/plain; charset=utf-8"));
        assert!(head.contains("content-disposition: attachment"));
        assert!(head.contains("content-security-policy: sandbox"));
        assert!(head.contains("immutable"));
        assert!(head.contains(&format!("content-length: {}", text.len())));
        let (status, head, body) = ask("HEAD", "");
        assert_eq!((status, body.as_str()), (200, ""));
        assert!(
            head.contains(&format!("content-length: {}", text.len())),
            "{head}"
        );
        let (status, head, body) = ask("GET", "Range: bytes=10-19\r\n");
        assert_eq!((status, body.as_str()), (206, &text[10..20]));
        assert!(head.contains(&format!("content-range: bytes 10-19/{}", text.len())));
        let (status, _, body) = ask("GET", "Range: bytes=-7\r\n");
        assert_eq!((status, body.as_str()), (206, &text[text.len() - 7..]));
        let past = format!("Range: bytes={}-\r\n", text.len());
        assert_eq!(ask("GET", &past).0, 416);
        let known = format!("If-None-Match: \"{}\"\r\n", sha256(text));
        let (status, _, body) = ask("GET", &known);
        assert_eq!((status, body.as_str()), (304, ""));
    }
    let gzip = "Accept-Encoding: gzip\r\n";
    let (_, head, body) = server.exchange(
        "GET",
        &path("s1", "here", &here),
        Some(&server.token),
        gzip,
        "",
    );
    assert!(
        head.to_lowercase().contains("content-encoding: gzip"),
        "{head}"
    );
    assert!(body.len() < here.len() / 2);

    let get = |path: &str| server.get(path).0;
    assert_eq!(get(&path("s1", "here", &beside)), 404);
    assert_eq!(get(&path("s1", "beside", &here)), 404);
    assert_eq!(get(&path("s1", "nowhere", &here)), 404);
    assert_eq!(get(&path("s2", "here", &here)), 404);
    assert_eq!(get("/api/v1/sessions/s1/events/here/full?body=x"), 404);
    let token = make_token(&server, &["--scope", "read", "--session", "s2"]);
    let ask = |session: &str, event: &str, text: &str| {
        server.ask("GET", &path(session, event, text), &token, "").0
    };
    assert_eq!(ask("s2", "other", &lines(5_000, "other")), 200);
    assert_ne!(ask("s1", "here", &here), 200);
    // By its hash alone it would be of any session.
    let blob = format!("/api/v1/blobs/{}", sha256(&beside));
    assert_eq!(server.get(&blob).0, 200);
    assert_eq!(server.ask("GET", &blob, &token, "").0, 404);
}

#[test]
fn a_diff_that_is_too_long_to_be_held_is_refused_and_can_be_had_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let diff = "+a\n".repeat(6 << 20);
    let hash = sha256(&diff);
    assert_eq!(server.put_blob(&hash, diff.as_bytes()), 204);
    // The file before the change is no part of the answer, and is not read for it.
    let body = |bytes: u64| json!({"$body": {"sha256": hash, "bytes": bytes, "preview": "", "truncated": true}});
    let edit = |id: &str, diff: &Value, old: &Value| json!({"id": id, "timestamp": 1, "type": "file_edit", "payload": {"filePath": "a", "changeType": "modified", "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": 9, "oldText": old}});
    server.post(
        "s1",
        &json!([
            edit("long", &body(1), &json!("")),
            edit("short", &json!("+x"), &body(1))
        ]),
    );
    let (status, answer) = server.get("/api/v1/sessions/s1/file-diffs/long");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (413, &json!("too_large")),
        "{answer}"
    );
    let (status, answer) = server.get("/api/v1/sessions/s1/file-diffs/short");
    assert_eq!(
        (status, answer),
        (200, json!({"file_path": "a", "diff": "+x"}))
    );
    let (status, event) = server.get("/api/v1/sessions/s1/events/long/full");
    assert_eq!((status, &event["payload"]["fullDiff"]), (200, &body(1)));
    let path = format!("/api/v1/sessions/s1/events/long/full?body={hash}");
    assert!(server.get(&path).1 == diff.as_str());
}

#[test]
fn a_reference_whose_body_never_came_is_told_and_cannot_be_had() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let hash = "0".repeat(64);
    let lost = json!({"$body": {"sha256": hash, "bytes": 90_000, "preview": "only this", "truncated": true, "later": 1}});
    let batch = json!([{"id": "r", "timestamp": 1, "type": "tool_result", "payload": {"toolCallId": "t", "result": lost}}]);
    assert_eq!(server.post("s1", &batch).0, 200);
    for query in ["", "?bodies=full"] {
        let (_, page) = server.get(&format!("/api/v1/sessions/s1/events{query}"));
        assert_eq!(page["events"][0]["payload"]["result"], lost);
    }
    let path = format!("/api/v1/sessions/s1/events/r/full?body={hash}");
    assert_eq!(server.get(&path).0, 404);
}

#[test]
fn what_is_told_in_other_words_is_told_of_the_whole_body() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let text = lines(5_000, "a line");
    let call = json!([{"id": "c", "timestamp": 1, "type": "tool_call", "payload": {"toolCallId": "t", "toolName": "Bash", "args": {"command": text}}}]);
    server.post("s1", &call);
    server.post("s1", &result("r", &text));
    let mut stream = server.stream("/api/v1/sessions/s1/sse?format=agent", None);
    let told = loop {
        let told = stream.next().unwrap().data.to_string();
        if told.contains("result_preview") {
            break told;
        }
    };
    assert!(
        told.contains("a line 440"),
        "5,000 characters of it are told"
    );
    assert!(!told.contains("$body"));
    let path = "/api/v1/sessions/s1/opencode/event?after=0";
    let mut stream = server.stream(path, None);
    let told = loop {
        let told = stream.next().unwrap().data.to_string();
        if told.contains("completed") {
            break told;
        }
    };
    assert!(told.contains("a line 4999") && !told.contains("$body"));
}

/// Files are for the logs, and those who download are as many as there are connections.
#[cfg(target_os = "linux")]
#[test]
fn who_takes_a_long_body_slowly_holds_no_file_and_has_all_of_it_in_the_end() {
    use std::io::{Read, Write};

    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let text = lines(900_000, "a line");
    let hash = sha256(&text);
    assert_eq!(server.put_blob(&hash, text.as_bytes()), 204);
    let request = format!(
        "GET /api/v1/blobs/{hash} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        server.address(),
        server.token
    );
    let mut slow: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut beginning = vec![0; 64 * 1024];
            stream.read_exact(&mut beginning).unwrap();
            (stream, beginning)
        })
        .collect();
    let blobs = dir.path().join("blobs");
    let n_open = || {
        let files = std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap();
        let paths = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        paths.filter(|path| path.starts_with(&blobs)).count()
    };
    crate::support::soon("no file is open", || n_open() == 0);
    for (stream, mut answer) in slow.drain(..) {
        let mut rest = stream;
        rest.read_to_end(&mut answer).unwrap();
        let at = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        assert!(&answer[at + 4..] == text.as_bytes());
    }
}
