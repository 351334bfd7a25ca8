//! Events that others were folded into, from another log: they are taken apart, and get the numbers of this one.

use crate::support::{all, chunk, id, open};
use chat_event::compaction::{Compactor, Folded, Out};
use chat_event::payload::{AssistantDone, Interrupt};
use chat_event::{ChatEvent, Json};
use chat_store::{ItemResult, Session};

/// Five pieces of a text and its end, each with a number of another log.
fn pieces() -> Vec<ChatEvent> {
    let mut events: Vec<_> = (1..=5).map(chunk).collect();
    let text: String = (1..=5).map(|n| format!("word {n}\n")).collect();
    let done = AssistantDone {
        text,
        ..AssistantDone::default()
    };
    events.push(ChatEvent::new("done", 9, "s1", done));
    for (event, seq) in events.iter_mut().zip(101..) {
        event.seq = Some(seq);
    }
    events
}

/// The one event that all of them are folded into.
fn folded(events: Vec<ChatEvent>) -> ChatEvent {
    let mut out = Vec::new();
    let mut take = |line: Out<()>| match line {
        Out::Folded(event) => out.push(*event),
        Out::AsItWas(()) => panic!("it is not folded"),
    };
    let mut compactor = Compactor::new();
    for event in events {
        compactor.push((), Some(event), &mut take);
    }
    compactor.finish(&mut take);
    assert_eq!(out.len(), 1);
    out.pop().unwrap()
}

fn append(session: &std::sync::Arc<Session>, event: &ChatEvent) -> (ItemResult, u64) {
    let appended = session.append(vec![event.clone()], false, 7).unwrap();
    assert_eq!(appended.results.len(), 1, "one item, one answer");
    let n_stored = appended.stored.len() as u64;
    (appended.results.into_iter().next().unwrap(), n_stored)
}

#[test]
fn nothing_is_lost_of_what_was_folded_and_it_has_numbers_of_this_log() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    session.append(vec![chunk(70)], false, 7).unwrap();
    let survivor = folded(pieces());
    let stored = ItemResult::Stored {
        seq: 7,
        id: "done".to_owned(),
        idempotent: true,
    };
    assert_eq!(append(&session, &survivor), (stored, 6));
    let ids = ["e70", "e1", "e2", "e3", "e4", "e5", "done"];
    let expected: Vec<_> = (1..).zip(ids.map(str::to_owned)).collect();
    assert_eq!(all(&session), expected);
    assert_eq!(session.summary().events, 7);
    for event in pieces() {
        let mut found = session.event_whole(&event.id).unwrap().unwrap();
        found.recv = None;
        found.seq = event.seq;
        assert_eq!(found, event, "its time and its text");
    }
    // Once more, folded or not: all of it is known.
    let again = ItemResult::Duplicate { seq: 7 };
    assert_eq!(append(&session, &survivor), (again, 0));
    let again = session.append(pieces(), false, 8).unwrap();
    assert_eq!(again.stored.len(), 0);
}

#[test]
fn of_what_was_folded_only_what_is_new_is_stored_and_all_or_nothing_where_one_conflicts() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    session.append(vec![chunk(2)], false, 7).unwrap();
    assert_eq!(append(&session, &folded(pieces())).1, 5);
    let other = store.session_or_new(&id("s2")).unwrap();
    let event = ChatEvent::new("e4", 1, "s2", Interrupt::default());
    other.append(vec![event], false, 7).unwrap();
    let batch = vec![folded(pieces()), chunk(9)];
    let appended = other.append(batch, false, 7).unwrap();
    let conflict = ItemResult::Conflict {
        id: "e4".to_owned(),
        seq: 1,
        only_time: false,
    };
    assert_eq!(appended.results[0], conflict);
    let ids: Vec<_> = all(&other).into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids, ["e4", "e9"]);
}

#[test]
fn who_sends_an_event_does_not_say_which_numbers_it_stands_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let session = store.session_or_new(&id("s1")).unwrap();
    session
        .append((70..=73).map(chunk).collect(), false, 7)
        .unwrap();
    // It guesses its number and says that it stands for those of others; its text is elsewhere, so it is not taken apart.
    let hash = store.blobs().put(b"abc").unwrap();
    let line = format!(
        r#"{{"id":"f","timestamp":9,"sessionId":"s1","type":"tool_result","payload":{{"toolCallId":"t","result":{{"$body":{{"sha256":"{hash}","bytes":3,"preview":"a","truncated":true}}}},"timing":[[0,1],[1,1],[2,1],[3,0]],"span":[2,5],"ids":["g","h","i"]}}}}"#
    );
    let forged = ChatEvent::from_json(&line).unwrap();
    assert_eq!(append(&session, &forged).1, 1);
    let found = session.event_whole("f").unwrap().unwrap();
    assert_eq!(found.seq, Some(5));
    assert!(
        found.to_line().contains(r#""result":"abc""#),
        "{}",
        found.to_line()
    );
    assert!(Folded::of(&found).is_none(), "{}", found.to_line());
    // What does not go together is what it is without it.
    let mut odd = chunk(80);
    if let chat_event::Payload::AssistantChunk(chunk) = &mut odd.payload {
        let number = |json| Json::from(serde_json::Value::from(json));
        chunk.extra.insert("timing", number(vec![vec![0, 1]]));
        chunk.extra.insert("span", number(vec![vec![1, 6]]));
    }
    assert_eq!(append(&session, &odd).1, 1);
    assert_eq!(all(&session).len(), 6);
    drop((session, store));
    let store = open(dir.path());
    let session = store.session(&id("s1")).unwrap();
    assert_eq!((session.oldest(), session.summary().events), (1, 6));
}
