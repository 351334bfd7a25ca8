//! A server that takes nothing for now: what a pipe does meanwhile, and what it says of it at its end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::elsewhere::answering;
use super::pipe::{PATIENT, SMALL, run, start};
use crate::support::{self, Server, command, soon};
use serde_json::json;

const OF_CLAUDE: &str = concat!(
    r#"{"type":"user","uuid":"u1","sessionId":"s1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"Hi"}}"#,
    "\n"
);

fn taken() -> (u16, String) {
    let taken = json!({"epoch": "e", "first": 1, "last": 1, "dups": 0, "durable": "written",
        "results": [{"status": "stored", "seq": 1}]});
    (200, taken.to_string())
}

fn refusal(status: u16, message: &str) -> (u16, String) {
    let error = json!({"code": "later", "message": message, "retryAfterMs": 10});
    (status, json!({ "error": error }).to_string())
}

/// Where events wait for that server.
fn spool(data: &Path, url: &str) -> PathBuf {
    let folder = chat_capture::spools_for(&data.join("spool"), url);
    std::fs::create_dir_all(folder.join("sources")).unwrap();
    folder
}

#[test]
fn what_was_in_the_way_and_is_not_any_more_is_not_told_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let nth = AtomicUsize::new(0);
    let (url, n_asked) = answering(move |_| match nth.fetch_add(1, Ordering::SeqCst) {
        0 => refusal(503, "not at first"),
        1 => taken(),
        // It hangs.
        _ => {
            std::thread::sleep(Duration::from_secs(600));
            taken()
        }
    });
    let more = ["--wait", "2", "--endpoint", &url, "--token", "t"];
    let mut child = start(dir.path(), &more);
    let mut stdin = child.stdin.take().unwrap();
    for (line, n_before) in SMALL.lines().zip([2, 3]) {
        writeln!(stdin, "{line}").unwrap();
        soon("it is sent", || n_asked.load(Ordering::SeqCst) == n_before);
    }
    drop(stdin);
    let said = command::text(&child.wait_with_output().unwrap().stderr);
    assert!(said.contains("they wait in"), "{said}");
    assert!(!said.contains("not at first"), "{said}");
}

#[test]
fn whoever_holds_the_notes_of_a_session_is_named_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let _server = Server::start(dir.path());
    let notes = dir.path().join("spool/sources/s1.json");
    std::fs::create_dir_all(notes.parent().unwrap()).unwrap();
    let holder = std::fs::File::create(&notes).unwrap();
    holder.lock().unwrap();
    let more = ["--wait", "2", "--from", "claude-transcript"];
    let said = command::text(&run(dir.path(), &more, OF_CLAUDE.as_bytes()).stderr);
    for told in [
        "another process holds the session's notes ",
        "s1.json",
        "or taken in by the server, once it runs",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
}

#[test]
fn what_the_server_takes_later_holds_up_nothing_else_that_was_left() {
    let dir = tempfile::tempdir().unwrap();
    let (url, _) = answering(|asked| match asked.contains("/s1/") {
        true => refusal(503, "its log is away"),
        false => taken(),
    });
    let folder = spool(dir.path(), &url);
    let (first, second) = (folder.join("s1-1.jsonl"), folder.join("s2-1.jsonl"));
    std::fs::write(&first, SMALL).unwrap();
    std::fs::write(&second, SMALL.replace("s1", "s2")).unwrap();
    let mut child = start(dir.path(), &["--endpoint", &url, "--token", "t"]);
    soon("the other one is sent", || !second.exists());
    drop(child.stdin.take());
    let said = command::text(&child.wait_with_output().unwrap().stderr);
    assert!(first.exists());
    assert!(
        said.contains("503: its log is away") && said.contains("s1-1.jsonl"),
        "{said}"
    );
}

/// What stands in the way of one stands in the way of the other: they are sent in the order of the runs.
#[test]
fn what_an_earlier_run_left_comes_before_ours_though_the_server_takes_it_later() {
    for later in [
        refusal(503, "its log is away"),
        refusal(423, "another program has its log"),
        // Of a proxy that does not reach the server.
        (502, "<html>Bad gateway</html>".to_owned()),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let n_sent = AtomicUsize::new(0);
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let keeping = bodies.clone();
        let (url, _) = answering(move |asked| {
            if n_sent.fetch_add(1, Ordering::SeqCst) < 3 {
                return later.clone();
            }
            keeping.lock().unwrap().push(asked.to_owned());
            taken()
        });
        let left = spool(dir.path(), &url).join("s1-1.jsonl");
        std::fs::write(&left, SMALL.replace("Hi", "Before")).unwrap();
        let more = [&PATIENT[..], &["--endpoint", &url, "--token", "t"]].concat();
        let said = command::text(&run(dir.path(), &more, SMALL.as_bytes()).stderr);
        assert_eq!(said, "");
        let bodies = bodies.lock().unwrap();
        let texts: Vec<_> = bodies.iter().map(|it| it.contains("Before")).collect();
        assert_eq!(texts, [true, false]);
        assert!(!left.exists());
    }
}

