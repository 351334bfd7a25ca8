//! What is exported is read back whole: every form that holds events, over all recorded sessions.

use std::path::Path;

use chat_event::ChatEvent;
use chat_feed::export::{Form, Writer};
use chat_normalize::{AT_REST, Context, Dialect, SessionReader};

/// The events of a text, told in pieces.
fn read(text: &str) -> Vec<ChatEvent> {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for piece in text.as_bytes().chunks(10_000) {
        reader.push(piece, AT_REST, &mut events).unwrap();
    }
    reader.finish(AT_REST, &mut events).unwrap();
    assert_eq!(reader.dialect(), Some(Dialect::ChatEvents));
    events
}

fn written(form: Form, events: &[ChatEvent]) -> String {
    let mut writer = Writer::new(form, None);
    let mut text = String::new();
    for event in events {
        writer.push(event, &mut text);
    }
    writer.finish(&mut text);
    text
}

#[test]
fn what_is_longer_than_a_reader_takes_is_exported_so_that_it_is_read_back() {
    let event = |id: &str, args: serde_json::Value| {
        let event = serde_json::json!({"id": id, "timestamp": 1, "sessionId": "s", "type": "tool_call",
            "payload": {"toolCallId": id, "toolName": "Look", "args": args}});
        ChatEvent::from_json(&event.to_string()).unwrap()
    };
    // One text that is too long, and many that are so together. Written, each of these characters is six.
    let [long, short] = [3_000_000, 30_000].map(|n_chars| "\u{1}".repeat(n_chars));
    let events = [
        event("a", serde_json::json!({"text": long})),
        event("b", serde_json::json!({"texts": vec![short; 100]})),
        event("c", serde_json::json!({"text": "short"})),
    ];
    for form in [Form::Jsonl, Form::Json] {
        let again = read(&written(form, &events));
        let ids: Vec<&str> = again.iter().map(|event| event.id.as_str()).collect();
        assert_eq!(ids, ["a", "b", "c"], "{form:?}");
        assert_eq!(again[2], events[2], "{form:?}");
    }
}

#[test]
fn what_was_exported_is_read_back_whole() {
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut n_stories = 0;
    for story in std::fs::read_dir(stories).unwrap() {
        let path = story.unwrap().path().join("events.jsonl");
        let Ok(log) = std::fs::read_to_string(&path) else {
            continue;
        };
        let events = read(&log);
        n_stories += 1;
        for form in Form::ALL {
            let text = written(form, &events);
            let again = match form {
                // Of a page this is the log alone, which the page holds packed.
                Form::Html | Form::Jsonl | Form::Json => read(&text),
                // It is for people.
                Form::Markdown => continue,
            };
            assert_eq!(again, events, "{form:?} of {}", path.display());
        }
    }
    assert!(n_stories > 20, "{n_stories} stories");
}
