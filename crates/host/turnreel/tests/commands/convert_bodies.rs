//! `turnreel convert`: long bodies that lie beside a log.

use crate::support::command::{self, text};
use serde_json::{Value, json};

#[test]
fn bodies_beside_a_log_are_in_what_is_made_of_it_and_one_that_is_missing_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let long = "a word ".repeat(10_000);
    let kept = |nth: u8| {
        let sha256 = format!("{nth:02x}").repeat(32);
        let folder = dir.path().join("blobs").join(&sha256[..2]);
        std::fs::create_dir_all(&folder).unwrap();
        (folder.join(&sha256), sha256)
    };
    let (there, missing) = (kept(1), kept(2));
    std::fs::write(&there.0, &long).unwrap();
    let log = dir.path().join("s.events.jsonl");
    let event = |id: &str, sha256: &str| {
        let body = json!({"$body": {"sha256": sha256, "bytes": long.len(), "preview": "a word", "truncated": true}});
        json!({"id": id, "timestamp": 1, "sessionId": "s", "type": "tool_result",
            "payload": {"toolCallId": id, "result": body}})
    };
    let write = |events: &[Value]| {
        let lines = events.iter().map(|event| format!("{event}\n"));
        std::fs::write(&log, lines.collect::<String>()).unwrap();
    };
    let convert = || command::run("convert", &[log.to_str().unwrap()], b"");
    write(&[event("e1", &there.1)]);
    let output = convert();
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(made["payload"]["result"], long.as_str());
    write(&[event("e1", &missing.1), event("e2", &there.1)]);
    let output = convert();
    assert_eq!(output.status.code(), Some(1));
    let fault = format!("a body is not there: {}: ", missing.1);
    let said = text(&output.stderr);
    assert!(said.contains(&fault), "{said}");
    assert!(text(&output.stdout).contains(&long));
}
