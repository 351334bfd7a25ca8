//! `turnreel` without a command: agents' own sessions are found, read and followed, each thing once.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use support::{PROGRAM, Server, command, soon};

/// A home folder of its own with a data folder in it.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        Home {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// A file of an agent, written just now.
    fn write(&self, below: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).env("HOME", self.dir.path());
        for name in [
            "XDG_DATA_HOME",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "PI_CODING_AGENT_DIR",
            "DISPLAY",
            "WAYLAND_DISPLAY",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// The program as its user starts it, on a free port; what it says on standard error is in `said`.
    fn watch(&self, more: &[&str]) -> Server {
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

    fn said(&self) -> String {
        std::fs::read_to_string(self.path("said")).unwrap_or_default()
    }
}

fn story(name: &str, file: &str) -> String {
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions");
    std::fs::read_to_string(stories.join(name).join(file)).unwrap()
}

fn rests(path: &Path, since: Duration) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - since).unwrap();
}

fn append(path: &Path, bytes: &[u8]) {
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

fn prompt(session: &str, n: usize, text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"u{n}","parentUuid":null,"sessionId":"{session}","cwd":"/w","version":"2.1.330","timestamp":"2026-11-21T21:03:{:02}.000Z","message":{{"role":"user","content":"{text}"}}}}"#,
        n % 60
    ) + "\n"
}

