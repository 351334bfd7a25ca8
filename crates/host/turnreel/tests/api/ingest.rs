//! Taking events and bodies in: ids, numbered batches, limits, and what the methods of a route are.

use serde_json::{Value, json};

use crate::support::{Server, chunks};

pub(super) const EVENTS: &str = "/api/v1/sessions/s1/events";

fn post_with(server: &Server, more: &str, body: &str) -> (u16, Value) {
    let more = format!(
        "Content-Type: application/json\r\nContent-Length: {}\r\n{more}",
        body.len()
    );
    let (status, _, body) = server.exchange("POST", EVENTS, Some(&server.token), &more, body);
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

#[test]
fn an_event_without_an_id_that_says_what_it_is_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let batch = json!([
        {"timestamp": 1, "type": "assistant_chunk", "responseId": "m1", "payload": {"text": "a", "index": 0}},
        {"timestamp": 2, "type": "tool_call", "payload": {"toolCallId": "c1", "toolName": "Bash", "args": {}}},
        {"timestamp": 3, "type": "user_message", "payload": {"text": "again"}},
    ]);
    let (_, first) = server.post("s1", &batch);
    assert_eq!(first["results"][0]["status"], "stored");
    assert_eq!(first["results"][0]["idempotent"], Value::Null);
    assert_eq!(first["results"][2]["idempotent"], false);
    let (_, again) = server.post("s1", &batch);
    assert_eq!(again["dups"], 2, "{again}");
    let ids: Vec<String> = server.all("s1", 10).into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids[..2], ["m1:0", "c1:tool_call"]);
    assert_eq!(ids.len(), 4, "what says nothing is as much as came");
    // Another event of the same place is no second one.
    let other = json!([{"timestamp": 1, "type": "assistant_chunk", "responseId": "m1",
        "payload": {"text": "b", "index": 0}}]);
    let (status, answer) = server.post("s1", &other);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("id_conflict"))
    );
}

#[test]
fn batches_that_are_numbered_come_once_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let body = |n: u64| {
        json!([{"timestamp": n, "type": "user_message", "payload": {"text": n.to_string()}}])
            .to_string()
    };
    let send = |epoch: u64, seq: u64| {
        let more = format!("Producer-Id: p\r\nProducer-Epoch: {epoch}\r\nProducer-Seq: {seq}\r\n");
        post_with(&server, &more, &body(seq))
    };
    assert_eq!(send(1, 0).0, 200);
    assert_eq!(send(1, 1).0, 200);
    // The answer was lost, so it comes again; it has no id, but it has a number.
    let (status, again) = send(1, 1);
    assert_eq!((status, &again["dups"]), (200, &json!(1)));
    let (status, gap) = send(1, 3);
    assert_eq!(
        (status, &gap["error"]["code"]),
        (409, &json!("producer_gap"))
    );
    assert_eq!(
        (&gap["expectedSeq"], &gap["receivedSeq"]),
        (&json!(2), &json!(3))
    );
    let early = "Producer-Id: p\r\nProducer-Epoch: 1\r\nProducer-Seq: 9\r\nContent-Type: application/json\r\nContent-Length: 2\r\n";
    let (_, head, _) = server.exchange("POST", EVENTS, Some(&server.token), early, "[]");
    assert!(head.contains("producer-expected-seq: 2"), "{head}");
    assert!(head.contains("producer-received-seq: 9"), "{head}");
    assert_eq!(send(2, 0).0, 200);
    let (status, fenced) = send(1, 2);
    assert_eq!(
        (status, &fenced["error"]["code"]),
        (403, &json!("producer_fenced"))
    );
    assert_eq!(fenced["producerEpoch"], 2);
    // A batch that is refused has not come.
    let bad = "Producer-Id: p\r\nProducer-Epoch: 2\r\nProducer-Seq: 1\r\n";
    assert_eq!(post_with(&server, bad, "[5]").0, 400);
    assert_eq!(send(2, 1).0, 200);
    for half in [
        "Producer-Id: p\r\n",
        "Producer-Epoch: 1\r\nProducer-Seq: 1\r\n",
        "Producer-Id: p\r\nProducer-Epoch: -1\r\nProducer-Seq: 1\r\n",
        "Producer-Id: p\r\nProducer-Epoch: 1\r\nProducer-Seq: 9007199254740992\r\n",
    ] {
        let (status, answer) = post_with(&server, half, &body(9));
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &json!("bad_producer")),
            "{half}"
        );
    }
    assert_eq!(server.all("s1", 10).len(), 4);
}

