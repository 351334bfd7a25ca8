//! What a PostgreSQL has of the sessions, and what becomes of a server whose PostgreSQL goes, hangs or is emptied: nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::postgres::{Database, PASSWORD, Postgres};
use crate::support::rows::{logged, wait_until_copied};
use crate::support::{self, Server, chunks, make_token, signal};
use serde_json::{Value, json};

/// A server whose PostgreSQL is at `url`.
fn server(dir: &Path, url: &str) -> Server {
    Server::start_on(dir, "127.0.0.1:0", &["--no-examples", "--postgres", url])
}

/// Waits until `done`.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn tool_call(n: u64, tool: &str) -> Value {
    json!({"id": format!("c{n}"), "timestamp": 1_700_000_000_000 + n, "turnId": "t", "type": "tool_call",
        "payload": {"toolCallId": format!("call{n}"), "toolName": tool, "kind": "execute"}})
}

fn tool_result(n: u64, took_ms: u64) -> Value {
    json!({"id": format!("r{n}"), "timestamp": 1_700_000_000_000 + n + took_ms, "turnId": "t", "type": "tool_result",
        "payload": {"toolCallId": format!("call{n}"), "result": "done"}})
}

fn file_edit(n: u64, path: &str, change: &str) -> Value {
    json!({"id": format!("f{n}"), "timestamp": 1_700_000_000_000 + n, "type": "file_edit",
        "payload": {"filePath": path, "changeType": change, "linesAdded": n, "linesRemoved": 1,
            "diffPreview": "+a", "fullDiff": "+a\n", "fullDiffSize": 3, "fullDiffAvailable": true}})
}

#[test]
fn each_recorded_session_is_there_as_its_log_says() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &database.url);
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions");
    let mut sessions = Vec::new();
    for story in std::fs::read_dir(stories).unwrap() {
        let story = story.unwrap();
        let name = story.file_name().into_string().unwrap().replace('.', "_");
        let Ok(text) = std::fs::read_to_string(story.path().join("events.jsonl")) else {
            continue;
        };
        let events = text.lines().map(|line| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            event.as_object_mut().unwrap().remove("sessionId");
            event
        });
        let events: Vec<Value> = events.collect();
        // In pieces, so that a call and its result come in different batches.
        for events in events.chunks(events.len().div_ceil(3)) {
            let (status, answer) = server.post(&name, &Value::from(events));
            assert_eq!(status, 200, "{answer}");
        }
        sessions.push(name);
    }
    assert!(sessions.len() > 30);
    for session in &sessions {
        wait_until_copied(&database, &server, session);
    }
    let [calls, changes, errors] = ["tool_calls", "file_changes", "errors"].map(|table| {
        let count = database.ask(&format!("SELECT count(*) FROM turnreel.{table}"));
        count[0][0].parse::<usize>().unwrap()
    });
    assert!(
        calls > 100 && changes > 10 && errors >= 3,
        "{calls} {changes} {errors}"
    );
    // Facts stand beside the mark, and figures in the views.
    let row = &database.ask(
        "SELECT s.provider, s.tool_calls, (SELECT sum(calls) FROM turnreel.tool_statistics t WHERE t.session = s.session), \
         (SELECT sum(changes) FROM turnreel.file_totals f WHERE f.session = s.session) \
         FROM turnreel.sessions s WHERE session = 'codex-0_77-files'",
    )[0];
    let (_, list) = server.get("/api/v1/sessions?q=codex-0_77-files");
    assert_eq!(row[0], list["sessions"][0]["provider"]);
    assert_eq!(row[1], list["sessions"][0]["steps"].to_string());
    assert_eq!(row[1], row[2]);
    let (_, changes) = server.get("/api/v1/file-changes?session=codex-0_77-files");
    assert_eq!(
        row[3],
        changes["changes"].as_array().unwrap().len().to_string()
    );
}

