//! `turnreel pipe`: what goes through, what arrives, and what waits.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use crate::support::{self, PROGRAM, Server, command, soon};

pub(super) const SMALL: &str = concat!(
    r#"{"id":"a","timestamp":1,"sessionId":"s1","type":"turn_start","payload":{"trigger":"user"}}"#,
    "\n",
    r#"{"id":"b","timestamp":2,"sessionId":"s1","type":"assistant_chunk","payload":{"text":"Hi"}}"#,
    "\n",
    r#"{"id":"c","timestamp":3,"sessionId":"s1","type":"turn_end","payload":{}}"#,
    "\n",
);

/// For a server that is there: it takes all, however long it is held up.
pub(super) const PATIENT: [&str; 2] = ["--wait", "60"];

pub(super) fn start(data: &Path, more: &[&str]) -> Child {
    command::start_at(data, "pipe", more)
}

pub(super) fn run(data: &Path, more: &[&str], input: &[u8]) -> Output {
    command::finish(start(data, more), input)
}

pub(super) fn spooled(data: &Path) -> usize {
    spooled_in(&data.join("spool"))
}

/// What waits for servers that are not the data folder's.
pub(super) fn spooled_for_others(data: &Path) -> usize {
    let folders = std::fs::read_dir(data.join("spool/to"));
    let folders = folders.into_iter().flatten().flatten();
    folders.map(|folder| spooled_in(&folder.path())).sum()
}

fn spooled_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".jsonl"))
        .count()
}

#[test]
fn what_goes_in_comes_out_byte_for_byte_and_the_session_arrives() {
    let Some(path) = support::shared("recordings/claude-code/read-edit.stream.jsonl") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let input = std::fs::read(path).unwrap();
    let patient = ["--prompt", "Read README.md", "--wait", "60"];
    let output = run(dir.path(), &patient, &input);
    assert_eq!(output.stdout, input);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    assert_eq!(row["title"], "Read README.md");
    assert!(row["events"].as_u64().unwrap() > 20, "{row}");
    assert_ne!(row["status"], "busy");
    assert_eq!(spooled(dir.path()), 0);
    // The same once more changes nothing: the source's ids are the events' ids.
    let id = row["id"].as_str().unwrap();
    let before = server.all(id, 1000);
    let output = run(dir.path(), &patient, &input);
    assert_eq!(server.all(id, 1000).len(), before.len());
    // Some have the time of their arrival, which is another one now: they are there all the same.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("were there already"), "{said}");
    assert!(!said.contains("another source"), "{said}");
    assert!(!dir.path().join("spool/refused").exists(), "{said}");
    drop(server);
    run(
        dir.path(),
        &["--prompt", "Read README.md", "--wait", "0"],
        &input,
    );
    let server = Server::start(dir.path());
    soon("the events are taken in", || spooled(dir.path()) == 0);
    assert!(!dir.path().join("spool/refused").exists());
    assert_eq!(server.all(id, 1000).len(), before.len());
}

#[test]
fn a_piece_goes_through_and_arrives_while_the_agent_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut child = start(dir.path(), &[]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let lines: Vec<&str> = SMALL.lines().collect();
    for (n, line) in lines.iter().enumerate() {
        let line = format!("{line}\n");
        let written = Instant::now();
        stdin.write_all(line.as_bytes()).unwrap();
        let mut back = vec![0; line.len()];
        stdout.read_exact(&mut back).unwrap();
        assert_eq!(back, line.as_bytes());
        assert!(written.elapsed() < Duration::from_secs(30));
        soon("the event arrives", || {
            let head = &server.get("/api/v1/sessions").1["sessions"][0]["head"];
            head.as_u64() == Some(n as u64 + 1)
        });
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn events_wait_while_the_server_is_away_and_arrive_when_it_is_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path());
    let address = server.address();
    let mut child = start(dir.path(), &["--wait", "20"]);
    let mut stdin = child.stdin.take().unwrap();
    let lines: Vec<&str> = SMALL.lines().collect();
    writeln!(stdin, "{}", lines[0]).unwrap();
    soon("the first event arrives", || {
        server.get("/api/v1/sessions/s1/events").0 == 200
    });
    server.kill();
    writeln!(stdin, "{}", lines[1]).unwrap();
    soon("the second waits", || {
        let spool = std::fs::read_dir(dir.path().join("spool")).unwrap();
        let mut texts = spool.map(|it| std::fs::read_to_string(it.unwrap().path()).unwrap());
        texts.any(|text| text.contains(r#""id":"b""#))
    });
    let server = Server::start_on(dir.path(), &address, &["--no-examples"]);
    writeln!(stdin, "{}", lines[2]).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), SMALL);
    let ids: Vec<_> = server.all("s1", 10).into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(spooled(dir.path()), 0);
}

