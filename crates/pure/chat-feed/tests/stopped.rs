//! Calls that were stopped, or have no result in their file: nothing failed, and what they print later is not lost. And calls
//! that wait for an answer: they do not run meanwhile.

use chat_event::{ChatEvent, Payload};
use chat_feed::panel::statistics;
use chat_feed::projections::trace::Verbosity;
use chat_feed::projections::{to_markdown, to_session_summary, to_tool_trace};
use chat_feed::{BlockBody, ChatRenderer, ToolCallBlock, ToolStatus, TurnState, row_text};
use serde_json::{Value, json};

mod agents;
mod asked;

fn log(lines: &[(&str, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, payload)): (usize, &(&str, Value))| {
        let line = json!({"id": format!("e{nth}"), "timestamp": 1_000 + nth, "sessionId": "s", "turnId": "t", "type": kind, "payload": payload});
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}

/// A command that prints, is stopped, and prints once more.
fn stopped(interrupted: bool) -> Vec<ChatEvent> {
    let mut lines = vec![
        ("turn_start", json!({"trigger": "user"})),
        (
            "tool_call",
            json!({"toolCallId": "c", "toolName": "shell", "kind": "execute", "args": {"command": "count"}}),
        ),
        (
            "tool_output_chunk",
            json!({"toolCallId": "c", "chunk": "step 2\n"}),
        ),
        (
            "tool_output_chunk",
            json!({"toolCallId": "c", "chunk": "step 3\n"}),
        ),
    ];
    if interrupted {
        lines.push(("interrupt", json!({"reason": "user_cancel"})));
    }
    lines.extend([
        ("tool_result", json!({"toolCallId": "c", "result": "step 2\nstep 3\n", "error": {"code": "no_result", "message": "no result recorded"}})),
        ("turn_end", json!({"outcome": "interrupted"})),
        ("tool_output_chunk", json!({"toolCallId": "c", "chunk": "step 4\n"})),
    ]);
    log(&lines)
}

fn call(renderer: &ChatRenderer) -> ToolCallBlock {
    let mut rows = renderer.feed().rows();
    let call = rows.find_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some((**call).clone()),
        _ => None,
    });
    call.unwrap()
}

#[test]
fn it_is_no_failure() {
    for (interrupted, status) in [
        (true, ToolStatus::Interrupted),
        (false, ToolStatus::NoResult),
    ] {
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&stopped(interrupted));
        let call = call(&renderer);
        assert_eq!((call.status, call.failure()), (status, None));
        let figures = statistics(renderer.feed());
        assert_eq!((figures.calls.failed, figures.calls.without_result), (0, 1));
        assert_eq!(figures.n_failures, 0);
    }
}

/// One source says that a call went well, and another what it gave.
#[test]
fn what_a_call_gave_stands_in_the_place_of_a_result_without_it() {
    let step = (
        "tool_call",
        json!({"toolCallId": "c", "toolName": "read_file", "kind": "read", "args": {"path": "a"}}),
    );
    let bare = ("tool_result", json!({"toolCallId": "c", "result": null}));
    let full = (
        "tool_result",
        json!({"toolCallId": "c", "result": "the words of it", "summary": "1 line"}),
    );
    for results in [[bare.clone(), full.clone()], [full, bare]] {
        let [first, then] = results;
        let events = log(&[step.clone(), first, then]);
        let mut renderer = ChatRenderer::new();
        renderer.replay_events(&events);
        let call = call(&renderer);
        assert_eq!(call.status, ToolStatus::Succeeded);
        assert_eq!(
            (call.summary.as_deref(), call.conflicts),
            (Some("1 line"), 0)
        );
        assert_eq!(
            call.result.unwrap().as_str().as_deref(),
            Some("the words of it")
        );
        assert!(to_markdown(&events).contains("the words of it"));
    }
}

#[test]
fn what_it_prints_after_it_was_stopped_is_shown() {
    let mut renderer = ChatRenderer::with_history();
    renderer.replay_events(&stopped(true));
    renderer.check().unwrap();
    let feed = renderer.feed();
    let row = feed
        .rows()
        .find(|block| matches!(block.body, BlockBody::ToolCall(_)));
    let text = row_text(feed, row.unwrap().id, &mut |_, _| None).unwrap();
    assert_eq!(text, "$ count\nstep 2\nstep 3\nstep 4");
    let transcript = to_markdown(&stopped(true));
    assert!(transcript.contains("step 3\nstep 4\n"), "{transcript}");
    assert!(transcript.contains("(no result"), "{transcript}");
    assert!(!transcript.contains("failed"), "{transcript}");
}

#[test]
fn the_arguments_of_a_call_that_bears_an_old_id_are_its_own() {
    let mut lines = Vec::new();
    for turn in ["t1", "t2"] {
        lines.extend([
            (turn, "turn_start", json!({"trigger": "user"})),
            (
                turn,
                "tool_input_chunk",
                json!({"toolCallId": "call_0", "toolName": "Bash", "chunk": format!("{{\"command\": \"{turn}\"}}"), "offset": 0}),
            ),
            (
                turn,
                "tool_call",
                json!({"toolCallId": "call_0", "toolName": "Bash", "kind": "execute", "args": {"command": turn}}),
            ),
            (turn, "tool_result", json!({"toolCallId": "call_0", "result": turn})),
            (turn, "turn_end", json!({"outcome": "completed"})),
        ]);
    }
    let mut renderer = ChatRenderer::with_history();
    for (nth, (turn, kind, payload)) in lines.iter().enumerate() {
        let line = json!({"id": format!("e{nth}"), "timestamp": nth, "sessionId": "s", "turnId": turn, "type": kind, "payload": payload});
        renderer.render_event(&ChatEvent::from_json(&line.to_string()).unwrap());
        renderer.check().unwrap();
    }
    let feed = renderer.feed();
    let inputs = feed.rows().filter_map(|block| match &block.body {
        BlockBody::ToolCall(call) => Some(feed.stream(call.input?).to_string()),
        _ => None,
    });
    let inputs: Vec<String> = inputs.collect();
    assert_eq!(inputs, [r#"{"command": "t1"}"#, r#"{"command": "t2"}"#]);
}

/// The same log, its events of the turn `t` but for those that name none.
fn of_agents(lines: &[(&str, Option<&str>, Value)]) -> Vec<ChatEvent> {
    let event = |(nth, (kind, parent, payload)): (usize, &(&str, Option<&str>, Value))| {
        let mut line = json!({"id": format!("e{nth}"), "timestamp": 1_000 + nth, "sessionId": "s", "type": kind, "payload": payload});
        match parent {
            Some("free") => {}
            Some(parent) => {
                line["turnId"] = json!("t");
                line["parentToolCallId"] = json!(parent);
            }
            None => line["turnId"] = json!("t"),
        }
        ChatEvent::from_json(&line.to_string()).unwrap()
    };
    lines.iter().enumerate().map(event).collect()
}
