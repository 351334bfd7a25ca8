//! Copies in an object store that refuses, cuts, changes or says nothing, and of sessions that are damaged.

use std::time::{Duration, Instant};

use serde_json::json;

use super::cold::sha256_in;
use crate::support::cold::{copied, end, log, manifests, post, program, recorded, server};
use crate::support::s3::{SECRET, Way, Wrong, moto};
use crate::support::tiers::take_away;
use crate::support::{self, Server, chunks, figure, soon};

#[test]
fn a_copy_counts_when_it_was_read_back_and_whatever_goes_wrong_is_tried_again() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let (first_dir, second_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let said = first_dir.path().join("said");
    let mut command = program();
    command.stderr(std::fs::File::create(&said).unwrap());
    let url = bucket.url_over(&way.address);
    let args = ["--no-examples", "--s3", &url];
    let first = Server::start_by(command, first_dir.path(), "127.0.0.1:0", &args).unwrap();
    // Of each session one thing goes wrong, as often as the request itself is tried again.
    let log = ".events.jsonl.gz";
    let wrongs = [
        ("PUT", "/refused-", Wrong::Status(500), 3),
        ("PUT", "/forbidden-", Wrong::Status(403), 1),
        ("PUT", "/half-put-", Wrong::HalfPut, 1),
        ("GET", "/cut-", Wrong::CutGet, 3),
        ("GET", "/half-get-", Wrong::HalfGet, 1),
        ("GET", "/other-byte-", Wrong::OtherByte, 1),
        ("HEAD", "/unasked-", Wrong::Status(500), 3),
        ("PUT", "/slow-", Wrong::Slow, 1),
    ];
    for (method, part, wrong, n) in wrongs {
        way.spoil(method, part, wrong, n);
        let session = part.trim_matches(['/', '-']);
        post(&first, session, &chunks(1, 200));
        end(&first, session, "end");
        let manifest = copied(&bucket, &first, session);
        let plain = log_of(&first, session);
        let key = format!("archive/{}", manifest["object"].as_str().unwrap());
        assert!(key.ends_with(log));
        assert_eq!(bucket.unpacked(&key), plain, "{wrong:?}");
        assert_eq!(bucket.keys_with(part).len(), 2, "{wrong:?}");
    }
    assert_eq!(way.n_left(), 0);
    assert!(figure(&first, "turnreel_tier_failures_total{tier=\"s3\"}") >= 5.0);
    soon("all is well", || {
        figure(&first, "turnreel_tier_up{tier=\"s3\"}") == 1.0
    });
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("it is tried again"), "{said}");
    assert!(
        !said.contains(SECRET) && !said.contains(&way.address),
        "{said}"
    );

    // On the way back the same can happen: what is not what was put there is never taken in.
    let second = server(second_dir.path(), &url, &[]);
    let wrongs = [
        ("/refused-", Wrong::HalfGet),
        ("/forbidden-", Wrong::OtherByte),
        ("/half-put-", Wrong::Status(403)),
        ("/cut-", Wrong::Status(404)),
    ];
    for (part, wrong) in wrongs {
        way.spoil("GET", part, wrong, usize::MAX);
        let session = part.trim_matches(['/', '-']);
        let path = format!("/api/v1/sessions/{session}/events");
        let (status, answer) = second.get(&path);
        assert_eq!(status, 503, "{wrong:?}: {answer}");
        assert_eq!(second.get("/api/v1/sessions").1["sessions"], json!([]));
        way.mend();
        soon("it is fetched", || second.get(&path).0 == 200);
        assert_eq!(log_of(&second, session), log_of(&first, session));
        let rest = second_dir.path().join("restoring");
        assert_eq!(std::fs::read_dir(rest).unwrap().count(), 0);
        remove(&second, session);
    }
}

fn log_of(server: &Server, session: &str) -> Vec<u8> {
    log(&server.data, session)
}

/// Takes the session's log away, and waits until the server has seen it.
fn remove(server: &Server, session: &str) {
    take_away(&server.data, session);
    soon("the session is gone", || {
        server.get("/api/v1/sessions").1["sessions"] == json!([])
    });
}

