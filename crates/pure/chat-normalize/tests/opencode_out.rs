//! ChatEvents as OpenCode's bus would have told them: against what it did tell, and for logs of other agents against the
//! rules of its order.

mod any_log;
mod changes;
mod costs;
mod members;
mod order;
mod read_back;

use std::collections::BTreeSet;

use chat_event::ChatEvent;
use chat_normalize::to_opencode_events;
use serde_json::{Value, json};

use crate::support::bus;
use crate::support::{Source, read, sources};
use bus::{check, text};

fn buses() -> Vec<Source> {
    let mut buses = sources("recordings/opencode", |name| {
        name.ends_with(".events.jsonl")
    });
    buses.extend(sources("fixtures/opencode-events", |name| {
        name.ends_with(".event.jsonl") || name.ends_with(".sse.txt")
    }));
    for bus in &mut buses {
        let text = String::from_utf8(std::mem::take(&mut bus.bytes)).unwrap();
        let lines = text.lines().filter(|line| line.starts_with(['{', 'd']));
        let lines: Vec<&str> = lines
            .map(|line| line.trim_start_matches("data: "))
            .collect();
        bus.bytes = lines.join("\n").into_bytes();
    }
    buses
}

fn bytes_of(told: &[Value]) -> Vec<u8> {
    let lines: Vec<String> = told.iter().map(Value::to_string).collect();
    lines.join("\n").into_bytes()
}

/// Events of one session and turn, from their types and payloads.
fn log(lines: &[(&str, Value)]) -> Vec<ChatEvent> {
    let events = lines.iter().enumerate().map(|(at, (kind, payload))| {
        let event = json!({"id": format!("e{at}"), "timestamp": 1_795_294_338_000_u64 + at as u64, "sessionId": "s",
            "type": kind, "turnId": "t", "responseId": payload.get("r"), "payload": payload});
        ChatEvent::from_json(&event.to_string()).unwrap()
    });
    events.collect()
}

/// `seeds/004`: "Read README.md and add a line at the end", two calls, then the final text.
#[test]
fn a_turn_is_told_in_the_order_that_is_asked_for() {
    let call =
        |id: &str, name: &str| json!({"toolCallId": id, "toolName": name, "args": {}, "r": "r"});
    let result = |id: &str| json!({"toolCallId": id, "result": "ok", "r": "r"});
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("session_status", json!({"status": "busy"})),
        ("user_message", json!({"text": "Read"})),
        ("assistant_chunk", json!({"text": "I'll ", "r": "a"})),
        ("assistant_chunk", json!({"text": "read", "r": "a"})),
        ("assistant_done", json!({"text": "I'll read", "r": "a"})),
        ("tool_call", call("c1", "Read")),
        ("tool_result", result("c1")),
        ("tool_call", call("c2", "Edit")),
        ("tool_result", result("c2")),
        ("assistant_done", json!({"text": "Done!", "r": "b"})),
        ("turn_end", json!({"outcome": "completed"})),
        ("session_status", json!({"status": "idle"})),
        ("session_end", json!({"reason": "exit"})),
    ]);
    let told = to_opencode_events(&events);
    assert_eq!(check("seed 004", &told, true), 1);
    let short: Vec<String> = told
        .iter()
        .map(|event| {
            let of = &event["properties"];
            let words = [
                text(event, "/type"),
                text(of, "/info/role"),
                text(of, "/info/finish"),
                text(of, "/part/type"),
                text(of, "/part/callID"),
                text(of, "/part/state/status"),
                text(of, "/part/text"),
                text(of, "/delta"),
                text(of, "/status/type"),
            ];
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            words.join(" ")
        })
        .collect();
    assert_eq!(
        short,
        [
            "session.created",
            "session.updated",
            "message.updated user",
            "message.part.updated text Read",
            "session.status busy",
            "message.updated assistant",
            "message.part.updated step-start",
            "message.part.updated text",
            "message.part.delta I'll ",
            "message.part.delta read",
            "message.part.updated text I'll read",
            "message.part.updated tool c1 pending",
            "message.part.updated tool c1 running",
            "message.part.updated tool c1 completed",
            "message.part.updated tool c2 pending",
            "message.part.updated tool c2 running",
            "message.part.updated tool c2 completed",
            "message.part.updated step-finish",
            "message.updated assistant tool-calls",
            "message.updated assistant tool-calls",
            "message.updated assistant",
            "message.part.updated step-start",
            "message.part.updated text",
            "message.part.updated text Done!",
            "message.part.updated step-finish",
            "message.updated assistant stop",
            "message.updated assistant stop",
            "session.status idle",
            "session.idle",
            "session.updated",
            "session.diff",
            "message.updated user",
        ]
    );
}

