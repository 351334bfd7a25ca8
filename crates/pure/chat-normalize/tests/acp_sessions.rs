//! Several sessions that one connection of the Agent Client Protocol carries.

use crate::support::{sessions_of, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(id: u64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn refused(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "session not found"}})
}

fn prompt(id: u64, session: &str, text: &str) -> Value {
    let prompt = json!([{"type": "text", "text": text}]);
    request(
        id,
        "session/prompt",
        json!({"sessionId": session, "prompt": prompt}),
    )
}

fn update(session: &str, kind: &str, rest: Value) -> Value {
    let mut update = rest;
    update["sessionUpdate"] = kind.into();
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}})
}

fn text(session: &str, kind: &str, text: &str) -> Value {
    update(
        session,
        kind,
        json!({"content": {"type": "text", "text": text}}),
    )
}

fn begun() -> Vec<Value> {
    let agent = json!({"protocolVersion": 1, "agentInfo": {"name": "made", "version": "1"}, "agentCapabilities": {}});
    vec![
        request(0, "initialize", json!({"protocolVersion": 1})),
        answer(0, agent),
        request(1, "session/new", json!({"cwd": "/one"})),
        answer(1, json!({"sessionId": "one"})),
    ]
}

/// What is told of each session, by its id.
fn told_of_sessions(lines: &[Value]) -> Vec<(String, String)> {
    let sessions = sessions_of(Dialect::Acp, lines).into_iter();
    let said = |line: &String| !line.starts_with("chunk");
    let told = sessions.map(|(id, events)| {
        let mut lines = told(&events);
        lines.retain(said);
        (id, lines.join("; "))
    });
    told.collect()
}

fn facts(events: &[ChatEvent]) -> (Option<String>, Option<String>, Option<String>) {
    let (mut agent, mut id, mut cwd) = (None, None, None);
    for event in events {
        if let Payload::SessionStart(start) = &event.payload {
            agent = start.agent.clone().or(agent);
            id = start.native_id.clone().or(id);
            cwd = start.cwd.clone().or(cwd);
        }
    }
    (agent, id, cwd)
}

#[test]
fn sessions_of_one_connection_are_told_apart_and_each_knows_its_agent() {
    let ask = json!({"sessionId": "two", "toolCall": {"toolCallId": "c", "title": "make", "kind": "execute"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]});
    let mut lines = begun();
    lines.extend([
        prompt(2, "one", "First"),
        request(3, "session/new", json!({"cwd": "/two"})),
        text("one", "agent_message_chunk", "One "),
        answer(3, json!({"sessionId": "two"})),
        prompt(4, "two", "Second"),
        text("two", "agent_message_chunk", "Two."),
        text("one", "agent_message_chunk", "goes on."),
        // Each side counts its requests for itself.
        request(4, "session/request_permission", ask),
        answer(
            4,
            json!({"outcome": {"outcome": "selected", "optionId": "yes"}}),
        ),
        answer(2, json!({"stopReason": "end_turn"})),
        update(
            "two",
            "tool_call_update",
            json!({"toolCallId": "c", "status": "completed"}),
        ),
        answer(4, json!({"stopReason": "cancelled"})),
    ]);
    let told = told_of_sessions(&lines);
    assert_eq!(told.len(), 2);
    assert_eq!(
        told[0],
        (
            "one".to_owned(),
            "turn user; user First; done One goes on.; end completed".to_owned()
        )
    );
    let (id, two) = &told[1];
    assert_eq!(id, "two");
    assert!(
        two.starts_with("turn user; user Second; done Two.; call c "),
        "{two}"
    );
    assert!(
        two.contains("answered allow") && two.ends_with("end interrupted"),
        "{two}"
    );
    let sessions = sessions_of(Dialect::Acp, &lines);
    for (id, cwd) in [("one", "/one"), ("two", "/two")] {
        let (agent, native, at) = facts(&sessions[id]);
        assert!(agent.is_some_and(|agent| agent.contains("made")), "{id}");
        assert_eq!((native.as_deref(), at.as_deref()), (Some(id), Some(cwd)));
        assert!(
            sessions[id].iter().all(|event| event.agent_id.is_none()),
            "{id}"
        );
    }
}

#[test]
fn a_session_that_is_taken_up_beside_another_has_its_history() {
    let load = |id: u64| {
        request(
            id,
            "session/load",
            json!({"sessionId": "old", "cwd": "/old"}),
        )
    };
    let history = [
        text("old", "user_message_chunk", "Before"),
        text("old", "agent_message_chunk", "Was."),
    ];
    let mut lines = begun();
    lines.push(prompt(2, "one", "Go"));
    lines.push(load(3));
    lines.extend(history);
    lines.extend([
        answer(3, json!({})),
        answer(2, json!({"stopReason": "end_turn"})),
        prompt(5, "old", "Now"),
        text("old", "agent_message_chunk", "Is."),
        answer(5, json!({"stopReason": "end_turn"})),
    ]);
    let turn = |user: &str, said: &str| format!("turn user; user {user}; {said}end completed");
    assert_eq!(
        told_of_sessions(&lines),
        [
            (
                "old".to_owned(),
                format!(
                    "{}; {}",
                    turn("Before", "done Was.; "),
                    turn("Now", "done Is.; ")
                )
            ),
            ("one".to_owned(), turn("Go", "")),
        ]
    );
    // One that is gone is an error, and no session; the turn that runs goes on.
    let mut lines = begun();
    lines.extend([
        prompt(2, "one", "Go"),
        load(3),
        refused(3),
        text("one", "agent_message_chunk", "On."),
        answer(2, json!({"stopReason": "end_turn"})),
    ]);
    assert_eq!(
        told_of_sessions(&lines),
        [(
            "one".to_owned(),
            "turn user; user Go; error -32602 session not found; done On.; end completed"
                .to_owned()
        )]
    );
}