#[test]
fn a_store_that_says_nothing_holds_up_no_other_session_and_no_reader() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &bucket.url_over(&way.address), &[]);
    way.spoil("PUT", "/stuck-", Wrong::Stall, usize::MAX);
    post(&server, "stuck", &chunks(1, 3));
    end(&server, "stuck", "end");
    soon("it is stuck", || way.n_asked(&["PUT ", "/stuck-"]) > 0);
    post(&server, "quick", &chunks(1, 3));
    end(&server, "quick", "end");
    copied(&bucket, &server, "quick");
    assert_eq!(manifests(&bucket, "stuck").len(), 0);
    assert_eq!(server.all("stuck", 100).len(), 4);
    way.mend();
    let patience = std::time::Duration::from_secs(120);
    let deadline = std::time::Instant::now() + patience;
    while manifests(&bucket, "stuck").is_empty() {
        assert!(
            std::time::Instant::now() < deadline,
            "it is never tried again"
        );
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn killed_in_the_middle_of_an_upload_nothing_is_to_be_seen_and_all_is_there_after_the_next_start() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let (first_dir, second_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let url = bucket.url_over(&way.address);
    // Several segments, and several parts: what does not pack well.
    let mut first = server(first_dir.path(), &url, &["--segment-mib", "4"]);
    let mut dice = support::dice::Dice::new(7);
    let mut word = || -> String {
        let letter = |_| {
            char::from(
                b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
                    [usize::try_from(dice.between(0, 63)).unwrap()],
            )
        };
        (0..100_000).map(letter).collect()
    };
    for n in 0..12 {
        let events = (0..10).map(|at| {
            json!({"id": format!("e{n}-{at}"), "timestamp": n, "type": "assistant_chunk", "responseId": "r",
                "payload": {"text": word()}})
        });
        post(&first, "large", &events.collect());
    }
    way.spoil("PUT", "partNumber=2", Wrong::Stall, 1);
    end(&first, "large", "end");
    soon("the upload is under way", || way.n_left() == 0);
    first.kill();
    assert_eq!(bucket.keys(), Vec::<String>::new());
    let first = server(first_dir.path(), &url, &["--segment-mib", "4"]);
    let manifest = copied(&bucket, &first, "large");
    let plain = log_of(&first, "large");
    assert_eq!(manifest["bytes"], plain.len());
    assert!(way.n_asked(&["PUT", "partNumber=2"]) >= 2);

    let second = server(second_dir.path(), &url, &[]);
    assert_eq!(second.all("large", 7), first.all("large", 7));
    assert_eq!(log_of(&second, "large"), plain);
    assert_eq!(
        second.get("/api/v1/sessions/large/health").1["damagedLines"],
        0
    );
    // After another start it is as it was.
    let mut second = second;
    let (_, before) = second.get("/api/v1/sessions/large/events?limit=3");
    second.stop();
    let second = Server::start(second_dir.path());
    assert_eq!(
        second.get("/api/v1/sessions/large/events?limit=3").1,
        before
    );
}

#[test]
fn what_is_damaged_is_named_and_holds_up_nothing_else() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, second_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut first = server(first_dir.path(), &bucket.url(), &[]);
    for session in ["s1", "s2", "s3", "s4"] {
        post(&first, session, &chunks(1, 20));
        end(&first, session, "end");
        copied(&bucket, &first, session);
    }
    let is_log = |key: &&String| key.ends_with(".events.jsonl.gz");
    bucket.delete(bucket.keys_with("/s3-").iter().find(is_log).unwrap());
    let keys = bucket.keys_with("/s1-");
    let key = keys.iter().find(is_log).unwrap();
    let packed = bucket.get(key);
    // Something stands behind its end.
    bucket.put(key, &[&packed[..], b"?"].concat());
    let said = second_dir.path().join("said");
    let mut command = program();
    command.stderr(std::fs::File::create(&said).unwrap());
    let url = bucket.url();
    let args = ["--no-examples", "--s3", &url];
    let second = Server::start_by(command, second_dir.path(), "127.0.0.1:0", &args).unwrap();
    assert_eq!(second.get("/api/v1/sessions/s1/events").0, 503);
    // At once: the store is not away.
    assert_eq!(second.get("/api/v1/sessions/s2/events").0, 200);
    assert_eq!(second.get("/api/v1/sessions/s3/events").0, 503);
    assert_eq!(second.get("/api/v1/sessions/s4/events").0, 200);
    let said = std::fs::read_to_string(said).unwrap();
    let (_, below) = key.split_once('/').unwrap();
    assert!(
        said.contains(below) && said.contains("session=\"s1\""),
        "{said}"
    );
    // Where it is to be copied again, it is put there anew.
    let manifest = keys.iter().find(|key| !is_log(key)).unwrap();
    bucket.delete(manifest);
    // Not stopped: that would be another line of the log.
    first.kill();
    let first = server(first_dir.path(), &url, &[]);
    copied(&bucket, &first, "s1");
    assert!(bucket.unpacked(key) == log_of(&first, "s1"));
    assert!(bucket.get(key) == packed);
    assert_eq!(
        figure(&first, "turnreel_tier_failures_total{tier=\"s3\"}"),
        0.0
    );
}

