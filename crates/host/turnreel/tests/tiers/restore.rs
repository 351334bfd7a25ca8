//! `turnreel restore` where the store, the folder or both are not as they were left: nothing that is here is lost, what can
//! be had comes, and what cannot is named.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use crate::support::cold::{copied, end, log, manifests, post, program, recorded, server};
use crate::support::command::text;
use crate::support::s3::{Bucket, Way, Wrong, moto};
use crate::support::{PROGRAM, Server, chunks};
use serde_json::Value;

fn restore(data: &Path, url: &str, args: &[&str]) -> Output {
    let mut command = program();
    command.args(["restore", "--s3", url, "--data"]).arg(data);
    command.args(args).output().unwrap()
}

/// Whether it ended well, what it told, and what it complained of.
fn told(output: &Output) -> (bool, String, String) {
    (
        output.status.success(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// A server whose sessions are over and copied.
fn copied_sessions(dir: &Path, bucket: &Bucket, sessions: &[&str]) -> Server {
    let server = server(dir, &bucket.url(), &[]);
    for session in sessions {
        post(&server, session, &chunks(1, 20));
        end(&server, session, "end");
        copied(bucket, &server, session);
    }
    server
}

fn key_of(bucket: &Bucket, part: &str, ending: &str) -> String {
    let mut keys = bucket.keys_with(part);
    keys.retain(|key| key.ends_with(ending));
    assert_eq!(keys.len(), 1, "{keys:?}");
    keys.remove(0)
}

#[test]
fn bodies_that_a_server_left_in_the_store_come_for_a_session_that_is_here() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = server(first_dir.path(), &bucket.url(), &[]);
    let (body, diff) = recorded(&first, "one");
    end(&first, "one", "end");
    copied(&bucket, &first, "one");
    let mut second = server(dir.path(), &bucket.url(), &[]);
    assert_eq!(second.get("/api/v1/sessions/one/events").0, 200);
    second.stop();
    let output = restore(dir.path(), &bucket.url(), &["--all"]);
    let (is_well, out, said) = told(&output);
    assert!(is_well, "{said}");
    assert_eq!(out, "one: it is here; 2 of its bodies came\n");
    assert!(said.contains("0 brought back, 1 were here"), "{said}");
    let (_, out, _) = told(&restore(dir.path(), &bucket.url(), &["one"]));
    assert!(out.ends_with(": it is here\n"), "{out}");
    // Without the store all is there.
    let second = Server::start(dir.path());
    let (_, page) = second.get("/api/v1/sessions/one/events?bodies=full&limit=1000");
    let mut events = page["events"].as_array().unwrap().iter();
    assert!(events.any(|event| event["payload"]["result"] == body));
    let diffs = second.get("/api/v1/sessions/one/file-diffs/edit").1;
    assert_eq!(diffs["diff"], diff);
}

#[test]
fn a_body_that_is_damaged_in_the_store_is_told_and_the_log_comes_without_it() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = server(first_dir.path(), &bucket.url(), &[]);
    recorded(&first, "one");
    end(&first, "one", "end");
    copied(&bucket, &first, "one");
    let blobs = bucket.keys_with("/blobs/");
    let [damaged, gone] = &*blobs else {
        panic!("{blobs:?}")
    };
    let [was_damaged, was_gone] = [damaged, gone].map(|key| bucket.get(key));
    bucket.put(damaged, &was_damaged[..was_damaged.len() / 2]);
    bucket.delete(gone);
    let (is_well, out, said) = told(&restore(dir.path(), &bucket.url(), &["one"]));
    assert!(!is_well, "{said}");
    assert!(
        out.contains("1 of its bodies are nowhere; 1 of its bodies are not what was put"),
        "{out}"
    );
    assert!(log(dir.path(), "one") == log(first_dir.path(), "one"));
    // When they are back there, they come.
    bucket.put(damaged, &was_damaged);
    bucket.put(gone, &was_gone);
    let (is_well, out, said) = told(&restore(dir.path(), &bucket.url(), &["one"]));
    assert!(is_well, "{said}");
    assert_eq!(out, "one: it is here; 2 of its bodies came\n");
}

#[test]
fn a_log_that_is_damaged_or_gone_in_the_store_is_named_and_the_others_come() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sessions = ["cut", "gone", "longer", "other", "well"];
    let _first = copied_sessions(first_dir.path(), &bucket, &sessions);
    let key = |session: &str| key_of(&bucket, &format!("/{session}-"), ".events.jsonl.gz");
    let whole = bucket.get(&key("cut"));
    bucket.put(&key("cut"), &whole[..whole.len() - 9]);
    bucket.delete(&key("gone"));
    let longer = [bucket.get(&key("longer")), b"and more".to_vec()].concat();
    bucket.put(&key("longer"), &longer);
    bucket.put(&key("other"), &bucket.get(&key("well")));
    let gone = "could not fetch a log from the object store: it is not there: sessions/gone-";
    let (is_well, out, said) = told(&restore(dir.path(), &bucket.url(), &["--all"]));
    assert!(!is_well);
    assert!(
        out.starts_with("well  21 events") && out.lines().count() == 1,
        "{out}"
    );
    for session in ["cut", "longer", "other"] {
        let why = format!("it is not what was put there: sessions/{session}-");
        assert!(said.contains(&why), "{session}: {said}");
    }
    assert!(said.contains(gone), "{said}");
    assert!(said.contains("1 brought back, 0 were here"), "{said}");
    for session in &sessions[..4] {
        assert!(log(dir.path(), session).is_empty());
    }
    let rest = std::fs::read_dir(dir.path().join("restoring")).unwrap();
    assert_eq!(rest.count(), 0);
}

