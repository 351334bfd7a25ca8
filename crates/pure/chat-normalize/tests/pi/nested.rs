//! Calls within calls: those that a script of `codemode` makes, and agents that an extension runs. Lines as 1.6.0 writes
//! them.

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{assistant, entry, header, line, text, user, whole};
use crate::support::{assert_sound, read_lines};

/// Calls, results and edits, each with the call it stands in.
fn within(events: &[ChatEvent]) -> Vec<String> {
    let told = events.iter().filter_map(|event| {
        let parent = event.parent_tool_call_id.as_deref().unwrap_or("-");
        Some(match &event.payload {
            Payload::ToolCall(call) => format!("{parent} call {}", call.tool_name),
            Payload::ToolResult(result) => {
                let text = result.result.display_text();
                let error = result.error.as_ref().map_or("", |_| " failed");
                let times = (result.exit_code, result.duration_ms);
                format!("{parent} result {text}{error} {times:?}")
            }
            Payload::FileEdit(edit) => format!(
                "{parent} edit {} +{} -{} {}",
                edit.file_path, edit.lines_added, edit.lines_removed, edit.full_diff_available
            ),
            _ => return None,
        })
    });
    told.collect()
}

fn ids(events: &[ChatEvent]) -> Vec<String> {
    let is_lasting = |event: &&ChatEvent| {
        matches!(
            event.payload,
            Payload::ToolCall(_)
                | Payload::ToolResult(_)
                | Payload::FileEdit(_)
                | Payload::UserMessage(_)
                | Payload::AssistantDone(_)
                | Payload::Usage(_)
        )
    };
    let mut ids: Vec<_> = events
        .iter()
        .filter(is_lasting)
        .map(|event| event.id.clone())
        .collect();
    ids.sort();
    ids
}

fn codemode() -> Value {
    json!([{"type": "toolCall", "id": "c1", "name": "codemode", "arguments": {"code": "await tools.bash(…)"}}])
}

