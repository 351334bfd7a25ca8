//! What an operator gets of the server: figures, readiness, log lines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{self, PROGRAM, Server, chunks, damage, make_token, signal, wait_for};
use serde_json::{Value, json};

/// The lines of `/metrics` by name and labels; each must be one of the text format.
fn figures(server: &Server) -> BTreeMap<String, f64> {
    let (status, text) = server.get("/metrics");
    assert_eq!(status, 200, "{text}");
    let text = text.as_str().unwrap();
    let mut declared = Vec::new();
    let mut figures = BTreeMap::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            declared.push(rest.split(' ').next().unwrap().to_owned());
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let bare = name.split('{').next().unwrap();
        let of = |suffix| bare.strip_suffix(suffix).unwrap_or(bare).to_owned();
        let bases = [of(""), of("_bucket"), of("_sum"), of("_count")];
        assert!(bases.iter().any(|base| declared.contains(base)), "{line}");
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(figures.insert(name.to_owned(), value), None, "{line}");
    }
    declared.dedup();
    let n_declared = declared.len();
    declared.sort();
    declared.dedup();
    assert_eq!(declared.len(), n_declared, "a metric has two beginnings");
    figures
}

#[test]
fn what_was_stored_sent_and_refused_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    server.post("s1", &chunks(1, 3));
    server.post("s1", &chunks(3, 4));
    let bad = json!([{"timestamp": 1, "type": "assistant_chunk", "payload": 7}]);
    assert_eq!(server.post("s1", &bad).0, 400);
    let mut socket = server.socket();
    socket.open(1, "s1", None);
    server.get("/api/v1/sessions/nowhere/events");
    let figures = figures(&server);
    let figure = |name: &str| figures.get(name).copied().unwrap_or(-1.0);
    let events = |result| {
        figure(&format!(
            "turnreel_ingest_events_total{{result=\"{result}\"}}"
        ))
    };
    assert_eq!(events("stored"), 4.0);
    assert_eq!(events("duplicate"), 1.0);
    assert_eq!(events("rejected"), 1.0);
    assert_eq!(figure("turnreel_append_duration_seconds_count"), 2.0);
    let posts = |status| {
        let route = "/api/v1/sessions/{session}/events";
        let labels = format!("method=\"POST\",route=\"{route}\",status=\"{status}\"");
        figure(&format!("turnreel_http_requests_total{{{labels}}}"))
    };
    assert_eq!((posts(200), posts(400)), (2.0, 1.0));
    assert_eq!(figure("turnreel_sessions"), 1.0);
    assert_eq!(figure("turnreel_log_events"), 4.0);
    assert_eq!(figure("turnreel_connections"), 1.0);
    assert_eq!(figure("turnreel_subscriptions"), 1.0);
    assert!(figure("turnreel_fsync_duration_seconds_count") >= 1.0);
    let log_bytes: u64 = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum();
    assert_eq!(figure("turnreel_log_bytes"), log_bytes as f64);
    assert_eq!(
        figure("websocket_message_bytes_count{event_type=\"hello\"}"),
        1.0
    );
    let started = figure("process_start_time_seconds");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    assert!((now.as_secs_f64() - started).abs() < 60.0, "{started}");
}

#[test]
fn sandboxes_are_counted_apart_until_there_are_too_many() {
    let dir = tempfile::tempdir().unwrap();
    let more = ["--no-examples", "--sandbox-rate", "0"];
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &more);
    for n in 0..130 {
        let body = json!({"event_type": "TOOL_STARTED", "tool_id": "t1", "tool_name": "bash"});
        let path = format!("/api/v1/sandbox/task/task{n:03}/tool-events");
        assert_eq!(server.post_text(&path, &body.to_string()).0, 200);
    }
    let invented = json!({"event_type": "made up \" by a worker", "message": "hi"});
    let path = "/api/v1/sandbox/task/task000/progress";
    assert_eq!(server.post_text(path, &invented.to_string()).0, 200);
    let figures = figures(&server);
    let figure = |name: &str| figures.get(name).copied();
    let total = |sandbox: &str, kind: &str| {
        let labels = format!("sandbox_id=\"{sandbox}\",event_type=\"{kind}\"");
        figure(&format!("sandbox_tool_events_total{{{labels}}}"))
    };
    assert_eq!(total("task000", "TOOL_STARTED"), Some(1.0));
    assert_eq!(total("task000", "other"), Some(1.0));
    let sizes = |sandbox: &str| {
        let labels = format!("sandbox_id=\"{sandbox}\"");
        figure(&format!("sandbox_event_batch_size_count{{{labels}}}"))
    };
    assert_eq!(sizes("task000"), Some(2.0));
    assert_eq!(sizes("task120"), None);
    assert_eq!(sizes("other"), Some(30.0));
}

