//! The session that a page rehearses with: sound, and with what most sessions bring.

use chat_event::ChatEvent;
use chat_feed::{BlockBody, ChatRenderer};
use chat_normalize::LogReader;

const SESSION: &str = include_str!("../../src/element/rehearsal.txt");

/// So many steps are taken at most: a step has a frame of its own, and all of it is to be over within a second.
const MOST_STEPS: usize = 40;

#[test]
fn what_is_rehearsed_is_sound_and_has_what_most_sessions_bring() {
    let mut events: Vec<ChatEvent> = Vec::new();
    let mut reader = LogReader::new("rehearsal");
    let steps: Vec<&str> = SESSION.split("\n\n").collect();
    let mut turn = 0;
    for (nth, step) in steps.iter().enumerate() {
        let known = events.len();
        for (line, text) in step.lines().enumerate() {
            let (kind, payload) = text.split_once(' ').expect("a type and a payload");
            turn += u32::from(kind == "turn_start");
            let event = format!(
                r#"{{"id":"{nth}.{line}","timestamp":{nth},"sessionId":"0","type":"{kind}","turnId":"{turn}","responseId":"{turn}","payload":{payload}}}"#
            );
            reader.push((event + "\n").as_bytes(), 0, &mut events);
        }
        let n_lines = step.lines().count();
        assert_eq!(
            events.len(),
            known + n_lines,
            "each line is an event: {step}"
        );
    }
    assert!(steps.len() <= MOST_STEPS, "{} steps", steps.len());

    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    let mut kinds = std::collections::BTreeSet::new();
    for block in renderer.feed().rows() {
        kinds.insert(match &block.body {
            BlockBody::Prompt(_) => "prompt",
            BlockBody::Text(_) => "text",
            BlockBody::Thinking(_) => "thinking",
            BlockBody::ToolCall(_) => "call",
            BlockBody::FileEdit(_) => "edit",
            BlockBody::Plan(_) => "plan",
            BlockBody::TurnEnd(_) => "turn's end",
            BlockBody::SessionStart(_) => "start",
            other => panic!("not to be rehearsed: {other:?}"),
        });
    }
    for kind in [
        "prompt",
        "text",
        "thinking",
        "call",
        "edit",
        "plan",
        "turn's end",
    ] {
        assert!(kinds.contains(kind), "{kind} is among {kinds:?}");
    }
    // What is coloured fetches grammars, and a link is followed nowhere.
    assert!(!SESSION.contains("```rust") && !SESSION.contains("http"));
}
