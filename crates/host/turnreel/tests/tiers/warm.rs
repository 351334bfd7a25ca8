//! What a PostgreSQL has of the sessions: all that their logs have, for a while, and nothing of those that are gone.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::cold::{DAY, make_older};
use crate::support::postgres::Postgres;
use crate::support::rows::{logged, wait_until_copied};
use crate::support::soon;
use crate::support::tiers::{file_edit, take_away, tool_call, tool_result, with_postgres};

#[test]
fn each_recorded_session_is_there_as_its_log_says() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let server = with_postgres(dir.path(), &database.url);
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
fn a_session_under_a_new_epoch_is_there_once() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let mut first = with_postgres(dir.path(), &database.url);
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
    let server = with_postgres(dir.path(), &database.url);
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
    let server = with_postgres(dir.path(), &database.url);
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
    soon("the hostile session is there", || {
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

#[test]
fn what_is_older_than_thirty_days_goes_and_quiet_sessions_are_not_copied() {
    let Some(postgres) = Postgres::start() else {
        return;
    };
    let _peace = postgres.in_peace();
    let database = postgres.database();
    let dir = tempfile::tempdir().unwrap();
    let mut first = with_postgres(dir.path(), &database.url);
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
    make_older(dir.path(), "old", 31 * DAY);
    for table in ["sessions", "tool_calls", "file_changes"] {
        database.ask(&format!(
            "DELETE FROM turnreel.{table} WHERE session = 'old'"
        ));
    }
    let server = with_postgres(dir.path(), &database.url);
    assert_eq!(logged(&server, "old").1.len(), 2);
    soon("old rows are gone", || {
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
    let server = with_postgres(dir.path(), &database.url);
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
    take_away(dir.path(), "s1");
    soon("its rows are gone", || rows("s1") == ["0"; 4]);
    assert_eq!(rows("s2"), ["1"; 4]);
    // What is sent to it then is copied as before.
    assert_eq!(server.post("s1", &json!([tool_call(7, "Read")])).0, 200);
    soon("it is there again", || rows("s1") == ["1", "1", "0", "0"]);
}
