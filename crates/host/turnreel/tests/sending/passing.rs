//! What `turnreel pipe` passes on where its descriptors are not as usual.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::PROGRAM;

/// An agent that shares its descriptors with us may have made them not to wait, as Node does.
#[test]
fn descriptors_that_do_not_wait_lose_nothing_of_what_is_passed_on() {
    let line = |nth: usize| {
        let text = "a word ".repeat(100);
        format!(
            r#"{{"id":"e{nth}","timestamp":{nth},"sessionId":"s1","type":"user_message","payload":{{"text":"{text}"}}}}"#
        ) + "\n"
    };
    // More than they hold.
    let input: String = (1..3000).map(line).collect();
    for more in [
        ["--wait", "0"],
        // Nothing is kept of it then.
        ["--endpoint", "https://feed.example.org"],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (mut agent, stdin) = UnixStream::pair().unwrap();
        let (mut reader, stdout) = UnixStream::pair().unwrap();
        stdin.set_nonblocking(true).unwrap();
        stdout.set_nonblocking(true).unwrap();
        let child = Command::new(PROGRAM)
            .args(["pipe", "--data"])
            .arg(dir.path())
            .args(more)
            .env_remove("TURNREEL_ENDPOINT")
            .env_remove("TURNREEL_TOKEN")
            .stdin(OwnedFd::from(stdin))
            .stdout(OwnedFd::from(stdout))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let bytes = input.clone().into_bytes();
        let writing = std::thread::spawn(move || {
            for piece in bytes.chunks(500_000) {
                std::thread::sleep(Duration::from_millis(100));
                agent.write_all(piece).unwrap();
            }
        });
        // Nobody reads at first.
        std::thread::sleep(Duration::from_millis(500));
        let mut back = Vec::new();
        reader.read_to_end(&mut back).unwrap();
        let said = child.wait_with_output().unwrap().stderr;
        let said = String::from_utf8_lossy(&said);
        assert!(back == input.as_bytes(), "{} bytes: {said}", back.len());
        for fault in ["could not read", "could not write"] {
            assert!(!said.contains(fault), "{said}");
        }
        writing.join().unwrap();
    }
}
