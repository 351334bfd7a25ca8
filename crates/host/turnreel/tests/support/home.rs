//! A made home of a user: the folders where agents keep their sessions, and the program that follows them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::{PROGRAM, Server, command};

/// A home folder of its own with a data folder in it.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// A file of an agent, written just now.
    pub(crate) fn write(&self, below: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).env("HOME", self.dir.path());
        for name in [
            "XDG_DATA_HOME",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "PI_CODING_AGENT_DIR",
            "GEMINI_CLI_HOME",
            "QWEN_RUNTIME_DIR",
            "QWEN_HOME",
            "FACTORY_HOME_OVERRIDE",
            "GOOSE_PATH_ROOT",
            "CRUSH_GLOBAL_DATA",
            "OPENCODE_DB",
            "KILO_DB",
            "GROK_HOME",
            "VIBE_HOME",
            "KIMI_CODE_HOME",
            "COPILOT_HOME",
            "OPENHANDS_CONVERSATIONS_DIR",
            "OPENHANDS_PERSISTENCE_DIR",
            "XDG_CONFIG_HOME",
            "CLINE_DATA_DIR",
            "CLINE_DIR",
            "CLINE_SESSION_DATA_DIR",
            "DISPLAY",
            "WAYLAND_DISPLAY",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// The program as its user starts it, on a free port; what it says on standard error is in `said`.
    pub(crate) fn watch(&self, more: &[&str]) -> Server {
        self.watch_with(more, &[])
    }

    /// The same, with more in its environment.
    pub(crate) fn watch_with(&self, more: &[&str], set: &[(&str, OsString)]) -> Server {
        let said = File::options()
            .create(true)
            .append(true)
            .open(self.path("said"))
            .unwrap();
        let mut child = self
            .command(&["--listen", "127.0.0.1:0", "--ready-json", "--no-open"])
            .arg("--no-examples")
            .arg("--data")
            .arg(self.data())
            .args(more)
            .envs(set.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Server {
            child,
            url: ready["url"].as_str().unwrap().to_owned(),
            token: ready["token"].as_str().unwrap().to_owned(),
            data: self.data(),
        }
    }

    /// Whether it is noted that this process has a session.
    pub(crate) fn has_noted(&self, pid: u32) -> bool {
        let notes = ["following.json", "following.changes"].map(|name| self.data().join(name));
        let notes = notes.map(|path| std::fs::read_to_string(path).unwrap_or_default());
        notes.concat().contains(&format!("\"id\":{pid},"))
    }

    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(self.path("said")).unwrap_or_default()
    }
}

pub(crate) fn story(name: &str, file: &str) -> String {
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions");
    std::fs::read_to_string(stories.join(name).join(file)).unwrap()
}

pub(crate) fn rests(path: &Path, since: Duration) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - since).unwrap();
}

pub(crate) fn append(path: &Path, bytes: &[u8]) {
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

pub(crate) fn prompt(session: &str, n: usize, text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u{n}","parentUuid":null,"sessionId":"{session}","cwd":"/w","version":"2.1.330","timestamp":"2026-11-21T21:03:{:02}.000Z","message":{{"role":"user","content":"{text}"}}}}"#,
        n % 60
    ) + "\n"
}

pub(crate) fn ids(server: &Server) -> BTreeSet<String> {
    let (status, list) = server.get("/api/v1/sessions?limit=500");
    assert_eq!(status, 200);
    let rows = list["sessions"].as_array().unwrap();
    rows.iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

/// What is said in a session, in order.
pub(crate) fn texts(data: &Path, session: &str) -> Vec<String> {
    let all = events(data, session);
    let texts = all
        .iter()
        .filter_map(|event| event["payload"]["text"].as_str());
    texts.map(str::to_owned).collect()
}

/// The events of a session as its log has them, without what the log adds.
pub(crate) fn events(data: &Path, session: &str) -> Vec<Value> {
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let logs = paths
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".events.jsonl"));
    let texts = logs.map(|path| std::fs::read_to_string(path).unwrap());
    let texts: Vec<String> = texts.collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines
        .filter_map(bare)
        .filter(|it| it["sessionId"] == session)
        .collect()
}

fn bare(line: &str) -> Option<Value> {
    let mut event: Value = serde_json::from_str(line).ok()?;
    if event["type"].as_str()?.starts_with("log") || event.get("sessionId").is_none() {
        return None;
    }
    for name in ["seq", "recv", "c"] {
        event.as_object_mut()?.remove(name);
    }
    Some(event)
}

/// What `turnreel convert` makes of files; a call without a result may still have one where a file is followed.
pub(crate) fn converted(path: &Path) -> Vec<Value> {
    let output = command::run("convert", &["--to", "events", path.to_str().unwrap()], b"");
    let text = command::text(&output.stdout);
    let events = text.lines().filter_map(bare);
    events
        .filter(|event| event["payload"]["error"]["code"] != "no_result")
        .collect()
}

/// In an order that does not depend on who told of them first.
pub(crate) fn sorted(events: &[Value]) -> Vec<Value> {
    let mut events = events.to_vec();
    events.sort_by_key(|event| (event["id"].to_string(), event["type"].to_string()));
    events
}
