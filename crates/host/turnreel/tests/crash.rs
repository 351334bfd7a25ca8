//! A server that is killed at any moment: what was acknowledged is there once, in its order, and what readers saw stays so.
//!
//! The store alone is held to it by its own tests. Here it is whole: processes, senders that send again, and readers that
//! come back. A few rounds run always; the full number with `TURNREEL_FULL=1`.

#![cfg(target_os = "linux")]

mod disk;
mod durable;
mod removal;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::dice::Dice;
use crate::support::{self, PROGRAM, Remote, Server, chunks, seq_and_id, soon};

const POLICIES: [&str; 3] = ["always", "everysec", "never"];

fn full() -> bool {
    std::env::var_os("TURNREEL_FULL").is_some_and(|value| value == "1")
}

fn start(data: &Path, listen: &str, sync: &str) -> Server {
    Server::start_on(data, listen, &["--no-examples", "--sync", sync])
}

fn log_path(data: &Path, session: &str) -> PathBuf {
    let begins = format!("{session}-");
    let mut paths = std::fs::read_dir(data)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    paths
        .find(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(&begins) && name.ends_with(".events.jsonl")
        })
        .unwrap()
}

/// All events of a session by their number, as texts: there is no hole and no number twice.
fn whole_log(server: &Server, session: &str) -> BTreeMap<u64, Value> {
    let mut all = BTreeMap::new();
    loop {
        let after = all.len();
        let path = format!("/api/v1/sessions/{session}/events?after={after}&limit=1000");
        let (status, page) = server.get(&path);
        assert_eq!((status, &page["gaps"]), (200, &json!([])), "{session}");
        for event in page["events"].as_array().unwrap() {
            let (seq, _) = seq_and_id(event);
            assert_eq!(seq, all.len() as u64 + 1, "{session}");
            all.insert(seq, event.clone());
        }
        if all.len() as u64 >= page["head"].as_u64().unwrap() {
            return all;
        }
    }
}

/// What one reader saw: the events by their number, each told of once in its order.
#[derive(Default)]
struct Reader {
    seen: BTreeMap<u64, Value>,
    epoch: Option<String>,
    n_connections: Arc<AtomicU64>,
}

impl Reader {
    fn last(&self) -> u64 {
        self.seen.len() as u64
    }

    fn take(&mut self, events: &Value) {
        for event in events.as_array().unwrap() {
            let (seq, _) = seq_and_id(event);
            if seq <= self.last() {
                assert_eq!(self.seen[&seq], *event, "a number has another event");
            } else {
                assert_eq!(seq, self.last() + 1, "a hole");
                self.seen.insert(seq, event.clone());
            }
        }
    }

    /// One connection, until it breaks or `done`.
    fn follow(&mut self, remote: &Remote, session: &str, done: impl Fn(u64) -> bool) -> Option<()> {
        let mut socket = remote.socket()?;
        let mut open = json!({"op": "open", "sub": 1, "session": session});
        if let Some(epoch) = &self.epoch {
            open["epoch"] = json!(epoch);
        }
        open["after"] = json!(self.last());
        socket.try_send(&open)?;
        let hello = socket.try_next()?;
        if hello["op"] == "err" {
            // Nobody has sent to it yet.
            return None;
        }
        self.n_connections.fetch_add(1, Ordering::Relaxed);
        let epoch = hello["epoch"].as_str().unwrap().to_owned();
        assert_eq!(
            *self.epoch.get_or_insert_with(|| epoch.clone()),
            epoch,
            "the epoch stays"
        );
        let mut behind = hello["resume"] == "behind";
        assert!(behind || hello["resume"] == "ok", "{hello}");
        while !done(self.last()) {
            if behind {
                let path = format!("/api/v1/sessions/{session}/events?after={}", self.last());
                let (status, page) = remote.get(&path)?;
                assert_eq!(status, 200, "{page}");
                self.take(&page["events"]);
                behind = self.last() < page["head"].as_u64().unwrap();
                continue;
            }
            let frame = socket.try_next()?;
            match frame["op"].as_str().unwrap() {
                "ev" => {
                    // While pages were read, frames were sent as well; they begin where the `hello` was.
                    assert!(
                        frame["from"].as_u64().unwrap() <= self.last() + 1,
                        "{frame}"
                    );
                    self.take(&frame["e"]);
                }
                "lag" | "bye" => return None,
                other => panic!("{other}: {frame}"),
            }
        }
        Some(())
    }
}