/// Where a server was started again a producer goes on with its numbers; what never came is not said to have come.
#[test]
fn a_number_below_the_first_that_came_is_refused_and_not_lost() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let send = |seq: u64| {
        let more = format!("Producer-Id: p\r\nProducer-Epoch: 1\r\nProducer-Seq: {seq}\r\n");
        let body = json!([{"timestamp": seq, "type": "user_message", "payload": {"text": "x"}}]);
        post_with(&server, &more, &body.to_string())
    };
    assert_eq!(send(7).0, 200);
    assert_eq!(send(8).0, 200);
    let (status, refused) = send(6);
    assert_eq!(
        (status, &refused["error"]["code"]),
        (409, &json!("producer_gap"))
    );
    assert_eq!(
        (&refused["expectedSeq"], &refused["receivedSeq"]),
        (&json!(9), &json!(6))
    );
    assert_eq!(send(7).1["dups"], 1);
    assert_eq!(server.all("s1", 10).len(), 2);
}

#[test]
fn numbered_batches_at_once_are_stored_as_often_as_they_are_different() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let body =
        json!([{"timestamp": 1, "type": "user_message", "payload": {"text": "x"}}]).to_string();
    let more = "Producer-Id: p\r\nProducer-Epoch: 0\r\nProducer-Seq: 0\r\n";
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(post_with(&server, more, &body).0, 200));
        }
    });
    assert_eq!(server.all("s1", 10).len(), 1);
}

#[test]
fn with_atomic_all_is_stored_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut batch = chunks(1, 3);
    batch[1]["payload"] = json!({"text": 5});
    let path = format!("{EVENTS}?atomic=1");
    let (status, answer) = server.post_text(&path, &batch.to_string());
    assert_eq!(status, 422, "{answer}");
    assert_eq!(answer["results"][0]["index"], 1);
    assert_eq!(answer["results"][0]["field"], "payload.text");
    assert_eq!(server.get(EVENTS).0, 404);
    let (status, answer) = server.post("s1", &batch);
    assert_eq!(
        (status, answer["results"][1]["status"].as_str()),
        (200, Some("rejected"))
    );
    assert_eq!(server.all("s1", 10).len(), 2);
}

#[test]
fn bombs_of_keys_and_depth_are_refused_and_others_of_their_batch_are_stored() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let keys: serde_json::Map<_, _> = (0..10_001).map(|n| (n.to_string(), json!(0))).collect();
    let deep = (0..70).fold(json!(0), |inner, _| json!([inner]));
    let event = |id: &str, args: Value| {
        json!({"id": id, "timestamp": 1, "type": "tool_call",
            "payload": {"toolCallId": id, "toolName": "x", "args": args}})
    };
    let batch = json!([
        event("a", Value::Object(keys)),
        event("b", deep),
        event("c", json!({"x": "y"}))
    ]);
    let (status, answer) = server.post("s1", &batch);
    assert_eq!(status, 200);
    let word = |n: usize| {
        answer["results"][n]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(word(0).contains("keys"), "{answer}");
    assert!(word(1).contains("nested deeper"), "{answer}");
    assert_eq!(answer["results"][2]["status"], "stored");
}

#[test]
fn a_log_that_another_program_holds_is_locked_until_it_lets_go() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let stem = chat_store::SessionId::parse("s1").unwrap().stem();
    let path = dir.path().join(format!("{stem}.events.jsonl"));
    let held = std::fs::File::create(path).unwrap();
    held.lock().unwrap();
    let (status, answer) = server.post("s1", &chunks(1, 2));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (423, &json!("locked")),
        "{answer}"
    );
    assert!(answer["error"]["retryAfterMs"].as_u64().is_some());
    let said = answer.to_string();
    assert!(!said.contains(dir.path().to_str().unwrap()), "{said}");
    assert_eq!(server.post("s2", &chunks(1, 2)).0, 200);
    drop(held);
    assert_eq!(server.post("s1", &chunks(1, 2)).0, 200);
    assert_eq!(server.all("s1", 10).len(), 2);
}

#[test]
fn methods_of_a_route_are_said_and_head_has_no_body() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 2));
    let ask = |method: &str, path: &str, token: Option<&str>| {
        server.exchange(method, path, token, "", "")
    };
    let token = Some(server.token.as_str());
    let (status, head, body) = ask("OPTIONS", EVENTS, None);
    assert_eq!((status, body.as_str()), (204, ""));
    assert!(head.contains("allow: GET, POST, HEAD, OPTIONS"), "{head}");
    assert!(!head.contains("access-control"), "{head}");
    assert_eq!(ask("OPTIONS", "/api/v1/nothing", None).0, 404);
    let (_, get, body) = ask("GET", EVENTS, token);
    let (status, head, none) = ask("HEAD", EVENTS, token);
    assert_eq!((status, none.as_str()), (200, ""));
    let length = format!("content-length: {}", body.len());
    assert!(get.contains(&length) && head.contains(&length), "{head}");
    assert_eq!(ask("HEAD", EVENTS, None).0, 401);
    for (method, path) in [
        ("DELETE", EVENTS),
        ("PUT", EVENTS),
        ("POST", "/api/v1/sessions"),
    ] {
        let (status, head, body) = ask(method, path, token);
        assert_eq!(status, 405, "{method} {path}");
        assert!(head.contains("allow: "), "{head}");
        assert!(body.contains("bad_method"), "{body}");
    }
    // What is no route says where those stand that there are.
    for path in ["/sandbox/task/t1/progress", "/api/v1/nothing"] {
        for method in ["GET", "POST"] {
            let (status, _, body) = ask(method, path, token);
            assert_eq!(status, 404, "{method} {path}");
            assert!(body.contains("/api/v1/openapi.json"), "{body}");
        }
    }
    for kind in ["permissions", "questions"] {
        let path = EVENTS.replace("events", &format!("{kind}/unknown"));
        let (status, _, body) = ask("GET", &path, token);
        assert_eq!(status, 404);
        assert!(body.contains("no such request in this session"), "{body}");
    }
}

