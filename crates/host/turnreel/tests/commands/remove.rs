//! `turnreel remove`: what goes, what stays, and what is said of it, with a server and without.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use crate::support::cold::{DAY, make_older};
use crate::support::command::{self, text};
use crate::support::removing::{
    bodies_are_of, ended, files_of, kept_words, leave_in_spool, listed, working,
};
use crate::support::tiers::take_away;
use crate::support::{Server, soon};

fn remove(data: &Path, args: &[&str]) -> Output {
    let child = command::start_at(data, "remove", args);
    command::finish(child, b"")
}

/// What it said, where it ended with that code.
#[track_caller]
fn said(output: &Output, code: i32) -> (String, String) {
    let said = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{said:?}");
    said
}

/// A folder that nobody serves, with two sessions that share a body.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    ended(&server, "one", &["own", "both"]);
    ended(&server, "two", &["both"]);
    assert!(server.stop().success());
    dir
}

#[test]
fn a_session_goes_with_all_its_files_and_the_bodies_that_no_other_names() {
    let dir = folder();
    let data = dir.path();
    std::fs::write(data.join("unrelated-1.txt"), "mine").unwrap();
    let stem = files_of(data, "one")[0]
        .split('.')
        .next()
        .unwrap()
        .to_owned();
    for ending in ["torn-1", "aside-2"] {
        std::fs::write(data.join(format!("{stem}.{ending}")), "x").unwrap();
    }
    let spooled = leave_in_spool(data, "one");
    let before = files_of(data, "one");
    assert!(before.len() >= 5, "{before:?}");

    // Nothing goes where nobody was asked, or only asked for.
    let (_, why) = said(&remove(data, &["one"]), 2);
    assert!(why.contains("--yes"), "{why}");
    let (rows, would) = said(&remove(data, &["one", "--dry-run"]), 0);
    assert!(
        rows.starts_with("one\t") && rows.ends_with("\tAbout one\n"),
        "{rows}"
    );
    assert!(
        would.contains("1 session, ") && would.contains("1 long body"),
        "{would}"
    );
    assert_eq!(
        (files_of(data, "one"), kept_words(data)),
        (before, vec!["both".to_owned(), "own".to_owned()])
    );

    let (rows, told) = said(&remove(data, &["on", "--yes"]), 0);
    assert!(
        rows.starts_with("one  ") && rows.contains("About one"),
        "{rows}"
    );
    assert!(
        told.contains("removed: 1 session, ") && told.contains("and 1 long body"),
        "{told}"
    );
    assert!(files_of(data, "one").is_empty() && !spooled.exists());
    assert_eq!(kept_words(data), ["both"]);
    assert!(data.join("unrelated-1.txt").exists());
    let server = Server::start(data);
    assert_eq!(listed(&server), ["two"]);
    assert_eq!(server.get("/api/v1/sessions/one/events").0, 404);
    assert_eq!(server.all("two", 10).len(), 3);
    drop(server);
    // With the last one that names it a body goes, too.
    said(&remove(data, &["two", "--yes"]), 0);
    assert!(kept_words(data).is_empty());
    // Who removed all does not begin with the examples, and one that is not there is said.
    let (_, why) = said(&remove(data, &["one", "--yes"]), 1);
    assert!(why.contains("one: there is no such session"), "{why}");
    assert!(why.contains("nothing was removed"), "{why}");
    let (rows, _) = said(&remove(data, &["one", "--dry-run"]), 0);
    assert!(rows.ends_with("\t(not here)\n"), "{rows}");
    // A folder that is none of ours stays as it is.
    let other = tempfile::tempdir().unwrap();
    let (_, why) = said(&remove(other.path(), &["one", "--yes"]), 1);
    assert!(why.contains("there is no session one"), "{why}");
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    let (_, why) = said(&remove(other.path(), &["--bodies", "--yes"]), 1);
    assert!(why.contains("no server had the folder"), "{why}");
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
}

