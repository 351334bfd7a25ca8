//! Documents that are written over while they are read, whose messages have one name, or that are none.

use std::time::{Duration, SystemTime};

use chat_normalize::Context;
use serde_json::{Value, json};

use super::super::item::{Form, Head};
use super::{Told, kinds, say};
use crate::follow::file::{Facts, Taken};
use crate::follow::source::{Piece, Source};

#[test]
fn what_is_written_over_between_two_slices_is_not_mixed_with_what_stood_there() {
    // So long that it takes several slices; the words of one state look like messages, were they read from their middle.
    let text = |word: &str| format!("{word}, ").repeat(40_000);
    let state = |word: &str| {
        let messages = (0..4).map(|nth| say(if nth == 0 { "task" } else { "text" }, nth, word));
        Value::from(messages.collect::<Vec<_>>()).to_string()
    };
    let mut told = Told::new("ui_messages.json");
    let path = told.dir.path().join(told.name);
    std::fs::write(&path, state(&text("old"))).unwrap();
    let facts = Facts::of(&path).unwrap();
    let mut events = Vec::new();
    let first = told.source.read(&path, facts, &mut events).unwrap();
    assert!(matches!(first, Piece::New));
    let new = state(&text("[{}] ] newer"));
    std::fs::write(&path, &new).unwrap();
    // The look at it is still that of before.
    let n_lines = told.source.reader.report().lines;
    let now = told.source.read(&path, facts, &mut events).unwrap();
    assert!(matches!(now, Piece::New), "it begins anew");
    assert!(told.source.reader.report().lines <= n_lines + 1);
    told.events = events;
    told.state(&new);
    let all = told.finish();
    assert!(!kinds(&all).contains(&"notice"), "{:?}", kinds(&all));
    assert!(!kinds(&all).contains(&"raw"), "{:?}", kinds(&all));
}

#[test]
fn what_was_written_twice_within_one_tick_of_the_clock_is_seen() {
    let mut told = Told::new("ui_messages.json");
    let path = told.dir.path().join(told.name);
    // Ahead, so that it is read before it is settled, however long that takes here.
    let at = SystemTime::now() + Duration::from_secs(1);
    let write = |text: &str| {
        let state = Value::from(vec![say("task", 0, "Go"), say("text", 1, text)]);
        std::fs::write(&path, state.to_string()).unwrap();
        let file = std::fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(at).unwrap();
    };
    write("first");
    let facts = Facts::of(&path).unwrap();
    let mut events = Vec::new();
    told.source.read(&path, facts, &mut events).unwrap();
    write("other");
    assert_eq!(Facts::of(&path), Some(facts), "it looks the same");
    while !told.source.is_unsure(facts) {
        assert!(at.elapsed().is_ok_and(|it| it.as_secs() < 60) || at.elapsed().is_err());
        std::thread::sleep(Duration::from_millis(20));
    }
    let n_lines = told.source.reader.report().lines;
    told.source.read(&path, facts, &mut events).unwrap();
    assert_eq!(told.source.reader.report().lines, n_lines + 1);
    assert!(
        !told.source.is_unsure(facts),
        "it is gone through once more"
    );
}

#[test]
fn messages_of_one_name_are_told_apart_by_their_order() {
    let same = |text: &str| say("text", 5, text);
    let begin = say("task", 0, "Go");
    let before = [
        begin.clone(),
        say("text", 3, "x"),
        same("a"),
        say("text", 4, "y"),
        same("b"),
        same("c"),
    ];
    let mut told = Told::new("ui_messages.json");
    told.messages(&before);
    // One is left, and those of one name stand behind each other and behind another.
    let new = told.messages(&[begin, same("a"), same("b"), same("c")]);
    assert!(!kinds(&new).contains(&"assistant_done"), "{new:#?}");
}

#[test]
fn what_is_held_and_handed_on_is_small_whatever_names_a_message() {
    let form = Form::Session;
    let long = "x".repeat(100_000);
    let named = json!({"id": long, "role": "user", "content": "x"}).to_string();
    let other = json!({"id": format!("{long}y"), "role": "user", "content": "x"}).to_string();
    let (named, other) = (form.item(named.as_bytes()), form.item(other.as_bytes()));
    assert!(named.name.len() < 2000 && named.name_hash != other.name_hash);
    let before =
        json!({"version": 1, "sessionId": "s", "system": &long[..50_000], "agent": "lead"});
    let before = before.to_string().replacen('}', ",\"messages\": [{}]}", 1);
    let Head::Begins { head, at } = form.head(before.as_bytes(), 64 * 1024) else {
        panic!("it is no head");
    };
    assert_eq!(
        head,
        r#"{"version":1,"sessionId":"s","agent":"lead","messages":"#
    );
    assert_eq!(&before[at..], "{}]}");
}

#[test]
fn documents_that_are_none_are_refused_with_their_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ui_messages.json");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let facts = Facts::of(&path).unwrap();
        let mut source = Source::new(Context::default(), Taken::default());
        for _ in 0..2000 {
            match source.read(&path, facts, &mut Vec::new()) {
                Err(why) => return format!("{why:?}"),
                Ok(Piece::Torn { .. } | Piece::Whole { .. }) => return String::new(),
                Ok(_) => {}
            }
        }
        panic!("it is read for ever");
    };
    assert!(refused(b"{}").contains("no list"));
    assert!(refused(b"\0\0\0").contains("no list"));
    let long = [&b"[\""[..], &vec![b'x'; 17 << 20]].concat();
    assert!(refused(&long).contains("16 MiB"));
    let many: Vec<Value> = (0..10_002).map(|nth| say("text", nth, "x")).collect();
    assert!(refused(Value::from(many).to_string().as_bytes()).contains("more than"));
    for odd in ["[", "[]", "[[[[", "[1 2 \"x\" {} }", "[,,,]", "[}", "[\"\\"] {
        assert_eq!(refused(odd.as_bytes()), "", "{odd}");
    }
}
