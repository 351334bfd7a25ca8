//! What disks and programs do to a log: zeros, spliced and glued lines, whose whole records
//! are all there, files that go away, writes that never arrived
//! (D4, D8, S13, S31).

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{
    all, chunk, files_of, id, is_full, log_of, log_path, numbered, open, remove_beside,
};
use chat_event::jsonl::crc32c;
use chat_store::{Error, LogFound, Options, Page, PageRequest, Session, Store, SyncPolicy};

/// The numbers of the events whose records stand whole in `bytes`, wherever that is.
fn whole_records(bytes: &[u8], lines: &[&[u8]]) -> BTreeSet<u64> {
    let numbered = lines.iter().zip(0..);
    let whole = numbered.filter(|(line, _)| memmem(bytes, line));
    // The first line is the log's own.
    whole.map(|(_, seq)| seq).filter(|seq| *seq > 0).collect()
}

fn memmem(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Opens the log with these bytes, and holds it to what stands in them.
fn check(dir: &std::path::Path, bytes: &[u8], lines: &[&[u8]], what: &str) {
    std::fs::write(log_path(dir), bytes).unwrap();
    let expected = whole_records(bytes, lines);
    let store = open(dir);
    let session = store.session(&id("s1")).unwrap();
    let found: BTreeSet<u64> = all(&session).into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(found, expected, "{what}");
    let appended = session.append(vec![chunk(9999)], false, 7).unwrap();
    let last = expected.last().copied().unwrap_or_default();
    assert!(appended.stored[0].seq > last, "{what}");
    drop((session, store));
    let store = open(dir);
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(all(&session).len(), expected.len() + 1, "{what}");
    drop((session, store));
    remove_beside(dir, &[".torn-", ".idx"]);
}

#[test]
fn zeros_cost_the_lines_they_lie_on_and_no_others() {
    let (dir, whole) = log_of(if is_full() { 1000 } else { 120 });
    let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    let lines = &lines[..lines.len() - 1];
    for run in [512, 4096] {
        // The first line names the session; without any line of its own a log is nobody's.
        for at in (run..whole.len()).step_by(512) {
            let mut zeroed = whole.clone();
            let end = (at + run).min(whole.len());
            zeroed[at..end].fill(0);
            check(dir.path(), &zeroed, lines, &format!("{run} zeros at {at}"));
        }
    }
}

#[test]
fn what_is_spliced_into_a_log_or_missing_from_it_costs_no_whole_record() {
    let (dir, whole) = log_of(40);
    let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    let lines = &lines[..lines.len() - 1];
    let first = lines[0].len() + 1;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut rand = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % below
    };
    for round in 0..if is_full() { 10_000 } else { 300 } {
        let at = first + rand(whole.len() - first);
        let mut bytes = whole[..at].to_vec();
        match rand(4) {
            // Something between, without a newline.
            0 => bytes.extend_from_slice(&b"{\"seq\":7,\"junk\":tru"[..rand(19)]),
            // A piece that never was written.
            1 => {
                let gone = rand(120);
                bytes.extend_from_slice(&whole[(at + gone).min(whole.len())..]);
                check(
                    dir.path(),
                    &bytes,
                    lines,
                    &format!("round {round}, {gone} gone at {at}"),
                );
                continue;
            }
            // A newline too much.
            2 => bytes.push(b'\n'),
            // And one too few.
            _ => {
                let newline = at + whole[at..].iter().position(|byte| *byte == b'\n').unwrap();
                let bytes = [&whole[..newline], &whole[newline + 1..]].concat();
                check(
                    dir.path(),
                    &bytes,
                    lines,
                    &format!("round {round}, no newline at {newline}"),
                );
                continue;
            }
        }
        bytes.extend_from_slice(&whole[at..]);
        check(
            dir.path(),
            &bytes,
            lines,
            &format!("round {round}, spliced at {at}"),
        );
    }
}

#[test]
fn a_log_that_is_renamed_or_deleted_under_us_goes_on_under_another_epoch() {
    for is_renamed in [true, false] {
        for is_reopened in [true, false] {
            let what = format!("renamed: {is_renamed}, reopened: {is_reopened}");
            let dir = tempfile::tempdir().unwrap();
            let path = log_path(dir.path());
            let mut store = open(dir.path());
            let session = store.session_or_new(&id("s1")).unwrap();
            let events = (1..=10).map(chunk).collect();
            let first = session.append(events, false, 5).unwrap();
            drop(session);
            if is_reopened {
                // Only the index was looked at since.
                store.close();
                drop(store);
                store = open(dir.path());
            }
            let session = store.session(&id("s1")).unwrap();
            if is_renamed {
                std::fs::rename(&path, path.with_extension("old")).unwrap();
            } else {
                std::fs::remove_file(&path).unwrap();
            }
            let second = session.append(vec![chunk(11)], false, 6).unwrap();
            assert_ne!(first.epoch, second.epoch, "{what}");
            assert_eq!(second.stored[0].seq, 11, "{what}");
            assert_eq!(all(&session), [(11, "e11".to_owned())], "{what}");
            drop((session, store));
            let store = open(dir.path());
            let session = store.session(&id("s1")).unwrap();
            assert_eq!(session.position(), (second.epoch, 11), "{what}");
        }
    }
}

