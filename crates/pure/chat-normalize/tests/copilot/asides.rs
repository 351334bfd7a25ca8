//! What is told outside of turns, and what becomes of the session.

use std::collections::BTreeMap;

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::json;

use super::{event, passing};
use crate::support::{assert_sound, read_lines};

/// The line with the call was damaged: nothing may wait within it, for nothing ends it.
#[test]
fn what_is_told_outside_of_a_turn_is_told_within_no_call() {
    let within = |n: u64, kind: &str| {
        let mut line = event(n, kind, json!({"content": "Done.", "message": "Done."}));
        line["data"]["parentToolCallId"] = json!("c9");
        line
    };
    let lines = [
        event(0, "session.start", json!({"sessionId": "s1"})),
        within(1, "session.new"),
        within(2, "system.notification"),
        within(3, "assistant.message"),
    ];
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("copilot", &read.events);
    let parents: Vec<_> = read
        .events
        .iter()
        .filter_map(|event| {
            let parent = event.parent_tool_call_id.as_deref()?;
            Some((event.payload.event_type(), parent))
        })
        .collect();
    // In a turn it may have begun before the file; the turn's end is its own.
    assert_eq!(parents, [("assistant_done", "c9")]);
}

#[test]
fn what_becomes_of_the_session_is_told() {
    let turn = |n: u64| event(n, "user.message", json!({"content": "Go"}));
    let lines = [
        event(
            0,
            "session.start",
            json!({"sessionId": "s1", "context": {"cwd": "/w"}}),
        ),
        turn(1),
        turn(2),
        turn(3),
        passing(
            4,
            "session.snapshot_rewind",
            json!({"upToEventId": "e2", "eventsRemoved": 2}),
        ),
        passing(
            5,
            "session.snapshot_rewind",
            json!({"upToEventId": "gone", "eventsRemoved": 2}),
        ),
        event(6, "session.compaction_start", json!({})),
        event(
            7,
            "session.compaction_complete",
            json!({"success": true, "trigger": "manual", "summaryContent": "All.", "preCompactionTokens": 9}),
        ),
        event(
            8,
            "session.compaction_complete",
            json!({"success": false, "error": "no room"}),
        ),
        passing(9, "session.title_changed", json!({"title": "Notes"})),
        event(
            10,
            "session.context_changed",
            json!({"cwd": "/w/b", "branch": "main"}),
        ),
        event(
            11,
            "session.mode_changed",
            json!({"previousMode": "interactive", "newMode": "plan"}),
        ),
        event(12, "session.task_complete", json!({"summary": "All done"})),
        event(13, "session.context_cleared", json!({})),
        event(14, "hook.progress", json!({})),
    ];
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("asides", &read.events);
    assert_eq!(read.report.raw, BTreeMap::new());
    let said = read.events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => {
            let left = notice
                .extra
                .get("leftTurnIds")
                .map(|left| left.as_text().to_string());
            Some(format!("{} {}", notice.text, left.unwrap_or_default()))
        }
        Payload::Compaction(compaction) => Some(format!(
            "compacted {} {:?}",
            compaction.trigger, compaction.tokens_before
        )),
        _ => None,
    });
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            "the user went back: 2 turns before this line were left [\"e2\",\"e3\"]",
            "the user went back: what stands before this line was left ",
            "compacted manual Some(9)",
            "the conversation was not compacted: no room ",
            "the task is done: All done ",
            "the conversation was cleared: what stands before this line was left [\"e1\"]",
        ]
    );
    let mut cwd = None;
    let mut title = None;
    for event in &read.events {
        if let Payload::SessionStart(start) = &event.payload {
            cwd = start.cwd.clone().or(cwd);
            title = start.title.clone().or(title);
        }
    }
    assert_eq!(
        (cwd.as_deref(), title.as_deref()),
        (Some("/w/b"), Some("Notes"))
    );
}
