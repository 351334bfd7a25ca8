//! The index is a cache: with it, without it, and with one that is wrong, every answer is the same (D10, S9).

use std::path::{Path, PathBuf};

use crate::support::{all, chunk, id, is_full, log_path, numbered, open, remove_beside};
use chat_event::payload::{
    ErrorEvent, PermissionRequest, PermissionResolved, SessionStart, ToolCall, ToolResult, TurnEnd,
    TurnStart, Usage, UserMessage,
};
use chat_event::{ChatEvent, Payload};
use chat_store::{ItemResult, Session, Store, Summary};

fn index_path(dir: &Path) -> PathBuf {
    dir.join(format!("{}.idx", id("s1").stem()))
}

/// All that is asked of a session.
#[derive(Debug, PartialEq)]
struct Answers {
    events: Vec<(u64, String)>,
    summary: Summary,
    epoch: String,
    oldest: u64,
    damaged: u64,
    results: Vec<ItemResult>,
}

fn ask(session: &std::sync::Arc<Session>, n_events: u64) -> Answers {
    let ids = (1..=n_events).map(chunk).collect();
    Answers {
        events: all(session),
        summary: session.summary().as_ref().clone(),
        epoch: session.position().0,
        oldest: session.oldest(),
        damaged: session.damaged_lines(),
        results: session.append(ids, false, 7).unwrap().results,
    }
}

fn closed_log(n_events: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    let events = (1..=n_events).map(chunk).collect();
    session.append(events, false, 1000).unwrap();
    store.close();
    dir
}

/// A log whose index has a tail: it was put away with little more than before.
fn closed_log_with_tail(n_events: u64) -> tempfile::TempDir {
    let dir = closed_log(n_events - 20);
    let before = std::fs::read(index_path(dir.path())).unwrap();
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    let events = (n_events - 19..=n_events).map(chunk).collect();
    session.append(events, false, 1000).unwrap();
    store.close();
    let after = std::fs::read(index_path(dir.path())).unwrap();
    assert_eq!(after[32..before.len()], before[32..]);
    assert!(after.len() > before.len(), "it has no tail");
    dir
}

#[test]
fn no_index_gives_another_answer() {
    check_indexes(&closed_log(700), 700);
}

#[test]
fn no_index_with_a_tail_gives_another_answer() {
    check_indexes(&closed_log_with_tail(1100), 1100);
}

fn check_indexes(dir: &tempfile::TempDir, n_events: u64) {
    let index = index_path(dir.path());
    let whole = std::fs::read(&index).unwrap();
    let expected = {
        remove_beside(dir.path(), &[".idx"]);
        let store = open(dir.path());
        let answers = ask(&store.session(&id("s1")).unwrap(), n_events);
        assert_eq!(answers.events, numbered(n_events));
        answers
    };
    let check = |bytes: &[u8], what: &str| {
        std::fs::write(&index, bytes).unwrap();
        let store = open(dir.path());
        let answers = ask(&store.session(&id("s1")).unwrap(), n_events);
        assert_eq!(answers, expected, "{what}");
    };
    check(&whole, "its own");
    check(&[], "empty");
    check(&whole[..whole.len() / 2], "cut");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut rand = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let noise: Vec<u8> = (0..whole.len()).map(|_| rand() as u8).collect();
    check(&noise, "noise");
    let n_rounds = if is_full() { 2000 } else { 30 };
    for round in 0..n_rounds {
        let mut flipped = whole.clone();
        // Every other one among the last bytes: those count, and a tail is short.
        let among = if round % 2 == 0 { whole.len() } else { 1000 };
        let at = whole.len() - 1 - rand() as usize % among;
        flipped[at] ^= 1 << (rand() % 8);
        check(&flipped, &format!("round {round}, flipped at {at}"));
    }
    // Two blocks that changed places have right checksums.
    let mut swapped = whole.clone();
    let (first, second) = swapped[32..].split_at_mut(4096);
    first.swap_with_slice(&mut second[..4096]);
    check(&swapped, "swapped");
}

#[test]
fn an_index_of_before_is_gone_on_from() {
    let dir = closed_log(100);
    let old = std::fs::read(index_path(dir.path())).unwrap();
    let more = |to: u64| {
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        let answers = ask(&session, to);
        drop((session, store));
        answers
    };
    assert_eq!(more(150).events.len(), 100);
    // Not closed, and the index is of the first hundred.
    std::fs::write(index_path(dir.path()), &old).unwrap();
    let answers = more(150);
    assert_eq!(answers.events, numbered(150));
    let seqs = (1..=150).map(|seq| ItemResult::Duplicate { seq });
    assert_eq!(answers.results, seqs.collect::<Vec<_>>());
}

