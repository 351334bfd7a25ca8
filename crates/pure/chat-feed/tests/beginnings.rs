//! A session begins once: what its source learns later is told at its beginning, and only what changes is told again.

use chat_event::ChatEvent;
use chat_feed::panel::raw_events;
use chat_feed::projections::to_session_summary;
use chat_feed::{BlockBody, ChatRenderer, FeedPatch};
use serde_json::{Value, json};

fn log(lines: &[(&str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, payload)): (usize, &(&str, Value))| {
        let text = json!({"id": format!("e{nth}"), "timestamp": 1000 + nth, "sessionId": "s", "type": kind,
            "turnId": "t", "payload": payload});
        ChatEvent::from_json(&text.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

/// What the rows say that tell of the session.
fn told(renderer: &ChatRenderer) -> Vec<String> {
    let rows = renderer
        .feed()
        .rows()
        .filter_map(|block| match &block.body {
            BlockBody::SessionStart(start) => {
                let facts = [&start.agent, &start.model, &start.cwd, &start.git_branch];
                let facts: Vec<&str> = facts.into_iter().flatten().map(String::as_str).collect();
                Some(format!("started: {}", facts.join(" ")))
            }
            BlockBody::Notice { text, .. } => Some(text.clone()),
            BlockBody::SessionEnd { .. } => Some("ended".to_owned()),
            _ => None,
        });
    rows.collect()
}

#[test]
fn what_is_learned_later_is_told_where_the_session_began() {
    let events = log(&[
        ("session_start", json!({"agent": "Agent 1", "cwd": "/w"})),
        ("user_message", json!({"text": "Hi"})),
        ("session_start", json!({"model": "m"})),
        ("session_start", json!({"cwd": "/w/src", "provider": "p"})),
        (
            "session_start",
            json!({"title": "Greeting", "permissionMode": "plan"}),
        ),
        ("assistant_done", json!({"text": "Hello"})),
        ("session_start", json!({"model": "other"})),
        ("session_start", json!({"model": "other"})),
        ("session_end", json!({"reason": "exit"})),
        ("session_start", json!({"nativeId": "n"})),
    ]);
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events[..2]);
    let mut patches = Vec::new();
    renderer.apply(&events[2], &mut patches);
    let began = renderer.feed().rows().next().unwrap().id;
    assert!(patches.contains(&FeedPatch::Update { block: began }));
    for event in &events[3..] {
        renderer.render_event(event);
    }
    assert_eq!(renderer.check(), Ok(()));
    assert_eq!(
        told(&renderer),
        [
            "started: Agent 1 m /w",
            "Model: other",
            "ended",
            "started: Agent 1 other /w"
        ]
    );
    let session = renderer.feed().session();
    assert_eq!(session.model.as_deref(), Some("other"));
    assert_eq!(session.cwd.as_deref(), Some("/w"));
    assert_eq!(session.title.as_deref(), Some("Greeting"));
    let changed = renderer
        .feed()
        .rows()
        .find(|block| matches!(block.body, BlockBody::Notice { .. }));
    let raw = raw_events(renderer.feed(), changed.unwrap().id);
    assert_eq!(raw[0].event_type, "session_start");
    assert!(
        raw[0].text.contains("\"model\": \"other\""),
        "{}",
        raw[0].text
    );
}

#[test]
fn what_takes_back_what_was_learned_leaves_the_beginning() {
    let events = log(&[
        ("session_start", json!({"agent": "Agent 1"})),
        ("session_start", json!({"model": "m"})),
        ("retract", json!({"eventIds": ["e1"]})),
    ]);
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    assert_eq!(told(&renderer), ["started: Agent 1 m"]);
}

#[test]
fn a_sub_agent_that_begins_renames_nothing() {
    let mut events = log(&[
        (
            "session_start",
            json!({"agent": "Agent 1", "title": "Main", "model": "m", "cwd": "/w"}),
        ),
        (
            "tool_call",
            json!({"toolCallId": "c", "toolName": "Task", "args": {}}),
        ),
        (
            "session_start",
            json!({"agent": "Agent 2", "title": "Sub", "model": "n", "cwd": "/w/sub"}),
        ),
    ]);
    events[2].parent_tool_call_id = Some("c".into());
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    assert_eq!(renderer.check(), Ok(()));
    assert_eq!(
        told(&renderer),
        ["started: Agent 1 m /w", "started: Agent 2 n /w/sub"]
    );
    let session = renderer.feed().session();
    assert_eq!(session.title.as_deref(), Some("Main"));
    assert_eq!(session.model.as_deref(), Some("m"));
    let summary = to_session_summary(&events);
    assert_eq!(summary.title.as_deref(), Some("Main"));
    assert_eq!(summary.cwd.as_deref(), Some("/w"));
    assert_eq!(summary.agents, ["Agent 1", "Agent 2"]);
}
