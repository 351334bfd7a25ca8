//! What the reader of sandbox-agent's universal events holds: over fixtures, and on small inputs of kinds they lack.

use std::collections::BTreeMap;

use crate::support::{assert_cuts, assert_sound, read, read_lines, sources, told, values};
use chat_event::Payload;
use chat_normalize::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_log_is_told_cut_anywhere_and_says_each_text_once() {
    for source in sources("fixtures/sandbox-agent", |name| name.ends_with(".jsonl")) {
        let whole = read(&source.bytes);
        assert_eq!(
            whole.dialect,
            Some(Dialect::SandboxAgent),
            "{}",
            source.name
        );
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
        let (mut texts, mut thoughts, mut results) = (Vec::new(), Vec::new(), 0);
        for line in values(&source.bytes) {
            let item = &line["data"]["item"];
            for part in item["content"].as_array().into_iter().flatten() {
                match part["type"].as_str().unwrap() {
                    "text" => texts.push(part["text"].as_str().unwrap().to_owned()),
                    "json" => thoughts.push(part["json"]["thinking"].as_str().unwrap().to_owned()),
                    "tool_result" => results += usize::from(line["type"] == "item.completed"),
                    _ => {}
                }
            }
        }
        // The same text stands in what an item was begun with and in the one that completes it.
        texts.dedup();
        let said = |of: fn(&Payload) -> Option<String>| -> Vec<String> {
            whole
                .events
                .iter()
                .filter_map(|event| of(&event.payload))
                .collect()
        };
        let done = said(|payload| match payload {
            Payload::AssistantDone(done) => Some(done.text.clone()),
            _ => None,
        });
        assert_eq!(done, texts, "{}", source.name);
        let thought = said(|payload| match payload {
            Payload::ThinkingDone(done) => Some(done.text.clone()),
            _ => None,
        });
        assert_eq!(thought, thoughts, "{}", source.name);
        let given = said(|payload| match payload {
            Payload::ToolResult(result) => Some(result.tool_call_id.clone()),
            _ => None,
        });
        assert_eq!(given.len(), results, "{}", source.name);
        let idle = said(|payload| match payload {
            Payload::SessionStatus(status) => Some(status.status.clone()),
            _ => None,
        });
        assert_eq!(idle, ["busy", "idle"], "{}", source.name);
    }
}

fn event(n: usize, kind: &str, data: Value) -> Value {
    json!({"event_id": format!("evt_{n}"), "sequence": n, "time": "2026-02-01T10:00:00Z", "session_id": "s",
        "native_session_id": "n", "synthetic": false, "source": "agent", "type": kind, "data": data})
}

fn item(id: &str, kind: &str, role: &str, status: &str, content: Value) -> Value {
    json!({"item": {"item_id": id, "kind": kind, "role": role, "content": content, "status": status}})
}

fn said(lines: &[(&str, Value)]) -> Vec<String> {
    let lines: Vec<Value> = lines
        .iter()
        .enumerate()
        .map(|(n, (kind, data))| event(n, kind, data.clone()))
        .collect();
    let read = read_lines(Dialect::SandboxAgent, &lines);
    assert_sound("small", &read.events);
    told(&read.events)
}

#[test]
fn pieces_what_an_item_is_begun_with_and_its_whole_are_one_text() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let call = json!([{"type": "tool_call", "name": "Write", "arguments": "{\"file_path\":\"a\"}", "call_id": "c"}]);
    let lines = [
        ("session.started", json!({})),
        (
            "item.completed",
            item("u", "message", "user", "completed", text("Go")),
        ),
        (
            "item.started",
            item("m", "message", "assistant", "in_progress", text("Hello")),
        ),
        ("item.delta", json!({"item_id": "m", "delta": "Hel"})),
        ("item.delta", json!({"item_id": "m", "delta": "lo"})),
        (
            "item.completed",
            item("m", "message", "assistant", "completed", text("Hello")),
        ),
        (
            "item.started",
            item("t", "tool_call", "assistant", "in_progress", call.clone()),
        ),
        (
            "item.completed",
            item("t", "tool_call", "assistant", "completed", call),
        ),
        (
            "permission.requested",
            json!({"permission_id": "p", "action": "Write", "status": "requested"}),
        ),
        (
            "permission.resolved",
            json!({"permission_id": "p", "action": "Write", "status": "accept_for_session"}),
        ),
        (
            "item.completed",
            item(
                "r",
                "tool_result",
                "tool",
                "completed",
                json!([
            {"type": "tool_result", "call_id": "c", "output": "\"done\""},
            {"type": "file_ref", "path": "/w/a", "action": "patch", "diff": "@@ -1 +1 @@\n-x\n+y\n"}]),
            ),
        ),
        (
            "question.requested",
            json!({"question_id": "q", "prompt": "Which?", "options": ["A"], "status": "requested"}),
        ),
        (
            "item.completed",
            item("u2", "message", "user", "completed", text("And")),
        ),
        ("error", json!({"message": "lost", "code": "E"})),
        (
            "session.ended",
            json!({"reason": "error", "terminated_by": "agent", "exit_code": 3}),
        ),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "user Go",
            "chunk Hel",
            "chunk lo",
            "done Hello",
            "call c Write",
            "asked p",
            "answered allow",
            "result c done",
            "edit modified /w/a +1 -1",
            "end completed",
            "turn user",
            "user And",
            "error E lost",
            "error session_error the agent ended with exit code 3",
            "end failed",
        ]
    );
}

