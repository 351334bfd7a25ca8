//! The routes of sandbox workers: their limits, their refusals, and what becomes of what they report.

use std::time::{Duration, Instant};

use crate::support::inside::Inside;
use crate::support::{self, Server};
use serde_json::{Value, json};

const TASK: &str = "/api/v1/sandbox/task/t1";

fn send(server: &Server, route: &str, body: &Value) -> (u16, Value) {
    server.post_text(&format!("{TASK}/{route}"), &body.to_string())
}

fn events(server: &Server, session: &str) -> Vec<Value> {
    let path = format!("/api/v1/sessions/{session}/events");
    let (status, page) = server.get(&path);
    assert_eq!(status, 200, "{page}");
    page["events"].as_array().unwrap().clone()
}

fn of_type<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

#[test]
fn a_task_is_reported_piece_by_piece_and_read_as_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let started = json!({"event_type": "TOOL_STARTED", "tool_id": "c1", "tool_name": "Read",
        "tool_args": {"file_path": "src/lib.rs"}, "sandbox_id": "box-7"});
    let (status, answer) = send(&server, "tool-events", &started);
    assert_eq!(
        (status, &answer["success"]),
        (200, &json!(true)),
        "{answer}"
    );
    let done = json!({"event_type": "TOOL_COMPLETED", "tool_id": "c1", "tool_name": "Read",
        "duration_ms": 320, "result_summary": "248 lines", "success": true});
    assert_eq!(send(&server, "tool-events", &done).0, 200);
    // Chunks out of order, under both names of their text, the last one empty.
    for (index, name, text, is_final) in [
        (1, "chunk", "world", false),
        (0, "chunk_text", "Hello ", false),
        (2, "chunk", "", true),
    ] {
        let chunk = json!({"message_id": "m1", name: text, "chunk_index": index, "is_thinking": false,
            "is_final": is_final});
        assert_eq!(send(&server, "message-chunks", &chunk).0, 200);
    }
    let step = json!({"event_type": "step_completed", "message": "Analyzed 15 files", "progress_percent": 30});
    assert_eq!(send(&server, "progress", &step).0, 200);
    let edited = json!({"event_type": "agent.file_edited", "event_id": "edit-1", "event_data": {
        "turn": 3, "tool_use_id": "c1", "file_path": "/workspace/a.py", "change_type": "modified",
        "lines_added": 1, "lines_removed": 1, "diff_preview": "-a\n+b\n", "full_diff": "-a\n+b\n",
        "full_diff_available": true, "full_diff_size": 6}});
    assert_eq!(send(&server, "progress", &edited).0, 200);
    let events = events(&server, "t1");
    let start = &of_type(&events, "session_start")[0]["payload"];
    assert_eq!(start["sandboxId"], "box-7");
    let result = &of_type(&events, "tool_result")[0]["payload"];
    assert_eq!(result["durationMs"], 320);
    let chunks = of_type(&events, "assistant_chunk");
    let indices: Vec<_> = chunks
        .iter()
        .map(|it| it["payload"]["index"].as_u64().unwrap())
        .collect();
    assert_eq!(indices, [1, 0], "the log keeps the order of arrival");
    assert_eq!(chunks[0]["responseId"], "m1");
    let text = &of_type(&events, "assistant_done")[0]["payload"]["text"];
    assert_eq!(text, "Hello world");
    assert_eq!(
        of_type(&events, "progress")[0]["payload"]["percent"].as_f64(),
        Some(30.0)
    );
    let edit = of_type(&events, "file_edit")[0]["id"].as_str().unwrap();
    for path in ["sandbox/box-7", "sandboxes/box-7", "sessions/t1"] {
        let (status, diff) = server.get(&format!("/api/v1/{path}/file-diffs/{edit}"));
        assert_eq!(status, 200, "{path}: {diff}");
        assert_eq!(
            diff,
            json!({"file_path": "/workspace/a.py", "diff": "-a\n+b\n"})
        );
        let (status, none) = server.get(&format!("/api/v1/{path}/file-diffs/none"));
        assert_eq!((status, &none["error"]["code"]), (404, &json!("not_found")));
    }
    let row = &server.get("/api/v1/sessions").1["sessions"][0];
    assert_eq!(row["sandboxId"], "box-7");
}

