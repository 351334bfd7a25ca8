//! Following Goose's database, which SQLite itself writes here: a process of Python has it open, as Goose has.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::home::{Home, converted, events, ids, prompt, story, texts};
use crate::support::soon;
use serde_json::{Value, json};

const DATABASE: &str = ".local/share/goose/sessions/sessions.db";

/// Runs each line of statements as one transaction.
const WRITER: &str = r#"
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for line in sys.stdin:
    db.execute("BEGIN IMMEDIATE") if not line.startswith('[["PRAGMA') else None
    for sql, values in json.loads(line):
        db.execute(sql, values)
    db.execute("COMMIT") if db.in_transaction else None
    print("ok", flush=True)
"#;

/// The tables of its schema 16 that are read, with their columns.
const SCHEMA: [&str; 4] = [
    "CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, model_config_json TEXT, parent_session_id TEXT)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT)",
    "CREATE INDEX idx_messages_session ON messages(session_id)",
];

/// Who writes a database.
struct Writer {
    child: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Writer {
    /// `None`, and a word about it, where there is no Python.
    fn open(path: &Path) -> Option<Writer> {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let child = Command::new("python3")
            .args(["-c", WRITER])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("not tested: there is no python3");
            return None;
        };
        let said = BufReader::new(child.stdout.take().unwrap());
        Some(Writer { child, said })
    }

    /// Goose's database, empty.
    fn goose(home: &Home) -> Option<Writer> {
        let mut writer = Writer::open(&home.path(DATABASE))?;
        writer.run(&[("PRAGMA journal_mode=WAL", json!([]))]);
        let schema = SCHEMA.map(|sql| (sql, json!([])));
        writer.run(&schema);
        writer.run(&[(
            "INSERT INTO schema_version (version) VALUES (16)",
            json!([]),
        )]);
        Some(writer)
    }

    fn run(&mut self, statements: &[(&str, Value)]) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{}", json!(statements)).unwrap();
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        assert_eq!(line, "ok\n");
    }

    fn begin(&mut self, id: &str, kind: &str, parent: Option<&str>) {
        self.run(&[(
            "INSERT INTO sessions (id, name, session_type, working_dir, parent_session_id) VALUES (?, 'New Chat', ?, '/w', ?)",
            json!([id, kind, parent]),
        )]);
    }

    /// Writes all of it into the database's file and leaves it.
    fn close(mut self) {
        self.run(&[("PRAGMA wal_checkpoint(TRUNCATE)", json!([]))]);
    }

    /// A message as Goose adds it.
    fn say(&mut self, session: &str, message: &Value) {
        self.run(&[
            insert(session, message),
            (
                "UPDATE sessions SET updated_at = datetime('now') WHERE id = ?",
                json!([session]),
            ),
        ]);
    }

    /// A conversation in the place of another one, as Goose writes it when it makes room.
    fn replace(&mut self, session: &str, messages: &[Value]) {
        let delete = (
            "DELETE FROM messages WHERE session_id = ?",
            json!([session]),
        );
        let inserts = messages.iter().map(|message| insert(session, message));
        let all: Vec<_> = std::iter::once(delete).chain(inserts).collect();
        self.run(&all);
    }
}

fn insert(session: &str, message: &Value) -> (&'static str, Value) {
    let text = |name: &str| message[name].to_string();
    (
        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES (?, ?, ?, ?, ?, ?)",
        json!([
            message["id"],
            session,
            message["role"],
            text("content"),
            message["created"],
            text("metadata")
        ]),
    )
}

fn now_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs()
}

fn message(role: &str, id: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "created": now_s(), "content": [{"type": "text", "text": text}],
        "metadata": {"userVisible": true, "agentVisible": true}})
}

