//! What the dialect of Grok CLI holds, over small cases.

use crate::support::{assert_sound, read, read_lines, told};
use chat_event::Payload;
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

fn line(kind: &str, step: u32, mut rest: Value) -> Value {
    rest["type"] = kind.into();
    rest["stepNumber"] = step.into();
    rest["timestamp"] = (1_796_032_800_000_i64 + i64::from(step)).into();
    rest["sessionID"] = "g1".into();
    rest
}

fn tool(id: &str, name: &str, arguments: &str, result: Value) -> Value {
    let call =
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    line(
        "tool_use",
        1,
        json!({"toolCall": call, "toolResult": result, "timing": {"durationMs": 5}}),
    )
}

#[test]
fn a_run_is_told_as_groks_and_not_as_opencodes() {
    let patch = "--- a\n+++ a\n@@ -1 +1,2 @@\n x\n+y\n";
    let lines = [
        line("step_start", 1, json!({})),
        line("text", 1, json!({"text": "I look."})),
        tool(
            "c1",
            "edit_file",
            r#"{"path":"a"}"#,
            json!({"success": true, "output": "ok", "diff": {"filePath": "a", "patch": patch, "isNew": false}}),
        ),
        tool(
            "c2",
            "bash",
            r#"{"command":"false"}"#,
            json!({"success": false, "error": "exit 1"}),
        ),
        tool(
            "c3",
            "task",
            r#"{"agent":"explore"}"#,
            json!({"success": true, "task": {"summary": "Two."}}),
        ),
        tool(
            "c4",
            "write_file",
            r#"{"path":"b","content":"1\n"}"#,
            json!({"success": true, "output": "ok"}),
        ),
        tool(
            "c5",
            "generate_plan",
            "torn{",
            json!({"success": true, "plan": {"steps": [{"title": "One"}]}}),
        ),
        line(
            "step_finish",
            1,
            json!({"finishReason": "tool-calls", "usage": {"inputTokens": 9, "outputTokens": 2, "costUsdTicks": 37_756_000}}),
        ),
        line("step_start", 2, json!({})),
        line("text", 2, json!({"text": "Done."})),
        line(
            "step_finish",
            2,
            json!({"finishReason": "stop", "usage": {"inputTokens": 3, "outputTokens": 1}}),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let whole = read(text.as_bytes());
    assert_eq!(whole.dialect, Some(Dialect::Grok));
    assert_eq!(whole.events[0].session_id, "g1");
    assert_sound("grok", &whole.events);
    let who = whole.events.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some((start.provider.clone(), start.agent.clone())),
        _ => None,
    });
    assert_eq!(
        who,
        Some((Some("grok".to_owned()), Some("Grok CLI".to_owned())))
    );
    let wanted = [
        "turn system",
        "done I look.",
        "call c1 edit_file",
        "result c1 ok",
        "edit modified a +1 -0",
        "call c2 bash",
        "failed c2 error",
        "call c3 task",
        "result c3 Two.",
        "call c4 write_file",
        "result c4 ok",
        "edit modified b +1 -0",
        "call c5 generate_plan",
        "plan 1",
        "result c5 ",
        "usage response 9/2",
        "done Done.",
        "usage response 3/1",
        "end completed",
    ];
    assert_eq!(told(&whole.events), wanted);
    let cost = whole.events.iter().find_map(|event| match &event.payload {
        Payload::Usage(usage) => usage.cost_usd,
        _ => None,
    });
    assert_eq!(cost, Some(0.003_775_6));
}

#[test]
fn the_prompt_is_shown_where_it_is_known_and_an_error_ends_the_run() {
    let lines = [
        line("step_start", 1, json!({})),
        json!({"type": "error", "message": "no key", "timestamp": 1_796_032_800_009_i64, "sessionID": "g1"}),
    ];
    let context = Context {
        prompt: Some("Go".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::new(context);
    let mut events = Vec::new();
    for line in &lines {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
    }
    reader.finish(0, &mut events).unwrap();
    assert_eq!(
        told(&events),
        ["turn user", "user Go", "error  no key", "end failed"]
    );
    let strange = [
        line("novel", 1, json!({})),
        line("tool_use", 1, json!({"toolCall": {}})),
    ];
    let told_of = told(&read_lines(Dialect::Grok, &strange).events);
    assert_eq!(
        told_of
            .iter()
            .filter(|line| line.starts_with("raw"))
            .count(),
        2,
        "{told_of:?}"
    );
}