#[test]
fn a_reader_is_told_of_changes_and_tools_page_by_page_and_of_no_session_but_its_own() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &database.url);
    let edits: Vec<Value> = (1..=7)
        .map(|n| file_edit(n, &format!("/w/src/{}.rs", n % 3), "modified"))
        .collect();
    server.post("s1", &Value::from(edits));
    server.post(
        "s1",
        &json!([
            tool_call(1, "Bash"),
            tool_result(1, 40),
            tool_call(2, "Bash"),
            tool_result(2, 20)
        ]),
    );
    server.post(
        "s2",
        &json!([
            tool_call(1, "Bash"),
            tool_result(1, 100),
            tool_call(2, "Read"),
            file_edit(9, "/w/src/%_.rs", "created")
        ]),
    );
    for session in ["s1", "s2"] {
        wait_until_copied(&database, &server, session);
    }
    let seqs = |answer: &Value| -> Vec<String> {
        let changes = answer["changes"].as_array().unwrap().iter();
        changes
            .map(|change| format!("{}{}", change["session"].as_str().unwrap(), change["seq"]))
            .collect()
    };
    let asked = |query: &str| {
        let (status, answer) = server.get(&format!("/api/v1/file-changes?{query}"));
        assert_eq!(status, 200, "{answer}");
        answer
    };
    // The newest first, page by page.
    let (mut after, mut all) = (String::new(), Vec::new());
    loop {
        let answer = asked(&format!("limit=3{after}"));
        all.extend(seqs(&answer));
        let Some(next) = answer["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    assert_eq!(
        all,
        ["s24", "s17", "s16", "s15", "s14", "s13", "s12", "s11"]
    );
    for (query, found) in [
        ("session=s2", &["s24"][..]),
        ("path=/w/src/1.rs", &["s17", "s14", "s11"]),
        ("path=/w/src/*&limit=2", &["s24", "s17"]),
        // No sign but the last means anything.
        ("path=/w/src/%25*", &["s24"]),
        ("path=/w/src/*.rs", &[]),
        ("since=1700000000006", &["s24", "s17", "s16"]),
        ("since=1700000000003&until=1700000000005", &["s14", "s13"]),
        ("since=9999999999999999", &[]),
        ("since=1h", &[]),
        ("session=never", &[]),
        ("path=%00%27%3B--", &[]),
    ] {
        assert_eq!(seqs(&asked(query)), found, "{query}");
    }
    let change = &asked("path=/w/src/2.rs")["changes"][1];
    assert_eq!(
        (
            &change["diffPreview"],
            &change["diffBytes"],
            &change["linesAdded"],
            &change["atMs"]
        ),
        (
            &"+a".into(),
            &3.into(),
            &2.into(),
            &1_700_000_000_002_u64.into()
        )
    );
    assert!(!change.to_string().contains("fullDiff"));
    for (path, code) in [
        ("file-changes?after=x", "bad_cursor"),
        ("file-changes?since=yesterday", "bad_query"),
        ("file-changes?session=a/b", "bad_session"),
        ("tools?since=1x", "bad_query"),
    ] {
        let (status, answer) = server.get(&format!("/api/v1/{path}"));
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &code.into()),
            "{path}"
        );
    }
    let bash = json!({"tool": "Bash", "kind": "execute", "sessions": 2, "calls": 3, "completed": 3, "failed": 0,
        "denied": 0, "running": 0, "totalMs": 160, "medianMs": 40, "p95Ms": 100});
    let (_, tools) = server.get("/api/v1/tools");
    assert_eq!(tools["tools"][0], bash);
    assert_eq!(tools["tools"][1]["running"], 1);
    let (_, tools) = server.get("/api/v1/sessions/s1/tools");
    assert_eq!(tools["tools"][0]["totalMs"], 60);
    assert_eq!(server.get("/api/v1/tools?since=1h").1["tools"], json!([]));
    assert_eq!(server.get("/api/v1/sessions/never/tools").0, 404);
    // A token for one session learns of no other, not even that it is there.
    let token = make_token(&server, &["--scope", "read", "--session", "s2"]);
    let own = |path: &str| server.ask("GET", &format!("/api/v1/{path}"), &token, "").1;
    assert_eq!(seqs(&own("file-changes")), ["s24"]);
    assert_eq!(
        own("file-changes?session=s1"),
        own("file-changes?session=never")
    );
    assert_eq!(own("tools")["tools"][0]["calls"], 1);
    assert_eq!(own("sessions/s1/tools"), own("sessions/never/tools"));
    assert_eq!(own("sessions/s2/tools"), own("tools"));
}

