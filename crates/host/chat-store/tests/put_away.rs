//! What it costs to put logs away and to open them again: as much as changed, however long they are.
//!
//! Counted by the kernel, for this test's thread alone: the other tests of this process read and write beside it.

#![cfg(target_os = "linux")]

use crate::support::{all, chunk, id, numbered};
use chat_store::{Options, Store, SyncPolicy};

/// Bytes that this thread has read and written, wherever.
fn n_bytes() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().trim().parse::<u64>().unwrap()
    };
    (of("rchar:"), of("wchar:"))
}

#[test]
fn an_event_for_a_long_log_that_was_put_away_costs_as_much_as_it_adds() {
    const N_EVENTS: u64 = 20_000;
    const N_ROUNDS: u64 = 100;
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        sync: SyncPolicy::Never,
        open_logs: 1,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    let sessions = ["s1", "s2"].map(|it| store.session_or_new(&id(it)).unwrap());
    for session in &sessions {
        for n in 0..N_EVENTS / 1000 {
            let events = (n * 1000 + 1..=(n + 1) * 1000).map(chunk).collect();
            session.append(events, false, 7).unwrap();
        }
    }
    let (read_before, written_before) = n_bytes();
    for round in 1..=N_ROUNDS {
        for session in &sessions {
            let event = chunk(N_EVENTS + round);
            let appended = session.append(vec![event], false, 7).unwrap();
            assert_eq!(appended.stored[0].seq, N_EVENTS + round);
        }
    }
    let (read, written) = n_bytes();
    // Each log has three million bytes, and its index 300,000.
    let n_events = 2 * N_ROUNDS;
    let per_event = [read - read_before, written - written_before].map(|bytes| bytes / n_events);
    assert!(per_event[0] > 100, "a log is opened on another thread");
    assert!(per_event[1] > 100, "a log is written on another thread");
    assert!(per_event[0] < 60_000, "{} bytes are read", per_event[0]);
    assert!(per_event[1] < 30_000, "{} bytes are written", per_event[1]);
    store.close();
    drop(store);
    let (read_before, _) = n_bytes();
    let store = Store::open(dir.path(), options).unwrap();
    for session in store.sessions() {
        assert_eq!(session.position().1, N_EVENTS + N_ROUNDS);
        let again = session.append(vec![chunk(N_EVENTS + 1)], false, 7).unwrap();
        assert_eq!(again.stored.len(), 0, "it was stored before");
    }
    let read = n_bytes().0 - read_before;
    assert!(read < 500_000, "{read} bytes are read to open them");
    for session in store.sessions() {
        assert_eq!(all(&session), numbered(N_EVENTS + N_ROUNDS));
    }
}
