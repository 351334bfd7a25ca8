//! `turnreel compact`: what is made of a log, what it refuses, and that a stop at any moment costs nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use chat_event::ChatEvent;
use chat_event::compaction::Folded;
use chat_store::{Options, PageRequest, SessionId, Store};
use serde_json::{Value, json};

use crate::support::command::{self, text};
use crate::support::dice::Dice;
use crate::support::{PROGRAM, Server};

/// Events of a session with long texts that came in small pieces.
pub(super) fn events(n_turns: usize) -> Vec<ChatEvent> {
    let mut events = Vec::new();
    let mut at_ms = 1_703_001_234_000i64;
    let mut add = |turn: usize, event_type: &str, payload: Value| {
        at_ms += 7 + (at_ms % 13);
        let line = json!({"id": format!("e:{}", events.len()), "timestamp": at_ms, "sessionId": "s1", "type": event_type,
            "turnId": format!("t{turn}"), "responseId": format!("r{turn}"), "payload": payload});
        events.push(ChatEvent::from_json(&line.to_string()).unwrap());
    };
    for turn in 0..n_turns {
        add(turn, "turn_start", json!({"trigger": "user"}));
        add(
            turn,
            "user_message",
            json!({"text": format!("Prompt {turn}")}),
        );
        let words: Vec<String> = (0..60)
            .map(|nth| format!("word{} ", (nth * 7 + turn) % 40))
            .collect();
        for word in &words {
            add(turn, "thinking_chunk", json!({"text": word, "part": 0}));
        }
        add(
            turn,
            "thinking_done",
            json!({"text": words.concat(), "part": 0}),
        );
        for word in &words {
            add(turn, "assistant_chunk", json!({"text": word, "part": 0}));
        }
        add(
            turn,
            "assistant_done",
            json!({"text": words.concat(), "part": 0, "mood": {"a": 1.0}}),
        );
        add(
            turn,
            "tool_call",
            json!({"toolCallId": format!("c{turn}"), "toolName": "Bash", "args": {"command": "make"}}),
        );
        let lines: Vec<String> = (0..30).map(|nth| format!("line {nth}\n")).collect();
        for line in &lines {
            add(
                turn,
                "tool_output_chunk",
                json!({"toolCallId": format!("c{turn}"), "chunk": line, "stream": "stdout"}),
            );
        }
        add(
            turn,
            "tool_result",
            json!({"toolCallId": format!("c{turn}"), "result": lines.concat(), "exitCode": 0}),
        );
        add(turn, "agent_dance", json!({"steps": [1, 2.50]}));
        add(turn, "turn_end", json!({"outcome": "completed"}));
    }
    add(0, "session_end", json!({"reason": "done"}));
    events
}

pub(super) fn id() -> SessionId {
    SessionId::parse("s1").unwrap()
}

/// A data folder with the session; segments of so many bytes.
pub(super) fn stored(dir: &Path, events: &[ChatEvent], segment_bytes: u64) {
    let options = Options {
        segment_bytes,
        ..Options::default()
    };
    let store = Store::open(dir, options).unwrap();
    let session = store.session_or_new(&id()).unwrap();
    for batch in events.chunks(100) {
        session
            .append(batch.to_vec(), false, 1_703_009_000_000)
            .unwrap();
    }
    store.close();
}

/// The session as a server would give it: the lines, and the events they stand for.
pub(super) fn read(dir: &Path) -> (usize, Vec<ChatEvent>) {
    let store = Store::open(dir, Options::default()).unwrap();
    let session = store.session(&id()).unwrap();
    assert_eq!(session.damaged_lines(), 0);
    let (mut n_lines, mut after, mut events) = (0, 0, Vec::new());
    loop {
        let page = session
            .page(PageRequest {
                after,
                limit: 100,
                max_bytes: 1 << 20,
            })
            .unwrap();
        assert_eq!(page.gaps, []);
        for line in &page.lines {
            n_lines += 1;
            events.extend(parts(&ChatEvent::from_json(line).unwrap()));
        }
        after = page.next;
        if after >= page.head {
            break;
        }
    }
    for (seq, event) in (1..).zip(&mut events) {
        assert_eq!(event.seq, Some(seq), "no number is missing");
        (event.seq, event.recv) = (None, None);
        event.extra.remove("c");
    }
    (n_lines, events)
}

/// The events that one stands for.
pub(super) fn parts(event: &ChatEvent) -> Vec<ChatEvent> {
    match Folded::of(event) {
        Some(folded) => folded.events().collect(),
        None => vec![event.clone()],
    }
}