/// A page of all that is behind `after`.
fn page(session: &Session, after: u64) -> Result<Page, Error> {
    session.page(PageRequest {
        after,
        limit: 100,
        max_bytes: 1 << 20,
    })
}

/// A store with a session `s1` of ten events, which is put away where that is asked for.
fn store_of_ten(dir: &std::path::Path, is_put_away: bool) -> Store {
    let options = Options {
        sync: SyncPolicy::Never,
        open_logs: 1,
        ..Options::default()
    };
    let store = Store::open(dir, options).unwrap();
    let session = store.session_or_new(&id("s1")).unwrap();
    let events = (1..=10).map(chunk).collect();
    session.append(events, false, 5).unwrap();
    if is_put_away {
        store.session_or_new(&id("s2")).unwrap();
    }
    store
}

#[test]
fn who_reads_a_log_that_is_gone_makes_none_in_its_place() {
    for is_put_away in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let store = store_of_ten(dir.path(), is_put_away);
        let told = Arc::new(AtomicUsize::new(0));
        let counted = told.clone();
        store.tell_of_found(Box::new(move |_, found| {
            counted.fetch_add(usize::from(found == LogFound::Gone), Ordering::Relaxed);
        }));
        let session = store.session(&id("s1")).unwrap();
        let before = session.position();
        remove_beside(dir.path(), &["s1-"]);
        let refused = [
            page(&session, 0).map(|_| ()),
            session.event("e3").map(|_| ()),
            session.look_anew(),
            session.gaps(10, &|| ControlFlow::Continue(())).map(|_| ()),
        ];
        for refused in refused {
            assert!(matches!(refused, Err(Error::Gone { .. })), "{refused:?}");
        }
        assert_eq!(told.load(Ordering::Relaxed), 4);
        let left = files_of(dir.path());
        assert!(!left.iter().any(|name| name.starts_with("s1-")), "{left:?}");
        assert_eq!(session.position(), before);
        // Who writes begins another.
        let appended = session.append(vec![chunk(11)], false, 6).unwrap();
        assert_eq!(appended.stored[0].seq, 11);
        assert_eq!(page(&session, 0).unwrap().numbers, [11]);
    }
}

