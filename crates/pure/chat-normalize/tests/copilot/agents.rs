//! Sub-agents, in calls and in the background.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::event;
use crate::support::{assert_sound, read_lines, told};

/// A line of a sub-agent.
fn of_agent(n: u64, kind: &str, data: Value) -> Value {
    let mut line = event(n, kind, data);
    line["agentId"] = json!("a1");
    line
}

/// A prompt, a call that starts an agent, and the agent's first lines.
fn begun(how: &str) -> Vec<Value> {
    let call = json!({"toolCallId": "c1", "name": "task", "arguments": {"prompt": "Look"}});
    vec![
        event(
            0,
            "session.start",
            json!({"sessionId": "s1", "selectedModel": "main"}),
        ),
        event(
            1,
            "user.message",
            json!({"content": "Go", "delivery": "idle"}),
        ),
        event(2, "assistant.turn_start", json!({"turnId": "0"})),
        event(
            3,
            "assistant.message",
            json!({"messageId": "m1", "content": "", "toolRequests": [call], "turnId": "0"}),
        ),
        of_agent(
            4,
            "subagent.started",
            json!({"toolCallId": "c1", "executionMode": how}),
        ),
        of_agent(
            5,
            "session.model_change",
            json!({"newModel": "small", "source": "agent"}),
        ),
        of_agent(
            6,
            "user.message",
            json!({"content": "Look", "source": "agent-s1"}),
        ),
    ]
}

fn answer(n: u64, text: &str) -> Value {
    let data = json!({"messageId": format!("m{n}"), "content": text, "toolRequests": [], "turnId": format!("t{n}")});
    event(n, "assistant.message", data)
}

fn end_of(n: u64, answer: u64) -> Value {
    event(
        n,
        "assistant.turn_end",
        json!({"turnId": format!("t{answer}")}),
    )
}

fn result(n: u64) -> Value {
    event(
        n,
        "tool.execution_complete",
        json!({"toolCallId": "c1", "success": true, "result": {"content": "ok"}}),
    )
}

fn within(mut line: Value) -> Value {
    line["agentId"] = json!("a1");
    line["data"]["parentToolCallId"] = json!("c1");
    line
}

#[test]
fn a_sub_agents_prompt_and_model_and_end_are_not_the_sessions() {
    let mut lines = begun("sync");
    lines.extend([
        within(answer(7, "Seen.")),
        within(end_of(8, 7)),
        of_agent(
            9,
            "session.error",
            json!({"errorType": "query", "message": "no"}),
        ),
        of_agent(10, "abort", json!({"reason": "user_initiated"})),
        of_agent(11, "subagent.completed", json!({"toolCallId": "c1"})),
        result(12),
        answer(13, "All known."),
        end_of(14, 13),
    ]);
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("a sub-agent", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "call c1 task",
            "done Seen.",
            "error query no",
            "result c1 ok",
            "done All known.",
            "end completed",
        ]
    );
    let models = read.events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => start.model.as_deref(),
        _ => None,
    });
    assert_eq!(models.collect::<Vec<_>>(), ["main"]);
    let inner = (read.events.iter()).filter(|it| it.parent_tool_call_id.as_deref() == Some("c1"));
    assert_eq!(inner.count(), 2);
}

#[test]
fn a_turn_goes_on_as_long_as_an_agent_works_in_the_background() {
    let mut lines = begun("background");
    lines.extend([
        result(7),
        answer(8, "I wait."),
        end_of(9, 8),
        within(answer(10, "Seen.")),
        of_agent(11, "subagent.completed", json!({"toolCallId": "c1"})),
        event(
            12,
            "user.message",
            json!({"content": "Next", "delivery": "idle"}),
        ),
    ]);
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("in the background", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "call c1 task",
            "result c1 ok",
            "done I wait.",
            "done Seen.",
            "end completed",
            "turn user",
            "user Next",
            "end interrupted",
        ]
    );
    let statuses = read.events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some(status.status.as_str()),
        _ => None,
    });
    assert_eq!(
        statuses.collect::<Vec<_>>(),
        ["busy", "idle", "busy", "idle"]
    );
}