#[test]
fn each_file_of_a_session_is_told_of_in_sum() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &database.url);
    let mut renamed = file_edit(3, "/b", "renamed");
    renamed["payload"]["oldPath"] = "/a".into();
    let events = json!([
        file_edit(1, "/a", "created"),
        file_edit(2, "/a", "modified"),
        renamed,
        file_edit(4, "/b", "modified"),
        file_edit(5, "/c", "created"),
        file_edit(6, "/c", "deleted"),
        file_edit(7, "/d", "created"),
        file_edit(8, "/d", "modified"),
        file_edit(9, "/e", "modified"),
    ]);
    server.post("s1", &events);
    wait_until_copied(&database, &server, "s1");
    let sums = database.ask(
        "SELECT path, final_state, renamed_to, changes, lines_added, lines_removed, \
         (extract(epoch FROM last_at - first_at) * 1000)::int FROM turnreel.file_totals ORDER BY path",
    );
    let expected = [
        ["/a", "renamed", "/b", "2", "3", "2", "2"],
        ["/b", "renamed", "", "2", "7", "2", "1"],
        ["/c", "deleted", "", "2", "11", "2", "1"],
        ["/d", "created", "", "2", "15", "2", "1"],
        ["/e", "modified", "", "1", "9", "1", "0"],
    ];
    assert_eq!(sums, expected);
}

#[test]
fn a_session_under_a_new_epoch_is_there_once() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let mut first = server(dir.path(), &database.url);
    first.post(
        "s1",
        &json!([
            tool_call(1, "Bash"),
            tool_result(1, 5),
            file_edit(2, "/a", "created")
        ]),
    );
    first.post("s2", &json!([tool_call(1, "Bash")]));
    wait_until_copied(&database, &first, "s1");
    let (before, _) = logged(&first, "s1");
    first.kill();
    // As after a failure of the machine: what was written last may be lost, so its numbers are of another epoch.
    std::fs::remove_file(dir.path().join("boot_id")).unwrap();
    let server = server(dir.path(), &database.url);
    server.post("s1", &json!([tool_call(3, "Read")]));
    let (after, _) = logged(&server, "s1");
    assert_ne!(before, after);
    for session in ["s1", "s2"] {
        wait_until_copied(&database, &server, session);
    }
    let old = format!("SELECT count(*) FROM turnreel.tool_calls WHERE epoch = '{before}'");
    assert_eq!(database.ask(&old), [["0"]]);
}

