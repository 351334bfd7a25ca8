//! Data folders that sessions are removed from: what is in them, and how old it is.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chat_event::ChatEvent;
use serde_json::{Value, json};

use super::Server;

/// A text so long that it stands beside the log.
pub(crate) fn long(word: &str) -> String {
    format!("{word} ").repeat(200_000 / (word.len() + 1))
}

/// A session that is over, with these texts beside its log.
pub(crate) fn ended(server: &Server, session: &str, words: &[&str]) {
    let now = chat_store::now_ms();
    let texts = words.iter().zip(0..).map(
        |(word, n)| json!({"id": format!("t{n}"), "timestamp": now, "type": "user_message", "payload": {"text": long(word)}}),
    );
    let title = json!({"id": "start", "timestamp": now, "type": "session_start", "payload": {"title": format!("About {session}")}});
    let end = json!({"id": "end", "timestamp": now, "type": "session_end", "payload": {}});
    let events: Vec<Value> = [title].into_iter().chain(texts).chain([end]).collect();
    let (status, answer) = server.post(session, &events.into());
    assert_eq!(status, 200, "{answer}");
}

/// What stands beside the log of a session that works.
pub(crate) fn working() -> Value {
    json!([{"id": "u", "timestamp": chat_store::now_ms(), "type": "turn_start", "turnId": "t", "payload": {"trigger": "user"}}])
}

/// All files of a session, wherever in the folder.
pub(crate) fn files_of(data: &Path, session: &str) -> Vec<String> {
    let mut names = Vec::new();
    for folder in [data.to_owned(), data.join("restoring"), data.join("spool")] {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let found = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.extend(found.filter(|name| name.starts_with(&format!("{session}-"))));
    }
    names
}

/// The long bodies of the folder.
pub(crate) fn bodies(data: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(data.join("blobs")).into_iter().flatten();
    let folders = folders.map(|folder| folder.unwrap().path());
    let mut bodies: Vec<PathBuf> = folders
        .filter(|folder| folder.is_dir())
        // A folder goes with the last body in it.
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|file| file.path())
        .collect();
    bodies.sort();
    bodies
}

/// The texts that stand beside logs, by their words.
pub(crate) fn kept_words(data: &Path) -> Vec<String> {
    let words = bodies(data).into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.split(' ').next()?.to_owned())
    });
    let mut words: Vec<String> = words.collect();
    words.sort();
    words
}

/// Makes all bodies so old.
pub(crate) fn bodies_are_of(data: &Path, ago: Duration) {
    for path in bodies(data) {
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
    }
}

/// What a pipe leaves that was killed while no server was there.
pub(crate) fn leave_in_spool(data: &Path, session: &str) -> PathBuf {
    let line = json!({"id": "left", "timestamp": 3, "sessionId": session, "type": "user_message", "payload": {"text": "More"}});
    let line = ChatEvent::from_json(&line.to_string()).unwrap().to_line();
    let spool = data.join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    let path = spool.join(format!("{session}-99999.jsonl"));
    std::fs::write(&path, line + "\n").unwrap();
    path
}

/// The ids of the sessions in the list.
pub(crate) fn listed(server: &Server) -> Vec<String> {
    let (_, list) = server.get("/api/v1/sessions");
    let rows = list["sessions"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}
