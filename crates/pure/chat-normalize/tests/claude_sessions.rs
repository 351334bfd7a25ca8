//! Streams of Claude Code that go on in another session, and what their hooks call it before it begins.

use crate::support::{Source, assert_cuts, assert_sound, read, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

/// `claude --print --continue` and `/clear` with a `SessionStart` hook, 2.1.330; without what streams, and most facts.
const CONTINUED: &[u8] = include_bytes!("recordings/claude-continue.stream.jsonl");
const CLEARED: &[u8] = include_bytes!("recordings/claude-clear.stream.jsonl");

/// The sessions that the events are of, each with what it tells.
fn sessions(events: &[ChatEvent]) -> Vec<(String, Vec<String>)> {
    let mut sessions: Vec<(String, Vec<ChatEvent>)> = Vec::new();
    for event in events {
        match sessions.iter_mut().find(|(id, _)| *id == event.session_id) {
            Some((_, of)) => of.push(event.clone()),
            None => sessions.push((event.session_id.clone(), vec![event.clone()])),
        }
    }
    let told = |(id, events): (String, Vec<ChatEvent>)| {
        assert_sound(&id, &events);
        let mut told = told(&events);
        told.extend(events.iter().filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => Some(format!("of {}", start.native_id.as_ref()?)),
            Payload::SessionEnd(end) => Some(format!("over: {}", end.reason)),
            _ => None,
        }));
        told.retain(|line| !line.starts_with("usage"));
        (id, told)
    };
    sessions.into_iter().map(told).collect()
}

fn source(name: &str, bytes: &[u8]) -> Source {
    Source {
        name: name.to_owned(),
        bytes: bytes.to_vec(),
    }
}

#[test]
fn a_session_that_is_taken_up_again_has_its_own_name_and_not_that_of_its_hooks() {
    let id = "83c8e7b6-f0bc-49a5-b313-0fa6568b6e20";
    let found = read(CONTINUED);
    assert_eq!(found.dialect, Some(Dialect::ClaudeStream));
    let wanted = ["turn user", "done Two.", "end completed"].map(str::to_owned);
    let wanted = [
        wanted.to_vec(),
        vec![format!("of {id}"), "over: end of stream".to_owned()],
    ];
    assert_eq!(sessions(&found.events), [(id.to_owned(), wanted.concat())]);
    assert_cuts(&source("continued", CONTINUED));
    // What a hook said before is told in that session, too; where nothing else names one, in what the hook calls it.
    let says = |session: &str, uuid: &str| {
        json!({"type": "system", "subtype": "hook_response", "hook_name": "SessionStart:resume", "outcome": "error",
            "output": "no", "session_id": session, "uuid": uuid})
    };
    let init = json!({"type": "system", "subtype": "init", "session_id": "s1", "uuid": "i1"});
    let ids = |lines: &[Value]| -> Vec<String> {
        let events = read_lines(Dialect::ClaudeStream, lines).events;
        let notices = events.iter().filter(|event| event.id.ends_with(":notice"));
        notices.map(|event| event.session_id.clone()).collect()
    };
    assert_eq!(ids(&[says("x", "h1"), says("y", "h2"), init]), ["s1", "s1"]);
    assert_eq!(ids(&[says("x", "h1")]), ["x"]);
}

#[test]
fn a_stream_that_is_cleared_goes_on_in_another_session() {
    let [before, behind] = [
        "95481929-096d-45bb-ab10-3228755940c7",
        "9dd3e6ec-2380-4c70-b4bb-ea7acf187a3e",
    ];
    let found = read(CLEARED);
    assert_eq!(found.report.raw.len(), 0);
    let wanted = [
        (
            before,
            vec![
                "turn user",
                "done Hello.",
                "end completed",
                "of",
                "over: clear",
            ],
        ),
        (
            behind,
            vec![
                "turn user",
                "end completed",
                "turn user",
                "call toolu_mock_0005 Bash",
                "result toolu_mock_0005 after",
                "done After.",
                "end completed",
                "of",
                "over: end of stream",
            ],
        ),
    ];
    let wanted = wanted.map(|(id, lines)| {
        let named = |line: &str| match line {
            "of" => format!("of {id}"),
            line => line.to_owned(),
        };
        (
            id.to_owned(),
            lines.into_iter().map(named).collect::<Vec<_>>(),
        )
    });
    assert_eq!(sessions(&found.events), wanted);
    assert_cuts(&source("cleared", CLEARED));
    // Who wants all of it in one session gets that.
    let mut reader = SessionReader::new(Context {
        session_id: Some("mine".to_owned()),
        ..Context::default()
    });
    let mut events = Vec::new();
    reader.push(CLEARED, 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    assert!(events.iter().all(|event| event.session_id == "mine"));
}

#[test]
fn what_hooks_say_before_the_next_session_begins_is_of_that() {
    let hook = |session: &str, uuid: &str| {
        json!({"type": "system", "subtype": "hook_response", "hook_name": "SessionStart:clear", "outcome": "error",
            "output": "no", "session_id": session, "uuid": uuid})
    };
    let line = |kind: &str, session: &str, uuid: &str| json!({"type": "system", "subtype": kind, "session_id": session, "uuid": uuid});
    let lines = [
        line("init", "s1", "i1"),
        // Not all that bears another name is of another session.
        hook("x", "h1"),
        line("status", "s1", "n1"),
        hook("s2", "h2"),
        line("init", "s2", "i2"),
        hook("y", "h3"),
    ];
    let events = read_lines(Dialect::ClaudeStream, &lines).events;
    let notices = events.iter().filter(|event| event.id.ends_with(":notice"));
    let notices: Vec<_> = notices
        .map(|event| (event.id.as_str(), event.session_id.as_str()))
        .collect();
    assert_eq!(
        notices,
        [
            ("h1:notice", "s1"),
            ("h2:notice", "s2"),
            ("h3:notice", "s2")
        ]
    );
}
