//! Runs of one thread: ids that stay apart, what was asked, and what each turn used.

use std::collections::BTreeSet;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::json;

use crate::support::{read, read_lines, sources, told};

fn read_asked(prompt: &str, bytes: &[u8]) -> Vec<ChatEvent> {
    let context = Context {
        prompt: Some(prompt.to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
    let mut events = Vec::new();
    reader.push(bytes, 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    events
}

fn ids(events: &[ChatEvent]) -> BTreeSet<&str> {
    // The session is said to begin by each run, in the same words.
    let said = events
        .iter()
        .filter(|event| event.event_type() != "session_start");
    said.map(|event| event.id.as_str()).collect()
}

/// `codex exec resume` goes on with a thread in a file of its own, and counts its items from 0 again.
#[test]
fn runs_that_go_on_with_a_thread_keep_their_ids_apart() {
    let runs = sources("recordings/codex", |name| {
        name.starts_with("resume") && name.ends_with(".exec.jsonl")
    });
    for (at, one) in runs.iter().enumerate() {
        let of_one = read(&one.bytes).events;
        assert_eq!(of_one, read(&one.bytes).events);
        for other in &runs[at + 1..] {
            let of_other = read(&other.bytes).events;
            assert_eq!(of_one[0].session_id, of_other[0].session_id);
            let both = ids(&of_one).intersection(&ids(&of_other)).count();
            assert_eq!(both, 0, "{} and {}", one.name, other.name);
        }
    }
    // One after the other in one file they say the same.
    let glued: Vec<u8> = runs.iter().flat_map(|run| run.bytes.clone()).collect();
    let apart: Vec<String> = runs
        .iter()
        .flat_map(|run| told(&read(&run.bytes).events))
        .collect();
    assert_eq!(told(&read(&glued).events), apart);
}

#[test]
fn what_was_asked_tells_runs_apart_and_lets_the_turn_begin_at_once() {
    let lines = |text: &str| {
        [
            json!({"type": "thread.started", "thread_id": "t"}),
            json!({"type": "turn.started"}),
            json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}}),
            json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
        ]
        .map(|line| format!("{line}\n"))
        .concat()
        .into_bytes()
    };
    let begun = b"{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n";
    let context = Context {
        prompt: Some("Go".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
    let mut events = Vec::new();
    reader.push(begun, 0, &mut events).unwrap();
    assert_eq!(told(&events), ["turn user", "user Go"]);

    let (one, other) = (
        read_asked("One", &lines("Done.")),
        read_asked("Two", &lines("Done.")),
    );
    assert_eq!(ids(&one).intersection(&ids(&other)).count(), 0);
    // Asked the same, they are one turn, but nothing that was said is lost.
    let (one, other) = (
        read_asked("Go on", &lines("A.")),
        read_asked("Go on", &lines("B.")),
    );
    let answers = |events: &[ChatEvent]| -> Vec<String> {
        let done = events
            .iter()
            .filter(|event| matches!(event.payload, Payload::AssistantDone(_)));
        done.map(|event| event.id.clone()).collect()
    };
    assert_ne!(answers(&one), answers(&other));
}

/// Two runs may say the same, word for word. Who reads them while they run tells them apart.
#[test]
fn runs_that_say_the_same_are_told_apart_by_who_reads_them() {
    let lines = [
        json!({"type": "thread.started", "thread_id": "t"}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "A."}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}),
    ]
    .map(|line| format!("{line}\n"))
    .concat();
    let read = |run: Option<&str>, prompt: Option<&str>| {
        let context = Context {
            run: run.map(str::to_owned),
            prompt: prompt.map(str::to_owned),
            ..Context::default()
        };
        let mut reader = SessionReader::with_dialect(context, Dialect::CodexExec);
        let mut events = Vec::new();
        reader.push(lines.as_bytes(), 0, &mut events).unwrap();
        reader.finish(0, &mut events).unwrap();
        events
    };
    let all = |events: &[ChatEvent]| -> BTreeSet<String> {
        events.iter().map(|event| event.id.clone()).collect()
    };
    for prompt in [None, Some("Go")] {
        let (one, other) = (read(Some("1"), prompt), read(Some("2"), prompt));
        assert!(all(&one).is_disjoint(&all(&other)));
        assert_eq!(read(Some("1"), prompt), one);
        assert_eq!(told(&one), told(&other));
        assert_eq!(read(None, prompt), read(None, prompt));
        assert_eq!(one.last().unwrap().event_type(), "session_end");
    }
    // A file is the same for whoever reads it again while it grows.
    let file =
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"t"}}"#;
    let ids = ["1", "2"].map(|run| {
        let context = Context {
            run: Some(run.to_owned()),
            ..Context::default()
        };
        let mut reader = SessionReader::with_dialect(context, Dialect::CodexRollout);
        let mut events = Vec::new();
        reader.push(file.as_bytes(), 0, &mut events).unwrap();
        reader.finish(0, &mut events).unwrap();
        all(&events)
    });
    assert_eq!(ids[0], ids[1]);
}

