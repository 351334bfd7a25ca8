//! Logs that were made elsewhere: taken in as they are, and gone on with under an epoch of their own.

use std::io::{Read, Write};
use std::path::Path;

use crate::support::copying::{HOME, copy_all};
use crate::support::{all, chunk, id, log_path, numbered, open};
use chat_store::{Error, Options, Store};

/// A store whose logs come in several segments soon.
fn in_segments(dir: &Path) -> Store {
    let options = Options {
        segment_bytes: 2000,
        ..Options::default()
    };
    Store::open(dir, options).unwrap()
}

/// The bytes of a log of `n` events, made in a folder of its own, in several segments.
fn made_elsewhere(n: u64) -> (Vec<u8>, (String, u64)) {
    let dir = tempfile::tempdir().unwrap();
    let store = in_segments(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    for n in 1..=n {
        session.append(vec![chunk(n)], false, 1).unwrap();
    }
    let mut bytes = Vec::new();
    session
        .log_bytes()
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    (bytes, session.position())
}

fn restore(store: &Store, bytes: &[u8]) -> Result<std::sync::Arc<chat_store::Session>, Error> {
    let restoring = store.restoring(&id("s1")).unwrap();
    restoring.file().write_all(bytes).unwrap();
    store.restore(&restoring)
}

fn log(dir: &Path) -> Vec<u8> {
    std::fs::read(log_path(dir)).unwrap()
}

fn waiting(dir: &Path) -> usize {
    std::fs::read_dir(dir.join("restoring")).unwrap().count()
}

#[test]
fn a_log_that_was_made_elsewhere_is_as_it_was_there_until_it_is_appended_to() {
    let (bytes, position) = made_elsewhere(100);
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = restore(&store, &bytes).unwrap();
    assert_eq!(session.position(), position);
    assert_eq!(session.damaged_lines(), 0);
    assert_eq!(all(&session), numbered(100));
    assert!(log(dir.path()) == bytes);
    assert_eq!(waiting(dir.path()), 0);
    // Also after a server that was killed, while it took in another.
    std::mem::forget(store.restoring(&id("s2")).unwrap());
    drop((session, store));
    let store = open(dir.path());
    assert_eq!(waiting(dir.path()), 0);
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(session.position(), position);
    assert!(log(dir.path()) == bytes);

    // What is known adds nothing. What is new has the next number, under another epoch.
    session.append(vec![chunk(7)], false, 1).unwrap();
    assert_eq!(session.position(), position);
    let appended = session.append(vec![chunk(101)], false, 1).unwrap();
    let (epoch, head) = session.position();
    assert_eq!((&appended.epoch, head), (&epoch, 101));
    assert_ne!(epoch, position.0);
    assert_eq!(appended.summary.epoch, epoch);
    // Once.
    let appended = session.append(vec![chunk(102)], false, 1).unwrap();
    assert_eq!(appended.epoch, epoch);
    drop((session, store));
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    session.append(vec![chunk(103)], false, 1).unwrap();
    assert_eq!(session.position(), (epoch, 103));
    assert_eq!(all(&session), numbered(103));
    let base = session.epochs().last().unwrap().base;
    assert_eq!(base, 100);
    assert!(log(dir.path()).starts_with(&bytes));
}

#[test]
fn no_log_takes_the_place_of_another_nor_what_is_none() {
    let (bytes, _) = made_elsewhere(5);
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for other in [&b""[..], b"no log\n", br#"{"sessionId":"s2"}"#] {
        assert!(matches!(restore(&store, other), Err(Error::NotALog { .. })));
        assert_eq!(waiting(dir.path()), 0);
        assert!(store.session(&id("s1")).is_none());
        assert!(!log_path(dir.path()).exists());
    }
    let session = store.session_or_new(&id("s1")).unwrap();
    session.append(vec![chunk(1)], false, 1).unwrap();
    let before = session.position();
    assert!(matches!(restore(&store, &bytes), Err(Error::Exists { .. })));
    assert_eq!(waiting(dir.path()), 0);
    assert_eq!(store.session(&id("s1")).unwrap().position(), before);
    session.append(vec![chunk(2)], false, 1).unwrap();
    assert_eq!(session.position(), (before.0, 2));
    // One whose log was taken away makes room.
    std::fs::remove_file(log_path(dir.path())).unwrap();
    assert_eq!(all(&restore(&store, &bytes).unwrap()), numbered(5));
}

#[test]
fn a_log_that_was_cut_is_repaired_before_it_is_taken_in() {
    let (bytes, (epoch, _)) = made_elsewhere(5);
    for cut in [1, 2, 30] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let session = restore(&store, &bytes[..bytes.len() - cut]).unwrap();
        let n = if cut == 1 { 5 } else { 4 };
        assert_eq!(all(&session), numbered(n));
        session.append(vec![chunk(n + 1)], false, 1).unwrap();
        assert_ne!(session.position().0, epoch);
        assert_eq!(all(&session), numbered(n + 1));
    }
}

#[test]
fn who_holds_a_session_that_was_taken_away_writes_nothing_once_another_has_its_place() {
    let (bytes, position) = made_elsewhere(100);
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let before = store.session_or_new(&id("s1")).unwrap();
    before.append(vec![chunk(1)], false, 1).unwrap();
    std::fs::remove_file(log_path(dir.path())).unwrap();
    let session = restore(&store, &bytes).unwrap();
    let refused = before.append(vec![chunk(2)], false, 1);
    assert!(matches!(refused, Err(Error::PackedAway { .. })));
    assert!(log(dir.path()) == bytes);
    assert_eq!(session.position(), position);
}

