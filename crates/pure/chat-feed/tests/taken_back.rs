//! What a source takes back is gone, and may be said again.

use chat_event::ChatEvent;
use chat_feed::projections::{to_markdown, to_session_summary};
use chat_feed::{BlockBody, ChatRenderer};
use serde_json::{Value, json};

const PARAGRAPHS: &str = "One.\n\nTwo.\n\n- three\n- four\n\nFive.";

fn log(lines: &[(&str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, payload)): (usize, &(&str, Value))| {
        let line = json!({"id": format!("e{nth}"), "timestamp": 1_000 + nth, "sessionId": "s", "turnId": "t",
            "responseId": "r", "type": kind, "payload": payload});
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

/// The texts of all rows.
fn rows(renderer: &ChatRenderer) -> Vec<String> {
    assert_eq!(renderer.check(), Ok(()));
    let feed = renderer.feed();
    feed.rows()
        .map(|row| feed.text(row.id).to_string())
        .collect()
}

fn replayed(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(events);
    renderer
}

#[test]
fn a_text_of_many_rows_goes_whole() {
    for (said, done) in [
        ("assistant_done", true),
        ("thinking_done", true),
        ("assistant_chunk", false),
        ("thinking_chunk", false),
    ] {
        let events = log(&[
            ("turn_start", json!({"trigger": "user"})),
            ("user_message", json!({"text": "Hi"})),
            (said, json!({"text": PARAGRAPHS})),
            ("notice", json!({"text": "beside"})),
            ("retract", json!({"eventIds": ["e2"]})),
        ]);
        let rows = rows(&replayed(&events));
        assert_eq!(rows.len(), 2, "{said} (done: {done}): {rows:?}");
        assert!(!rows.join(" ").contains("One"), "{rows:?}");
        assert!(!to_markdown(&events).contains("One"));
    }
}

#[test]
fn what_was_taken_back_may_be_said_again() {
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("assistant_done", json!({"text": PARAGRAPHS, "part": 0})),
        ("assistant_done", json!({"text": "Behind.", "part": 1})),
        ("retract", json!({"eventIds": ["e1"]})),
        ("assistant_chunk", json!({"text": "Six.\n\nSev", "part": 0})),
        ("assistant_chunk", json!({"text": "en.", "part": 0})),
        (
            "assistant_done",
            json!({"text": "Six.\n\nSeven.", "part": 0}),
        ),
        ("turn_end", json!({"outcome": "completed"})),
    ]);
    let text = rows(&replayed(&events)).join("\n");
    assert!(!text.contains("One"), "{text}");
    for said in ["Six.", "Seven.", "Behind."] {
        assert!(text.contains(said), "{said}: {text}");
        assert!(to_markdown(&events).contains(said), "{said}");
    }
}

#[test]
fn a_turn_keeps_its_end_when_what_it_used_is_taken_back() {
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("assistant_done", json!({"text": "Done."})),
        ("turn_end", json!({"outcome": "completed"})),
        (
            "usage",
            json!({"scope": "turn", "inputTokens": 5, "outputTokens": 1}),
        ),
        ("retract", json!({"eventIds": ["e3"]})),
    ]);
    let renderer = replayed(&events);
    assert_eq!(rows(&renderer), ["", "Done.", ""]);
    let last = renderer.feed().last().unwrap();
    assert!(matches!(
        renderer.feed().block(last).body,
        BlockBody::TurnEnd(_)
    ));
}

#[test]
fn nothing_waits_for_a_request_that_was_taken_back() {
    let request =
        json!({"requestId": "q", "toolName": "Bash", "toolCallId": "c", "args": {}, "options": []});
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        (
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Bash", "args": {}}),
        ),
        ("permission_request", request.clone()),
        ("retract", json!({"eventIds": ["e2"]})),
        ("permission_request", request),
        (
            "permission_resolved",
            json!({"requestId": "q", "decision": "allow"}),
        ),
    ]);
    let mut renderer = ChatRenderer::with_history();
    let mut seen = Vec::new();
    for event in &events {
        renderer.render_event(event);
        assert_eq!(renderer.check(), Ok(()));
        let feed = renderer.feed();
        let n_asks = feed
            .rows()
            .filter(|row| matches!(row.body, BlockBody::Permission(_)));
        let waits = feed
            .rows()
            .any(|row| matches!(&row.body, BlockBody::ToolCall(call) if call.waits));
        seen.push((n_asks.count(), renderer.waiting_asks(), waits));
    }
    assert_eq!(
        seen[2..],
        [(1, 1, true), (0, 0, false), (1, 1, true), (1, 0, false)]
    );
}

