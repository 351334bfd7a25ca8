//! `turnreel pipe`: what goes through, what arrives, and what waits.

use std::collections::BTreeMap;
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

/// How often each thing stands in the session's log that a person sees.
fn standing(server: &Server) -> (String, BTreeMap<String, usize>) {
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    let id = row["id"].as_str().unwrap();
    let page = server.get(&format!("/api/v1/sessions/{id}/events?limit=1000"));
    let mut standing = BTreeMap::new();
    for event in page.1["events"].as_array().unwrap() {
        let payload = &event["payload"];
        let kind = event["type"].as_str().unwrap();
        let what = match kind {
            "turn_start" | "turn_end" => String::new(),
            "tool_call" | "tool_result" | "file_edit" => payload["toolCallId"].to_string(),
            "user_message" | "assistant_done" | "thinking_done" => payload["text"].to_string(),
            _ => continue,
        };
        *standing.entry(format!("{kind} {what}")).or_default() += 1;
    }
    (row["status"].to_string(), standing)
}

/// A stream in a pipe and the log of the same run, followed: neither knows of the other, and both say most of it.
#[test]
fn what_two_pipes_tell_of_one_session_stands_once() {
    let read = |name: &str| {
        let path = support::shared(&format!("recordings/claude-code/read-edit.{name}"))?;
        Some(std::fs::read_to_string(path).unwrap())
    };
    let (Some(stream), Some(log)) = (
        read("stream.jsonl"),
        read("transcript.3e43c5a0-2358-42e6-a068-598b5a468dcd.jsonl"),
    ) else {
        return;
    };
    let mut seen = Vec::new();
    for how in ["one by one", "side by side", "while the server is away"] {
        let dir = tempfile::tempdir().unwrap();
        let mut said = Vec::new();
        let mut end = |child: Child| said.extend(child.wait_with_output().unwrap().stderr);
        let server = match how {
            "one by one" => {
                let server = Server::start(dir.path());
                for input in [&stream, &log, &stream] {
                    let mut child = start(dir.path(), &PATIENT);
                    let mut stdin = child.stdin.take().unwrap();
                    stdin.write_all(input.as_bytes()).unwrap();
                    drop(stdin);
                    end(child);
                }
                server
            }
            "side by side" => {
                let server = Server::start(dir.path());
                let mut children = [(); 2].map(|()| start(dir.path(), &PATIENT));
                let mut stdins = children.each_mut().map(|child| child.stdin.take().unwrap());
                let mut lines = [stream.lines(), log.lines()];
                // The log has fewer lines for the same.
                for turn in 0.. {
                    let one = lines[0].next();
                    let other = (turn % 3 == 0).then(|| lines[1].next()).flatten();
                    for (stdin, line) in stdins.iter_mut().zip([one, other]) {
                        if let Some(line) = line {
                            writeln!(stdin, "{line}").unwrap();
                        }
                    }
                    std::thread::sleep(Duration::from_millis(20));
                    if one.is_none() && lines[1].clone().next().is_none() {
                        break;
                    }
                }
                drop(stdins);
                children.into_iter().for_each(&mut end);
                server
            }
            _ => {
                for input in [&stream, &log] {
                    run(dir.path(), &["--wait", "0"], input.as_bytes());
                }
                assert_eq!(spooled(dir.path()), 2);
                let server = Server::start(dir.path());
                soon("all is taken in", || spooled(dir.path()) == 0);
                server
            }
        };
        assert_eq!(String::from_utf8_lossy(&said), "", "{how}");
        let (status, standing) = standing(&server);
        assert!(standing.values().all(|n| *n == 1), "{how}: {standing:#?}");
        assert!(standing.contains_key("turn_end "), "{how}: {standing:#?}");
        // The stream does not have it.
        let asked = |what: &String| what.starts_with("user_message");
        assert_eq!(standing.keys().filter(|what| asked(what)).count(), 1);
        assert_eq!(status, "\"ended\"", "{how}");
        seen.push(standing);
    }
    assert!(
        seen.iter().all(|standing| *standing == seen[0]),
        "{seen:#?}"
    );
}