/// What the user and the assistant said.
fn spoken(home: &Home, session: &str) -> Vec<String> {
    let all = events(&home.data(), session);
    let said = all
        .iter()
        .filter(|it| it["type"] == "user_message" || it["type"] == "assistant_done");
    said.map(|it| it["payload"]["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether it is noted how far it was told.
fn is_noted(home: &Home, session: &str) -> bool {
    let notes = ["following.json", "following.changes"].map(|name| home.data().join(name));
    let notes = notes.map(|path| std::fs::read_to_string(path).unwrap_or_default());
    notes.concat().contains(session)
}

/// What is told of the conversation: who reads it whole ends it, and says the tokens once.
fn talk(mut events: Vec<Value>) -> Vec<Value> {
    events.retain(|event| {
        let kind = event["type"].as_str().unwrap();
        !matches!(
            kind,
            "session_start" | "session_end" | "session_status" | "usage"
        )
    });
    // In which line it stands is not the same.
    for event in &mut events {
        event["payload"].as_object_mut().unwrap().remove("line");
    }
    events
}

#[test]
fn a_session_of_goose_is_told_as_its_export_says_it_and_once() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    let export: Value = serde_json::from_str(&story("goose-session", "input.export.json")).unwrap();
    let session = export["id"].as_str().unwrap();
    let mut messages = export["conversation"].as_array().unwrap().clone();
    // It happens now: a session that rests ends.
    let first = messages[0]["created"].as_i64().unwrap();
    for message in &mut messages {
        let at = message["created"].as_i64().unwrap() - first + i64::try_from(now_s()).unwrap();
        message["created"] = json!(at - 60);
    }
    let mut server = home.watch(&[]);
    goose.begin(session, "user", None);
    let half = messages.len() / 2;
    for message in &messages[..half] {
        goose.say(session, message);
    }
    soon("its beginning is read", || {
        ids(&server) == BTreeSet::from([session.to_owned()])
    });
    // The name comes with its first prompts.
    goose.run(&[(
        "UPDATE sessions SET name = 'A title', accumulated_input_tokens = 7, accumulated_output_tokens = 8, model_config_json = '{\"model_name\":\"m\"}' WHERE id = ?",
        json!([session]),
    )]);
    let starts = |name: &str| {
        let all = events(&home.data(), session);
        let starts = all.iter().filter(|it| it["type"] == "session_start");
        let said: Vec<Value> = starts.map(|it| it["payload"][name].clone()).collect();
        said.into_iter().rfind(|it| !it.is_null())
    };
    soon("the title is told", || {
        starts("title") == Some(json!("A title"))
    });
    assert_eq!(starts("cwd"), Some(json!("/w")));
    assert_eq!(starts("model"), Some(json!("m")));
    let (_, list) = server.get("/api/v1/sessions");
    assert_eq!(list["sessions"][0]["title"], "A title");
    for message in &messages[half..] {
        goose.say(session, message);
    }
    let mut whole = export.clone();
    whole["conversation"] = json!(messages);
    let whole = home.write("export.json", whole.to_string());
    let wanted = talk(converted(&whole));
    let wanted_but_end = || {
        // The turn that is open is over with the document.
        let mut wanted = wanted.clone();
        let is_end = wanted.last().is_some_and(|it| it["type"] == "turn_end");
        wanted.truncate(wanted.len() - usize::from(is_end));
        wanted
    };
    soon("the rest is read", || {
        talk(events(&home.data(), session)).len() >= wanted_but_end().len()
    });
    let mut told = talk(events(&home.data(), session));
    told.retain(|event| event["type"] != "turn_end" || wanted.contains(event));
    let told = &told[..wanted_but_end().len()];
    assert_eq!(told, wanted_but_end());
    // Each once, also where what was noted is gone.
    server.stop();
    let told = || {
        // Whether it is idle is by the clock.
        let mut told = events(&home.data(), session);
        told.retain(|it| !matches!(it["type"].as_str(), Some("session_status" | "turn_end")));
        told
    };
    let before = told();
    drop(home.watch(&[]));
    assert_eq!(told(), before);
    std::fs::remove_file(home.data().join("following.json")).unwrap();
    let again = home.watch(&[]);
    soon("it is read again", || is_noted(&home, session));
    drop(again);
    // What is said of the session itself may come again, as it is now.
    let said = |mut told: Vec<Value>| {
        told.retain(|it| !matches!(it["type"].as_str(), Some("session_start" | "usage")));
        told
    };
    assert_eq!(said(told()), said(before));
    // What comes while nobody looks on is told with the next start.
    goose.run(&[(
        "UPDATE sessions SET name = 'Another title' WHERE id = ?",
        json!([session]),
    )]);
    goose.say(session, &message("user", "more", "And more"));
    let _server = home.watch(&[]);
    soon("it goes on", || {
        spoken(&home, session).iter().any(|it| it == "And more")
    });
    soon("the title is told", || {
        starts("title") == Some(json!("Another title"))
    });
    let ids: Vec<String> = told().iter().map(|it| it["id"].to_string()).collect();
    let once: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), once.len());
}

