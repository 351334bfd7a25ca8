//! What the reader of sandbox-agent's universal events makes of tools and thoughts, as its converters for Codex, OpenCode
//! and Pi wrote them, and of what came before the schema had turns.

use crate::support::{Read, assert_sound, read_lines, told};
use chat_event::Payload;
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

fn event(n: usize, kind: &str, data: &Value) -> Value {
    json!({"event_id": format!("evt_{n}"), "sequence": n, "time": "2026-02-01T10:00:00Z", "session_id": "s",
        "native_session_id": "n", "synthetic": false, "source": "agent", "type": kind, "data": data})
}

fn item(id: &str, kind: &str, role: &str, status: &str, content: Value) -> Value {
    json!({"item": {"item_id": format!("d-{id}"), "native_item_id": id, "kind": kind, "role": role, "content": content, "status": status}})
}

fn user(id: &str, text: &str) -> (&'static str, Value) {
    let content = json!([{"type": "text", "text": text}]);
    (
        "item.completed",
        item(id, "message", "user", "completed", content),
    )
}

fn message(id: &str, content: Value) -> (&'static str, Value) {
    (
        "item.completed",
        item(id, "message", "assistant", "completed", content),
    )
}

fn begun(id: &str, kind: &str, content: Value) -> (&'static str, Value) {
    (
        "item.started",
        item(id, kind, "assistant", "in_progress", content),
    )
}

fn result(id: &str, content: Value) -> (&'static str, Value) {
    (
        "item.completed",
        item(id, "tool_result", "tool", "completed", content),
    )
}

fn piece(id: &str, text: &str) -> (&'static str, Value) {
    (
        "item.delta",
        json!({"item_id": format!("d-{id}"), "native_item_id": id, "delta": text}),
    )
}

fn status(label: &str, detail: Value) -> (&'static str, Value) {
    let content = json!([{"type": "status", "label": label, "detail": detail}]);
    (
        "item.completed",
        item("", "status", "system", "completed", content),
    )
}

fn command(id: &str, command: &str) -> (&'static str, Value) {
    let args = json!({"command": command, "cwd": "/w"}).to_string();
    begun(
        id,
        "tool_call",
        json!([{"type": "tool_call", "name": "command_execution", "arguments": args, "call_id": id}]),
    )
}

fn read(lines: &[(&str, Value)]) -> Read {
    let lines = lines.iter().enumerate();
    let lines: Vec<Value> = lines
        .map(|(n, (kind, data))| event(n, kind, data))
        .collect();
    let read = read_lines(Dialect::SandboxAgent, &lines);
    assert_sound("small", &read.events);
    read
}

fn said(lines: &[(&str, Value)]) -> Vec<String> {
    told(&read(lines).events)
}

#[test]
fn what_a_command_prints_is_no_words_of_the_assistant() {
    let ended = |status: &str| json!({"type": "json", "json": {"command": "x", "cwd": "/w", "status": status}});
    let lines = [
        user("u", "Go"),
        begun("m", "message", json!([{"type": "text", "text": ""}])),
        piece("m", "Hel"),
        command("c1", "ls"),
        piece("c1", "a.txt\n"),
        // The message goes on beside the call.
        piece("m", "lo"),
        result(
            "c1",
            json!([{"type": "tool_result", "call_id": "c1", "output": "a.txt\n"}, ended("Completed")]),
        ),
        message("m", json!([{"type": "text", "text": "Hello"}])),
        // It printed nothing, so its result has no part of its own.
        command("c2", "false"),
        result("c2", json!([ended("Failed")])),
        // The older converters told results alone.
        result(
            "c3",
            json!([{"type": "tool_result", "call_id": "c3", "output": "now"}, ended("Completed")]),
        ),
        ("turn.ended", json!({"metadata": {"status": "interrupted"}})),
    ];
    let read = read(&lines);
    let expected = [
        "turn user",
        "user Go",
        "chunk Hel",
        "call c1 command_execution",
        "chunk lo",
        "result c1 a.txt\n",
        "done Hello",
        "call c2 command_execution",
        "failed c2 ?",
        "call c3 command_execution",
        "result c3 now",
        "end interrupted",
    ];
    assert_eq!(told(&read.events), expected);
    let printed = read.events.iter().filter_map(|event| match &event.payload {
        Payload::ToolOutputChunk(chunk) => {
            Some((chunk.tool_call_id.as_str(), chunk.chunk.as_str()))
        }
        _ => None,
    });
    assert_eq!(printed.collect::<Vec<_>>(), [("c1", "a.txt\n")]);
}

