//! Logs that rest and are packed away to the object store: their sessions stay listed, come back when somebody asks, and no
//! byte goes that was not read back and compared; and `turnreel restore`, which brings back what only the store has.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant, SystemTime};

use crate::support::cold::{
    DAY, copied, end, is_packed, log, make_older, manifests, post, program, recorded, server, stub,
};
use crate::support::command::text;
use crate::support::s3::{Bucket, Way, Wrong, moto};
use crate::support::{Server, chunks, figure, soon};
use serde_json::{Value, json};

/// Until it is so, however busy the machine is: what rests is looked for once a minute.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(150);
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Changes a byte of an event in the middle of the log, and nothing of when it was written.
fn damage(data: &Path, session: &str) {
    let entries = std::fs::read_dir(data).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(&format!("{session}-")) && name.ends_with(".events.jsonl") {
            let mut bytes = std::fs::read(&path).unwrap();
            let at = bytes.len() / 2;
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            std::fs::write(&path, bytes).unwrap();
            let file = std::fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - 3 * DAY).unwrap();
        }
    }
}

fn row(server: &Server, session: &str) -> Option<Value> {
    let (_, list) = server.get("/api/v1/sessions");
    let rows = list["sessions"].as_array().unwrap();
    rows.iter().find(|row| row["id"] == session).cloned()
}

/// A folder whose sessions were copied to the bucket, and are of three days ago; and what it has of each.
fn rested(bucket: &Bucket, sessions: &[&str]) -> (tempfile::TempDir, Vec<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    let mut first = server(dir.path(), &bucket.url(), &[]);
    for session in sessions {
        recorded(&first, session);
        end(&first, session, "end");
        copied(bucket, &first, session);
    }
    first.stop();
    for session in sessions {
        make_older(dir.path(), session, 3 * DAY);
    }
    let logs = sessions.iter().map(|session| log(dir.path(), session));
    let logs = logs.collect();
    (dir, logs)
}

#[test]
fn what_rests_is_packed_away_and_stays_listed_and_comes_back_when_somebody_asks() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (dir, logs) = rested(&bucket, &["s1", "s2"]);
    let url = bucket.url();
    let mut first = server(dir.path(), &url, &["--evict-days", "2"]);
    post(&first, "fresh", &chunks(1, 3));
    end(&first, "fresh", "end");
    copied(&bucket, &first, "fresh");
    until("what rests is packed away", || {
        is_packed(dir.path(), "s1") && is_packed(dir.path(), "s2")
    });
    assert!(!log(dir.path(), "fresh").is_empty());
    // All of what went is in the bucket, to the byte.
    for (session, log) in ["s1", "s2"].iter().zip(&logs) {
        let found = manifests(&bucket, session);
        let [manifest] = &*found else {
            panic!("{found:?}")
        };
        let key = format!("archive/{}", manifest["object"].as_str().unwrap());
        assert!(bucket.unpacked(&key) == *log);
        assert_eq!(
            stub(dir.path(), session).unwrap()["sha256"],
            manifest["sha256"]
        );
    }
    let listed = row(&first, "s1").unwrap();
    assert_eq!(
        (&listed["packed"], &listed["status"]),
        (&json!(true), &json!("ended"))
    );
    assert!(listed["events"].as_u64().unwrap() > 10);
    assert!(row(&first, "fresh").unwrap().get("packed").is_none());
    assert_eq!(figure(&first, "turnreel_sessions_packed_away"), 2.0);
    let said = text(&trace(dir.path(), "s1").stderr);
    assert!(
        said.contains("packed away") && said.contains("turnreel restore"),
        "{said}"
    );

    // Another start lists it from what is here alone; who asks is told, and nothing is begun in its place.
    first.stop();
    let mut alone = Server::start(dir.path());
    assert_eq!(row(&alone, "s1"), Some(listed.clone()));
    let (status, answer) = alone.get("/api/v1/sessions/s1/events");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("packed_away"))
    );
    let (status, answer) = alone.post("s1", &chunks(1, 3));
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("packed_away"))
    );
    assert!(is_packed(dir.path(), "s1"));
    alone.stop();

    let second = server(dir.path(), &url, &["--evict-days", "2"]);
    let mut list = second.socket();
    list.send(&json!({"op": "open", "sub": 1, "session": "*"}));
    let told = |frame: &Value, packed: bool| {
        let rows = frame["changed"].as_array().into_iter().flatten();
        let mut rows = rows.filter(|row| row["id"] == "s1");
        rows.any(|row| row["packed"].as_bool().unwrap_or(false) == packed)
    };
    while !told(&list.next(), true) {}
    let (status, page) = second.get("/api/v1/sessions/s1/events?limit=1000");
    assert_eq!((status, &page["head"]), (200, &listed["head"]), "{page}");
    assert_eq!(page["epoch"], listed["epoch"]);
    assert!(log(dir.path(), "s1") == logs[0]);
    assert!(stub(dir.path(), "s1").is_none());
    while !told(&list.next(), false) {}
    // What is sent to one that is away goes on behind what it has.
    let (status, answer) = second.post("s2", &chunks(1, 3));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["first"].as_u64().unwrap(),
        listed["head"].as_u64().unwrap() + 1
    );
    assert!(log(dir.path(), "s2").starts_with(&logs[1]));
    // It was fetched just now: it does not rest.
    assert!(!is_packed(dir.path(), "s1"));
}

fn trace(data: &Path, session: &str) -> Output {
    let mut command = program();
    command.args(["trace", session, "--data"]).arg(data);
    command.output().unwrap()
}