#[test]
fn input_that_is_no_agents_goes_through_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let input = "total 12\n".repeat(20_000);
    let output = run(dir.path(), &["--wait", "0"], input.as_bytes());
    assert_eq!(output.stdout, input.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not a session log: line 1 is"), "{said}");
    assert!(said.contains("formats read are"), "{said}");
}

#[test]
fn an_agent_that_ends_before_it_says_anything_is_told_of_as_such() {
    let dir = tempfile::tempdir().unwrap();
    for more in [
        &["--wait", "0"][..],
        &["--wait", "0", "--from", "codex-exec"],
    ] {
        let output = run(dir.path(), more, b"");
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            said,
            "turnreel pipe: the input ended before anything came\n"
        );
    }
}

#[test]
fn what_comes_after_a_reader_has_left_is_recorded_and_that_is_said_once() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut child = start(dir.path(), &PATIENT);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    for line in SMALL.lines() {
        // The first words may still find a reader: a process that another test is starting holds our end until it runs
        // its program.
        std::thread::sleep(Duration::from_millis(300));
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("nobody reads the output").count(), 1, "{said}");
    assert_eq!(server.all("s1", 10).len(), 3);
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_a_fault_and_the_session_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let full = std::fs::File::options().write(true).open("/dev/full");
    let mut child = Command::new(PROGRAM)
        .args(["pipe", "--data"])
        .arg(dir.path())
        .args(PATIENT)
        .env_remove("TURNREEL_ENDPOINT")
        .env_remove("TURNREEL_TOKEN")
        .stdin(std::process::Stdio::piped())
        .stdout(full.unwrap())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in SMALL.lines() {
        writeln!(stdin, "{line}").unwrap();
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    let told = "could not write the output: No space left";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    assert_eq!(server.all("s1", 10).len(), 3);
}

#[cfg(unix)]
#[test]
fn ctrl_c_lets_the_agent_finish_and_the_second_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let mut child = start(dir.path(), &[]);
    let mut stdin = child.stdin.take().unwrap();
    let lines: Vec<&str> = SMALL.lines().collect();
    writeln!(stdin, "{}", lines[0]).unwrap();
    soon("the first event arrives", || {
        server.get("/api/v1/sessions/s1/events").0 == 200
    });
    support::signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(200));
    writeln!(stdin, "{}", lines[1]).unwrap();
    soon("the agent's last words arrive", || {
        server.all("s1", 10).len() == 2
    });
    support::signal(&child, "INT");
    support::wait_for(&mut child, support::PATIENCE);
}

/// What a pipe hands on goes one way: nobody is to be asked for an answer that would never arrive.
#[test]
fn what_an_agent_asks_in_a_pipe_is_answered_where_it_runs() {
    let Some(path) = support::shared("recordings/claude-code/approvals.stream.jsonl") else {
        return;
    };
    let input = std::fs::read_to_string(path).unwrap();
    // Up to the first thing it asks: it waits.
    let n_lines = 1 + input
        .lines()
        .position(|line| line.contains("can_use_tool"))
        .unwrap();
    let asked: String = input.split_inclusive('\n').take(n_lines).collect();
    for (more, answerable, status) in [
        (&[][..], serde_json::json!(false), 409),
        (&["--takes-answers"], serde_json::Value::Null, 200),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let server = Server::start(dir.path());
        let mut child = start(dir.path(), more);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(asked.as_bytes()).unwrap();
        let mut request = serde_json::Value::Null;
        soon("the request arrives", || {
            let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
            let Some(id) = row["id"].as_str() else {
                return false;
            };
            let (_, page) = server.get(&format!("/api/v1/sessions/{id}/events"));
            let events = page["events"].as_array().unwrap();
            let found = events
                .iter()
                .find(|event| event["type"] == "permission_request");
            request = found.cloned().unwrap_or_default();
            found.is_some()
        });
        assert_eq!(request["payload"]["answerable"], answerable, "{request}");
        let session = request["sessionId"].as_str().unwrap();
        let id = request["payload"]["requestId"].as_str().unwrap();
        let (answered, said) = server.ask(
            "POST",
            &format!("/api/v1/sessions/{session}/permissions/{id}"),
            &server.token,
            r#"{"decision": "allow"}"#,
        );
        assert_eq!(answered, status, "{said}");
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}