#[test]
fn texts_that_no_database_has_stop_nothing() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &database.url);
    let long = "ä/".repeat(9000);
    let mut events = Vec::new();
    for (n, text) in [
        "a\0b",
        "'; DROP SCHEMA turnreel CASCADE; --",
        "\u{10ffff}\u{202e}\\x00 %s $1",
        &long,
        "",
        "\"{}[]\n\r\t",
    ]
    .iter()
    .enumerate()
    {
        let payload = json!({"toolCallId": format!("{text}{n}"), "toolName": text, "kind": text, "title": text});
        events.push(json!({"id": format!("a{n}"), "timestamp": i64::MAX, "turnId": text, "type": "tool_call", "payload": payload}));
        let payload = json!({"toolCallId": format!("{text}{n}"), "result": text, "durationMs": u64::MAX >> 1, "exitCode": i64::MIN,
            "error": {"code": text, "message": text}});
        events.push(json!({"id": format!("b{n}"), "timestamp": -1, "turnId": text, "type": "tool_result", "payload": payload}));
        let payload = json!({"filePath": text, "changeType": "modified", "oldPath": text, "diffPreview": text,
            "linesAdded": u32::MAX, "fullDiffSize": u64::MAX >> 1});
        events.push(
            json!({"id": format!("c{n}"), "timestamp": 0, "type": "file_edit", "payload": payload}),
        );
        let payload = json!({"code": text, "message": text, "retryable": n == 1, "attempt": n});
        events.push(
            json!({"id": format!("d{n}"), "timestamp": 1e18, "type": "error", "payload": payload}),
        );
        let payload = json!({"agent": text, "cwd": text, "model": text, "title": text});
        events.push(json!({"id": format!("e{n}"), "timestamp": 5, "type": "session_start", "payload": payload}));
    }
    let (status, answer) = server.post("hostile", &Value::from(events));
    assert_eq!(status, 200, "{answer}");
    // Half a pair, which JSON can say and no text can hold.
    let half = r#"[{"id":"h1","timestamp":1,"type":"error","payload":{"message":"half \ud83d of a pair"}},
        {"id":"h2","timestamp":1,"type":"file_edit","payload":{"filePath":"\udc00","changeType":"modified"}},
        {"id":"h3","timestamp":1,"type":"error","payload":{"message":"and on"}}]"#;
    let (status, answer) = server.post_text("/api/v1/sessions/hostile/events", half);
    assert_eq!(status, 200, "{answer}");
    let head = logged(&server, "hostile").1.len().to_string();
    wait_until("the hostile session is there", || {
        let mark = database.try_ask("SELECT seq FROM turnreel.sessions WHERE session = 'hostile'");
        mark.is_ok_and(|mark| mark == [[head.clone()]])
    });
    let [calls, changes, errors] = ["tool_calls", "file_changes", "errors"]
        .map(|table| database.ask(&format!("SELECT count(*) FROM turnreel.{table}"))[0][0].clone());
    assert_eq!(calls, "6");
    assert!(changes.parse::<u64>().unwrap() >= 6);
    assert!(errors.parse::<u64>().unwrap() >= 7);
    let longest = "SELECT max(length(path)) <= 4096, max(length(diff_preview)) <= 5120 FROM turnreel.file_changes";
    assert_eq!(database.ask(longest), [["t", "t"]]);
    let cut = "SELECT max(length(message)), max(length(result_summary)) <= 500 FROM turnreel.errors, turnreel.tool_calls";
    assert_eq!(database.ask(cut), [["2000", "t"]]);
    let said = "SELECT retryable, attempt FROM turnreel.errors WHERE event_id = 'd1'";
    assert_eq!(database.ask(said), [["t", "1"]]);
    let quoted = "SELECT count(*) FROM turnreel.file_changes WHERE path = '''; DROP SCHEMA turnreel CASCADE; --'";
    assert_eq!(database.ask(quoted), [["1"]]);
    assert_eq!(
        server.get("/api/v1/tools").1["tools"]
            .as_array()
            .unwrap()
            .len(),
        6
    );
    let long = long
        .chars()
        .take(300)
        .collect::<String>()
        .replace('/', "%2F")
        .replace('ä', "%C3%A4");
    let (_, found) = server.get(&format!("/api/v1/file-changes?path={long}*"));
    assert_eq!(found["changes"].as_array().unwrap().len(), 1);
}

