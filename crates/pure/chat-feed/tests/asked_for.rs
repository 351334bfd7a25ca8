//! Calls that something is asked for: they wait as long as it is open and they are not done, and take the answers, whichever
//! came first.

use chat_event::ChatEvent;
use chat_feed::playback::Moment;
use chat_feed::{BlockBody, ChatRenderer, Feed, PermissionBlock, ToolCallBlock};
use serde_json::{Value, json};

/// A log of `(turn, type, payload)`, an event each second.
fn log(lines: &[(&str, &str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (turn, kind, payload)): (usize, &(&str, &str, Value))| {
        let line = json!({"id": format!("e{nth}"), "timestamp": 1_000 * nth, "sessionId": "s", "turnId": turn, "type": kind, "payload": payload});
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

fn replayed(events: &[ChatEvent]) -> ChatRenderer {
    let mut renderer = ChatRenderer::with_history();
    for event in events {
        renderer.render_event(event);
        renderer.check().unwrap();
    }
    renderer
}

fn calls(feed: &Feed) -> Vec<&ToolCallBlock> {
    let calls = feed.rows().filter_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some(&**call),
        _ => None,
    });
    calls.collect()
}

fn asks(feed: &Feed) -> Vec<&PermissionBlock> {
    let asks = feed.rows().filter_map(|block| match &block.body {
        BlockBody::Permission(ask) => Some(&**ask),
        _ => None,
    });
    asks.collect()
}

fn call() -> Value {
    json!({"toolCallId": "c", "toolName": "Bash", "args": {"command": "make"}})
}

fn ask(id: &str, call: &str) -> Value {
    json!({"requestId": id, "toolCallId": call, "toolName": "Bash"})
}

fn answer(id: &str, decision: &str) -> Value {
    json!({"requestId": id, "decision": decision, "by": "user"})
}

#[test]
fn a_call_that_is_done_waits_no_more_whether_the_answer_was_told_or_not() {
    let ends = [
        ("tool_result", json!({"toolCallId": "c", "result": "made"})),
        ("turn_end", json!({"outcome": "completed"})),
        ("interrupt", json!({"reason": "user_cancel"})),
        ("error", json!({"code": "529", "message": "overloaded"})),
        ("session_end", json!({"reason": "exit"})),
    ];
    for (kind, end) in ends {
        let renderer = replayed(&log(&[
            ("t", "turn_start", json!({"trigger": "user"})),
            ("t", "tool_call", call()),
            ("t", "permission_request", ask("p", "c")),
            ("t", kind, end),
        ]));
        assert!(!calls(renderer.feed())[0].waits, "{kind}");
        // Who looks back sees that it waited.
        let mut moment = Moment::now(&renderer);
        for (n_events, waits) in [(3, true), (2, false), (3, true), (4, false)] {
            moment.seek(&renderer, n_events, &mut Vec::new());
            let call = calls(moment.feed())[0];
            assert_eq!(call.waits, waits, "{kind}, after {n_events}");
            assert_eq!(
                call.result.is_some(),
                n_events == 4 && kind == "tool_result"
            );
        }
    }
}

/// Some sources tell only at the end of the turn what was answered.
#[test]
fn nothing_is_asked_for_a_call_that_has_its_result() {
    let answered = |result: Value| {
        let events = log(&[
            ("t", "turn_start", json!({"trigger": "user"})),
            ("t", "tool_call", call()),
            ("t", "permission_request", ask("p", "c")),
            ("t", "permission_request", ask("q", "d")),
            ("t", "tool_result", result),
            ("t", "permission_request", ask("p", "c")),
            (
                "t",
                "assistant_done",
                json!({"messageId": "m", "text": "No."}),
            ),
            ("t", "permission_resolved", answer("p", "deny")),
        ]);
        let waiting = [4, 5, 7, 8].map(|n| replayed(&events[..n]).waiting_asks());
        let renderer = replayed(&events);
        let ask = asks(renderer.feed())[0];
        assert!(ask.resolved.is_some() && !ask.expired);
        (waiting, ask.answered_ms)
    };
    let failed = json!({"toolCallId": "c", "result": "No.", "error": {"message": "No."}});
    assert_eq!(answered(failed), ([2, 1, 1, 1], Some(4_000)));
    // That no result came tells nothing.
    let none =
        json!({"toolCallId": "c", "result": "", "error": {"code": "no_result", "message": ""}});
    assert_eq!(answered(none), ([2, 2, 2, 1], Some(7_000)));
}

#[test]
fn a_call_waits_until_all_that_is_asked_for_it_is_answered_or_expired() {
    let events = log(&[
        ("t", "turn_start", json!({"trigger": "user"})),
        ("t", "tool_call", call()),
        ("t", "permission_request", ask("p1", "c")),
        ("t", "permission_request", ask("p2", "c")),
        ("t", "permission_resolved", answer("p1", "allow")),
        // It was for another call.
        ("t", "permission_request", ask("p2", "d")),
        ("u", "permission_request", ask("p3", "c")),
        ("u", "turn_end", json!({"outcome": "completed"})),
    ]);
    let mut waits = Vec::new();
    for n_events in 2..=events.len() {
        let renderer = replayed(&events[..n_events]);
        waits.push(calls(renderer.feed())[0].waits);
    }
    assert_eq!(waits, [false, true, true, true, false, true, false]);
}

#[test]
fn a_call_that_comes_after_the_answer_takes_it() {
    for decision in ["allow", "deny"] {
        let renderer = replayed(&log(&[
            ("t", "turn_start", json!({"trigger": "user"})),
            ("t", "permission_request", ask("p", "c")),
            ("t", "permission_resolved", answer("p", decision)),
            (
                "t",
                "tool_input_chunk",
                json!({"toolCallId": "c", "chunk": "{"}),
            ),
            ("t", "tool_call", call()),
            ("t", "tool_result", json!({"toolCallId": "c", "result": ""})),
        ]));
        let feed = renderer.feed();
        let (call, ask) = (calls(feed)[0], asks(feed)[0]);
        assert_eq!((call.waits, call.denied), (false, decision == "deny"));
        assert_eq!(
            (call.allowed_ms, call.duration_ms),
            (Some(2_000), Some(3_000))
        );
        let told = call.asked.map(|asked| &feed.block(asked).body);
        assert!(matches!(told, Some(BlockBody::Permission(told)) if **told == *ask));
        let told = ask.call.map(|row| &feed.block(row).body);
        assert!(matches!(told, Some(BlockBody::ToolCall(told)) if **told == *call));
    }
}

#[test]
fn an_answer_of_another_turn_is_that_of_another_call() {
    let renderer = replayed(&log(&[
        ("t", "turn_start", json!({"trigger": "user"})),
        ("t", "permission_request", ask("p", "c")),
        ("t", "permission_resolved", answer("p", "deny")),
        ("t", "turn_end", json!({"outcome": "completed"})),
        ("u", "turn_start", json!({"trigger": "user"})),
        ("u", "tool_call", call()),
    ]));
    let call = calls(renderer.feed())[0];
    assert_eq!((call.denied, call.asked), (false, None));
    assert_eq!(asks(renderer.feed())[0].call, None);
}
