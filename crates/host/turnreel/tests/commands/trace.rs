//! `turnreel trace`: its lines on both streams, while a file grows and while a server holds the folder.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::{self, PROGRAM, Server};
use chat_event::{ChatEvent, Payload};
use chat_feed::projections::to_tool_trace;
use chat_feed::projections::trace::Verbosity;
use serde_json::json;

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions")
}

fn session(name: &str) -> String {
    sessions().join(name).to_string_lossy().into_owned()
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("trace").args(args);
    for name in ["NO_COLOR", "CLICOLOR_FORCE", "TURNREEL_DATA"] {
        command.env_remove(name);
    }
    command
}

fn trace(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn traces_and_results_go_to_their_streams() {
    let output = trace(&[&session("read-edit/input.stream.jsonl")]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        text(&output.stderr),
        "\
[1] ▶ Turn 1
[TOOL] read: README.md (3 lines, 33B)
[TOOL] edit: README.md (+2 −0)
[1] ✓ Turn 1 (1.5s, 4k tokens, $0.02)
"
    );
    let answer = "Done! I added a line at the end of README.md.\n";
    assert_eq!(text(&output.stdout), answer);
    let output = trace(&["--quiet", &session("read-edit/input.stream.jsonl")]);
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        (answer.to_owned(), String::new())
    );
    let output = trace(&["--verbose", &session("read-edit/input.stream.jsonl")]);
    let told = text(&output.stderr);
    assert_eq!(text(&output.stdout), answer);
    for line in [
        "  │ ∴ The user wants a new last line. I read the file first.",
        "[TOOL] read: README.md (running…)",
        "📝 README.md (modified, +2 −0)",
        "│ + Added by the agent.",
    ] {
        assert!(told.lines().any(|known| known == line), "{line}\n{told}");
    }
}

#[test]
fn several_sessions_are_told_apart_line_by_line() {
    let output = trace(&[
        &session("bash/events.jsonl"),
        &session("subagent/events.jsonl"),
    ]);
    assert_eq!(output.status.code(), Some(0));
    for stream in [text(&output.stdout), text(&output.stderr)] {
        assert!(
            stream
                .lines()
                .all(|line| line.starts_with("60fffeb3 ") || line.starts_with("a304d5e0 "))
        );
        assert!(stream.contains("60fffeb3 ") && stream.contains("a304d5e0 "));
    }
}

#[test]
fn colours_are_as_the_environment_wants_them() {
    let file = session("read-edit/events.jsonl");
    let told = |vars: &[(&str, &str)]| {
        let output = command(&[&file])
            .envs(vars.iter().copied())
            .output()
            .unwrap();
        text(&output.stderr)
    };
    assert!(!told(&[]).contains('\u{1b}'), "no terminal, no colours");
    assert!(told(&[("CLICOLOR_FORCE", "1")]).contains("\u{1b}[1;32m[1] ✓"));
    assert!(!told(&[("CLICOLOR_FORCE", "0")]).contains('\u{1b}'));
    assert!(!told(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}

#[test]
fn the_exit_says_what_could_not_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let notes = dir.path().join("notes.txt");
    std::fs::write(&notes, "no session\n").unwrap();
    let notes = notes.to_str().unwrap();
    let good = session("codex-exec/input.exec.jsonl");
    assert_eq!(trace(&[notes]).status.code(), Some(2));
    assert_eq!(trace(&[notes, &good]).status.code(), Some(1));
    let data = dir.path().to_str().unwrap();
    let output = trace(&["--data", data, "no-such-session"]);
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stderr);
    assert!(told.contains("no file, and no session"), "{told}");
    assert!(told.contains(data), "{told}");
    // A session that no server has taken yet is not lost.
    for more in [
        &[][..],
        &["--endpoint", "http://127.0.0.1:9", "--token", "t"],
    ] {
        let mut args = vec!["--wait", "0", "--data", data, "--session", "waits"];
        args.extend(more);
        let input = std::fs::read(&good).unwrap();
        support::command::run("pipe", &args, &input);
        let told = text(&trace(&["--data", data, "waits"]).stderr);
        assert!(told.contains("wait for their server in "), "{told}");
        let told = told.split("server in ").nth(1).unwrap().trim();
        std::fs::remove_file(told).unwrap();
    }
    // What is there and cannot be opened is not said to be missing.
    let below = format!("{notes}/s.jsonl");
    let told = text(&trace(&[&below]).stderr);
    assert!(told.contains("could not open: "), "{told}");
    assert_eq!(
        trace(&["--quiet", "--verbose", &good]).status.code(),
        Some(2)
    );
}

