//! Real servers and pipes for tests: processes of their own on free ports, in folders of their own.

mod asking;
pub(crate) mod cold;
pub(crate) mod command;
pub(crate) mod dice;
pub(crate) mod events;
pub(crate) mod faults;
pub(crate) mod fleet;
pub(crate) mod home;
pub(crate) mod inside;
pub(crate) mod page;
pub(crate) mod ports;
pub(crate) mod postgres;
pub(crate) mod redis;
pub(crate) mod removing;
pub(crate) mod rows;
pub(crate) mod s3;
mod server;
mod socket;
pub(crate) mod tiers;

pub(crate) use asking::{Remote, agent, figure};
pub(crate) use server::Server;
pub(crate) use socket::{Socket, upgraded};

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_turnreel");

/// How long is waited for what comes at once on a machine with nothing else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Whether nothing came in time, and no more.
pub(crate) fn is_timeout(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(why.kind(), WouldBlock | TimedOut)
}

/// Waits for more answers to who sends, which it counts. It is the log that answers: a store that hangs would take five
/// seconds for each of them.
pub(crate) fn goes_on(n_sent: &AtomicU64) {
    let enough = n_sent.load(Ordering::Relaxed) + 30;
    soon("the server goes on", || {
        n_sent.load(Ordering::Relaxed) >= enough
    });
}

/// A token that `turnreel token create` makes for the server.
pub(crate) fn make_token(server: &Server, what: &[&str]) -> String {
    let output = token_command(&server.data, "create", what);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.trim().to_owned()
}

pub(crate) fn token_command(data: &Path, command: &str, what: &[&str]) -> std::process::Output {
    Command::new(PROGRAM)
        .args(["token", command])
        .args(what)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

pub(crate) fn seq_and_id(event: &Value) -> (u64, String) {
    (
        event["seq"].as_u64().unwrap(),
        event["id"].as_str().unwrap().to_owned(),
    )
}

/// Chunks with the ids `e<from>` to `e<to>`.
pub(crate) fn chunks(from: u64, to: u64) -> Value {
    let chunk = |n: u64| json!({"id": format!("e{n}"), "timestamp": n, "type": "assistant_chunk", "responseId": "r1", "payload": {"text": format!("word {n} ")}});
    (from..=to).map(chunk).collect()
}

/// Writes over words of these events of the only log there, as a bad disk would: the file stays as long as it was.
pub(crate) fn damage(dir: &Path, seqs: &[u64]) {
    let log = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with(".events.jsonl"))
        .unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    let damaged = |line: &str| {
        let seq = serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64();
        if seq.is_some_and(|seq| seqs.contains(&seq)) {
            line.replace("word", "werd") + "\n"
        } else {
            line.to_owned() + "\n"
        }
    };
    let damaged: String = text.lines().map(damaged).collect();
    assert_ne!(damaged, text);
    // In place: a file that is another would be seen as one.
    let mut file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    file.write_all(damaged.as_bytes()).unwrap();
}

pub(crate) fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

pub(crate) fn wait_for(child: &mut Child, at_most: Duration) -> ExitStatus {
    let deadline = Instant::now() + at_most;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "the process does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until `done`, which it should soon be.
pub(crate) fn soon(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(90);
    while !done() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A file of the shared test material; `None`, and a word about it, where that is not there.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not here", path.display());
    None
}