#[test]
fn the_server_of_another_folder_is_not_asked() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    ended(&server, "one", &[]);
    // As a copy of a folder that is served has it.
    let copy = tempfile::tempdir().unwrap();
    for name in ["server.json", "token"]
        .map(str::to_owned)
        .into_iter()
        .chain(files_of(dir.path(), "one"))
    {
        std::fs::copy(dir.path().join(&name), copy.path().join(&name)).unwrap();
    }
    let _held = chat_store::HeldFolder::take(copy.path()).unwrap();
    let (_, why) = said(&remove(copy.path(), &["one", "--yes"]), 1);
    assert!(
        why.contains("locked by pid") && !why.contains("served"),
        "{why}"
    );
    assert_eq!(listed(&server), ["one"]);
}

#[test]
fn examples_that_were_removed_stay_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start_on(dir.path(), "127.0.0.1:0", &[]);
    let ids = listed(&server);
    assert_eq!(ids.len(), 1);
    server.stop();
    let mut args: Vec<&str> = ids.iter().map(String::as_str).collect();
    args.push("--yes");
    said(&remove(dir.path(), &args), 0);
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &[]);
    assert!(listed(&server).is_empty());
}

#[test]
fn those_that_are_old_enough_go_and_none_that_works() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    for session in ["old", "new"] {
        ended(&server, session, &[]);
    }
    assert_eq!(server.post("busy", &working()).0, 200);
    server.stop();
    for session in ["old", "busy"] {
        make_older(dir.path(), session, 40 * DAY);
    }
    let (rows, told) = said(&remove(dir.path(), &["--older-than", "30d", "--yes"]), 0);
    assert!(
        rows.starts_with("old  ") && rows.lines().count() == 1,
        "{rows}"
    );
    assert!(told.contains("busy") && told.contains("--force"), "{told}");
    let (_, told) = said(&remove(dir.path(), &["--older-than", "30d", "--yes"]), 0);
    assert!(told.contains("nothing to remove"), "{told}");
    let (_, why) = said(&remove(dir.path(), &["busy", "--yes"]), 1);
    assert!(why.contains("works (busy)"), "{why}");
    said(
        &remove(dir.path(), &["--older-than", "30d", "--force", "--yes"]),
        0,
    );
    let server = Server::start(dir.path());
    assert_eq!(listed(&server), ["new"]);
    let (_, why) = said(&remove(dir.path(), &["--yes"]), 2);
    assert!(why.contains("--older-than"), "{why}");
}

#[test]
fn a_server_that_has_the_folder_removes_and_tells_who_follows() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let mut server = Server::start(data);
    ended(&server, "one", &["own", "both"]);
    ended(&server, "two", &["both"]);
    assert_eq!(server.post("busy", &working()).0, 200);
    let mut socket = server.socket();
    let epoch = socket.open(1, "one", None)["epoch"].clone();
    bodies_are_of(data, Duration::from_hours(2));

    let (_, why) = said(&remove(data, &["busy", "--yes"]), 1);
    assert!(why.contains("works"), "{why}");
    let (rows, told) = said(&remove(data, &["one", "--yes"]), 0);
    assert!(rows.contains("About one"), "{rows}");
    assert!(
        told.contains("removed: 1 session, ") && told.contains("1 long body"),
        "{told}"
    );
    assert_eq!(socket.next()["code"], "no_session");
    assert!(files_of(data, "one").is_empty());
    assert_eq!(kept_words(data), ["both"]);
    let mut left = listed(&server);
    left.sort();
    assert_eq!(left, ["busy", "two"]);
    // It is back with what is sent to it then, under numbers that nobody was given.
    ended(&server, "one", &["own"]);
    let (_, page) = server.get("/api/v1/sessions/one/events");
    assert_ne!(page["epoch"], epoch);
    // What came just now is about to be named by somebody, as far as anybody knows.
    let (_, told) = said(&remove(data, &["one", "busy", "--force", "--yes"]), 0);
    assert!(
        told.contains("2 sessions") && told.contains("may follow"),
        "{told}"
    );
    assert_eq!(kept_words(data), ["both", "own"]);
    bodies_are_of(data, Duration::from_hours(2));
    said(&remove(data, &["--bodies", "--yes"]), 0);
    assert_eq!(kept_words(data), ["both"]);
    // What is to follow is not forgotten with the server.
    ended(&server, "three", &["own"]);
    said(&remove(data, &["three", "--yes"]), 0);
    assert_eq!(kept_words(data), ["both", "own"]);
    server.kill();
    let server = Server::start(data);
    bodies_are_of(data, Duration::from_hours(2));
    soon("it follows", || kept_words(data) == ["both"]);
    drop(server);
}

