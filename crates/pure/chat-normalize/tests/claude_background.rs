//! What Claude Code leaves running in the background: its call says that it began, and its end is told later. Streams,
//! transcripts and hooks tell it alike.

use crate::support::{assert_sound, read_lines};
use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

/// What is told of results, each with the turn it is of: `c began: It works in the background.`
fn results(dialect: Dialect, lines: &[Value]) -> Vec<String> {
    let events = read_lines(dialect, lines).events;
    assert_sound("a session", &events);
    let told = events.iter().filter_map(|event| {
        let Payload::ToolResult(result) = &event.payload else {
            return None;
        };
        let how = match (result.background, &result.error) {
            (Some(true), _) => "began".to_owned(),
            (None, None) => "gave".to_owned(),
            (Some(false), None) => "ended".to_owned(),
            (_, Some(error)) => error.code.clone().unwrap_or_default(),
        };
        let given = result.result.as_str().map(|text| text.into_owned());
        let given = given.unwrap_or_else(|| "-".to_owned());
        let summary = result.summary.as_deref().unwrap_or("-");
        Some(format!(
            "{} {how}: {given} ({summary})",
            result.tool_call_id
        ))
    });
    told.collect()
}

fn stream(kind: &str, uuid: &str, more: Value) -> Value {
    let mut line =
        json!({"type": kind, "session_id": "s1", "uuid": uuid, "parent_tool_use_id": null});
    let members = line.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    line
}

fn message(role: &str, id: &str, block: Value) -> Value {
    json!({"id": id, "role": role, "content": [block]})
}

fn init(uuid: &str) -> Value {
    stream(
        "system",
        uuid,
        json!({"subtype": "init", "cwd": "/w", "claude_code_version": "2.1.330"}),
    )
}

fn calls(id: &str, name: &str, input: Value) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let uuid = format!("a-{id}");
    stream(
        "assistant",
        &uuid,
        json!({"message": message("assistant", &uuid, block)}),
    )
}

fn gives(id: &str, details: Value) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": "words for the model"});
    let uuid = format!("r-{id}");
    stream(
        "user",
        &uuid,
        json!({"message": message("user", &uuid, block), "tool_use_result": details}),
    )
}

fn system(subtype: &str, uuid: &str, more: Value) -> Value {
    let mut line = stream("system", uuid, more);
    line["subtype"] = json!(subtype);
    line
}

/// A line of a stream as the transcript has it.
fn written(line: &Value) -> Value {
    let mut line = line.clone();
    let members = line.as_object_mut().unwrap();
    for (from, to) in [
        ("session_id", "sessionId"),
        ("tool_use_result", "toolUseResult"),
    ] {
        if let Some(value) = members.remove(from) {
            members.insert(to.to_owned(), value);
        }
    }
    members.remove("parent_tool_use_id");
    line["version"] = json!("2.1.330");
    line["timestamp"] = json!("2026-01-01T00:00:01.000Z");
    line
}

fn prompt(uuid: &str, text: &str) -> Value {
    let message = json!({"role": "user", "content": text});
    written(&stream("user", uuid, json!({"message": message})))
}

fn hook(event: &str, prompt_id: &str, more: Value) -> Value {
    let mut line = json!({"session_id": "s1", "transcript_path": "/t", "cwd": "/w", "prompt_id": prompt_id,
        "hook_event_name": event});
    let members = line.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    line
}

const AGENT: &str = "Agent";

fn task() -> Value {
    json!({"description": "Count", "prompt": "Count them"})
}

fn launched() -> Value {
    json!({"isAsync": true, "status": "async_launched", "agentId": "k1"})
}

fn notification(status: &str, more: &str) -> String {
    format!(
        "<task-notification>\n<task-id>k1</task-id>\n<tool-use-id>c</tool-use-id>\n{status}{more}\n</task-notification>"
    )
}

