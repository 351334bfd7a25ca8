//! Removing sessions that are elsewhere, too: in an object store, in PostgreSQL, in Redis, on other servers.

use std::path::Path;
use std::process::Output;

use crate::support::cold::{copied, manifests, program, server, stub};
use crate::support::command::text;
use crate::support::fleet::{Fleet, log, until};
use crate::support::postgres::Postgres;
use crate::support::redis::Redis;
use crate::support::removing::{ended, files_of, kept_words, listed, long};
use crate::support::s3::{Bucket, Way, Wrong, moto};
use crate::support::tiers::take_away;
use crate::support::{Server, chunks, soon};
use serde_json::json;

fn remove(data: &Path, args: &[&str]) -> Output {
    let mut command = program();
    command.args(["remove", "--yes", "--data"]).arg(data);
    command.args(args).output().unwrap()
}

#[track_caller]
fn said(output: &Output, code: i32) -> String {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// The words of the long bodies in the bucket.
fn words(bucket: &Bucket) -> Vec<String> {
    let mut words: Vec<String> = ["own", "both", "packed"]
        .into_iter()
        .filter(|word| {
            let sha256 = chat_store::sha256_hex(long(word).as_bytes());
            !bucket.keys_with(&format!("{sha256}.gz")).is_empty()
        })
        .map(str::to_owned)
        .collect();
    words.sort();
    words
}

fn of_session(bucket: &Bucket, session: &str) -> Vec<String> {
    bucket.keys_with(&format!("/{session}-"))
}

#[test]
fn copies_go_with_a_session_and_the_bodies_that_no_other_copy_names() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let mut first = server(dir.path(), &bucket.url(), &[]);
    for (session, bodies) in [("one", ["own", "both"]), ("two", ["both", "packed"])] {
        ended(&first, session, &bodies);
        copied(&bucket, &first, session);
    }
    assert_eq!(words(&bucket), ["both", "own", "packed"]);
    let delete = |path: &str| first.ask("DELETE", path, &first.token, "");
    // Only here.
    let kept = "/api/v1/sessions/one?copies=keep";
    let (status, answer) = delete(kept);
    assert_eq!((status, &answer["objects"]), (200, &json!(0)), "{answer}");
    assert!(files_of(dir.path(), "one").is_empty());
    // It is in the store: who asks for it has it again.
    assert_eq!(first.all("one", 10).len(), 4);
    let (status, answer) = delete("/api/v1/sessions/one");
    assert_eq!(status, 200, "{answer}");
    assert!(answer["objects"].as_u64() >= Some(2), "{answer}");
    assert_eq!(of_session(&bucket, "one"), [""; 0]);
    assert_eq!(first.get("/api/v1/sessions/one/events").0, 404);
    assert_eq!(delete("/api/v1/sessions/one").0, 404);
    soon("its own body is gone from the store", || {
        words(&bucket) == ["both", "packed"]
    });
    assert_eq!(first.all("two", 10).len(), 4);
    // It is copied anew where it comes back.
    ended(&first, "one", &[]);
    copied(&bucket, &first, "one");
    first.stop();
    // The same without a server.
    let url = bucket.url();
    let told = said(&remove(dir.path(), &["one", "two", "--s3", &url]), 0);
    assert!(told.contains("in the object store"), "{told}");
    assert_eq!(bucket.keys(), [""; 0]);
    assert!(kept_words(dir.path()).is_empty());
    let why = said(&remove(dir.path(), &["one", "--s3", &url]), 1);
    assert!(why.contains("no such session"), "{why}");
}

#[test]
fn one_that_only_the_store_has_is_removed_without_being_fetched() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let mut first = server(dir.path(), &bucket.url(), &[]);
    for session in ["packed", "elsewhere"] {
        ended(&first, session, &["packed"]);
        copied(&bucket, &first, session);
    }
    let manifest = manifests(&bucket, "packed").remove(0);
    first.stop();
    // What is left of one that was packed away, and nothing of one that was removed by hand to make room.
    let stem = files_of(dir.path(), "packed")[0]
        .split('.')
        .next()
        .unwrap()
        .to_owned();
    for session in ["packed", "elsewhere"] {
        take_away(dir.path(), session);
    }
    let mut left = json!({});
    for name in ["session", "epoch", "head", "bytes", "sha256", "summary"] {
        left[name] = manifest[name].clone();
    }
    std::fs::write(
        dir.path().join(format!("{stem}.packed.json")),
        left.to_string(),
    )
    .unwrap();
    let second = server(dir.path(), &bucket.url(), &[]);
    assert_eq!(listed(&second), ["packed"]);
    for session in ["packed", "elsewhere"] {
        let path = format!("/api/v1/sessions/{session}");
        let (status, answer) = second.ask("DELETE", &path, &second.token, "");
        assert_eq!(status, 200, "{answer}");
        assert_eq!(of_session(&bucket, session), [""; 0]);
        assert_eq!(second.get(&format!("{path}/events")).0, 404);
    }
    assert!(listed(&second).is_empty() && stub(dir.path(), "packed").is_none());
    soon("their body is gone, here and there", || {
        words(&bucket).is_empty()
    });
}

