//! Whole sessions in an object store: written when they end, and read from there by a server that has not got them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::cold::{copied, end, log, manifests, post, program, recorded, server};
use crate::support::s3::{Way, Wrong, moto};
use crate::support::{Server, chunks, figure, make_token, soon};

pub(super) fn sha256_in(value: &Value) -> String {
    value["$body"]["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_that_ended_is_read_from_the_store_by_a_server_that_has_nothing() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let (first_dir, second_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = server(first_dir.path(), &bucket.url(), &[]);
    let (body, diff) = recorded(&first, "s1");
    post(&first, "going-on", &chunks(1, 3));
    end(&first, "s1", "end");
    let manifest = copied(&bucket, &first, "s1");
    let plain = log(first_dir.path(), "s1");
    assert_eq!(manifest["bytes"], plain.len());
    assert_eq!(manifest["summary"]["status"], "ended");
    assert_eq!(manifest["blobs"].as_array().unwrap().len(), 2, "{manifest}");
    let object = manifest["object"].as_str().unwrap();
    assert!(object.contains(manifest["sha256"].as_str().unwrap()));
    assert_eq!(bucket.unpacked(&format!("archive/{object}")), plain);
    assert_eq!(manifests(&bucket, "going-on").len(), 0);
    soon("the figures say so", || {
        figure(&first, "turnreel_tier_copied_total{tier=\"s3\"}") == 1.0
            && figure(&first, "turnreel_tier_behind_sessions{tier=\"s3\"}") == 0.0
    });

    // It goes on, and ends again: one copy takes the place of the other.
    post(&first, "s1", &chunks(1, 3));
    end(&first, "s1", "end-again");
    copied(&bucket, &first, "s1");
    soon("what is contained in the newer copy goes", || {
        bucket.keys_with("/s1-").len() == 2
    });

    let second = server(second_dir.path(), &bucket.url(), &[]);
    let (_, list) = second.get("/api/v1/sessions");
    assert_eq!(list["sessions"], json!([]));
    let whole = "/api/v1/sessions/s1/events?bodies=full";
    let (status, page) = second.get(whole);
    assert_eq!(status, 200, "{page}");
    assert_eq!(page, first.get(whole).1);
    assert_eq!(log(second_dir.path(), "s1"), log(first_dir.path(), "s1"));
    let (_, list) = second.get("/api/v1/sessions");
    let ended = first.get("/api/v1/sessions?status=ended").1;
    assert_eq!(list["sessions"], ended["sessions"]);
    for server in [&first, &second] {
        soon("it is on the disk", || {
            server.get("/api/v1/sessions/s1/health").1["synced"] == true
        });
    }
    for path in [
        "summary",
        "search?q=line",
        "health",
        "file-diffs/edit",
        "events/long/full",
        "events?after=5",
    ] {
        let path = format!("/api/v1/sessions/s1/{path}");
        let (status, answer) = second.get(&path);
        assert_eq!((status, &answer), (200, &first.get(&path).1), "{path}");
    }
    assert_eq!(
        second.get("/api/v1/sessions/s1/file-diffs/edit").1["diff"],
        diff
    );
    let (_, event) = second.get("/api/v1/sessions/s1/events?after=0");
    let events = event["events"].as_array().unwrap();
    let long = events.iter().find(|event| event["id"] == "long").unwrap();
    let sha256 = sha256_in(&long["payload"]["result"]);
    let path = format!("/api/v1/sessions/s1/events/long/full?body={sha256}");
    assert_eq!(second.get(&path).1, Value::String(body));

    // What is sent to it goes on behind it, under another epoch: the first server may have gone on, too.
    let (_, page) = second.get("/api/v1/sessions/s1/events");
    let (status, answer) = second.post("s1", &chunks(1, 4));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["last"].as_u64(),
        page["head"].as_u64().map(|head| head + 1)
    );
    assert_ne!(answer["epoch"], page["epoch"]);
    let (_, answer) = second.post("s1", &chunks(5, 5));
    let (_, page) = second.get("/api/v1/sessions/s1/events");
    assert_eq!(answer["epoch"], page["epoch"]);
    let base = log(first_dir.path(), "s1");
    assert_eq!(log(second_dir.path(), "s1")[..base.len()], base);
}