#[test]
fn a_log_that_takes_the_place_of_an_open_one_is_read_under_its_own_epoch() {
    for is_put_away in [true, false] {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = store_of_ten(dir.path(), is_put_away);
        let told = Arc::new(AtomicUsize::new(0));
        let counted = told.clone();
        store.tell_of_found(Box::new(move |_, found| {
            assert_eq!(found, LogFound::Anew);
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        let session = store.session(&id("s1")).unwrap();
        let (epoch, _) = session.position();
        {
            let store = open(other.path());
            let session = store.session_or_new(&id("s1")).unwrap();
            let events = (101..=130).map(chunk).collect();
            session.append(events, false, 5).unwrap();
        }
        std::fs::rename(log_path(other.path()), log_path(dir.path())).unwrap();
        let found = page(&session, 5).unwrap();
        assert!(found.epoch != epoch, "put away: {is_put_away}");
        let first = found.lines[0].contains("\"e106\"");
        assert!(first && found.head == 30, "{found:?}");
        assert_eq!(session.position(), (found.epoch, 30));
        assert!(session.event("e106").unwrap().is_some());
        assert_eq!(told.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn what_a_newer_program_says_of_its_log_is_kept_and_passed_over() {
    let (dir, whole) = log_of(3);
    let theirs = r#"{"id":"log-x","timestamp":1,"sessionId":"s1","type":"log_moon","payload":{"phase":[1,2]}"#;
    let theirs = format!("{theirs},\"c\":\"{:08x}\"}}\n", crc32c(theirs.as_bytes()));
    let mut bytes = whole;
    bytes.extend_from_slice(theirs.as_bytes());
    std::fs::write(log_path(dir.path()), &bytes).unwrap();
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(all(&session), numbered(3));
    assert_eq!(session.damaged_lines(), 0);
    assert_eq!(
        session.append(vec![chunk(4)], false, 7).unwrap().stored[0].seq,
        4
    );
    let text = std::fs::read_to_string(log_path(dir.path())).unwrap();
    assert!(text.contains(&theirs));
}

/// The power goes: of what was written behind the last sync some blocks arrived, some did not, and some are zeros. What was
/// made durable is all there, what is found is the beginning of what was written, and the epoch is another where numbers
/// that were given may be lost. Blocks are dropped by hand; what a real disk may do beyond that is not tried here.
#[test]
fn after_a_power_failure_what_is_found_is_what_was_written_first() {
    let memory = std::path::Path::new("/dev/shm");
    let dir = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
    .unwrap();
    let mut random = 0x1234_5678_9abc_def1_u64;
    let mut rand = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    for round in 0..if is_full() { 10_000 } else { 150 } {
        remove_beside(dir.path(), &["s1-", "boot_id"]);
        let sync = [
            SyncPolicy::Always,
            SyncPolicy::EverySecond,
            SyncPolicy::Never,
        ][round % 3];
        let options = Options {
            sync,
            ..Options::default()
        };
        let mut store = Store::open(dir.path(), options).unwrap();
        let mut session = store.session_or_new(&id("s1")).unwrap();
        let path = log_path(dir.path());
        let (mut n_events, mut n_synced, mut synced_bytes) = (0, 0, 0);
        for _ in 0..1 + rand(6) {
            let is_left = rand(3) == 0;
            if is_left {
                // The server is stopped, and starts again.
                store.close();
                drop((session, store));
                store = Store::open(dir.path(), options).unwrap();
                session = store.session_or_new(&id("s1")).unwrap();
            }
            let more = 1 + rand(20);
            let events = (n_events + 1..=n_events + more).map(chunk).collect();
            let appended = session.append(events, false, 7).unwrap();
            n_events += more;
            assert_eq!(appended.synced, sync == SyncPolicy::Always || is_left);
            if appended.synced || rand(3) == 0 {
                session.sync().unwrap();
                n_synced = n_events;
                synced_bytes = std::fs::metadata(&path).unwrap().len() as usize;
            }
        }
        let epoch = session.position().0;
        drop((session, store));
        // The name of a new log is durable with its first line.
        let whole = std::fs::read(&path).unwrap();
        let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let durable = synced_bytes.max(first_line);
        let keep = durable + rand((whole.len() - durable) as u64 + 1) as usize;
        let mut left = whole[..keep].to_vec();
        if rand(2) == 0 {
            // The length arrived before what was written.
            let zeros = whole.len().min(keep + 512);
            left.resize(zeros, 0);
        }
        std::fs::write(&path, &left).unwrap();
        std::fs::write(dir.path().join("boot_id"), "another").unwrap();
        // The index was never synced: it may be there as it was, or be gone.
        if rand(2) == 0 {
            remove_beside(dir.path(), &[".idx"]);
        }
        let store = Store::open(dir.path(), options).unwrap();
        let session = store.session(&id("s1")).unwrap();
        let found = all(&session);
        assert_eq!(found, numbered(found.len() as u64), "round {round}");
        assert!(found.len() as u64 >= n_synced, "round {round}");
        if sync == SyncPolicy::Always {
            assert_eq!(found.len() as u64, n_events, "round {round}");
        } else {
            assert_ne!(session.position().0, epoch, "round {round}");
        }
    }
}

#[test]
fn half_a_line_behind_a_clean_end_is_kept_beside_and_costs_nothing() {
    for is_same_boot in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let session = store.session_or_new(&id("s1")).unwrap();
        session
            .append((1..=9).map(chunk).collect(), false, 7)
            .unwrap();
        let (epoch, _) = session.position();
        store.close();
        drop((session, store));
        let whole = std::fs::read(log_path(dir.path())).unwrap();
        let half = br#"{"seq":10,"id":"e10","timestamp":10,"sess"#;
        std::fs::write(log_path(dir.path()), [&whole[..], half].concat()).unwrap();
        if !is_same_boot {
            std::fs::write(dir.path().join("boot_id"), "another\n").unwrap();
        }
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        assert_eq!(all(&session), numbered(9));
        assert_eq!(session.position().0 == epoch, is_same_boot);
        let torn = dir.path().join(format!("{}.torn-1", id("s1").stem()));
        assert_eq!(std::fs::read(torn).unwrap(), half);
        let appended = session.append(vec![chunk(10)], false, 8).unwrap();
        // Whoever tore the line may have told of its number, where that cannot be known.
        let seq = if is_same_boot { 10 } else { 11 };
        assert_eq!(appended.stored[0].seq, seq);
        store.close();
        drop((session, store));
        let n_bytes = std::fs::metadata(log_path(dir.path())).unwrap().len();
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        assert_eq!(session.summary().events, 10);
        let now = std::fs::metadata(log_path(dir.path())).unwrap().len();
        assert_eq!(now, n_bytes, "it is whole");
    }
}