/// Only Linux says which process has which file.
#[cfg(target_os = "linux")]
#[test]
fn a_session_whose_goose_is_killed_ends_and_many_are_read_at_once() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    // More rows than are read at once.
    let text = "long ".repeat(2000);
    for nth in 0..40 {
        let id = format!("20261201_{nth}");
        goose.begin(&id, "user", None);
        let messages: Vec<Value> = (0..60)
            .map(|n| {
                let role = if n % 2 == 0 { "user" } else { "assistant" };
                message(role, &format!("{id}-{n}"), &format!("{n} {text}"))
            })
            .collect();
        goose.replace(&id, &messages);
    }
    let server = home.watch(&[]);
    soon("all are read", || ids(&server).len() == 40);
    soon("to their ends", || spoken(&home, "20261201_0").len() == 60);
    soon("it is noted who has it", || {
        home.has_noted(goose.child.id())
    });
    drop(goose);
    let has_ended = |nth: usize| {
        let all = events(&home.data(), &format!("20261201_{nth}"));
        all.iter().any(|it| it["type"] == "session_end")
    };
    soon("one that is held ends", || (0..40).any(has_ended));
    assert_eq!(spoken(&home, "20261201_39").len(), 60);
}

/// The turns that are said to be left, and what was asked in each.
fn left(home: &Home, session: &str) -> Vec<(Vec<String>, bool)> {
    let all = events(&home.data(), session);
    let notices = all
        .iter()
        .filter(|it| it["type"] == "notice" && it["payload"]["source"] == "branch");
    let asked = |turn: &Value| {
        let ask = all
            .iter()
            .find(|it| it["type"] == "user_message" && it["turnId"] == *turn);
        ask.map_or_else(String::new, |it| {
            it["payload"]["text"].as_str().unwrap().to_owned()
        })
    };
    let told = notices.map(|it| {
        let left = it["payload"]["leftTurnIds"].as_array().cloned();
        let left = left.unwrap_or_default().iter().map(asked).collect();
        (left, it["payload"]["cleared"] == true)
    });
    told.collect()
}

#[test]
fn a_conversation_that_is_written_anew_is_told_by_what_was_done_to_it() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    let server = home.watch(&[]);
    goose.begin("20261201_1", "user", None);
    let all: Vec<Value> = (0..6)
        .map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            message(role, &format!("m{n}"), &format!("text {n}"))
        })
        .collect();
    for message in &all {
        goose.say("20261201_1", message);
    }
    let said = || spoken(&home, "20261201_1");
    soon("all is read", || said().len() == 6);
    // The same messages under other numbers: the model is not shown them any more, and has a summary for them.
    let mut compacted = all.clone();
    compacted[1]["metadata"]["agentVisible"] = json!(false);
    let mut summary = message("user", "summary", "What was");
    summary["metadata"]["userVisible"] = json!(false);
    compacted.push(summary);
    goose.replace("20261201_1", &compacted);
    goose.say("20261201_1", &message("user", "m6", "text 6"));
    soon("it goes on", || said().len() == 7);
    assert_eq!(left(&home, "20261201_1"), []);
    // The user goes back, and asks another thing.
    goose.run(&[(
        "DELETE FROM messages WHERE session_id = '20261201_1' AND id >= (SELECT id FROM messages WHERE message_id = 'm4')",
        json!([]),
    )]);
    goose.say("20261201_1", &message("user", "m7", "text 7"));
    soon("it goes on there", || said().len() == 8);
    let back = (vec!["text 4".to_owned(), "text 6".to_owned()], false);
    assert_eq!(left(&home, "20261201_1"), [back]);
    goose.replace("20261201_1", &[]);
    soon("it is cleared", || {
        left(&home, "20261201_1").last().is_some_and(|it| it.1)
    });
    goose.say("20261201_1", &message("user", "m8", "text 8"));
    soon("it begins anew", || said().len() == 9);
    let texts: BTreeSet<String> = said().into_iter().collect();
    assert_eq!(texts.len(), 9);
    // One that is deleted is not cleared: what was told of it stays.
    goose.run(&[
        (
            "DELETE FROM messages WHERE session_id = '20261201_1'",
            json!([]),
        ),
        ("DELETE FROM sessions", json!([])),
    ]);
    goose.begin("20261201_2", "user", None);
    goose.say("20261201_2", &message("user", "n1", "Other"));
    soon("others are read", || ids(&server).len() == 2);
    assert_eq!(left(&home, "20261201_1").len(), 2);
}

