//! What the dialect of Qwen Code's chat files holds, over small cases and a public session.

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Dialect, SessionFolder};
use serde_json::{Value, json};

use crate::support::{assert_sound, read, read_lines, sources, told};

fn record(n: u32, kind: &str, mut rest: Value) -> Value {
    rest["type"] = kind.into();
    rest["uuid"] = format!("u{n}").into();
    if rest.get("parentUuid").is_none() {
        rest["parentUuid"] = format!("u{}", n - 1).into();
    }
    rest["sessionId"] = "q1".into();
    rest["timestamp"] = format!("2026-11-30T10:00:{n:02}.000Z").into();
    rest["cwd"] = "/w".into();
    rest["version"] = "0.15.6".into();
    rest
}

fn user(n: u32, text: &str) -> Value {
    record(
        n,
        "user",
        json!({"message": {"role": "user", "parts": [{"text": text}]}}),
    )
}

fn model(n: u32, parts: Value) -> Value {
    let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 5, "cachedContentTokenCount": 80, "totalTokenCount": 105});
    record(
        n,
        "assistant",
        json!({"model": "m", "message": {"role": "model", "parts": parts}, "usageMetadata": usage}),
    )
}

fn result(n: u32, id: &str, name: &str, response: Value, told: Value) -> Value {
    let parts = json!([{"functionResponse": {"id": id, "name": name, "response": response}}]);
    record(
        n,
        "tool_result",
        json!({"message": {"role": "user", "parts": parts}, "toolCallResult": told}),
    )
}

fn system(n: u32, kind: &str, payload: Value) -> Value {
    record(
        n,
        "system",
        json!({"subtype": kind, "systemPayload": payload}),
    )
}

fn of(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::QwenChat, lines);
    assert_sound("qwen", &read.events);
    read.events
}

#[test]
fn public_sessions_are_read_as_its_own() {
    for source in sources("fixtures/other", |name| name.contains("qwen")) {
        let whole = read(&source.bytes);
        assert_eq!(whole.dialect, Some(Dialect::QwenChat), "{}", source.name);
        assert!(
            whole.report.raw.is_empty(),
            "{}: {:?}",
            source.name,
            whole.report
        );
    }
}