#[test]
fn sockets_streams_and_senders_find_a_session_that_is_only_in_the_store() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let dirs = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let first = server(dirs[0].path(), &bucket.url(), &[]);
    for session in ["s1", "s2"] {
        post(&first, session, &chunks(1, 50));
        end(&first, session, "end");
        copied(&bucket, &first, session);
    }
    let over = bucket.url_over(&way.address);
    let [second, third, fourth] = [1, 2, 3].map(|n| server(dirs[n].path(), &over, &[]));
    let mut of_first = first.socket();
    let mut hello = of_first.open(1, "s1", None);
    let mut of_second = second.socket();
    assert_eq!(of_second.open(1, "s1", None), hello);
    hello = of_first.open(2, "s1", Some(("other", 3)));
    assert_eq!(of_second.open(2, "s1", Some(("other", 3))), hello);
    let told = |server: &Server| {
        let mut stream = server.stream("/api/v1/sessions/s1/sse", None);
        assert_eq!(stream.next().unwrap().name, "hello");
        stream.seqs_to(51)
    };
    assert_eq!(told(&third), told(&first));
    assert!(third.socket_over(&third.address()).is_some());

    // Many ask at once, and it is fetched once.
    let before = way.n_asked(&["GET", "/s2-", ".events.jsonl.gz"]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (status, page) = third.get("/api/v1/sessions/s2/events");
                assert_eq!((status, &page["head"]), (200, &json!(51)));
            });
        }
    });
    let n_fetched = way.n_asked(&["GET", "/s2-", ".events.jsonl.gz"]) - before;
    assert_eq!(n_fetched, 1);

    // Who sends is known by the list that the server has: what it sends goes behind what is there.
    soon("it knows what is there", || {
        figure(&fourth, "turnreel_tier_up{tier=\"s3\"}") == 1.0
    });
    let (status, answer) = fourth.post("s2", &chunks(50, 52));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["dups"], 1, "{answer}");
    assert_eq!(answer["last"], 53);
}

#[test]
fn what_nobody_may_see_or_nobody_has_is_not_looked_for() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let way = Way::to(&bucket);
    let (first_dir, second_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = server(first_dir.path(), &bucket.url(), &[]);
    post(&first, "mine", &chunks(1, 3));
    end(&first, "mine", "end");
    copied(&bucket, &first, "mine");
    let second = server(second_dir.path(), &bucket.url_over(&way.address), &[]);
    let of_other = make_token(&second, &["--session", "other", "--scope", "read"]);
    let sends = make_token(&second, &["--scope", "ingest"]);
    for path in ["events", "summary", "health", "sse", "search?q=x"] {
        let path = format!("/api/v1/sessions/mine/{path}");
        assert_eq!(second.ask("GET", &path, &of_other, "").0, 404);
        assert_eq!(second.ask("GET", &path, &sends, "").0, 403);
        assert_eq!(second.ask("GET", &path, "wrong", "").0, 401);
    }
    let mut socket = second.socket_with(&of_other);
    socket.send(&json!({"op": "open", "sub": 1, "session": "mine"}));
    assert_eq!(socket.next()["code"], "no_session");
    for id in [
        "..",
        "%2e%2e",
        "a%2fb",
        "a%00b",
        "-x",
        "mine%20",
        "..%2f..%2fx",
        &"x".repeat(65),
    ] {
        let path = format!("/api/v1/sessions/{id}/events");
        let (status, _) = second.ask("GET", &path, &second.token, "");
        assert!([400, 404].contains(&status), "{id}: {status}");
    }
    // All it asked for is the list that it begins with.
    assert_eq!(way.n_asked(&["GET", "prefix=archive%2Fsessions%2F"]), 1);
    assert_eq!(way.n_asked(&[]), 1);

    // What is not there is looked for once in a minute, and is as it was before there was a store.
    for _ in 0..5 {
        let (status, answer) = second.get("/api/v1/sessions/nowhere/events");
        assert_eq!(status, 404);
        assert_eq!(answer["error"]["code"], "not_found");
    }
    let mut socket = second.socket();
    socket.send(&json!({"op": "open", "sub": 1, "session": "nowhere"}));
    assert_eq!(socket.next()["code"], "no_session");
    assert_eq!(way.n_asked(&["nowhere-"]), 1);
    let none = "0".repeat(64);
    for _ in 0..3 {
        assert_eq!(second.get(&format!("/api/v1/blobs/{none}")).0, 404);
    }
    assert_eq!(way.n_asked(&[&none]), 1);
    // Who sends what is new waits for nothing: of that nothing is asked.
    let n_asked = way.n_asked(&[]);
    post(&second, "new", &chunks(1, 3));
    assert_eq!(way.n_asked(&[]), n_asked);

    // While the store is away that is said, and it is found when it is back.
    way.spoil("GET", "mine-", Wrong::Status(500), usize::MAX);
    let (status, head, _) = second.exchange(
        "GET",
        "/api/v1/sessions/mine/events",
        Some(&second.token),
        "",
        "",
    );
    assert_eq!(status, 503, "{head}");
    assert!(
        head.to_ascii_lowercase().contains("retry-after: 5"),
        "{head}"
    );
    way.mend();
    soon("it is found again", || {
        second.get("/api/v1/sessions/mine/events").0 == 200
    });
}