#[test]
fn an_agent_runs_until_its_end_is_told_whoever_tells_it() {
    let began = "c began: It works in the background. (started in the background)";
    let ended = "c ended: There are 2 (3 tool calls, 40 tokens)";
    let usage = json!({"total_tokens": 40, "tool_uses": 3, "duration_ms": 900});
    let told = json!({"task_id": "k1", "tool_use_id": "c", "status": "completed", "summary": "There are 2",
        "summary_is_report": true, "usage": usage});
    let result = |uuid: &str| stream("result", uuid, json!({"subtype": "success"}));
    let begins = [
        init("i1"),
        calls("c", AGENT, task()),
        gives("c", launched()),
    ];
    let of_stream = [
        &begins[..],
        &[result("e1"), system("task_notification", "n1", told)],
        &[init("i2"), result("e2")],
    ]
    .concat();
    assert_eq!(results(Dialect::ClaudeStream, &of_stream), [began, ended]);
    let words = notification(
        "<status>completed</status>\n<summary>Agent \"Count\" finished</summary>",
        "<result>There are 2</result>\n<usage><subagent_tokens>40</subagent_tokens><tool_uses>3</tool_uses><duration_ms>900</duration_ms></usage>",
    );
    let of_transcript = [
        prompt("u1", "Count"),
        written(&begins[1]),
        written(&begins[2]),
        prompt("u2", &words),
    ];
    assert_eq!(
        results(Dialect::ClaudeTranscript, &of_transcript),
        [began, ended]
    );
    let call = json!({"tool_name": AGENT, "tool_input": task(), "tool_use_id": "c"});
    let mut gave = call.clone();
    gave["tool_response"] = launched();
    let begins = [
        hook("UserPromptSubmit", "p1", json!({"prompt": "Count"})),
        hook("PreToolUse", "p1", call),
        hook("PostToolUse", "p1", gave),
        hook(
            "SubagentStart",
            "p1",
            json!({"agent_id": "k1", "agent_type": "general-purpose"}),
        ),
        hook("Stop", "p1", json!({"background_tasks": [{"id": "k1"}]})),
    ];
    let told = hook("UserPromptSubmit", "p2", json!({"prompt": words}));
    assert_eq!(
        results(Dialect::ClaudeHooks, &[&begins[..], &[told]].concat()),
        [began, ended]
    );
    let stop = json!({"agent_id": "k1", "agent_type": "general-purpose", "last_assistant_message": "There are 2"});
    let stops = hook("SubagentStop", "p1", stop);
    assert_eq!(
        results(Dialect::ClaudeHooks, &[&begins[..], &[stops]].concat()),
        [began, "c ended: There are 2 (-)"]
    );
}

#[test]
fn a_command_ends_as_its_notification_says() {
    let command = json!({"command": "make", "run_in_background": true});
    let begins = [
        prompt("u1", "Make it"),
        written(&calls("c", "Bash", command)),
        written(&gives(
            "c",
            json!({"stdout": "Making", "stderr": "", "backgroundTaskId": "k1"}),
        )),
    ];
    let began = "c began: Making (started in the background)";
    let told = |status: &str, summary: &str| {
        let status = format!("<status>{status}</status>\n");
        let words = notification(&status, &format!("<summary>{summary}</summary>"));
        let lines = [&begins[..], &[prompt("u2", &words)]].concat();
        results(Dialect::ClaudeTranscript, &lines)
    };
    assert_eq!(
        told(
            "completed",
            "Background command \"Make\" completed (exit code 0)"
        ),
        [began, "c ended: - (exit 0)"]
    );
    assert_eq!(
        told(
            "failed",
            "Background command \"Make\" failed with exit code 2"
        ),
        [began, "c exit_code: - (exit 2)"]
    );
    assert_eq!(
        told("killed", "Background command \"Make\" was stopped"),
        [began, "c interrupted: - (killed)"]
    );
    // It says that something is to be seen, not that it is over.
    let waits = notification("", "<summary>It waits for input</summary>");
    let waiting = [&begins[..], &[prompt("u2", &waits)]].concat();
    let lost = "c no_result: - (-)";
    assert_eq!(results(Dialect::ClaudeTranscript, &waiting), [began, lost]);
    // The program ended, and went on in the same file.
    let left = [
        &begins[..],
        &[
            json!({"type": "cost-state", "sessionId": "s1"}),
            prompt("u3", "Again"),
        ],
    ]
    .concat();
    assert_eq!(results(Dialect::ClaudeTranscript, &left), [began, lost]);
}

/// Only the words for the model say where it is; they are told nowhere else.
#[test]
fn where_the_output_of_a_command_lies_is_kept() {
    let mut gave = gives("c", json!({"stdout": "", "backgroundTaskId": "k1"}));
    let words = "Command running in background with ID: k1. Output is being written to: /t/k1.output. You will be notified.";
    gave["message"]["content"][0]["content"] = json!(words);
    let called = calls("c", "Bash", json!({"command": "make"}));
    let events = read_lines(Dialect::ClaudeStream, &[init("i1"), called, gave]).events;
    let path = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.extra.get("outputPath"),
        _ => None,
    });
    assert_eq!(path.unwrap().as_text(), "\"/t/k1.output\"");
}

#[test]
fn a_task_that_another_call_stopped_or_fetched_is_over() {
    let command = || json!({"command": "make"});
    let moved = json!({"stdout": "", "backgroundTaskId": "k1", "timedOutAfterMs": 9});
    let began = "c began: It runs in the background. (moved to the background)";
    let by = |name: &str, details: Value| {
        let lines = [
            init("i1"),
            calls("c", "Bash", command()),
            gives("c", moved.clone()),
            calls("d", name, json!({"task_id": "k1"})),
            gives("d", details),
        ];
        let mut told = results(Dialect::ClaudeStream, &lines);
        assert_eq!(told.remove(0), began);
        told.remove(1)
    };
    assert_eq!(
        by("TaskStop", json!({"message": "stopped", "task_id": "k1"})),
        "c interrupted: It ran in the background until it was stopped. (stopped)"
    );
    let fetched = |status: &str| json!({"task": {"task_id": "k1", "status": status, "output": "Made", "exitCode": 0}});
    assert_eq!(
        by("TaskOutput", fetched("completed")),
        "c ended: Made (exit 0)"
    );
    assert_eq!(by("TaskOutput", fetched("running")), "c no_result: - (-)");
    let killed = [
        init("i1"),
        calls("c", "Bash", command()),
        gives("c", moved),
        system(
            "task_updated",
            "n1",
            json!({"task_id": "k1", "patch": {"status": "killed"}}),
        ),
    ];
    assert_eq!(
        results(Dialect::ClaudeStream, &killed),
        [
            began,
            "c interrupted: It ran in the background until it was stopped. (killed)"
        ]
    );
}

