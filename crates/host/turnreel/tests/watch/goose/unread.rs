//! What cannot be read: a damaged row, and a database that is not Goose's.

use super::spoken;
use super::writer::{DATABASE, Writer, message};
use crate::support::home::{Home, ids, prompt};
use crate::support::soon;
use serde_json::json;

#[test]
fn a_session_with_a_damaged_row_is_named_and_what_stands_before_it_is_told() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    for id in ["20261201_1", "20261201_2"] {
        goose.begin(id, "user", None);
        goose.say(id, &message("user", &format!("{id}-a"), "Before"));
    }
    let long = message("assistant", "z", &"Z".repeat(40_000));
    goose.say("20261201_2", &long);
    goose.say("20261201_1", &message("assistant", "b", "Done"));
    goose.close();
    // The pages of its text lead nowhere.
    let path = home.path(DATABASE);
    let mut bytes = std::fs::read(&path).unwrap();
    let mut n_pages = 0;
    for page in bytes.chunks_mut(4096) {
        if page[4..].iter().all(|byte| *byte == b'Z') {
            page[..4].fill(0xff);
            n_pages += 1;
        }
    }
    assert!(n_pages > 0);
    std::fs::write(&path, bytes).unwrap();
    let _server = home.watch(&[]);
    soon("the other one is read", || {
        spoken(&home, "20261201_1") == ["Before", "Done"]
    });
    soon("what stands before it is told", || {
        spoken(&home, "20261201_2") == ["Before"]
    });
    soon("it is named", || {
        home.said()
            .contains("session 20261201_2: the database is damaged")
    });
}

#[test]
fn a_database_that_is_not_gooses_is_named_and_the_others_are_followed() {
    let home = Home::new();
    let Some(mut goose) = Writer::open(&home.path(DATABASE)) else {
        return;
    };
    goose.run(&[
        (
            "CREATE TABLE schema_version (version INTEGER PRIMARY KEY)",
            json!([]),
        ),
        (
            "INSERT INTO schema_version (version) VALUES (99)",
            json!([]),
        ),
        (
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT, updated_at TEXT)",
            json!([]),
        ),
        (
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, body BLOB)",
            json!([]),
        ),
    ]);
    let server = home.watch(&[]);
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "Hi"));
    soon("others are followed", || ids(&server).contains("s1"));
    soon("it is named", || {
        let said = home.said();
        said.contains("version 99, whose `messages` has no `content_json`")
            && said.contains("sessions.db")
    });
    drop(goose);
    home.write(
        DATABASE,
        "no database at all, but long enough to be one".repeat(9),
    );
    soon("it is named again", || {
        home.said().contains("it is no SQLite database")
    });
    assert_eq!(ids(&server).len(), 1);
    drop(server);
    // It is left alone where that is asked for.
    let home = Home::new();
    home.write(DATABASE, "no database");
    let server = home.watch(&["--skip", "goose"]);
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "Hi"));
    soon("others are followed", || ids(&server).contains("s1"));
    assert!(!home.said().contains("sessions.db"), "{}", home.said());
}