#[test]
fn only_an_operator_reads_the_figures() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let reader = make_token(&server, &["--scope", "read"]);
    assert_eq!(server.ask("GET", "/metrics", &reader, "").0, 403);
    assert_eq!(server.exchange("GET", "/metrics", None, "", "").0, 401);
    let admin = make_token(&server, &["--scope", "admin"]);
    assert_eq!(server.ask("GET", "/metrics", &admin, "").0, 200);
}

#[test]
fn anyone_learns_whether_the_server_is_ready_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let ready = |server: &Server| {
        let (status, _, body) = server.exchange("GET", "/readyz", None, "", "");
        let body: Value = serde_json::from_str(&body).unwrap();
        (status, body)
    };
    let expected = json!({"status": "ready", "degraded": [], "warnings": []});
    assert_eq!(ready(&server), (200, expected));
    server.post("s1", &chunks(1, 9));
    server.kill();
    damage(dir.path(), &[3, 4]);
    std::fs::write(dir.path().join("x-00000000.events.jsonl"), "no log\n").unwrap();
    server = Server::start(dir.path());
    let (status, body) = ready(&server);
    assert_eq!((status, &body["degraded"]), (200, &json!([])));
    let warnings = json!([
        {"what": "store", "why": "logs could not be opened", "count": 1},
        {"what": "store", "why": "lines of logs are damaged", "count": 2},
    ]);
    assert_eq!(body["warnings"], warnings);
    // What was found of a session is not told of once that is removed, and what was counted is.
    server.post("s1", &chunks(10, 12));
    let before = figures(&server);
    assert_eq!(before["turnreel_log_damaged_lines"], 2.0);
    let path = "/api/v1/sessions/s1?force=1";
    assert_eq!(server.ask("DELETE", path, &server.token, "").0, 200);
    let after = figures(&server);
    for name in ["sessions", "log_bytes", "log_events", "log_damaged_lines"] {
        assert_eq!(after[&format!("turnreel_{name}")], 0.0, "{name}");
    }
    let syncs = "turnreel_fsync_duration_seconds_count";
    assert!(after[syncs] >= before[syncs]);
    let warnings = json!([warnings[0]]);
    support::soon("nothing of it is to be warned of", || {
        ready(&server).1["warnings"] == warnings
    });
}

#[test]
fn a_server_whose_folder_takes_no_files_is_not_ready_until_it_does() {
    let above = tempfile::tempdir().unwrap();
    let data = above.path().join("data");
    let server = Server::start(&data);
    let ready = || {
        let (status, _, body) = server.exchange("GET", "/readyz", None, "", "");
        let body: Value = serde_json::from_str(&body).unwrap();
        (status, body)
    };
    assert_eq!(ready().0, 200);
    // Whoever runs the tests may write everywhere but to a folder that is not there.
    let away = above.path().join("away");
    std::fs::rename(&data, &away).unwrap();
    support::soon("it is not ready", || ready().0 == 503);
    let why = json!([{"what": "store", "why": "the data folder takes no files"}]);
    assert_eq!(ready().1["degraded"], why);
    std::fs::rename(&away, &data).unwrap();
    support::soon("it is ready again", || ready().0 == 200);
    assert_eq!(server.post("s1", &chunks(1, 2)).0, 200);
}

/// A file that is a pipe, and nobody reads: who opens it waits, as on a disk that hangs.
#[cfg(unix)]
#[test]
fn a_disk_that_hangs_is_waited_for_once_and_not_by_all_who_ask_whether_the_server_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let pipe = dir.path().join("blobs/.new-probe.new");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let ready = || {
        let began = Instant::now();
        let (status, _, body) = server.exchange("GET", "/readyz", None, "", "");
        let body: Value = serde_json::from_str(&body).unwrap();
        (status, body, began.elapsed())
    };
    let hangs = json!([{"what": "store", "why": "the disk does not answer"}]);
    let (status, body, _) = ready();
    assert_eq!((status, &body["degraded"]), (503, &hangs));
    // What was found is asked for again after a second, and the disk is not.
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1100));
        let (status, body, took) = ready();
        assert_eq!((status, &body["degraded"]), (503, &hangs));
        assert!(took < Duration::from_millis(1500), "{took:?}");
    }
    // The one who waits is let go, and the disk answers again.
    let reading = std::thread::spawn(move || std::fs::read(pipe));
    support::soon("it is ready again", || ready().0 == 200);
    drop(reading);
}