#[test]
fn a_call_of_an_id_used_before_is_another_one() {
    let call = |id: &str, args: &str| {
        let content =
            json!([{"type": "tool_call", "name": "bash", "arguments": args, "call_id": "call_0"}]);
        (
            "item.completed",
            item(id, "tool_call", "assistant", "completed", content),
        )
    };
    let result = |id: &str, output: &str| {
        let content = json!([{"type": "tool_result", "call_id": "call_0", "output": output}]);
        (
            "item.completed",
            item(id, "tool_result", "tool", "completed", content),
        )
    };
    let lines = [
        ("turn.started", json!({"turn_id": "T1"})),
        call("a1", "{}"),
        result("b1", "one"),
        // The same item once more, and another.
        call("a1", "{}"),
        result("b1", "one"),
        call("a2", "{}"),
        result("b2", "two"),
        ("turn.ended", json!({})),
        ("turn.started", json!({"turn_id": "T2"})),
        call("a2", "{}"),
        result("b2", "three"),
        ("turn.ended", json!({})),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "call call_0 bash",
            "result call_0 one",
            "call call_0~2 bash",
            "result call_0~2 two",
            "end completed",
            "turn user",
            "call call_0~3 bash",
            "result call_0~3 three",
            "end completed",
        ]
    );
}

#[test]
fn what_is_said_twice_is_told_twice_and_a_turn_that_failed_ends_so() {
    let text = json!([{"type": "text", "text": "Let me check."}]);
    let begun = |id: &str| {
        (
            "item.started",
            item(id, "message", "assistant", "in_progress", json!([])),
        )
    };
    let whole = |id: &str| {
        (
            "item.completed",
            item(id, "message", "assistant", "completed", text.clone()),
        )
    };
    let lines = [
        ("turn.started", json!({"turn_id": "T"})),
        begun("m1"),
        whole("m1"),
        whole("m1"),
        begun("m2"),
        whole("m2"),
        // Nobody began this one.
        whole("m3"),
        ("error", json!({"message": "boom"})),
        ("turn.ended", json!({})),
        ("turn.started", json!({"turn_id": "T2"})),
        ("error", json!({"message": "once"})),
        whole("m4"),
        ("turn.ended", json!({})),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "done Let me check.",
            "done Let me check.",
            "done Let me check.",
            "error  boom",
            "end failed",
            "turn user",
            "error  once",
            "done Let me check.",
            "end completed",
        ]
    );
}

#[test]
fn a_message_that_is_never_completed_is_whole_when_another_item_begins() {
    let text = |text: &str| json!([{"type": "reasoning", "text": "Hm", "visibility": "public"}, {"type": "text", "text": text}]);
    let lines = [
        ("turn.started", json!({"phase": "started", "turn_id": "T"})),
        (
            "item.started",
            item("m", "message", "assistant", "in_progress", text("One")),
        ),
        (
            "item.started",
            item(
                "t",
                "tool_call",
                "assistant",
                "in_progress",
                json!([{"type": "tool_call", "name": "Bash", "arguments": "", "call_id": "c"}]),
            ),
        ),
        ("item.delta", json!({"item_id": "m2", "delta": "Tw"})),
        ("agent.unparsed", json!({"error": "x", "location": "y"})),
    ];
    assert_eq!(
        said(&lines)[..4],
        ["turn user", "thinking Hm", "done One", "chunk Tw"]
    );
    let told = said(&lines);
    assert!(
        told.contains(&"failed c interrupted".to_owned()),
        "{told:?}"
    );
    assert!(told.contains(&"done Tw".to_owned()));
    assert_eq!(told.last().unwrap(), "end interrupted");
}

proptest! {
    #[test]
    fn any_order_of_events_ends_what_it_begins(
        picks in proptest::collection::vec((0usize..11, 0usize..3, 0usize..7), 1..50)
    ) {
        const KINDS: [&str; 11] = ["session.started", "session.ended", "turn.started", "turn.ended", "item.started",
            "item.completed", "item.delta", "permission.requested", "permission.resolved", "question.requested", "error"];
        let lines: Vec<Value> = picks
            .into_iter()
            .enumerate()
            .map(|(n, (kind, at, part))| {
                let content = [
                    json!([{"type": "text", "text": "x"}]),
                    json!([{"type": "tool_call", "call_id": format!("c{at}"), "name": "t", "arguments": "{}"}]),
                    json!([{"type": "tool_result", "call_id": format!("c{at}"), "output": "o"}]),
                    json!([{"type": "reasoning", "text": "h"}]),
                    json!([{"type": "status", "label": "l"}]),
                    json!([]),
                    json!(5),
                ];
                let role = ["user", "assistant", "tool"][at];
                let of_item = ["message", "tool_call", "tool_result", "message", "status", "message", "other"][part];
                let mut data = item(["a", "b", ""][at], of_item, role, "completed", content[part].clone());
                data["item_id"] = ["a", "b", "d"][at].into();
                data["delta"] = "y".into();
                data["permission_id"] = role.into();
                event(n, KINDS[kind], data)
            })
            .collect();
        let read = read_lines(Dialect::SandboxAgent, &lines);
        prop_assert_eq!(read.verdict, Ok(()));
        assert_sound("any order", &read.events);
    }
}
