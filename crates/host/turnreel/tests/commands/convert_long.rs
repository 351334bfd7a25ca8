//! `turnreel convert`: logs of many megabytes.

use std::io::Write;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

#[cfg(target_os = "linux")]
use crate::support::PROGRAM;
use crate::support::command::{self, text};

#[test]
fn a_reader_who_has_seen_enough_is_no_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.jsonl");
    write_log(&path, 20);
    let output = command::read_one_line("convert", &[path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

/// A log of so many megabytes, with the mix of events that an agent gives.
fn write_log(path: &Path, n_megabytes: u64) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let (mut n_bytes, mut n_events) = (0, 0u64);
    for turn in 0u64.. {
        let mut text = String::new();
        let mut event = |kind: &str, payload: &str| {
            n_events += 1;
            text.push_str(&format!(
                r#"{{"id":"e{n_events}","timestamp":{n_events},"sessionId":"long","type":"{kind}","turnId":"t{turn}","responseId":"r{turn}","payload":{payload}}}"#
            ));
            text.push('\n');
        };
        event("turn_start", r#"{"trigger":"user"}"#);
        event("user_message", r#"{"text":"Go on"}"#);
        for _ in 0..20 {
            event(
                "assistant_chunk",
                r#"{"text":"some words of an answer, ","part":0}"#,
            );
        }
        let args = format!(
            r#"{{"toolCallId":"c{turn}","toolName":"Bash","args":{{"command":"cargo build"}}}}"#
        );
        event("tool_call", &args);
        let result = "a line of what it printed\\n".repeat(200);
        let result = format!(r#"{{"toolCallId":"c{turn}","result":"{result}","exitCode":0}}"#);
        event("tool_result", &result);
        event("turn_end", r#"{"outcome":"completed"}"#);
        file.write_all(text.as_bytes()).unwrap();
        n_bytes += text.len() as u64;
        if n_bytes >= n_megabytes * 1_000_000 {
            break;
        }
    }
    file.flush().unwrap();
}

/// A long log costs time, not memory. Only in the long run of the tests.
#[cfg(target_os = "linux")]
#[test]
fn a_long_log_is_converted_in_little_memory() {
    if std::env::var_os("TURNREEL_FULL").is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.jsonl");
    write_log(&path, 300);
    for form in [
        "events",
        "trace",
        "summary",
        "openai",
        "claude-prompt",
        "markdown",
    ] {
        let mut child = Command::new(PROGRAM)
            .args(["convert", "--to", form])
            .arg(&path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak_kb = 0;
        while child.try_wait().unwrap().is_none() {
            peak_kb = peak_kb.max(high_water_kb(&status).unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(child.wait().unwrap().success(), "{form}");
        assert!((1..200_000).contains(&peak_kb), "{form}: {peak_kb} KB");
    }
}

#[cfg(target_os = "linux")]
fn high_water_kb(status: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