/// Nobody else could tell that it is gone.
#[cfg(unix)]
#[test]
fn a_session_whose_pipe_was_killed_has_ended_unless_another_goes_on_with_it() {
    let line = |id: &str, text: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","sessionId":"s1","timestamp":"2026-01-01T00:00:0{id}.000Z","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &["--no-examples"]);
    let status = || {
        let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
        row["status"].as_str().unwrap_or_default().to_owned()
    };
    let begin = |lines: &[String]| {
        let mut child = start(dir.path(), &["--from", "claude-transcript"]);
        let mut stdin = child.stdin.take().unwrap();
        lines
            .iter()
            .for_each(|line| writeln!(stdin, "{line}").unwrap());
        (child, stdin)
    };
    let said = [line("1", "Hello"), line("2", "Go on")];
    let (mut child, _stdin) = begin(&said[..1]);
    soon("it runs", || status() == "busy");
    child.kill().unwrap();
    child.wait().unwrap();
    // It is followed anew, from the beginning.
    let (mut child, _stdin) = begin(&said);
    soon("what was left is taken", || spooled(dir.path()) == 1);
    soon("it goes on", || {
        server.all("s1", 100).len() > 6 && status() == "busy"
    });
    child.kill().unwrap();
    child.wait().unwrap();
    soon("it has ended", || status() == "ended");
    soon("what was left is taken", || spooled(dir.path()) == 0);
}

#[test]
fn the_token_is_read_from_the_file_that_is_named() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(dir.path());
    let file = dir.path().join("token");
    let named = [
        "--endpoint",
        &server.url,
        "--token-file",
        file.to_str().unwrap(),
        "--wait",
        "60",
    ];
    let output = run(other.path(), &named, SMALL.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(server.all("s1", 10).len(), 3);
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

#[test]
fn one_event_over_the_servers_limit_arrives_with_its_body_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let body = "0123456789abcdef".repeat(700_000);
    let line = format!(
        r#"{{"id":"big","timestamp":1,"sessionId":"s1","type":"tool_result","payload":{{"toolCallId":"t","result":"{body}"}}}}"#
    );
    let output = run(dir.path(), &PATIENT, format!("{line}\n").as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let (status, whole) = server.get("/api/v1/sessions/s1/events/big/full");
    assert_eq!(status, 200);
    assert_eq!(
        whole["payload"]["result"].as_str().map(str::len),
        Some(body.len())
    );
}

#[test]
fn a_wrong_token_and_a_far_endpoint_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let output = run(
        dir.path(),
        &["--token", "wrong", "--wait", "1"],
        SMALL.as_bytes(),
    );
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("401"), "{said}");
    assert!(said.contains("they wait in"), "{said}");
    drop(server);
    let output = run(dir.path(), &["--endpoint", "https://example.org"], b"");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("https"), "{said}");
}

#[test]
fn what_a_token_of_another_session_cannot_send_waits_for_one_that_can() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let token = support::make_token(&server, &["--scope", "ingest", "--session", "s2"]);
    let more = ["--token", &token, "--wait", "1"];
    let output = run(dir.path(), &more, SMALL.as_bytes());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("404"), "{said}");
    assert!(said.contains("they wait in"), "{said}");
    assert_eq!(spooled(dir.path()), 1);
    assert!(run(dir.path(), &[], b"").stdout.is_empty());
    soon("it is sent with the server's own", || {
        spooled(dir.path()) == 0
    });
    assert_eq!(server.all("s1", 10).len(), 3);
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