#[test]
fn a_tail_that_was_not_written_whole_costs_nothing_but_reading() {
    let n_events = 1100;
    let dir = closed_log_with_tail(n_events);
    let index = index_path(dir.path());
    let whole = std::fs::read(&index).unwrap();
    // The head that names the tail before it, and no more than a part of the new one.
    let older = {
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        session
            .append(vec![chunk(n_events + 1)], false, 1000)
            .unwrap();
        store.close();
        let newer = std::fs::read(&index).unwrap();
        assert!(newer.len() > whole.len());
        [&whole[..32], &newer[32..whole.len() + 100]].concat()
    };
    std::fs::write(&index, older).unwrap();
    let store = open(dir.path());
    let answers = ask(&store.session(&id("s1")).unwrap(), n_events + 1);
    assert_eq!(answers.events, numbered(n_events + 1));
}

#[test]
fn an_index_of_another_log_is_left_aside() {
    let dir = closed_log(100);
    let other = closed_log(80);
    let theirs = std::fs::read(index_path(other.path())).unwrap();
    std::fs::write(index_path(dir.path()), theirs).unwrap();
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(all(&session), numbered(100));
    assert_eq!(
        session
            .append(vec![chunk(90)], false, 7)
            .unwrap()
            .stored
            .len(),
        0
    );
}