#[test]
fn of_gooses_sessions_those_that_it_hides_are_not_read_and_a_helpers_says_whose_it_is() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    for (id, kind, parent) in [
        ("20261201_1", "user", None),
        ("20261201_2", "sub_agent", Some("20261201_1")),
        ("20261201_3", "hidden", None),
        ("20261201_4", "scheduled", None),
        ("20261201_5", "user", None),
    ] {
        goose.begin(id, kind, parent);
        goose.say(id, &message("user", &format!("{id}-m"), "Go"));
    }
    goose.run(&[(
        "UPDATE sessions SET updated_at = '2025-11-01 10:00:00' WHERE id = '20261201_5'",
        json!([]),
    )]);
    // A row that cannot be read is named, and what is behind it read.
    goose.run(&[(
        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) VALUES ('x', '20261201_4', 'assistant', '[{', 1796119200)",
        json!([]),
    )]);
    goose.say("20261201_4", &message("assistant", "y", "Done"));
    let server = home.watch(&["--days", "7"]);
    let shown = ["20261201_1", "20261201_2", "20261201_4"].map(str::to_owned);
    soon("they are read", || ids(&server) == shown.clone().into());
    let all = events(&home.data(), "20261201_2");
    let start = &all[0]["payload"];
    assert_eq!(start["parentSession"], "20261201_1", "{start}");
    assert_eq!(start["sessionType"], "sub_agent");
    soon("what is behind it is read", || {
        let said = texts(&home.data(), "20261201_4");
        said.iter().any(|it| it.contains("could not be read"))
            && said.last().is_some_and(|it| it == "Done")
    });
    // What goes on is of interest whenever it began.
    goose.say("20261201_5", &message("user", "z", "On"));
    goose.say("20261201_3", &message("user", "h", "Secret"));
    soon("it goes on", || {
        texts(&home.data(), "20261201_5") == ["Go", "On"]
    });
    assert!(!ids(&server).contains("20261201_3"));
}

