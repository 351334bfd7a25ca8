//! What the dialect of Cursor's CLI holds, over small cases.

use crate::support::{assert_sound, read, told};
use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

fn begin() -> Value {
    json!({"type": "system", "subtype": "init", "apiKeySource": "login", "cwd": "/w", "session_id": "c1", "model": "M", "permissionMode": "default"})
}

fn line(kind: &str, mut rest: Value) -> Value {
    rest["type"] = kind.into();
    rest["session_id"] = "c1".into();
    rest
}

fn said(kind: &str, text: &str, mut rest: Value) -> Value {
    rest["message"] = json!({"role": kind, "content": [{"type": "text", "text": text}]});
    line(kind, rest)
}

fn call(how: &str, id: &str, held: Value) -> Value {
    line(
        "tool_call",
        json!({"subtype": how, "call_id": id, "tool_call": held}),
    )
}

fn of(lines: &[Value]) -> Vec<String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let whole = read(text.as_bytes());
    assert_eq!(whole.dialect, Some(Dialect::CursorStream));
    assert_sound("cursor", &whole.events);
    let who = whole.events.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.provider.clone(), start.agent.clone())),
        _ => None,
    });
    assert_eq!(
        who,
        Some((Some("cursor".to_owned()), Some("Cursor".to_owned())))
    );
    told(&whole.events)
}

#[test]
fn a_run_is_told_as_cursors() {
    let edit = json!({"editToolCall": {"args": {"path": "/w/a"}, "result": {"success": {"path": "/w/a",
        "beforeFullFileContent": "1\n", "afterFullFileContent": "1\n2\n", "diffString": "x"}}}});
    let new = json!({"editToolCall": {"args": {"path": "/w/b"}, "result": {"success": {"path": "/w/b",
        "afterFullFileContent": "1\n", "diffString": "--- /dev/null\n+++ b/b\n@@ -1,0 +1 @@\n+1"}}}});
    let mcp = json!({"mcpToolCall": {"args": {"toolName": "list", "providerIdentifier": "p", "args": {"n": 1}}, "result": {"success": {"content": "two"}}}});
    let lines = [
        begin(),
        said("user", "Go", json!({})),
        line(
            "thinking",
            json!({"subtype": "delta", "text": "Hm", "timestamp_ms": 1_796_032_800_000_i64}),
        ),
        line("thinking", json!({"subtype": "completed"})),
        said("assistant", "I look.", json!({})),
        call(
            "started",
            "t1",
            json!({"editToolCall": {"args": {"path": "/w/a"}}}),
        ),
        call("completed", "t1", edit),
        // Its beginning was lost.
        call("completed", "t2", new),
        call(
            "started",
            "t3",
            json!({"shellToolCall": {"args": {"command": "x"}}}),
        ),
        call(
            "completed",
            "t3",
            json!({"shellToolCall": {"result": {"rejected": {"reason": ""}}}}),
        ),
        call("completed", "t4", mcp),
        call(
            "completed",
            "t5",
            json!({"shellToolCall": {"args": {"command": "f"}, "result": {"failure": {"exitCode": 2, "stdout": "o", "stderr": "e"}}}}),
        ),
        call(
            "completed",
            "t6",
            json!({"deleteToolCall": {"args": {"path": "/w/b"}, "result": {"success": {"path": "/w/b", "prevContent": "1\n"}}}}),
        ),
        call(
            "completed",
            "t7",
            json!({"function": {"name": "other", "arguments": "{\"a\":1}"}}),
        ),
        call(
            "started",
            "t8",
            json!({"readToolCall": {"args": {"path": "/w/a"}}}),
        ),
        said("assistant", "Done.", json!({})),
        line(
            "result",
            json!({"subtype": "success", "is_error": false, "duration_ms": 7, "result": "Done.", "request_id": "q", "usage": {"inputTokens": 3, "outputTokens": 2}}),
        ),
    ];
    let wanted = [
        "turn user",
        "user Go",
        "thinking chunk Hm",
        "thinking Hm",
        "done I look.",
        "call t1 edit",
        "result t1 ",
        "edit modified /w/a +1 -0",
        "call t2 edit",
        "result t2 ",
        "edit created /w/b +1 -0",
        "call t3 shell",
        "failed t3 rejected",
        "call t4 list",
        "result t4 two",
        "call t5 shell",
        "failed t5 failure",
        "call t6 delete",
        "result t6 ",
        "edit deleted /w/b +0 -1",
        "call t7 other",
        "result t7 ",
        "call t8 read",
        "done Done.",
        "usage turn 3/2",
        "failed t8 no_result",
        "end completed",
    ];
    assert_eq!(of(&lines), wanted);
}

#[test]
fn a_text_in_pieces_is_not_told_again_as_a_whole() {
    let at = |text: &str| {
        said(
            "assistant",
            text,
            json!({"timestamp_ms": 1_796_032_800_000_i64}),
        )
    };
    let flush = said(
        "assistant",
        "Ab",
        json!({"timestamp_ms": 1_796_032_800_000_i64, "model_call_id": "k"}),
    );
    let read =
        json!({"readToolCall": {"args": {"path": "a"}, "result": {"success": {"content": "x"}}}});
    let lines = [
        begin(),
        said("user", "Go", json!({})),
        at("A"),
        at("b"),
        flush,
        call("started", "t1", read.clone()),
        call("completed", "t1", read),
        at("C"),
        at("d"),
        said("assistant", "Cd", json!({})),
        // Another text, which came as a whole.
        said("assistant", "E", json!({})),
    ];
    let wanted = [
        "turn user",
        "user Go",
        "chunk A",
        "chunk b",
        "done Ab",
        "call t1 read",
        "result t1 x",
        "chunk C",
        "chunk d",
        "done Cd",
        "done E",
        "end interrupted",
    ];
    assert_eq!(of(&lines), wanted);
}
