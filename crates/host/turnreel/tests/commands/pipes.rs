//! Pipes in the place of files, as `<(zstdcat s.jsonl.zst)` is one: what they have is had once.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::support::command::text;
use crate::support::{self, PROGRAM};

fn line(nth: usize, event_type: &str, payload: &str) -> String {
    format!(
        r#"{{"id":"e{nth}","timestamp":{nth},"sessionId":"s1","turnId":"t1","type":"{event_type}","payload":{payload}}}"#
    ) + "\n"
}

fn prompt() -> String {
    line(0, "user_message", r#"{"text":"Go"}"#)
}

fn pipe_in(dir: &Path) -> PathBuf {
    let pipe = dir.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    pipe
}

fn start(args: &[&str], more: &[&Path]) -> Child {
    Command::new(PROGRAM)
        .args(args)
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Its end, which has to come: one that opens the pipe once more waits for ever.
fn end(mut child: Child) -> Output {
    support::wait_for(&mut child, support::PATIENCE);
    child.wait_with_output().unwrap()
}

/// Opens the pipe for who writes to it, once somebody reads there.
fn open(pipe: &Path) -> std::fs::File {
    std::fs::File::options().write(true).open(pipe).unwrap()
}

#[test]
fn a_session_in_a_pipe_is_exported_and_compacted_as_standard_input_is() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = pipe_in(dir.path());
    let pieces = (1..50).map(|nth| line(nth, "assistant_chunk", r#"{"text":"word "}"#));
    let log = prompt() + &pieces.collect::<String>() + &line(50, "turn_end", "{}");
    let out = dir.path().join("out.jsonl");
    let masked = &["export", "--to", "jsonl"][..];
    for (args, to_file) in [
        (masked, false),
        (&["export", "--to", "jsonl", "--no-mask"], true),
        (&["compact"], true),
    ] {
        let run = |input: &Path| {
            let more = match to_file {
                true => vec![input, Path::new("-o"), &out],
                false => vec![input],
            };
            start(args, &more)
        };
        let child = run(&pipe);
        open(&pipe).write_all(log.as_bytes()).unwrap();
        let output = end(child);
        assert!(output.status.success(), "{args:?}: {output:?}");
        let file = dir.path().join("log.jsonl");
        std::fs::write(&file, &log).unwrap();
        let written = |output: &Output| match to_file {
            true => std::fs::read_to_string(&out).unwrap(),
            false => text(&output.stdout),
        };
        let of_pipe = written(&output);
        let of_file = written(&end(run(&file)));
        assert!(
            !of_pipe.is_empty() && of_pipe == of_file,
            "{args:?}: {of_pipe}"
        );
    }
}

#[test]
fn a_pipe_is_followed_to_its_end_and_a_signal_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = pipe_in(dir.path());
    // Ctrl-C does the same, but not where these tests are run in the background.
    for signal in [None, Some("TERM")] {
        let mut child = start(&["trace", "--follow"], &[&pipe]);
        let mut writer = open(&pipe);
        writer.write_all(prompt().as_bytes()).unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        told.read_line(&mut first).unwrap();
        assert_eq!(first, "[1] ▶ Go\n");
        match signal {
            Some(signal) => support::signal(&child, signal),
            None => drop(writer),
        }
        let status = support::wait_for(&mut child, support::PATIENCE);
        assert_eq!(
            status.code(),
            signal.map_or(Some(0), |_| None),
            "{signal:?}"
        );
        let rest: Vec<String> = told.lines().map(Result::unwrap).collect();
        let expected = if signal.is_none() {
            vec!["[1] ✓ Go"]
        } else {
            vec![]
        };
        assert_eq!(rest, expected);
    }
    // Who reads from it can look at nothing else.
    let file = dir.path().join("log.jsonl");
    std::fs::write(
        &file,
        prompt() + &line(1, "session_end", r#"{"reason":"done"}"#),
    )
    .unwrap();
    let output = end(start(&["trace", "--follow"], &[&file, &pipe]));
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let told = format!(
        "a pipe cannot be followed beside others: {}",
        pipe.display()
    );
    assert!(said.contains(&told), "{said}");
}
