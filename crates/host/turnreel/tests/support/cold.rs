//! Servers with an object store, and what the two have of a session.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::s3::{Bucket, SECRET};
use super::{PROGRAM, Server, home, soon};

pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The program with the credentials of the store in its environment.
pub(crate) fn program() -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .env("AWS_ACCESS_KEY_ID", "an-access-key")
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

/// A server whose object store is at `url`.
pub(crate) fn server(dir: &Path, url: &str, more: &[&str]) -> Server {
    let mut args = vec!["--no-examples", "--s3", url];
    args.extend(more);
    let server = Server::start_by(program(), dir, "127.0.0.1:0", &args);
    server.expect("the server says that it is ready")
}

pub(crate) fn post(server: &Server, session: &str, events: &Value) {
    let (status, answer) = server.post(session, events);
    assert_eq!(status, 200, "{answer}");
    let results = answer["results"].as_array().unwrap();
    assert!(
        results.iter().all(|it| it["status"] == "stored"),
        "{answer}"
    );
}

pub(crate) fn end(server: &Server, session: &str, id: &str) {
    // Behind all that is posted: one that is told to have been before what came is none.
    let event = json!([{"id": id, "timestamp": 9_000, "type": "session_end", "payload": {}}]);
    post(server, session, &event);
}

pub(crate) fn manifests(bucket: &Bucket, session: &str) -> Vec<Value> {
    let keys = bucket.keys_with(&format!("/{session}-"));
    let keys = keys.iter().filter(|key| key.ends_with(".manifest.json"));
    // One that another took the place of goes meanwhile.
    let texts = keys.filter_map(|key| bucket.try_get(key));
    texts
        .map(|text| serde_json::from_slice(&text).unwrap())
        .collect()
}

/// Waits for a copy that has all of the session up to its last number.
pub(crate) fn copied(bucket: &Bucket, server: &Server, session: &str) -> Value {
    let (_, page) = server.get(&format!("/api/v1/sessions/{session}/events?limit=1"));
    let mut found = None;
    soon("the session is copied", || {
        let mut all = manifests(bucket, session).into_iter();
        found = all.find(|it| it["head"] == page["head"] && it["epoch"] == page["epoch"]);
        found.is_some()
    });
    found.unwrap()
}

/// The files of a session's log, one after the other.
pub(crate) fn log(dir: &Path, session: &str) -> Vec<u8> {
    let is_of_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(&format!("{session}-")) && name.ends_with(".events.jsonl")
    };
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(is_of_it);
    paths.sort();
    let files = paths.iter().map(|path| std::fs::read(path).unwrap());
    files.collect::<Vec<_>>().concat()
}

/// A real session, with a body and a diff that stand beside its log.
pub(crate) fn recorded(server: &Server, session: &str) -> (String, String) {
    let story = home::story("multiedit", "events.jsonl");
    let events = story.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let fields = event.as_object_mut().unwrap();
        for name in ["sessionId", "seq", "recv", "c"] {
            fields.remove(name);
        }
        event
    });
    let mut events: Vec<Value> = events.collect();
    events.retain(|event| event["type"] != "session_end");
    post(server, session, &events.into());
    let lines = |word: &str| (0..12_000).map(|n| format!("{word} line {n}\n")).collect();
    let (body, diff): (String, String) = (lines("an"), lines("+ a"));
    let long = json!([
        {"id": "long", "timestamp": 7, "type": "tool_result", "payload": {"toolCallId": "t", "result": body}},
        {"id": "edit", "timestamp": 8, "type": "file_edit", "payload": {
            "filePath": "/a.rs", "changeType": "modified", "diffPreview": &diff[..4096], "fullDiff": diff,
            "fullDiffAvailable": true, "fullDiffSize": diff.len()}},
    ]);
    post(server, session, &long);
    (body, diff)
}

/// Makes the session's log so much older than it is. Nobody has the folder.
pub(crate) fn make_older(data: &Path, session: &str, by: Duration) {
    let by_ms = i64::try_from(by.as_millis()).unwrap();
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with(&format!("{session}-")) || !name.ends_with(".events.jsonl") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(|line| {
            let mut event = chat_event::ChatEvent::from_json(line).unwrap();
            event.extra.remove("c");
            event.recv = event.recv.map(|recv| recv - by_ms);
            event.to_line_with_checksum() + "\n"
        });
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - by).unwrap();
    }
}

/// What is left of a log that was packed away.
pub(crate) fn stub(data: &Path, session: &str) -> Option<Value> {
    let entries = std::fs::read_dir(data).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().path());
    let is_it =
        |name: &str| name.starts_with(&format!("{session}-")) && name.ends_with(".packed.json");
    let path = names.find(|path| is_it(&path.file_name().unwrap().to_string_lossy()))?;
    Some(serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
}

pub(crate) fn is_packed(data: &Path, session: &str) -> bool {
    stub(data, session).is_some() && log(data, session).is_empty()
}