/// A folder that was left on purpose with `n` events, and a copy of all its files.
fn left_and_copied(n: u64) -> (tempfile::TempDir, tempfile::TempDir) {
    let (dir, backup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    append(dir.path(), &(1..=n).collect::<Vec<_>>());
    copy_files(dir.path(), backup.path());
    (dir, backup)
}

/// Opens the folder, appends, and leaves it on purpose; where the log is then.
fn append(dir: &Path, numbers: &[u64]) -> (String, u64) {
    let store = open(dir);
    let session = store.session_or_new(&id("s1")).unwrap();
    let events = numbers.iter().map(|n| chunk(*n)).collect();
    session.append(events, false, 1).unwrap();
    let position = session.position();
    store.close();
    position
}

/// Copies files as `cp -a` does, with their times.
fn copy_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let copy = to.join(path.file_name().unwrap());
            std::fs::copy(&path, &copy).unwrap();
            let time = path.metadata().unwrap().modified().unwrap();
            let file = std::fs::File::options().append(true).open(&copy).unwrap();
            file.set_modified(time).unwrap();
        }
    }
}

/// Puts the backup in the place of all that is there.
fn put_back(dir: &Path, backup: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    copy_files(backup, dir);
}

#[test]
fn a_backup_that_was_left_on_purpose_goes_on_under_another_epoch() {
    let another_boot = |dir: &Path| std::fs::write(dir.join("boot_id"), "another\n\n").unwrap();
    let without_index = |dir: &Path| {
        let index = dir.join(format!("{}.idx", id("s1").stem()));
        std::fs::remove_file(index).unwrap();
    };
    // As a program of another version may have left it.
    let other_index = |dir: &Path| {
        let index = dir.join(format!("{}.idx", id("s1").stem()));
        let mut bytes = std::fs::read(&index).unwrap();
        bytes[7] = b'1';
        let checksum = chat_event::jsonl::crc32c(&bytes[..28]);
        bytes[28..32].copy_from_slice(&checksum.to_le_bytes());
        std::fs::write(&index, bytes).unwrap();
    };
    let changes: [&dyn Fn(&Path); 4] = [&|_| {}, &another_boot, &without_index, &other_index];
    for (at, change) in changes.iter().enumerate() {
        let (dir, backup) = left_and_copied(1);
        let before = append(dir.path(), &[2, 3]);
        put_back(dir.path(), backup.path());
        change(dir.path());
        let after = append(dir.path(), &[12, 13]);
        assert_eq!((before.1, after.1), (3, 3));
        assert_ne!(before.0, after.0, "change {at}");
        // Once.
        assert_eq!(append(dir.path(), &[14]), (after.0.clone(), 4), "{at}");
        let session = open(dir.path()).session(&id("s1")).unwrap();
        let bases: Vec<u64> = session.epochs().iter().map(|it| it.base).collect();
        assert_eq!(bases, [0, 1], "change {at}");
    }
}

#[test]
fn what_was_put_back_begins_one_epoch_however_many_things_ask_for_one() {
    let bases = |dir: &Path| -> Vec<u64> {
        let session = open(dir).session(&id("s1")).unwrap();
        session.epochs().iter().map(|it| it.base).collect()
    };
    // The log alone, under an index that knows of more.
    let (dir, backup) = left_and_copied(1);
    append(dir.path(), &[2, 3]);
    std::fs::remove_file(log_path(dir.path())).unwrap();
    std::fs::copy(log_path(backup.path()), log_path(dir.path())).unwrap();
    append(dir.path(), &[12]);
    append(dir.path(), &[13]);
    assert_eq!(bases(dir.path()), [0, 1]);
    // A copy, that is its own home before anything is appended.
    let (home, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home = open(home.path());
    let home = home.session_or_new(&id("s1")).unwrap();
    home.append(vec![chunk(1)], false, 1).unwrap();
    let store = open(dir.path());
    let copy = store.session_or_copy(&id("s1"), HOME, &home.position().0);
    let copy = copy.unwrap();
    copy_all(&home, &copy, 5);
    store.close();
    drop((copy, store));
    std::fs::remove_file(dir.path().join(format!("{}.idx", id("s1").stem()))).unwrap();
    let store = open(dir.path());
    let copy = store.session(&id("s1")).unwrap();
    copy.take_over().unwrap();
    copy.append(vec![chunk(2)], false, 1).unwrap();
    drop((copy, store));
    assert_eq!(bases(dir.path()), [0, 1]);
}

#[test]
fn a_stop_is_no_backup_however_the_log_was_left() {
    // Killed behind a file that was sealed: the index is of what is a segment now.
    let dir = tempfile::tempdir().unwrap();
    let store = in_segments(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    for n in 1..=40 {
        session.append(vec![chunk(n)], false, 1).unwrap();
    }
    let epoch = session.position().0;
    drop((session, store));
    assert!(crate::support::files_of(dir.path()).len() > 2);
    assert_eq!(append(dir.path(), &[41]), (epoch, 41));
}
