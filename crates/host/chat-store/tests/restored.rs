//! Logs that were made elsewhere: taken in as they are, and gone on with under an epoch of their own.

use std::io::{Read, Write};
use std::path::Path;

use crate::support::{all, chunk, id, log_path, numbered, open};
use chat_store::{Error, Options, Store};

/// The bytes of a log of `n` events, made in a folder of its own, in several segments.
fn made_elsewhere(n: u64) -> (Vec<u8>, (String, u64)) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 2000,
        ..Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
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
