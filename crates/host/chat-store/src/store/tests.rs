//! Who has to do with other sessions does not wait for the disk.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use chat_event::ChatEvent;
use chat_event::payload::{TurnStart, UserMessage};

use super::*;

fn store_of(dir: &Path, names: &[&str]) -> (Store, Vec<SessionId>) {
    let options = Options {
        sync: SyncPolicy::Never,
        ..Options::default()
    };
    let store = Store::open(dir, options).unwrap();
    let ids: Vec<SessionId> = names
        .iter()
        .map(|name| {
            let id = SessionId::parse(name).unwrap();
            let session = store.session_or_new(&id).unwrap();
            let event = ChatEvent::new("e1", 1, *name, TurnStart::default());
            session.append(vec![event], false, 1).unwrap();
            id
        })
        .collect();
    (store, ids)
}

#[test]
fn the_list_of_open_logs_is_not_held_while_one_is_put_away() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ids) = store_of(dir.path(), &["s1", "s2", "s3", "s4"]);
    let inner = &store.inner;
    let open = || {
        let mut open: Vec<_> = locked(&inner.open).keys().cloned().collect();
        open.sort();
        open
    };
    assert_eq!(open(), ids);
    let mut asked = Mutex::new(Vec::new());
    inner.keep_open(2, &ids[3], &|session| {
        assert!(inner.open.try_lock().is_ok(), "others go on meanwhile");
        locked(&asked).push(session.id().clone());
        // Somebody is at the oldest.
        *session.id() != ids[0] && session.put_away(SyncPolicy::Never)
    });
    assert_eq!(*asked.get_mut().unwrap(), ids[..3]);
    assert_eq!(open(), [ids[0].clone(), ids[3].clone()]);
    // One that is opened again while it is put away is among those that are open.
    inner.keep_open(1, &ids[3], &|session| {
        let done = session.put_away(SyncPolicy::Never);
        session.look_anew().unwrap();
        done
    });
    assert_eq!(open(), [ids[0].clone(), ids[3].clone()]);
}

#[test]
fn who_asks_for_another_session_does_not_wait_for_one_that_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ids) = store_of(dir.path(), &["other"]);
    let id = SessionId::parse("s1").unwrap();
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        // As who removes it, and a disk that takes long.
        let goes = store.inner.changing.begin(&id);
        assert!(store.session(&ids[0]).is_some());
        let another = SessionId::parse("another").unwrap();
        store.session_or_new(&another).unwrap();
        store.remove(&another).unwrap();
        for act in [
            (|store, id| drop(store.session_or_new(id))) as fn(&Store, &SessionId),
            |store, id| drop(store.remove(id)),
        ] {
            let (store, id, done) = (&store, &id, done.clone());
            scope.spawn(move || {
                act(store, id);
                done.send(()).unwrap();
            });
        }
        let early = is_done.recv_timeout(Duration::from_millis(200));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        drop(goes);
        for _ in 0..2 {
            is_done.recv_timeout(Duration::from_secs(30)).unwrap();
        }
    });
}

#[test]
fn who_asks_whether_the_folder_takes_files_does_not_change_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = store_of(dir.path(), &["s1"]);
    let changed = || dir.path().metadata().unwrap().modified().unwrap();
    let before = changed();
    std::thread::sleep(Duration::from_millis(20));
    store.probe().unwrap();
    assert_eq!(changed(), before);
    // Where that of the bodies is away, the folder itself is tried.
    std::fs::remove_dir_all(dir.path().join("blobs")).unwrap();
    store.probe().unwrap();
    let mut names = std::fs::read_dir(dir.path()).unwrap().flatten();
    assert!(names.all(|entry| !entry.file_name().to_string_lossy().contains("probe")));
}

#[cfg(unix)]
#[test]
fn a_session_that_the_disk_refused_is_as_any_other_once_it_was_removed() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ids) = store_of(dir.path(), &["s1"]);
    let session = store.session(&ids[0]).unwrap();
    let append = |name| {
        let event = ChatEvent::new(name, 1, "s1", TurnStart::default());
        session.append(vec![event], false, 1)
    };
    let lose = |log: &mut crate::log::Log| {
        log.lose_its_disk();
        Ok(())
    };
    session.with(&store.inner, lose).unwrap();
    session.sync().unwrap_err();
    append("e2").unwrap_err();
    assert!(session.condition().degraded.is_some());
    let (epoch, head) = session.position();
    store.remove(&ids[0]).unwrap();
    assert!(session.condition().degraded.is_none());
    assert!(locked(&store.inner.open).is_empty());
    // It goes on behind what it had.
    let appended = append("e2").unwrap();
    assert_eq!(appended.stored[0].seq, head + 1);
    assert_ne!(appended.epoch, epoch);
}

/// A log that is a pipe: who opens it waits, as on a disk that hangs.
#[cfg(unix)]
#[test]
fn who_has_to_do_with_other_sessions_does_not_wait_for_one_that_begins() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ids) = store_of(dir.path(), &["other"]);
    let id = SessionId::parse("s1").unwrap();
    let pipe = store.log_path(&id);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        let begin = || drop(store.session_or_new(&id));
        let beginning = [scope.spawn(begin), scope.spawn(begin)];
        let (store, others) = (&store, &ids[0]);
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            let another = SessionId::parse("another").unwrap();
            store.session_or_new(&another).unwrap();
            store.session(others).unwrap().look_anew().unwrap();
            assert_eq!(store.sessions().len(), 2);
            done.send(()).unwrap();
        });
        let others = is_done.recv_timeout(Duration::from_secs(10));
        // Who waits is let go, one after the other; a pipe is no log.
        let mut options = File::options();
        options.write(true);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
        while !beginning.iter().all(|it| it.is_finished()) {
            let _ = options.open(&pipe);
            std::thread::sleep(Duration::from_millis(1));
        }
        others.unwrap();
    });
}

/// A body that is a pipe, as above.
#[cfg(unix)]
#[test]
fn who_looks_at_a_session_does_not_wait_for_a_body_that_comes_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ids) = store_of(dir.path(), &["s1"]);
    let session = store.session(&ids[0]).unwrap();
    let name = format!(".new-{}-0", std::process::id());
    let pipe = dir.path().join("blobs").join(name);
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let long = UserMessage {
        text: "long ".repeat(crate::INLINE_BYTES).into(),
        ..UserMessage::default()
    };
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        let session = &session;
        let writing = scope.spawn(move || {
            let event = ChatEvent::new("e2", 1, "s1", long);
            session.append(vec![event], false, 1)
        });
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            done.send(session.position().1).unwrap();
        });
        let head = is_done.recv_timeout(Duration::from_secs(10));
        assert!(!writing.is_finished());
        // It is let go; a pipe takes no body for good.
        let mut options = File::options();
        options.read(true);
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
        while !writing.is_finished() {
            let _ = options.open(&pipe);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(writing.join().unwrap().is_err());
        assert_eq!(head, Ok(1));
    });
}
