//! Logs that somebody puts in the place of others while the server runs: it goes on with what is there, under another epoch,
//! and those who read and follow are told.

use std::path::{Path, PathBuf};

use crate::support::{Server, chunks, soon};
use serde_json::{Value, json};

fn log_of(data: &Path, session: &str) -> PathBuf {
    let entries = std::fs::read_dir(data).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(&format!("{session}-")) && name.ends_with(".events.jsonl")
    };
    paths.find(is_log).unwrap()
}

/// Puts another file in the place of the log, as who brings back a backup does.
fn replace(log: &Path, bytes: &[u8]) {
    let beside = log.with_extension("backup");
    std::fs::write(&beside, bytes).unwrap();
    std::fs::rename(&beside, log).unwrap();
}

fn page(server: &Server, query: &str) -> (u16, Value) {
    server.get(&format!("/api/v1/sessions/s1/events?{query}"))
}

/// Whether the session can be read from its beginning to its end by what its pages say.
fn is_read_through(server: &Server) -> Result<String, Value> {
    let (_, first) = page(server, "limit=1");
    let epoch = first["epoch"].as_str().unwrap().to_owned();
    let (status, rest) = page(server, &format!("after=v1.{epoch}.{}", first["next"]));
    match status == 200 && rest["epoch"] == epoch.as_str() {
        true => Ok(epoch),
        false => Err(rest),
    }
}

#[test]
fn a_log_that_is_replaced_while_it_is_put_away_is_read_and_followed_under_its_new_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    server.post("s1", &chunks(1, 3));
    let log = log_of(dir.path(), "s1");
    let backup = std::fs::read(&log).unwrap();
    server.post("s1", &chunks(4, 6));
    // Opened by its index alone, it is put away.
    assert!(server.stop().success());
    let server = Server::start(dir.path());
    let mut follower = server.socket();
    let hello = follower.open(1, "s1", None);
    let before = hello["epoch"].as_str().unwrap().to_owned();
    assert_eq!(hello["head"], 6);
    replace(&log, &backup);
    let epoch = is_read_through(&server).unwrap();
    assert_ne!(epoch, before);
    let reset = follower.next();
    assert_eq!(
        (&reset["op"], &reset["epoch"]),
        (&json!("reset"), &json!(epoch)),
        "{reset}"
    );
    // Who comes with what the page said goes on from there, and who has a place of the other log begins anew.
    let resumed = follower.open(2, "s1", Some((&epoch, 6)));
    assert_eq!(
        (&resumed["resume"], &resumed["epoch"]),
        (&json!("ok"), &json!(epoch)),
        "{resumed}"
    );
    let (status, answer) = page(&server, &format!("after=v1.{before}.2"));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (410, &json!("cursor_unknown"))
    );
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    assert_eq!((&row["epoch"], &row["events"]), (&json!(epoch), &json!(3)));
}

#[test]
fn a_log_that_was_removed_and_is_brought_back_as_another_is_read_and_followed_under_its_new_epoch()
{
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 3));
    let log = log_of(dir.path(), "s1");
    let backup = std::fs::read(&log).unwrap();
    server.post("s1", &chunks(4, 6));
    let before = is_read_through(&server).unwrap();
    std::fs::remove_file(&log).unwrap();
    soon("the session is gone", || page(&server, "").0 == 404);
    replace(&log, &backup);
    soon("it is there again", || page(&server, "").0 == 200);
    let epoch = is_read_through(&server).unwrap();
    assert_ne!(epoch, before);
    let (_, all) = page(&server, "");
    assert_eq!(all["events"].as_array().unwrap().len(), 3, "{all}");
    let mut follower = server.socket();
    let hello = follower.open(1, "s1", Some((&epoch, 3)));
    assert_eq!(hello["epoch"], epoch.as_str(), "{hello}");
    server.post("s1", &chunks(7, 7));
    let said = follower.next();
    assert!(matches!(said["op"].as_str(), Some("gap" | "ev")), "{said}");
}

#[test]
fn followers_hear_of_another_log_also_where_all_that_is_sent_to_it_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 3));
    let mut follower = server.socket();
    let before = follower.open(1, "s1", None)["epoch"].clone();
    let log = log_of(dir.path(), "s1");
    replace(&log, &std::fs::read(&log).unwrap());
    let (status, answer) = server.post("s1", &chunks(1, 3));
    assert_eq!((status, &answer["dups"]), (200, &json!(3)), "{answer}");
    let reset = follower.next();
    assert_eq!(
        (&reset["op"], &reset["epoch"]),
        (&json!("reset"), &answer["epoch"]),
        "{reset}"
    );
    assert_ne!(answer["epoch"], before);
    let epoch = is_read_through(&server).unwrap();
    assert_eq!(answer["epoch"], epoch.as_str());
}

#[test]
fn a_numbered_batch_that_the_log_before_had_is_stored_in_the_one_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 3));
    let log = log_of(dir.path(), "s1");
    let backup = std::fs::read(&log).unwrap();
    let more = "Producer-Id: p\r\nProducer-Epoch: 1\r\nProducer-Seq: 0\r\n";
    let send = || {
        let body = chunks(4, 4).to_string();
        let more = format!(
            "{more}Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        let path = "/api/v1/sessions/s1/events";
        server
            .exchange("POST", path, Some(&server.token), &more, &body)
            .0
    };
    assert_eq!(send(), 200);
    replace(&log, &backup);
    // The answer was lost, so it comes again; the log that had it is not there any more.
    assert_eq!(send(), 200);
    let (_, all) = page(&server, "");
    assert_eq!(all["events"].as_array().unwrap().len(), 4, "{all}");
}

#[test]
fn a_place_in_what_came_behind_a_backup_is_no_place_in_what_comes_behind_it_once_it_is_put_back() {
    let (dir, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let copy = |from: &Path, to: &Path| {
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    };
    let run = |from: u64, to: u64| {
        let mut server = Server::start(dir.path());
        server.post("s1", &chunks(from, to));
        let (_, page) = page(&server, "limit=1000");
        assert!(server.stop().success());
        page
    };
    run(1, 1);
    copy(dir.path(), backup.path());
    let before = run(2, 3);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    copy(backup.path(), dir.path());
    let after = run(12, 13);
    assert_eq!((&before["head"], &after["head"]), (&json!(3), &json!(3)));
    let server = Server::start(dir.path());
    let epoch = before["epoch"].as_str().unwrap();
    let (status, answer) = page(&server, &format!("after=v1.{epoch}.3"));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (410, &json!("cursor_unknown"))
    );
    let hello = server.socket().open(1, "s1", Some((epoch, 3)));
    assert_eq!(hello["resume"], "reset", "{hello}");
}
