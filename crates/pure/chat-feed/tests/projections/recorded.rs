//! The projections of recorded sessions.

use std::path::Path;

use chat_event::ChatEvent;
use chat_feed::projections::{
    to_claude_prompt, to_markdown, to_openai_messages, to_session_summary,
};

use super::laws::{check_fences, check_messages};

/// The logs of the workspace's recorded sessions.
pub(crate) fn recorded() -> Vec<(String, Vec<ChatEvent>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/sessions");
    let mut logs = Vec::new();
    for session in std::fs::read_dir(folder).unwrap() {
        let session = session.unwrap().path();
        let name = session.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(session.join("events.jsonl")) else {
            continue;
        };
        let events = text.lines().map(|line| ChatEvent::from_json(line).unwrap());
        logs.push((name, events.collect()));
    }
    assert!(!logs.is_empty(), "there are recorded sessions");
    logs.sort_by(|left, right| left.0.cmp(&right.0));
    logs
}

#[test]
fn every_recorded_session_is_projected() {
    for (name, events) in recorded() {
        let messages = to_openai_messages(&events);
        check_messages(&messages).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(!messages.is_empty(), "{name}");
        let prompt = to_claude_prompt(&events);
        assert!(!prompt.is_empty(), "{name}");
        let summary = to_session_summary(&events);
        assert!(
            summary.turns > 0 && summary.outcome.is_some(),
            "{name}: {summary:?}"
        );
        check_fences(&to_markdown(&events)).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}
