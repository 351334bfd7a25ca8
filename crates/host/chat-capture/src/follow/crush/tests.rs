//! The database of one project as it is written: `tests/crush` says what is in it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chat_event::Payload;

use super::super::store::lying::{Lying, assert_once, whole, without_indexes};
use super::super::store::{RestsMs, Store};
use super::*;

fn project() -> Lying<Project> {
    Lying::new("crush/crush.db", ".crush/crush.db", Crush::new)
}

fn at_once() -> Vec<ChatEvent> {
    let mut project = project();
    project.write_log(project.logs().last().unwrap());
    let mut store = project.store();
    assert_eq!(store.n_sessions(), (1, 1));
    project.read(&mut store);
    project.told
}

#[test]
fn what_is_written_on_is_told_once_as_it_comes() {
    let mut project = project();
    let mut store = project.store();
    let mut pieces = Vec::new();
    for log in project.logs() {
        project.write_log(&log);
        for event in project.read(&mut store) {
            if let Payload::AssistantChunk(chunk) = event.payload {
                pieces.push(chunk.text);
            }
        }
    }
    assert_eq!(pieces[..2], ["I pu", "sh it"]);
    assert_once(&project.told);
    assert_eq!(whole(&project.told), whole(&at_once()));
}

#[test]
fn who_begins_anew_at_any_change_tells_what_is_new_and_nothing_twice() {
    let mut project = project();
    for log in project.logs() {
        project.write_log(&log);
        let mut store = project.store();
        project.read(&mut store);
        // And when nothing changed.
        let mut store = project.store();
        assert_eq!(project.read(&mut store), []);
    }
    assert_once(&project.told);
    assert_eq!(whole(&project.told), whole(&at_once()));
}

#[test]
fn rows_that_are_gone_and_come_again_are_not_told_twice() {
    let mut project = project();
    let mut store = project.store();
    let logs = project.logs();
    for at in [0, 3, 5, 2, 9, 4, 12, 1, logs.len() - 1] {
        project.write_log(&logs[at]);
        project.read(&mut store);
    }
    // A session's row is told as often as it is another than before.
    let is_usage = |event: &ChatEvent| matches!(event.payload, Payload::Usage(_));
    project.told.retain(|event| !is_usage(event));
    assert_once(&project.told);
}

#[test]
fn what_was_read_is_told_though_a_session_behind_it_cannot_be() {
    let mut project = project();
    let logs = project.logs();
    let mut store = project.store();
    project.write(&project.written_back(&logs[3]));
    project.read(&mut store);
    // The answer grew, and no index can be read.
    project.write(&without_indexes(project.written_back(&logs[4])));
    store.enqueue("another".to_owned(), &project.kept);
    let (more, mut news) = store.read(&project.kept).unwrap();
    assert!(more);
    project.told.append(&mut news[0].events);
    assert_eq!(news[0].told, store.loaded[&news[0].session].reading.told);
    let why = store.read(&project.kept).unwrap_err().to_string();
    assert!(why.contains("session another"), "{why}");
    assert!(store.waiting().has("another"));
    // It waits, and the others go on.
    project.write(&project.written_back(logs.last().unwrap()));
    project.read(&mut store);
    assert_once(&project.told);
    assert_eq!(whole(&project.told), whole(&at_once()));
}

#[test]
fn a_message_that_has_the_number_of_one_that_was_deleted_is_told() {
    for is_started_anew in [false, true] {
        let mut project = project();
        let logs = project.logs();
        let mut store = project.store();
        project.write(&project.written_back(&logs[1]));
        project.read(&mut store);
        // What was told last was another message.
        let (session, told) = project.kept.iter_mut().next().unwrap();
        let last = told.seqs[session];
        assert!(told.marks["last"].starts_with(&format!("{last} ")));
        told.marks.insert("last".to_owned(), format!("{last} gone"));
        if is_started_anew {
            store = project.store();
        } else {
            store.last = Some((last, "gone".to_owned()));
            store.seen = None;
        }
        let again = project.read(&mut store);
        let is_user = |event: &ChatEvent| matches!(event.payload, Payload::UserMessage(_));
        assert_eq!(again.iter().filter(|event| is_user(event)).count(), 1);
        assert_eq!(project.read(&mut store), []);
    }
}

/// Nothing is told of a session while it waits: what was read of it then would be told to nobody.
#[test]
fn a_session_that_waits_is_not_read_though_all_begins_anew() {
    let mut project = project();
    let mut store = project.store();
    project.write_log(&project.logs()[3]);
    project.read(&mut store);
    let session = project.kept.keys().next().unwrap().clone();
    store.put_off(&session, Instant::now() + Duration::from_mins(10));
    store.last = Some((i64::MAX, "gone".to_owned()));
    store.seen = None;
    project.write_log(project.logs().last().unwrap());
    assert_eq!(project.read(&mut store), []);
    store.put_off(&session, Instant::now());
    project.read(&mut store);
    assert_once(&project.told);
    assert_eq!(whole(&project.told), whole(&at_once()));
}

#[test]
fn all_that_was_told_is_told_anew_to_who_compares_it() {
    let mut project = project();
    project.write_log(project.logs().last().unwrap());
    let mut store = project.store();
    project.read(&mut store);
    let mut anew = Vec::new();
    for (session, told) in &project.kept {
        store
            .tell_anew(session, told, &mut |event| anew.push(event))
            .unwrap();
    }
    assert_eq!(whole(&anew), whole(&project.told));
}

