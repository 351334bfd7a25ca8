//! Pipes that tell of one session: at once, one after the other, and one that is killed.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Command};
use std::time::Duration;

use super::pipe::{PATIENT, run, spooled, start};
use crate::support::{self, PROGRAM, Server, soon};

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