#[test]
fn what_a_script_calls_stands_within_its_call_by_run_and_by_file() {
    let edits = json!({"path": "README.md", "edits": [{"oldText": "small", "newText": "big"}]});
    let begins = |id: &str, name: &str, args: &Value| {
        let parent = (id != "c1").then_some("c1");
        line(
            "tool_execution_start",
            json!({"toolCallId": id, "toolName": name, "args": args, "parentToolCallId": parent}),
        )
    };
    let ends = |id: &str, name: &str, result: Value, failed: bool| {
        line(
            "tool_execution_end",
            json!({"toolCallId": id, "toolName": name, "result": result, "isError": failed,
                "durationMs": 9}),
        )
    };
    let failure = "in\n\n\nCommand exited with code 3";
    let patch = "--- README.md\n+++ README.md\n@@ -1,1 +1,1 @@\n-small\n+big\n";
    let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "codemode", "content": text("Done"),
    "isError": false, "durationMs": 90, "timestamp": 3, "nestedCalls": {"complete": true, "calls": [
        {"id": "c1/1", "name": "mcp__echo__echo", "status": "ok", "arguments": {"text": "hey"}, "durationMs": 9},
        {"id": "c1/2", "name": "bash", "status": "error", "arguments": {"command": "exit 3"}, "durationMs": 9, "error": failure},
        {"id": "c1/3", "name": "edit", "status": "ok", "arguments": edits, "durationMs": 9},
    ]}});
    let mut run = vec![header()];
    run.extend(whole(&user(1, "Go")));
    run.extend(whole(&assistant(2, "toolUse", codemode())));
    run.extend([
        begins("c1", "codemode", &json!({})),
        begins("c1/1", "mcp__echo__echo", &json!({"text": "hey"})),
        ends("c1/1", "mcp__echo__echo", json!({"content": text("echo: hey")}), false),
        begins("c1/2", "bash", &json!({"command": "exit 3"})),
        ends(
            "c1/2",
            "bash",
            json!({"content": text(failure), "structuredContent": {"output": "in\n", "exit_code": 3}}),
            true,
        ),
        begins("c1/3", "edit", &edits),
        ends(
            "c1/3",
            "edit",
            json!({"content": text("Replaced"), "details": {"patch": patch}}),
            false,
        ),
        ends("c1", "codemode", json!({"content": text("Done")}), false),
    ]);
    run.extend(whole(&result));
    run.extend(whole(&assistant(4, "stop", text("Done."))));
    run.push(line(
        "agent_end",
        json!({"messages": [], "willRetry": false}),
    ));
    let run = read_lines(Dialect::PiStream, &run);
    assert_sound("run", &run.events);
    assert!(run.report.raw.is_empty(), "{:?}", run.report.raw);
    assert_eq!(
        within(&run.events),
        [
            "- call codemode",
            "c1 call mcp__echo__echo",
            "c1 result echo: hey (None, Some(9))",
            "c1 call bash",
            "c1 result in\n\n\nCommand exited with code 3 failed (Some(3), Some(9))",
            "c1 call edit",
            "c1 result Replaced (None, Some(9))",
            "c1 edit README.md +1 -1 true",
            "- result Done (None, Some(9))",
        ]
    );
    let file = [
        header(),
        entry("e1", None, user(1, "Go")),
        entry("e2", Some("e1"), assistant(2, "toolUse", codemode())),
        entry("e3", Some("e2"), result),
        entry("e4", Some("e3"), assistant(4, "stop", text("Done."))),
    ];
    let file = read_lines(Dialect::PiSession, &file);
    assert_sound("file", &file.events);
    assert!(file.report.raw.is_empty(), "{:?}", file.report.raw);
    // What a call gave that went well is not written down, and of an edit only what it replaced.
    assert_eq!(
        within(&file.events),
        [
            "- call codemode",
            "c1 call mcp__echo__echo",
            "c1 result null (None, Some(9))",
            "c1 call bash",
            "c1 result in\n\n\nCommand exited with code 3 failed (Some(3), Some(9))",
            "c1 call edit",
            "c1 result null (None, Some(9))",
            "c1 edit README.md +1 -1 false",
            "- result Done (None, Some(90))",
        ]
    );
    assert_eq!(ids(&run.events), ids(&file.events));
}