/// Every recorded session: what the program tells, read in pieces, is what the finished log gives.
#[test]
fn recorded_sessions_are_told_whole() {
    let mut n_sessions = 0;
    for entry in std::fs::read_dir(sessions()).unwrap() {
        let path = entry.unwrap().path().join("events.jsonl");
        let Ok(log) = std::fs::read_to_string(&path) else {
            continue;
        };
        n_sessions += 1;
        let events: Vec<_> = log
            .lines()
            .map(|line| ChatEvent::from_json(line).unwrap())
            .collect();
        let called = |event: &ChatEvent| match &event.payload {
            Payload::ToolCall(call) => Some(call.tool_call_id.clone()),
            _ => None,
        };
        let calls: std::collections::BTreeSet<_> = events.iter().filter_map(called).collect();
        let afterwards = to_tool_trace(&events, Verbosity::Normal);
        let told = afterwards
            .lines()
            .filter(|line| line.contains("[TOOL] "))
            .count();
        assert!(told >= calls.len(), "{}\n{afterwards}", path.display());
        assert!(!afterwards.contains("(running"), "{afterwards}");
        // Standard error and standard output in one, as on a terminal.
        let merged = tempfile::NamedTempFile::new().unwrap();
        let status = command(&[path.to_str().unwrap()])
            .stdout(merged.reopen_to_append())
            .stderr(merged.reopen_to_append())
            .status()
            .unwrap();
        assert!(status.success());
        let live = std::fs::read_to_string(merged.path()).unwrap();
        assert_eq!(live, afterwards, "{}", path.display());
    }
    assert!(n_sessions >= 10);
}

trait ReopenToAppend {
    fn reopen_to_append(&self) -> Stdio;
}

impl ReopenToAppend for tempfile::NamedTempFile {
    fn reopen_to_append(&self) -> Stdio {
        let file = std::fs::OpenOptions::new().append(true).open(self.path());
        file.unwrap().into()
    }
}

/// A trace that goes on, and its lines as they come.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn start(args: &[&str], stdin: Stdio) -> Following {
        let mut child = command(args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (told, lines) = channel();
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        for stream in streams {
            let told = told.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines() {
                    let _ = told.send(line.unwrap());
                }
            });
        }
        Following { child, lines }
    }

    fn next(&self) -> String {
        let line = self.lines.recv_timeout(support::PATIENCE);
        line.expect("a line comes")
    }

    fn is_silent(&self) -> bool {
        self.lines.recv_timeout(Duration::from_millis(400)).is_err()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(nth: u32, event_type: &str, payload: &serde_json::Value) -> String {
    let event = json!({
        "id": format!("e{nth}"), "timestamp": nth * 100, "sessionId": "s1", "turnId": "t1",
        "type": event_type, "payload": payload,
    });
    format!("{event}\n")
}

#[test]
fn a_file_is_followed_until_its_session_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let mut file = std::fs::File::create(&path).unwrap();
    let mut write = |text: &str| file.write_all(text.as_bytes()).unwrap();
    write(&line(0, "user_message", &json!({"text": "Build it"})));
    let mut following = Following::start(&["--follow", path.to_str().unwrap()], Stdio::null());
    assert_eq!(following.next(), "[1] ▶ Build it");
    let call = line(
        1,
        "tool_call",
        &json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}}),
    );
    let (first, rest) = call.split_at(20);
    write(first);
    assert!(following.is_silent(), "half a line is no line");
    write(rest);
    write(&line(
        3,
        "tool_result",
        &json!({"toolCallId": "c", "exitCode": 0}),
    ));
    assert_eq!(following.next(), "[TOOL] bash: make (exit 0) — 0.2s");
    write(&line(4, "assistant_done", &json!({"text": "Built."})));
    assert!(
        following.is_silent(),
        "the end of the file is not the end of the session"
    );
    write(&line(5, "turn_end", &json!({})));
    let end = [following.next(), following.next()];
    assert!(end.contains(&"[1] ✓ Build it (0.5s)".to_owned()), "{end:?}");
    assert!(end.contains(&"Built.".to_owned()), "{end:?}");
    write(&line(6, "session_end", &json!({"reason": "done"})));
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_log_that_is_removed_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, line(0, "user_message", &json!({"text": "Go"}))).unwrap();
    let mut following = Following::start(&["-f", path.to_str().unwrap()], Stdio::null());
    assert_eq!(following.next(), "[1] ▶ Go");
    std::fs::remove_file(&path).unwrap();
    let told = "turnreel trace: the session's log was removed: ";
    assert_eq!(following.next(), format!("{told}{}", path.display()));
    let status = support::wait_for(&mut following.child, support::PATIENCE);
    assert_eq!(status.code(), Some(1));
}

