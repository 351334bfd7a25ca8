//! Sessions of which nothing came for a while: idle since their last line, with the tokens of their last answer.

use std::collections::BTreeMap;

use chat_event::payload::Usage;
use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Dialect, SessionReader};
use serde_json::{Value, json};

/// What the answers used, by the events' ids.
fn usages(events: &[ChatEvent]) -> Vec<(&str, &Usage)> {
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Usage(usage) if usage.scope == "response" => Some((event.id.as_str(), usage)),
        _ => None,
    });
    told.collect()
}

fn read(bytes: &[u8]) -> (SessionReader, Vec<ChatEvent>) {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader.push(bytes, AT_REST, &mut events).unwrap();
    (reader, events)
}

#[test]
fn a_session_at_rest_is_idle_since_its_last_line_and_all_its_tokens_are_told() {
    for folder in [
        "claude-code",
        "claude-code-2.1.197",
        "claude-code-1.0.128",
        "codex",
        "codex-0.77.0",
        "gemini-cli",
        "pi",
        "opencode",
    ] {
        let is_kept = |name: &str| name.ends_with(".jsonl") || name.ends_with(".json");
        for source in crate::support::sources(&format!("recordings/{folder}"), is_kept) {
            let name = &source.name;
            let mut reader = SessionReader::new(Context::default());
            let mut events = Vec::new();
            let pushed = reader.push(&source.bytes, AT_REST, &mut events);
            if pushed.is_err() || reader.session_id().is_none() {
                continue;
            }
            let n_before = events.len();
            reader.quiet(AT_REST, &mut events);
            let n_rested = events.len();
            reader.finish(AT_REST, &mut events).unwrap();
            let (told, ends) = (&events[..n_before], &events[n_rested..]);
            let newest = told
                .iter()
                .chain(ends)
                .filter_map(|event| event.timestamp)
                .max();
            for event in &events[n_before..n_rested] {
                assert!(event.timestamp <= newest, "{name}: {event:?}");
            }
            // What is told at rest is told once; what may still grow waits.
            let rested: BTreeMap<_, _> = usages(&events[..n_rested]).into_iter().collect();
            let waited = usages(&events[n_rested..]);
            for (id, _) in &waited {
                assert!(!rested.contains_key(id), "{name}: {id}");
            }
            // Older programs wrote no reason to stop for every answer.
            let is_older = folder == "claude-code-1.0.128" || name.contains("sigint-text");
            assert!(waited.is_empty() || is_older, "{name}: {waited:?}");
            // What is read without a rest says the same under the same ids.
            let (mut reader, mut whole) = read(&source.bytes);
            reader.finish(AT_REST, &mut whole).unwrap();
            let by_id: BTreeMap<_, _> = usages(&events).into_iter().collect();
            for (id, usage) in usages(&whole) {
                assert_eq!(by_id.get(id), Some(&usage), "{name}: {id}");
            }
        }
    }
}

/// A line of an answer of Claude Code's model, at so many seconds.
fn answer(message: &str, at_s: u32, stop_reason: Option<&str>, output_tokens: u32) -> Value {
    json!({"type": "assistant", "uuid": format!("a{at_s}"), "sessionId": "s1", "version": "2.1.0",
        "timestamp": format!("2026-01-01T00:00:{at_s:02}.000Z"),
        "message": {"id": message, "role": "assistant", "model": "m", "stop_reason": stop_reason,
            "content": [{"type": "text", "text": "Hi"}],
            "usage": {"input_tokens": 1, "output_tokens": output_tokens}}})
}

#[test]
fn tokens_are_told_at_rest_where_the_answer_is_whole_and_once() {
    let read = |rests: &[Value], goes_on: &[Value]| {
        let prompt = json!({"type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-01-01T00:00:00.000Z",
            "message": {"role": "user", "content": "Go"}});
        let text = |lines: &[Value]| {
            lines
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>()
        };
        let mut reader = SessionReader::with_dialect(Context::default(), Dialect::ClaudeTranscript);
        let mut events = Vec::new();
        for part in [&[prompt][..], rests] {
            reader
                .push(text(part).as_bytes(), AT_REST, &mut events)
                .unwrap();
        }
        reader.quiet(AT_REST, &mut events);
        reader.quiet(AT_REST, &mut events);
        let idle = events.last().unwrap();
        assert!(matches!(&idle.payload, Payload::SessionStatus(status) if status.status == "idle"));
        assert_eq!(idle.timestamp, Some(1_767_225_601_000), "its last line's");
        reader
            .push(text(goes_on).as_bytes(), AT_REST, &mut events)
            .unwrap();
        reader.quiet(AT_REST, &mut events);
        reader.finish(AT_REST, &mut events).unwrap();
        let told = usages(&events);
        let told = told
            .iter()
            .map(|(id, usage)| format!("{id} {}", usage.output_tokens));
        told.collect::<Vec<_>>()
    };
    let (first, last) = (
        answer("m1", 1, None, 1),
        answer("m1", 2, Some("end_turn"), 9),
    );
    let whole = answer("m1", 1, Some("end_turn"), 9);
    let next = answer("m2", 3, Some("end_turn"), 5);
    assert_eq!(
        read(&[first], &[last, next.clone()]),
        ["m1:usage 9", "m2:usage 5"]
    );
    assert_eq!(read(&[whole], &[next]), ["m1:usage 9", "m2:usage 5"]);
}
