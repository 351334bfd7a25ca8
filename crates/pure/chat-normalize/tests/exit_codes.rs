//! Commands that ended with another code than 0: they failed, whatever their source makes of it.

use crate::support::{assert_sound, read_lines};
use chat_event::Payload;
use chat_event::payload::ToolResult;
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn copilot(code: i64) -> Vec<Value> {
    let event = |id: &str, kind: &str, data: Value| json!({"type": kind, "id": id, "timestamp": "2026-05-01T10:00:01.000Z", "data": data});
    vec![
        event(
            "e1",
            "session.start",
            json!({"sessionId": "s1", "copilotVersion": "1.0.77"}),
        ),
        event("e2", "user.message", json!({"content": "Hi"})),
        event(
            "e3",
            "assistant.message",
            json!({"messageId": "a1", "content": "",
            "toolRequests": [{"toolCallId": "k", "name": "bash", "arguments": {"command": "x"}}]}),
        ),
        event(
            "e4",
            "tool.execution_complete",
            json!({"toolCallId": "k", "success": true,
            "result": {"content": format!("boom\n<exited with exit code {code}>")}}),
        ),
    ]
}

fn pi(code: i64) -> Vec<Value> {
    vec![
        json!({"type": "session", "version": 3, "id": "p1", "timestamp": "2026-05-01T10:00:00.000Z", "cwd": "/w"}),
        json!({"type": "message", "id": "n1", "parentId": null, "timestamp": "2026-05-01T10:00:01.000Z",
            "message": {"role": "bashExecution", "command": "x", "output": "boom", "exitCode": code, "cancelled": false, "truncated": false}}),
    ]
}

fn responses(code: i64) -> Vec<Value> {
    let output =
        json!([{"stdout": "", "stderr": "boom", "outcome": {"type": "exit", "exit_code": code}}]);
    vec![
        json!({"model": "m", "input": [{"role": "user", "content": "Run"}]}),
        json!({"id": "r1", "object": "response", "status": "completed", "output": [
            {"type": "shell_call", "id": "sh", "call_id": "k", "action": {"commands": ["x"]}, "status": "completed"}]}),
        json!({"model": "m", "previous_response_id": "r1", "input": [
            {"type": "shell_call_output", "call_id": "k", "output": output}]}),
    ]
}

fn open_hands(code: i64) -> Vec<Value> {
    vec![
        json!({"id": 0, "timestamp": "2026-01-01T00:00:00.5", "source": "user", "action": "message", "args": {"content": "Run"}}),
        json!({"id": 1, "timestamp": "2026-01-01T00:00:00.5", "source": "agent", "action": "run", "args": {"command": "x"}}),
        json!({"id": 2, "timestamp": "2026-01-01T00:00:00.5", "source": "agent", "observation": "run", "content": "boom", "cause": 1,
            "extras": {"metadata": {"exit_code": code}}}),
    ]
}

fn agent_events(code: i64) -> Vec<Value> {
    let event = |kind: &str, data: Value| json!({"event_type": kind, "event_data": data});
    vec![
        event(
            "agent.tool_use",
            json!({"tool_id": "k", "tool_name": "Bash", "tool_input": {"command": "x"}}),
        ),
        event(
            "agent.tool_completed",
            json!({"tool_id": "k", "tool_name": "Bash", "success": true,
            "tool_response": "boom", "exit_code": code}),
        ),
    ]
}

/// A source with one command that ended with this code.
type Command = fn(i64) -> Vec<Value>;

fn result_of(dialect: Dialect, lines: &[Value]) -> ToolResult {
    let events = read_lines(dialect, lines).events;
    assert_sound("command", &events);
    let mut results = events.into_iter().filter_map(|event| match event.payload {
        Payload::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = results.next().unwrap_or_else(|| panic!("{dialect:?}"));
    assert_eq!(results.next(), None, "{dialect:?}");
    result
}

#[test]
fn a_command_that_ended_with_another_code_than_0_failed_whoever_ran_it() {
    let all: [(Dialect, Command); 5] = [
        (Dialect::Copilot, copilot),
        (Dialect::PiSession, pi),
        (Dialect::OpenAiResponses, responses),
        (Dialect::OpenHands, open_hands),
        (Dialect::AgentEvents, agent_events),
    ];
    for (dialect, lines) in all {
        let failed = result_of(dialect, &lines(3));
        let error = failed.error.unwrap();
        assert_eq!(failed.exit_code, Some(3), "{dialect:?}");
        assert_eq!(
            (error.code.as_deref(), error.message.as_str()),
            (Some("exit_code"), "exit code 3"),
            "{dialect:?}"
        );
        let went_well = result_of(dialect, &lines(0));
        assert_eq!(
            (went_well.exit_code, went_well.error),
            (Some(0), None),
            "{dialect:?}"
        );
    }
}
