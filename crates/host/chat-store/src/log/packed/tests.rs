use std::path::Path;
use std::sync::Arc;

use super::super::aside::tests::{done, id, memory_dir, open, same_folder};
use super::*;
use crate::{Session, Store, sha256_hex};

fn folder() -> (tempfile::TempDir, Store, Arc<Session>) {
    let dir = memory_dir();
    let store = open(dir.path());
    let session = store.session_or_new(&id()).unwrap();
    for n in 1..=60 {
        session.append(vec![done(n)], false, 5).unwrap();
    }
    session.sync().unwrap();
    (dir, store, session)
}

fn files(dir: &Path) -> Files {
    Files::of_one(dir, &id().stem()).listed_anew().unwrap()
}

fn log(dir: &Path) -> Vec<u8> {
    let files = files(dir);
    let paths = files
        .sealed
        .iter()
        .map(|segment| files.segment(segment.number));
    let paths = paths.chain([files.newest()]);
    let read = paths.filter_map(|path| std::fs::read(path).ok());
    read.collect::<Vec<_>>().concat()
}

fn packed_of(session: &Session, log: &[u8]) -> Packed {
    let (epoch, head) = session.position();
    // As it is read: what it does not tell is not kept.
    let told = serde_json::to_value(&*session.summary()).unwrap();
    let mut summary: Summary = serde_json::from_value(told).unwrap();
    summary.packed = true;
    Packed {
        session: "s1".to_owned(),
        epoch,
        head,
        bytes: log.len() as u64,
        sha256: sha256_hex(log),
        summary,
    }
}

/// Brings the log back, as it is fetched.
fn restore(store: &Store, log: &[u8]) -> Arc<Session> {
    let restoring = store.restoring(&id()).unwrap();
    std::io::Write::write_all(&mut restoring.file(), log).unwrap();
    store.restore(&restoring).unwrap()
}

#[test]
fn what_is_packed_away_is_known_and_not_begun_anew_until_it_is_back() {
    let (dir, store, session) = folder();
    let before = log(dir.path());
    let packed = packed_of(&session, &before);
    assert!(store.pack_away(&session, packed.clone()).unwrap());
    assert_eq!(log(dir.path()), b"");
    assert!(store.session(&id()).is_none() && store.is_packed(&id()));
    let is_refused = |done: Result<(), Error>| matches!(done, Err(Error::PackedAway { .. }));
    assert!(is_refused(store.session_or_new(&id()).map(|_| ())));
    // Who still has the session makes no log either.
    assert!(is_refused(
        session.append(vec![done(61)], false, 5).map(|_| ())
    ));
    assert!(is_refused(session.event_whole("e1").map(|_| ())));
    assert_eq!(log(dir.path()), b"");
    drop((store, session));
    let store = open(dir.path());
    assert_eq!(store.sessions().len(), 0);
    assert_eq!(*store.packed()[0], packed);
    assert!(is_refused(store.session_or_new(&id()).map(|_| ())));
    let session = restore(&store, &before);
    assert_eq!(session.position(), (packed.epoch.clone(), 60));
    assert!(!store.is_packed(&id()) && !files(dir.path()).is_packed());
    session.append(vec![done(61)], false, 5).unwrap();
    assert_ne!(session.position().0, packed.epoch);
    // It goes away once more, under the epoch it has now.
    session.sync().unwrap();
    let (longer, again) = (log(dir.path()), session.position());
    assert!(
        store
            .pack_away(&session, packed_of(&session, &longer))
            .unwrap()
    );
    drop((session, store));
    let store = open(dir.path());
    assert_eq!(restore(&store, &longer).position(), again);
}

