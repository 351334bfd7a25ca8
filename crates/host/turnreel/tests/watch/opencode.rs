//! Following OpenCode's database.

use std::collections::BTreeSet;
use std::time::Duration;

use super::databases::{self, assert_only_read, n_of, read_again};
use crate::support::home::{Home, events, ids, prompt};
use crate::support::{command, soon};
use serde_json::{Value, json};

const DATABASE: &str = ".local/share/opencode/opencode.db";

fn fixture(name: &str) -> Vec<u8> {
    databases::fixture(&format!("opencode/{name}"), |bytes| {
        databases::date_texts_anew(bytes, b"1795776");
    })
}

/// The session of the fixture.
fn session() -> String {
    let rows = String::from_utf8(fixture("rows.jsonl")).unwrap();
    let first: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    first["aggregate_id"].as_str().unwrap().to_owned()
}

#[test]
fn sessions_of_opencode_are_read_from_its_database_as_it_writes_on() {
    let home = Home::new();
    let database = DATABASE;
    home.write(database, fixture("opencode.db"));
    let session = &session();
    // It is older than anybody asks for.
    let mut server = home.watch(&["--days", "36500"]);
    let count = |kind: &str| n_of(&home, session, kind);
    soon("its beginning is read", || count("user_message") > 0);
    assert_eq!(count("turn_end"), 0);
    home.write(&format!("{database}-wal"), fixture("opencode.db-wal"));
    soon("the rest is read", || count("turn_end") == 1);
    // The sub-agent's session is a part of it.
    assert_eq!(count("user_message"), 2);
    assert_eq!(ids(&server), BTreeSet::from([session.to_owned()]));
    // Whether it is over is by the clock.
    let told = || {
        let mut told = events(&home.data(), session);
        told.retain(|event| event["type"] != "session_end");
        told
    };
    let before = told();
    // Each once, also where what was noted is gone.
    server.stop();
    drop(home.watch(&["--days", "36500"]));
    let _server = read_again(&home, &["--days", "36500"]);
    assert_eq!(told(), before);
    assert_only_read(&home, database, &fixture("opencode.db"));
}

/// Its reader knows nothing of what was before: it is read from its beginning, and what was told of it stands once.
#[test]
fn a_session_that_rested_is_told_whole_when_it_goes_on() {
    let whole = {
        let home = Home::new();
        home.write(DATABASE, fixture("opencode.db"));
        home.write(&format!("{DATABASE}-wal"), fixture("opencode.db-wal"));
        let _server = home.watch(&["--days", "36500"]);
        let told = || events(&home.data(), &session());
        soon("all is read", || {
            told().iter().any(|it| it["type"] == "session_end")
        });
        told()
    };
    for was_told in [false, true] {
        let home = Home::new();
        home.write(DATABASE, fixture("opencode.db"));
        let told = || events(&home.data(), &session());
        if was_told {
            let _server = home.watch(&["--days", "36500"]);
            soon("its beginning is read", || !told().is_empty());
        }
        // What is there is not held: it was told, or is too old.
        let _server = home.watch(&["--days", "0"]);
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(told().is_empty(), !was_told);
        home.write(&format!("{DATABASE}-wal"), fixture("opencode.db-wal"));
        soon("it goes on to its end", || {
            told().iter().any(|it| it["type"] == "session_end")
        });
        assert_eq!(told(), whole, "was told: {was_told}");
    }
}

#[test]
fn who_holds_the_notes_of_a_session_of_opencode_holds_it_up_and_loses_nothing() {
    let home = Home::new();
    let notes = home.write(&format!("data/spool/sources/{}.json", session()), "");
    let holder = std::fs::File::options().write(true).open(&notes).unwrap();
    holder.lock().unwrap();
    home.write(DATABASE, fixture("opencode.db"));
    home.write(".claude/projects/-w/free.jsonl", prompt("free", 1, "Free"));
    let server = home.watch(&["--days", "36500"]);
    soon("the other one is read", || ids(&server).contains("free"));
    home.write(&format!("{DATABASE}-wal"), fixture("opencode.db-wal"));
    std::thread::sleep(Duration::from_millis(1500));
    assert!(!ids(&server).contains(&session()));
    holder.unlock().unwrap();
    let count = |kind: &str| n_of(&home, &session(), kind);
    soon("it is told", || count("session_end") == 1);
    assert_eq!((count("user_message"), count("turn_end")), (2, 1));
}

