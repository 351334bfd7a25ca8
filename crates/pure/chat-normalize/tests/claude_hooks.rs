//! What Claude Code tells its hooks, as events: all recorded inputs, and small ones of kinds no recording has.

mod recorded;
mod turns;

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, Report, SessionReader};
use serde_json::{Value, json};

fn read_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<ChatEvent>, Report) {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for piece in pieces {
        reader.push(piece, 7, &mut events).unwrap();
    }
    reader.finish(7, &mut events).unwrap();
    assert_eq!(reader.dialect(), Some(Dialect::ClaudeHooks));
    (events, reader.report())
}

fn read(lines: &[Value]) -> (Vec<ChatEvent>, Report) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    read_pieces(std::iter::once(text.as_bytes()))
}

/// A hook's input with what all of them have.
fn hook(event: &str, more: Value) -> Value {
    let mut line = json!({"session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": "/w", "prompt_id": "p1",
        "hook_event_name": event});
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

fn tool(event: &str, id: &str, more: Value) -> Value {
    let mut line = hook(
        event,
        json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": id}),
    );
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

/// What the events say, a word each.
fn words(events: &[ChatEvent]) -> Vec<String> {
    let word = |event: &ChatEvent| {
        Some(match &event.payload {
            Payload::TurnStart(start) => format!("turn {}", start.trigger),
            Payload::TurnEnd(end) => format!("end {}", end.outcome.as_deref().unwrap_or("")),
            Payload::UserMessage(said) => format!("said {}", said.text.preview()),
            Payload::AssistantDone(done) => format!("answer {}", done.text),
            Payload::AssistantChunk(chunk) => format!("chunk {}", chunk.text),
            Payload::ToolCall(call) => format!("call {}", call.tool_call_id),
            Payload::ToolResult(result) => match &result.error {
                None => format!("result {}", result.tool_call_id),
                Some(error) => format!(
                    "failed {} {}",
                    result.tool_call_id,
                    error.code.as_deref().unwrap_or("")
                ),
            },
            Payload::FileEdit(edit) => {
                format!("edit +{} -{}", edit.lines_added, edit.lines_removed)
            }
            Payload::PermissionRequest(ask) => {
                format!("ask {}", ask.tool_call_id.as_deref().unwrap_or("?"))
            }
            Payload::PermissionResolved(answer) => format!("answered {}", answer.decision),
            Payload::QuestionRequest(ask) => format!("question {}", ask.questions[0].text),
            Payload::QuestionResolved(answer) => format!("question {}", answer.outcome),
            Payload::Interrupt(_) => "interrupt".to_owned(),
            Payload::ErrorEvent(error) => format!("error {}", error.code),
            Payload::Compaction(compaction) => format!("compaction {}", compaction.trigger),
            Payload::SessionEnd(end) => format!("over {}", end.reason),
            _ => return None,
        })
    };
    events.iter().filter_map(word).collect()
}

#[test]
fn a_sub_agents_work_stands_in_the_call_that_started_it() {
    let agent = json!({"agent_id": "a1", "agent_type": "helper"});
    let mut inner = tool("PreToolUse", "toolu_2", agent.clone());
    inner["agent_id"] = json!("a1");
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        hook(
            "PreToolUse",
            json!({"tool_name": "Agent", "tool_use_id": "toolu_1",
            "tool_input": {"prompt": "count", "subagent_type": "helper"}}),
        ),
        hook("SubagentStart", agent.clone()),
        inner,
        hook(
            "SubagentStop",
            json!({"agent_id": "a1", "agent_type": "helper", "last_assistant_message": "Two."}),
        ),
        hook(
            "PostToolUse",
            json!({"tool_name": "Agent", "tool_use_id": "toolu_1",
            "tool_input": {"prompt": "count", "subagent_type": "helper"},
            "tool_response": {"agentId": "a1", "status": "completed", "content": [{"type": "text", "text": "Two."}]}}),
        ),
        hook("Stop", json!({"last_assistant_message": "There are two."})),
    ];
    let (events, _) = read(&lines);
    let inside: Vec<ChatEvent> = events
        .iter()
        .filter(|event| event.parent_tool_call_id.as_deref() == Some("toolu_1"))
        .cloned()
        .collect();
    assert_eq!(
        words(&inside),
        ["call toolu_2", "answer Two.", "failed toolu_2 no_result"]
    );
    assert!(
        inside
            .iter()
            .all(|event| event.agent_id.as_deref() == Some("a1"))
    );
    assert!(
        inside
            .iter()
            .all(|event| event.turn_id.as_deref() == Some("p1"))
    );
}

#[test]
fn a_result_that_comes_first_tells_the_call_too() {
    let after = tool(
        "PostToolUse",
        "toolu_1",
        json!({"tool_response": {"stdout": "a.txt"}}),
    );
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        after.clone(),
        tool("PreToolUse", "toolu_1", json!({})),
        after,
        hook("Stop", json!({})),
    ];
    let (events, report) = read(&lines);
    assert_eq!(
        words(&events),
        [
            "turn user",
            "said Go",
            "call toolu_1",
            "result toolu_1",
            "end completed",
            "over end of file"
        ]
    );
    assert_eq!(report.repeated, 1);
}