#[test]
fn a_session_is_told_as_qwen_codes_and_not_as_claude_codes() {
    let edit = json!({"callId": "c1", "status": "success", "resultDisplay": {"fileDiff": "x", "fileName": "a", "originalContent": "1\n", "newContent": "1\n2\n"}});
    let new = json!({"callId": "c2", "status": "success", "resultDisplay": {"fileDiff": "x", "fileName": "b", "originalContent": null, "newContent": "1\n"}});
    let lines = [
        user(1, "Go"),
        model(
            2,
            json!([{"text": "Hm.", "thought": true}, {"text": "I look."}, {"functionCall": {"id": "c1", "name": "edit", "args": {"file_path": "/w/a"}}},
            {"functionCall": {"id": "c2", "name": "write_file", "args": {"file_path": "/w/b", "content": "1\n"}}}]),
        ),
        result(3, "c1", "edit", json!({"output": "ok"}), edit),
        result(4, "c2", "write_file", json!({"output": "ok"}), new),
        record(
            5,
            "user",
            json!({"subtype": "mid_turn_user_message", "message": {"parts": [{"text": "Faster"}]}}),
        ),
        model(
            6,
            json!([{"functionCall": {"id": "c3", "name": "run_shell_command", "args": {"command": "ls"}}}]),
        ),
        result(
            7,
            "c3",
            "run_shell_command",
            json!({"error": "cancelled by user"}),
            json!({"callId": "c3", "status": "cancelled"}),
        ),
        model(8, json!([{"text": "Done."}])),
        system(9, "custom_title", json!({"customTitle": "A title"})),
        system(
            10,
            "chat_compression",
            json!({"info": {"originalTokenCount": 9, "newTokenCount": 3}, "compressedHistory": [{"parts": [{"text": "All."}]}]}),
        ),
        system(
            11,
            "ui_telemetry",
            json!({"uiEvent": {"event.name": "qwen-code.api_error", "error_message": "429"}}),
        ),
        record(
            12,
            "user",
            json!({"subtype": "notification", "message": {"parts": [{"text": "<task>"}]}, "systemPayload": {"displayText": "The helper is done"}}),
        ),
        model(13, json!([{"text": "Good."}])),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(read(text.as_bytes()).dialect, Some(Dialect::QwenChat));
    let events = of(&lines);
    let Payload::SessionStart(start) = &events[0].payload else {
        panic!("{:?}", events[0]);
    };
    assert_eq!(
        (
            start.provider.as_deref(),
            start.agent.as_deref(),
            start.cwd.as_deref()
        ),
        (Some("qwen"), Some("Qwen Code 0.15.6"), Some("/w"))
    );
    let wanted = [
        "turn user",
        "user Go",
        "thinking Hm.",
        "done I look.",
        "call c1 edit",
        "call c2 write_file",
        "usage response 20/5",
        "result c1 ok",
        "edit modified /w/a +1 -0",
        "result c2 ok",
        "edit created /w/b +1 -0",
        "user Faster",
        "call c3 run_shell_command",
        "usage response 20/5",
        "failed c3 cancelled",
        "done Done.",
        "usage response 20/5",
        "compaction auto",
        "notice the model's service failed: 429",
        "end failed",
        "turn system",
        "notice The helper is done",
        "done Good.",
        "usage response 20/5",
        "end completed",
    ];
    assert_eq!(told(&events), wanted);
    // Written again, it says nothing more.
    let twice: Vec<Value> = lines
        .iter()
        .flat_map(|line| [line.clone(), line.clone()])
        .collect();
    assert_eq!(told(&of(&twice)), wanted);
}

#[test]
fn what_was_cut_in_the_file_is_not_taken_for_the_text() {
    let cut = json!({"callId": "c1", "status": "success", "resultDisplay": {"fileDiff": "--- a\n+++ a\n@@ -1 +1 @@\n-Full diff omitted\n+preview\n",
        "fileName": "a", "originalContent": "1\n[... truncated", "newContent": "2\n[... truncated", "truncatedForSession": true,
        "fileDiffTruncated": true, "originalContentTruncated": true, "newContentTruncated": true}});
    let lines = [
        user(1, "Go"),
        model(
            2,
            json!([{"functionCall": {"id": "c1", "name": "edit", "args": {"file_path": "/w/a"}}}]),
        ),
        result(3, "c1", "edit", json!({"output": "ok"}), cut),
    ];
    let told_of = told(&of(&lines));
    assert!(
        told_of.contains(&"edit modified /w/a +0 -0".to_owned()),
        "{told_of:?}"
    );
}

#[test]
fn going_back_names_the_turns_that_were_left() {
    let lines = [
        user(1, "One"),
        model(2, json!([{"text": "A"}])),
        user(3, "Two"),
        model(4, json!([{"text": "B"}])),
        system(5, "rewind", json!({"truncatedCount": 2})),
        record(
            6,
            "user",
            json!({"parentUuid": "u2", "message": {"parts": [{"text": "Three"}]}}),
        ),
    ];
    let events = of(&lines);
    let turns: Vec<&str> = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::TurnStart(_)))
        .filter_map(|event| event.turn_id.as_deref())
        .collect();
    let left = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => notice.extra.get("leftTurnIds").map(|ids| ids.to_value()),
        _ => None,
    });
    assert_eq!(left, Some(json!([turns[1]])));
}

