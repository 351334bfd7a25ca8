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
fn what_the_program_says_to_itself_is_no_news() {
    let lines = [
        event(0, "session.start", json!({"sessionId": "s1"})),
        event(1, "model.messages_snapshot", json!({"messages": []})),
        passing(2, "model.call_finished", json!({"outcome": "success"})),
        passing(3, "session.autopilot_stopped", json!({})),
        event(4, "session.mode_notice_delivered", json!({"mode": "plan"})),
        passing(
            5,
            "session.info",
            json!({"infoType": "model_retry", "message": "again"}),
        ),
        event(6, "permission.messageAuthorizationRead", json!({})),
    ];
    let read = read_lines(Dialect::Copilot, &lines);
    assert_eq!(read.report.raw, BTreeMap::new());
    let n_notices = (read.events.iter()).filter(|it| matches!(it.payload, Payload::Notice(_)));
    assert_eq!(n_notices.count(), 0);
}

#[test]
fn a_notice_of_the_system_is_told_without_its_tags_and_going_back_is_one() {
    let content =
        "<system_notification>\nShell command \"Long\" has completed.\n</system_notification>";
    let lines = [
        event(0, "session.start", json!({"sessionId": "s1"})),
        event(1, "user.message", json!({"content": "Go"})),
        event(
            2,
            "system.notification",
            json!({"content": content, "kind": {"type": "shell_completed"}}),
        ),
        event(
            3,
            "session.info",
            json!({"infoType": "rewind", "message": "Rewound the conversation."}),
        ),
    ];
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("notices", &read.events);
    let notices = read.events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => Some((notice.source.as_deref(), notice.text.as_str())),
        _ => None,
    });
    assert_eq!(
        notices.collect::<Vec<_>>(),
        [
            (Some("copilot"), "Shell command \"Long\" has completed."),
            (Some("branch"), "Rewound the conversation."),
        ]
    );
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
