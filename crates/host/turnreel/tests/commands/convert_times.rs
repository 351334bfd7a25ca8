//! `turnreel convert`: the times of lines that say none.

use super::convert::converted;
use crate::support::command::{self, text};
use serde_json::Value;

/// When a file was written says nothing of when its first lines happened, where others say that themselves.
#[test]
fn lines_without_a_time_have_that_of_those_beside_them() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, lines: &[&str]| {
        let path = dir.path().join(name);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        path.to_string_lossy().into_owned()
    };
    let summary = r#"{"type":"summary","summary":"Earlier","leafUuid":"gone"}"#;
    let prompt = r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Go"}}"#;
    let answer = r#"{"type":"assistant","uuid":"a1","sessionId":"s1","timestamp":"2026-01-01T00:00:09.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Done"}]}}"#;
    let figures = |paths: &[&str]| -> Value {
        let args = [paths, &["--to", "summary"]].concat();
        serde_json::from_str(&converted(&args)).unwrap()
    };
    let transcript = write("t.jsonl", &[summary, prompt, answer]);
    let said = figures(&[&transcript]);
    let times = [&said["startedMs"], &said["durationMs"], &said["busyMs"]];
    assert_eq!(times, [1_767_225_600_000_i64, 9_000, 9_000]);
    let events = converted(&[&transcript]);
    assert!(events.lines().all(|line| line.contains(r#""timestamp":"#)));
    // Where none has a time the file's stands for all.
    let init = r#"{"type":"system","subtype":"init","session_id":"s1","uuid":"i1","cwd":"/w"}"#;
    let result =
        r#"{"type":"result","subtype":"success","session_id":"s1","uuid":"e1","duration_ms":8000}"#;
    let stream = write("s.jsonl", &[init, result]);
    let said = figures(&[&stream]);
    assert_eq!(said["durationMs"], Value::Null);
    assert!(said["startedMs"].as_i64().unwrap() > 1_767_225_600_000);
    // As two sources of one run.
    for paths in [[&transcript, &stream], [&stream, &transcript]] {
        let said = figures(&["--merge", paths[0], paths[1]]);
        assert_eq!(said["durationMs"], 9_000, "{said}");
    }
}

/// When the file was written is not when its session began.
#[test]
fn a_transcript_of_a_stream_without_times_states_none() {
    let lines = [
        r#"{"type":"thread.started","thread_id":"t"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":0,"output_tokens":1}}"#,
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let path = path.to_str().unwrap();
    for (program, args) in [
        ("convert", &["--to", "markdown", path][..]),
        ("export", &["--to", "markdown", path]),
    ] {
        let told = text(&command::run(program, args, b"").stdout);
        assert!(told.contains("Done."), "{told}");
        assert!(!told.contains("Started"), "{told}");
    }
}
