//! What the dialect of Copilot CLI holds, over public fixtures (most of whose texts and ids are left out) and small inputs.

mod agents;
mod asides;
mod asks;
mod pieces;
mod turns;

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use crate::support::{assert_cuts, assert_sound, read, read_lines, sources, told};

#[test]
fn the_fixtures_are_told_cut_anywhere() {
    let all = sources("fixtures/other", |name| {
        name.contains("copilot") || name.contains("events.jsonl")
    });
    for source in all {
        let whole = read(&source.bytes);
        assert_eq!(whole.dialect, Some(Dialect::Copilot), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        // Results whose ids are left out.
        let mut known = BTreeMap::new();
        if source.name.contains("small") {
            known.insert("result without a call".to_owned(), 1);
        }
        let mut raw = whole.report.raw.clone();
        raw.values_mut().for_each(|n| *n = 1);
        assert_eq!(raw, known, "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
        if source.name.contains("subdir") {
            assert_eq!(
                told(&whole.events),
                [
                    "turn user",
                    "user List the files",
                    "call call_1 bash",
                    "usage response 0/12",
                    "result call_1 file1\nfile2\n",
                    "done The directory contains file1 and file2.",
                    "usage response 0/14",
                    "end completed",
                ]
            );
        }
    }
}

fn event(n: u64, kind: &str, data: Value) -> Value {
    json!({"type": kind, "data": data, "id": format!("e{n}"), "timestamp": "2026-01-01T00:00:00Z", "parentId": null})
}

#[test]
fn agents_edits_and_stops_are_told() {
    let diff = "\ndiff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
    let lines = [
        event(
            0,
            "session.start",
            json!({"sessionId": "s1", "context": {"cwd": "/w"}}),
        ),
        event(
            1,
            "user.message",
            json!({"content": "Go", "attachments": [{"path": "/w/a", "displayName": "a"}]}),
        ),
        event(
            2,
            "assistant.reasoning",
            json!({"reasoningId": "r", "content": "Hm."}),
        ),
        event(
            3,
            "assistant.message",
            json!({"messageId": "m1", "content": "", "reasoningText": "Hm.",
            "toolRequests": [{"toolCallId": "c1", "name": "task", "arguments": {}}]}),
        ),
        event(
            4,
            "assistant.message",
            json!({"messageId": "m2", "content": "Within.", "parentToolCallId": "c1",
            "toolRequests": [{"toolCallId": "c2", "name": "edit", "arguments": "{\"path\": \"/w/a.txt\"}"}]}),
        ),
        event(
            5,
            "tool.execution_complete",
            json!({"toolCallId": "c2", "success": true, "parentToolCallId": "c1",
            "result": {"content": "ok", "detailedContent": diff}}),
        ),
        event(
            6,
            "tool.execution_complete",
            json!({"toolCallId": "c1", "success": false, "error": {"message": "no"}}),
        ),
        event(
            7,
            "tool.execution_start",
            json!({"toolCallId": "c3", "toolName": "bash", "arguments": {"command": "ls"}}),
        ),
        event(8, "abort", json!({"reason": "user"})),
        event(
            9,
            "session.shutdown",
            json!({"modelMetrics": {
                "m": {"usage": {"inputTokens": 9, "cacheReadTokens": 3, "cacheWriteTokens": 1, "outputTokens": 2}},
                "n": {"usage": {"inputTokens": 100, "outputTokens": 30}},
            }}),
        ),
        event(10, "session.new", json!({})),
    ];
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("copilot", &read.events);
    let mut told = told(&read.events);
    assert!(told.pop().unwrap().starts_with("raw"));
    assert_eq!(
        told,
        [
            "turn user",
            "user Go",
            "thinking Hm.",
            "call c1 task",
            "done Within.",
            "call c2 edit",
            "result c2 ok",
            "edit modified /w/a.txt +1 -1",
            "failed c1 error",
            "call c3 bash",
            "interrupt user_cancel",
            "usage session 105/32",
            "failed c3 no_result",
            "end interrupted",
        ]
    );
    let within = read
        .events
        .iter()
        .filter(|event| event.parent_tool_call_id.as_deref() == Some("c1"));
    assert_eq!(within.count(), 4);
}

#[test]
fn a_tool_that_is_called_with_a_text_keeps_it_and_a_patch_is_what_it_changed() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** Add File: b.txt\n+new\n*** End Patch\n";
    let lines = [
        event(0, "session.start", json!({"sessionId": "s1"})),
        event(1, "user.message", json!({"content": "Go"})),
        event(
            2,
            "assistant.message",
            json!({"messageId": "m1", "content": "",
                "toolRequests": [{"toolCallId": "c1", "name": "apply_patch", "arguments": patch}]}),
        ),
        event(
            3,
            "tool.execution_complete",
            json!({"toolCallId": "c1", "success": true, "result": {"content": "Done"}}),
        ),
    ];
    let events = read_lines(Dialect::Copilot, &lines).events;
    assert_sound("a patch", &events);
    assert_eq!(
        told(&events)[2..5],
        [
            "call c1 apply_patch",
            "result c1 Done",
            "edit modified a.txt +1 -1",
        ]
    );
    assert_eq!(told(&events)[5], "edit created b.txt +1 -0");
    let args = events.iter().find_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some(call.args.to_value()),
        _ => None,
    });
    assert_eq!(args, Some(json!(patch)));
}