#[test]
fn a_guess_that_was_wrong_is_taken_back() {
    let events = log(&[
        ("turn_start", json!({"trigger": "user"})),
        ("user_message", json!({"text": "Hi"})),
        ("assistant_chunk", json!({"text": "Let me ", "r": "a"})),
        ("session_status", json!({"status": "idle", "guessed": true})),
        ("session_status", json!({"status": "busy"})),
        ("assistant_chunk", json!({"text": "see", "r": "a"})),
        ("turn_end", json!({"outcome": "completed"})),
        ("session_status", json!({"status": "idle"})),
    ]);
    let told = to_opencode_events(&events);
    let states: Vec<&str> = told
        .iter()
        .map(|event| text(event, "/properties/status/type"))
        .filter(|state| !state.is_empty())
        .collect();
    assert_eq!(states, ["busy", "idle", "busy", "idle"]);
}

/// What is told of a log grows with it, not with its square.
#[test]
fn output_in_many_pieces_is_not_told_again_with_each() {
    let mut lines = vec![(
        "tool_call",
        json!({"toolCallId": "c", "toolName": "bash", "args": {}}),
    )];
    lines.extend((0..20_000).map(|_| {
        (
            "tool_output_chunk",
            json!({"toolCallId": "c", "chunk": "0123456789"}),
        )
    }));
    let events = log(&lines);
    let told = bytes_of(&to_opencode_events(&events));
    assert!(told.len() < 8_000_000, "{}", told.len());
}

/// Turns, calls and results of which the log never says the end, more than are kept open: each is told and closed once.
#[test]
fn what_never_ends_is_told_and_closed_however_much_it_is() {
    const N: usize = 2500;
    let mut lines = Vec::new();
    for n in 0..N {
        let (turn, response) = (format!("t{n}"), format!("r{n}"));
        let mut say = |kind: &str, payload: Value| {
            let id = format!("e{}", lines.len());
            lines.push(json!({"id": id, "timestamp": 1_795_294_338_000_u64 + n as u64, "sessionId": "s", "type": kind,
                "turnId": turn, "responseId": response, "payload": payload}));
        };
        say("turn_start", json!({"trigger": "user"}));
        say("user_message", json!({"text": "Go on"}));
        say("assistant_chunk", json!({"text": "I will", "part": 0}));
        let call = json!({"toolCallId": format!("c{n}"), "toolName": "Edit", "args": {}});
        say("tool_call", call);
        let result = json!({"toolCallId": format!("lost{n}"), "result": "x"});
        say("tool_result", result);
    }
    let events: Vec<ChatEvent> = lines
        .iter()
        .map(|line| ChatEvent::from_json(&line.to_string()).unwrap())
        .collect();
    let told = to_opencode_events(&events);
    check("what never ends", &told, true);
    let parts = || {
        told.iter()
            .map(|event| &event["properties"]["part"])
            .filter(|part| part["type"] == "tool")
    };
    let ended: BTreeSet<&str> = parts()
        .filter(|part| {
            matches!(
                part["state"]["status"].as_str(),
                Some("completed" | "error")
            )
        })
        .filter_map(|part| part["callID"].as_str())
        .collect();
    assert_eq!(ended.len(), 2 * N);
}

/// A call that ended long ago is forgotten: a change of it is counted, and one of a late call is told.
#[test]
fn a_change_is_told_by_its_call_as_long_as_that_is_known() {
    const N: usize = 1500;
    let mut lines = Vec::new();
    for n in 0..N {
        let id = format!("c{n}");
        lines.push((
            "tool_call",
            json!({"toolCallId": id, "toolName": "Edit", "args": {}, "r": format!("r{n}")}),
        ));
        lines.push(("tool_result", json!({"toolCallId": id, "result": "ok"})));
    }
    for n in [0, N - 1] {
        let path = format!("/f{n}");
        lines.push((
            "file_edit",
            json!({"toolCallId": format!("c{n}"), "filePath": path, "changeType": "modified",
                "linesAdded": 1, "linesRemoved": 0}),
        ));
    }
    let told = to_opencode_events(&log(&lines));
    let edited: Vec<&str> = told
        .iter()
        .filter(|event| event["type"] == "file.edited")
        .filter_map(|event| event["properties"]["file"].as_str())
        .collect();
    assert_eq!(edited, [format!("/f{}", N - 1)]);
}