#[test]
fn what_was_asked_in_vain_may_be_asked_again() {
    let request = json!({"requestId": "q", "toolName": "Bash", "args": {}, "options": []});
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("permission_request", request.clone()),
        (
            "error",
            json!({"code": "overloaded", "message": "Overloaded"}),
        ),
        ("permission_request", request),
    ]);
    let renderer = replayed(&events);
    assert_eq!(renderer.check(), Ok(()));
    assert_eq!(renderer.waiting_asks(), 1);
    let mut asks = renderer.feed().rows();
    let expired = asks.find_map(|row| match &row.body {
        BlockBody::Permission(block) => Some(block.expired),
        _ => None,
    });
    assert_eq!(expired, Some(false));
}

#[test]
fn tokens_that_are_taken_back_do_not_count() {
    let used = |scope: &str, tokens: u64| json!({"scope": scope, "inputTokens": tokens, "outputTokens": 1, "costUsd": 0.5});
    let totals = |lines: &[(&str, Value)]| {
        let events = log(lines);
        let renderer = replayed(&events);
        assert_eq!(renderer.check(), Ok(()));
        let feed = renderer.feed();
        let foot = feed.rows().find_map(|row| match &row.body {
            BlockBody::TurnEnd(end) => Some((end.tokens, end.cost_usd)),
            _ => None,
        });
        let told = (feed.tokens(), feed.cost_usd());
        assert_eq!(foot, Some(told));
        let summary = to_session_summary(&events);
        assert_eq!((summary.usage, summary.cost_usd), told);
        (told.0.map(|tokens| tokens.fresh()), told.1)
    };
    let mut lines = vec![
        ("turn_start", json!({"trigger": "user"})),
        ("assistant_done", json!({"text": "Done."})),
        ("usage", used("response", 10)),
        ("turn_end", json!({"outcome": "completed"})),
    ];
    assert_eq!(totals(&lines), (Some(11), Some(0.5)));
    // The first word of a response is no more what counts, once there is another.
    lines.push(("usage", used("response", 20)));
    lines.push(("retract", json!({"eventIds": ["e2"]})));
    assert_eq!(totals(&lines), (Some(21), Some(0.5)));
    lines.push(("usage", used("turn", 30)));
    assert_eq!(totals(&lines), (Some(31), Some(0.5)));
    lines.push(("retract", json!({"eventIds": ["e6", "e6"]})));
    assert_eq!(totals(&lines).0, Some(21));
    lines.push(("retract", json!({"eventIds": ["e4"]})));
    assert_eq!(totals(&lines), (None, None));
}

/// Also where the turn ends before anything of it is told.
#[test]
fn an_end_that_comes_first_is_the_last_row() {
    let events = log(&[
        ("turn_end", json!({"outcome": "completed"})),
        ("assistant_done", json!({"text": "Late."})),
        ("notice", json!({"text": "later"})),
        ("retract", json!({"eventIds": ["e1"]})),
        (
            "usage",
            json!({"scope": "turn", "inputTokens": 5, "outputTokens": 1}),
        ),
    ]);
    for n_events in 1..=events.len() {
        let renderer = replayed(&events[..n_events]);
        let feed = renderer.feed();
        let kinds: Vec<&str> = feed
            .rows()
            .map(|row| match &row.body {
                BlockBody::Text(_) => "text",
                BlockBody::Notice { .. } => "notice",
                BlockBody::TurnEnd(_) => "end",
                _ => "another",
            })
            .collect();
        let expected: &[&str] = match n_events {
            1 => &[],
            2 => &["text", "end"],
            3 => &["text", "notice", "end"],
            _ => &["notice", "end"],
        };
        assert_eq!(kinds, expected, "{n_events}");
        assert_eq!(renderer.check(), Ok(()));
    }
}