/// As programs save that write beside a file and rename what they wrote.
#[cfg(unix)]
#[test]
fn a_file_that_another_took_the_place_of_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (dir.path().join("s.jsonl"), dir.path().join("new"));
    let first = line(0, "user_message", &json!({"text": "Go"}));
    std::fs::write(&path, &first).unwrap();
    let mut following = Following::start(&["-f", path.to_str().unwrap()], Stdio::null());
    assert_eq!(following.next(), "[1] ▶ Go");
    // It is no shorter.
    std::fs::write(&new, first + &line(1, "turn_end", &json!({}))).unwrap();
    std::fs::rename(&new, &path).unwrap();
    let told = "turnreel trace: another file took its place while it was followed: ";
    assert_eq!(following.next(), format!("{told}{}", path.display()));
    let status = support::wait_for(&mut following.child, support::PATIENCE);
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_log_that_goes_on_in_a_new_file_is_followed_there() {
    let dir = tempfile::tempdir().unwrap();
    let (path, sealed) = (
        dir.path().join("s.events.jsonl"),
        dir.path().join("s.0001.events.jsonl"),
    );
    std::fs::write(&path, line(0, "user_message", &json!({"text": "Go"}))).unwrap();
    let mut following = Following::start(&["-f", path.to_str().unwrap()], Stdio::null());
    assert_eq!(following.next(), "[1] ▶ Go");
    std::fs::rename(&path, sealed).unwrap();
    let mut newest = std::fs::File::create(&path).unwrap();
    let mut write = |text: &str| newest.write_all(text.as_bytes()).unwrap();
    write(&line(1, "assistant_done", &json!({"text": "One"})));
    // Longer than a file is missed.
    let is_silent = (0..4).all(|_| following.is_silent());
    assert!(is_silent, "nothing is wrong with it");
    write(&line(2, "turn_end", &json!({})));
    write(&line(3, "session_end", &json!({})));
    let end = [following.next(), following.next()];
    assert!(end.contains(&"One".to_owned()), "{end:?}");
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_looking_and_not_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let call = line(
        1,
        "tool_call",
        &json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}}),
    );
    std::fs::write(&path, call).unwrap();
    // As a shell says of a program that the signal itself ended.
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut following = Following::start(&["-f", path.to_str().unwrap()], Stdio::null());
        assert_eq!(following.next(), "[1] ▶ Turn 1");
        support::signal(&following.child, signal);
        assert_eq!(following.child.wait().unwrap().code(), Some(code));
        assert!(
            following.lines.iter().next().is_none(),
            "nothing is told as ended"
        );
    }
}

#[test]
fn standard_input_is_told_as_it_comes() {
    let mut following = Following::start(&["-"], Stdio::piped());
    let mut stdin = following.child.stdin.take().unwrap();
    let first = line(0, "user_message", &json!({"text": "Go"}));
    stdin.write_all(first.as_bytes()).unwrap();
    assert_eq!(following.next(), "[1] ▶ Go");
    drop(stdin);
    assert_eq!(following.next(), "[1] ✓ Go");
    assert_eq!(following.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_session_is_read_while_the_server_holds_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path());
    let events = json!([
        {"id": "a", "timestamp": 1, "sessionId": "s1", "turnId": "t", "type": "user_message", "payload": {"text": "Hello"}},
        {"id": "b", "timestamp": 2, "sessionId": "s1", "turnId": "t", "type": "assistant_done", "payload": {"text": "Hi"}},
    ]);
    assert_eq!(server.post("s1", &events).0, 200);
    let data = dir.path().to_str().unwrap();
    let output = trace(&["--data", data, "s1"]);
    assert_eq!(text(&output.stderr), "[1] ▶ Hello\n[1] ✓ Hello\n");
    assert_eq!(text(&output.stdout), "Hi\n");
    assert_eq!(output.status.code(), Some(0));
    // The beginning of an id is enough where it is one session's; where not, it says which there are.
    let other =
        json!([{"id": "a", "timestamp": 1, "type": "user_message", "payload": {"text": "x"}}]);
    assert_eq!(server.post("Abc-1", &other).0, 200);
    assert_eq!(
        text(&trace(&["--data", data, "abc"]).stderr),
        "[1] ▶ x\n[1] ✓ x\n"
    );
    assert_eq!(server.post("Abc-2", &other).0, 200);
    let said = text(&trace(&["--data", data, "abc"]).stderr);
    assert!(
        said.ends_with("several sessions begin with abc: Abc-1, Abc-2\n"),
        "{said}"
    );
    // And as it goes on.
    let following = Following::start(&["--follow", "--data", data, "s1"], Stdio::null());
    assert_eq!(following.next(), "[1] ▶ Hello");
    let more = json!([
        {"id": "c", "timestamp": 3, "sessionId": "s1", "turnId": "t", "type": "turn_end", "payload": {}},
    ]);
    assert_eq!(server.post("s1", &more).0, 200);
    let end = [following.next(), following.next()];
    assert!(
        end.contains(&"Hi".to_owned()) && end.contains(&"[1] ✓ Hello".to_owned()),
        "{end:?}"
    );
}