/// `turn.completed` tells the sum of the thread.
#[test]
fn a_turn_used_what_the_thread_used_since_the_one_before() {
    // Made at 1,759,000,000,000 ms.
    let thread = "01998cb5-5e00-7532-b60a-a52c82ab0f22";
    let lines = [
        json!({"type": "thread.started", "thread_id": thread}),
        json!({"type": "turn.started"}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 1}}),
        json!({"type": "turn.started"}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 32, "cached_input_tokens": 4, "cache_write_input_tokens": 2, "output_tokens": 3}}),
    ]
    .map(|line| format!("{line}\n"))
    .concat();
    let used = |arrival_ms: i64| -> Vec<Option<(u64, u64, u64)>> {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        reader
            .push(lines.as_bytes(), arrival_ms, &mut events)
            .unwrap();
        reader.finish(arrival_ms, &mut events).unwrap();
        let ends = events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => Some(end.usage.as_ref()),
            _ => None,
        });
        let count = |usage: &chat_event::Json, key: &str| {
            usage
                .get(key)
                .and_then(|count| count.parse::<u64>())
                .unwrap()
        };
        ends.map(|usage| {
            let keys = ["inputTokens", "cacheReadTokens", "outputTokens"];
            usage.map(|usage| keys.map(|key| count(usage, key)).into())
        })
        .collect()
    };
    let made_ms = 0x0199_8cb5_5e00;
    assert_eq!(used(made_ms + 400), [Some((6, 4, 1)), Some((20, 0, 2))]);
    // Whether the thread had turns before is not known.
    assert_eq!(used(made_ms + 60_000), [None, Some((20, 0, 2))]);
}

#[test]
fn a_turn_without_a_prompt_is_told_whatever_comes_first() {
    let started = json!({"type": "turn.started"});
    let thread = json!({"type": "thread.started", "thread_id": "t"});
    let error = json!({"type": "error", "message": "Reconnecting... 1/5"});
    let warning = json!({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "old"}});
    let failed = json!({"type": "turn.failed", "error": {"message": "no"}});
    let of = |lines: &[&serde_json::Value]| {
        let lines: Vec<serde_json::Value> = lines.iter().map(|line| (*line).clone()).collect();
        let events = read_lines(Dialect::CodexExec, &lines).events;
        crate::support::assert_sound("codex-exec", &events);
        told(&events)
    };
    assert_eq!(of(&[&thread, &started]), ["turn user", "end interrupted"]);
    assert_eq!(
        of(&[&thread, &started, &error, &failed]),
        ["turn user", "error turn_failed no", "end failed"]
    );
    assert_eq!(
        of(&[&thread, &started, &warning, &failed]),
        [
            "notice old",
            "turn user",
            "error turn_failed no",
            "end failed"
        ]
    );
    assert_eq!(
        of(&[&thread, &started, &thread, &started, &failed]),
        ["turn user", "error turn_failed no", "end failed"]
    );
}
