//! Which session of a connection is told: those that are loaded, gone, or only asked for.

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::wire::{answer, initialized, prompt, request, stop, text, told, words};
use crate::support::{assert_sound, read_lines};

#[test]
fn a_history_is_read_once_however_often_it_is_loaded() {
    let history = [
        text("user_message_chunk", "First", None),
        text("agent_message_chunk", "One.", None),
        text("user_message_chunk", "Again", None),
        text("agent_message_chunk", "Two.", None),
        text("user_message_chunk", "Again", None),
        text("agent_message_chunk", "Three.", None),
    ];
    let load = |id: u64| request(id, "session/load", json!({"cwd": "/w"}));
    let mut lines = vec![load(1)];
    lines.extend(history.clone());
    lines.push(answer(1, Value::Null));
    lines.push(prompt(2, "Now"));
    lines.push(text("agent_message_chunk", "Four.", None));
    lines.push(stop(2, "end_turn"));
    lines.push(load(3));
    lines.extend(history);
    lines.push(text("user_message_chunk", "Now", None));
    lines.push(text("agent_message_chunk", "Four.", None));
    lines.push(answer(3, json!({})));
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user First",
            "said One. in t1.r1",
            "end completed",
            "turn t2",
            "user Again",
            "said Two. in t2.r1",
            "end completed",
            "turn t3",
            "user Again",
            "said Three. in t3.r1",
            "end completed",
            "turn t4",
            "user Now",
            "said Four. in t4.r1",
            "end completed",
        ]
    );
}

/// The facts that were told of the session: its own id and its model; and all agents that were named.
fn facts(events: &[ChatEvent]) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    let starts = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some(start),
        _ => None,
    });
    let starts: Vec<_> = starts.collect();
    let ids = starts.iter().filter_map(|start| start.native_id.as_deref());
    let models = starts.iter().filter_map(|start| start.model.as_deref());
    let agents = events.iter().filter_map(|event| event.agent_id.as_deref());
    (ids.collect(), models.collect(), agents.collect())
}

#[test]
fn a_session_that_is_gone_is_not_the_one_that_runs() {
    let in_new = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": {"sessionId": "new", "prompt": [{"type": "text", "text": "Go"}]}});
    for method in ["session/load", "session/resume"] {
        let lines = [
            initialized(),
            request(1, method, json!({"cwd": "/w"})),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "session not found"}}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/w"}}),
            answer(
                2,
                json!({"sessionId": "new", "models": {"currentModelId": "opus"}}),
            ),
            in_new(3),
            stop(3, "end_turn"),
        ];
        let events = read_lines(Dialect::Acp, &lines).events;
        assert_sound(method, &events);
        assert_eq!(facts(&events), (vec!["new"], vec!["opus"], vec![]));
        assert_eq!(
            words(&events),
            [
                "error -32602 session not found",
                "turn t1",
                "user Go",
                "end completed"
            ]
        );
        assert!(events.iter().all(|event| event.session_id == "new"));
    }
}

#[test]
fn a_session_that_is_loaded_or_only_asked_for_is_the_one_that_runs() {
    let load = request(1, "session/load", json!({"cwd": "/w"}));
    let fork = [
        request(1, "session/fork", json!({"cwd": "/w"})),
        answer(1, json!({"sessionId": "forked"})),
    ];
    let loaded = [
        load.clone(),
        text("user_message_chunk", "Hi", None),
        answer(1, json!({"models": {"currentModelId": "opus"}})),
    ];
    for (lines, id) in [
        (&loaded[..], "s"),
        (std::slice::from_ref(&load), "s"),
        (&fork[..], "forked"),
    ] {
        let events = read_lines(Dialect::Acp, lines).events;
        assert_eq!(facts(&events).0, [id]);
        assert_eq!(facts(&events).2, Vec::<&str>::new());
    }
    assert_eq!(told(&loaded), ["turn t1", "user Hi", "end completed"]);
}