#[test]
fn each_limit_holds_to_the_character_and_names_its_field() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let tool = |name: &str, value: Value| {
        let mut body = json!({"event_type": "TOOL_COMPLETED", "tool_id": format!("c-{name}-{}", value.to_string().len()),
            "tool_name": "Bash"});
        body[name] = value;
        ("tool-events", body)
    };
    let chunk = |name: &str, value: Value| {
        let index = value.to_string().len();
        let mut body = json!({"message_id": "m1", "chunk": "x", "chunk_index": index});
        body[name] = value;
        ("message-chunks", body)
    };
    let long = |n: usize| Value::from("é".repeat(n));
    for (n, make) in [
        (100, &tool("tool_name", long(0)).0),
        (500, &"tool-events"),
        (5000, &"tool-events"),
        (1000, &"message-chunks"),
    ] {
        let name = match n {
            100 => "tool_name",
            500 => "result_summary",
            5000 => "result_preview",
            _ => "chunk",
        };
        let of = |n: usize| {
            if *make == "tool-events" {
                tool(name, long(n))
            } else {
                chunk(name, long(n))
            }
        };
        let (route, body) = of(n);
        assert_eq!(send(&server, route, &body).0, 200, "{name} of {n}");
        let (route, body) = of(n + 1);
        let (status, answer) = send(&server, route, &body);
        assert_eq!(status, 422, "{name} of {}", n + 1);
        let detail = &answer["detail"][0];
        assert_eq!(detail["loc"], json!(["body", name]), "{answer}");
        assert_eq!(detail["type"], "string_too_long");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{name}: ")), "{message}");
    }
    for (route, body, at) in [
        ("tool-events", json!({}), json!(["body", "event_type"])),
        (
            "tool-events",
            json!({"event_type": "NOPE", "tool_id": "a", "tool_name": "b"}),
            json!(["body", "event_type"]),
        ),
        (
            "tool-events",
            json!({"event_type": "TOOL_STARTED", "tool_name": "b"}),
            json!(["body", "tool_id"]),
        ),
        (
            "tool-events",
            json!({"event_type": "TOOL_STARTED", "tool_id": 5, "tool_name": "b"}),
            json!(["body", "tool_id"]),
        ),
        (
            "tool-events",
            json!({"event_type": "TOOL_STARTED", "tool_id": "a", "tool_name": "b", "tool_args": []}),
            json!(["body", "tool_args"]),
        ),
        (
            "tool-events",
            json!({"event_type": "TOOL_COMPLETED", "tool_id": "a", "tool_name": "b", "duration_ms": 1.5}),
            json!(["body", "duration_ms"]),
        ),
        (
            "tool-events",
            json!({"event_type": "TOOL_COMPLETED", "tool_id": "a", "tool_name": "b", "success": "yes"}),
            json!(["body", "success"]),
        ),
        (
            "message-chunks",
            json!({"chunk": "x", "chunk_index": 0}),
            json!(["body", "message_id"]),
        ),
        (
            "message-chunks",
            json!({"message_id": "m", "chunk_index": 0}),
            json!(["body", "chunk"]),
        ),
        (
            "message-chunks",
            json!({"message_id": "m", "chunk": "x"}),
            json!(["body", "chunk_index"]),
        ),
        (
            "message-chunks",
            json!({"message_id": "m", "chunk": "x", "chunk_index": -1}),
            json!(["body", "chunk_index"]),
        ),
        (
            "message-chunks",
            json!({"message_id": "m", "chunk": "x", "chunk_index": 0, "is_final": 1}),
            json!(["body", "is_final"]),
        ),
        (
            "progress",
            json!({"message": "x"}),
            json!(["body", "event_type"]),
        ),
        (
            "progress",
            json!({"event_type": "info", "message": 5}),
            json!(["body", "message"]),
        ),
        (
            "progress",
            json!({"event_type": "step_completed", "progress_percent": 101}),
            json!(["body", "progress_percent"]),
        ),
        (
            "progress",
            json!({"event_type": "agent.tool_use", "event_data": {"tool": "x".repeat(101)}}),
            json!(["body", "event_data", "tool"]),
        ),
        ("progress", json!([]), json!(["body"])),
    ] {
        let (status, answer) = send(&server, route, &body);
        assert_eq!(status, 422, "{route} {body}: {answer}");
        assert_eq!(answer["detail"][0]["loc"], at, "{route} {body}: {answer}");
    }
    let path = format!("{TASK}/progress");
    assert_eq!(server.post_text(&path, "{nope").0, 422);
    let all_wrong = json!({"event_type": "TOOL_STARTED", "tool_name": 1, "success": 2});
    let (_, answer) = send(&server, "tool-events", &all_wrong);
    assert_eq!(answer["detail"].as_array().unwrap().len(), 3, "{answer}");
    // Nothing of all that was refused is there, and all that was taken is.
    let events = events(&server, "t1");
    assert_eq!(of_type(&events, "tool_result").len(), 3);
    assert_eq!(of_type(&events, "assistant_chunk").len(), 1);
}

