//! Following beside others that tell of the same sessions: each thing stands once, and nobody holds up the rest.

use std::fs::File;
use std::time::Duration;

use crate::support::home::{Home, append, converted, events, ids, prompt, rests, story};
use crate::support::{command, soon};
use serde_json::{Value, json};

#[test]
fn a_session_that_a_pipe_tells_of_too_stands_once() {
    stands_once(&[]);
}

/// The file has the secret, and the log has it not.
#[test]
fn so_does_one_with_secrets_where_these_are_masked() {
    stands_once(&["--mask"]);
}

fn stands_once(settings: &[&str]) {
    const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let said = "Read README.md and add a line at the end";
    let (prompt, masks) = match settings {
        [] => (said.to_owned(), false),
        _ => (format!("{said}; my token is {SECRET}"), true),
    };
    let home = Home::new();
    let session = "3e43c5a0-2358-42e6-a068-598b5a468dcd";
    let transcript = story("read-edit-transcript", "input.transcript.jsonl");
    assert!(transcript.contains(said));
    let transcript = transcript.replace(said, &prompt);
    let stream = story("read-edit", "input.stream.jsonl");
    for pipe_is_first in [true, false] {
        let home = if pipe_is_first { &home } else { &Home::new() };
        let server = home.watch(settings);
        let path = format!(".claude/projects/-w/{session}.jsonl");
        let follow = || {
            let path = home.write(&path, &transcript);
            rests(&path, Duration::from_hours(25));
        };
        let pipe = || {
            let child = command::start_at(&home.data(), "pipe", &["--prompt", &prompt]);
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
        let log: String = events(&home.data(), session)
            .iter()
            .map(Value::to_string)
            .collect();
        assert!(!log.contains(SECRET));
        assert_eq!(log.contains("my token is [masked: "), masks);
        drop(server);
    }
}

/// A pipe that was stopped holds up what another left of its session, and nothing else that was left.
#[test]
fn who_holds_the_notes_of_one_session_holds_up_what_was_left_of_no_other() {
    let home = Home::new();
    let notes = home.write("data/spool/sources/held.json", "");
    let holder = File::options().write(true).open(&notes).unwrap();
    holder.lock().unwrap();
    let said = |session: &str, n: usize| {
        let event = json!({"id": format!("e{n}"), "timestamp": 1, "sessionId": session,
            "type": "user_message", "payload": {"text": "Hi"}});
        event.to_string() + "\n"
    };
    let left = |name: &str, lines: &str| {
        home.write(&format!("data/spool/{name}.claude-stream.jsonl"), lines)
    };
    let all = [said("first", 1), said("held", 2), said("last", 3)].concat();
    let file = left("a-1", &all);
    left("b-2", &said("free", 1));
    let server = home.watch(&[]);
    soon("the other one is taken in", || {
        ids(&server).contains("free")
    });
    assert!(ids(&server).contains("first"));
    left("c-3", &said("more", 1));
    soon("what comes later is, too", || ids(&server).contains("more"));
    assert!(!ids(&server).contains("held") && file.exists());
    // What waits for long is named, and once.
    soon("it is named", || home.said().contains("held.json"));
    assert!(home.said().contains("turnreel pipe"), "{}", home.said());
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(home.said().matches("held.json,").count(), 1);
    holder.unlock().unwrap();
    soon("all is taken in", || !file.exists());
    for session in ["first", "held", "last"] {
        let events = events(&home.data(), session);
        let said = events.iter().filter(|it| it["type"] == "user_message");
        assert_eq!(said.count(), 1, "{session}");
    }
}

fn converted_text(text: &str) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).unwrap();
    converted(&path)
}

/// As a pipe does that its user stopped (Ctrl-Z) in the middle of telling something.
#[test]
fn who_holds_the_notes_of_one_session_holds_up_no_other() {
    let home = Home::new();
    let notes = home.write("data/spool/sources/held.json", "");
    let holder = File::options().write(true).open(&notes).unwrap();
    holder.lock().unwrap();
    let path = home.write(".claude/projects/-w/held.jsonl", prompt("held", 1, "First"));
    let mut server = home.watch(&[]);
    home.write(".claude/projects/-w/free.jsonl", prompt("free", 1, "Free"));
    soon("the other one is read", || ids(&server).contains("free"));
    // More than one slice is, and after a restart it still waits.
    let long: String = (2..2000).map(|n| prompt("held", n, "Second")).collect();
    append(&path, long.as_bytes());
    std::thread::sleep(Duration::from_millis(700));
    server.stop();
    let server = home.watch(&[]);
    home.write(".claude/projects/-w/more.jsonl", prompt("more", 1, "More"));
    soon("another one is read", || ids(&server).contains("more"));
    assert!(!ids(&server).contains("held"));
    // Who waits for something is told what for, and once.
    soon("it is named", || home.said().contains("held.json"));
    assert!(home.said().contains("turnreel pipe"), "{}", home.said());
    append(&path, prompt("held", 2000, "Third").as_bytes());
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(home.said().matches("held.json,").count(), 1);
    holder.unlock().unwrap();
    let count = || {
        let all = events(&home.data(), "held");
        let said = all.iter().filter(|event| event["type"] == "user_message");
        said.count()
    };
    soon("it is told", || count() == 2000);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(count(), 2000);
}