#[test]
fn what_was_put_aside_when_all_was_stopped_is_dealt_with_by_the_next_start() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let mut first = server(dir.path(), &bucket.url(), &[]);
    ended(&first, "one", &["own"]);
    copied(&bucket, &first, "one");
    first.stop();
    // As a removal leaves them that ends between the look at what is named and the end.
    let sha256 = chat_store::sha256_hex(long("own").as_bytes());
    let named = bucket.keys_with(&format!("{sha256}.gz")).remove(0);
    let aside = |sha256: &str| format!("archive/removing/{sha256}.gz");
    bucket.put(&aside(&sha256), &bucket.get(&named));
    bucket.delete(&named);
    bucket.put(&aside(&"a".repeat(64)), b"named by nobody");
    let _second = server(dir.path(), &bucket.url(), &[]);
    soon("none is aside", || bucket.keys_with("removing/").is_empty());
    assert_eq!(words(&bucket), ["own"]);
}

#[test]
fn nothing_goes_while_the_object_store_is_away() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let dir = tempfile::tempdir().unwrap();
    let url = bucket.url_over(&way.address);
    let mut first = server(dir.path(), &url, &[]);
    ended(&first, "one", &[]);
    copied(&bucket, &first, "one");
    way.spoil("GET", "", Wrong::Status(403), usize::MAX);
    let path = "/api/v1/sessions/one";
    let (status, answer) = first.ask("DELETE", path, &first.token, "");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("fetching")),
        "{answer}"
    );
    first.stop();
    let before = files_of(dir.path(), "one");
    let why = said(&remove(dir.path(), &["one", "--s3", &url]), 1);
    assert!(why.contains("nothing was removed"), "{why}");
    assert_eq!(files_of(dir.path(), "one"), before);
    // Who wants no more than what is here says so.
    said(
        &remove(dir.path(), &["one", "--s3", &url, "--keep-copies"]),
        0,
    );
    assert!(files_of(dir.path(), "one").is_empty());
    way.mend();
    assert_eq!(manifests(&bucket, "one").len(), 1);
}

#[test]
fn rows_of_the_database_and_events_in_redis_go_with_a_session() {
    let (Some(postgres), Some(redis)) = (Postgres::start(), Redis::start()) else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let url = redis.url();
    let stores = ["--postgres", &database.url, "--redis", &url];
    let start = || {
        let args = [&["--no-examples"][..], &stores].concat();
        Server::start_on(dir.path(), "127.0.0.1:0", &args)
    };
    let n_rows = |session: &str| {
        let count = format!("SELECT count(*) FROM turnreel.sessions WHERE session = '{session}'");
        // The tables come with the first copy.
        let counted = database.try_ask(&count).unwrap_or_default();
        counted
            .first()
            .map_or_else(String::new, |row| row[0].clone())
    };
    let in_redis = |session: &str| -> Vec<String> {
        redis.ask(&["KEYS", &format!("turnreel:{{{session}}}:*")])
    };
    let is_copied = |session: &str| n_rows(session) == "1" && in_redis(session).len() == 3;
    let is_gone = |session: &str| n_rows(session) == "0" && in_redis(session).is_empty();
    let mut server = start();
    for session in ["one", "two", "three"] {
        ended(&server, session, &[]);
        soon("it is copied", || is_copied(session));
    }
    // With a server, and without.
    let (status, answer) = server.ask("DELETE", "/api/v1/sessions/one", &server.token, "");
    assert_eq!(status, 200, "{answer}");
    soon("its copies are gone", || is_gone("one"));
    server.stop();
    said(&remove(dir.path(), &[&["two"][..], &stores].concat()), 0);
    assert!(is_gone("two") && is_copied("three"));
    let why = said(&remove(dir.path(), &[&["two"][..], &stores].concat()), 1);
    assert!(why.contains("no such session"), "{why}");
}