#[test]
fn what_is_sent_twice_is_stored_once_also_across_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let chunk = |index: u64, text: &str, is_final: bool| json!({"message_id": "m 1/ü", "chunk": text, "chunk_index": index, "is_final": is_final});
    let started = json!({"event_type": "agent.tool_use", "tool_id": "c1", "tool_name": "Bash", "tool_args": {"command": "ls"}});
    let progress = json!({"event_type": "step_completed", "event_id": "p1", "message": "one"});
    for _ in 0..2 {
        send(&server, "message-chunks", &chunk(0, "One ", false));
        send(&server, "message-chunks", &chunk(1, "two ", false));
        send(&server, "tool-events", &started);
        send(&server, "progress", &progress);
    }
    let before = events(&server, "t1").len();
    server.kill_and_restart();
    let (_, answer) = send(&server, "message-chunks", &chunk(1, "two ", false));
    assert_eq!(answer["duplicate"], true, "{answer}");
    assert_eq!(send(&server, "tool-events", &started).1["duplicate"], true);
    assert_eq!(events(&server, "t1").len(), before);
    // What is told after the restart goes on from what was told before it.
    send(&server, "message-chunks", &chunk(2, "three", true));
    let done = json!({"event_type": "TOOL_FAILED", "tool_id": "c1", "tool_name": "Bash", "error_message": "no such file"});
    send(&server, "tool-events", &done);
    send(
        &server,
        "progress",
        &json!({"event_type": "step_completed", "message": "two"}),
    );
    send(
        &server,
        "progress",
        &json!({"event_type": "step_completed", "message": "two"}),
    );
    let events = events(&server, "t1");
    let text = &of_type(&events, "assistant_done")[0]["payload"]["text"];
    assert_eq!(text, "One two three");
    assert_eq!(of_type(&events, "tool_call").len(), 1);
    assert_eq!(
        of_type(&events, "tool_result")[0]["payload"]["error"]["message"],
        "no such file"
    );
    assert_eq!(of_type(&events, "session_start").len(), 1);
    let steps: Vec<_> = of_type(&events, "progress")
        .iter()
        .map(|it| it["payload"]["message"].clone())
        .collect();
    assert_eq!(
        steps,
        ["one", "two", "two"],
        "steps without an id are as many as came"
    );
}

