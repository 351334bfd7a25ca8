//! The database of OpenCode as it is written: `tests/opencode` says what is in it.
#![allow(
    clippy::unwrap_used,
    reason = "a promise that is not kept fails its test"
)]

use super::super::store::Store;
use super::super::store::lying::{Lying, assert_once, whole, without_indexes};
use super::*;

fn database() -> Lying<Buses> {
    let open = |path: &Path| OpenCode::new(Agent::OpenCode, path);
    Lying::new("opencode/opencode.db", "opencode.db", open)
}

fn at_once() -> Vec<ChatEvent> {
    let mut database = database();
    database.write_log(database.logs().last().unwrap());
    let mut store = database.store();
    assert_eq!(store.n_sessions(), (1, 1));
    database.read(&mut store);
    database.told
}

#[test]
fn who_begins_anew_at_any_change_tells_what_is_new_and_nothing_twice() {
    let mut database = database();
    for log in database.logs() {
        database.write_log(&log);
        let mut store = database.store();
        assert!(!database.read(&mut store).is_empty());
        // And when nothing changed.
        let mut store = database.store();
        assert_eq!(database.read(&mut store), []);
    }
    assert_once(&database.told);
    assert_eq!(whole(&database.told), whole(&at_once()));
}

#[test]
fn what_was_read_is_told_though_a_session_behind_it_cannot_be() {
    let mut database = database();
    let logs = database.logs();
    let mut store = database.store();
    database.read(&mut store);
    // It goes on, and no index can be read.
    database.write(&without_indexes(database.written_back(&logs[1])));
    store.enqueue("another".to_owned(), &database.kept);
    let (more, mut news) = store.read(&database.kept).unwrap();
    assert!(more);
    assert!(!news[0].events.is_empty());
    assert_eq!(news[0].told, store.loaded[&news[0].session].reading.told);
    database.told.append(&mut news[0].events);
    let why = store.read(&database.kept).unwrap_err().to_string();
    assert!(why.contains("session another"), "{why}");
    // It waits, and the others go on.
    database.write(&database.written_back(logs.last().unwrap()));
    database.read(&mut store);
    assert!(store.queue.is_empty());
    assert_once(&database.told);
    assert_eq!(whole(&database.told), whole(&at_once()));
}

#[test]
fn all_that_was_told_is_told_anew_to_who_compares_it() {
    let mut database = database();
    database.write_log(database.logs().last().unwrap());
    let mut store = database.store();
    database.read(&mut store);
    let mut anew = Vec::new();
    for (session, told) in &database.kept {
        let mut tell = |event| anew.push(event);
        store.tell_anew(session, told, &mut tell).unwrap();
    }
    assert_eq!(whole(&anew), whole(&database.told));
}

/// The recorded helper is called while its announcement is not whole.
#[test]
fn a_call_is_told_below_its_announcement_however_far_the_database_was_read() {
    let mut database = database();
    for log in database.logs() {
        database.write_log(&log);
        let mut store = database.store();
        database.read(&mut store);
    }
    for told in [database.told, at_once()] {
        let place = |wanted: &str| told.iter().position(|it| it.event_type() == wanted);
        assert!(place("assistant_done").unwrap() < place("tool_call").unwrap());
    }
}
