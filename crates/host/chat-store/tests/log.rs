//! What a log promises: every acknowledged event once, in order, whatever ends the process or damages the file.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use chat_event::payload::{Interrupt, ToolResult};
use chat_event::{ChatEvent, Json};
use chat_store::{Error, ItemResult, Options, PageRequest, Store, SyncPolicy};

use crate::support::{all, chunk, id, is_full, log_of, log_path, numbered, open, remove_beside};

#[test]
fn a_log_that_is_opened_again_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut epochs = Vec::new();
    for round in 0..5 {
        let store = open(dir.path());
        let session = store.session_or_new(&id("s1")).unwrap();
        let events = (round * 40 + 1..=round * 40 + 40).map(chunk).collect();
        let appended = session.append(events, false, 5).unwrap();
        assert_eq!(appended.stored.first().unwrap().seq, round * 40 + 1);
        epochs.push(appended.epoch);
        assert_eq!(all(&session), numbered(round * 40 + 40));
        if round % 2 == 0 {
            store.close();
        }
    }
    epochs.dedup();
    assert_eq!(epochs.len(), 1, "the same boot keeps its epoch");
}

#[test]
fn an_id_is_stored_once_and_another_body_is_a_conflict() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let other = ChatEvent::new("e1", 1, "s1", Interrupt::default());
    let batch = vec![chunk(1), chunk(1), other.clone(), chunk(2)];
    let appended = session.append(batch, false, 5).unwrap();
    let conflict = ItemResult::Conflict {
        id: "e1".to_owned(),
        seq: 1,
        only_time: false,
    };
    assert_eq!(appended.results[1], ItemResult::Duplicate { seq: 1 });
    assert_eq!(appended.results[2], conflict);
    let mut later = chunk(1);
    later.timestamp = later.timestamp.map(|at_ms| at_ms + 1);
    let other_time = ItemResult::Conflict {
        id: "e1".to_owned(),
        seq: 1,
        only_time: true,
    };
    let again = session.append(vec![later], false, 5).unwrap();
    assert_eq!(again.results, [other_time]);
    drop((session, store));
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    let again = session
        .append(vec![chunk(2), other, chunk(3)], true, 6)
        .unwrap();
    assert!(again.refused);
    assert_eq!(again.results[0], ItemResult::Duplicate { seq: 2 });
    assert_eq!(again.results[1], conflict);
    assert_eq!(all(&session), numbered(2), "atomic: nothing was stored");
}

#[test]
fn a_log_that_is_cut_anywhere_keeps_every_whole_line() {
    // The whole of what is promised (D2) takes minutes in a debug build.
    let (dir, whole) = log_of(if is_full() { 199 } else { 10 });
    let path = log_path(dir.path());
    let line_ends: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        // A line whose newline alone is missing is whole. The first line is the log's own.
        let n_whole = line_ends.iter().filter(|end| **end <= cut + 1).count();
        let n_events = n_whole.saturating_sub(1) as u64;
        let store = open(dir.path());
        let session = store.session_or_new(&id("s1")).unwrap();
        assert_eq!(all(&session), numbered(n_events), "cut at {cut}");
        session.append(vec![chunk(n_events + 1)], false, 7).unwrap();
        drop((session, store));
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        assert_eq!(all(&session), numbered(n_events + 1), "cut at {cut}");
        assert_eq!(session.damaged_lines(), 0, "cut at {cut}");
        drop((session, store));
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().contains(".torn-") {
                let torn = std::fs::read(&path).unwrap();
                assert_eq!(torn, whole[cut - torn.len()..cut], "cut at {cut}");
                std::fs::remove_file(path).unwrap();
            }
        }
        // It is of a log that is longer than some that follow.
        remove_beside(dir.path(), &[".idx"]);
    }
}