#[test]
fn what_is_here_stays_and_where_the_store_has_another_that_is_told() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [first_dir, other_dir, older_dir] = dirs.each_ref().map(|dir| dir.path());
    let mut first = copied_sessions(first_dir, &bucket, &["s1"]);
    first.stop();
    // One that began by itself, and one that was put aside before it went on.
    let mut other = Server::start(other_dir);
    post(&other, "s1", &chunks(1, 3));
    other.stop();
    for entry in std::fs::read_dir(first_dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, older_dir.join(path.file_name().unwrap())).unwrap();
        }
    }
    let (_, out, _) = told(&restore(first_dir, &bucket.url(), &["s1"]));
    assert!(out.ends_with(": it is here\n"), "{out}");
    let mut first = server(first_dir, &bucket.url(), &[]);
    post(&first, "s1", &chunks(30, 40));
    end(&first, "s1", "end-again");
    copied(&bucket, &first, "s1");
    first.stop();
    for (dir, args) in [
        (other_dir, &["s1"][..]),
        (older_dir, &["s1"]),
        (older_dir, &["--all"]),
    ] {
        let before = log(dir, "s1");
        let (is_well, out, said) = told(&restore(dir, &bucket.url(), args));
        assert!(!is_well && out.is_empty(), "{out}");
        assert!(
            said.contains("has another log of it, with 33 events"),
            "{said}"
        );
        assert!(said.contains(&dir.display().to_string()), "{said}");
        assert!(log(dir, "s1") == before);
    }
    // What went on behind the copy has all of it.
    let mut first = server(first_dir, &bucket.url(), &[]);
    post(&first, "s1", &chunks(50, 60));
    first.stop();
    let (is_well, out, _) = told(&restore(first_dir, &bucket.url(), &["s1"]));
    assert!(is_well && out.ends_with(": it is here\n"), "{out}");
}

#[test]
fn a_log_here_that_cannot_be_opened_is_named_and_stays() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _first = copied_sessions(first_dir.path(), &bucket, &["s1"]);
    let name = std::fs::read_dir(first_dir.path())
        .unwrap()
        .find_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.ends_with(".events.jsonl").then_some(name)
        });
    let path = dir.path().join(name.unwrap());
    // A folder stands in its place.
    std::fs::create_dir(&path).unwrap();
    let (is_well, out, said) = told(&restore(dir.path(), &bucket.url(), &["s1"]));
    assert!(!is_well && out.is_empty(), "{out}");
    assert!(
        said.contains("cannot be opened, and stays as it is"),
        "{said}"
    );
    assert!(said.contains(&path.display().to_string()), "{said}");
    assert!(path.is_dir());
}

#[test]
fn what_others_put_into_the_bucket_is_told_and_stops_nothing() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _first = copied_sessions(first_dir.path(), &bucket, &["s1", "s2", "s3"]);
    let of = |session: &str| key_of(&bucket, &format!("/{session}-"), ".manifest.json");
    // A later version says something that is not known here, and not what is.
    let key = of("s1");
    bucket.put(&key, br#"{"writer":"turnreel/9","schema":9}"#);
    // One that tells of another session, or of bodies that are none.
    let mut manifest: Value = serde_json::from_slice(&bucket.get(&of("s2"))).unwrap();
    manifest["session"] = "../../etc".into();
    bucket.put(&of("s2"), manifest.to_string().as_bytes());
    let mut manifest: Value = serde_json::from_slice(&bucket.get(&of("s3"))).unwrap();
    manifest["blobs"] = vec!["../../../etc/passwd", "x", ""].into();
    manifest["more"] = true.into();
    manifest["summary"]["more"] = true.into();
    manifest["summary"]["title"] = "a\u{1b}]0;b\u{7}\nc".into();
    bucket.put(&of("s3"), manifest.to_string().as_bytes());
    for key in ["sessions/", "sessions/x", "sessions/ä/é.manifest.json"] {
        bucket.put(
            &format!("archive/{key}")
                .replace('ä', "%C3%A4")
                .replace('é', "%C3%A9"),
            b"?",
        );
    }
    let (is_well, out, said) = told(&restore(dir.path(), &bucket.url(), &[]));
    assert!(!is_well);
    assert!(
        out.starts_with("s3  21 events") && out.lines().count() == 1,
        "{out}"
    );
    assert!(!out.contains('\u{1b}'), "{out}");
    for session in ["s1-", "s2-"] {
        let why =
            format!("could not read a manifest: it is not what was put there: sessions/{session}");
        assert!(said.contains(&why), "{said}");
    }
    let (is_well, out, said) = told(&restore(dir.path(), &bucket.url(), &["--all"]));
    assert!(!is_well, "{said}");
    assert!(out.contains("; 3 of its bodies are nowhere"), "{out}");
    assert!(log(dir.path(), "s3") == log(first_dir.path(), "s3"));
    // Where nothing could be read, it is not said that there is nothing.
    let (_, _, said) = told(&restore(dir.path(), &bucket.url(), &[]));
    assert!(!said.contains("has nothing"), "{said}");
}

