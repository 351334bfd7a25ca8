//! What was changed: in lines, by items and by the diff of a turn.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::json;

use crate::support::{read, read_lines, sources, told};

/// The line of a patch says what it changed, and a helper's task is what it was told.
#[test]
fn what_was_changed_is_told_in_lines_and_a_task_without_its_head() {
    let patch = |call: &str, text: &str| {
        let text = format!("*** Begin Patch\n{text}*** End Patch\n");
        json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": call, "input": text})
    };
    let given = |call: &str| {
        let text = json!({"output": "Success.\n", "metadata": {"exit_code": 0}}).to_string();
        json!({"type": "custom_tool_call_output", "call_id": call, "output": text})
    };
    let task = "Message Type: NEW_TASK\nTask name: /root/sort\nSender: /root\nPayload:\n";
    let told = format!("{task}Sort them");
    let items = [
        json!({"type": "agent_message", "id": "n", "author": "/root", "recipient": "/root/sort",
            "content": [{"type": "input_text", "text": told}]}),
        json!({"type": "agent_message", "id": "m", "author": "/root", "recipient": "/root/sort", "content": [
            {"type": "input_text", "text": task}, {"type": "encrypted_content", "encrypted_content": "gAAAA"}]}),
        patch("a", "*** Update File: a.txt\n@@\n-one\n+two\n+three\n"),
        given("a"),
        patch(
            "b",
            "*** Add File: b.txt\n+one\n*** Add File: c.txt\n+one\n+two\n",
        ),
        given("b"),
    ];
    let mut lines = vec![
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta",
        "payload": {"id": "01998cb5-5e00-7532-b60a-a52c82ab0f22", "cwd": "/w", "cli_version": "0.169.0"}}),
    ];
    lines.extend(items.iter().map(|item| {
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": item})
    }));
    let events = read_lines(Dialect::CodexRollout, &lines).events;
    crate::support::assert_sound("codex-rollout", &events);
    let words = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(message.text.preview().to_string()),
        Payload::ToolResult(result) => {
            assert_eq!(result.exit_code, None);
            result.summary.clone()
        }
        _ => None,
    });
    let words: Vec<String> = words.collect();
    assert_eq!(
        words,
        [
            "Sort them",
            "sort: the task itself is encrypted",
            "+2 −1",
            "2 files, +3 −0"
        ]
    );
}

/// The diff of a turn tells what its items do not, and nothing a second time.
#[test]
fn the_diff_of_a_turn_tells_files_that_no_item_told() {
    let both = "diff --git a/told.txt b/told.txt\n--- a/told.txt\n+++ b/told.txt\n@@ -1 +1 @@\n-a\n+b\n\
                diff --git a/sub/made.txt b/sub/made.txt\nnew file mode 100644\n--- /dev/null\n+++ b/sub/made.txt\n@@ -0,0 +1 @@\n+x\n";
    let change = json!({"id": "i1", "type": "fileChange", "status": "completed",
        "changes": [{"path": "/repo/told.txt", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b\n"}]});
    let at = |method: &str, mut params: serde_json::Value| {
        params["threadId"] = json!("t-1234567");
        params["turnId"] = json!("u-1234567");
        json!({"method": method, "params": params})
    };
    let lines = [
        json!({"method": "thread/started", "params": {"thread": {"id": "t-1234567", "cwd": "/repo"}}}),
        at("turn/started", json!({"turn": {"id": "u-1234567"}})),
        at("item/started", json!({"item": change})),
        at("item/completed", json!({"item": change})),
        at(
            "turn/diff/updated",
            json!({"diff": "diff --git a/early.txt b/early.txt\n--- a/early.txt\n+++ b/early.txt\n@@ -1 +1 @@\n-a\n+b\n"}),
        ),
        at("turn/diff/updated", json!({"diff": both})),
        at(
            "turn/completed",
            json!({"turn": {"id": "u-1234567", "status": "completed"}}),
        ),
        at("turn/diff/updated", json!({"diff": both})),
    ];
    let events = read_lines(Dialect::CodexAppServer, &lines).events;
    let told = told(&events);
    let told: Vec<&String> = told
        .iter()
        .filter(|line| !line.starts_with("call"))
        .collect();
    assert_eq!(
        told,
        [
            "turn user",
            "result i1 ",
            "edit modified /repo/told.txt +1 -1",
            "edit created /repo/sub/made.txt +1 -0",
            "end completed",
        ]
    );
}

#[test]
fn recorded_diffs_of_turns_double_no_item() {
    let mut servers = sources("recordings/codex", |name| {
        name.ends_with(".appserver.jsonl")
    });
    servers.extend(sources("fixtures/codex-app-server", |_| true));
    for source in servers {
        for event in read(&source.bytes).events {
            if let Payload::FileEdit(edit) = &event.payload {
                assert_ne!(edit.tool_call_id, "", "{}: {}", source.name, edit.file_path);
            }
        }
    }
}