#[test]
fn bodies_that_were_left_by_hand_go_when_they_are_asked_for() {
    let dir = folder();
    let data = dir.path();
    take_away(data, "one");
    said(&remove(data, &["--bodies", "--yes"]), 0);
    assert_eq!(kept_words(data), ["both", "own"], "they are of today");
    bodies_are_of(data, 2 * DAY);
    let (_, would) = said(&remove(data, &["--bodies", "--dry-run"]), 0);
    assert!(
        would.contains("0 sessions") && would.contains("1 long body"),
        "{would}"
    );
    // With a server and without.
    let server = Server::start(data);
    let (_, told) = said(&remove(data, &["--bodies", "--yes"]), 0);
    assert!(told.contains("1 long body"), "{told}");
    assert_eq!(kept_words(data), ["both"]);
    drop(server);
    bodies_are_of(data, 2 * DAY);
    said(&remove(data, &["two", "--bodies", "--yes"]), 0);
    assert!(kept_words(data).is_empty());
}

#[test]
fn what_a_pipe_left_of_a_session_does_not_bring_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    ended(&server, "one", &[]);
    server.stop();
    let (own, other) = (
        leave_in_spool(dir.path(), "one"),
        leave_in_spool(dir.path(), "other"),
    );
    said(&remove(dir.path(), &["one", "--yes"]), 0);
    assert!(!own.exists() && other.exists());
    let server = Server::start(dir.path());
    soon("what is left is taken in", || !other.exists());
    assert_eq!(listed(&server), ["other"]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_pipe_left_of_a_session_stays_with_it_where_that_cannot_be_removed() {
    let dir = folder();
    let waiting = leave_in_spool(dir.path(), "one");
    let name = files_of(dir.path(), "one")
        .into_iter()
        .find(|name| name.ends_with(".events.jsonl"));
    // As a server that was told of another folder by another name.
    let log = std::fs::File::open(dir.path().join(name.unwrap())).unwrap();
    log.lock().unwrap();
    said(&remove(dir.path(), &["one", "--yes"]), 1);
    assert!(waiting.exists());
    drop(log);
    said(&remove(dir.path(), &["one", "--yes"]), 0);
    assert!(!waiting.exists() && files_of(dir.path(), "one").is_empty());
}

/// The program where no file can become longer than it is, as on a full disk.
#[cfg(target_os = "linux")]
fn without_room() -> std::process::Command {
    let mut command = std::process::Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"";
    command.args(["-c", script, crate::support::PROGRAM]);
    command
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_no_reason_to_keep_a_session() {
    let dir = folder();
    let mut command = without_room();
    command
        .args(["remove", "one", "--yes", "--data"])
        .arg(dir.path());
    let told = said(&command.output().unwrap(), 0).1;
    assert!(told.contains("removed: 1 session, "), "{told}");
    assert!(files_of(dir.path(), "one").is_empty());
    assert_eq!(kept_words(dir.path()), ["both"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_on_a_full_disk_gives_what_there_is_after_another_boot_and_makes_room() {
    let dir = folder();
    for before in ["another boot\n\n", "another boot\nalways\n"] {
        std::fs::write(dir.path().join("boot_id"), before).unwrap();
        let server = Server::start_by(without_room(), dir.path(), "127.0.0.1:0", &[]);
        let server = server.expect("the server says that it is ready");
        // It says no more than holds.
        assert!(!dir.path().join("boot_id").exists());
        assert_eq!(server.all("two", 10).len(), 3);
        drop(server);
    }
    let server = Server::start_by(without_room(), dir.path(), "127.0.0.1:0", &[]).unwrap();
    let (status, answer) = server.ask("DELETE", "/api/v1/sessions/one", &server.token, "");
    assert_eq!(status, 200, "{answer}");
    assert!(files_of(dir.path(), "one").is_empty());
    assert_eq!(listed(&server), ["two"]);
}