/// Sets back when the events of a log were stored.
fn make_older(data: &Path, stem: &str, by_ms: i64) {
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(stem) && name.ends_with(".idx") {
            std::fs::remove_file(&path).unwrap();
        } else if name.starts_with(stem) && name.ends_with(".jsonl") {
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().map(|line| {
                let mut event = chat_event::ChatEvent::from_json(line).unwrap();
                event.extra.remove("c");
                event.recv = event.recv.map(|recv| recv - by_ms);
                event.to_line_with_checksum() + "\n"
            });
            std::fs::write(&path, lines.collect::<String>()).unwrap();
        }
    }
}

#[test]
fn what_is_older_than_thirty_days_goes_and_quiet_sessions_are_not_copied() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let mut first = server(dir.path(), &database.url);
    first.post(
        "s1",
        &json!([tool_call(1, "Bash"), file_edit(2, "/a", "created")]),
    );
    first.post(
        "old",
        &json!([tool_call(1, "Bash"), file_edit(2, "/a", "created")]),
    );
    for session in ["s1", "old"] {
        wait_until_copied(&database, &first, session);
    }
    assert!(first.stop().success());
    // More rows than go at once, of a session that nobody has any more.
    database.ask(
        "INSERT INTO turnreel.tool_calls (session, epoch, seq, tool_call_id, status, started_at, stored_at) \
         SELECT 'gone', 'e', n, n::text, 'completed', now() - interval '31 days', now() - interval '31 days' \
         FROM generate_series(1, 12000) n; \
         INSERT INTO turnreel.errors (session, epoch, seq, event_id, code, message, at, stored_at) \
         VALUES ('gone', 'e', 1, 'x', '', '', now(), now() - interval '31 days'), ('kept', 'e', 1, 'x', '', '', now(), now() - interval '29 days'); \
         INSERT INTO turnreel.sessions (session, epoch, seq, last_activity_at) VALUES ('gone', 'e', 12000, now() - interval '31 days')",
    );
    // One of its own that was used last so long ago, as its log says.
    make_older(dir.path(), "old-", 31 * 86_400_000);
    for table in ["sessions", "tool_calls", "file_changes"] {
        database.ask(&format!(
            "DELETE FROM turnreel.{table} WHERE session = 'old'"
        ));
    }
    let server = server(dir.path(), &database.url);
    assert_eq!(logged(&server, "old").1.len(), 2);
    wait_until("old rows are gone", || {
        let left = "SELECT (SELECT count(*) FROM turnreel.tool_calls), (SELECT string_agg(session, ' ') FROM turnreel.errors), \
             (SELECT string_agg(session, ' ') FROM turnreel.sessions)";
        database.ask(left) == [["1", "kept", "s1"]]
    });
    server.post("s1", &json!([tool_call(3, "Bash")]));
    wait_until_copied(&database, &server, "s1");
    let copied = "SELECT count(*) FROM turnreel.sessions WHERE session = 'old'";
    assert_eq!(database.ask(copied), [["0"]]);
}

#[test]
fn a_session_that_is_removed_has_no_rows_any_more_and_others_keep_theirs() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &database.url);
    let failure = json!({"id": "x", "timestamp": 3, "type": "error", "payload": {"code": "c", "message": "m"}});
    for session in ["s1", "s2"] {
        let events = json!([tool_call(1, "Bash"), file_edit(2, "/a", "created"), failure]);
        assert_eq!(server.post(session, &events).0, 200);
        wait_until_copied(&database, &server, session);
    }
    const TABLES: [&str; 4] = ["sessions", "tool_calls", "file_changes", "errors"];
    let rows = |session: &str| {
        TABLES.map(|table| {
            let count =
                format!("SELECT count(*) FROM turnreel.{table} WHERE session = '{session}'");
            database.ask(&count)[0][0].clone()
        })
    };
    assert_eq!([rows("s1"), rows("s2")], [["1"; 4], ["1"; 4]]);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("s1-")
        {
            std::fs::remove_file(path).unwrap();
        }
    }
    wait_until("its rows are gone", || rows("s1") == ["0"; 4]);
    assert_eq!(rows("s2"), ["1"; 4]);
    // What is sent to it then is copied as before.
    assert_eq!(server.post("s1", &json!([tool_call(7, "Read")])).0, 200);
    wait_until("it is there again", || rows("s1") == ["1", "1", "0", "0"]);
}