#[test]
fn a_command_that_runs_long_is_no_rest() {
    let lines = [user("u", "Go"), command("c1", "sleep 100")];
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::SandboxAgent);
    let mut events = Vec::new();
    for (n, (kind, data)) in lines.iter().enumerate() {
        let line = format!("{}\n", event(n, kind, data));
        reader.push(line.as_bytes(), 1, &mut events).unwrap();
    }
    reader.quiet(60_000, &mut events);
    let is_idle = |payload: &Payload| matches!(payload, Payload::SessionStatus(status) if status.status == "idle");
    assert!(
        !events.iter().any(|event| is_idle(&event.payload)),
        "{events:?}"
    );
}

#[test]
fn the_files_of_a_change_are_told_as_codex_lists_them() {
    let changes = json!([
        {"path": "/w/a", "kind": {"type": "add"}, "diff": "one\n"},
        {"path": "/w/b", "kind": {"type": "update", "move_path": null}, "diff": "@@ -1 +1 @@\n-x\n+y\n"},
        {"path": "/w/c", "kind": {"type": "delete"}, "diff": "gone\n"},
    ]);
    let output = json!({"changes": changes, "status": "Completed"}).to_string();
    let files = [("/w/a", "write"), ("/w/b", "patch"), ("/w/c", "patch")]
        .map(|(path, action)| json!({"type": "file_ref", "path": path, "action": action, "diff": "one\n"}));
    let mut content = vec![json!({"type": "tool_result", "call_id": "f", "output": output})];
    content.extend(files);
    let args = json!({"changes": changes}).to_string();
    let lines = [
        user("u", "Go"),
        begun(
            "f",
            "tool_call",
            json!([{"type": "tool_call", "name": "file_change", "arguments": args, "call_id": "f"}]),
        ),
        result("f", Value::Array(content)),
        // Older: no part but this, and no call.
        result(
            "g",
            json!([{"type": "json", "json": {"changes": [{"path": "/w/d", "kind": {"type": "add"}, "diff": "d\n"}], "status": "Declined"}}]),
        ),
    ];
    let told = said(&lines);
    let edits: Vec<&String> = told
        .iter()
        .filter(|line| line.starts_with("edit"))
        .collect();
    assert_eq!(
        edits,
        [
            "edit created /w/a +1 -0",
            "edit modified /w/b +1 -1",
            "edit deleted /w/c +0 -1"
        ]
    );
    assert!(told.contains(&"failed g ?".to_owned()), "{told:?}");
}