#[test]
fn what_was_displayed_is_not_said_again_at_the_end() {
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        hook(
            "MessageDisplay",
            json!({"message_id": "m", "index": 0, "final": false, "delta": "One\n"}),
        ),
        hook(
            "MessageDisplay",
            json!({"message_id": "m", "index": 1, "final": true, "delta": "Two"}),
        ),
        hook("Stop", json!({"last_assistant_message": "One\nTwo"})),
    ];
    assert_eq!(
        words(&read(&lines).0),
        [
            "turn user",
            "said Go",
            "chunk One\n",
            "chunk Two",
            "answer One\nTwo",
            "end completed",
            "over end of file"
        ]
    );
}

#[test]
fn other_happenings_are_told() {
    let lines = [
        hook("SessionStart", json!({"source": "startup"})),
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        hook(
            "Elicitation",
            json!({"mcp_server_name": "m", "message": "Which?"}),
        ),
        hook(
            "ElicitationResult",
            json!({"mcp_server_name": "m", "action": "accept", "content": {"a": 1}}),
        ),
        hook(
            "Notification",
            json!({"message": "Claude waits", "notification_type": "idle_prompt"}),
        ),
        hook(
            "PostCompact",
            json!({"trigger": "auto", "compact_summary": "So far"}),
        ),
        tool(
            "PostToolUseFailure",
            "toolu_1",
            json!({"error": "Exit code 3\nno", "is_interrupt": true}),
        ),
        hook(
            "StopFailure",
            json!({"error": "rate_limit", "last_assistant_message": "Too many"}),
        ),
        hook("SomethingNew", json!({"x": 1})),
    ];
    let (events, report) = read(&lines);
    assert_eq!(
        words(&events),
        [
            "turn user",
            "said Go",
            "question Which?",
            "question answered",
            "compaction auto",
            "call toolu_1",
            "failed toolu_1 exit_code",
            "interrupt",
            "error rate_limit",
            "end failed",
            "over end of file"
        ]
    );
    assert_eq!(report.raw, BTreeMap::from([("SomethingNew".to_owned(), 1)]));
    let told = |event: &ChatEvent| matches!(&event.payload, Payload::Notice(notice) if notice.text == "Claude waits");
    assert!(events.iter().any(told));
}

/// Claude Code 2.1.332: its id names no call, and no hook tells of its end.
#[test]
fn a_command_within_a_command_file_is_no_call() {
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "/hi"})),
        tool(
            "PreSkillShellCommand",
            "u:inner:preamble-0",
            json!({"command_name": "hi", "command_source": "projectSettings", "invoked_by": "user"}),
        ),
        hook("Stop", json!({"last_assistant_message": "Hello."})),
    ];
    let (events, report) = read(&lines);
    assert_eq!(
        words(&events),
        [
            "turn user",
            "said /hi",
            "answer Hello.",
            "end completed",
            "over end of file"
        ]
    );
    let told = |event: &ChatEvent| matches!(&event.payload, Payload::Notice(notice) if notice.text == "command of /hi runs: ls");
    assert!(events.iter().any(told), "{events:?}");
    assert_eq!(report.raw, BTreeMap::new());
}