#[test]
fn of_nested_calls_that_are_written_down_in_part_nothing_is_lost() {
    let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "codemode", "content": [],
    "isError": false, "timestamp": 3, "nestedCalls": {"complete": false, "calls": [
        {"id": "c1/1", "name": "write", "status": "ok", "argumentsBytes": 9000},
        {"id": "c1/2", "name": "bash", "status": "unfinished", "arguments": {"command": "sleep 9"}},
        {"name": "bash", "status": "ok"},
        {"id": "c1", "name": "bash", "status": "ok"},
        7,
    ]}});
    let lines = [
        header(),
        entry("e1", None, user(1, "Go")),
        entry("e2", Some("e1"), assistant(2, "toolUse", codemode())),
        entry("e3", Some("e2"), result.clone()),
        // What no call waits for brings none of its own.
        entry("e4", Some("e3"), result),
        entry("e5", Some("e4"), assistant(4, "stop", text("Done."))),
    ];
    let read = read_lines(Dialect::PiSession, &lines);
    assert_sound("in part", &read.events);
    assert_eq!(
        within(&read.events),
        [
            "- call codemode",
            "c1 call write",
            "c1 result null (None, None)",
            "c1 call bash",
            "- result  (None, None)",
            "c1 result  failed (None, None)",
        ]
    );
    assert_eq!(read.report.raw["nested call without an id"], 3);
    let args = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolCall(call) if call.tool_name == "write" => {
            Some(call.args.as_text().to_string())
        }
        _ => None,
    });
    assert_eq!(args.as_deref(), Some(r#"{"argumentsBytes":9000}"#));
}

/// The messages of one agent, up to so many of them.
fn agent(name: &str, at: u64, n: usize) -> Value {
    // A model that counts its calls gives those of another agent's, too.
    let call = "bash:0";
    let mut answer = assistant(at + 3, "stop", text("Looked."));
    answer["usage"] = json!({"input": 5, "output": 6});
    let messages = [
        user(at, &format!("Task: {name}")),
        assistant(
            at + 1,
            "toolUse",
            json!([{"type": "toolCall", "id": call, "name": "bash", "arguments": {"command": "ls"}}]),
        ),
        json!({"role": "toolResult", "toolCallId": call, "toolName": "bash", "content": text("a"), "isError": false,
            "timestamp": at + 2}),
        answer,
    ];
    json!({"agent": name, "task": name, "messages": messages[..n]})
}

#[test]
fn what_agents_say_stands_within_the_call_that_runs_them_each_message_once() {
    let call = json!([{"type": "toolCall", "id": "c1", "name": "subagent",
        "arguments": {"tasks": [{"agent": "scout", "task": "x"}, {"agent": "scout", "task": "y"}]}}]);
    let details = |n: usize, m: usize| json!({"mode": "parallel", "results": [agent("scout", 100, n), agent("other", 102, m)]});
    let update = |n: usize, m: usize| {
        let partial = json!({"content": text("(running...)"), "details": details(n, m)});
        line(
            "tool_execution_update",
            json!({"toolCallId": "c1", "toolName": "subagent", "partialResult": partial}),
        )
    };
    let mut run = vec![header()];
    run.extend(whole(&user(1, "Go")));
    run.extend(whole(&assistant(2, "toolUse", call.clone())));
    run.extend([
        update(0, 0),
        update(1, 0),
        update(2, 1),
        update(2, 1),
        update(4, 2),
    ]);
    run.push(line(
        "tool_execution_end",
        json!({"toolCallId": "c1", "toolName": "subagent", "isError": false,
            "result": {"content": text("Both looked."), "details": details(4, 4)}}),
    ));
    let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "subagent", "isError": false,
        "content": text("Both looked."), "details": details(4, 4), "timestamp": 200});
    run.extend(whole(&result));
    run.extend(whole(&assistant(201, "stop", text("Done."))));
    run.push(line(
        "agent_end",
        json!({"messages": [], "willRetry": false}),
    ));
    let file = [
        header(),
        entry("e1", None, user(1, "Go")),
        entry("e2", Some("e1"), assistant(2, "toolUse", call)),
        entry("e3", Some("e2"), result),
        entry("e4", Some("e3"), assistant(201, "stop", text("Done."))),
    ];
    let run = read_lines(Dialect::PiStream, &run);
    let file = read_lines(Dialect::PiSession, &file);
    for (name, read) in [("run", &run), ("file", &file)] {
        assert_sound(name, &read.events);
        assert!(read.report.raw.is_empty(), "{name}: {:?}", read.report.raw);
        let said = |agent: &str| -> Vec<String> {
            let of_agent = |event: &&ChatEvent| event.agent_id.as_deref() == Some(agent);
            let told = read.events.iter().filter(of_agent).map(|event| {
                assert_eq!(event.parent_tool_call_id.as_deref(), Some("c1"), "{name}");
                match &event.payload {
                    Payload::UserMessage(said) => format!("user {}", said.text.preview()),
                    Payload::AssistantDone(done) => format!("text {}", done.text),
                    Payload::ToolCall(call) => format!("call {}", call.tool_name),
                    Payload::ToolResult(result) => {
                        format!("result {}", result.result.display_text())
                    }
                    payload => payload.event_type().to_owned(),
                }
            });
            told.collect()
        };
        for agent in ["scout", "other"] {
            let agent_id = match agent {
                "scout" => "scout".to_owned(),
                _ => format!("{agent}-2"),
            };
            let task = format!("user Task: {agent}");
            let all = [&task, "call bash", "result a", "text Looked.", "usage"];
            assert_eq!(said(&agent_id), all, "{name}");
        }
        let title = read.events.iter().find_map(|event| match &event.payload {
            Payload::ToolCall(call) => call.title.clone(),
            _ => None,
        });
        assert_eq!(title.as_deref(), Some("scout, scout"));
    }
    assert_eq!(ids(&run.events), ids(&file.events));
}