fn ids(server: &Server) -> BTreeSet<String> {
    let (status, list) = server.get("/api/v1/sessions?limit=500");
    assert_eq!(status, 200);
    let rows = list["sessions"].as_array().unwrap();
    rows.iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The events of a session as its log has them, without what the log adds.
fn events(data: &Path, session: &str) -> Vec<Value> {
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
fn converted(path: &Path) -> Vec<Value> {
    let output = command::run("convert", &["--to", "events", path.to_str().unwrap()], b"");
    let text = command::text(&output.stdout);
    let events = text.lines().filter_map(bare);
    events
        .filter(|event| event["payload"]["error"]["code"] != "no_result")
        .collect()
}

/// In an order that does not depend on who told of them first.
fn sorted(events: &[Value]) -> Vec<Value> {
    let mut events = events.to_vec();
    events.sort_by_key(|event| (event["id"].to_string(), event["type"].to_string()));
    events
}

#[test]
fn sessions_of_all_agents_are_found_and_read() {
    let home = Home::new();
    home.write(
        ".claude/projects/-w/3e43c5a0-2358-42e6-a068-598b5a468dcd.jsonl",
        story("read-edit-transcript", "input.transcript.jsonl"),
    );
    home.write(
        ".codex/sessions/2026/11/21/rollout-1.jsonl",
        story("codex-rollout", "input.rollout.jsonl"),
    );
    home.write(
        ".pi/agent/sessions/--w--/1.jsonl",
        story("pi-session", "input.session.jsonl"),
    );
    home.write(
        ".gemini/tmp/p/chats/session-1.jsonl",
        story("gemini-chat", "input.chat.jsonl"),
    );
    let server = home.watch(&[]);
    soon("all four are read", || ids(&server).len() == 4);
    soon("it says so", || home.said().contains("read 4 sessions"));
    assert_eq!(home.said().matches("WARN").count(), 0, "{}", home.said());
}

#[test]
fn an_agent_that_is_left_out_is_not_read() {
    let home = Home::new();
    home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    home.write(
        ".codex/sessions/2026/11/21/rollout-1.jsonl",
        story("codex-rollout", "input.rollout.jsonl"),
    );
    let server = home.watch(&["--skip", "codex,pi"]);
    soon("the other one is read", || ids(&server).contains("s1"));
    soon("nothing is left", || {
        home.said().contains("read 1 sessions")
    });
    assert_eq!(ids(&server).len(), 1);
    let output = run(&home, &["--skip", "everything"]);
    let said = command::text(&output.stderr);
    assert!(
        !output.status.success() && said.contains("opencode"),
        "{said}"
    );
}

/// The name would be that of a file.
#[test]
fn a_session_that_names_itself_by_a_path_is_said_and_left_alone() {
    let home = Home::new();
    let path = ".claude/projects/-w/odd.jsonl";
    home.write(path, prompt("../odd", 1, "Odd"));
    home.write(".claude/projects/-w/good.jsonl", prompt("good", 1, "Good"));
    let server = home.watch(&[]);
    soon("the good one is read", || ids(&server).contains("good"));
    std::thread::sleep(Duration::from_secs(1));
    let ids = ids(&server);
    assert!(ids.iter().all(|id| !id.contains('/')), "{ids:?}");
}

#[test]
fn what_is_told_is_what_is_converted_however_the_file_was_written() {
    for (story_name, file, at) in [
        (
            "read-edit-transcript",
            "input.transcript.jsonl",
            ".claude/projects/-w/s.jsonl",
        ),
        (
            "codex-rollout",
            "input.rollout.jsonl",
            ".codex/sessions/2026/11/21/rollout-1.jsonl",
        ),
        (
            "pi-session",
            "input.session.jsonl",
            ".pi/agent/sessions/--w--/1.jsonl",
        ),
        (
            "gemini-chat",
            "input.chat.jsonl",
            ".gemini/tmp/p/chats/session-1.jsonl",
        ),
    ] {
        let home = Home::new();
        let bytes = story(story_name, file).into_bytes();
        let path = home.write(at, "");
        let mut server = home.watch(&[]);
        let mut dice = support::dice::Dice::new(bytes.len() as u64);
        let mut rest = &bytes[..];
        let mut n_pieces = 0;
        while !rest.is_empty() {
            // Half lines and single bytes are pieces, too; in the middle the program is killed, and starts again.
            let most = rest.len().min(1 + bytes.len() / 8) as u64;
            let (piece, left) = rest.split_at(1 + dice.between(0, most) as usize);
            append(&path, piece);
            rest = left;
            std::thread::sleep(Duration::from_millis(dice.between(0, 400)));
            n_pieces += 1;
            if n_pieces % 7 == 3 {
                server.kill();
                server = home.watch(&[]);
            }
        }
        // It rests for so long that its session is over.
        rests(&path, Duration::from_hours(25));
        let expected = converted(&path);
        let session = expected[0]["sessionId"].as_str().unwrap().to_owned();
        soon("the session ends", || {
            let told = events(&home.data(), &session);
            told.len() >= expected.len()
        });
        assert_eq!(events(&home.data(), &session), expected, "{story_name}");
        // A new start finds nothing to tell.
        server.stop();
        let server = home.watch(&[]);
        std::thread::sleep(Duration::from_millis(1500));
        drop(server);
        assert_eq!(events(&home.data(), &session).len(), expected.len());
    }
}

#[test]
fn a_line_that_is_appended_arrives_within_a_second_or_two_and_a_half_one_waits() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let server = home.watch(&[]);
    let told = |text: &str| {
        let all = events(&home.data(), "s1");
        all.iter().any(|event| event["payload"]["text"] == text)
    };
    soon("the first is there", || told("First"));
    let line = prompt("s1", 2, "Second");
    let (half, rest) = line.split_at(line.len() / 2);
    append(&path, half.as_bytes());
    std::thread::sleep(Duration::from_millis(700));
    assert!(!told("Second"));
    append(&path, rest.as_bytes());
    let began = Instant::now();
    soon("the second is there", || told("Second"));
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    // A session in a folder that was not there.
    home.write(".claude/projects/-new/s2.jsonl", prompt("s2", 1, "Other"));
    let began = Instant::now();
    soon("the new session is there", || ids(&server).contains("s2"));
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn starting_again_tells_nothing_twice_and_loses_nothing() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let mut server = home.watch(&[]);
    let texts = || -> Vec<String> {
        let all = events(&home.data(), "s1");
        let texts = all
            .iter()
            .filter_map(|event| event["payload"]["text"].as_str());
        texts.map(str::to_owned).collect()
    };
    soon("the first is there", || texts() == ["First"]);
    server.stop();
    append(&path, prompt("s1", 2, "Away").as_bytes());
    let mut server = home.watch(&[]);
    soon("what came meanwhile is there", || {
        texts() == ["First", "Away"]
    });
    // Killed, and what it noted is gone: the ids tell.
    server.kill();
    let _ = std::fs::remove_file(home.data().join("following.json"));
    append(&path, prompt("s1", 3, "Killed").as_bytes());
    let _server = home.watch(&[]);
    soon("all is there", || texts() == ["First", "Away", "Killed"]);
    std::thread::sleep(Duration::from_millis(500));
    let all = events(&home.data(), "s1");
    let ids: BTreeSet<&str> = all
        .iter()
        .filter_map(|event| event["id"].as_str())
        .collect();
    assert_eq!(ids.len(), all.len());
}

#[test]
fn a_session_that_a_pipe_tells_of_too_stands_once() {
    let home = Home::new();
    let session = "3e43c5a0-2358-42e6-a068-598b5a468dcd";
    let transcript = story("read-edit-transcript", "input.transcript.jsonl");
    let stream = story("read-edit", "input.stream.jsonl");
    for pipe_is_first in [true, false] {
        let home = if pipe_is_first { &home } else { &Home::new() };
        let server = home.watch(&[]);
        let path = format!(".claude/projects/-w/{session}.jsonl");
        let follow = || {
            let path = home.write(&path, &transcript);
            rests(&path, Duration::from_hours(25));
        };
        let pipe = || {
            let prompt = ["--prompt", "Read README.md and add a line at the end"];
            let child = command::start_at(&home.data(), "pipe", &prompt);
            let output = command::finish(child, stream.as_bytes());
            assert!(output.status.success(), "{output:?}");
        };
        let count = |kind: &str| {
            let all = events(&home.data(), session);
            all.iter().filter(|event| event["type"] == kind).count()
        };
        if pipe_is_first {
            pipe();
            follow();
        } else {
            follow();
            soon("it is read", || count("tool_result") > 1);
            pipe();
        }
        soon("it ends", || count("session_end") > 0);
        std::thread::sleep(Duration::from_millis(1500));
        let told = converted_text(&transcript);
        for kind in ["user_message", "tool_call", "tool_result", "assistant_done"] {
            let expected = told.iter().filter(|event| event["type"] == kind).count();
            assert_eq!(count(kind), expected, "{kind}, pipe first: {pipe_is_first}");
        }
        drop(server);
    }
}

fn converted_text(text: &str) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).unwrap();
    converted(&path)
}