#[test]
fn a_flipped_bit_costs_its_line_and_no_other() {
    // Of a log of 20 KiB every bit (D3), or of a small one some.
    let n_events = if is_full() { 130 } else { 12 };
    let n_bits = if is_full() { 8 } else { 1 };
    let (dir, whole) = log_of(n_events);
    let path = log_path(dir.path());
    let first_event = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    // Without the last newline: a line that lacks it was never acknowledged, whatever else is wrong with it.
    let step = if is_full() { 1 } else { 3 };
    let places = (first_event..whole.len() - 1).step_by(step);
    for (at, bit) in places.flat_map(|at| (0..n_bits).map(move |bit| (at, (at + bit) % 8))) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << bit;
        std::fs::write(&path, &flipped).unwrap();
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
        // A newline that is lost glues two lines, and costs neither; one that is made breaks one.
        let glued = whole[at] == b'\n';
        let found = all(&session);
        let expected: Vec<_> = numbered(n_events)
            .into_iter()
            .filter(|(seq, _)| glued || *seq != line)
            .collect();
        assert_eq!(found, expected, "flipped at {at}");
        let page = session
            .page(PageRequest {
                after: 0,
                limit: 1000,
                max_bytes: 1 << 20,
            })
            .unwrap();
        let n_missing: u64 = page.gaps.iter().map(|gap| gap.to - gap.from + 1).sum();
        assert_eq!(found.len() as u64 + n_missing, page.head, "flipped at {at}");
        // What a reader may have seen is never numbered again.
        let appended = session.append(vec![chunk(99)], false, 7).unwrap();
        assert!(appended.stored[0].seq > n_events, "flipped at {at}");
        drop((session, store));
        remove_beside(dir.path(), &[".torn-", ".idx"]);
    }
}

#[test]
fn after_another_boot_a_log_that_was_not_closed_has_another_epoch() {
    let (dir, _) = log_of(3);
    let epoch_of = |store: &Store| store.session(&id("s1")).unwrap().position().0;
    let first = epoch_of(&open(dir.path()));
    std::fs::write(dir.path().join("boot_id"), "another").unwrap();
    let store = open(dir.path());
    let second = epoch_of(&store);
    assert_ne!(first, second);
    let session = store.session(&id("s1")).unwrap();
    session.append(vec![chunk(4)], false, 7).unwrap();
    assert_eq!(all(&session), numbered(4));
    store.close();
    drop((session, store));
    std::fs::write(dir.path().join("boot_id"), "another").unwrap();
    assert_eq!(epoch_of(&open(dir.path())), second, "a closed log keeps it");
}

#[test]
fn what_was_not_durable_under_one_policy_is_not_taken_for_it_under_another() {
    let (dir, _) = log_of(3);
    let epoch_of = |store: &Store| store.session(&id("s1")).unwrap().position().0;
    let fail_power = || {
        let path = dir.path().join("boot_id");
        let kept = std::fs::read_to_string(&path).unwrap();
        let now = kept.lines().next().unwrap();
        std::fs::write(&path, kept.replacen(now, "another", 1)).unwrap();
    };
    let always = Options {
        sync: SyncPolicy::Always,
        ..Options::default()
    };
    let first = epoch_of(&open(dir.path()));
    fail_power();
    let second = epoch_of(&Store::open(dir.path(), always).unwrap());
    assert_ne!(first, second, "the last server synced each second");
    fail_power();
    assert_eq!(
        epoch_of(&open(dir.path())),
        second,
        "the last one always did"
    );
}