#[test]
fn to_look_after_a_command_or_to_end_it_is_no_further_command() {
    let lines = [
        init("i1"),
        calls("a", "Bash", json!({"command": "make"})),
        calls("b", "BashOutput", json!({"bash_id": "k1"})),
        calls("c", "KillBash", json!({"shell_id": "k1"})),
        calls("d", "KillShell", json!({"shell_id": "k2"})),
        calls("e", "TaskOutput", json!({"task_id": "k3", "block": true})),
        calls("f", "TaskStop", json!({"task_id": "k3"})),
    ];
    let events = read_lines(Dialect::ClaudeStream, &lines).events;
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => {
            let kind = call.kind.as_deref().unwrap_or("-");
            Some(format!("{kind} {}", call.title.as_deref().unwrap_or("-")))
        }
        _ => None,
    });
    let told: Vec<String> = told.collect();
    assert_eq!(
        told,
        [
            "execute make",
            "other k1",
            "other k1",
            "other k2",
            "other k3",
            "other k3"
        ]
    );
}

#[test]
fn what_stop_does_not_name_any_more_is_over() {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "c"});
    let mut gave = call.clone();
    gave["tool_response"] = json!({"stdout": "", "stderr": "", "backgroundTaskId": "k1"});
    let stop = |running: Value| hook("Stop", "p1", json!({"background_tasks": running}));
    let begins = [
        hook("UserPromptSubmit", "p1", json!({"prompt": "Make it"})),
        hook("PreToolUse", "p1", call),
        hook("PostToolUse", "p1", gave),
        stop(json!([{"id": "k1"}])),
    ];
    let next = hook("UserPromptSubmit", "p2", json!({"prompt": "And?"}));
    let mut over = stop(json!([]));
    over["prompt_id"] = json!("p2");
    let told = results(Dialect::ClaudeHooks, &[&begins[..], &[next, over]].concat());
    assert_eq!(told[1], "c ended: It ran in the background and ended. (-)");
    let untold = results(Dialect::ClaudeHooks, &begins);
    assert_eq!(untold[1], "c no_result: - (-)");
}

#[test]
fn a_command_that_is_over_before_its_result_does_not_run_on() {
    let told = json!({"task_id": "k1", "tool_use_id": "c", "status": "failed",
        "summary": "Background command \"Make\" failed with exit code 2"});
    let lines = [
        init("i1"),
        calls(
            "c",
            "Bash",
            json!({"command": "make", "run_in_background": true}),
        ),
        system("task_notification", "n1", told),
        gives("c", json!({"stdout": "", "backgroundTaskId": "k1"})),
    ];
    assert_eq!(
        results(Dialect::ClaudeStream, &lines),
        [
            "c began: It runs in the background. (started in the background)",
            "c exit_code: It ran in the background and ended with exit code 2. (exit 2)"
        ]
    );
}

/// Nothing says that the result is no more than that it began.
#[test]
fn what_the_call_of_a_server_gave_stays_until_its_end_gives_more() {
    let call = json!({"task_id": "k1", "tool_use_id": "c", "task_type": "mcp_task", "description": "Search"});
    let begins = [
        init("i1"),
        calls("c", "mcp__docs__search", json!({"query": "a"})),
        system("task_started", "n1", call),
        gives("c", json!([])),
    ];
    let told =
        json!({"task_id": "k1", "tool_use_id": "c", "status": "completed", "summary": "Found 2"});
    let ended = system("task_notification", "n2", told);
    let told = results(Dialect::ClaudeStream, &[&begins[..], &[ended]].concat());
    assert!(
        told[0].starts_with("c began: words for the model"),
        "{told:?}"
    );
    assert_eq!(told[1], "c ended: Found 2 (-)");
}

/// Before 2.1 nobody tells how a command in the background ends: its call is over with what it gave.
#[test]
fn a_command_whose_end_nobody_tells_is_over() {
    let mut lines = [
        prompt("u1", "Make it"),
        written(&calls("c", "Bash", json!({"command": "make"}))),
        written(&gives("c", json!({"stdout": "", "backgroundTaskId": "k1"}))),
    ];
    for line in &mut lines {
        line["version"] = json!("2.0.77");
    }
    assert_eq!(
        results(Dialect::ClaudeTranscript, &lines),
        ["c gave: words for the model (moved to the background)"]
    );
}