#[test]
fn a_sub_agents_work_stands_within_its_call_and_the_title_comes_from_its_row() {
    let told = at_once();
    let parent = |text: &str| {
        let says = |event: &&ChatEvent| matches!(&event.payload, Payload::AssistantDone(it) if it.text == text);
        told.iter().find(says).unwrap().parent_tool_call_id.clone()
    };
    assert_eq!(parent("It wants a comma.").as_deref(), Some("toolu_07"));
    assert_eq!(parent("The greeting is polite now."), None);
    let begins = told.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.title.clone(), start.cwd.clone())),
        _ => None,
    });
    let (title, cwd) = begins.unwrap();
    assert_eq!(title.as_deref(), Some("Polite greeting"));
    assert!(cwd.is_some());
}

#[test]
fn an_end_that_was_told_is_not_told_again_when_it_goes_on() {
    let mut project = project();
    let logs = project.logs();
    // In the middle of an answer.
    project.write_log(&logs[3]);
    let mut store = project.store();
    project.read(&mut store);
    let rests = RestsMs {
        long: -i64::MAX,
        rest: -i64::MAX,
        quiet: 0,
        are_left: true,
    };
    let (ended, away) = store.settle(rests, 10);
    assert_eq!(away.len(), 1);
    for mut news in ended {
        project.told.append(&mut news.events);
        project.kept.insert(news.session, news.told);
    }
    assert!(matches!(
        project.told.last().unwrap().payload,
        Payload::SessionEnd(_)
    ));
    // Nothing of it is held until it goes on.
    let mut store = project.store();
    assert_eq!(project.read(&mut store), []);
    assert!(!store.holds_any());
    for log in &logs[3..] {
        project.write_log(log);
        project.read(&mut store);
    }
    assert_once(&project.told);
    let is_rejected = |event: &&ChatEvent| matches!(&event.payload, Payload::ToolResult(it) if it.tool_call_id == "toolu_11");
    assert_eq!(project.told.iter().filter(is_rejected).count(), 1);
}

#[test]
fn a_database_of_another_kind_is_named() {
    let project = project();
    let mut bytes = project.database();
    let name = b"    parts TEXT";
    let at = bytes.windows(name.len()).position(|it| it == name).unwrap();
    bytes[at..at + name.len()].copy_from_slice(b"    pieces TEX");
    let mut store = project.store();
    project.write(&bytes);
    let why = store.look(0, &BTreeMap::new()).unwrap_err();
    let why = why.to_string();
    assert!(why.contains("messages has no column parts"), "{why}");
}

fn answer(rowid: i64, session: &str, parts: rows::Parts) -> rows::Message {
    let id = format!("m{rowid}");
    let columns = serde_json::json!({"id": id, "session_id": session, "role": "assistant", "created_at": 1_796_032_800});
    rows::Message {
        rowid,
        id,
        session: session.to_owned(),
        role: "assistant".to_owned(),
        columns: columns.as_object().unwrap().clone(),
        parts,
    }
}

fn says(text: &str) -> rows::Parts {
    rows::Parts::Text(format!(r#"[{{"type":"text","data":{{"text":"{text}"}}}}]"#))
}

#[test]
fn an_answer_that_grows_longer_than_is_read_is_named_once() {
    let mut talk = Talk::new(Told::default(), None);
    let mut events = Vec::new();
    talk.message(&answer(1, "s", says("I")), &mut events);
    events.clear();
    for bytes in [17_000_000, 18_000_000] {
        talk.message(&answer(1, "s", rows::Parts::Long(bytes)), &mut events);
    }
    let [event] = &events[..] else {
        panic!("{events:?}");
    };
    assert!(matches!(&event.payload, Payload::Notice(it) if it.text.contains("17000000 bytes")));
    assert_eq!(talk.growing().count(), 0);
}

#[test]
fn of_many_agents_at_once_those_that_began_last_are_looked_at() {
    let mut talk = Talk::new(Told::default(), None);
    let mut events = Vec::new();
    let calls = (2..=100).map(|n| {
        serde_json::json!({"type": "tool_call", "data": {"id": format!("c{n}"), "name": "agent", "input": "{}"}})
    });
    let calls = serde_json::Value::from_iter(calls).to_string();
    talk.message(&answer(1, "s", rows::Parts::Text(calls)), &mut events);
    for rowid in 2..=100 {
        let session = format!("m1$$c{rowid}");
        talk.message(&answer(rowid, &session, says("I")), &mut events);
    }
    let growing: BTreeSet<i64> = talk.growing().collect();
    let wanted: BTreeSet<i64> = std::iter::once(1).chain(38..=100).collect();
    assert_eq!(growing, wanted);
    let marks = talk.reading.told.marks.keys();
    assert_eq!(marks.filter(|id| talk::is_of_message(id)).count(), 64);
    events.clear();
    talk.message(&answer(100, "m1$$c100", says("I see")), &mut events);
    let goes_on = |event: &ChatEvent| matches!(&event.payload, Payload::AssistantChunk(it) if it.text == " see");
    assert!(events.iter().any(goes_on), "{events:?}");
}