/// Some kills of one server: eight senders, four readers. How long each new start took.
fn killed_again_and_again(sync: &str, kills: u64, dice: &mut Dice) -> Vec<Duration> {
    const SENDERS: usize = 8;
    const SESSIONS: usize = 4;
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(dir.path(), &support::ports::free_address(), sync);
    let remote = Remote::of(&server);
    let over = AtomicBool::new(false);
    // Once all is sent, readers know how far they have to come.
    let heads: Vec<AtomicU64> = (0..SESSIONS).map(|_| AtomicU64::new(u64::MAX)).collect();
    let acked: Vec<Mutex<HashMap<String, u64>>> = (0..SESSIONS).map(|_| Mutex::default()).collect();
    let connections: Vec<Arc<AtomicU64>> = (0..SESSIONS).map(|_| Arc::default()).collect();
    let name = |n: usize| format!("s{n}");
    let mut starts = Vec::new();
    let seeds: Vec<u64> = (0..SENDERS).map(|_| dice.between(0, 1 << 40)).collect();
    let readers = std::thread::scope(|scope| {
        let send = |sender: usize| {
            let mut dice = Dice::new(seeds[sender]);
            let session = sender % SESSIONS;
            let path = format!("/api/v1/sessions/{}/events", name(session));
            let mut n = 0;
            while !over.load(Ordering::Relaxed) {
                let size = dice.between(1, 201);
                let events: Value = (n..n + size)
                    .map(|n| json!({"id": format!("p{sender}-{n}"), "timestamp": n, "type": "progress", "payload": {"message": format!("step {n} of {sender}")}}))
                    .collect();
                n += size;
                let body = events.to_string();
                // The same again until it is acknowledged.
                let answer = loop {
                    match remote.post(&path, &body) {
                        Some((200, answer)) => break answer,
                        Some((status, answer)) => assert!(status >= 500, "{status}: {answer}"),
                        None => {}
                    }
                    std::thread::sleep(Duration::from_millis(10));
                };
                let results = answer["results"].as_array().unwrap();
                assert_eq!(results.len() as u64, size, "{answer}");
                let mut acked = acked[session].lock().unwrap();
                for (event, result) in events.as_array().unwrap().iter().zip(results) {
                    let seq = result["seq"].as_u64().unwrap();
                    let id = event["id"].as_str().unwrap().to_owned();
                    assert_eq!(acked.insert(id, seq), None);
                }
            }
        };
        let read = |session: usize| {
            let mut reader = Reader {
                n_connections: connections[session].clone(),
                ..Reader::default()
            };
            let done = |last: u64| last >= heads[session].load(Ordering::Relaxed);
            while reader.follow(&remote, &name(session), done).is_none() {
                std::thread::sleep(Duration::from_millis(20));
            }
            reader
        };
        let senders: Vec<_> = (0..SENDERS).map(|n| scope.spawn(move || send(n))).collect();
        let readers: Vec<_> = (0..SESSIONS)
            .map(|n| scope.spawn(move || read(n)))
            .collect();
        for kill in 1..=kills {
            std::thread::sleep(Duration::from_millis(dice.between(5, 400)));
            // Who comes for the first time after the last one is cut off by none.
            let deadline = Instant::now() + Duration::from_secs(60);
            let is_absent = |n: &Arc<AtomicU64>| n.load(Ordering::Relaxed) == 0;
            while kill == kills && connections.iter().any(is_absent) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
            }
            let address = server.address();
            server.kill();
            let began = Instant::now();
            server = start(dir.path(), &address, sync);
            starts.push(began.elapsed());
        }
        over.store(true, Ordering::Relaxed);
        for sender in senders {
            sender.join().unwrap();
        }
        for (n, head) in heads.iter().enumerate() {
            // Readers are told of one event more, and look how far they are.
            let last = json!([{"id": "last", "timestamp": 1, "type": "turn_end", "payload": {}}]);
            let seq = whole_log(&server, &name(n)).len() as u64 + 1;
            head.store(seq, Ordering::Relaxed);
            assert_eq!(server.post(&name(n), &last).1["last"], seq);
        }
        let readers = readers.into_iter().map(|it| it.join().unwrap());
        readers.collect::<Vec<_>>()
    });
    let mut n_events = 0;
    for (n, reader) in readers.into_iter().enumerate() {
        let log = whole_log(&server, &name(n));
        let acked = acked[n].lock().unwrap();
        let ids: HashMap<&str, u64> = log
            .iter()
            .map(|(seq, event)| (event["id"].as_str().unwrap(), *seq))
            .collect();
        assert_eq!(ids.len(), log.len(), "an id stands twice");
        for (id, seq) in acked.iter() {
            assert_eq!(ids.get(id.as_str()), Some(seq), "{id} was acknowledged");
        }
        assert!(reader.seen == log, "a reader saw something else");
        assert!(
            reader.n_connections.load(Ordering::Relaxed) > 1,
            "a reader that was never cut off shows nothing"
        );
        n_events += log.len();
    }
    println!("{sync}: {kills} kills, {n_events} events, starts {starts:?}");
    starts
}

#[test]
fn a_kill_at_any_moment_loses_and_repeats_nothing_for_senders_and_readers() {
    let mut dice = Dice::new(20);
    // Logs grow with each kill; ten of them come to some ten thousand events.
    let (kills, lives) = if full() { (10, 21) } else { (5, 10) };
    let starts: Vec<_> = (0..lives)
        .flat_map(|life| killed_again_and_again(POLICIES[life % 3], kills, &mut dice))
        .collect();
    println!("slowest start: {:?}", starts.iter().max());
}

