//! A session begins once: what its source learns later is told at its beginning, and only what changes is told again.

use chat_event::ChatEvent;
use chat_feed::panel::raw_events;
use chat_feed::projections::{SessionOutcome, to_markdown, to_session_summary};
use chat_feed::{Block, BlockBody, ChatRenderer, FeedPatch, TurnState};
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

/// A pipe takes the agent to run where it runs itself, until somebody tells where that is.
#[test]
fn a_guessed_folder_gives_way_to_the_one_that_is_told() {
    let guess = |cwd: &str| json!({"cwd": cwd, "cwdGuessed": true});
    let starts = [
        json!({"agent": "Agent 1"}),
        guess("/elsewhere"),
        json!({"cwd": "/w"}),
        json!({"cwd": "/w/src"}),
        guess("/other"),
    ];
    let events = log(&starts.map(|start| ("session_start", start)));
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events[..2]);
    assert_eq!(told(&renderer), ["started: Agent 1 /elsewhere"]);
    for event in &events[2..] {
        renderer.render_event(event);
    }
    assert_eq!(renderer.feed().session().cwd.as_deref(), Some("/w"));
    assert_eq!(told(&renderer), ["started: Agent 1 /w"]);
    assert_eq!(to_session_summary(&events).cwd.as_deref(), Some("/w"));
    let text = to_markdown(&events);
    assert!(
        text.contains("/w") && !text.contains("/elsewhere"),
        "{text}"
    );
}

/// Its file tells what was before, behind what its output told.
#[test]
fn what_is_told_of_the_past_neither_opens_the_session_anew_nor_is_its_newest_turn() {
    let at = |at_ms: i64, turn: &str, kind: &str, payload: Value| {
        let text = json!({"id": format!("{kind}-{at_ms}"), "timestamp": at_ms, "sessionId": "s", "type": kind,
            "turnId": turn, "payload": payload});
        ChatEvent::from_json(&text.to_string()).unwrap()
    };
    let mut events = vec![
        at(
            100,
            "t2",
            "session_start",
            json!({"agent": "Agent 1", "model": "new"}),
        ),
        at(101, "t2", "user_message", json!({"text": "Second"})),
        at(102, "t2", "assistant_done", json!({"text": "Done"})),
        at(103, "t2", "turn_end", json!({"outcome": "completed"})),
        at(104, "t2", "session_end", json!({"reason": "exit"})),
        at(
            10,
            "t1",
            "session_start",
            json!({"model": "old", "mode": "plan"}),
        ),
        at(11, "t1", "user_message", json!({"text": "First"})),
        at(12, "t1", "interrupt", json!({"reason": "user_cancel"})),
    ];
    let mut renderer = ChatRenderer::new();
    renderer.replay_events(&events);
    let session = renderer.feed().session();
    assert!(session.ended.is_some());
    assert_eq!(session.model.as_deref(), Some("new"));
    let newest = renderer.newest_turn().unwrap();
    assert_eq!(newest.id.as_deref(), Some("t2"));
    let outcome = |events: &[ChatEvent]| to_session_summary(events).outcome;
    assert_eq!(outcome(&events), Some(SessionOutcome::Completed));
    // What comes after that is news.
    events.push(at(200, "t3", "session_start", json!({"model": "newest"})));
    events.push(at(201, "t3", "user_message", json!({"text": "Third"})));
    renderer.replay_events(&events);
    assert!(renderer.feed().session().ended.is_none());
    let newest = renderer.newest_turn().unwrap();
    assert_eq!(newest.id.as_deref(), Some("t3"));
    assert_eq!(outcome(&events), Some(SessionOutcome::Running));
}