#[test]
fn no_log_goes_that_was_not_read_back_and_compared() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let sessions = ["other-byte", "half", "forbidden", "gone", "well"];
    let (dir, logs) = rested(&bucket, &[&sessions[..], &["damaged"]].concat());
    // One that has lost an event takes no other's place.
    let kept = manifests(&bucket, "damaged");
    damage(dir.path(), "damaged");
    let way = Way::to(&bucket);
    let wrongs = [
        ("/other-byte-", Wrong::OtherByte),
        ("/half-", Wrong::HalfGet),
        ("/forbidden-", Wrong::Status(403)),
        ("/gone-", Wrong::Status(404)),
    ];
    for (part, wrong) in wrongs {
        way.spoil("GET", part, wrong, usize::MAX);
    }
    let said = dir.path().join("said");
    let mut command = program();
    command.stderr(std::fs::File::create(&said).unwrap());
    let url = bucket.url_over(&way.address);
    let args = ["--no-examples", "--s3", &url, "--evict-days", "2"];
    let mut first = Server::start_by(command, dir.path(), "127.0.0.1:0", &args).unwrap();
    let n_refused = || {
        let said = std::fs::read_to_string(&said).unwrap();
        said.matches("could not pack the log away").count()
    };
    until("each was tried", || {
        n_refused() >= 5 && is_packed(dir.path(), "well")
    });
    assert!(stub(dir.path(), "damaged").is_none() && !log(dir.path(), "damaged").is_empty());
    assert_eq!(manifests(&bucket, "damaged"), kept);
    for (session, before) in sessions.iter().zip(&logs).take(4) {
        assert!(log(dir.path(), session) == *before, "{session}");
        assert!(stub(dir.path(), session).is_none());
        assert_eq!(
            first.get(&format!("/api/v1/sessions/{session}/events")).0,
            200
        );
    }
    // Where the way is well, they go after the next start; one that somebody follows stays.
    first.stop();
    way.mend();
    for session in &sessions[..4] {
        make_older(dir.path(), session, Duration::from_secs(1));
        make_older(dir.path(), session, 3 * DAY);
    }
    let before = log(dir.path(), "half");
    let second = server(dir.path(), &url, &["--evict-days", "2"]);
    let stream = second.stream("/api/v1/sessions/half/sse", None);
    until("they go", || {
        sessions
            .iter()
            .all(|it| *it == "half" || is_packed(dir.path(), it))
    });
    drop(stream);
    if !is_packed(dir.path(), "half") {
        assert!(log(dir.path(), "half") == before);
    }
    // What is left of one is a file of its session: without it, it is not listed.
    assert!(row(&second, "well").is_some());
    let entries = std::fs::read_dir(dir.path()).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("well-")
        {
            std::fs::remove_file(path).unwrap();
        }
    }
    soon("it is not listed any more", || {
        row(&second, "well").is_none()
    });
    assert_eq!(second.get("/api/v1/sessions/well/events").0, 200);
    assert!(row(&second, "well").is_some());
}

fn restore(data: &Path, url: &str, args: &[&str]) -> Output {
    let mut command = program();
    command.args(["restore", "--s3", url, "--data"]).arg(data);
    command.args(args).output().unwrap()
}

#[test]
fn what_only_the_store_has_is_told_and_brought_back_with_its_bodies() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let url = bucket.url();
    let first = server(first_dir.path(), &url, &[]);
    let (body, diff) = recorded(&first, "one");
    for session in ["two", "three"] {
        post(&first, session, &chunks(1, 20));
    }
    for session in ["one", "two", "three"] {
        end(&first, session, "end");
        copied(&bucket, &first, session);
    }
    let lines = |output: &Output| text(&output.stdout).lines().count();
    let told = restore(dir.path(), &url, &[]);
    assert!(told.status.success());
    assert_eq!(lines(&told), 3, "{}", text(&told.stdout));
    assert!(
        text(&told.stdout).contains("three  21 events"),
        "{}",
        text(&told.stdout)
    );
    let brought = restore(dir.path(), &url, &["thr"]);
    assert!(brought.status.success(), "{}", text(&brought.stderr));
    assert!(log(dir.path(), "three") == log(first_dir.path(), "three"));
    assert_eq!(lines(&restore(dir.path(), &url, &[])), 2);
    let unknown = restore(dir.path(), &url, &["nothing"]);
    assert!(!unknown.status.success() && text(&unknown.stderr).contains("no session nothing"));
    let ambiguous = restore(dir.path(), &url, &["t"]);
    assert!(text(&ambiguous.stderr).contains("several sessions begin with t"));
    let all = restore(dir.path(), &url, &["--all"]);
    assert!(all.status.success(), "{}", text(&all.stderr));
    assert_eq!(lines(&all), 2);
    assert_eq!(lines(&restore(dir.path(), &url, &[])), 0);
    assert!(text(&restore(dir.path(), &url, &["one"]).stdout).contains("it is here"));
    // Without the store all is there.
    let second = Server::start(dir.path());
    for session in ["one", "two", "three"] {
        let path = format!("/api/v1/sessions/{session}/events?bodies=full&limit=1000");
        assert_eq!(second.get(&path), first.get(&path), "{session}");
    }
    let (_, page) = second.get("/api/v1/sessions/one/events?bodies=full&limit=1000");
    let events = page["events"].as_array().unwrap();
    assert!(
        events
            .iter()
            .any(|event| event["payload"]["result"] == body)
    );
    assert_eq!(
        second.get("/api/v1/sessions/one/file-diffs/edit").1["diff"],
        diff
    );
    // A folder that is served is not written to.
    let refused = restore(dir.path(), &url, &["--all"]);
    assert!(!refused.status.success());
    let said = text(&refused.stderr);
    assert!(said.contains("it is served at"), "{said}");
}