#[test]
fn words_of_the_user_while_a_call_runs_steer_it_and_behind_a_stop_begin_a_turn() {
    let call = |n: u64, call: &str| {
        let requests = json!([{"toolCallId": call, "name": "bash", "arguments": {}}]);
        event(
            n,
            "assistant.message",
            json!({"messageId": format!("m{n}"), "content": "", "toolRequests": requests}),
        )
    };
    let result = |n: u64, call: &str| {
        event(
            n,
            "tool.execution_complete",
            json!({"toolCallId": call, "success": true, "result": {"content": "ok"}}),
        )
    };
    let user = |n: u64, text: &str| event(n, "user.message", json!({"content": text}));
    let lines = [
        event(0, "session.start", json!({"sessionId": "s1"})),
        user(1, "Go"),
        call(2, "c1"),
        user(3, "and hurry"),
        result(4, "c1"),
        call(5, "c2"),
        event(6, "abort", json!({"reason": "user"})),
        user(7, "Anew"),
        call(8, "c3"),
        event(9, "session.resume", json!({"sessionId": "s1"})),
        user(10, "Once more"),
    ];
    let events = read_lines(Dialect::Copilot, &lines).events;
    assert_sound("steered", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Go",
            "call c1 bash",
            "user and hurry",
            "result c1 ok",
            "call c2 bash",
            "interrupt user_cancel",
            "failed c2 no_result",
            "end interrupted",
            "turn user",
            "user Anew",
            "call c3 bash",
            "failed c3 no_result",
            "end interrupted",
            "turn user",
            "user Once more",
            "end interrupted",
        ]
    );
    assert_eq!(steering(&events), [None, Some(true), None, None]);
}

fn steering(events: &[ChatEvent]) -> Vec<Option<bool>> {
    let words = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => {
            let said = message.extra.get("steering");
            Some(said.and_then(|said| said.to_value().as_bool()))
        }
        _ => None,
    });
    words.collect()
}

/// A prompt, and a command that it has run.
fn a_command() -> Vec<Value> {
    let call = json!({"toolCallId": "c1", "name": "bash", "arguments": {"command": "make"}});
    vec![
        event(0, "session.start", json!({"sessionId": "s1"})),
        event(1, "user.message", json!({"content": "Go"})),
        event(
            2,
            "assistant.message",
            json!({"messageId": "m1", "content": "", "toolRequests": [call]}),
        ),
    ]
}

#[test]
fn the_last_line_of_a_command_tells_its_exit_code() {
    for (content, exit_code, summary) in [
        ("bad\n<exited with exit code 1>", Some(1), Some("bad")),
        ("<exited with exit code 0>\n", Some(0), None),
        (
            "out\nerr\n<shellId: 0 completed with exit code 3>",
            Some(3),
            Some("2 lines"),
        ),
        (
            "<command started in background with shellId: s1>",
            None,
            Some("<command started in background with shellId: s1>"),
        ),
        (
            "<exited with exit code ?>",
            None,
            Some("<exited with exit code ?>"),
        ),
    ] {
        let mut lines = a_command();
        let done = json!({"toolCallId": "c1", "success": true, "result": {"content": content}});
        lines.push(event(3, "tool.execution_complete", done));
        let events = read_lines(Dialect::Copilot, &lines).events;
        let result = events.iter().find_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result),
            _ => None,
        });
        let result = result.unwrap();
        assert_eq!(
            (result.exit_code, result.summary.as_deref()),
            (exit_code, summary)
        );
    }
}

#[test]
fn the_exit_code_that_is_told_by_itself_counts() {
    let mut lines = a_command();
    let done = json!({"toolCallId": "c1", "success": true, "shellExecution": {"exitCode": 4},
        "result": {"content": "bad\n<shellId: 0 completed with exit code 3>"}});
    lines.push(event(3, "tool.execution_complete", done));
    let events = read_lines(Dialect::Copilot, &lines).events;
    let result = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result),
        _ => None,
    });
    let result = result.unwrap();
    assert_eq!(
        (result.exit_code, result.result.as_str().as_deref()),
        (Some(4), Some("bad"))
    );
    assert!(result.error.is_some());
}

#[test]
fn who_stopped_it_does_not_wait_for_what_ran() {
    let mut lines = a_command();
    lines.push(event(3, "abort", json!({"reason": "user"})));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader.push(text.as_bytes(), 0, &mut events).unwrap();
    let told_before = told(&events);
    assert!(!told_before.contains(&"end interrupted".to_owned()));
    reader.quiet(60_000, &mut events);
    assert_eq!(told(&events).last().unwrap(), "end interrupted");
    assert!(matches!(&events.last().unwrap().payload,
        Payload::SessionStatus(status) if status.status == "idle"));
}

/// An event that a run prints and no file keeps.
fn passing(n: u64, kind: &str, data: Value) -> Value {
    let mut made = event(n, kind, data);
    made["ephemeral"] = true.into();
    made
}
