//! Permissions and questions: answered once, and waited for.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::support::{self, Server, make_token};
use serde_json::{Value, json};

fn asked() -> Value {
    json!([
        {"id": "p1", "timestamp": 1, "type": "permission_request", "turnId": "t1",
            "payload": {"requestId": "r1", "toolName": "Bash", "options": []}},
        {"id": "q1", "timestamp": 2, "type": "question_request", "turnId": "t1",
            "payload": {"requestId": "r2", "questions": [{"id": "a", "text": "Which?", "options": []}]}},
        {"id": "p2", "timestamp": 3, "type": "permission_request",
            "payload": {"requestId": "odd id/2", "toolName": "Bash", "options": []}},
    ])
}

const PERMISSION: &str = "/api/v1/sessions/s1/permissions/r1";
const QUESTION: &str = "/api/v1/sessions/s1/questions/r2";

#[test]
fn an_answer_is_given_once_and_stays_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &asked());
    let token = make_token(&server, &["--scope", "answer"]);
    let pending = json!({"requestId": "r1", "status": "pending"});
    assert_eq!(server.get(PERMISSION), (200, pending));
    let allow = r#"{"decision": "allow", "scope": "session", "message": "go on"}"#;
    let (status, first) = server.ask("POST", PERMISSION, &token, allow);
    assert_eq!(status, 200, "{first}");
    assert_eq!(first["outcome"]["decision"], "allow");
    assert_eq!(first["outcome"]["by"], "user");
    let (status, again) = server.ask("POST", PERMISSION, &token, r#"{"decision": "deny"}"#);
    assert_eq!(
        (status, &again["error"]["code"]),
        (409, &json!("already_answered"))
    );
    assert_eq!(again["outcome"], first["outcome"]);
    assert_eq!(server.get(PERMISSION).1, first);
    let reply = r#"{"answers": [["left", "right"]]}"#;
    let (status, answer) = server.ask("POST", QUESTION, &token, reply);
    assert_eq!(
        (status, &answer["outcome"]["outcome"]),
        (200, &json!("answered"))
    );
    let odd = "/api/v1/sessions/s1/permissions/odd%20id%2F2";
    assert_eq!(
        server.ask("POST", odd, &token, r#"{"decision": "deny"}"#).0,
        200
    );
    let (_, page) = server.get("/api/v1/sessions/s1/events");
    let resolved: Vec<_> = page["events"].as_array().unwrap().iter().skip(3).collect();
    assert_eq!(resolved.len(), 3, "{page}");
    assert_eq!(resolved[0]["type"], "permission_resolved");
    assert_eq!(resolved[0]["turnId"], "t1");
    assert_eq!(
        resolved[1]["payload"]["answers"],
        json!([["left", "right"]])
    );
    server.kill_and_restart();
    assert_eq!(server.get(PERMISSION).1, first);
    let (status, _) = server.ask("POST", QUESTION, &server.token, reply);
    assert_eq!(status, 409);
}

#[test]
fn of_many_answers_at_once_one_counts() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &asked());
    let answer = |n: usize| {
        let decision = ["allow", "deny", "cancel"][n % 3];
        let body = json!({"decision": decision}).to_string();
        server.ask("POST", PERMISSION, &server.token, &body).0
    };
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..12).map(|n| scope.spawn(move || answer(n))).collect();
        asking.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 11);
    assert_eq!(server.all("s1", 100).len(), 4);
}

#[test]
fn who_waits_hears_of_it_at_once_whoever_answers() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &asked());
    let wait = |path: &str| {
        let started = Instant::now();
        let (status, answer) = server.get(&format!("{path}?wait=50s"));
        assert_eq!(status, 200);
        (answer, started.elapsed())
    };
    std::thread::scope(|scope| {
        let permission = scope.spawn(|| wait(PERMISSION));
        let question = scope.spawn(|| wait(QUESTION));
        std::thread::sleep(Duration::from_millis(300));
        // Some other event wakes nobody.
        server.post("s1", &support::chunks(1, 3));
        server.ask(
            "POST",
            QUESTION,
            &server.token,
            r#"{"outcome": "rejected"}"#,
        );
        // The agent says itself what became of its request.
        let resolved = json!([{"id": "x", "timestamp": 9, "type": "permission_resolved",
            "payload": {"requestId": "r1", "decision": "deny", "by": "rule"}}]);
        server.post("s1", &resolved);
        let (answer, took) = permission.join().unwrap();
        assert_eq!(answer["outcome"]["by"], "rule", "{answer}");
        assert!(took < Duration::from_secs(40), "{took:?}");
        let (answer, _) = question.join().unwrap();
        assert_eq!(answer["outcome"]["outcome"], "rejected", "{answer}");
    });
    let (status, _) = server.ask(
        "POST",
        PERMISSION,
        &server.token,
        r#"{"decision": "allow"}"#,
    );
    assert_eq!(
        status, 409,
        "what the agent resolved is not answered any more"
    );
}