/// `codex exec resume` says of each run what the run before said: nothing in its stream tells them apart.
#[test]
fn runs_that_say_the_same_are_turns_of_one_session() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let input = concat!(
        r#"{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}"#,
        "\n",
        r#"{"type":"turn.started"}"#,
        "\n",
        r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}"#,
        "\n",
        r#"{"type":"turn.completed","usage":{"input_tokens":9,"cached_input_tokens":0,"output_tokens":1}}"#,
        "\n",
    );
    let more: [&[&str]; 4] = [&["--prompt", "Go on"], &["--prompt", "Go on"], &[], &[]];
    for more in more {
        let more = [more, &PATIENT].concat();
        let output = run(dir.path(), &more, input.as_bytes());
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
    let row = server.get("/api/v1/sessions").1["sessions"][0].clone();
    let here = std::env::current_dir().unwrap();
    assert_eq!(row["cwd"], here.to_str().unwrap(), "{row}");
    // It is where the pipe runs; `codex exec -C` may run elsewhere.
    assert_eq!(row["cwdGuessed"], true, "{row}");
    assert_eq!(row["status"], "ended", "{row}");
    let path = format!(
        "/api/v1/sessions/{}/events?limit=1000",
        row["id"].as_str().unwrap()
    );
    let page = server.get(&path).1;
    let count = |kind: &str| {
        let events = page["events"].as_array().unwrap();
        events.iter().filter(|event| event["type"] == kind).count()
    };
    let told = ["turn_start", "user_message", "assistant_done", "turn_end"].map(count);
    assert_eq!(told, [4, 2, 4, 4], "{page}");
    // A file is a run that was recorded: read again it is the same.
    let file = dir.path().join("run.jsonl");
    std::fs::write(&file, input).unwrap();
    let read = || {
        let child = Command::new(PROGRAM)
            .args(["pipe", "--session", "file", "--data"])
            .arg(dir.path())
            .args(PATIENT)
            .stdin(std::fs::File::open(&file).unwrap())
            .output()
            .unwrap();
        assert!(child.status.success());
        server.all("file", 1000).len()
    };
    assert_eq!(read(), read());
}

#[test]
fn what_the_server_refuses_is_kept_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let event = |id: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":1,"sessionId":"s1","type":"user_message","payload":{{"text":"{text}"}}}}"#
        ) + "\n"
    };
    run(dir.path(), &PATIENT, event("a", "One").as_bytes());
    let other = event("a", "Other");
    let refused = [other.clone(), event("b", "Two") + &other];
    for (n, input) in refused.iter().enumerate() {
        let output = run(dir.path(), &PATIENT, input.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("1 event is not in the session"), "{said}");
        // Once, however it is found out.
        let told = "1 event of s1 stood there in other words: another source tells of this session";
        assert!(said.contains(told), "{said}");
        assert!(!said.contains("could not send"), "{said}");
        let kept = dir.path().join("spool/refused/s1.jsonl");
        assert!(said.contains(&kept.display().to_string()), "{said}");
        let kept = std::fs::read_to_string(kept).unwrap();
        assert_eq!(kept.matches(r#""text":"Other""#).count(), n + 1, "{kept}");
    }
    assert_eq!(server.all("s1", 10).len(), 2);
    assert_eq!(spooled(dir.path()), 0);
    // What waits for a server to start is not lost either.
    drop(server);
    run(dir.path(), &["--wait", "0"], other.as_bytes());
    let server = Server::start(dir.path());
    soon("it is taken in", || spooled(dir.path()) == 0);
    let kept = std::fs::read_to_string(dir.path().join("spool/refused/s1.jsonl")).unwrap();
    assert_eq!(kept.matches(r#""text":"Other""#).count(), 3, "{kept}");
    assert_eq!(server.all("s1", 10).len(), 2);
}

/// It asks to wait each time, and takes nothing.
#[test]
fn a_server_that_can_take_nothing_is_not_waited_for_longer_than_asked() {
    for status in ["507 Full", "503 Later"] {
        let dir = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        // Ends with the test's process.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut piece = [0; 4096];
                let _ = stream.read(&mut piece);
                let answer = format!(
                    "HTTP/1.1 {status}\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let more = ["--wait", "3", "--endpoint", &url, "--token", "t"];
        let mut child = start(dir.path(), &more);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(SMALL.as_bytes()).unwrap();
        drop(stdin);
        assert!(support::wait_for(&mut child, Duration::from_secs(40)).success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("they wait in"), "{said}");
    }
}

/// An agent is not to be stopped because its events cannot be kept.
#[test]
fn what_cannot_be_kept_is_passed_on_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(
        dir.path(),
        &["--endpoint", "https://feed.example.org"],
        SMALL.as_bytes(),
    );
    assert_eq!(command::text(&output.stdout), SMALL);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        command::text(&output.stderr).contains("all is passed on: "),
        "{output:?}"
    );
}
