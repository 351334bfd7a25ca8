//! Streams that have Claude Code's lines and are another program's.

use crate::support::{assert_sound, read, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Detection, Dialect, SessionReader, detect};
use serde_json::{Value, json};

const THREAD: &str = "T-2f0d8b1e-6c55-4a3e-8b1d-9a7c0e5f3a11";

fn text_of(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn of(dialect: Dialect, lines: &[Value]) -> Vec<ChatEvent> {
    let whole = read(text_of(lines).as_bytes());
    assert_eq!(whole.dialect, Some(dialect));
    assert_sound(dialect.word(), &whole.events);
    whole.events
}

fn who(events: &[ChatEvent]) -> Vec<(Option<&str>, Option<&str>)> {
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.provider.as_deref(), start.agent.as_deref())),
        _ => None,
    });
    said.collect()
}

fn kinds(events: &[ChatEvent]) -> Vec<String> {
    let calls = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolCall(call) => Some(format!(
            "{} {}",
            call.kind.as_deref().unwrap_or("?"),
            call.title.as_deref().unwrap_or("?")
        )),
        _ => None,
    });
    calls.collect()
}

fn qwen(kind: &str, id: &str, content: Value) -> Value {
    let usage = json!({"input_tokens": 100, "output_tokens": 5, "cache_read_input_tokens": 80});
    json!({"type": kind, "uuid": id, "session_id": "q1", "parent_tool_use_id": null,
        "message": {"id": id, "type": "message", "role": kind, "model": "m", "content": content, "usage": usage}})
}

#[test]
fn a_stream_of_qwen_code_is_told_as_its_own() {
    let lines = [
        json!({"type": "system", "subtype": "init", "uuid": "q1", "session_id": "q1", "cwd": "/w", "tools": [], "model": "m", "permission_mode": "yolo", "qwen_code_version": "0.15.6"}),
        json!({"type": "user", "uuid": "u1", "session_id": "q1", "parent_tool_use_id": null, "message": {"role": "user", "content": [{"type": "text", "text": "Go"}]}}),
        qwen(
            "assistant",
            "m1",
            json!([{"type": "text", "text": "I look."}]),
        ),
        qwen(
            "assistant",
            "m2",
            json!([{"type": "tool_use", "id": "c1", "name": "run_shell_command", "input": {"command": "ls"}},
            {"type": "tool_use", "id": "c2", "name": "todo_write", "input": {"todos": [{"content": "One", "status": "pending"}]}},
            {"type": "tool_use", "id": "c3", "name": "edit", "input": {"file_path": "/w/a", "old_string": "1", "new_string": "2"}}]),
        ),
        json!({"type": "user", "uuid": "r1", "session_id": "q1", "parent_tool_use_id": null, "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a"}, {"type": "tool_result", "tool_use_id": "c2", "content": "ok"}, {"type": "tool_result", "tool_use_id": "c3", "content": "ok"}]}}),
        json!({"type": "result", "subtype": "error_during_execution", "uuid": "z", "session_id": "q1", "is_error": true, "duration_ms": 5, "num_turns": 1, "usage": {"input_tokens": 200, "output_tokens": 10, "cache_read_input_tokens": 160}, "error": {"message": "no more"}, "permission_denials": []}),
    ];
    let events = of(Dialect::QwenStream, &lines);
    assert_eq!(who(&events), [(Some("qwen"), Some("Qwen Code 0.15.6"))]);
    assert_eq!(kinds(&events), ["execute ls", "plan 1 entry", "edit /w/a"]);
    let told_of = told(&events);
    for line in [
        "user Go",
        "done I look.",
        "plan 1",
        "edit modified /w/a +1 -1",
        "error error_during_execution no more",
        "end failed",
    ] {
        assert!(told_of.contains(&line.to_owned()), "{line}: {told_of:?}");
    }
    // What was read from the cache is not counted twice.
    let read = events.iter().find_map(|event| match &event.payload {
        Payload::Usage(usage) => Some((usage.input_tokens, usage.cache_read_tokens)),
        _ => None,
    });
    let of_turn = events.iter().find_map(|event| match &event.payload {
        Payload::TurnEnd(end) => end.usage.as_ref().map(|usage| usage.to_value()),
        _ => None,
    });
    let of_turn = of_turn.map(|usage| usage["inputTokens"].clone());
    assert!(
        read == Some((20, Some(80))) || of_turn == Some(json!(40)),
        "{read:?} {of_turn:?}"
    );
    // Its middle alone, too.
    let middle = text_of(&lines[2..4]);
    assert_eq!(
        detect(middle.as_bytes(), true),
        Detection::Found(Dialect::QwenStream)
    );
}