#[test]
fn a_database_that_comes_later_is_read_and_one_that_is_gone_is_no_trouble() {
    let home = Home::new();
    let mut server = home.watch(&["--days", "0"]);
    std::thread::sleep(Duration::from_millis(700));
    home.write(&format!("{DATABASE}-wal"), fixture("opencode.db-wal"));
    home.write(DATABASE, fixture("opencode.db"));
    let count = |kind: &str| n_of(&home, &session(), kind);
    soon("it is read", || count("turn_end") == 1);
    server.stop();
    // What was noted of its sessions is of no use then.
    for ending in ["", "-wal"] {
        std::fs::remove_file(home.path(&format!("{DATABASE}{ending}"))).unwrap();
    }
    let server = home.watch(&[]);
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "Hi"));
    soon("others are followed", || ids(&server).contains("s1"));
    assert_eq!(count("turn_end"), 1);
}

/// A program that has the database open until it is killed.
#[cfg(target_os = "linux")]
fn who_has(path: &std::path::Path) -> std::process::Child {
    let mut agent = std::process::Command::new("sh");
    agent.args(["-c", "exec 3>>\"$0\"; exec sleep 100"]);
    agent.arg(path).spawn().unwrap()
}

/// The pipe sees that the bus is silent, and who follows that the program is gone, in whichever order.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_bus_is_piped_beside_its_database_ends_once() {
    let bytes = fixture("opencode.db");
    let rows = String::from_utf8(fixture("rows.jsonl")).unwrap();
    let rows = rows.lines().map(|row| serde_json::from_str(row).unwrap());
    let is_there = |row: &Value| {
        let id = row["id"].as_str().unwrap().as_bytes();
        bytes.windows(id.len()).any(|bytes| bytes == id)
    };
    let mut bus: String = rows
        .filter(is_there)
        .map(|row: Value| {
            let kind = row["type"].as_str().unwrap().trim_end_matches(".1");
            let data: Value = serde_json::from_str(row["data"].as_str().unwrap()).unwrap();
            json!({"id": row["id"], "type": kind, "properties": data}).to_string() + "\n"
        })
        .collect();
    // It tells more than the table.
    let busy = json!({"id": "evt_busy", "type": "session.status",
        "properties": {"sessionID": session(), "status": {"type": "busy"}}});
    bus.push_str(&format!("{busy}\n"));
    for pipe_is_first in [true, false] {
        let home = Home::new();
        let path = home.write(DATABASE, &bytes);
        let mut agent = who_has(&path);
        let _server = home.watch(&["--days", "36500"]);
        let count = |kind: &str| n_of(&home, &session(), kind);
        soon("its beginning is read", || count("user_message") > 0);
        soon("it is noted who has it", || home.has_noted(agent.id()));
        let mut pipe = command::start_at(&home.data(), "pipe", &[]);
        std::io::Write::write_all(pipe.stdin.as_mut().unwrap(), bus.as_bytes()).unwrap();
        if !pipe_is_first {
            agent.kill().unwrap();
            soon("it is over", || count("session_end") > 0);
        }
        let output = command::finish(pipe, b"");
        assert!(output.status.success(), "{output:?}");
        soon("it ends", || count("session_end") > 0);
        let _ = agent.kill();
        agent.wait().unwrap();
        std::thread::sleep(Duration::from_secs(4));
        let ends = (count("turn_end"), count("session_end"));
        assert_eq!(ends, (1, 1), "pipe first: {pipe_is_first}");
    }
}

/// Only Linux says which process has which file.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_opencode_is_killed_ends_and_goes_on_with_its_database() {
    let home = Home::new();
    let path = home.write(DATABASE, fixture("opencode.db"));
    let mut agent = who_has(&path);
    let _server = home.watch(&["--days", "36500"]);
    let count = |kind: &str| n_of(&home, &session(), kind);
    soon("its beginning is read", || count("user_message") > 0);
    soon("it is noted who has it", || home.has_noted(agent.id()));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(count("session_end"), 0);
    let n_results = count("tool_result");
    agent.kill().unwrap();
    agent.wait().unwrap();
    soon("it ends", || count("session_end") == 1);
    home.write(&format!("{DATABASE}-wal"), fixture("opencode.db-wal"));
    soon("it goes on", || count("tool_result") > n_results);
}