/// Who asks for a session has to know which there are.
#[test]
fn sessions_are_listed_and_named_by_their_ids_while_a_server_holds_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    let list = |more: &[&str]| {
        let args = [&["--data", data], more].concat();
        let output = support::command::run("list", &args, b"");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    // Before the first start there is no folder.
    let none = dir.path().join("none");
    let none = none.to_str().unwrap();
    let output = support::command::run("list", &["--data", none], b"");
    assert_eq!(output.status.code(), Some(0));
    let said = format!("no sessions yet in {none}; start `turnreel`\n");
    assert_eq!(
        (text(&output.stdout), text(&output.stderr)),
        (String::new(), said)
    );
    let server = Server::start_on(dir.path(), "127.0.0.1:0", &["--no-examples"]);
    assert_eq!(list(&[]), "");
    let log = [
        line(0, "user_message", &json!({"text": "Build\tit"})),
        line(1, "turn_end", &json!({})),
    ];
    let events: Vec<serde_json::Value> = log
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(server.post("s1", &json!(events)).0, 200);
    let row: serde_json::Value = serde_json::from_str(&list(&["--json"])).unwrap();
    assert_eq!(
        (&row["id"], &row["events"], &row["status"], &row["state"]),
        (&json!("s1"), &json!(2), &json!("idle"), &json!("done"))
    );
    let told = list(&[]);
    // What came long after it happened is as old as it is.
    let fields: Vec<&str> = told.split('\t').collect();
    assert_eq!((fields[0], fields[1], fields[3]), ("s1", "done", "2"));
    assert!(
        fields[2].ends_with(" d") && fields[5].starts_with("Build"),
        "{told}"
    );
    // The beginning of an id is enough for all that read.
    let out = dir.path().join("out.jsonl");
    for args in [
        &["convert", "s", "--data", data][..],
        &["compact", "s", "--data", data, "-o", out.to_str().unwrap()],
        &["export", "s", "--data", data, "--to", "jsonl"],
    ] {
        let output = support::command::run(args[0], &args[1..], b"");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let told = support::command::run("compact", &["no.jsonl", "--data", data], b"");
    assert!(text(&told.stderr).contains("no file, and no session"));
    // A file in the place of a command.
    let told = Command::new(PROGRAM).arg(&out).output().unwrap();
    let said = text(&told.stderr);
    assert!(said.contains("turnreel export "), "{said}");
    assert_eq!(told.status.code(), Some(2));
}

#[test]
fn a_folder_that_cannot_be_looked_for_is_not_told_as_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let below = file.join("data");
    let output = support::command::run("list", &["--data", below.to_str().unwrap()], b"");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("could not read ") && !said.contains("no sessions yet"),
        "{said}"
    );
}

#[test]
fn a_packed_file_is_told_like_the_file_itself() {
    let dir = tempfile::tempdir().unwrap();
    let input = session("codex-rollout/input.rollout.jsonl");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&std::fs::read(&input).unwrap()).unwrap();
    let packed = dir.path().join("a.jsonl.gz");
    std::fs::write(&packed, packer.finish().unwrap()).unwrap();
    let output = trace(&[&packed.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&trace(&[&input]).stdout));
}