#[test]
fn a_fork_is_a_session_of_its_own_and_a_session_that_a_call_started_is_not() {
    let started = json!({"toolCallId": "c", "title": "task", "rawOutput": {"metadata": {"sessionId": "child"}}});
    let mut lines = begun();
    lines.extend([
        prompt(2, "one", "Go"),
        request(
            3,
            "session/fork",
            json!({"sessionId": "one", "cwd": "/fork"}),
        ),
        answer(3, json!({"sessionId": "fork"})),
        update("one", "tool_call", started),
        text("child", "agent_message_chunk", "Small."),
        prompt(4, "fork", "Other"),
        answer(4, json!({"stopReason": "end_turn"})),
        answer(2, json!({"stopReason": "end_turn"})),
    ]);
    let sessions = sessions_of(Dialect::Acp, &lines);
    let ids: Vec<&str> = sessions.keys().map(String::as_str).collect();
    assert_eq!(ids, ["fork", "one"]);
    assert_eq!(facts(&sessions["fork"]).2.as_deref(), Some("/fork"));
    let of_child = |event: &&ChatEvent| event.agent_id.as_deref() == Some("child");
    assert!(sessions["one"].iter().any(|event| of_child(&event)));
    assert!(!sessions["fork"].iter().any(|event| of_child(&event)));
}

#[test]
fn two_that_are_called_alike_are_one_session() {
    // Of two requests with one id the answer is taken for the later one's; what it names is the session all the same.
    let lines = [
        request(1, "session/new", json!({"cwd": "/w"})),
        request(1, "initialize", json!({"protocolVersion": 1})),
        answer(1, json!({"sessionId": "one"})),
        prompt(2, "two", "Go"),
        answer(2, json!({"stopReason": "end_turn"})),
        prompt(3, "one", "Now"),
        answer(3, json!({"stopReason": "end_turn"})),
    ];
    let sessions = told_of_sessions(&lines);
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].0, "one");
}

/// A client that began anew counts from the same number again.
#[test]
fn a_request_whose_number_is_used_again_is_of_its_own_session_alone() {
    let load = |session: &str, cwd: &str| {
        let params = json!({"sessionId": session, "cwd": cwd, "mcpServers": []});
        request(5, "session/load", params)
    };
    let lines = [
        begun(),
        vec![
            load("two", "/two"),
            load("three", "/three"),
            text("two", "agent_message_chunk", "Two"),
            answer(5, json!({})),
            text("three", "agent_message_chunk", "Three"),
        ],
    ]
    .concat();
    let sessions = sessions_of(Dialect::Acp, &lines);
    let known: Vec<_> = sessions
        .iter()
        .map(|(id, events)| (id.as_str(), facts(events).2))
        .collect();
    let cwd = |cwd: &str| Some(cwd.to_owned());
    assert_eq!(
        known,
        [
            ("one", cwd("/one")),
            ("three", cwd("/three")),
            ("two", None)
        ]
    );
}

#[test]
fn requests_that_wait_are_held_up_to_so_many_bytes_and_what_is_let_go_is_told() {
    let long = "x".repeat(3 * 1024 * 1024);
    let new = |id: u64, cwd: &str| {
        request(
            id,
            "session/new",
            json!({"cwd": cwd, "mcpServers": [{"name": long}]}),
        )
    };
    let lines = [
        begun(),
        vec![
            new(10, "/two"),
            // There is no room for it beside the first, and there is when that was answered.
            new(11, "/three"),
            answer(10, json!({"sessionId": "two"})),
            new(12, "/four"),
            answer(11, json!({"sessionId": "three"})),
            answer(12, json!({"sessionId": "four"})),
        ],
    ]
    .concat();
    let sessions = sessions_of(Dialect::Acp, &lines);
    let cwds: Vec<_> = sessions
        .iter()
        .map(|(id, events)| (id.as_str(), facts(events).2))
        .collect();
    let cwd = |cwd: &str| Some(cwd.to_owned());
    assert_eq!(
        cwds,
        [
            ("four", cwd("/four")),
            ("one", cwd("/one")),
            ("three", None),
            ("two", cwd("/two"))
        ]
    );
    let let_go: Vec<String> = told(&sessions["one"])
        .into_iter()
        .filter(|line| line.starts_with("notice"))
        .collect();
    assert_eq!(
        let_go,
        [
            "notice Line 6 could not be read: requests for other sessions are kept until their answers, and too many wait, or too long ones"
        ]
    );
}
