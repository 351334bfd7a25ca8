//! Transcripts that grow, fork and lose lines: read again, they tell the same; nothing is hidden.

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

/// What a reading only guesses because its source ended there, or says of that end.
fn is_of_the_end(event: &ChatEvent) -> bool {
    match &event.payload {
        Payload::SessionEnd(_) => true,
        Payload::SessionStatus(status) => status.status == "idle",
        Payload::TurnEnd(end) => end.extra.get("guessed").is_some(),
        Payload::ToolResult(result) => {
            let error = result.error.as_ref();
            error.and_then(|error| error.code.as_deref()) == Some("no_result")
        }
        // A request about a call that is cut off.
        Payload::PermissionResolved(answer) => answer.decision == "cancel",
        Payload::QuestionResolved(answer) => answer.outcome == "expired",
        // A message's usage is that of its last line.
        Payload::Usage(_) => true,
        _ => false,
    }
}

/// A transcript that was read while it was shorter, and is read again, adds what is new and contradicts nothing: what
/// has the same id says the same, so that a store that has it leaves it.
#[test]
fn a_grown_transcript_read_again_adds_only_what_is_new() {
    let mut n = 0;
    for folder in ["claude-code", "claude-code-2.1.197", "claude-code-1.0.128"] {
        for source in crate::support::sources(&format!("recordings/{folder}"), |name| {
            name.contains(".transcript.") && name.ends_with(".jsonl")
        }) {
            let whole: BTreeMap<String, ChatEvent> =
                by_id(crate::support::read(&source.bytes).events);
            let ends: Vec<usize> = (0..source.bytes.len())
                .filter(|at| source.bytes[*at] == b'\n')
                .collect();
            for part in 1..6 {
                let end = ends[ends.len() * part / 6];
                let read = crate::support::read(&source.bytes[..=end]);
                if read.dialect != Some(Dialect::ClaudeTranscript) {
                    continue;
                }
                for (id, event) in by_id(read.events) {
                    n += 1;
                    if is_of_the_end(&event) {
                        continue;
                    }
                    let later = whole.get(&id);
                    let later = later.unwrap_or_else(|| panic!("{}: {id} is gone", source.name));
                    assert_eq!(event.payload, later.payload, "{}: {id}", source.name);
                }
            }
        }
    }
    eprintln!("{n} events compared");
}

fn by_id(events: Vec<ChatEvent>) -> BTreeMap<String, ChatEvent> {
    events
        .into_iter()
        .map(|event| (event.id.clone(), event))
        .collect()
}

fn line(kind: &str, uuid: &str, parent: Option<&str>, text: &str) -> Value {
    json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "version": "2.1.0",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"id": format!("m-{uuid}"), "role": kind, "content": [{"type": "text", "text": text}]}})
}

fn texts(events: &[ChatEvent]) -> Vec<String> {
    let text = |event: &ChatEvent| match &event.payload {
        Payload::UserMessage(said) => Some(said.text.preview().to_string()),
        Payload::AssistantDone(done) => Some(done.text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// The turns that a reading says a person went back behind.
fn left(events: &[ChatEvent]) -> Vec<String> {
    let left = |event: &ChatEvent| match &event.payload {
        Payload::Notice(notice) => notice
            .extra
            .get("leftTurnIds")
            .map(|ids| ids.as_text().to_string()),
        _ => None,
    };
    events.iter().filter_map(left).collect()
}

#[test]
fn a_dead_branch_is_told_and_named_and_the_branch_that_is_alive_goes_on() {
    let lines = [
        line("user", "u1", None, "one"),
        line("assistant", "a1", Some("u1"), "first"),
        line("user", "u2", Some("a1"), "two"),
        line("assistant", "a2", Some("u2"), "second"),
        line("user", "u3", Some("a1"), "two, but other"),
        line("assistant", "a3", Some("u3"), "third"),
    ];
    let events = crate::support::read_lines(Dialect::ClaudeTranscript, &lines).events;
    crate::support::assert_sound("a fork", &events);
    assert_eq!(
        texts(&events),
        ["one", "first", "two", "second", "two, but other", "third"]
    );
    assert_eq!(left(&events), [r#"["u2"]"#]);
}

#[test]
fn parents_that_are_lost_or_go_in_a_circle_hide_nothing() {
    let lines = [
        line("user", "u1", Some("a3"), "one"),
        line("assistant", "a1", Some("a1"), "first"),
        line("user", "u2", Some("gone"), "two"),
        line("assistant", "a2", Some("u2"), "second"),
        line("user", "u3", Some("u3"), "three"),
        line("assistant", "a3", Some("u1"), "third"),
    ];
    let events = crate::support::read_lines(Dialect::ClaudeTranscript, &lines).events;
    crate::support::assert_sound("a circle", &events);
    assert_eq!(
        texts(&events),
        ["one", "first", "two", "second", "three", "third"]
    );
    assert_eq!(left(&events), Vec::<String>::new());
}

/// A fork copies the lines of the session it came from, into a file of its own and with its own session's id.
#[test]
fn a_fork_tells_the_copied_turns_with_the_same_ids() {
    let lines: Vec<Value> = (0..6)
        .map(|n| {
            let kind = if n % 2 == 0 { "user" } else { "assistant" };
            let parent = (n > 0).then(|| format!("x{}", n - 1));
            line(
                kind,
                &format!("x{n}"),
                parent.as_deref(),
                &format!("text {n}"),
            )
        })
        .collect();
    let mut fork: Vec<Value> = lines[..4].to_vec();
    for line in &mut fork {
        line["sessionId"] = json!("s2");
    }
    let old = crate::support::read_lines(Dialect::ClaudeTranscript, &lines).events;
    let new = crate::support::read_lines(Dialect::ClaudeTranscript, &fork).events;
    let old = by_id(old);
    let told = new.iter().filter(|event| !is_of_the_end(event));
    for event in told.filter(|event| !matches!(event.payload, Payload::SessionStart(_))) {
        assert_eq!(event.payload, old[&event.id].payload, "{}", event.id);
    }
}
