//! Following OpenCode's database.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::support::home::{Home, events, ids, prompt};
use crate::support::soon;
use serde_json::Value;

const DATABASE: &str = ".local/share/opencode/opencode.db";

/// A file of the fixture, whose events happened some two hours ago: a session that rests for a day ends whatever waits in it.
fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat-capture/tests/opencode");
    let mut bytes = std::fs::read(folder.join(name)).unwrap();
    date_anew(&mut bytes);
    if name.ends_with("-wal") {
        sum_anew(&mut bytes);
    }
    bytes
}

/// Writes other thousands of seconds into the times of the rows' texts, once for all files.
fn date_anew(bytes: &mut [u8]) {
    static ANEW: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let recorded = b"1795776";
    let anew = ANEW.get_or_init(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        format!("{}", since.unwrap().as_secs() / 1000 - 8)
    });
    for at in 0..bytes.len() - recorded.len() {
        let digits = &mut bytes[at..at + recorded.len()];
        if digits == recorded {
            digits.copy_from_slice(anew.as_bytes());
        }
    }
}

/// The checksums of a write-ahead log, which go from frame to frame (SQLite's file format, 4.2).
pub(super) fn sum_anew(log: &mut [u8]) {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let is_big = number(&log[..4]) & 1 == 1;
    let page_bytes = number(&log[8..12]) as usize;
    let mut sums = (number(&log[24..28]), number(&log[28..32]));
    let add = |sums: &mut (u32, u32), bytes: &[u8]| {
        for pair in bytes.chunks_exact(8) {
            let word = |bytes: &[u8]| match is_big {
                true => number(bytes),
                false => number(bytes).swap_bytes(),
            };
            sums.0 = sums.0.wrapping_add(word(&pair[..4])).wrapping_add(sums.1);
            sums.1 = sums.1.wrapping_add(word(&pair[4..])).wrapping_add(sums.0);
        }
    };
    for frame in log[32..].chunks_exact_mut(24 + page_bytes) {
        add(&mut sums, &frame[..8]);
        add(&mut sums, &frame[24..]);
        frame[16..20].copy_from_slice(&sums.0.to_be_bytes());
        frame[20..24].copy_from_slice(&sums.1.to_be_bytes());
    }
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
    let count = |kind: &str| {
        let all = events(&home.data(), session);
        all.iter().filter(|event| event["type"] == kind).count()
    };
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
    std::fs::remove_file(home.data().join("following.json")).unwrap();
    let _server = home.watch(&["--days", "36500"]);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(told(), before);
    assert_eq!(
        std::fs::read(home.path(database)).unwrap(),
        fixture("opencode.db")
    );
    assert!(!home.path(&format!("{database}-shm")).exists());
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
    let count = |kind: &str| {
        let all = events(&home.data(), &session());
        all.iter().filter(|event| event["type"] == kind).count()
    };
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
    let count = |kind: &str| {
        let all = events(&home.data(), &session());
        all.iter().filter(|event| event["type"] == kind).count()
    };
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

/// Only Linux says which process has which file.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_opencode_is_killed_ends_and_goes_on_with_its_database() {
    let home = Home::new();
    let path = home.write(DATABASE, fixture("opencode.db"));
    let mut agent = std::process::Command::new("sh")
        .args(["-c", "exec 3>>\"$0\"; exec sleep 100"])
        .arg(&path)
        .spawn()
        .unwrap();
    let _server = home.watch(&["--days", "36500"]);
    let count = |kind: &str| {
        let all = events(&home.data(), &session());
        all.iter().filter(|event| event["type"] == kind).count()
    };
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