#[test]
fn a_wait_ends_in_time_and_with_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &asked());
    let started = Instant::now();
    let (_, answer) = server.get(&format!("{PERMISSION}?wait=300ms"));
    assert_eq!(answer["status"], "pending");
    assert!(started.elapsed() >= Duration::from_millis(300));
    let request = format!(
        "GET {PERMISSION}?wait=60s HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Connection: close\r\n\r\n",
        server.address(),
        server.token
    );
    let mut waiting = std::net::TcpStream::connect(server.address()).unwrap();
    waiting.set_read_timeout(Some(support::PATIENCE)).unwrap();
    waiting.write_all(request.as_bytes()).unwrap();
    // Whoever came later was let in, so it was before.
    assert_eq!(server.get("/healthz").0, 200);
    std::thread::sleep(Duration::from_secs(1));
    assert!(server.stop().success());
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("pending"), "{answer}");
}

#[test]
fn bad_answers_are_refused_with_their_field() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &asked());
    for (path, body, field) in [
        (PERMISSION, r#"{}"#, "decision"),
        (PERMISSION, r#"{"decision": "maybe"}"#, "decision"),
        (
            PERMISSION,
            r#"{"decision": "allow", "scope": "ever"}"#,
            "scope",
        ),
        (
            PERMISSION,
            r#"{"decision": "allow", "message": 5}"#,
            "message",
        ),
        (QUESTION, r#"{}"#, "answers"),
        (QUESTION, r#"{"answers": 5}"#, "answers"),
        (QUESTION, r#"{"answers": []}"#, "answers"),
        (QUESTION, r#"{"answers": [[1]]}"#, "answers"),
        (QUESTION, r#"{"answers": [["left"], ["right"]]}"#, "answers"),
        (QUESTION, r#"{"outcome": "expired"}"#, "outcome"),
    ] {
        let (status, answer) = server.post_text(path, body);
        assert_eq!(
            (status, &answer["field"]),
            (400, &json!(field)),
            "{body}: {answer}"
        );
    }
    for path in [
        "/api/v1/sessions/s1/permissions/never",
        "/api/v1/sessions/s1/permissions/r2",
        "/api/v1/sessions/never/permissions/r1",
    ] {
        assert_eq!(server.get(path).0, 404, "{path}");
        assert_eq!(
            server.post_text(path, r#"{"decision": "allow"}"#).0,
            404,
            "{path}"
        );
    }
    assert_eq!(server.get(&format!("{PERMISSION}?wait=soon")).0, 400);
    assert_eq!(server.all("s1", 100).len(), 3);
}

#[test]
fn the_list_says_who_waits_for_what_and_what_each_is_doing() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let call = |id: &str, tool: &str, args: Value| {
        json!({"id": id, "timestamp": 50, "type": "tool_call", "turnId": "t1",
            "payload": {"toolCallId": id, "toolName": tool, "args": args}})
    };
    let row = |server: &Server| server.get("/api/v1/sessions").1["sessions"][0].clone();
    let calls = json!([
        call("c1", "Grep", json!({"glob": "*.rs", "pattern": "todo", "path": "src"})),
        call("c2", "Bash", json!({"command": "cargo test\n--all"})),
        {"id": "x", "timestamp": 60, "type": "tool_result", "turnId": "t1", "payload": {"toolCallId": "c1"}},
    ]);
    server.post("s1", &calls);
    let doing = json!({"tool": "Bash", "object": "cargo test", "sinceMs": 50});
    assert_eq!(row(&server)["doing"], doing);
    assert!(row(&server).get("asks").is_none());
    server.post("s1", &asked());
    let waits = row(&server);
    assert_eq!(waits["asks"], 3);
    let first = json!({"kind": "permission", "tool": "Bash", "sinceMs": 1});
    assert_eq!(waits["ask"], first);
    // What is asked again, or answered twice, counts once.
    server.post(
        "s1",
        &json!([{"id": "again", "timestamp": 9, "type": "permission_request",
        "payload": {"requestId": "r1", "toolName": "Bash", "options": []}}]),
    );
    for _ in 0..2 {
        server.ask("POST", PERMISSION, &server.token, r#"{"decision": "deny"}"#);
    }
    let second = json!({"kind": "question", "text": "Which?", "sinceMs": 2});
    assert_eq!(
        (&row(&server)["asks"], &row(&server)["ask"]),
        (&json!(2), &second)
    );
    let before = row(&server);
    server.kill_and_restart();
    assert_eq!(row(&server), before, "made anew from the log");
    // Behind the end of a turn nothing of it runs or waits; what was asked for no turn does.
    server.post(
        "s1",
        &json!([{"id": "end", "timestamp": 99, "type": "turn_end", "turnId": "t1", "payload": {}}]),
    );
    let over = row(&server);
    assert!(over.get("doing").is_none() && over["asks"] == 1, "{over}");
}

#[test]
fn an_answer_before_its_request_leaves_nothing_waiting_and_many_requests_stay_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &json!([
        {"id": "1", "timestamp": 1, "type": "permission_resolved", "payload": {"requestId": "r", "decision": "allow"}},
        {"id": "2", "timestamp": 2, "type": "permission_request", "payload": {"requestId": "r", "toolName": "Bash"}},
    ]));
    let row = || server.get("/api/v1/sessions").1["sessions"][0].clone();
    assert!(row().get("asks").is_none(), "{}", row());
    let many: Value = (0..900)
        .map(|n| {
            json!({"id": format!("m{n}"), "timestamp": n, "type": "question_request",
            "payload": {"requestId": format!("m{n}"), "questions": [{"text": "x".repeat(5000)}]}})
        })
        .collect();
    server.post("s1", &many);
    assert_eq!(row()["asks"], 64);
    assert!(row().to_string().len() < 1000, "{}", row());
}

#[test]
fn a_socket_is_told_whether_its_token_may_answer() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &asked());
    let may = |token: &str| server.socket_with(token).open(1, "s1", None)["may"].clone();
    assert_eq!(may(&server.token), json!(["answer", "admin"]));
    let reader = make_token(&server, &["--scope", "read"]);
    assert_eq!(may(&reader), Value::Null);
    let both = make_token(&server, &["--scope", "read", "--scope", "answer"]);
    assert_eq!(may(&both), json!(["answer"]));
    // Nor is more told with the list.
    let of_list = |token: &str| {
        let list = server.ask("GET", "/api/v1/sessions?limit=1", token, "").1;
        list["may"].clone()
    };
    assert_eq!(of_list(&server.token), json!(["answer", "admin"]));
    assert_eq!(of_list(&reader), Value::Null);
    let refused = server.ask("POST", PERMISSION, &reader, r#"{"decision": "deny"}"#);
    assert_eq!(refused.0, 403, "{}", refused.1);
}

#[test]
fn who_may_only_send_allows_nothing_that_waits_for_an_answer_from_here() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &asked());
    let sender = make_token(&server, &["--scope", "ingest,read"]);
    let path = "/api/v1/sessions/s1/events";
    let send = |server: &Server, token: &str, events: Value| {
        server.ask("POST", path, token, &events.to_string())
    };
    let allows = json!([
        // It says of the request that nobody waits for it, and that it is allowed.
        {"id": "x0", "timestamp": 4, "type": "permission_request",
            "payload": {"requestId": "r1", "toolName": "Bash", "answerable": false}},
        {"id": "x1", "timestamp": 5, "type": "permission_resolved", "payload": {"requestId": "r1", "decision": "allow"}},
        {"id": "x2", "timestamp": 6, "type": "question_resolved",
            "payload": {"requestId": "r2", "outcome": "answered", "answers": [["left"]]}},
        {"id": "x3", "timestamp": 7, "type": "assistant_chunk", "payload": {"text": "goes on"}},
    ]);
    for _ in 0..2 {
        let (status, answer) = send(&server, &sender, allows.clone());
        assert_eq!(status, 200, "{answer}");
        let codes = [1, 2].map(|at| answer["results"][at]["code"].clone());
        assert_eq!(codes, ["needs_answer", "needs_answer"], "{answer}");
        assert_eq!(server.get(PERMISSION).1["status"], "pending");
        assert_eq!(server.get(QUESTION).1["status"], "pending");
        // What was asked is read from the log then.
        server.kill_and_restart();
    }
    let own = json!([
        {"id": "y0", "timestamp": 8, "type": "permission_request",
            "payload": {"requestId": "own", "toolName": "Bash", "answerable": false}},
        {"id": "y1", "timestamp": 9, "type": "permission_resolved", "payload": {"requestId": "own", "decision": "allow"}},
        {"id": "y2", "timestamp": 9, "type": "permission_resolved", "payload": {"requestId": "r1", "decision": "cancel"}},
    ]);
    let (status, answer) = send(&server, &sender, own);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["results"][2]["status"], "stored", "{answer}");
    assert_eq!(server.get(PERMISSION).1["outcome"]["decision"], "cancel");
    let both = make_token(&server, &["--scope", "ingest,answer"]);
    let (status, answer) = send(&server, &both, json!([allows[2]]));
    assert_eq!(answer["results"][0]["status"], "stored", "{status}");
}

#[test]
fn who_may_only_send_allows_nothing_before_it_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let sender = make_token(&server, &["--scope", "ingest"]);
    let send = |events: &Value| {
        let path = "/api/v1/sessions/s1/events";
        server.ask("POST", path, &sender, &events.to_string())
    };
    let event = |id: &str, kind: &str, payload: Value| json!({"id": id, "timestamp": 1, "type": kind, "payload": payload});
    let allow = |id: &str| {
        let payload = json!({"requestId": "r1", "decision": "allow"});
        event(id, "permission_resolved", payload)
    };
    let reply = event(
        "x2",
        "question_resolved",
        json!({"requestId": "r2", "outcome": "answered", "answers": [["left"]]}),
    );
    // Of a session that is not there, which it is not after that either, and of one that is.
    for n_sessions in [0, 1] {
        let (status, answer) = send(&json!([allow("x1"), reply]));
        assert_eq!(status, 400, "{answer}");
        let (_, list) = server.get("/api/v1/sessions");
        assert_eq!(list["sessions"].as_array().unwrap().len(), n_sessions);
        let said = event("said", "assistant_chunk", json!({"text": "goes on"}));
        let (status, answer) = send(&json!([allow("x1"), said]));
        assert_eq!(status, 200, "{answer}");
        assert_eq!(answer["results"][0]["code"], "needs_answer", "{answer}");
    }
    server.post("s1", &asked());
    assert_eq!(server.get(PERMISSION).1["status"], "pending");
    assert_eq!(server.get(QUESTION).1["status"], "pending");
    // What is answered where the agent runs is told as it comes: what was asked in one batch is answered in another.
    let asks = json!({"requestId": "own", "toolName": "Bash", "answerable": false});
    let (status, answer) = send(&json!([event("y0", "permission_request", asks)]));
    assert_eq!(status, 200, "{answer}");
    let payload = json!({"requestId": "own", "decision": "allow"});
    let (_, answer) = send(&json!([event("y1", "permission_resolved", payload)]));
    assert_eq!(answer["results"][0]["status"], "stored", "{answer}");
}

#[test]
fn what_a_hook_asks_is_counted_once_and_waits_on_when_its_turn_ends() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let by_hook = json!({"id": "h", "timestamp": 2, "type": "permission_request",
        "payload": {"requestId": "hook", "toolName": "Bash", "args": {"command": "ls"}}});
    let by_log = json!({"id": "l", "timestamp": 3, "type": "permission_request", "turnId": "t1",
        "payload": {"requestId": "c", "toolCallId": "c", "toolName": "Bash", "args": {"command": "ls"}, "answerable": false}});
    for (nth, asks) in [[by_hook.clone(), by_log.clone()], [by_log, by_hook]]
        .into_iter()
        .enumerate()
    {
        let session = format!("s{nth}");
        let row = || {
            let (_, list) = server.get("/api/v1/sessions");
            let mut rows = list["sessions"].as_array().unwrap().iter();
            rows.find(|row| row["id"] == session).cloned().unwrap()
        };
        server.post(&session, &json!(asks));
        assert_eq!(row()["asks"], 1, "{}", row());
        assert_eq!(row()["ask"]["answerable"], Value::Null, "{}", row());
        assert_eq!(row()["ask"]["whole"]["requestId"], "hook");
        let end = json!([{"id": "end", "timestamp": 4, "type": "turn_end", "turnId": "t1", "payload": {}}]);
        server.post(&session, &end);
        assert_eq!(row()["asks"], 1, "a sub-agent may ask behind it");
        let said = json!([{"id": "said", "timestamp": 5, "type": "permission_resolved", "turnId": "t1",
            "payload": {"requestId": "c", "decision": "allow"}}]);
        server.post(&session, &said);
        assert!(row().get("asks").is_none(), "{}", row());
    }
}
