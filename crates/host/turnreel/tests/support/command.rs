//! The program as a command: what it is given, and what it says.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::PROGRAM;

/// Runs one of the program's commands with these arguments and this standard input, to its end.
pub(crate) fn run(command: &str, args: &[&str], stdin: &[u8]) -> Output {
    finish(piped(Command::new(PROGRAM).arg(command).args(args)), stdin)
}

/// Starts one that sends events to the server of this data folder, and to no other.
pub(crate) fn start_at(data: &Path, command: &str, args: &[&str]) -> Child {
    let mut sender = Command::new(PROGRAM);
    sender.args([command, "--data"]).arg(data).args(args);
    let sender = sender.env_remove("TURNREEL_ENDPOINT");
    piped(sender.env_remove("TURNREEL_TOKEN"))
}

/// Gives it this standard input, which is not long.
pub(crate) fn given(mut child: Child, stdin: &[u8]) -> Child {
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(stdin).unwrap();
    child
}

/// Gives it this standard input, and waits for its end.
pub(crate) fn finish(mut child: Child, stdin: &[u8]) -> Output {
    let mut pipe = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    let writing = std::thread::spawn(move || {
        // A program that refused reads nothing.
        let _ = pipe.write_all(&bytes);
    });
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

/// Reads one line of what it writes, and no more, as `| head -1` does.
pub(crate) fn read_one_line(command: &str, args: &[&str]) -> Output {
    let mut child = piped(Command::new(PROGRAM).arg(command).args(args));
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.ends_with('\n'), "{line:?}");
    child.wait_with_output().unwrap()
}

fn piped(command: &mut Command) -> Child {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What was written, as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