#[test]
fn an_edit_is_told_with_its_diff() {
    let input = json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"});
    let response = json!({"filePath": "/w/a", "oldString": "x", "newString": "y", "originalFile": "x\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-x", "+y"]}]});
    let lines = [hook(
        "PostToolUse",
        json!({"tool_name": "Edit", "tool_input": input, "tool_response": response, "tool_use_id": "toolu_1",
            "duration_ms": 12}),
    )];
    let (events, _) = read(&lines);
    let said = words(&events);
    assert!(said.contains(&"edit +1 -1".to_owned()), "{said:?}");
    let result = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result),
        _ => None,
    });
    assert_eq!(result.unwrap().duration_ms, Some(12));
}

#[test]
fn wrong_types_everywhere_do_no_harm() {
    let events = [
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionRequest",
        "PermissionDenied",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "MessageDisplay",
        "PostCompact",
        "PreCompact",
        "Elicitation",
        "ElicitationResult",
        "CwdChanged",
        "PostModelSwitch",
        "Notification",
        "SessionEnd",
    ];
    let kinds = [
        json!(null),
        json!(1),
        json!("x"),
        json!([1]),
        json!({"a": {}}),
    ];
    let keys = [
        "prompt",
        "prompt_id",
        "tool_name",
        "tool_input",
        "tool_response",
        "tool_use_id",
        "agent_id",
        "agent_type",
        "last_assistant_message",
        "message_id",
        "delta",
        "final",
        "mcp_server_name",
        "background_tasks",
    ];
    let mut lines = Vec::new();
    for event in events {
        for kind in &kinds {
            let mut line = hook(event, json!({}));
            for key in keys {
                line[key] = kind.clone();
            }
            lines.push(line);
        }
    }
    let (events, report) = read(&lines);
    assert!(!events.is_empty());
    assert_eq!(report.unreadable, 0);
}

#[test]
fn an_agent_whose_kind_is_not_named_has_what_it_does() {
    let (events, _) = read(&[
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool(
            "PreToolUse",
            "t1",
            json!({"tool_name": "Agent", "tool_input": {"description": "d", "prompt": "p"}}),
        ),
        hook(
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "general-purpose"}),
        ),
        tool("PreToolUse", "t2", json!({"agent_id": "a1"})),
    ]);
    let call = events.iter().find(
        |event| matches!(&event.payload, Payload::ToolCall(call) if call.tool_call_id == "t2"),
    );
    assert_eq!(call.unwrap().parent_tool_call_id.as_deref(), Some("t1"));
}

#[test]
fn pictures_of_results_are_pictures() {
    let source = json!({"type": "base64", "data": "iVBORw0KGgo=", "media_type": "image/png"});
    let picture = json!({"type": "image", "source": source});
    let read_file = json!({"type": "image", "file": {"base64": "iVBORw0KGgo=", "type": "image/png", "originalSize": 8}});
    let of_server = json!([{"type": "text", "text": "The page"}, picture]);
    for (response, wanted) in [
        (read_file, json!([picture])),
        (json!({"content": of_server}), of_server.clone()),
        (of_server.clone(), of_server),
    ] {
        let (events, _) = read(&[tool(
            "PostToolUse",
            "t1",
            json!({"tool_name": "Read", "tool_input": {"file_path": "a.png"}, "tool_response": response}),
        )]);
        let results: Vec<Value> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::ToolResult(result) => Some(result.result.to_value()),
                _ => None,
            })
            .collect();
        assert_eq!(results, [wanted]);
    }
}

/// The hook behind a call runs where the call ran.
#[test]
fn a_call_that_was_let_run_and_failed_was_not_refused() {
    let (events, _) = read(&[
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool("PreToolUse", "t1", json!({})),
        hook(
            "PermissionRequest",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ),
        tool(
            "PostToolUseFailure",
            "t1",
            json!({"error": "Request failed with status code 404"}),
        ),
    ]);
    let words = words(&events);
    assert_eq!(
        words[2..6],
        ["call t1", "ask t1", "answered allow", "failed t1 "],
        "{words:?}"
    );
}
