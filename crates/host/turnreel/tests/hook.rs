//! `turnreel hook`: what Claude Code asks is answered on the page.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::io::Write;
use std::path::Path;
use std::process::Child;

use serde_json::{Value, json};
use support::{Server, command, soon};

fn start(data: &Path, input: &Value) -> Child {
    let mut child = command::start_at(data, "hook", &[]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.to_string().as_bytes()).unwrap();
    child
}

/// As the recordings have it.
fn asks(event: &str) -> Value {
    json!({"session_id": "a6ea4e31-3636", "transcript_path": "/x.jsonl", "cwd": "/home/dev/demo", "permission_mode": "default",
        "hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "touch b.txt", "description": "Touch"}})
}

/// The request, once it is there.
fn asked(server: &Server) -> Value {
    let mut found = Value::Null;
    soon("the request arrives", || {
        let (_, page) = server.get("/api/v1/sessions/a6ea4e31-3636/events");
        let events = page["events"].as_array().cloned().unwrap_or_default();
        let request = events
            .into_iter()
            .rfind(|event| event["type"] == "permission_request");
        found = request.unwrap_or_default();
        !found.is_null()
    });
    found
}

#[test]
fn an_answer_from_the_page_reaches_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    let request = asked(&server);
    assert_eq!(request["payload"]["args"]["command"], "touch b.txt");
    assert_eq!(request["payload"]["answerable"], Value::Null);
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    assert_eq!(
        (&row["asks"], &row["cwd"]),
        (&json!(1), &json!("/home/dev/demo"))
    );
    let path = format!(
        "/api/v1/sessions/a6ea4e31-3636/permissions/{}",
        request["payload"]["requestId"].as_str().unwrap()
    );
    let answer = r#"{"decision": "deny", "message": "not that one"}"#;
    assert_eq!(server.ask("POST", &path, &server.token, answer).0, 200);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let decision = json!({"behavior": "deny", "message": "not that one"});
    assert_eq!(
        told["hookSpecificOutput"],
        json!({"hookEventName": "PermissionRequest", "decision": decision})
    );
}

#[cfg(unix)]
#[test]
fn what_is_answered_elsewhere_is_asked_no_longer() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    asked(&server);
    support::signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    assert_eq!(row["asks"], Value::Null, "{row}");
}

/// Then the agent asks where it runs.
#[test]
fn it_says_nothing_where_nothing_is_asked_or_nobody_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let silent = |input: &Value| {
        let output = start(dir.path(), input).wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
        output.stderr.is_empty()
    };
    assert!(!silent(&asks("PermissionRequest")), "it says why");
    let _server = Server::start(dir.path());
    assert!(silent(&asks("PreToolUse")));
    assert!(!silent(&json!("else")));
}

#[test]
fn who_waits_no_longer_takes_the_request_back_though_the_server_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let child = start(dir.path(), &asks("PermissionRequest"));
    asked(&server);
    server.stop();
    // It tries for ten seconds, and then the agent asks where it runs.
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("waits no longer for an answer"), "{said}");
    let server = Server::start(dir.path());
    soon("nobody is asked any more", || {
        let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
        row["asks"].as_u64().unwrap_or(0) == 0
    });
}