fn run(args: &[&str], stdin: Option<&[u8]>) -> Output {
    command::run("compact", args, stdin.unwrap_or_default())
}

/// The beginning of the session's id is enough.
pub(super) fn compact(dir: &Path) -> Output {
    run(&["s", "--data", &dir.to_string_lossy()], None)
}

/// What lies in a folder and may change, with its bytes.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".events.jsonl"));
    paths.sort();
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    paths.into_iter().map(read).collect()
}

#[test]
fn a_session_is_shorter_says_the_same_and_is_compacted_once() {
    for segment_bytes in [u64::MAX, 40_000] {
        let dir = tempfile::tempdir().unwrap();
        let events = events(12);
        stored(dir.path(), &events, segment_bytes);
        assert_eq!(files(dir.path()).len() > 2, segment_bytes < u64::MAX);
        let summary = |dir: &Path| {
            let store = Store::open(dir, Options::default()).unwrap();
            store.session(&id()).unwrap().summary()
        };
        let before = (summary(dir.path()), read(dir.path()));
        let output = compact(dir.path());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        assert!(said.contains("times fewer"), "{said}");
        let after = read(dir.path());
        assert_eq!(after.1, events);
        assert!(
            before.1.0 > 5 * after.0,
            "{} lines to {}",
            before.1.0,
            after.0
        );
        assert_eq!(summary(dir.path()), before.0);
        let leftovers = std::fs::read_dir(dir.path()).unwrap();
        let mut names =
            leftovers.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        assert!(!names.any(|name| name.contains("compacting")));
        // Again: nothing changes.
        let once = files(dir.path());
        let output = compact(dir.path());
        assert!(
            text(&output.stdout).contains("nothing to fold"),
            "{}",
            text(&output.stdout)
        );
        assert_eq!(files(dir.path()), once);
        manifest_holds(dir.path());
    }
}

/// What the manifest says of each segment is so.
fn manifest_holds(dir: &Path) {
    let segments = files(dir);
    let Some((path, _)) = segments
        .iter()
        .find(|(path, _)| path.to_string_lossy().contains(".0001."))
    else {
        return;
    };
    let manifest = path
        .to_string_lossy()
        .replace(".0001.events.jsonl", ".manifest.json");
    let manifest: Value = serde_json::from_slice(&std::fs::read(manifest).unwrap()).unwrap();
    let told = manifest["segments"].as_array().unwrap();
    assert_eq!(told.len() + 1, segments.len());
    for entry in told {
        let (_, bytes) = segments
            .iter()
            .find(|(path, _)| path.ends_with(entry["file"].as_str().unwrap()))
            .unwrap();
        assert_eq!(entry["bytes"], bytes.len());
        assert_eq!(entry["sha256"], chat_store::sha256_hex(bytes));
    }
}

#[test]
fn what_is_damaged_stays_as_it_is_and_the_rest_is_folded() {
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path(), &events(4), u64::MAX);
    let (path, bytes) = files(dir.path()).pop().unwrap();
    let mut lines: Vec<Vec<u8>> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let at = lines[20].len() / 2;
    lines[20][at] ^= 1;
    let damaged = lines[20].clone();
    lines.insert(50, b"not JSON at all\xff\n".to_vec());
    std::fs::write(&path, lines.concat()).unwrap();
    let output = compact(dir.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let now = std::fs::read(&path).unwrap();
    let holds = |line: &[u8]| now.windows(line.len()).any(|window| window == line);
    assert!(holds(&damaged) && holds(b"\nnot JSON at all\xff\n"));
    assert!(bytes.len() > 3 * now.len());
}

#[test]
fn a_session_that_goes_on_or_that_a_server_holds_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut events = events(1);
    events.pop();
    stored(dir.path(), &events, u64::MAX);
    let before = files(dir.path());
    let output = compact(dir.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("has not ended"),
        "{}",
        text(&output.stderr)
    );
    let mut server = Server::start(dir.path());
    let output = compact(dir.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("locked by pid"),
        "{}",
        text(&output.stderr)
    );
    server.kill();
    for (what, why) in [
        ("nobody", "could not find the session"),
        ("../s1", "no file, and no session"),
    ] {
        let output = run(&[what, "--data", &dir.path().to_string_lossy()], None);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(why),
            "{}",
            text(&output.stderr)
        );
    }
    // A folder that is none of ours gets no lock file.
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(compact(empty.path()).status.code(), Some(1));
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0);
    assert_eq!(files(dir.path()).len(), before.len());
}