#[test]
fn what_is_not_what_was_compared_or_is_read_stays() {
    let (dir, store, session) = folder();
    let before = log(dir.path());
    let packed = packed_of(&session, &before);
    let wrong = [
        Packed {
            epoch: "other".to_owned(),
            ..packed.clone()
        },
        Packed {
            head: 59,
            ..packed.clone()
        },
        Packed {
            bytes: packed.bytes - 1,
            ..packed.clone()
        },
        Packed {
            sha256: sha256_hex(b""),
            ..packed.clone()
        },
        Packed {
            session: "s2".to_owned(),
            ..packed.clone()
        },
    ];
    for wrong in wrong {
        assert!(!store.pack_away(&session, wrong).unwrap());
    }
    // While it is read nothing of it goes.
    let mut n_seen = 0;
    session
        .walk(0, &mut |_, _| {
            n_seen += 1;
            assert!(!store.pack_away(&session, packed.clone()).unwrap());
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(n_seen, 60);
    session.append(vec![done(61)], false, 5).unwrap();
    session.sync().unwrap();
    assert!(!store.pack_away(&session, packed).unwrap());
    assert!(log(dir.path()).starts_with(&before));
    assert_eq!(session.position().1, 61);
    // A copy is another server's.
    let copy = packed_of(&session, &log(dir.path()));
    session.copy_from("home", &session.epochs()).unwrap();
    assert!(
        !store
            .pack_away(&session, packed_of(&session, &log(dir.path())))
            .unwrap()
    );
    assert!(!store.pack_away(&session, copy).unwrap());
    // One that is away, with a log that came here by hand.
    drop((session, store));
    let store = open(dir.path());
    assert_eq!(store.packed().len(), 0);
}

#[test]
fn wherever_packing_away_stops_all_of_the_log_is_here_or_none() {
    let (first, store, session) = folder();
    store.close();
    let packed = packed_of(&session, &log(first.path()));
    let position = session.position();
    drop((store, session));
    let steps = |packed: &Packed, dir: &Path| {
        let files = files(dir);
        let mut steps = beginning(packed, &files).unwrap();
        steps.extend(rest(&files));
        steps
    };
    let n_steps = steps(&packed, first.path()).len();
    for n_taken in 0..=n_steps {
        for n_then in 0..=n_steps {
            let dir = same_folder(first.path());
            let (dir, before) = (dir.path(), log(dir.path()));
            let all = steps(&packed, dir);
            all[..n_taken].iter().for_each(|step| step.take().unwrap());
            if is_begun(&files(dir)) {
                let rest = rest(&files(dir));
                let some = &rest[..n_then.min(rest.len())];
                some.iter().for_each(|step| step.take().unwrap());
            } else if n_then > 0 {
                continue;
            }
            let what = format!("{n_taken} steps, then {n_then}");
            let store = open(dir);
            assert!(!is_begun(&files(dir)), "{what}");
            match store.session(&id()) {
                Some(session) => {
                    assert_eq!(n_taken, 0, "the mark counts");
                    assert_eq!(log(dir), before);
                    assert_eq!(session.position().1, 60);
                }
                None => {
                    assert_eq!(log(dir), b"", "{what}");
                    assert_eq!(*store.packed()[0], packed, "{what}");
                    let session = restore(&store, &before);
                    assert_eq!(session.position(), position, "{what}");
                    session.append(vec![done(61)], false, 5).unwrap();
                    let gone_on = session.position();
                    drop((session, store));
                    let store = open(dir);
                    let session = store.session(&id()).unwrap();
                    assert_eq!(session.position(), gone_on, "{what}");
                    assert_eq!(store.packed().len(), 0);
                }
            }
        }
    }
}

#[test]
fn a_log_that_is_there_counts_and_what_is_damaged_is_left_out() {
    let (dir, store, session) = folder();
    let packed = packed_of(&session, &log(dir.path()));
    let position = session.position();
    let stub = files(dir.path()).packed();
    drop((session, store));
    // As after a power failure, before its removal was durable.
    std::fs::write(&stub, serde_json::to_vec(&packed).unwrap()).unwrap();
    let store = open(dir.path());
    assert_eq!(store.session(&id()).unwrap().position(), position);
    assert!(store.packed().is_empty() && !stub.exists());
    drop(store);
    let other = dir.path().join("other-00000000.packed.json");
    for text in ["", "{}", "null", &serde_json::to_string(&packed).unwrap()] {
        std::fs::write(&other, text).unwrap();
        let store = open(dir.path());
        assert_eq!(store.packed().len(), 0, "{text}");
        assert_eq!(store.sessions().len(), 1);
        assert!(other.exists());
    }
}
