//! Following beside others that tell of the same sessions: each thing stands once, and nobody holds up the rest.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::time::Duration;

use serde_json::Value;
use support::home::{Home, converted, events, rests, story};
use support::{command, soon};

#[test]
fn a_session_that_a_pipe_tells_of_too_stands_once() {
    let home = Home::new();
    let session = "3e43c5a0-2358-42e6-a068-598b5a468dcd";
    let transcript = story("read-edit-transcript", "input.transcript.jsonl");
    let stream = story("read-edit", "input.stream.jsonl");
    for pipe_is_first in [true, false] {
        let home = if pipe_is_first { &home } else { &Home::new() };
        let server = home.watch(&[]);
        let path = format!(".claude/projects/-w/{session}.jsonl");
        let follow = || {
            let path = home.write(&path, &transcript);
            rests(&path, Duration::from_hours(25));
        };
        let pipe = || {
            let prompt = ["--prompt", "Read README.md and add a line at the end"];
            let child = command::start_at(&home.data(), "pipe", &prompt);
            let output = command::finish(child, stream.as_bytes());
            assert!(output.status.success(), "{output:?}");
        };
        let count = |kind: &str| {
            let all = events(&home.data(), session);
            all.iter().filter(|event| event["type"] == kind).count()
        };
        if pipe_is_first {
            pipe();
            follow();
        } else {
            follow();
            soon("it is read", || count("tool_result") > 1);
            pipe();
        }
        soon("it ends", || count("session_end") > 0);
        std::thread::sleep(Duration::from_millis(1500));
        let told = converted_text(&transcript);
        for kind in ["user_message", "tool_call", "tool_result", "assistant_done"] {
            let expected = told.iter().filter(|event| event["type"] == kind).count();
            assert_eq!(count(kind), expected, "{kind}, pipe first: {pipe_is_first}");
        }
        drop(server);
    }
}

fn converted_text(text: &str) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).unwrap();
    converted(&path)
}
