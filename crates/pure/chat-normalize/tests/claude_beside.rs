//! What Claude Code tells beside the conversation: limits of its plan, memories, hooks, attachments, and what its own
//! tools found.

use crate::support::{assert_sound, read_lines};
use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn with(mut line: Value, more: Value) -> Value {
    let members = line.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    line
}

fn streamed(kind: &str, uuid: &str, more: Value) -> Value {
    let line = json!({"type": kind, "session_id": "s1", "uuid": uuid, "parent_tool_use_id": null});
    with(line, more)
}

fn system(subtype: &str, uuid: &str, more: Value) -> Value {
    with(streamed("system", uuid, more), json!({"subtype": subtype}))
}

fn init() -> Value {
    let facts = json!({"cwd": "/w", "model": "A", "claude_code_version": "2.1.330"});
    system("init", "i1", facts)
}

fn calls(id: &str, name: &str, input: Value) -> Value {
    let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let message = json!({"id": format!("m-{id}"), "role": "assistant", "content": [block]});
    streamed("assistant", &format!("a-{id}"), json!({"message": message}))
}

fn gives(id: &str, details: Value) -> Value {
    let block = json!({"type": "tool_result", "tool_use_id": id, "content": "words for the model"});
    let message = json!({"role": "user", "content": [block]});
    let said = json!({"message": message, "tool_use_result": details});
    streamed("user", &format!("r-{id}"), said)
}

fn read(dialect: Dialect, lines: &[Value]) -> Vec<ChatEvent> {
    let events = read_lines(dialect, lines).events;
    assert_sound("a session", &events);
    events
}

/// The notices, each with its level and its source, and what stands as it came.
fn notices(dialect: Dialect, lines: &[Value]) -> Vec<String> {
    let events = read(dialect, lines);
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => {
            let source = notice.source.as_deref().unwrap_or("-");
            Some(format!("{} {source}: {}", notice.level, notice.text))
        }
        Payload::Raw(_) => Some("raw".to_owned()),
        _ => None,
    });
    told.collect()
}

fn of_stream(lines: &[Value]) -> Vec<String> {
    notices(Dialect::ClaudeStream, &[&[init()], lines].concat())
}

fn of_attachments(attachments: &[Value]) -> Vec<String> {
    let line = |kind: &str, n: usize, more: Value| {
        let line = json!({"type": kind, "uuid": format!("u{n}"), "sessionId": "s1", "version": "2.1.330",
            "timestamp": "2026-01-01T00:00:01.000Z"});
        with(line, more)
    };
    let mut lines = vec![line(
        "user",
        0,
        json!({"message": {"role": "user", "content": "Go"}}),
    )];
    for (n, attachment) in attachments.iter().enumerate() {
        lines.push(line("attachment", n + 1, json!({"attachment": attachment})));
    }
    notices(Dialect::ClaudeTranscript, &lines)
}

#[test]
fn a_limit_of_the_plan_says_which_and_until_when() {
    let limit = |uuid: &str, about: Value| {
        streamed("rate_limit_event", uuid, json!({"rate_limit_info": about}))
    };
    let told = of_stream(&[
        limit(
            "l1",
            json!({"status": "allowed", "rateLimitType": "five_hour"}),
        ),
        limit(
            "l2",
            json!({"status": "allowed_warning", "rateLimitType": "seven_day_opus", "resetsAt": 1_795_294_338}),
        ),
        limit(
            "l3",
            json!({"status": "rejected", "rateLimitType": "five_hour", "resetsAt": "soon"}),
        ),
        limit("l4", json!({"status": "rejected", "resetsAt": i64::MAX})),
    ]);
    assert_eq!(
        told,
        [
            "warning rate limit: seven-day-opus usage limit nearly reached, resets at 2026-11-21 20:52 UTC",
            "warning rate limit: 5-hour usage limit reached",
            "warning rate limit: usage limit reached",
        ]
    );
}

#[test]
fn what_a_person_is_to_know_is_told_and_the_rest_passed_over() {
    let told = of_stream(&[
        system(
            "memory_recall",
            "n1",
            json!({"memories": [{"path": "a.md"}, {"path": "b.md"}]}),
        ),
        system(
            "plugin_install",
            "n2",
            json!({"status": "started", "name": "lint"}),
        ),
        system(
            "plugin_install",
            "n3",
            json!({"status": "failed", "name": "lint", "error": "not found"}),
        ),
        system(
            "files_persisted",
            "n4",
            json!({"files": [], "failed": [{"filename": "c.txt"}]}),
        ),
        system("commands_changed", "n5", json!({"commands": []})),
        streamed(
            "prompt_suggestion",
            "n6",
            json!({"suggestion": "run the tests"}),
        ),
        streamed(
            "tool_use_summary",
            "n7",
            json!({"summary": "Read two files"}),
        ),
        streamed(
            "auth_status",
            "n8",
            json!({"isAuthenticating": false, "output": []}),
        ),
        streamed(
            "auth_status",
            "n9",
            json!({"output": ["Opening"], "error": "no browser"}),
        ),
        system("of_tomorrow", "n10", json!({})),
    ]);
    assert_eq!(
        told,
        [
            "info memory: recalled: a.md, b.md",
            "warning claude-code: lint: not found",
            "warning claude-code: files persisted: c.txt is not kept",
            "info summary: Read two files",
            "warning auth: Opening\nno browser",
            "raw",
        ]
    );
}

