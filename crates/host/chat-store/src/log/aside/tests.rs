use std::path::Path;

use chat_event::ChatEvent;
use chat_event::payload::AssistantDone;

use super::*;
use crate::{Error, Options, SessionId, Store, SyncPolicy};

const EVENTS: u64 = 60;

pub(in crate::log) fn open(dir: &Path) -> Store {
    let options = Options {
        sync: SyncPolicy::Never,
        segment_bytes: 1500,
        ..Options::default()
    };
    Store::open(dir, options).unwrap()
}

pub(in crate::log) fn id() -> SessionId {
    SessionId::parse("s1").unwrap()
}

pub(in crate::log) fn done(n: u64) -> ChatEvent {
    ChatEvent::new(format!("e{n}"), 1, "s1", AssistantDone::default())
}

/// A folder in memory, where there is such: what is made durable here is never lost with power.
pub(in crate::log) fn memory_dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Another folder with the same files.
pub(in crate::log) fn same_folder(dir: &Path) -> tempfile::TempDir {
    let same = memory_dir();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            std::fs::copy(entry.path(), same.path().join(entry.file_name())).unwrap();
        }
    }
    same
}

/// A folder with a log of several segments and an index, which nobody holds; and the epoch of the log.
fn folder() -> (tempfile::TempDir, String) {
    let dir = memory_dir();
    let store = open(dir.path());
    let session = store.session_or_new(&id()).unwrap();
    for n in 1..=EVENTS {
        session.append(vec![done(n)], false, 5).unwrap();
    }
    let epoch = session.position().0;
    store.close();
    (dir, epoch)
}

fn files(dir: &Path) -> Files {
    let files = Files::of_one(dir, &id().stem()).listed_anew().unwrap();
    assert!(files.sealed.len() > 2, "{files:?}");
    files
}

/// The bytes of all files of these names, one after the other.
fn bytes(dir: &Path, is_one: impl Fn(&str) -> bool) -> Vec<u8> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| is_one(name));
    names.sort();
    let read = names
        .iter()
        .map(|name| std::fs::read(dir.join(name)).unwrap());
    read.collect::<Vec<_>>().concat()
}

/// The log, and what was set aside of it.
fn log(dir: &Path) -> Vec<u8> {
    bytes(dir, |name| name.ends_with(".events.jsonl"))
}

fn aside(dir: &Path) -> Vec<u8> {
    bytes(dir, |name| {
        name.contains(ENDING) && !name.contains("manifest")
    })
}

fn take(steps: &[Step]) {
    steps.iter().for_each(|step| step.take().unwrap());
}

#[test]
fn wherever_setting_aside_stops_the_log_is_there_whole_or_not_at_all() {
    let (first, epoch) = folder();
    let n_steps = steps(&files(first.path())).len();
    for n_taken in 0..=n_steps {
        // What ends it may be stopped, too.
        for n_then in 0..=n_steps {
            let dir = same_folder(first.path());
            let (dir, before) = (dir.path(), log(dir.path()));
            take(&steps(&files(dir))[..n_taken]);
            if is_begun(&files_now(dir)) {
                let rest = rest(&files_now(dir), ".aside-1");
                take(&rest[..n_then.min(rest.len())]);
            } else if n_then > 0 {
                continue;
            }
            let store = open(dir);
            let what = format!("{n_taken} steps, then {n_then}");
            match store.session(&id()) {
                Some(session) => {
                    assert_eq!(n_taken, 0, "the mark counts");
                    assert_eq!(session.position(), (epoch.clone(), EVENTS));
                    assert_eq!(log(dir), before);
                }
                None => {
                    assert_eq!(aside(dir), before, "{what}");
                    assert_eq!(log(dir), b"", "{what}");
                    assert!(!is_begun(&files_now(dir)) && !files_now(dir).index().exists());
                    // Who goes on here has numbers of its own, and the next start finds them.
                    let session = store.session_or_new(&id()).unwrap();
                    session.append(vec![done(1)], false, 5).unwrap();
                    let position = session.position();
                    assert_ne!(position.0, epoch, "{what}");
                    drop((session, store));
                    let store = open(dir);
                    assert_eq!(store.session(&id()).unwrap().position(), position);
                    assert_eq!(aside(dir), before, "{what}");
                }
            }
        }
    }
}

/// All there is to do.
fn steps(files: &Files) -> Vec<Step> {
    let mut steps = beginning(files, ".aside-1");
    steps.extend(rest(files, ".aside-1"));
    steps
}

fn files_now(dir: &Path) -> Files {
    Files::of_one(dir, &id().stem()).listed_anew().unwrap()
}

#[test]
fn a_mark_that_says_nothing_of_use_takes_no_name_from_another_file() {
    for said in ["", ".aside-x", "/../x", ".aside-1", "\u{0}"] {
        let (dir, _) = folder();
        let (dir, before) = (dir.path(), log(dir.path()));
        let taken = dir.join(format!("{}.aside-1", id().stem()));
        std::fs::write(&taken, "another's").unwrap();
        std::fs::write(mark(&files(dir)), said).unwrap();
        assert!(open(dir).session(&id()).is_none());
        assert_eq!(std::fs::read(&taken).unwrap(), b"another's");
        assert_eq!(
            bytes(dir, |name| name.ends_with(".aside-2")
                && !name.contains("manifest")),
            before
        );
    }
}

#[test]
fn where_a_log_was_from_is_not_said_of_the_one_in_its_place() {
    let (dir, _) = folder();
    files(dir.path()).mark_restored().unwrap();
    let store = open(dir.path());
    let session = store.session(&id()).unwrap();
    session.begin_anew("home", "there").unwrap();
    assert!(!files_now(dir.path()).is_restored());
    session.take_over().unwrap();
    session.append(vec![done(1)], false, 5).unwrap();
    assert_eq!(session.epochs().len(), 2, "there, and here");
}

#[test]
fn where_the_disk_refuses_the_rest_nothing_is_written_before_that_is_done() {
    let (dir, epoch) = folder();
    let store = open(dir.path());
    let session = store.session(&id()).unwrap();
    let before = log(dir.path());
    // An index that is a folder is not removed.
    session.append(vec![done(61)], false, 5).unwrap();
    let whole = log(dir.path());
    assert!(whole.starts_with(&before));
    let index = files(dir.path()).index();
    std::fs::remove_file(&index).unwrap();
    std::fs::create_dir_all(index.join("x")).unwrap();
    let refused = session.begin_anew("home", "there");
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    assert!(is_begun(&files_now(dir.path())));
    let refused = session.append(vec![done(62)], false, 5);
    assert!(
        matches!(refused, Err(Error::Degraded { .. })),
        "{refused:?}"
    );
    // At the next start it is left out, as long as it is so.
    drop((session, store));
    let store = open(dir.path());
    assert!(store.session(&id()).is_none());
    assert_eq!(store.unopened_logs(), 1);
    assert!(store.session_or_new(&id()).is_err());
    assert_eq!(store.unopened_logs(), 1);
    std::fs::remove_dir_all(&index).unwrap();
    assert!(store.session_or_new(&id()).is_ok(), "it is tried again");
    assert_eq!(store.unopened_logs(), 0);
    drop(store);
    let store = open(dir.path());
    assert_eq!(aside(dir.path()), whole);
    assert_ne!(store.session_or_new(&id()).unwrap().position().0, epoch);
}