#[test]
fn servers_that_share_a_database_start_at_once_and_leave_each_other_be() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let servers: Vec<Server> = std::thread::scope(|scope| {
        let starting = dirs
            .each_ref()
            .map(|dir| scope.spawn(|| server(dir.path(), &database.url)));
        starting.map(|it| it.join().unwrap()).into()
    });
    for round in 0..3 {
        for (n, server) in servers.iter().enumerate() {
            let first = round * 10;
            let events = json!([
                tool_call(first, "Bash"),
                tool_result(first, 3),
                file_edit(first, "/a", "modified")
            ]);
            assert_eq!(server.post(&format!("own{n}"), &events).0, 200);
        }
    }
    for (n, server) in servers.iter().enumerate() {
        wait_until_copied(&database, server, &format!("own{n}"));
    }
    let copiers = "SELECT count(*), (SELECT array_agg(version) FROM turnreel.turnreel_schema) FROM turnreel.copiers";
    assert_eq!(database.ask(copiers), [["3", "{1}"]]);
    // Each answers of all that is there.
    servers[0].post("plain", &chunks(1, 3));
    wait_until_copied(&database, &servers[0], "plain");
    let (status, tools) = servers[1].get("/api/v1/sessions/plain/tools");
    assert_eq!((status, &tools["tools"]), (200, &json!([])));
    assert_eq!(servers[2].get("/api/v1/tools").1["tools"][0]["sessions"], 3);
    for server in &servers {
        assert_eq!(
            support::figure(server, "turnreel_tier_failures_total{tier=\"postgres\"}"),
            0.0
        );
    }
}

#[test]
fn a_newer_schema_is_left_as_it_is_and_said() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    database.ask(
        "CREATE SCHEMA turnreel; CREATE TABLE turnreel.turnreel_schema (version integer PRIMARY KEY); \
         INSERT INTO turnreel.turnreel_schema VALUES (99)",
    );
    let dir = tempfile::tempdir().unwrap();
    let said = said_while(dir.path(), &database.url, |said| {
        said.contains("version 99")
    });
    assert!(said.contains("this program knows version"), "{said}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'turnreel'";
    assert_eq!(database.ask(tables), [["1"]]);
}

/// What a server with that database says on standard error, with all it can say, until `is_enough`.
fn said_while(dir: &Path, url: &str, is_enough: impl Fn(&str) -> bool) -> String {
    let said = dir.join("said");
    let mut child = std::process::Command::new(support::PROGRAM)
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--no-examples",
            "--log",
            "trace",
        ])
        .arg("--data")
        .arg(dir)
        .env("TURNREEL_POSTGRES", url)
        .stdout(std::process::Stdio::null())
        .stderr(std::fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let read = || std::fs::read_to_string(&said).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_enough(&read()) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    signal(&child, "TERM");
    child.wait().unwrap();
    let said = read();
    assert!(is_enough(&said), "{said}");
    said
}

#[test]
fn an_address_with_its_password_is_shown_nowhere() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let config = std::process::Command::new(support::PROGRAM)
        .args(["config", "--postgres", &database.url, "--data"])
        .arg(dir.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&config.stdout);
    assert!(
        config.status.success() && shown.contains("postgres is set"),
        "{shown}"
    );
    assert!(!shown.contains(PASSWORD), "{shown}");
    // One that is right, a password that is not, a place where nothing is, and one that wants TLS of one that has none.
    let failed = |said: &str| said.contains("postgres") && said.contains("could not");
    let up = |said: &str| said.contains("the copies are up to the logs");
    for (url, is_enough) in [
        (database.url.clone(), &up as &dyn Fn(&str) -> bool),
        (database.url.replace(PASSWORD, "canary-of-another"), &failed),
        (format!("postgresql://u:{PASSWORD}@127.0.0.1:1/d"), &failed),
        (database.url.replace("disable", "require"), &failed),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let said = said_while(dir.path(), &url, is_enough);
        assert!(!said.contains("canary"), "{said}");
    }
    // What is no address is said, and still not shown.
    let refused = std::process::Command::new(support::PROGRAM)
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(dir.path())
        .env("TURNREEL_POSTGRES", format!("mysql://u:{PASSWORD}@x/"))
        .output()
        .unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("--postgres: ") && !said.contains(PASSWORD),
        "{said}"
    );
}