#[test]
fn a_log_that_was_cut_since_is_read_anew_and_its_numbers_are_given_in_another_epoch() {
    let dir = closed_log(100);
    let path = log_path(dir.path());
    let epoch = {
        let store = open(dir.path());
        store.session(&id("s1")).unwrap().position().0
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text.lines().take(51).collect();
    std::fs::write(&path, kept.join("\n") + "\n").unwrap();
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(all(&session), numbered(50));
    let appended = session.append(vec![chunk(60)], false, 7).unwrap();
    assert_eq!(appended.stored.len(), 1, "it is not in the log any more");
    assert_eq!(appended.stored[0].seq, 51);
    assert_ne!(appended.epoch, epoch, "51 was another event");
    drop((session, store));
    let store = open(dir.path());
    assert_eq!(
        store.session(&id("s1")).unwrap().position().0,
        appended.epoch
    );
}

#[test]
fn an_older_copy_of_a_log_goes_on_in_another_epoch() {
    let dir = closed_log(50);
    let path = log_path(dir.path());
    let copy = std::fs::read(&path).unwrap();
    let before = {
        let store = open(dir.path());
        let session = store.session(&id("s1")).unwrap();
        let events = (51..=100).map(chunk).collect();
        let appended = session.append(events, false, 1000).unwrap();
        store.close();
        appended.epoch
    };
    // It was left on purpose then.
    std::fs::write(&path, copy).unwrap();
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    assert_eq!(all(&session), numbered(50));
    assert_ne!(session.position().0, before);
}

/// What the summary needs to go on counting must be in the index, whatever the summary learns to say.
#[test]
fn a_summary_from_the_index_is_the_one_of_the_log() {
    let payloads: Vec<Payload> = vec![
        SessionStart {
            agent: Some("a 1".to_owned()),
            model: Some("m".to_owned()),
            ..SessionStart::default()
        }
        .into(),
        UserMessage {
            text: "Do it".into(),
            ..UserMessage::default()
        }
        .into(),
        TurnStart::default().into(),
        ToolCall {
            tool_call_id: "t1".to_owned(),
            tool_name: "bash".to_owned(),
            ..ToolCall::default()
        }
        .into(),
        PermissionRequest {
            request_id: "r1".to_owned(),
            tool_call_id: Some("t1".to_owned()),
            ..PermissionRequest::default()
        }
        .into(),
        PermissionResolved {
            request_id: "r1".to_owned(),
            ..PermissionResolved::default()
        }
        .into(),
        ToolResult {
            tool_call_id: "t1".to_owned(),
            ..ToolResult::default()
        }
        .into(),
        Usage {
            scope: "response".to_owned(),
            input_tokens: 700,
            context_used: Some(700),
            cost_usd: Some(0.25),
            ..Usage::default()
        }
        .into(),
        Usage {
            scope: "response".to_owned(),
            input_tokens: 300,
            ..Usage::default()
        }
        .into(),
        ErrorEvent {
            message: "No more".to_owned(),
            ..ErrorEvent::default()
        }
        .into(),
        TurnEnd::default().into(),
    ];
    // After each event the log is put away and opened by its index.
    let by_index = tempfile::tempdir().unwrap();
    let by_log = tempfile::tempdir().unwrap();
    for (n, payload) in payloads.into_iter().enumerate() {
        let add = |dir: &Path| {
            let store = open(dir);
            let session = store.session_or_new(&id("s1")).unwrap();
            let event = ChatEvent::new(format!("e{n}"), 1, "s1", payload.clone());
            session.append(vec![event], false, 1000).unwrap();
            store.close();
            let mut summary = session.summary().as_ref().clone();
            summary.epoch.clear();
            summary
        };
        let one = add(by_index.path());
        remove_beside(by_log.path(), &[".idx"]);
        let other = add(by_log.path());
        assert_eq!(one, other, "event {n}");
    }
}

#[test]
fn a_log_that_was_removed_is_not_there_again_when_the_store_is_closed() {
    // It is put away before it is removed, or after that, or not at all.
    let orders = [
        ["removed", "other", "third"],
        ["other", "third", "removed"],
        ["other", "third", "removed"],
    ];
    for (names, open_logs) in orders.into_iter().zip([1, 1, 256]) {
        let dir = tempfile::tempdir().unwrap();
        let options = chat_store::Options {
            sync: chat_store::SyncPolicy::Never,
            open_logs,
            ..chat_store::Options::default()
        };
        let of_removed = || {
            let entries = std::fs::read_dir(dir.path()).unwrap();
            let paths = entries.map(|entry| entry.unwrap().path());
            let is_its = |path: &std::path::PathBuf| {
                let name = path.file_name().unwrap().to_string_lossy();
                name.starts_with("removed")
            };
            paths.filter(is_its).collect::<Vec<_>>()
        };
        let store = Store::open(dir.path(), options).unwrap();
        let add = |name: &str, n: u64| {
            let session = store.session_or_new(&id(name)).unwrap();
            session.append(vec![chunk(n)], false, 7).unwrap();
        };
        names.iter().for_each(|name| add(name, 1));
        assert!(!of_removed().is_empty());
        for path in of_removed() {
            std::fs::remove_file(path).unwrap();
        }
        let others = names.iter().filter(|name| **name != "removed");
        others.for_each(|name| add(name, 2));
        store.close();
        drop(store);
        assert_eq!(
            of_removed(),
            Vec::<std::path::PathBuf>::new(),
            "{open_logs}"
        );
        let store = open(dir.path());
        assert_eq!(store.sessions().len(), 2, "{open_logs}");
    }
}

#[test]
fn many_sessions_share_a_few_open_logs() {
    let dir = tempfile::tempdir().unwrap();
    let n_sessions = 600;
    let ids: Vec<_> = (0..n_sessions).map(|n| id(&format!("s{n}"))).collect();
    let n_files = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let store = Store::open(
        dir.path(),
        chat_store::Options {
            sync: chat_store::SyncPolicy::Never,
            ..chat_store::Options::default()
        },
    )
    .unwrap();
    let before = n_files();
    for round in 1..=2 {
        for id in &ids {
            let session = store.session_or_new(id).unwrap();
            let appended = session.append(vec![chunk(round)], false, 7).unwrap();
            assert_eq!(appended.stored[0].seq, round, "{id}");
        }
    }
    // Other tests of this process open and close files of their own meanwhile.
    let n_open = n_files().saturating_sub(before);
    assert!(n_open < 600, "{n_open} files are open");
    for id in &ids {
        assert_eq!(all(&store.session(id).unwrap()), numbered(2), "{id}");
    }
    store.close();
    // Saying in each that it is over takes no more of them.
    let n_open = n_files().saturating_sub(before);
    assert!(n_open < 600, "{n_open} files are open");
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.sessions().len(), n_sessions);
    for session in store.sessions() {
        assert_eq!(session.summary().events, 2);
        assert_eq!(all(&session), numbered(2));
    }
}

#[test]
fn sessions_are_used_by_many_while_the_oldest_are_put_away() {
    const N_THREADS: u64 = 8;
    const N_EVENTS: u64 = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let ids: Vec<_> = (0..400).map(|n| id(&format!("s{n}"))).collect();
    let options = chat_store::Options {
        sync: chat_store::SyncPolicy::Never,
        open_logs: 300,
        ..chat_store::Options::default()
    };
    let store = Store::open(dir.path(), options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..N_THREADS {
            let (store, ids) = (&store, &ids);
            scope.spawn(move || {
                for nth in 0..N_EVENTS {
                    let id = &ids[((nth * 31 + thread * 7) % ids.len() as u64) as usize];
                    let session = store.session_or_new(id).unwrap();
                    let event = chunk(1 + thread * N_EVENTS + nth);
                    session.append(vec![event], false, 7).unwrap();
                }
            });
        }
    });
    let n_events: u64 = store
        .sessions()
        .iter()
        .map(|session| session.summary().events)
        .sum();
    assert_eq!(n_events, N_THREADS * N_EVENTS);
}