#[test]
fn what_comes_while_the_disk_is_at_it_is_made_durable_too() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let begun = std::time::Instant::now();
    let mut n = 0;
    while begun.elapsed() < std::time::Duration::from_millis(3_500) {
        n += 1;
        session.append(vec![chunk(n)], false, 7).unwrap();
    }
    let ended = std::time::Instant::now();
    while !session.condition().synced {
        assert!(ended.elapsed().as_secs() < 30, "it is never synced");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_log_that_somebody_else_cut_goes_on_under_another_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let first = session
        .append((1..=10).map(chunk).collect(), false, 5)
        .unwrap();
    let path = log_path(dir.path());
    let text = std::fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().take(6).collect();
    std::fs::write(&path, kept.join("\n") + "\n").unwrap();
    let second = session.append(vec![chunk(11)], false, 6).unwrap();
    assert_ne!(first.epoch, second.epoch);
    assert_eq!(second.stored[0].seq, 11);
    let page = session
        .page(PageRequest {
            after: 0,
            limit: 100,
            max_bytes: 1 << 20,
        })
        .unwrap();
    assert_eq!(page.lines.len(), 6);
    assert_eq!((page.gaps[0].from, page.gaps[0].to), (6, 10));
}

#[test]
fn a_folder_has_one_store() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let Err(Error::Locked { pid, .. }) = Store::open(dir.path(), Options::default()) else {
        panic!("a second store was opened");
    };
    assert_eq!(pid, Some(std::process::id()));
    drop(store);
    open(dir.path());
}

#[test]
fn what_is_no_log_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let stranger = dir.path().join("somebody-00000000.events.jsonl");
    std::fs::write(&stranger, "not ours").unwrap();
    let taken = log_path(dir.path());
    let theirs =
        r#"{"seq":1,"id":"a","timestamp":1,"sessionId":"s2","type":"interrupt","payload":{}}"#;
    std::fs::write(&taken, format!("{theirs}\n")).unwrap();
    let store = open(dir.path());
    assert!(store.sessions().is_empty());
    assert!(matches!(
        store.session_or_new(&id("s1")),
        Err(Error::NotALog { .. })
    ));
    assert_eq!(std::fs::read_to_string(stranger).unwrap(), "not ours");
    assert_eq!(
        std::fs::read_to_string(taken).unwrap(),
        format!("{theirs}\n")
    );
}

/// What a full disk leaves of a new log, where its name cannot be taken away either.
#[test]
fn a_file_without_a_byte_is_no_session_until_something_is_written() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(log_path(dir.path()), "").unwrap();
    assert!(chat_store::rows(dir.path()).unwrap().rows.is_empty());
    let store = open(dir.path());
    assert!(store.sessions().is_empty());
    assert_eq!(store.unopened_logs(), 0);
    let session = store.session_or_new(&id("s1")).unwrap();
    session.append(vec![chunk(1)], false, 7).unwrap();
    drop((session, store));
    assert_eq!(chat_store::rows(dir.path()).unwrap().rows.len(), 1);
    let store = open(dir.path());
    assert_eq!(all(&store.session(&id("s1")).unwrap()), numbered(1));
}

#[test]
fn a_large_body_is_kept_once_beside_the_log_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let long = "x\u{2028}".repeat(100_000);
    let result = |event_id: &str| {
        let payload = ToolResult {
            tool_call_id: "t".to_owned(),
            result: Json::string(&long),
            ..ToolResult::default()
        };
        ChatEvent::new(event_id, 1, "s1", payload)
    };
    session
        .append(vec![result("a"), result("b")], false, 5)
        .unwrap();
    let len = std::fs::metadata(log_path(dir.path())).unwrap().len();
    assert!(len < 30_000, "{len} bytes");
    let again = session.append(vec![result("a")], false, 6).unwrap();
    assert_eq!(again.results[0], ItemResult::Duplicate { seq: 1 });
    let whole = session.event_whole("b").unwrap().unwrap();
    let chat_event::Payload::ToolResult(payload) = whole.payload else {
        panic!("another payload")
    };
    assert_eq!(payload.result.as_str().unwrap(), long);
    let n_blobs: usize = std::fs::read_dir(dir.path().join("blobs"))
        .unwrap()
        .map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count())
        .sum();
    assert_eq!(n_blobs, 1);
}

