//! What a Redis has of the sessions, and what becomes of a server whose Redis goes, hangs, is full or is emptied: nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::redis::{PASSWORD, Redis};
use crate::support::tiers::with_redis;
use crate::support::{self, Server, chunks, signal};
use serde_json::{Value, json};

/// The epoch of a session, and the numbers and lines of all its events.
fn logged(server: &Server, session: &str) -> (String, Vec<(u64, Value)>) {
    let (mut after, mut events) = (0, Vec::new());
    loop {
        let path = format!("/api/v1/sessions/{session}/events?bodies=full&after={after}");
        let (status, page) = server.get(&path);
        assert_eq!(status, 200, "{page}");
        for event in page["events"].as_array().unwrap() {
            events.push((event["seq"].as_u64().unwrap(), event.clone()));
        }
        after = page["next"].as_u64().unwrap();
        if after >= page["head"].as_u64().unwrap() {
            return (page["epoch"].as_str().unwrap().to_owned(), events);
        }
    }
}

/// The same, as Redis has it.
fn copied(redis: &Redis, session: &str, epoch: &str) -> Vec<(u64, Value)> {
    let key = format!("turnreel:{{{session}}}:{epoch}");
    let entries: Vec<(String, Vec<(String, String)>)> = redis
        .try_ask(&["XRANGE", &key, "-", "+"])
        .unwrap_or_default();
    let entries = entries.into_iter().map(|(id, fields)| {
        assert_eq!(fields[0].0, "d");
        let seq = id.strip_suffix("-0").unwrap().parse().unwrap();
        let mut event: Value = serde_json::from_str(&fields[0].1).unwrap();
        event.as_object_mut().unwrap().remove("c");
        (seq, event)
    });
    entries.collect()
}