/// Seen: 0.24.4.
#[test]
fn an_agent_in_the_background_works_until_a_notification_tells_its_end() {
    let began = json!({"callId": "c1", "status": "success", "resultDisplay": {
        "type": "task_execution", "status": "background", "executionMode": "background", "toolCalls": [],
    }});
    let told = "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>c1</tool-use-id>\n<status>completed</status>\n<summary>Agent \"Look\" completed.</summary>\n<result>There is none.</result>\n</task-notification>";
    let mut end = record(
        5,
        "user",
        json!({"subtype": "notification", "message": {"role": "user", "parts": [{"text": told}]}, "systemPayload": {"displayText": "It is done."}}),
    );
    let lines = |end: &Value| {
        vec![
            user(1, "Look"),
            model(
                2,
                json!([{"functionCall": {"id": "c1", "name": "agent", "args": {"prompt": "Is there one?"}}}]),
            ),
            result(
                3,
                "c1",
                "agent",
                json!({"output": "Do not wait."}),
                began.clone(),
            ),
            model(4, json!([{"text": "It runs."}])),
            end.clone(),
            model(6, json!([{"text": "There is none."}])),
        ]
    };
    let events = of(&lines(&end));
    let results: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some((
                result.background,
                result.result.display_text().into_owned(),
                result.error.is_some(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        results,
        [
            (Some(true), "It works in the background.".to_owned(), false),
            (Some(false), "There is none.".to_owned(), false)
        ]
    );
    let shown = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => Some((notice.text.clone(), notice.extra.get("toolCallId"))),
        _ => None,
    });
    let (text, call) = shown.unwrap();
    assert_eq!(text, "It is done.");
    assert_eq!(
        call.and_then(|id| id.as_str().map(String::from)),
        Some("c1".to_owned())
    );
    // One of another program's tasks ends no call.
    end["message"]["parts"][0]["text"] = told.replace("c1", "c2").into();
    let events = of(&lines(&end));
    let last = events.iter().rev().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result),
        _ => None,
    });
    assert!(last.unwrap().is_missing(), "{last:?}");
}

/// As some providers number their calls anew.
#[test]
fn a_call_whose_id_is_used_again_is_not_at_work_for_ever() {
    let began = json!({"callId": "c1", "status": "success", "resultDisplay": {"type": "task_execution", "status": "background"}});
    let told = "<task-notification><tool-use-id>c1</tool-use-id><status>completed</status><result>None.</result></task-notification>";
    let mut lines = Vec::new();
    for n in [1, 4] {
        let call =
            json!([{"functionCall": {"id": "c1", "name": "agent", "args": {"prompt": "Look"}}}]);
        lines.push(user(n, "Look"));
        lines.push(model(n + 1, call));
        let output = json!({"output": "Do not wait."});
        lines.push(result(n + 2, "c1", "agent", output, began.clone()));
    }
    lines.push(record(
        7,
        "user",
        json!({"subtype": "notification", "message": {"role": "user", "parts": [{"text": told}]}}),
    ));
    lines.push(model(8, json!([{"text": "There is none."}])));
    let events = of(&lines);
    let ends: Vec<(String, bool)> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolResult(it) if it.background == Some(false) => {
                Some((it.tool_call_id.clone(), it.is_missing()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        ends,
        [("c1".to_owned(), true), ("c1~2".to_owned(), false)],
        "{events:#?}"
    );
    let named = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => notice.extra.get("toolCallId"),
        _ => None,
    });
    assert_eq!(named.unwrap().as_str().as_deref(), Some("c1~2"));
}

#[test]
fn agents_files_are_of_the_chats_of_their_project() {
    for (project, chats) in [("p/", "chats"), ("", "chats"), ("p/", "chats/archive")] {
        let own = format!("{project}{chats}/s1.jsonl");
        let agent = format!("{project}subagents/s1/agent-a1.jsonl");
        let meta = format!("{project}subagents/s1/agent-a1.meta.json");
        let other = format!("{project}chats/s2.jsonl");
        let paths = [&own, &agent, &meta, &other];
        let folder = SessionFolder::group(paths.iter().map(|path| path.as_str()));
        assert_eq!(folder.sessions.len(), 2, "{folder:#?}");
        let session = folder
            .sessions
            .iter()
            .find(|it| it.main.as_ref() == Some(&own));
        let [part] = session.unwrap().agents.as_slice() else {
            panic!("{folder:#?}");
        };
        assert_eq!(
            (part.path.as_str(), part.agent_id.as_str()),
            (agent.as_str(), "a1")
        );
        assert_eq!(part.meta.as_deref(), Some(meta.as_str()));
        assert!(!part.flat);
    }
}
