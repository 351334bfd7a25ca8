//! Who has to do with other sessions does not wait for the disk.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use chat_event::ChatEvent;
use chat_event::payload::TurnStart;

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
        let goes = store.inner.going.begin(&id);
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
