//! The program as a command: what it is given, and what it says.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::PROGRAM;

/// Runs one of the program's commands with these arguments and this standard input, to its end.
pub(crate) fn run(command: &str, args: &[&str], stdin: &[u8]) -> Output {
    let mut child = Command::new(PROGRAM)
        .arg(command)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
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

/// What was written, as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