#[test]
fn the_task_of_a_sub_agent_that_is_told_late_stands_above_its_work() {
    let event = |id: &str, at_ms: i64, kind: &str, payload: Value| {
        let within = (id != "call").then_some("agent");
        let event = json!({"id": id, "timestamp": at_ms, "sessionId": "s", "type": kind, "turnId": "t",
            "parentToolCallId": within, "payload": payload});
        ChatEvent::from_json(&event.to_string()).unwrap()
    };
    let call =
        |id: &str| json!({"toolCallId": id, "toolName": "Task", "kind": "agent", "args": {}});
    let rows = |said: &[(&str, i64)]| {
        let mut events = vec![
            event("call", 1_000, "tool_call", call("agent")),
            event("work", 1_300, "tool_call", call("inner")),
        ];
        let said = said.iter().copied();
        events
            .extend(said.map(|(id, at_ms)| event(id, at_ms, "user_message", json!({"text": id}))));
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let rows = renderer
            .feed()
            .rows()
            .map(|block| block.event_id.to_string());
        rows.filter(|id| !id.is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(rows(&[("task", 1_100)]), ["call", "task", "work"]);
    assert_eq!(rows(&[("more", 1_400)]), ["call", "work", "more"]);
    assert_eq!(
        rows(&[("task", 1_100), ("more", 1_200)]),
        ["call", "task", "work", "more"],
        "there is one task"
    );
}

#[test]
fn how_a_session_stands_is_for_its_turns_and_its_own_end_to_say() {
    let at = |at_ms: i64, turn: Option<&str>, kind: &str, payload: Value| {
        let text = json!({"id": format!("{kind}-{at_ms}"), "timestamp": at_ms, "sessionId": "s", "type": kind,
            "turnId": turn, "payload": payload});
        ChatEvent::from_json(&text.to_string()).unwrap()
    };
    let mut renderer = ChatRenderer::new();
    let mut stands = |event: ChatEvent| {
        renderer.render_event(&event);
        let feed = renderer.feed();
        let runs = |block: &Block| match &block.body {
            BlockBody::ToolCall(call) => call.status.runs(),
            _ => false,
        };
        let session = feed.session();
        let status = session.status.clone().unwrap();
        (
            status,
            session.outcome,
            session.ended.is_some(),
            feed.rows().any(runs),
        )
    };
    let busy = |runs| ("busy".to_owned(), None, false, runs);
    let status = |status: &str| json!({"status": status});
    let call = json!({"toolCallId": "c", "toolName": "Bash", "args": {}});
    let t2 = Some("t2");
    assert_eq!(stands(at(100, t2, "turn_start", json!({}))), busy(false));
    assert_eq!(stands(at(101, t2, "tool_call", call)), busy(true));
    assert_eq!(
        stands(at(102, t2, "session_status", status("busy"))),
        busy(true)
    );
    // A run before this one, which another source tells late.
    assert_eq!(
        stands(at(49, Some("t1"), "turn_start", json!({}))),
        busy(true)
    );
    assert_eq!(stands(at(50, None, "session_end", json!({}))), busy(true));
    let done = Some(TurnState::Completed);
    let idle = ("idle".to_owned(), done, false, false);
    assert_eq!(stands(at(103, t2, "turn_end", json!({}))), idle);
    let ended = ("ended".to_owned(), done, true, false);
    assert_eq!(stands(at(104, None, "session_end", json!({}))), ended);
    let text = json!({"text": "On"});
    assert_eq!(stands(at(105, t2, "assistant_chunk", text)), busy(false));
}

#[test]
fn the_end_of_a_turn_that_nothing_else_was_told_of_is_not_that_of_the_turn_before() {
    let at = |at_ms: i64, turn: &str, kind: &str, payload: Value| {
        let text = json!({"id": format!("{kind}-{at_ms}"), "timestamp": at_ms, "sessionId": "s", "type": kind,
            "turnId": turn, "payload": payload});
        ChatEvent::from_json(&text.to_string()).unwrap()
    };
    let mut renderer = ChatRenderer::new();
    renderer.render_event(&at(10, "t1", "user_message", json!({"text": "Go"})));
    renderer.render_event(&at(20, "t2", "turn_end", json!({"outcome": "failed"})));
    let state = |id: &str| {
        let mut turns = renderer.feed().turns().iter();
        turns
            .find(|turn| turn.id.as_deref() == Some(id))
            .unwrap()
            .state
    };
    assert_eq!(
        (state("t1"), state("t2")),
        (TurnState::Running, TurnState::Failed)
    );
    let newest = renderer.newest_turn().unwrap();
    assert_eq!(newest.id.as_deref(), Some("t2"));
}