#[test]
fn what_the_server_has_already_of_what_was_left_is_no_progress() {
    let dir = tempfile::tempdir().unwrap();
    let (url, _) = answering(|asked| match asked.contains("/s1/") {
        true => taken(),
        false => refusal(507, "the disk is full"),
    });
    let left = spool(dir.path(), &url).join("s1-1.jsonl");
    std::fs::write(&left, SMALL.to_owned() + &SMALL.replace("s1", "s2")).unwrap();
    let more = ["--wait", "8", "--endpoint", &url, "--token", "t"];
    let mut child = start(dir.path(), &more);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(SMALL.as_bytes()).unwrap();
    drop(stdin);
    assert!(support::wait_for(&mut child, Duration::from_secs(16)).success());
    let said = command::text(&child.wait_with_output().unwrap().stderr);
    assert!(said.contains("they wait in") && left.exists(), "{said}");
}

#[test]
fn what_the_server_takes_later_is_told_once_and_not_overtaken() {
    let dir = tempfile::tempdir().unwrap();
    let n_sent = AtomicUsize::new(0);
    let (url, _) = answering(move |_| match n_sent.fetch_add(1, Ordering::SeqCst) {
        0..2 => refusal(503, "its log is away"),
        _ => taken(),
    });
    let folder = spool(dir.path(), &url);
    let path = |name: &str| folder.join(name);
    for (name, seconds) in [("s1-9", 1), ("s2-9", 2), ("s1-1", 3), ("s3-1", 4)] {
        let path = path(&format!("{name}.jsonl"));
        std::fs::write(&path, SMALL.replace("s1", &name[..2])).unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        let written = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        file.set_modified(written).unwrap();
    }
    let mut child = start(dir.path(), &["--endpoint", &url, "--token", "t"]);
    soon("the last is sent", || !path("s3-1.jsonl").exists());
    drop(child.stdin.take());
    let said = command::text(&child.wait_with_output().unwrap().stderr);
    assert!(path("s1-1.jsonl").exists(), "it waits for the earlier one");
    assert_eq!(said.matches("its log is away").count(), 1, "{said}");
    assert!(said.contains("s1-9.jsonl, and 1 more"), "{said}");
}

#[test]
fn a_log_that_others_tell_of_is_read_once_however_often_the_server_asks_to_wait() {
    let dir = tempfile::tempdir().unwrap();
    let n_read = Arc::new(AtomicUsize::new(0));
    let n_sent = Arc::new(AtomicUsize::new(0));
    let (reading, sending) = (n_read.clone(), n_sent.clone());
    let (url, _) = answering(move |asked| {
        if asked.starts_with("GET") {
            reading.fetch_add(usize::from(asked.contains("after=0")), Ordering::SeqCst);
            let page = json!({"epoch": "e", "next": 0, "head": 0, "events": []});
            return (200, page.to_string());
        }
        match sending.fetch_add(1, Ordering::SeqCst) {
            0..3 => refusal(429, "not so fast"),
            _ => taken(),
        }
    });
    // The hooks of the session told something before.
    let notes = spool(dir.path(), &url).join("sources/s1.json");
    let told = json!({"claude-hooks": {"told": 1, "spool": "s1-1.claude-hooks.jsonl"}});
    std::fs::write(notes, told.to_string()).unwrap();
    let to = ["--endpoint", &url, "--token", "t"];
    let from = ["--from", "claude-transcript"];
    let more = [&PATIENT[..], &to, &from].concat();
    let output = run(dir.path(), &more, OF_CLAUDE.as_bytes());
    assert_eq!(command::text(&output.stderr), "");
    assert!(n_sent.load(Ordering::SeqCst) > 3);
    assert_eq!(n_read.load(Ordering::SeqCst), 1);
}

#[test]
fn who_waits_for_ever_waits_until_all_is_sent() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let for_ever = u64::MAX.to_string();
    let output = run(dir.path(), &["--wait", &for_ever], SMALL.as_bytes());
    assert_eq!(command::text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(server.all("s1", 10).len(), 3);
}