/// Events go in while something is done to the database; then what it has is what the log says.
fn under_load(database: &Database, server: &Server, session: &str, harm: impl FnOnce(&AtomicU64)) {
    let remote = support::Remote::of(server);
    let stop = Arc::new(AtomicBool::new(false));
    let n_sent = Arc::new(AtomicU64::new(0));
    let (stopping, sent) = (stop.clone(), n_sent.clone());
    let path = format!("/api/v1/sessions/{session}/events");
    let sending = std::thread::spawn(move || {
        for n in 1.. {
            if stopping.load(Ordering::Relaxed) {
                return;
            }
            let events = json!([
                tool_call(n, "Bash"),
                file_edit(n, "/a", "modified"),
                tool_result(n, 1)
            ]);
            let (status, answer) = remote
                .post(&path, &events.to_string())
                .expect("the server answers");
            assert_eq!(status, 200, "{answer}");
            sent.store(n, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    std::thread::sleep(Duration::from_millis(700));
    harm(&n_sent);
    support::goes_on(&n_sent);
    stop.store(true, Ordering::Relaxed);
    sending.join().unwrap();
    wait_until_copied(database, server, session);
    wait_until_copied(database, server, "quiet");
}

/// Those who write at the same moment may be in the way.
fn do_to(database: &Database, sql: &str) {
    wait_until(sql, || database.try_ask(sql).is_ok());
}

#[test]
fn whatever_becomes_of_the_database_the_server_goes_on_and_it_is_brought_up_again() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _alone = postgres.alone();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &database.url);
    let mut quiet = chunks(1, 50);
    quiet.as_array_mut().unwrap().push(tool_call(1, "Read"));
    server.post("quiet", &quiet);
    wait_until_copied(&database, &server, "quiet");
    under_load(&database, &server, "stopped", |n_sent| {
        postgres.stop_at_once();
        support::goes_on(n_sent);
        let (status, head, _) =
            server.exchange("GET", "/api/v1/tools", Some(&server.token), "", "");
        assert_eq!(status, 503, "{head}");
        assert!(
            head.to_ascii_lowercase().contains("retry-after: 5"),
            "{head}"
        );
        postgres.begin();
    });
    under_load(&database, &server, "hanging", |n_sent| {
        postgres.signal("STOP");
        support::goes_on(n_sent);
        std::thread::sleep(Duration::from_secs(6));
        postgres.signal("CONT");
    });
    under_load(&database, &server, "emptied", |_| {
        do_to(&database, "DROP SCHEMA turnreel CASCADE");
    });
    under_load(&database, &server, "truncated", |_| {
        let tables = [
            "sessions",
            "tool_calls",
            "file_changes",
            "errors",
            "copiers",
        ];
        let tables = tables.map(|table| format!("turnreel.{table}"));
        do_to(&database, &format!("TRUNCATE {}", tables.join(", ")));
    });
    assert_eq!(server.get("/api/v1/tools").0, 200);
    let (_, figures) = server.get("/metrics");
    let figures = figures.as_str().unwrap();
    assert!(
        figures.contains("turnreel_tier_up{tier=\"postgres\"} 1"),
        "{figures}"
    );
    assert!(!figures.contains(PASSWORD));
}