#[test]
fn a_body_that_is_damaged_here_keeps_nothing_else_of_its_session_from_being_copied() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let said = dir.path().join("said");
    let mut command = program();
    command.stderr(std::fs::File::create(&said).unwrap());
    let url = bucket.url();
    let args = ["--no-examples", "--s3", &url];
    let server = Server::start_by(command, dir.path(), "127.0.0.1:0", &args).unwrap();
    recorded(&server, "s1");
    let (_, page) = server.get("/api/v1/sessions/s1/events?limit=1000");
    let mut events = page["events"].as_array().unwrap().iter();
    let long = events.find(|event| event["id"] == "long").unwrap();
    let sha256 = sha256_in(&long["payload"]["result"]);
    // As a disk that lost the end of it.
    let path = dir.path().join("blobs").join(&sha256[..2]).join(&sha256);
    let body = std::fs::read(&path).unwrap();
    std::fs::write(&path, &body[..body.len() / 2]).unwrap();
    end(&server, "s1", "end");
    let manifest = copied(&bucket, &server, "s1");
    assert_eq!(manifest["missingBlobs"], json!([sha256]));
    assert_eq!(manifest["blobs"].as_array().unwrap().len(), 1);
    assert!(bucket.keys_with(&sha256).is_empty());
    soon("all is well", || {
        figure(&server, "turnreel_tier_up{tier=\"s3\"}") == 1.0
    });
    assert_eq!(
        figure(&server, "turnreel_tier_failures_total{tier=\"s3\"}"),
        0.0
    );
    let said = std::fs::read_to_string(said).unwrap();
    assert!(
        said.contains(&sha256) && said.contains("is damaged"),
        "{said}"
    );
}

#[test]
fn a_store_that_gives_readers_nothing_is_told_of_until_it_is_back() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let (first_dir, second_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = server(first_dir.path(), &bucket.url(), &[]);
    post(&first, "s1", &chunks(1, 3));
    end(&first, "s1", "end");
    copied(&bucket, &first, "s1");
    let second = server(second_dir.path(), &bucket.url_over(&way.address), &[]);
    let up = || figure(&second, "turnreel_tier_up{tier=\"s3\"}");
    soon("it knows what is there", || up() == 1.0);
    // One object alone, as one that lies in an archive: the others can be had.
    way.spoil("GET", "/s1-", Wrong::Status(403), usize::MAX);
    let listed = || way.n_asked(&["GET ", "list-type"]);
    let before = listed();
    assert_eq!(second.get("/api/v1/sessions/s1/events").0, 503);
    soon("the store is asked", || listed() > before);
    assert_eq!(up(), 1.0);
    way.mend();
    soon("it is asked for again", || {
        second.get("/api/v1/sessions/s1/events").0 == 200
    });
    remove(&second, "s1");
    way.spoil("GET", "", Wrong::Status(403), usize::MAX);
    assert_eq!(second.get("/api/v1/sessions/s1/events").0, 503);
    soon("it is told", || up() == 0.0);
    let (status, ready) = second.get("/readyz");
    assert_eq!((status, &ready["warnings"][0]["what"]), (200, &json!("s3")));
    way.mend();
    // Nothing is to be copied, and nobody asks.
    let deadline = Instant::now() + Duration::from_secs(30);
    while up() == 0.0 {
        assert!(Instant::now() < deadline, "it is never asked again");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(second.get("/api/v1/sessions/s1/events").0, 200);
}