/// A line of a compacted log: so many pieces of two characters each, and the end of their text.
fn folded(n_pieces: usize) -> Value {
    let mut timing: Vec<[usize; 2]> = (0..n_pieces).map(|nth| [nth * 30, 2]).collect();
    timing.push([n_pieces * 30, 0]);
    json!({"seq": 900 + n_pieces, "id": "d", "timestamp": 1_703_001_234_567_i64, "type": "assistant_done",
        "responseId": "m1", "payload": {"text": "ab".repeat(n_pieces), "timing": timing,
        "span": [900, 900 + n_pieces], "ids": [["c", 1, n_pieces]]}})
}

#[test]
fn lines_of_a_compacted_log_are_stored_as_what_was_folded_into_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let prompt =
        json!({"id": "p", "timestamp": 1, "type": "user_message", "payload": {"text": "Go"}});
    let batch = json!([prompt, folded(3)]);
    let (status, answer) = server.post("s1", &batch);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["last"], 5);
    assert_eq!(answer["results"][1], json!({"status": "stored", "seq": 5}));
    let (_, page) = server.get("/api/v1/sessions/s1/events?after=0");
    let said: Vec<_> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            (
                event["seq"].as_u64().unwrap(),
                event["id"].as_str().unwrap(),
                event["timestamp"].as_i64().unwrap(),
            )
        })
        .collect();
    let end_ms = 1_703_001_234_567;
    let expected = [
        (1, "p", 1),
        (2, "c1", end_ms - 90),
        (3, "c2", end_ms - 60),
        (4, "c3", end_ms - 30),
        (5, "d", end_ms),
    ];
    assert_eq!(said, expected);
    assert_eq!(page["events"][2]["payload"], json!({"text": "ab"}));
    assert_eq!(page["events"][4]["payload"], json!({"text": "ababab"}));
    let (_, again) = server.post("s1", &batch);
    assert_eq!(again["dups"], 2, "{again}");
    // A few bytes do not stand for more than is taken.
    let (status, answer) = server.post("s1", &json!([folded(70_000)]));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (413, &json!("too_large"))
    );
    let mut odd = folded(3);
    odd["payload"]["ids"] = json!(["x", "y", "no id"]);
    let (status, answer) = server.post("s1", &json!([odd]));
    assert_eq!(
        (status, &answer["results"][0]["field"]),
        (400, &json!("payload.ids")),
        "{answer}"
    );
}

#[test]
fn names_that_are_longer_than_any_agent_gives_are_refused_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let event = |field: &str, name: &str| {
        let mut event = json!({"timestamp": 1, "type": "user_message", "payload": {"text": "x"}});
        match field.strip_prefix("payload.") {
            Some("toolCallId") => {
                event["type"] = "tool_call".into();
                event["payload"] = json!({"toolCallId": name, "toolName": "Bash", "args": {}});
            }
            Some(_) => {
                event["type"] = "permission_request".into();
                event["payload"] = json!({"requestId": name, "toolName": "Bash"});
            }
            None => event[field] = name.into(),
        }
        event
    };
    for field in [
        "turnId",
        "responseId",
        "agentId",
        "parentToolCallId",
        "payload.toolCallId",
        "payload.requestId",
    ] {
        let most = if field.ends_with("requestId") {
            1024
        } else {
            65_536
        };
        let batch = [most, most + 1].map(|n_bytes| event(field, &"n".repeat(n_bytes)));
        let (status, answer) = server.post("s1", &json!(batch));
        assert_eq!(status, 200, "{answer}");
        let results = &answer["results"];
        assert_eq!(results[0]["status"], "stored", "{field}: {answer}");
        let refused = &results[1];
        assert_eq!(
            (&refused["status"], &refused["field"], &refused["message"]),
            (
                &json!("rejected"),
                &json!(field),
                &json!(format!("{field}: over the limit of {most} bytes"))
            ),
            "{answer}"
        );
    }
}