#[test]
fn what_a_hook_said_stands_in_its_notice() {
    let response = |uuid: &str, more: Value| {
        let line =
            json!({"hook_id": uuid, "hook_name": "PreToolUse:Bash", "hook_event": "PreToolUse"});
        system("hook_response", uuid, with(line, more))
    };
    let told = of_stream(&[
        response(
            "h1",
            json!({"outcome": "success", "output": "", "stdout": "", "stderr": ""}),
        ),
        response(
            "h2",
            json!({"outcome": "error", "output": "no\n", "stderr": "no\n", "exit_code": 2}),
        ),
    ]);
    assert_eq!(told, ["warning hook: PreToolUse:Bash: error\nno"]);
    let about = json!({"hookName": "PostToolUse:Edit", "hookEvent": "PostToolUse"});
    let attached = |kind: &str, more: Value| with(with(about.clone(), json!({"type": kind})), more);
    let told = of_attachments(&[
        attached(
            "hook_success",
            json!({"content": "", "stdout": "\n", "exitCode": 0}),
        ),
        attached("hook_success", json!({"stdout": "{}\n", "exitCode": 0})),
        attached(
            "hook_success",
            json!({"content": "", "stdout": "formatted\n", "exitCode": 0}),
        ),
        attached(
            "hook_blocking_error",
            json!({"blockingError": {"blockingError": "Lint first", "command": "lint"}}),
        ),
        attached(
            "hook_additional_context",
            json!({"content": ["One", "Two"]}),
        ),
        attached("async_hook_response", json!({"stdout": "x".repeat(2001)})),
        attached(
            "hook_permission_decision",
            json!({"decision": "deny", "hookName": "PreToolUse:Edit", "hookEvent": "PreToolUse"}),
        ),
        // The call says itself what came of what was asked.
        attached(
            "hook_permission_decision",
            json!({"decision": "deny", "hookEvent": "PermissionRequest"}),
        ),
    ]);
    let long = format!(
        "info hook: PostToolUse:Edit: answered\n{}…",
        "x".repeat(2000)
    );
    assert_eq!(
        told,
        [
            "info hook: PostToolUse:Edit: success\nformatted",
            "warning hook: PostToolUse:Edit: blocking error\nLint first",
            "info hook: PostToolUse:Edit: additional context\nOne\nTwo",
            long.as_str(),
            "info hook: PreToolUse:Edit: decided: deny",
        ]
    );
}

#[test]
fn attachments_that_people_and_teammates_made_are_told() {
    let told = of_attachments(&[
        json!({"type": "mcp_resource", "server": "docs", "uri": "docs://a", "content": {}}),
        json!({"type": "teammate_mailbox", "messages": [{"from": "Ann", "text": "It is done"}]}),
        json!({"type": "edited_image_file", "filename": "/w/a.png"}),
        json!({"type": "plan_mode_reentry", "planFilePath": "/p.md"}),
        json!({"type": "relevant_memories", "memories": [{"path": "a.md", "content": "…"}]}),
        json!({"type": "deferred_tools_delta", "addedNames": []}),
        json!({"type": "diagnostics", "files": [{"uri": "file:///w/a.rs", "diagnostics": [
            {"message": "unused", "severity": "Warning", "range": {"start": {"line": 2, "character": 0}}}]}]}),
        json!({"type": "diagnostics", "files": []}),
        json!({"type": "of_tomorrow"}),
    ]);
    assert_eq!(
        told,
        [
            "info attachment: resource attached: docs docs://a",
            "info teammate: Ann: It is done",
            "info attachment: file changed outside: /w/a.png",
            "info claude-code: Plan mode began again",
            "info memory: recalled: a.md",
            "info diagnostics: /w/a.rs:3: unused",
            "raw",
        ]
    );
}

/// Where a sub-agent's answer was refused, another model gave that answer alone.
#[test]
fn a_fallback_within_a_sub_agent_leaves_the_model_of_the_session() {
    let models = |scope: &str| {
        let refused = json!({"fallback_model": "B", "scope": scope, "content": "B answers"});
        let events = read(
            Dialect::ClaudeStream,
            &[init(), system("model_refusal_fallback", "f1", refused)],
        );
        let models = events.iter().filter_map(|event| match &event.payload {
            Payload::SessionStart(start) => start.model.clone(),
            _ => None,
        });
        models.collect::<Vec<_>>()
    };
    assert_eq!(models("local"), ["A"]);
    assert_eq!(models("session"), ["A", "B"]);
}

/// The row of a call has its name.
#[test]
fn how_long_a_call_runs_names_only_a_call_that_nobody_knows() {
    let runs = |uuid: &str, id: &str| {
        let about = json!({"tool_use_id": id, "tool_name": "Bash", "elapsed_time_seconds": 30});
        streamed("tool_progress", uuid, about)
    };
    let events = read(
        Dialect::ClaudeStream,
        &[
            init(),
            calls("c", "Bash", json!({"command": "make"})),
            runs("p1", "c"),
            runs("p2", "d"),
        ],
    );
    let told = events.iter().filter_map(|event| match &event.payload {
        Payload::Progress(progress) => Some(progress.message.as_str()),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), ["30 s", "Bash: 30 s"]);
}

#[test]
fn summaries_say_what_was_found_and_what_became_of_a_cell() {
    let summary = |name: &str, details: Value| {
        let lines = [init(), calls("c", name, json!({})), gives("c", details)];
        let events = read(Dialect::ClaudeStream, &lines);
        let summaries = events.iter().filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => result.summary.clone(),
            _ => None,
        });
        summaries.collect::<Vec<_>>().join(" ")
    };
    let found = json!({"results": [{"tool_use_id": "s", "content": [{"title": "A", "url": "a"}, {"title": "B", "url": "b"}]},
        "They say so."]});
    assert_eq!(summary("WebSearch", found), "2 results");
    let cell = |mode: &str| summary("NotebookEdit", json!({"edit_mode": mode, "cell_id": "x"}));
    assert_eq!(
        ["replace", "insert", "delete"].map(cell),
        ["replaced a cell", "inserted a cell", "deleted a cell"]
    );
}