/// Where a line's end was lost.
#[test]
fn two_documents_of_one_line_begin_two_turns() {
    let begin = json!({"type": "system", "subtype": "init", "cwd": "/w", "session_id": THREAD, "tools": ["Bash"], "mcp_servers": []});
    let prompt = json!({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "Go"}]}, "parent_tool_use_id": null, "session_id": THREAD});
    let answer = json!({"type": "assistant", "message": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "I look."}]}, "parent_tool_use_id": null, "session_id": THREAD});
    let mut reader = SessionReader::with_dialect(Context::default(), Dialect::AmpStream);
    let mut events = Vec::new();
    let text = format!("{prompt}{begin}\n{answer}\n");
    reader.push(text.as_bytes(), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    assert_sound("amp", &events);
    let begun = |event: &ChatEvent| event.payload.event_type() == "turn_start";
    assert_eq!(events.iter().filter(|event| begun(event)).count(), 2);
}

#[test]
fn a_stream_of_amp_is_told_as_its_own() {
    let line = |kind: &str, content: Value| json!({"type": kind, "message": {"type": "message", "role": kind, "content": content}, "parent_tool_use_id": null, "session_id": THREAD});
    let lines = [
        json!({"type": "system", "subtype": "init", "cwd": "/w", "session_id": THREAD, "tools": ["Bash"], "mcp_servers": []}),
        line("user", json!([{"type": "text", "text": "Go"}])),
        line(
            "assistant",
            json!([{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"cmd": "ls"}},
            {"type": "tool_use", "id": "c2", "name": "oracle", "input": {"task": "x"}}, {"type": "tool_use", "id": "c3", "name": "edit_file", "input": {"path": "/w/a", "old_str": "1", "new_str": "2"}}]),
        ),
        line(
            "user",
            json!([{"type": "tool_result", "tool_use_id": "c1", "content": "{\"output\":\"a\",\"exitCode\":2}"}]),
        ),
        line(
            "user",
            json!([{"type": "tool_result", "tool_use_id": "c2", "content": "b"}]),
        ),
        line(
            "user",
            json!([{"type": "tool_result", "tool_use_id": "c3", "content": "ok"}]),
        ),
        line("assistant", json!([{"type": "text", "text": "Done."}])),
        json!({"type": "result", "subtype": "success", "duration_ms": 5, "is_error": false, "num_turns": 1, "result": "Done.", "session_id": THREAD}),
    ];
    let events = of(Dialect::AmpStream, &lines);
    assert_eq!(who(&events), [(Some("amp"), Some("Amp"))]);
    assert_eq!(kinds(&events), ["execute ls", "agent x", "edit /w/a"]);
    let wanted = [
        "turn user",
        "user Go",
        "done I look.",
        "call c1 Bash",
        "call c2 oracle",
        "call c3 edit_file",
        "failed c1 exit_code",
        "result c2 b",
        "result c3 ok",
        "edit modified /w/a +1 -1",
        "done Done.",
        "end completed",
    ];
    assert_eq!(told(&events), wanted);
    // Any line of it tells whose it is.
    for line in &lines {
        let text = format!("{line}\n");
        assert_eq!(
            detect(text.as_bytes(), true),
            Detection::Found(Dialect::AmpStream),
            "{line}"
        );
    }
}
