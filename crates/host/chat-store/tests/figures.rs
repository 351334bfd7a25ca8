//! How fast the store is with much in it (D10, D11, S29). Release builds only, and asked for by name:
//! `cargo test --release -p chat-store --test all figures -- --ignored --nocapture`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::support::{chunk, id, is_full, remove_beside};
use chat_event::payload::{SessionStart, ToolResult};
use chat_event::{ChatEvent, Json};
use chat_store::{Options, PageRequest, Store, SyncPolicy};

const DIR: &str = "CHAT_STORE_FIGURES_DIR";

fn open(dir: &Path) -> Store {
    let sync = SyncPolicy::Never;
    Store::open(
        dir,
        Options {
            sync,
            ..Options::default()
        },
    )
    .unwrap()
}

/// Runs one of the steps below as a process of its own, so that its memory is its own, too.
fn step(name: &str, dir: &Path) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            &format!("figures::{name}"),
            "--nocapture",
            "--quiet",
        ])
        .env(DIR, dir)
        .status();
    assert!(status.unwrap().success(), "{name}");
}

fn dir_of_step() -> Option<PathBuf> {
    std::env::var_os(DIR).map(PathBuf::from)
}

/// The most memory this process had, in MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or_default() / 1024
}

#[test]
#[ignore = "takes a minute and a GiB"]
fn a_log_of_a_gibibyte_opens_at_once() {
    let dir = tempfile::tempdir().unwrap();
    step("make_a_large_log", dir.path());
    step("open_it_by_its_index", dir.path());
    remove_beside(dir.path(), &[".idx"]);
    step("open_it_by_reading", dir.path());
}

#[test]
#[ignore = "a step of the test above"]
fn make_a_large_log() {
    let Some(dir) = dir_of_step() else { return };
    let store = open(&dir);
    let session = store.session_or_new(&id("s1")).unwrap();
    let output = "a line of output as tools give it, with a path/to/a/file.rs in it\n".repeat(12);
    let began = Instant::now();
    for batch in 0..2000u64 {
        let events = (batch * 500..batch * 500 + 500).map(|n| match n % 3 {
            0 => ChatEvent::new(
                format!("r{n}"),
                n as i64,
                "s1",
                ToolResult {
                    tool_call_id: format!("t{n}"),
                    result: Json::string(&output.repeat(3)),
                    ..ToolResult::default()
                },
            ),
            _ => chunk(n),
        });
        session.append(events.collect(), false, 1000).unwrap();
    }
    let condition = session.condition();
    println!(
        "made {} events, {} MiB in {:?}; peak {} MiB",
        condition.events,
        condition.bytes >> 20,
        began.elapsed(),
        peak_mib()
    );
    store.close();
}

/// Seconds of CPU that this process had, as the system counts them: hundredths.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = behind_name.split_whitespace().skip(11).take(2);
    fields
        .filter_map(|field| field.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

fn look_at(dir: &Path, what: &str, most_s: f64) {
    let began = Instant::now();
    let store = open(dir);
    let session = store.session(&id("s1")).unwrap();
    let head = session.position().1;
    let listed = began.elapsed();
    let request = |after| PageRequest {
        after,
        limit: 1000,
        max_bytes: 1 << 20,
    };
    let paging = Instant::now();
    assert!(!session.page(request(0)).unwrap().lines.is_empty());
    let first_page = paging.elapsed();
    let ready = began.elapsed();
    let paging = Instant::now();
    assert!(!session.page(request(head / 2)).unwrap().lines.is_empty());
    let middle_page = paging.elapsed();
    let looking = Instant::now();
    assert!(session.event_whole("r600000").unwrap().is_some());
    let one = looking.elapsed();
    let appending = Instant::now();
    let again = session
        .append((1..500).map(chunk).collect(), false, 1)
        .unwrap();
    let dups = appending.elapsed();
    // Every third of these is a result in the log, and was not of this name.
    let n_dups = again.results.len() - again.stored.len();
    assert!(n_dups >= 333, "{n_dups}");
    println!(
        "{what}: {:.2} s of CPU; listed {listed:?}, ready {ready:?} ({:.0} MB/s), first page {first_page:?}, a page in the middle {middle_page:?}, one event {one:?}, 499 repeated {dups:?}, peak {} MiB",
        cpu_s(),
        session.condition().bytes as f64 / 1e6 / ready.as_secs_f64(),
        peak_mib()
    );
    // Of its own time: other programs on the machine are not to be judged.
    assert!(cpu_s() < most_s);
    assert!(peak_mib() < 200);
}

#[test]
#[ignore = "a step of the test above"]
fn open_it_by_its_index() {
    let Some(dir) = dir_of_step() else { return };
    look_at(&dir, "with index", 2.0);
}

#[test]
#[ignore = "a step of the test above"]
fn open_it_by_reading() {
    let Some(dir) = dir_of_step() else { return };
    look_at(&dir, "without index", 5.0);
}

#[test]
#[ignore = "makes 10,000 files"]
fn ten_thousand_sessions_open_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let n_sessions = if is_full() { 20_000 } else { 10_000 };
    let store = open(dir.path());
    let began = Instant::now();
    for n in 0..n_sessions {
        let session = store.session_or_new(&id(&format!("s{n}"))).unwrap();
        let start = SessionStart {
            title: Some(format!("Session {n}")),
            ..SessionStart::default()
        };
        let start = ChatEvent::new("start", 1, "", start);
        let events = [start].into_iter().chain((1..10).map(chunk)).collect();
        session.append(events, false, 1000).unwrap();
    }
    println!("made in {:?}", began.elapsed());
    let began = Instant::now();
    store.close();
    println!("closed in {:?}", began.elapsed());
    drop(store);
    for what in ["with indexes", "without"] {
        let began = Instant::now();
        let store = open(dir.path());
        let opened = began.elapsed();
        let began = Instant::now();
        let rows: Vec<_> = store
            .sessions()
            .iter()
            .map(|session| session.summary())
            .collect();
        let listed = began.elapsed();
        assert_eq!(rows.len(), n_sessions);
        assert!(
            rows.iter()
                .all(|row| row.title.is_some() && row.events == 10)
        );
        println!(
            "{what}: opened in {opened:?}, listed in {listed:?}, peak {} MiB",
            peak_mib()
        );
        assert!(listed.as_millis() < 100);
        drop(store);
        remove_beside(dir.path(), &[".idx"]);
    }
}