#[test]
fn what_was_folded_into_one_line_is_known_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let chunk = |index: u64, is_final: bool| json!({"message_id": "m", "chunk": format!("word {index} "), "chunk_index": index, "is_final": is_final});
    for index in 0..40 {
        send(&server, "message-chunks", &chunk(index, false));
    }
    let end = json!([{"id": "end", "timestamp": 1, "type": "session_end", "payload": {}}]);
    assert_eq!(server.post("t1", &end).0, 200);
    server.kill();
    let data = dir.path().to_string_lossy();
    let output = support::command::run("compact", &["t1", "--data", &data], b"");
    assert!(output.status.success(), "{output:?}");
    let server = Server::start(dir.path());
    let n_before = events(&server, "t1").len();
    assert!(n_before < 20, "{n_before} lines are left");
    for index in [0, 20, 39] {
        let (_, answer) = send(&server, "message-chunks", &chunk(index, false));
        assert_eq!(answer["duplicate"], true, "{index}: {answer}");
    }
    // The message goes on with all that was before.
    send(&server, "message-chunks", &chunk(40, true));
    let events = events(&server, "t1");
    let text = of_type(&events, "assistant_done")[0]["payload"]["text"].clone();
    let whole: String = (0..=40).map(|index| format!("word {index} ")).collect();
    assert_eq!(text, whole);
}

/// Sends until it is told to wait: how many were taken, and what it was told.
fn until_refused(mut send: impl FnMut(u64) -> (u16, Value)) -> (u64, Value) {
    for n in 0..200 {
        let (status, answer) = send(n);
        if status == 429 {
            return (n, answer);
        }
        assert_eq!(status, 200, "{answer}");
    }
    panic!("nothing is refused");
}

#[test]
fn a_sandbox_has_its_share_and_is_told_when_there_is_more() {
    let dir = tempfile::tempdir().unwrap();
    let more = [
        "--no-examples",
        "--rate",
        "0",
        "--sandbox-rate",
        "20",
        "--sandbox-chunk-rate",
        "30",
    ];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    let step = |n: u64| json!({"event_type": "step_completed", "event_id": format!("p{n}"), "message": "x"});
    let chunk = |n: u64| json!({"message_id": "m", "chunk": "x", "chunk_index": n});
    let began = Instant::now();
    // A share is there at once, and comes again in a minute: the longer this takes, the more is taken.
    let is_share = |taken: u64, share: u64| {
        let most = share + began.elapsed().as_secs() * share / 60;
        assert!((share..=most).contains(&taken), "{taken} of {most}");
    };
    let (n_steps, answer) = until_refused(|n| send(&server, "progress", &step(n)));
    is_share(n_steps, 20);
    let wait_ms = answer["error"]["retryAfterMs"].as_u64().unwrap();
    assert!((1..=3000).contains(&wait_ms), "{answer}");
    support::soon("its head says so, too", || {
        let (_, head, _) = server.exchange(
            "POST",
            &format!("{TASK}/progress"),
            Some(&server.token),
            "Content-Type: application/json\r\nContent-Length: 21\r\n",
            r#"{"event_type":"info"}"#,
        );
        head.contains("retry-after: ")
    });
    // Chunks have a share of their own, and so has another sandbox.
    let (n_chunks, _) = until_refused(|n| send(&server, "message-chunks", &chunk(n)));
    is_share(n_chunks, 30);
    let other = server.post_text("/api/v1/sandbox/task/t2/progress", &step(1).to_string());
    assert_eq!(other.0, 200);
    // A sandbox is not its task: two tasks of one share what it has.
    let shared = |task: &str| {
        let body =
            json!({"event_type": "info", "message": "x", "sandbox_id": "shared"}).to_string();
        server.post_text(&format!("/api/v1/sandbox/task/{task}/progress"), &body)
    };
    for _ in 0..15 {
        assert_eq!(shared("a").0, 200);
    }
    let (n_others, _) = until_refused(|_| shared("b"));
    is_share(15 + n_others, 20);
    // Who waits as told is let in, and nothing that was taken is missing.
    let (n_more, answer) = until_refused(|n| send(&server, "progress", &step(1000 + n)));
    let wait_ms = answer["error"]["retryAfterMs"].as_u64().unwrap();
    std::thread::sleep(Duration::from_millis(wait_ms + 100));
    assert_eq!(send(&server, "progress", &step(99_999)).0, 200);
    let events = events(&server, "t1");
    let n_told = |kind: &str| of_type(&events, kind).len() as u64;
    assert_eq!(n_told("progress"), n_steps + n_more + 1);
    assert_eq!(n_told("assistant_chunk"), n_chunks);
}

