//! What the dialect of Kimi Code holds, over public sessions.

mod asks;
mod beside;
mod ends;
mod stream;
mod turns;

use std::collections::BTreeMap;

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{assert_cuts, assert_sound, read, read_lines, sources, told, values};

#[test]
fn the_sessions_are_told_cut_anywhere_and_say_what_their_lines_say() {
    for source in sources("fixtures/other", |name| name.contains("kimi")) {
        let whole = read(&source.bytes);
        assert_eq!(whole.dialect, Some(Dialect::Kimi), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
        let (mut said, mut output) = (Vec::new(), 0);
        for line in values(&source.bytes) {
            let event = &line["event"];
            let text = match (line["type"].as_str(), event["type"].as_str()) {
                (Some("turn.prompt"), _) => line["input"][0]["text"]
                    .as_str()
                    .map(|text| format!("user {text}")),
                (_, Some("content.part")) => match event["part"]["text"].as_str() {
                    Some(text) => Some(format!("done {text}")),
                    None => event["part"]["think"]
                        .as_str()
                        .map(|text| format!("thinking {text}")),
                },
                (_, Some("tool.call")) => {
                    Some(format!("call {}", event["toolCallId"].as_str().unwrap()))
                }
                (_, Some("tool.result")) => Some(format!(
                    "result {}",
                    event["result"]["output"].as_str().unwrap_or("")
                )),
                _ => None,
            };
            said.extend(text.filter(|text| text != "thinking "));
            if event["type"] == "step.end" || line["usageScope"] == "session" {
                let usage = event.get("usage").or_else(|| line.get("usage"));
                output += usage
                    .and_then(|usage| usage["output"].as_u64())
                    .unwrap_or(0);
            }
        }
        let (mut told, mut told_output) = (Vec::new(), 0);
        for event in &whole.events {
            match &event.payload {
                Payload::UserMessage(message) => {
                    told.push(format!("user {}", message.text.preview()))
                }
                Payload::AssistantDone(done) => told.push(format!("done {}", done.text)),
                Payload::ThinkingDone(done) => told.push(format!("thinking {}", done.text)),
                Payload::ToolCall(call) => told.push(format!("call {}", call.tool_call_id)),
                Payload::ToolResult(result) => {
                    told.push(format!("result {}", result.result.display_text()))
                }
                Payload::Usage(usage) => told_output += usage.output_tokens,
                _ => {}
            }
        }
        assert_eq!(told, said, "{}", source.name);
        assert_eq!(told_output, output, "{}", source.name);
    }
}

#[test]
fn approvals_compactions_and_strange_lines_are_told() {
    let lines = [
        json!({"type": "metadata", "protocol_version": "1.4", "created_at": 1}),
        json!({"type": "turn.prompt", "input": [{"type": "text", "text": "Go"}, {"type": "new"}], "origin": {"kind": "user"}, "time": 2}),
        event(json!({"type": "step.begin", "uuid": "s1"})),
        json!({"type": "permission.record_approval_result", "toolCallId": "c1", "toolName": "Bash", "result": {"decision": "rejected"}, "time": 6}),
        event(
            json!({"type": "tool.call", "toolCallId": "c1", "name": "Bash", "args": {"command": "rm x"}}),
        ),
        event(
            json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": "Command failed with exit code: 3.", "isError": true}}),
        ),
        event(json!({"type": "tool.result", "toolCallId": "c9", "result": 1})),
        event(json!({"type": "new"})),
        json!({"type": "full_compaction.begin", "source": "manual"}),
        json!({"type": "context.apply_compaction", "summary": "All."}),
        json!({"type": "context.append_loop_event"}),
        json!({"type": 1}),
    ];
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    let told = told(&read.events);
    assert_eq!(
        told.iter()
            .filter(|line| !line.starts_with("raw"))
            .collect::<Vec<_>>(),
        [
            "turn user",
            "user Go",
            "asked c1:ask",
            "answered deny",
            "call c1 Bash",
            "failed c1 error",
            "compaction manual",
            "end interrupted"
        ]
    );
    assert_eq!(
        told.iter().filter(|line| line.starts_with("raw")).count(),
        5
    );
}

fn event(event: Value) -> Value {
    json!({"type": "context.append_loop_event", "event": event, "time": 5})
}

fn said(kind: &str, text: &str, by: &str, time_ms: i64) -> Value {
    json!({"type": kind, "input": [{"type": "text", "text": text}], "origin": {"kind": by}, "time": time_ms})
}

fn step(kind: &str, id: &str, reason: &str) -> Value {
    event(json!({"type": kind, "uuid": id, "finishReason": reason}))
}

#[test]
fn the_pictures_among_a_result_are_attached_to_it() {
    let lines = [
        said("turn.prompt", "Look", "user", 1_000),
        step("step.begin", "s1", ""),
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": "c1", "name": "ReadMediaFile", "args": {"path": "a.png"}}),
        ),
        event(
            json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": [
            {"type": "text", "text": "<image path=\"a.png\">"},
            {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            {"type": "video_url", "videoUrl": {"url": "ms://v1"}},
            {"type": "text", "text": "</image>"}]}}),
        ),
        step("step.end", "s1", "stop"),
    ];
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    let result = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    let result = result.unwrap();
    assert_eq!(
        result.result.display_text(),
        "<image path=\"a.png\">\n</image>"
    );
    assert_eq!(
        result.extra.get("attachments").unwrap().to_value(),
        json!([{"mediaType": "image/png", "data": "iVBORw0KGgo="}, {"mediaType": "video/*", "ref": "ms://v1"}])
    );
}

#[test]
fn the_list_that_a_call_writes_is_a_plan() {
    let call = |id: &str, args: Value| {
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": id, "name": "TodoList", "args": args}),
        )
    };
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        call(
            "c1",
            json!({"todos": [{"title": "one", "status": "done"}, {"title": "two", "status": "in_progress"},
                {"title": "three", "status": "pending"}]}),
        ),
        // This one reads it.
        call("c2", json!({})),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("kimi", &events);
    let plans = events.iter().filter_map(|event| match &event.payload {
        Payload::Plan(plan) => Some(plan),
        _ => None,
    });
    let entries = plans.flat_map(|plan| &plan.entries);
    let entries: Vec<_> = entries
        .map(|entry| (entry.content.as_str(), entry.status.as_str()))
        .collect();
    assert_eq!(
        entries,
        [
            ("one", "completed"),
            ("two", "in_progress"),
            ("three", "pending")
        ]
    );
}

#[test]
fn that_the_model_is_asked_again_is_told() {
    let request = |attempt: &str| json!({"type": "llm.request", "kind": "loop", "attempt": attempt, "time": 5});
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        request("1/10"),
        request("2/10"),
        event(
            json!({"type": "content.part", "stepUuid": "s1", "part": {"type": "text", "text": "Hi"}}),
        ),
        step("step.end", "s1", "stop"),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    let statuses = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some((status.status.as_str(), status.message.as_deref())),
        _ => None,
    });
    assert_eq!(
        statuses.collect::<Vec<_>>(),
        [
            ("busy", None),
            ("retrying", Some("attempt 2 of 10")),
            ("busy", None),
            ("idle", None)
        ]
    );
}
