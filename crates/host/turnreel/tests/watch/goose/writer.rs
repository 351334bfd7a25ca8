//! Who writes Goose's database: a process of Python, statement by statement as Goose does.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::home::Home;
use serde_json::{Value, json};

pub(super) const DATABASE: &str = ".local/share/goose/sessions/sessions.db";

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
pub(super) struct Writer {
    pub(super) child: Child,
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
    pub(super) fn open(path: &Path) -> Option<Writer> {
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
    pub(super) fn goose(home: &Home) -> Option<Writer> {
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

    pub(super) fn run(&mut self, statements: &[(&str, Value)]) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{}", json!(statements)).unwrap();
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        assert_eq!(line, "ok\n");
    }

    pub(super) fn begin(&mut self, id: &str, kind: &str, parent: Option<&str>) {
        self.run(&[(
            "INSERT INTO sessions (id, name, session_type, working_dir, parent_session_id) VALUES (?, 'New Chat', ?, '/w', ?)",
            json!([id, kind, parent]),
        )]);
    }

    /// Writes all of it into the database's file and leaves it.
    pub(super) fn close(mut self) {
        self.run(&[("PRAGMA wal_checkpoint(TRUNCATE)", json!([]))]);
    }

    /// A message as Goose adds it.
    pub(super) fn say(&mut self, session: &str, message: &Value) {
        self.run(&[
            insert(session, message),
            (
                "UPDATE sessions SET updated_at = datetime('now') WHERE id = ?",
                json!([session]),
            ),
        ]);
    }

    /// A conversation in the place of another one, as Goose writes it when it makes room.
    pub(super) fn replace(&mut self, session: &str, messages: &[Value]) {
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

pub(super) fn now_s() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap().as_secs()
}

pub(super) fn message(role: &str, id: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "created": now_s(), "content": [{"type": "text", "text": text}],
        "metadata": {"userVisible": true, "agentVisible": true}})
}