#[test]
fn a_session_with_agents_is_told_as_it_is_converted() {
    for story in ["subagent", "subagent-plain"] {
        let Some(folder) = support::shared("recordings/claude-code") else {
            return;
        };
        let home = Home::new();
        let mut main = PathBuf::new();
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(rest) = name.strip_prefix(&format!("{story}.transcript.")) else {
                continue;
            };
            let below = format!(".claude/projects/-w/{}", rest.replace("__", "/"));
            let path = home.write(&below, std::fs::read(entry.path()).unwrap());
            rests(&path, Duration::from_hours(25));
            if !rest.contains("__") {
                main = path;
            }
        }
        let server = home.watch(&[]);
        let expected = converted(&main);
        let session = expected[0]["sessionId"].as_str().unwrap();
        soon("the session is read", || {
            events(&home.data(), session).len() >= expected.len()
        });
        drop(server);
        // The order of what several files say is by who reads them.
        let told = events(&home.data(), session);
        assert_eq!(sorted(&told), sorted(&expected), "{story}");
    }
}

#[test]
fn a_sub_agent_is_followed_while_it_works() {
    let Some(folder) = support::shared("recordings/claude-code") else {
        return;
    };
    let id = "a304d5e0-d87f-4c9d-98aa-27089c34c4bf";
    let agent = "aa2df4c86842dcb55";
    let read = |rest: &str| {
        std::fs::read_to_string(folder.join(format!("subagent.transcript.{id}{rest}"))).unwrap()
    };
    let main = read(".jsonl");
    let parts = format!("__subagents__agent-{agent}");
    let home = Home::new();
    // The call that starts it is written, its result is not.
    let calls: Vec<&str> = main.lines().collect();
    let call = calls
        .iter()
        .position(|line| {
            let names = |tool: &str| line.contains(&format!(r#""name":"{tool}""#));
            // Other lines name all tools that there are.
            line.contains(r#""type":"tool_use""#) && (names("Agent") || names("Task"))
        })
        .unwrap();
    let own = format!(".claude/projects/-w/{id}.jsonl");
    let own = home.write(&own, calls[..=call].join("\n") + "\n");
    let _server = home.watch(&[]);
    let below = format!(".claude/projects/-w/{id}/subagents/agent-{agent}");
    home.write(
        &format!("{below}.meta.json"),
        read(&format!("{parts}.meta.json")),
    );
    let agents = read(&format!("{parts}.jsonl"));
    let path = home.write(&format!("{below}.jsonl"), "");
    let of_agent = || {
        let all = events(&home.data(), id);
        let ours = all.iter().filter(|event| event["agentId"] == agent);
        ours.filter(|event| event["parentToolCallId"].is_string())
            .count()
    };
    let mut before = 0;
    let half = agents.lines().count() / 2;
    let lines: Vec<&str> = agents.lines().collect();
    for lines in [&lines[..half], &lines[half..]] {
        append(&path, (lines.join("\n") + "\n").as_bytes());
        soon("what it does is told", || of_agent() > before);
        before = of_agent();
    }
    append(&own, (calls[call + 1..].join("\n") + "\n").as_bytes());
    for path in [&own, &path] {
        rests(path, Duration::from_hours(25));
    }
    let expected = converted(&own);
    soon("the session ends", || {
        events(&home.data(), id).len() >= expected.len()
    });
    assert_eq!(sorted(&events(&home.data(), id)), sorted(&expected));
}

#[test]
fn sessions_of_opencode_are_read_from_its_database_as_it_writes_on() {
    let fixture = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chat-capture/tests/opencode");
        std::fs::read(folder.join(name)).unwrap()
    };
    let home = Home::new();
    let database = ".local/share/opencode/opencode.db";
    home.write(database, fixture("opencode.db"));
    let rows = String::from_utf8(fixture("rows.jsonl")).unwrap();
    let first: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    let session = first["aggregate_id"].as_str().unwrap();
    // It is older than anybody asks for.
    let mut server = home.watch(&["--days", "36500"]);
    let count = |kind: &str| {
        let all = events(&home.data(), session);
        all.iter().filter(|event| event["type"] == kind).count()
    };
    soon("its beginning is read", || count("user_message") > 0);
    assert_eq!(count("turn_end"), 0);
    home.write(&format!("{database}-wal"), fixture("opencode.db-wal"));
    soon("the rest is read", || count("turn_end") == 1);
    // The sub-agent's session is a part of it.
    assert_eq!(count("user_message"), 2);
    assert_eq!(ids(&server), BTreeSet::from([session.to_owned()]));
    // Whether it is over is by the clock.
    let told = || {
        let mut told = events(&home.data(), session);
        told.retain(|event| event["type"] != "session_end");
        told
    };
    let before = told();
    // Each once, also where what was noted is gone.
    server.stop();
    drop(home.watch(&["--days", "36500"]));
    std::fs::remove_file(home.data().join("following.json")).unwrap();
    let _server = home.watch(&["--days", "36500"]);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(told(), before);
    assert_eq!(
        std::fs::read(home.path(database)).unwrap(),
        fixture("opencode.db")
    );
    assert!(!home.path(&format!("{database}-shm")).exists());
}

#[test]
fn a_file_that_is_replaced_or_cut_is_read_anew_and_one_that_is_gone_stays_told() {
    let home = Home::new();
    let path = home.write(
        ".claude/projects/-w/s1.jsonl",
        prompt("s1", 1, "First") + &prompt("s1", 2, "Second"),
    );
    let _server = home.watch(&[]);
    let texts = || -> Vec<String> {
        let all = events(&home.data(), "s1");
        let texts = all
            .iter()
            .filter_map(|event| event["payload"]["text"].as_str());
        texts.map(str::to_owned).collect()
    };
    soon("both are there", || texts() == ["First", "Second"]);
    std::fs::write(&path, prompt("s1", 1, "First")).unwrap();
    soon("it is said", || home.said().contains("another file now"));
    append(&path, prompt("s1", 3, "Third").as_bytes());
    soon("what is new is there", || {
        texts() == ["First", "Second", "Third"]
    });
    // As editors and synchronisers do.
    let new = home.path("new");
    std::fs::write(
        &new,
        prompt("s1", 9, "Begins otherwise") + &prompt("s1", 3, "Third"),
    )
    .unwrap();
    std::fs::rename(&new, &path).unwrap();
    soon("the new file is there", || {
        texts().contains(&"Begins otherwise".to_owned())
    });
    std::fs::remove_file(&path).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(texts().len(), 4);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_is_named_and_the_rest_goes_on() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let folder = home.path(".claude/projects/-w");
    home.write(".claude/projects/-w/good.jsonl", prompt("good", 1, "Good"));
    home.write(".claude/projects/-w/empty.jsonl", "");
    home.write(
        ".claude/projects/-w/picture.jsonl",
        b"\x89PNG\r\n\x1a\n\n\n",
    );
    let secret = home.write("elsewhere/secret.jsonl", prompt("secret", 1, "Secret"));
    symlink(&secret, folder.join("link.jsonl")).unwrap();
    symlink(home.path("elsewhere"), home.path(".claude/projects/-link")).unwrap();
    let made = Command::new("mkfifo")
        .arg(folder.join("pipe.jsonl"))
        .status();
    let has_pipe = made.is_ok_and(|made| made.success());
    let odd = std::ffi::OsStr::from_bytes(b"od\xffd.jsonl");
    let has_odd = std::fs::write(folder.join(odd), prompt("odd", 1, "Odd")).is_ok();
    let closed = home.write(
        ".claude/projects/-w/closed.jsonl",
        prompt("closed", 1, "Closed"),
    );
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    let is_closed = File::open(&closed).is_err();
    let long = format!(
        "{}{}\n{}",
        prompt("long", 1, "Before"),
        "x".repeat(20 * 1024 * 1024),
        prompt("long", 2, "Behind")
    );
    home.write(".claude/projects/-w/long.jsonl", long);
    let server = home.watch(&[]);
    soon("what can be read is", || {
        let long = events(&home.data(), "long");
        let has = |text: &str| long.iter().any(|event| event["payload"]["text"] == text);
        has("Behind") && ids(&server).contains("good")
    });
    let said = home.said();
    let mut places = vec!["link.jsonl", "-link", "picture.jsonl"];
    places.extend(has_pipe.then_some("pipe.jsonl"));
    places.extend(has_odd.then_some("no text"));
    places.extend(is_closed.then_some("closed.jsonl"));
    for place in places {
        assert!(said.contains(place), "{place}\n{said}");
    }
    assert!(!said.contains("empty.jsonl"), "{said}");
    let ids = ids(&server);
    assert!(!ids.contains("secret") && !ids.contains("odd"), "{ids:?}");
    assert_eq!(ids.contains("closed"), !is_closed);
}

#[test]
fn a_session_that_has_ended_goes_on_with_its_file() {
    let home = Home::new();
    // Longer than what is read at once.
    let long: String = (0..3000).map(|n| prompt("s1", n, "Before")).collect();
    let path = home.write(".claude/projects/-w/s1.jsonl", long);
    rests(&path, Duration::from_hours(2));
    let mut server = home.watch(&[]);
    let count = |what: &str, name: &str, value: &str| {
        let all = events(&home.data(), what);
        let found = all
            .iter()
            .filter(|event| event["type"] == value || event["payload"][name] == value);
        found.count()
    };
    soon("it ends", || count("s1", "", "session_end") == 1);
    for (nth, restarts) in [(1, false), (2, true)] {
        if restarts {
            server.stop();
            server = home.watch(&[]);
        }
        append(&path, prompt("s1", 5000 + nth, "After").as_bytes());
        soon("it goes on", || count("s1", "text", "After") == nth);
        rests(&path, Duration::from_hours(2));
        soon("it ends again", || {
            count("s1", "", "session_end") == 1 + nth
        });
    }
    assert_eq!(count("s1", "text", "Before"), 3000);
    // Nothing is done then.
    #[cfg(target_os = "linux")]
    {
        let before = server.cpu_ms();
        std::thread::sleep(Duration::from_secs(2));
        assert!(server.cpu_ms() - before < 400);
    }
}

/// As after a folder was renamed: each is longer than what is read at once, and there are more than are held.
#[test]
fn many_sessions_that_change_at_once_are_all_read() {
    let home = Home::new();
    home.write(".claude/projects/-w/s0.jsonl", prompt("s0", 1, "First"));
    let server = home.watch(&[]);
    soon("it runs", || ids(&server).contains("s0"));
    let n_sessions = 28;
    for nth in 1..=n_sessions {
        let session = format!("s{nth}");
        let text = "x".repeat(42_000);
        let long: String = (0..13).map(|n| prompt(&session, n, &text)).collect();
        let path = format!("elsewhere/{session}.jsonl");
        home.write(&path, long + &prompt(&session, 9, "Last"));
    }
    let folder = home.path(".claude/projects/-other");
    std::fs::rename(home.path("elsewhere"), &folder).unwrap();
    soon("all are read to their end", || {
        // Looking costs much of the time that they have.
        std::thread::sleep(Duration::from_millis(500));
        let logs = std::fs::read_dir(home.data()).unwrap().flatten();
        let logs = logs.filter(|it| it.file_name().to_string_lossy().ends_with(".events.jsonl"));
        let texts = logs.map(|log| std::fs::read_to_string(log.path()).unwrap());
        texts.filter(|text| text.contains(r#""Last""#)).count() == n_sessions
    });
}

/// It was read before this start, and nothing changed since.
#[test]
fn a_session_that_comes_to_rest_after_a_new_start_ends() {
    let home = Home::new();
    let path = home.write(".claude/projects/-w/s1.jsonl", prompt("s1", 1, "First"));
    let mut server = home.watch(&[]);
    soon("it is read", || !events(&home.data(), "s1").is_empty());
    server.stop();
    // An hour but some seconds ago.
    rests(&path, Duration::from_secs(3600 - 6));
    let _server = home.watch(&[]);
    soon("it ends", || {
        let all = events(&home.data(), "s1");
        all.iter().any(|event| event["type"] == "session_end")
    });
}

#[test]
fn old_sessions_are_read_when_they_go_on() {
    let home = Home::new();
    let old = home.write(".claude/projects/-w/old.jsonl", prompt("old", 1, "Old"));
    rests(&old, Duration::from_hours(24 * 9));
    home.write(".claude/projects/-w/new.jsonl", prompt("new", 1, "New"));
    let server = home.watch(&["--days", "3"]);
    soon("the new one is read", || ids(&server).contains("new"));
    assert!(!ids(&server).contains("old"));
    append(&old, prompt("old", 2, "Again").as_bytes());
    soon("the old one is read", || ids(&server).contains("old"));
    let all = events(&home.data(), "old");
    let n_said = all
        .iter()
        .filter(|event| event["type"] == "user_message")
        .count();
    assert_eq!(n_said, 2);
}

/// What is opened is led to the page, and the token stands in no command line.
#[cfg(target_os = "linux")]
#[test]
fn the_page_is_opened_where_there_is_a_display() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let opener = home.write(
        "bin/xdg-open",
        "#!/bin/sh\necho \"$1\" > \"$HOME/opened\"\n",
    );
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path("bin").display());
    let start = || {
        let mut command = home.command(&["--listen", "127.0.0.1:0", "--data"]);
        command
            .arg(home.data())
            .env("DISPLAY", ":9")
            .env("PATH", &path);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let at = home.path("opened");
    let address = || std::fs::read_to_string(&at).unwrap_or_default();
    let led = |address: &str| {
        let response = support::agent().get(address.trim());
        let response = response.config().max_redirects(0).build().call().unwrap();
        response.headers()["location"].to_str().unwrap().to_owned()
    };
    let mut first = start();
    soon("the browser is asked", || address().ends_with('\n'));
    let token = std::fs::read_to_string(home.data().join("token")).unwrap();
    assert!(!address().contains(&token));
    let page = led(&address());
    assert!(page.ends_with(&format!("/#token={token}")), "{page}");
    // A second one leads to the first, and is done then.
    std::fs::remove_file(&at).unwrap();
    let mut second = start();
    soon("the browser is asked again", || address().ends_with('\n'));
    assert_eq!(led(&address()), page);
    assert!(support::wait_for(&mut second, Duration::from_secs(5)).success());
    support::signal(&first, "TERM");
    support::wait_for(&mut first, Duration::from_secs(10));
}

/// Starts the program beside what is there; for what ends by itself.
fn run(home: &Home, more: &[&str]) -> Output {
    let mut command = home.command(&["--no-open", "--data"]);
    command.arg(home.data()).args(more).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn a_folder_that_is_served_already_is_named_with_its_page() {
    let home = Home::new();
    let server = home.watch(&[]);
    let output = run(&home, &[]);
    assert!(output.status.success(), "{output:?}");
    let said = command::text(&output.stdout);
    let page = format!("{}/#token={}", server.url, server.token);
    assert!(said.contains(&page) && !said.contains("stop it"), "{said}");
    drop(server);
    let server = Server::start(&home.data());
    let said = command::text(&run(&home, &[]).stdout);
    assert!(
        said.contains(&server.url) && said.contains("stop it"),
        "{said}"
    );
}

#[test]
fn a_port_in_use_is_no_reason_not_to_serve_unless_it_was_asked_for() {
    let (home, other) = (Home::new(), tempfile::tempdir().unwrap());
    let server = Server::start(other.path());
    let output = run(&home, &["--listen", &server.address()]);
    assert_eq!(output.status.code(), Some(1));
    let said = command::text(&output.stderr);
    assert!(said.contains("--listen"), "{said}");
}

#[test]
fn without_agents_it_says_where_it_looked_and_serves_and_finds_one_that_comes() {
    let home = Home::new();
    let mut child = home
        .command(&[
            "--no-open",
            "--listen",
            "127.0.0.1:0",
            "--no-examples",
            "--data",
        ])
        .arg(home.data())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("ctrl-c") {
        assert!(
            std::io::BufRead::read_line(&mut stdout, &mut said).unwrap() > 0,
            "{said}"
        );
    }
    for place in [".claude/projects", ".codex/sessions", "opencode"] {
        assert!(said.contains(place), "{said}");
    }
    let url = said
        .split("http://")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap();
    let server = Server {
        child,
        url: format!("http://{url}"),
        token: said
            .split("#token=")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned(),
        data: home.data(),
    };
    home.write(
        ".codex/sessions/2026/11/27/rollout-1.jsonl",
        story("codex-rollout", "input.rollout.jsonl"),
    );
    soon("it is found", || ids(&server).len() == 1);
}