/// `strace` of all threads of what is run; `None`, with a word, where it is missing.
fn strace() -> Option<Command> {
    let found = Command::new("strace").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no strace here");
        return None;
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-qq"]);
    Some(command)
}

/// `strace` that meddles with calls on the paths, or with all where there are none.
fn meddling(inject: &str, paths: &[&Path]) -> Option<Command> {
    let mut command = strace()?;
    command.args(["-o", "/dev/null", "-e", &format!("inject={inject}")]);
    for path in paths {
        command.arg("-P").arg(path);
    }
    command.arg(PROGRAM);
    Some(command)
}

/// Sends batches until the server is gone or `n_batches` were taken; the numbers of the last events that were acknowledged
/// and sent.
fn send_until_it_ends(remote: &Remote, session: &str, first: u64, n_batches: u64) -> (u64, u64) {
    let path = format!("/api/v1/sessions/{session}/events");
    let mut acked = first - 1;
    for batch in 1..=n_batches {
        let last = acked + batch * 7 % 20 + 1;
        match remote.post(&path, &chunks(acked + 1, last).to_string()) {
            Some((200, _)) => acked = last,
            _ => return (acked, last),
        }
    }
    (acked, acked)
}

#[test]
fn a_kill_at_each_call_that_changes_a_file_loses_nothing() {
    let times: Vec<u64> = if full() {
        (1..=60).collect()
    } else {
        vec![1, 2, 3, 7]
    };
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(dir.path(), "127.0.0.1:0", "always");
    assert_eq!(server.post("s1", &chunks(1, 5)).0, 200);
    server.stop();
    let log = log_path(dir.path(), "s1");
    let mut acked = 5;
    let mut n_killed = 0;
    for call in ["write", "fdatasync", "ftruncate", "rename"] {
        for &when in &times {
            let inject = format!("{call}:signal=KILL:when={when}");
            // Other files are renamed, and written: all of them are meddled with there.
            let paths: &[&Path] = if call == "rename" { &[] } else { &[&log] };
            let Some(command) = meddling(&inject, paths) else {
                return;
            };
            let more = ["--no-examples", "--sync", "always"];
            let mut sent = acked;
            if let Some(mut server) = Server::start_by(command, dir.path(), "127.0.0.1:0", &more) {
                let was = acked;
                (acked, sent) = send_until_it_ends(&Remote::of(&server), "s1", acked + 1, when + 3);
                n_killed += u64::from(sent > acked);
                assert!(acked >= was);
                end_traced(&mut server);
            } else {
                n_killed += 1;
            }
            let mut server = start(dir.path(), "127.0.0.1:0", "always");
            let found: Vec<_> = whole_log(&server, "s1").values().map(seq_and_id).collect();
            let found_to = found.len() as u64;
            let expected: Vec<_> = (1..=found_to).map(|n| (n, format!("e{n}"))).collect();
            assert_eq!(found, expected, "{inject}");
            assert!(
                (acked..=sent).contains(&found_to),
                "{inject}: {acked} were acknowledged, {sent} sent, {found_to} found"
            );
            acked = found_to;
            server.stop();
        }
    }
    println!("{n_killed} kills took effect, {acked} events");
    assert!(n_killed >= times.len() as u64, "{n_killed}");
}

/// Ends what runs under `strace`, and waits for it.
fn end_traced(server: &mut Server) {
    server.kill_traced();
    let _ = server.child.wait();
}

#[test]
fn a_kill_while_events_wait_for_their_frame_loses_none() {
    let rounds = if full() { 100 } else { 6 };
    let dir = tempfile::tempdir().unwrap();
    let mut server = start(dir.path(), "127.0.0.1:0", "everysec");
    let (_, answer) = server.post("s1", &chunks(1, 1));
    let epoch = answer["epoch"].as_str().unwrap().to_owned();
    let mut last = 1;
    for round in 0..rounds {
        let mut socket = server.socket();
        assert_eq!(socket.open(1, "s1", Some((&epoch, last)))["resume"], "ok");
        // They wait half a second for others; the server is gone before.
        let event = |n: u64| json!({"id": format!("w{n}"), "timestamp": n, "type": "progress", "payload": {"message": "On"}});
        let batch: Value = (last + 1..=last + 3).map(event).collect();
        assert_eq!(server.post("s1", &batch).0, 200);
        server.kill_and_restart();
        while let Some(frame) = socket.try_next() {
            assert_eq!(frame["op"], "ev", "{frame}");
        }
        let mut remote_reader = Reader::default();
        let expected = last + 3;
        let remote = Remote::of(&server);
        soon("the reader is back", || {
            remote_reader
                .follow(&remote, "s1", |seen| seen >= expected)
                .is_some()
        });
        assert_eq!(remote_reader.last(), expected, "round {round}");
        assert_eq!(remote_reader.epoch.as_deref(), Some(&*epoch));
        last = expected;
    }
}