#[test]
fn a_file_and_standard_input_are_compacted_into_another_place() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (
        dir.path().join("log.jsonl"),
        dir.path().join("shorter.jsonl"),
    );
    let lines: Vec<String> = events(5).iter().map(ChatEvent::to_line).collect();
    let log = lines.join("\n") + "\nhello\n";
    std::fs::write(&from, &log).unwrap();
    let paths = [from.to_string_lossy(), to.to_string_lossy()];
    let output = run(&[&paths[0], "-o", &paths[1]], None);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("times fewer"));
    let shorter = std::fs::read_to_string(&to).unwrap();
    assert!(log.lines().count() > 5 * shorter.lines().count());
    let mut unfolded = Vec::new();
    for line in shorter.lines() {
        match ChatEvent::from_json(line) {
            Ok(event) => match Folded::of(&event) {
                Some(folded) => unfolded.extend(folded.events().map(|event| event.to_line())),
                None => unfolded.push(line.to_owned()),
            },
            Err(_) => unfolded.push(line.to_owned()),
        }
    }
    assert_eq!(unfolded.join("\n") + "\n", log);
    let output = run(&["-"], Some(log.as_bytes()));
    assert_eq!(text(&output.stdout), shorter);
    // What cannot be meant is refused, and nothing is written.
    let output = run(&[&paths[0], "-o", &paths[0]], None);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&from).unwrap(), log);
    let output = run(&[&paths[0]], None);
    assert!(
        text(&output.stderr).contains("-o"),
        "{}",
        text(&output.stderr)
    );
    let other = dir.path().join("other.jsonl");
    let foreign = b"{\"type\":\"user\",\"message\":{}}\n{\"type\":\"system\"}\n";
    let output = run(&["-", "-o", &other.to_string_lossy()], Some(foreign));
    assert!(
        text(&output.stderr).contains("turnreel convert"),
        "{}",
        text(&output.stderr)
    );
    assert!(!other.exists());
    let names = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(names, 2, "nothing is left lying");
}

/// Killed at random moments: every file is the whole old one or the whole new one, and in the end it is compacted.
#[test]
fn a_stop_at_any_moment_leaves_the_one_log_or_the_other() {
    let full = std::env::var_os("TURNREEL_FULL").is_some();
    let template = tempfile::tempdir().unwrap();
    let events = events(if full { 200 } else { 60 });
    stored(template.path(), &events, 200_000);
    let before = files(template.path());
    assert!(before.len() > 3);
    let copy = || {
        let dir = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(template.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
            }
        }
        dir
    };
    let whole = copy();
    let began = Instant::now();
    assert!(compact(whole.path()).status.success());
    let took = began.elapsed();
    let after = files(whole.path());
    let mut dice = Dice::new(7);
    let mut states = BTreeSet::new();
    let n_rounds = if full { 200 } else { 24 };
    for round in 0..n_rounds {
        let dir = copy();
        let mut child = Command::new(PROGRAM)
            .args(["compact", "s1", "--data"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Spread over all of it; the later rounds over its end, where names change.
        let share = match round % 2 {
            0 => dice.between(0, 1000),
            _ => dice.between(700, 1100),
        };
        let wait = took.mul_f64(f64::from(u32::try_from(share).unwrap()) / 1000.0);
        std::thread::sleep(wait.min(Duration::from_secs(20)));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = files(dir.path());
        let mut n_new = 0;
        assert_eq!(now.len(), before.len());
        for (nth, (_, bytes)) in now.iter().enumerate() {
            let is_new = *bytes == after[nth].1;
            assert!(
                is_new || *bytes == before[nth].1,
                "{}",
                now[nth].0.display()
            );
            n_new += usize::from(is_new);
        }
        states.insert(n_new);
        assert_eq!(read(dir.path()).1, events);
        assert!(compact(dir.path()).status.success());
        assert_eq!(files(dir.path()), files_in(dir.path(), &after));
        assert_eq!(read(dir.path()).1, events);
        manifest_holds(dir.path());
    }
    assert!(
        states.contains(&0),
        "some stops were before anything changed: {states:?}"
    );
}

/// The same files by the names they have in another folder.
fn files_in(dir: &Path, files: &[(PathBuf, Vec<u8>)]) -> Vec<(PathBuf, Vec<u8>)> {
    let named =
        |(path, bytes): &(PathBuf, Vec<u8>)| (dir.join(path.file_name().unwrap()), bytes.clone());
    files.iter().map(named).collect()
}