#[test]
fn what_an_event_says_is_kept_value_for_value() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let text = r#"{"id":"a","timestamp":1,"sessionId":"s1","type":"brand_new","payload":{"n":1.0,"big":123456789012345678901234567890,"z":[],"a":{"\u2028":"\u0085"}},"later":{"x":1e400}}"#;
    let event = ChatEvent::from_json(text).unwrap();
    session.append(vec![event.clone()], false, 5).unwrap();
    let mut back = session.event_whole("a").unwrap().unwrap();
    back.seq = None;
    back.recv = None;
    assert_eq!(back, event);
    let log = std::fs::read(log_path(dir.path())).unwrap();
    assert!(log.is_ascii(), "line breaks of other kinds are escaped");
}

#[test]
fn many_threads_get_numbers_without_holes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let threads: Vec<_> = (0..8u64)
        .map(|thread| {
            let store = store.clone();
            std::thread::spawn(move || {
                let session = store.session_or_new(&id("s1")).unwrap();
                for batch in 0..20 {
                    let first = thread * 1000 + batch * 10;
                    let events = (first..first + 10).map(chunk).collect();
                    let appended = session.append(events, false, 5).unwrap();
                    let seqs: Vec<_> = appended.stored.iter().map(|it| it.seq).collect();
                    assert!(seqs.windows(2).all(|two| two[0] + 1 == two[1]));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let session = store.session(&id("s1")).unwrap();
    let seqs: Vec<_> = all(&session).into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(seqs, (1..=1600).collect::<Vec<_>>());
}

/// The child of the next test: appends for ever and says what was acknowledged.
#[test]
#[ignore = "is run by the test of kills as a process of its own"]
fn append_for_ever() {
    let dir = PathBuf::from(std::env::var_os("CHAT_STORE_TEST_DIR").unwrap());
    let sync = match std::env::var("CHAT_STORE_TEST_SYNC").unwrap().as_str() {
        "always" => SyncPolicy::Always,
        "never" => SyncPolicy::Never,
        _ => SyncPolicy::EverySecond,
    };
    let store = Store::open(
        &dir,
        Options {
            sync,
            ..Options::default()
        },
    )
    .unwrap();
    let session = store.session_or_new(&id("s1")).unwrap();
    let (epoch, head) = session.position();
    let mut stdout = std::io::stdout();
    let mut n = head;
    for batch in 1.. {
        let size = batch * 7 % 50 + 1;
        let events = (n + 1..=n + size).map(chunk).collect();
        session.append(events, false, 5).unwrap();
        n += size;
        writeln!(stdout, "acked {n} {epoch}").unwrap();
        stdout.flush().unwrap();
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut epochs = Vec::new();
    for round in 0..15u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "log::append_for_ever",
                "--nocapture",
            ])
            .env("CHAT_STORE_TEST_DIR", dir.path())
            .env(
                "CHAT_STORE_TEST_SYNC",
                ["always", "everysec", "never"][round as usize % 3],
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acked = None;
        // Killed at some moment after the first acknowledgement; what was said until then still lies in the pipe.
        while acked.is_none() {
            acked = ack_of(&lines.next().unwrap().unwrap());
        }
        std::thread::sleep(std::time::Duration::from_millis(round * 23 % 60));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            acked = ack_of(&line).or(acked);
        }
        let store = open(dir.path());
        let (n_acked, epoch) = acked.unwrap();
        let session = store.session(&id("s1")).unwrap();
        let found = all(&session);
        assert!(found.len() as u64 >= n_acked, "round {round}");
        assert_eq!(found, numbered(found.len() as u64), "round {round}");
        epochs.push(epoch);
    }
    assert!(
        epochs.len() > 5,
        "too few rounds came to an acknowledgement"
    );
    epochs.dedup();
    assert_eq!(epochs.len(), 1);
}

/// What the child said; half a line may be its last.
fn ack_of(line: &str) -> Option<(u64, String)> {
    let (_, rest) = line.split_once("acked ")?;
    let (n, epoch) = rest.split_once(' ')?;
    (epoch.len() == 22).then(|| (n.parse().unwrap(), epoch.to_owned()))
}
