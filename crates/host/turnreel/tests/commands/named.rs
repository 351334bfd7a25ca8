//! What a command is told to read, where that is the id of a session or how one begins.

use std::path::Path;

use crate::support::command::{self, text};
use chat_store::{Packed, SessionId};
use serde_json::json;

fn log(data: &Path, session: &str) {
    let event = json!({"id": "e1", "timestamp": 1, "sessionId": session, "type": "user_message",
        "payload": {"text": session}});
    let stem = SessionId::parse(session).unwrap().stem();
    let path = data.join(format!("{stem}.events.jsonl"));
    std::fs::write(path, format!("{event}\n")).unwrap();
}

fn packed(data: &Path, session: &str) {
    let left = Packed {
        session: session.to_owned(),
        epoch: "e".to_owned(),
        head: 1,
        bytes: 1,
        sha256: "0".repeat(64),
        summary: serde_json::from_value(json!({"id": session})).unwrap(),
    };
    let stem = SessionId::parse(session).unwrap().stem();
    let path = data.join(format!("{stem}.packed.json"));
    std::fs::write(path, serde_json::to_vec(&left).unwrap()).unwrap();
}

#[test]
fn a_session_that_was_packed_away_is_taken_for_no_other_whose_id_begins_so() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let told = |named: &str| {
        let output = command::run("convert", &[named, "--data", data], b"");
        let code = output.status.code();
        (code, text(&output.stdout), text(&output.stderr))
    };
    packed(dir.path(), "task-1");
    log(dir.path(), "task-10");
    let (code, out, said) = told("task-1");
    assert_eq!((code, &*out), (Some(2), ""), "{said}");
    assert!(said.contains("`turnreel restore task-1`"), "{said}");
    // It is one of those that begin so.
    let (code, _, said) = told("task");
    assert_eq!(code, Some(2));
    assert!(said.contains("task-1, task-10"), "{said}");
    // Of one that is alone the whole id is told.
    packed(dir.path(), "other");
    let (_, _, said) = told("oth");
    assert!(said.contains("`turnreel restore other`"), "{said}");
    // One that came back is one.
    log(dir.path(), "other");
    let (code, out, _) = told("oth");
    assert!(code == Some(0) && out.contains("other"), "{out}");
}