/// A log that is a pipe: who would close it waits, as on a disk that hangs.
#[cfg(unix)]
#[test]
fn a_stop_that_the_disk_holds_up_says_so_and_ends_and_with_a_second_signal_at_once() {
    for hurried in [Some(("INT", 130)), Some(("TERM", 143)), None] {
        let dir = tempfile::tempdir().unwrap();
        let mut server = Server::start(dir.path());
        server.post("s1", &chunks(1, 3));
        // Twice: then its log is put away, and was not left on purpose.
        server.kill_and_restart();
        server.kill();
        let mut command = Command::new(PROGRAM);
        command.stderr(Stdio::piped());
        let mut server =
            Server::start_by(command, dir.path(), "127.0.0.1:0", &["--no-examples"]).unwrap();
        let mut stderr = server.child.stderr.take().unwrap();
        let reading = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let paths = std::fs::read_dir(dir.path()).unwrap();
        let mut paths = paths.map(|entry| entry.unwrap().path());
        let is_log = |path: &PathBuf| path.to_string_lossy().ends_with(".events.jsonl");
        let log = paths.find(is_log).unwrap();
        std::fs::remove_file(&log).unwrap();
        let made = Command::new("mkfifo").arg(&log).status().unwrap();
        assert!(made.success());
        signal(&server.child, "TERM");
        std::thread::sleep(Duration::from_millis(1500));
        assert!(
            server.child.try_wait().unwrap().is_none(),
            "it has closed it"
        );
        if let Some((name, _)) = hurried {
            signal(&server.child, name);
        }
        let status = wait_for(&mut server.child, support::PATIENCE);
        let said = reading.join().unwrap();
        match hurried {
            Some((_, code)) => assert_eq!(status.code(), Some(code), "{said}"),
            None => {
                assert!(status.success(), "{said}");
                assert!(said.contains("stopping waits for 1 logs"), "{said}");
                assert!(said.contains("stopped without 1 logs"), "{said}");
            }
        }
    }
}

/// What a server says on stderr while it is asked a few things.
fn said(format: &str) -> (String, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["serve", "--listen", "127.0.0.1:0", "--ready-json"])
        .args(["--no-examples", "--log", "debug", "--log-format", format])
        .arg("--data")
        .arg(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        text
    });
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let server = Server {
        child,
        url: ready["url"].as_str().unwrap().to_owned(),
        token: ready["token"].as_str().unwrap().to_owned(),
        data: dir.path().to_owned(),
    };
    let canary = |kind: &str| json!([{"id": "e1", "timestamp": 1, "type": kind, "turnId": "t", "payload": {"text": "canary-in-payload"}}]);
    server.post("canary-session", &canary("user_message"));
    server.post("canary-session", &canary("\u{1b}[31mcanary\n"));
    let bad = json!([{"id": "e2", "timestamp": "canary-in-payload", "type": "user_message"}]);
    assert_eq!(server.post("canary-session", &bad).0, 400);
    server.get("/api/v1/sessions?q=canary-in-query");
    server.exchange("GET", "/api/v1/sessions", Some("canary-token"), "", "");
    let token = server.token.clone();
    let mut server = server;
    signal(&server.child, "TERM");
    wait_for(&mut server.child, support::PATIENCE);
    (reading.join().unwrap(), token)
}

#[test]
fn requests_are_told_by_route_and_never_by_what_is_in_them() {
    for format in ["json", "text"] {
        let (text, token) = said(format);
        assert!(
            text.contains("/api/v1/sessions/{session}/events"),
            "{format}: {text}"
        );
        // No colours either: it is no terminal.
        for secret in [token.as_str(), "canary", "\u{1b}"] {
            assert!(!text.contains(secret), "{format}: {secret} in {text}");
        }
        if format == "json" {
            let lines: Vec<Value> = text
                .lines()
                .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
                .collect();
            let answered = |line: &&Value| line["message"] == "answered";
            let statuses: Vec<_> = lines
                .iter()
                .filter(answered)
                .map(|line| line["status"].as_u64().unwrap())
                .collect();
            assert_eq!(statuses, [200, 409, 400, 200, 401], "{text}");
            assert!(lines.iter().all(|line| line["timestamp"].is_string()));
        }
    }
}