#[test]
fn pieces_of_a_thought_are_taken_back_when_the_whole_says_that_it_is_one() {
    let lines = [
        user("u", "Go"),
        begun("r", "message", json!([])),
        piece("r", "I th"),
        piece("r", "ink"),
        message(
            "r",
            json!([{"type": "reasoning", "text": "I think", "visibility": "public"}]),
        ),
        begun("m", "message", json!([])),
        piece("m", "Hello"),
        message(
            "m",
            json!([{"type": "text", "text": "Hello"}, {"type": "reasoning", "text": "Hm", "visibility": "private"}]),
        ),
        ("turn.ended", json!({})),
    ];
    let expected = [
        "turn user",
        "user Go",
        "chunk I th",
        "chunk ink",
        "retract 2",
        "thinking I think",
        "chunk Hello",
        "done Hello",
        "thinking Hm",
        "end completed",
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn ends_of_turns_that_came_as_notes_end_them() {
    let lines = [
        user("u", "Go"),
        status("turn.started", json!("{\"id\":\"t\"}")),
        message("m", json!([{"type": "text", "text": "Yes"}])),
        status(
            "turn.completed",
            json!("{\"id\":\"t\",\"status\":\"failed\",\"error\":{\"message\":\"too long\"}}"),
        ),
        ("turn.ended", json!({})),
        user("v", "Go on"),
        status(
            "session.error",
            json!("{\"name\":\"APIError\",\"data\":{\"message\":\"no\"}}"),
        ),
        status("session.idle", Value::Null),
        user("w", "Go on"),
        status("session.error", json!("{\"name\":\"MessageAbortedError\"}")),
        status("session.idle", Value::Null),
    ];
    let expected = [
        "turn user",
        "user Go",
        "done Yes",
        "error turn_failed too long",
        "end failed",
        "turn user",
        "user Go on",
        "error APIError no",
        "end failed",
        "turn user",
        "user Go on",
        "interrupt user_cancel",
        "end interrupted",
    ];
    assert_eq!(said(&lines), expected);
}

#[test]
fn events_that_come_twice_are_told_once_and_other_ones_of_the_same_number_are_told() {
    let lines = [
        user("u", "Go"),
        begun("m", "message", json!([])),
        piece("m", "Hel"),
        message("m", json!([{"type": "text", "text": "Hello"}])),
        ("turn.ended", json!({})),
    ];
    let lines = lines.iter().enumerate();
    let mut lines: Vec<Value> = lines
        .map(|(n, (kind, data))| event(n, kind, data))
        .collect();
    lines.extend_from_within(1..);
    let (kind, data) = user("v", "More");
    lines.push(event(0, kind, &data));
    let read = read_lines(Dialect::SandboxAgent, &lines);
    assert_sound("twice", &read.events);
    assert_eq!(read.report.repeated, 4);
    let expected = [
        "turn user",
        "user Go",
        "chunk Hel",
        "done Hello",
        "end completed",
        "turn user",
        "user More",
        "end interrupted",
    ];
    assert_eq!(told(&read.events), expected);
}

#[test]
fn no_part_is_lost() {
    let lines = [
        (
            "item.completed",
            item(
                "u",
                "message",
                "user",
                "completed",
                json!([{"type": "text", "text": "Go"}, {"type": "json", "json": {"type": "skill"}}]),
            ),
        ),
        (
            "item.completed",
            item(
                "c",
                "tool_call",
                "assistant",
                "completed",
                json!([{"type": "tool_call", "name": "x", "arguments": "", "call_id": "c"}, {"type": "text", "text": "extra"}]),
            ),
        ),
        result(
            "c",
            json!([{"type": "tool_result", "call_id": "c", "output": "ok"}, {"type": "text", "text": "more"}, {"type": "image", "path": "/a.png"}]),
        ),
        result("nobody", json!([{"type": "text", "text": "alone"}])),
        ("item.delta", json!({"item_id": "d-m", "delta": 5})),
        status("note", json!("one\ntwo")),
    ];
    let read = read(&lines);
    let kinds: Vec<(&str, u64)> = read
        .report
        .raw
        .iter()
        .map(|(kind, n)| (kind.as_str(), *n))
        .collect();
    let expected = [
        ("a part of a call", 1),
        ("a part of a message", 1),
        ("a part of a result", 1),
        ("a piece without text", 1),
        ("a result without a call", 1),
    ];
    assert_eq!(kinds, expected);
    for event in &read.events {
        match &event.payload {
            Payload::ToolResult(result) => assert!(result.extra.get("attachments").is_some()),
            Payload::Progress(progress) => {
                assert_eq!(
                    progress.extra.get("detail").unwrap().as_str().unwrap(),
                    "one\ntwo"
                );
            }
            _ => {}
        }
    }
}