#[test]
fn odd_ids_of_tasks_are_sessions_too_and_bodies_that_are_none_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let body = r#"{"event_type": "info", "message": "x"}"#;
    let (status, answer) = server.post_text("/api/v1/sandbox/task/..%2F..%2Fetc/progress", body);
    assert_eq!(status, 200, "{answer}");
    let session = answer["session"].as_str().unwrap();
    assert!(
        session
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    );
    assert_eq!(of_type(&events(&server, session), "notice").len(), 1);
    let post = |more: &str, body: &str| {
        let path = format!("{TASK}/progress");
        server
            .exchange("POST", &path, Some(&server.token), more, body)
            .0
    };
    assert_eq!(
        post("Content-Type: text/plain\r\nContent-Length: 2\r\n", "{}"),
        415
    );
    let deep = format!(
        "{{\"event_type\":\"info\",\"x\":{}{}}}",
        "[".repeat(70),
        "]".repeat(70)
    );
    let more = format!(
        "Content-Type: application/json\r\nContent-Length: {}\r\n",
        deep.len()
    );
    assert_eq!(post(&more, &deep), 422);
}

#[test]
fn a_task_that_is_quiet_is_taken_to_be_idle_until_it_goes_on() {
    const QUIET_MS: u64 = 300;
    let server = Inside::start(turnreel::Settings {
        quiet_ms: QUIET_MS,
        ..turnreel::Settings::default()
    });
    let url = format!("http://{}", server.address);
    let bearer = format!("Bearer {}", Inside::TOKEN);
    let report = |n: u64| {
        let body = json!({"message_id": "m", "chunk": "x", "chunk_index": n}).to_string();
        let sent = support::agent()
            .post(format!("{url}{TASK}/message-chunks"))
            .header("Authorization", &bearer)
            .header("Content-Type", "application/json")
            .send(body);
        assert_eq!(sent.unwrap().status(), 200);
    };
    let status = || {
        let asked = support::agent()
            .get(format!("{url}/api/v1/sessions"))
            .header("Authorization", &bearer)
            .call();
        let text = asked.unwrap().body_mut().read_to_string().unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        list["sessions"][0]["status"].as_str().unwrap().to_owned()
    };
    // Seen later than that it may be idle already.
    let goes_on = |n: u64| {
        let began = Instant::now();
        report(n);
        let status = status();
        let is_late = began.elapsed() >= Duration::from_millis(QUIET_MS);
        assert!(status == "busy" || is_late, "{status}");
    };
    for n in 0..4 {
        goes_on(n);
        std::thread::sleep(Duration::from_millis(100));
    }
    support::soon("it is idle", || status() == "idle");
    goes_on(9);
    support::soon("it is idle again", || status() == "idle");
    server.stop();
}

#[test]
fn a_token_of_a_task_s_session_is_good_for_the_task_whatever_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let step = json!({"event_type": "info", "message": "one"}).to_string();
    let send = |task: &str, token: &str| {
        let path = format!("/api/v1/sandbox/task/{task}/progress");
        server.ask("POST", &path, token, &step)
    };
    for (task, other) in [
        ("build.42", "build.43"),
        ("a%20task", "a%20tusk"),
        ("plain", "pla%69n2"),
    ] {
        let (status, answer) = send(task, &server.token);
        assert_eq!(status, 200, "{answer}");
        let session = answer["session"].as_str().unwrap();
        let of_it = ["--scope", "ingest", "--session", session];
        let token = support::make_token(&server, &of_it);
        let (status, answer) = send(task, &token);
        assert_eq!((status, &answer["session"]), (200, &json!(session)));
        assert_eq!(send(other, &token).0, 404);
        // The session's own name is one of a task, too.
        assert_eq!(send(session, &token).0, 200);
        assert_eq!(send("%ff", &token).0, 404);
    }
}
