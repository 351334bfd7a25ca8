//! `turnreel export`: what comes out, what is masked, and what the exit says.

use std::process::Output;

use crate::support::command::{self, text};
use serde_json::{Value, json};

const TOKEN: &str = "ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";

fn log() -> String {
    let event = |id: u32, kind: &str, payload: Value| {
        let event = json!({"id": format!("e{id}"), "timestamp": 1, "sessionId": "s", "type": kind, "turnId": "t", "payload": payload});
        format!("{event}\n")
    };
    event(
        1,
        "user_message",
        json!({"text": format!("{TOKEN} of ann@work.example")}),
    ) + &event(2, "assistant_chunk", json!({"text": &TOKEN[..12]}))
        + &event(3, "assistant_chunk", json!({"text": &TOKEN[12..]}))
}

fn export(args: &[&str], input: &str) -> Output {
    command::run("export", args, input.as_bytes())
}

#[test]
fn standard_input_is_masked_and_what_was_masked_is_told() {
    let output = export(&["-", "--to", "jsonl"], &log());
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(out.lines().count(), 3);
    assert!(
        !out.contains(&TOKEN[..12]) && !out.contains(&TOKEN[12..]),
        "{out}"
    );
    assert!(
        said.contains("masked 3 places")
            && said.contains("github token: 2 (assistant_chunk 1, user_message 1)"),
        "{said}"
    );
    assert!(
        !said.contains(&TOKEN[..8]) && !said.contains("ann@"),
        "{said}"
    );
}

#[test]
fn a_kind_is_kept_and_nothing_is_masked_where_it_is_asked_for() {
    let output = export(&["-", "--to", "jsonl", "--keep", "e-mail address"], &log());
    let out = text(&output.stdout);
    assert!(
        out.contains("ann@work.example") && !out.contains(&TOKEN[..12]),
        "{out}"
    );
    let output = export(&["-", "--to", "jsonl", "--no-mask"], &log());
    assert_eq!(text(&output.stdout), log());
    // One that does not occur keeps nothing, and that is told.
    let output = export(&["-", "--to", "jsonl", "--keep", "private key"], &log());
    assert_eq!(output.status.code(), Some(0));
    assert!(!text(&output.stdout).contains("ann@work.example"));
    let said = text(&output.stderr);
    assert!(
        said.contains("nothing of the kind to keep: private key; what was found is of: ")
            && said.contains("e-mail address"),
        "{said}"
    );
    // One that is misspelt is refused: who believes that it is kept sends a file without it.
    let output = export(&["-", "--to", "jsonl", "--keep", "email"], &log());
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let said = text(&output.stderr);
    assert!(
        said.contains("email") && said.contains(", e-mail address, "),
        "{said}"
    );
}

#[test]
fn a_reader_who_has_seen_enough_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.jsonl");
    let long = "a word ".repeat(1000);
    let lines = (0..1000).map(|id| {
        format!("{{\"id\":\"e{id}\",\"timestamp\":1,\"sessionId\":\"s\",\"type\":\"user_message\",\"payload\":{{\"text\":\"{long}\"}}}}\n")
    });
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    let args = ["--to", "jsonl", path.to_str().unwrap()];
    let output = command::read_one_line("export", &args);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn the_ending_of_the_file_decides_and_a_file_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.md");
    let output = export(&["-", "-o", path.to_str().unwrap()], &log());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("# "));
    let path = folder.path().join("none.json");
    let output = export(&["-", "-o", path.to_str().unwrap()], "no session at all\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(!path.exists());
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing else is left there"
    );
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_goes_on() {
    let damaged = format!("{}{{\"id\": broken\n{}", log(), log().replace("\"e", "\"f"));
    let output = export(&["-", "--to", "jsonl"], &damaged);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("could not read 1 line"),
        "{}",
        text(&output.stderr)
    );
    let output = export(&["no-such-session", "--data", "/nonexistent"], "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_body_that_is_left_out_is_told_of_and_no_event_holds_more_than_there_is_room_for() {
    let dir = tempfile::tempdir().unwrap();
    let keep = |nth: u8, bytes: &[u8]| {
        let sha256 = format!("{nth:02x}").repeat(32);
        let folder = dir.path().join("blobs").join(&sha256[..2]);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(&sha256), bytes).unwrap();
        // What is claimed of a body is one byte.
        json!({"$body": {"sha256": sha256, "bytes": 1, "preview": "", "truncated": true}})
    };
    let fits = keep(1, &vec![b'f'; 7 << 20]);
    let (long, odd) = (keep(2, &vec![b'l'; 9 << 20]), keep(3, b"\xff"));
    let result = json!([long, odd, fits, fits, fits, fits, long]);
    let event = json!({"id": "e1", "timestamp": 1, "sessionId": "s", "type": "tool_result", "payload": {"toolCallId": "t", "result": result}});
    let path = dir.path().join("s.events.jsonl");
    std::fs::write(&path, format!("{event}\n")).unwrap();
    let path = path.to_string_lossy();
    let output = export(&[&path, "--to", "jsonl", "--no-mask"], "");
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(out.len() < 17 << 20, "{} bytes", out.len());
    for (nth, fault) in [
        ("02", "a body of 9.4 MB is not in it"),
        ("03", "a body that is no text is not in it"),
        ("01", "a body of 7.3 MB is not in it"),
    ] {
        let fault = format!("turnreel export: {fault}: {}", nth.repeat(32));
        assert!(said.contains(&fault), "{fault}: {said}");
    }
    assert_eq!(said.matches("a body of 7.3 MB").count(), 1, "{said}");
}
