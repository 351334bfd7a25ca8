//! Following the databases that Crush keeps for projects.

use std::collections::BTreeSet;
use std::time::Duration;

use super::databases::{self, assert_only_read, n_of, read_again};
use crate::support::home::{Home, events, ids};
use crate::support::soon;

const PROJECTS: &str = ".local/share/crush/projects.json";
const DATABASE: &str = "greet/.crush/crush.db";
const SESSION: &str = "7a7d8733-524c-5d95-8d1f-670b6c21c62f";

/// The times of the fixture are so many seconds and up to 255 more.
const BEGAN_S: u64 = 0x6bf8_ff00;

fn fixture(name: &str) -> Vec<u8> {
    databases::fixture(&format!("crush/{name}"), |bytes| {
        databases::date_rows_anew(bytes, BEGAN_S);
    })
}

fn list(home: &Home, projects: &[&str]) {
    let project = |name: &&str| {
        let folder = home.path(name);
        serde_json::json!({"path": folder, "data_dir": folder.join(".crush"), "last_accessed": "2026-12-01T10:00:00Z"})
    };
    let projects: Vec<_> = projects.iter().map(project).collect();
    let list = serde_json::json!({"projects": projects});
    home.write(PROJECTS, list.to_string());
}

#[test]
fn sessions_of_crush_are_read_from_the_databases_of_its_projects_as_it_writes_on() {
    let home = Home::new();
    list(&home, &["other"]);
    home.write("other/.crush/crush.db", b"SQLite format 3\0 and no more");
    let mut server = home.watch(&[]);
    let count = |kind: &str| n_of(&home, SESSION, kind);
    soon("what cannot be read is named", || {
        home.said().contains("other/.crush/crush.db")
    });
    // A project that is new in the list.
    home.write(DATABASE, fixture("crush.db"));
    list(&home, &["greet", "other"]);
    soon("its first turn is read", || count("turn_end") == 1);
    assert_eq!((count("user_message"), count("file_edit")), (2, 3));
    let log = fixture("crush.db-wal");
    let frame = 24 + usize::from(u16::from_be_bytes(log[10..12].try_into().unwrap()));
    let ends = (32..log.len())
        .step_by(frame)
        .filter(|at| log[at + 4..at + 8] != [0; 4]);
    let ends: Vec<usize> = ends.map(|at| at + frame).collect();
    // A prompt, and an answer that grows.
    for (nth, chunks) in [(0, 0), (2, 1), (3, 2)] {
        home.write(&format!("{DATABASE}-wal"), &log[..ends[nth]]);
        soon("the prompt is read", || count("user_message") == 3);
        soon("the answer grows", || count("assistant_chunk") == chunks);
    }
    server.stop();
    home.write(&format!("{DATABASE}-wal"), &log[..ends[5]]);
    let mut server = home.watch(&[]);
    soon("what came meanwhile is read", || count("tool_call") == 12);
    home.write(&format!("{DATABASE}-wal"), &log);
    soon("the rest is read", || count("turn_end") == 5);
    assert_eq!(
        (
            count("assistant_chunk"),
            count("compaction"),
            count("error")
        ),
        (2, 1, 1)
    );
    assert_eq!(ids(&server), BTreeSet::from([SESSION.to_owned()]));
    let told = events(&home.data(), SESSION);
    let title = told
        .iter()
        .filter_map(|event| event["payload"]["title"].as_str());
    assert!(title.into_iter().any(|title| title == "Polite greeting"));
    // Each once, also where what was noted is gone.
    server.stop();
    let _server = read_again(&home, &[]);
    let again = events(&home.data(), SESSION);
    let mut whole = again.clone();
    whole.retain(|event| event["type"] != "session_start" && event["type"] != "usage");
    let ids: BTreeSet<&str> = whole
        .iter()
        .filter_map(|event| event["id"].as_str())
        .collect();
    assert_eq!(ids.len(), whole.len());
    assert_eq!(again.len(), told.len());
    assert_only_read(&home, DATABASE, &fixture("crush.db"));
}

#[test]
fn sessions_of_crush_are_left_alone_where_that_is_said() {
    let home = Home::new();
    home.write(DATABASE, fixture("crush.db"));
    list(&home, &["greet"]);
    let server = home.watch(&["--skip", "crush"]);
    std::thread::sleep(Duration::from_millis(1000));
    assert!(ids(&server).is_empty());
}
