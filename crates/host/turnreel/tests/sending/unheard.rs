//! What is sent where standard error takes nothing, as a log on a full disk: nobody hears of it, and nothing else changes.

use std::fs::File;
use std::process::{Command, Output, Stdio};

use crate::support::PROGRAM;

const LINE: &str = r#"{"id":"e1","timestamp":1,"sessionId":"s1","type":"user_message","payload":{"text":"Hello"}}"#;

/// Runs a command that reads this, with a standard error that refuses.
fn unheard(args: &[&str], input: &str) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("input");
    std::fs::write(&path, input).unwrap();
    Command::new(PROGRAM)
        .args(args)
        .arg("--data")
        .arg(dir.path().join("data"))
        .env_remove("TURNREEL_ENDPOINT")
        .env_remove("TURNREEL_TOKEN")
        .stdin(File::open(path).unwrap())
        .stdout(Stdio::piped())
        .stderr(File::options().write(true).open("/dev/full").unwrap())
        .output()
        .unwrap()
}

#[test]
fn an_agent_goes_on_where_the_pipe_cannot_say_what_is_wrong() {
    for (more, code) in [
        // Nothing is kept of it.
        (["--endpoint", "https://feed.example.org"], 1),
        // It waits for a server.
        (["--wait", "0"], 0),
    ] {
        let output = unheard(&["pipe", more[0], more[1]], LINE);
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!((&*told, output.status.code()), (LINE, Some(code)));
    }
}

#[test]
fn a_hook_does_not_fail_where_it_cannot_say_why() {
    let output = unheard(&["hook"], "no request");
    assert_eq!(output.status.code(), Some(0));
}