#[test]
fn what_is_said_in_a_database_that_was_brought_back_is_told() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    let session = "20261201_1";
    goose.begin("20251101_1", "user", None);
    goose.say("20251101_1", &message("user", "old", "Of old"));
    goose.run(&[(
        "UPDATE sessions SET updated_at = '2025-11-01 10:00:00'",
        json!([]),
    )]);
    goose.begin(session, "user", None);
    goose.say(session, &message("user", "m1", "one"));
    goose.close();
    let (database, copy) = (home.path(DATABASE), home.path("copy.db"));
    std::fs::copy(&database, &copy).unwrap();
    let bring_back = || {
        let new = home.path("new.db");
        std::fs::copy(&copy, &new).unwrap();
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(home.path(&format!("{DATABASE}{ending}")));
        }
        std::fs::rename(&new, &database).unwrap();
        Writer::open(&database).unwrap()
    };
    let mut goose = Writer::open(&database).unwrap();
    let mut server = home.watch(&["--days", "7"]);
    for n in 2..6 {
        goose.say(
            session,
            &message("user", &format!("m{n}"), &format!("go {n}")),
        );
    }
    let said = || spoken(&home, session);
    soon("it is read", || said().len() == 5);
    // While it is looked on: what comes has numbers that others had.
    goose.close();
    let mut goose = bring_back();
    goose.say(session, &message("user", "n1", "again"));
    soon("it goes on", || {
        said().last().is_some_and(|it| it == "again")
    });
    // It is told up to another one once more, and brought back while nobody looks on.
    for n in 2..6 {
        goose.say(
            session,
            &message("user", &format!("n{n}"), &format!("on {n}")),
        );
    }
    soon("it is read", || said().len() == 10);
    server.stop();
    goose.close();
    let mut goose = bring_back();
    goose.say(session, &message("user", "o1", "at last"));
    let server = home.watch(&["--days", "7"]);
    soon("it is told", || {
        said().last().is_some_and(|it| it == "at last")
    });
    let once: BTreeSet<String> = said().into_iter().collect();
    assert_eq!(once.len(), said().len());
    assert_eq!(ids(&server), BTreeSet::from([session.to_owned()]));
}

#[test]
fn a_session_with_a_damaged_row_is_named_and_what_stands_before_it_is_told() {
    let home = Home::new();
    let Some(mut goose) = Writer::goose(&home) else {
        return;
    };
    for id in ["20261201_1", "20261201_2"] {
        goose.begin(id, "user", None);
        goose.say(id, &message("user", &format!("{id}-a"), "Before"));
    }
    let long = message("assistant", "z", &"Z".repeat(40_000));
    goose.say("20261201_2", &long);
    goose.say("20261201_1", &message("assistant", "b", "Done"));
    goose.close();
    // The pages of its text lead nowhere.
    let path = home.path(DATABASE);
    let mut bytes = std::fs::read(&path).unwrap();
    let mut n_pages = 0;
    for page in bytes.chunks_mut(4096) {
        if page[4..].iter().all(|byte| *byte == b'Z') {
            page[..4].fill(0xff);
            n_pages += 1;
        }
    }
    assert!(n_pages > 0);
    std::fs::write(&path, bytes).unwrap();
    let _server = home.watch(&[]);
    soon("the other one is read", || {
        spoken(&home, "20261201_1") == ["Before", "Done"]
    });
    soon("what stands before it is told", || {
        spoken(&home, "20261201_2") == ["Before"]
    });
    soon("it is named", || {
        home.said()
            .contains("session 20261201_2: the database is damaged")
    });
}

#[test]
fn a_database_that_is_not_gooses_is_named_and_the_others_are_followed() {
    let home = Home::new();
    let Some(mut goose) = Writer::open(&home.path(DATABASE)) else {
        return;
    };
    goose.run(&[
        (
            "CREATE TABLE schema_version (version INTEGER PRIMARY KEY)",
            json!([]),
        ),
        (
            "INSERT INTO schema_version (version) VALUES (99)",
            json!([]),
        ),
        (
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT, updated_at TEXT)",
            json!([]),
        ),
        (
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, body BLOB)",
            json!([]),
        ),
    ]);
    let server = home.watch(&[]);
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "Hi"));
    soon("others are followed", || ids(&server).contains("s1"));
    soon("it is named", || {
        let said = home.said();
        said.contains("version 99, whose `messages` has no `content_json`")
            && said.contains("sessions.db")
    });
    drop(goose);
    home.write(
        DATABASE,
        "no database at all, but long enough to be one".repeat(9),
    );
    soon("it is named again", || {
        home.said().contains("it is no SQLite database")
    });
    assert_eq!(ids(&server).len(), 1);
    drop(server);
    // It is left alone where that is asked for.
    let home = Home::new();
    home.write(DATABASE, "no database");
    let server = home.watch(&["--skip", "goose"]);
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "Hi"));
    soon("others are followed", || ids(&server).contains("s1"));
    assert!(!home.said().contains("sessions.db"), "{}", home.said());
}