#[test]
fn a_session_is_removed_at_all_servers_that_have_it() {
    let Some(fleet) = Fleet::start(3) else { return };
    fleet.post(0, "one", &chunks(1, 20));
    fleet.post(1, "two", &chunks(1, 5));
    fleet.wait_until_same(&[0, 1, 2], "one", 20);
    fleet.wait_until_same(&[0, 1, 2], "two", 5);
    let delete = |nth: usize, path: &str| {
        let server = &fleet.servers[nth];
        server.ask("DELETE", path, &server.token, "")
    };
    // Its home says whether it works.
    let (status, answer) = delete(1, "/api/v1/sessions/one");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (409, &json!("working")),
        "{answer}"
    );
    let end = json!([{"id": "end", "timestamp": 30, "type": "session_end", "payload": {}}]);
    fleet.post(2, "one", &end);
    fleet.wait_until_same(&[0, 1, 2], "one", 21);
    let (status, answer) = delete(1, "/api/v1/sessions/one");
    assert_eq!((status, &answer["left"]), (200, &json!([])), "{answer}");
    for server in &fleet.servers {
        assert!(files_of(&server.data, "one").is_empty());
        assert!(log(server, "one").is_none());
        assert_eq!(log(server, "two").unwrap().1.len(), 5);
    }
    assert_eq!(delete(2, "/api/v1/sessions/one").0, 404);
    // It is back where it is sent, and at all.
    until("it is taken", || {
        (fleet.servers[2].post("one", &chunks(1, 3)).0 == 200).then_some(())
    });
    until("all have it again", || {
        let has = |server: &Server| log(server, "one").is_some_and(|(_, events)| events.len() == 3);
        fleet.servers.iter().all(has).then_some(())
    });
    // From its home.
    assert_eq!(delete(1, "/api/v1/sessions/two?force=1").0, 200);
    for server in &fleet.servers {
        assert!(files_of(&server.data, "two").is_empty());
    }
}

#[test]
fn a_server_that_was_away_removes_what_was_removed_and_brings_nothing_back() {
    let Some(mut fleet) = Fleet::start(3) else {
        return;
    };
    for session in ["one", "again", "packed", "kept", "stays"] {
        fleet.post(0, session, &chunks(1, 20));
        fleet.wait_until_same(&[0, 1, 2], session, 20);
    }
    let (epoch, _) = log(&fleet.servers[0], "packed").unwrap();
    fleet.servers[2].kill();
    let away = fleet.servers[2].data.clone();
    let delete = |server: &Server, session: &str| {
        let path = format!("/api/v1/sessions/{session}?force=1");
        server.ask("DELETE", &path, &server.token, "")
    };
    let same = |fleet: &Fleet, servers: &[usize], session: &str, n_events: usize| {
        until(&format!("{session} is the same"), || {
            let logs: Vec<_> = servers
                .iter()
                .map(|&nth| log(&fleet.servers[nth], session))
                .collect();
            let first = logs[0].as_ref()?;
            let all = logs.iter().all(|log| log.as_ref() == Some(first));
            (first.1.len() == n_events && all).then_some(())
        });
    };
    for session in ["one", "again", "packed"] {
        let (status, answer) = delete(&fleet.servers[1], session);
        assert_eq!(status, 200, "{answer}");
    }
    // Where copies stay nobody is told to remove it: who asks for it has it again, under the same epoch.
    let kept = "/api/v1/sessions/kept?force=1&copies=keep";
    let server = &fleet.servers[0];
    assert_eq!(server.ask("DELETE", kept, &server.token, "").0, 200);
    let mut marks: Vec<String> =
        fleet
            .redis
            .ask(&["ZRANGE", "turnreel:{fleet}:removed", "0", "-1"]);
    marks.iter_mut().for_each(|mark| {
        let end = mark.find(' ').unwrap();
        mark.truncate(end);
    });
    marks.sort();
    assert_eq!(marks, ["again", "one", "packed"]);
    // It was packed away there, as is done with an object store.
    take_away(&away, "packed");
    let left = json!({
        "session": "packed",
        "epoch": epoch,
        "head": 20,
        "bytes": 1,
        "sha256": "0".repeat(64),
        "summary": {"id": "packed"},
    });
    let stem = chat_store::SessionId::parse("packed").unwrap().stem();
    let name = format!("{stem}.packed.json");
    std::fs::write(away.join(name), left.to_string()).unwrap();
    // One of them is there again before it is back.
    fleet.post(0, "again", &chunks(101, 105));
    same(&fleet, &[0, 1], "again", 5);
    assert!(!files_of(&away, "one").is_empty());
    fleet.restart(2);
    same(&fleet, &[0, 1, 2], "again", 5);
    same(&fleet, &[0, 1, 2], "stays", 20);
    until("its copy is gone, and what was left of the other", || {
        let is_gone = |session| files_of(&away, session).is_empty();
        (is_gone("one") && is_gone("packed")).then_some(())
    });
    // What it had is not sent to the new home.
    fleet.post(2, "one", &chunks(201, 202));
    same(&fleet, &[0, 1, 2], "one", 2);
    same(&fleet, &[0, 1, 2], "again", 5);
    assert_eq!(delete(&fleet.servers[0], "one").0, 200);
    let mut left = listed(&fleet.servers[2]);
    left.sort();
    assert_eq!(left, ["again", "kept", "stays"]);
}