/// Until Redis has what the log has, and no more.
fn wait_until_copied(redis: &Redis, server: &Server, session: &str) -> Vec<(u64, Value)> {
    let (epoch, mut events) = logged(server, session);
    for (_, event) in &mut events {
        event.as_object_mut().unwrap().remove("c");
    }
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let found = copied(redis, session, &epoch);
        if found == events {
            return events;
        }
        assert!(
            Instant::now() < deadline,
            "{session}: {} of {} events are in Redis",
            found.len(),
            events.len()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn redis_has_the_events_of_a_session_by_number_and_by_id() {
    let Some(redis) = Redis::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut before = Server::start(dir.path());
    before.post("s1", &chunks(1, 50));
    before.stop();
    // What was there before it had a Redis is there, too.
    let server = with_redis(dir.path(), &redis.url());
    wait_until_copied(&redis, &server, "s1");
    for n in 0..20 {
        server.post("s1", &chunks(50 + n * 10, 60 + n * 10));
        server.post(&format!("other{n}"), &chunks(1, 30));
    }
    let events = wait_until_copied(&redis, &server, "s1");
    (0..20).for_each(|n| drop(wait_until_copied(&redis, &server, &format!("other{n}"))));
    let (epoch, _) = logged(&server, "s1");
    for (seq, event) in [&events[0], &events[120]] {
        let ids = format!("turnreel:{{s1}}:{epoch}:ids");
        let id = event["id"].as_str().unwrap();
        assert_eq!(redis.ask::<u64>(&["ZSCORE", &ids, id]), *seq);
    }
    let mark: Vec<String> = redis.ask(&["HMGET", "turnreel:{s1}:mark", "epoch", "seq"]);
    assert_eq!(mark, [epoch.clone(), events.len().to_string()]);
    for key in ["mark", &epoch, &format!("{epoch}:ids")] {
        let left: i64 = redis.ask(&["TTL", &format!("turnreel:{{s1}}:{key}")]);
        assert!((86_000..=86_400).contains(&left), "{key}: {left} s");
    }
}

#[test]
fn redis_has_the_newest_events_of_a_long_session() {
    let Some(redis) = Redis::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let server = with_redis(dir.path(), &redis.url());
    for n in 0..26 {
        assert_eq!(
            server.post("s1", &chunks(n * 500 + 1, n * 500 + 500)).0,
            200
        );
    }
    let (epoch, events) = logged(&server, "s1");
    assert_eq!(events.len(), 13_000);
    let deadline = Instant::now() + Duration::from_secs(90);
    let found = loop {
        let found = copied(&redis, "s1", &epoch);
        if found.last().is_some_and(|(seq, _)| *seq == 13_000) {
            break found;
        }
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!((10_000..10_500).contains(&found.len()), "{}", found.len());
    let first = found[0].0;
    assert_eq!(first + found.len() as u64 - 1, 13_000, "none is missing");
    let ids = format!("turnreel:{{s1}}:{epoch}:ids");
    assert_eq!(redis.ask::<u64>(&["ZCARD", &ids]), 10_000);
}

/// Events go in while something is done to Redis; then what Redis has is what the log has.
fn under_load(redis: &mut Redis, server: &Server, harm: impl FnOnce(&mut Redis, &AtomicU64)) {
    let remote = support::Remote::of(server);
    let stop = Arc::new(AtomicBool::new(false));
    let n_sent = Arc::new(AtomicU64::new(0));
    let (stopping, sent) = (stop.clone(), n_sent.clone());
    let sending = std::thread::spawn(move || {
        while !stopping.load(Ordering::Relaxed) {
            let text = json!([{"timestamp": 1, "type": "assistant_chunk", "payload": {"text": "x".repeat(200)}}]);
            let (status, answer) = remote
                .post("/api/v1/sessions/load/events", &text.to_string())
                .expect("the server answers");
            assert_eq!(status, 200, "{answer}");
            sent.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    std::thread::sleep(Duration::from_millis(300));
    harm(redis, &n_sent);
    std::thread::sleep(Duration::from_millis(300));
    support::goes_on(&n_sent);
    stop.store(true, Ordering::Relaxed);
    sending.join().unwrap();
    wait_until_copied(redis, server, "load");
    wait_until_copied(redis, server, "quiet");
}

#[test]
fn whatever_becomes_of_redis_the_server_goes_on_and_redis_is_brought_up_again() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let server = with_redis(dir.path(), &redis.url());
    server.post("quiet", &chunks(1, 100));
    wait_until_copied(&redis, &server, "quiet");
    under_load(&mut redis, &server, |redis, n_sent| {
        redis.kill();
        support::goes_on(n_sent);
        std::thread::sleep(Duration::from_secs(1));
        redis.restart();
    });
    under_load(&mut redis, &server, |redis, _| {
        redis.ask::<()>(&["FLUSHALL"]);
    });
    under_load(&mut redis, &server, |redis, _| {
        redis.ask::<()>(&["CLIENT", "PAUSE", "1500", "WRITE"]);
    });
    under_load(&mut redis, &server, |redis, n_sent| {
        signal(&redis.child, "STOP");
        support::goes_on(n_sent);
        std::thread::sleep(Duration::from_secs(6));
        signal(&redis.child, "CONT");
    });
    under_load(&mut redis, &server, |redis, _| {
        redis.ask::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
        std::thread::sleep(Duration::from_secs(2));
        redis.ask::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
    });
    let (status, figures) = server.get("/metrics");
    assert_eq!(status, 200);
    let figures = figures.as_str().unwrap();
    assert!(
        figures.contains("turnreel_tier_up{tier=\"redis\"} 1"),
        "{figures}"
    );
    assert!(!figures.contains(PASSWORD));
}

#[test]
fn a_server_whose_redis_is_nowhere_serves_and_what_is_no_address_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let server = with_redis(dir.path(), "redis://:canary@127.0.0.1:1/");
    assert_eq!(server.post("s1", &chunks(1, 3)).0, 200);
    let deadline = Instant::now() + Duration::from_secs(90);
    loop {
        let figures = server.get("/metrics").1;
        let figures = figures.as_str().unwrap();
        let up = figures
            .lines()
            .find(|line| line.starts_with("turnreel_tier_up"));
        let failures = figures
            .lines()
            .find(|line| line.starts_with("turnreel_tier_failures"));
        assert_eq!(up, Some("turnreel_tier_up{tier=\"redis\"} 0"));
        if failures.is_some_and(|line| !line.ends_with(" 0")) {
            break;
        }
        assert!(Instant::now() < deadline, "{figures}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let other = tempfile::tempdir().unwrap();
    for url in ["http://x/", "canary"] {
        let refused = std::process::Command::new(support::PROGRAM)
            .args(["serve", "--listen", "127.0.0.1:0", "--redis", url, "--data"])
            .arg(other.path())
            .output()
            .unwrap();
        assert!(!refused.status.success());
        let said = String::from_utf8_lossy(&refused.stderr);
        let why = "--redis: could not read the address: expected redis://[user:password@]host";
        assert!(said.contains(why) && !said.contains("canary"), "{said}");
    }
}

#[test]
fn an_address_with_its_password_is_shown_nowhere() {
    let Some(mut redis) = Redis::start() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let config = std::process::Command::new(support::PROGRAM)
        .args(["config", "--redis", &redis.url(), "--data"])
        .arg(dir.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&config.stdout);
    assert!(
        config.status.success() && shown.contains("redis is set"),
        "{shown}"
    );
    assert!(!shown.contains(PASSWORD), "{shown}");
    // A Redis that asks for another one, and one that is gone.
    let url = redis.url().replace(PASSWORD, "canary-of-another");
    let log = dir.path().join("said");
    let child = std::process::Command::new(support::PROGRAM)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--no-examples",
            "--log",
            "trace",
        ])
        .args(["--redis", &url, "--data"])
        .arg(dir.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    // It is ended also where what is waited for does not come.
    let mut server = Server {
        child,
        url: String::new(),
        token: String::new(),
        data: dir.path().to_owned(),
    };
    let n_said = || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.matches("redis").count()
    };
    support::soon("it says that it is refused", || n_said() > 0);
    let before = n_said();
    redis.kill();
    support::soon("it says that Redis is gone", || n_said() > before);
    server.stop();
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("redis"), "{said}");
    assert!(!said.contains("canary"), "{said}");
}