#[test]
fn of_very_many_copies_the_newest_is_found() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _first = copied_sessions(first_dir.path(), &bucket, &["s1"]);
    let key = key_of(&bucket, "/s1-", ".manifest.json");
    let (folder, _) = key.rsplit_once('/').unwrap();
    let newest = bucket.get(&key);
    bucket.delete(&key);
    for n in 0..20 {
        let mut older: Value = serde_json::from_slice(&newest).unwrap();
        let epoch = format!("-{n:02}");
        older["epoch"] = epoch.clone().into();
        older["head"] = 1.into();
        older["events"] = 1.into();
        older["summary"]["lastActivityMs"] = 1.into();
        let key = format!("{folder}/{epoch}.1.manifest.json");
        bucket.put(&key, older.to_string().as_bytes());
    }
    // Stores tell of seconds.
    std::thread::sleep(Duration::from_millis(1100));
    bucket.put(&key, &newest);
    assert_eq!(manifests(&bucket, "s1").len(), 21);
    let (_, out, _) = told(&restore(dir.path(), &bucket.url(), &[]));
    assert!(out.starts_with("s1  21 events"), "{out}");
}

#[test]
fn the_address_may_stand_in_the_folders_file_and_one_that_leads_nowhere_is_told() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _first = copied_sessions(first_dir.path(), &bucket, &["s1"]);
    let without = |args: &[&str]| {
        let mut command = program();
        command.args(["restore", "--data"]).arg(dir.path());
        told(&command.args(args).output().unwrap())
    };
    let (is_well, _, said) = without(&[]);
    assert!(!is_well && said.contains("--s3 s3://BUCKET"), "{said}");
    let file = format!("s3 = \"{}\"\nrate = 7\n", bucket.url());
    std::fs::write(dir.path().join("turnreel.toml"), file).unwrap();
    let (is_well, out, said) = without(&["s1"]);
    assert!(is_well && out.starts_with("s1  21 events"), "{said}");
    // What is given counts before it.
    let elsewhere = bucket.url().replace("/archive", "/elsewhere");
    for args in [&["--all"][..], &[]] {
        let (_, out, said) = told(&restore(dir.path(), &elsewhere, args));
        assert!(out.is_empty(), "{out}");
        assert!(said.contains("no session at that address"), "{said}");
    }
    // Credentials that are refused.
    let way = Way::to(&bucket);
    way.spoil("GET", "", Wrong::Status(403), usize::MAX);
    let (is_well, _, said) = told(&restore(
        dir.path(),
        &bucket.url_over(&way.address),
        &["--all"],
    ));
    assert!(!is_well);
    assert!(
        said.contains("could not list the object store: it answers 403"),
        "{said}"
    );
    let no_bucket = bucket.url().replace("s3://feed-", "s3://none-");
    let (_, _, said) = told(&restore(dir.path(), &no_bucket, &[]));
    assert!(said.contains("there is no such bucket"), "{said}");
    // None at all: a machine that is asked for them answers otherwise.
    let mut command = std::process::Command::new(PROGRAM);
    command
        .args(["restore", "--s3", &bucket.url(), "--data"])
        .arg(dir.path())
        .env_remove("AWS_ACCESS_KEY_ID")
        .env_remove("AWS_SECRET_ACCESS_KEY")
        .env_remove("AWS_WEB_IDENTITY_TOKEN_FILE")
        .env_remove("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")
        .env_remove("AWS_CONTAINER_CREDENTIALS_FULL_URI")
        .env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1");
    let (is_well, _, said) = told(&command.output().unwrap());
    assert!(!is_well);
    assert!(said.contains("AWS_ACCESS_KEY_ID is not set"), "{said}");
}