#[test]
fn the_address_is_not_shown_and_one_that_is_none_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let config = |url: &str| {
        let output = program()
            .args(["config", "--s3", url, "--data"])
            .arg(dir.path())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let text = config("s3://feed-archive/canary");
    assert!(text.contains("# s3 is set, and not shown"), "{text}");
    assert!(!text.contains("canary"), "{text}");
    let is_form_told = |said: &str| said.contains("expected s3://BUCKET[/PREFIX]");
    for url in [
        "canary",
        "https://canary",
        "s3://a:canary@bucket",
        "s3://bucket?canary=1",
    ] {
        let mut command = program();
        let output = command
            .args(["serve", "--listen", "127.0.0.1:0", "--s3", url, "--data"])
            .arg(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert!(said.contains("--s3: could not read the address"), "{said}");
        assert!(!said.contains("canary"), "{said}");
        assert_eq!(is_form_told(&said), !url.starts_with("s3://"), "{said}");
    }
}

#[test]
fn samples_that_came_with_the_program_are_not_copied() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let url = bucket.url();
    let server = Server::start_by(program(), dir.path(), "127.0.0.1:0", &["--s3", &url]).unwrap();
    post(&server, "mine", &chunks(1, 3));
    end(&server, "mine", "end");
    copied(&bucket, &server, "mine");
    soon("all is copied", || {
        figure(&server, "turnreel_tier_behind_sessions{tier=\"s3\"}") == 0.0
    });
    let keys = bucket.keys();
    assert!(keys.iter().all(|key| key.contains("/mine-")), "{keys:?}");
}

/// A store that takes connections and says nothing: what is in it is waited for, by nobody else.
#[test]
fn a_socket_goes_on_while_a_session_is_fetched_that_it_opens() {
    let store = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = store.local_addr().unwrap();
    let url = format!("s3://bucket/archive?region=us-east-1&endpoint=http://{address}");
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &url, &[]);
    server.post("here", &chunks(1, 3));
    let began = Instant::now();
    let mut socket = server.socket();
    for sub in [1, 2, 3] {
        socket.send(&json!({"op": "open", "sub": sub, "session": format!("elsewhere{sub}")}));
    }
    socket.send(&json!({"op": "ping", "n": 7}));
    let pong = socket.next();
    assert_eq!((&pong["op"], &pong["n"]), (&json!("pong"), &json!(7)));
    assert_eq!(socket.open(4, "here", Some(("", 0)))["head"], 3);
    server.post("here", &chunks(4, 4));
    let news = socket.next();
    assert_eq!((&news["op"], &news["sub"]), (&json!("ev"), &json!(4)));
    // What is closed, and what is opened anew under its number, is not told of the other.
    socket.send(&json!({"op": "close", "sub": 1}));
    assert_eq!(socket.open(2, "here", None)["head"], 4);
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "it was waited for"
    );
    let refused = socket.next();
    assert_eq!(
        (&refused["op"], &refused["sub"], &refused["code"]),
        (&json!("err"), &json!(3), &json!("fetching")),
        "{refused}"
    );
    drop(store);
}

#[test]
fn what_comes_behind_a_backup_that_was_put_back_is_copied_too() {
    let Some(moto) = moto() else { return };
    let bucket = moto.bucket();
    let dir = tempfile::tempdir().unwrap();
    let backup = tempfile::tempdir().unwrap();
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    };
    let run = |from: u64, to: u64| {
        let mut server = server(dir.path(), &bucket.url(), &[]);
        post(&server, "s1", &chunks(from, to));
        end(&server, "s1", &format!("end{to}"));
        let manifest = copied(&bucket, &server, "s1");
        let page = server.get("/api/v1/sessions/s1/events").1;
        server.stop();
        (manifest, page)
    };
    run(1, 1);
    copy(dir.path(), backup.path());
    let (before, _) = run(2, 3);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    copy(backup.path(), dir.path());
    // As many, and others.
    let (after, page) = run(12, 13);
    assert_eq!(before["head"], after["head"]);
    assert_ne!(before["epoch"], after["epoch"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = server(elsewhere.path(), &bucket.url(), &[]);
    let found = other.get("/api/v1/sessions/s1/events").1;
    assert_eq!(found["events"], page["events"]);
}
