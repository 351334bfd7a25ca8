//! The newer family of the bus's events.

use super::*;
use crate::support::{assert_sound, sessions_of, told};

fn next(n: u32, kind: &str, mut properties: Value) -> Value {
    properties["sessionID"] = json!("ses_1");
    properties["timestamp"] = json!(1_796_032_800_000_u64 + u64::from(n));
    json!({"id": format!("evt_n{n}"), "type": format!("session.next.{kind}"), "properties": properties})
}

/// What is told of an answer's step.
fn step(n: u32, kind: &str, mut properties: Value) -> Value {
    properties["assistantMessageID"] = json!("msg_2");
    next(n, kind, properties)
}

fn work() -> Vec<Value> {
    let model = json!({"id": "m", "providerID": "p"});
    let provider = json!({"executed": true});
    vec![
        next(
            1,
            "prompt.admitted",
            json!({"messageID": "msg_1", "prompt": {"text": "Go"}}),
        ),
        next(
            2,
            "prompted",
            json!({"messageID": "msg_1", "prompt": {"text": "Go"}}),
        ),
        step(3, "step.started", json!({"agent": "build", "model": model})),
        step(4, "reasoning.started", json!({"reasoningID": "h"})),
        step(
            5,
            "reasoning.delta",
            json!({"reasoningID": "h", "delta": "Hm"}),
        ),
        step(
            6,
            "reasoning.ended",
            json!({"reasoningID": "h", "text": "Hm."}),
        ),
        step(7, "text.started", json!({"textID": "a"})),
        step(8, "text.delta", json!({"textID": "a", "delta": "I "})),
        step(9, "text.delta", json!({"textID": "a", "delta": "look."})),
        step(10, "text.ended", json!({"textID": "a", "text": "I look."})),
        step(
            11,
            "tool.input.started",
            json!({"callID": "c1", "name": "bash"}),
        ),
        step(
            12,
            "tool.input.delta",
            json!({"callID": "c1", "delta": "{\"command\":\"ls\"}"}),
        ),
        step(
            13,
            "tool.input.ended",
            json!({"callID": "c1", "text": "{\"command\":\"ls\"}"}),
        ),
        step(
            14,
            "tool.called",
            json!({"callID": "c1", "tool": "bash", "input": {"command": "ls"}, "provider": provider}),
        ),
        step(
            15,
            "tool.progress",
            json!({"callID": "c1", "structured": {}, "content": [{"type": "text", "text": "a"}]}),
        ),
        step(
            16,
            "tool.success",
            json!({"callID": "c1", "structured": {"exit": 0}, "content": [{"type": "text", "text": "a\nb"}], "provider": provider}),
        ),
        step(
            17,
            "tool.called",
            json!({"callID": "c2", "tool": "read", "input": {"filePath": "/no"}, "provider": provider}),
        ),
        step(
            18,
            "tool.failed",
            json!({"callID": "c2", "error": {"type": "unknown", "message": "no such file"}, "provider": provider}),
        ),
        step(
            19,
            "step.ended",
            json!({"finish": "tool-calls", "cost": 0.5, "tokens": {"input": 9, "output": 2, "reasoning": 0, "cache": {"read": 4, "write": 0}}}),
        ),
        next(
            20,
            "step.started",
            json!({"assistantMessageID": "msg_3", "agent": "build", "model": model}),
        ),
        next(
            21,
            "text.ended",
            json!({"assistantMessageID": "msg_3", "textID": "a", "text": "Done."}),
        ),
        next(
            22,
            "step.ended",
            json!({"assistantMessageID": "msg_3", "finish": "stop", "cost": 0.5, "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}}),
        ),
    ]
}

fn of(lines: &[Value]) -> Vec<String> {
    let sessions = sessions_of(Dialect::OpenCodeEvents, lines);
    assert_eq!(sessions.keys().collect::<Vec<_>>(), ["ses_1"]);
    let told = told(&sessions["ses_1"]);
    told.into_iter()
        .filter(|line| !line.contains("chunk"))
        .collect()
}

const WANTED: [&str; 12] = [
    "turn user",
    "user Go",
    "thinking Hm.",
    "done I look.",
    "call c1 bash",
    "result c1 a\nb",
    "call c2 read",
    "failed c2 error",
    "usage response 9/2",
    "done Done.",
    "usage response 1/1",
    "end completed",
];

#[test]
fn the_newer_events_are_told_as_the_older_ones_are() {
    let mut told = of(&work());
    told.iter_mut().for_each(|line| {
        if line.starts_with("failed c2") {
            "failed c2 error".clone_into(line);
        }
    });
    assert_eq!(told, WANTED);
    // The pieces are told as they come.
    let sessions = sessions_of(Dialect::OpenCodeEvents, &work());
    let chunks = crate::support::told(&sessions["ses_1"]);
    for chunk in ["chunk I ", "chunk look.", "thinking chunk Hm"] {
        assert!(chunks.contains(&chunk.to_owned()), "{chunk}: {chunks:?}");
    }
    // As the API of the newer version has them.
    let in_data: Vec<Value> = work()
        .into_iter()
        .map(|mut event| {
            event["data"] = event["properties"].take();
            event.as_object_mut().unwrap().remove("properties");
            event
        })
        .collect();
    assert_eq!(of(&in_data), of(&work()));
    let text: String = in_data.iter().map(|line| format!("{line}\n")).collect();
    let found = chat_normalize::detect(text.as_bytes(), true);
    assert_eq!(
        found,
        chat_normalize::Detection::Found(Dialect::OpenCodeEvents)
    );
}

#[test]
fn of_two_families_that_tell_the_same_the_first_is_read() {
    let older = |id: &str, role: &str| {
        let info = json!({"id": id, "sessionID": "ses_1", "role": role, "parentID": "msg_1", "time": {"created": 1_796_032_800_001_u64}});
        bus("message.updated", json!({ "info": info }))
    };
    let text = |message: &str, text: &str| {
        let part = json!({"id": format!("{message}.p"), "messageID": message, "sessionID": "ses_1", "type": "text", "text": text, "time": {"start": 1, "end": 2}});
        bus("message.part.updated", json!({ "part": part }))
    };
    let mut both = Vec::new();
    for (n, event) in work().into_iter().enumerate() {
        both.push(event);
        match n {
            1 => both.push(older("msg_1", "user")),
            2 => both.extend([older("msg_2", "assistant"), text("msg_2", "I look.")]),
            _ => {}
        }
    }
    assert_eq!(of(&both), of(&work()));
    both.insert(0, older("msg_1", "user"));
    let told = of(&both);
    let said = told.iter().filter(|line| line.starts_with("done")).count();
    assert_eq!(said, 1, "{told:?}");
    // What tells nothing of the work may stand beside the older family alone.
    let told = of(&[
        next(1, "agent.switched", json!({"agent": "plan"})),
        next(2, "model.switched", json!({"model": {"id": "m"}})),
        older("msg_1", "user"),
        text("msg_1", "Go"),
        older("msg_2", "assistant"),
        text("msg_2", "I look."),
    ]);
    assert!(told.contains(&"user Go".to_owned()), "{told:?}");
    assert!(told.contains(&"done I look.".to_owned()), "{told:?}");
}

#[test]
fn the_pieces_of_arguments_stand_behind_each_other() {
    let input = |n: u32, kind: &str, held: Value| {
        let mut held = held;
        held["callID"] = json!("c1");
        step(n, &format!("tool.input.{kind}"), held)
    };
    let lines = [
        step(1, "step.started", json!({})),
        input(2, "started", json!({"name": "bash"})),
        input(3, "delta", json!({"delta": "{\"command\":"})),
        input(4, "delta", json!({"delta": "\"é"})),
        // The whole has more than its pieces.
        input(5, "ended", json!({"text": "{\"command\":\"é\"}"})),
        step(
            6,
            "tool.called",
            json!({"callID": "c1", "tool": "bash", "input": {"command": "é"}}),
        ),
        step(
            7,
            "tool.progress",
            json!({"callID": "c1", "structured": {}, "content": [{"type": "text", "text": "a"}]}),
        ),
    ];
    let sessions = sessions_of(Dialect::OpenCodeEvents, &lines);
    let (mut pieces, mut args) = (Vec::new(), Vec::new());
    for event in &sessions["ses_1"] {
        match &event.payload {
            Payload::ToolInputChunk(piece) => pieces.push((piece.offset, piece.chunk.as_str())),
            Payload::ToolCall(call) => args.push(call.args.to_value()),
            _ => {}
        }
    }
    let wanted = [
        (Some(0), "{\"command\":"),
        (Some(11), "\"é"),
        (Some(13), "\"}"),
    ];
    assert_eq!(pieces, wanted);
    assert_eq!(args, [json!({"command": "é"})]);
}

#[test]
fn errors_retries_commands_and_compactions_of_the_newer_events_are_told() {
    let lines = [
        next(
            1,
            "prompted",
            json!({"messageID": "msg_1", "prompt": {"text": "Go", "files": [{"uri": "data:image/png;base64,AA==", "mime": "image/png", "name": "a.png"}]}}),
        ),
        step(2, "step.started", json!({"model": {"id": "m"}})),
        next(
            3,
            "retried",
            json!({"attempt": 1, "error": {"message": "busy", "isRetryable": true}}),
        ),
        step(
            4,
            "step.failed",
            json!({"error": {"type": "unknown", "message": "no more"}}),
        ),
        next(5, "shell.started", json!({"callID": "s1", "command": "ls"})),
        next(6, "shell.ended", json!({"callID": "s1", "output": "a"})),
        next(7, "compaction.started", json!({"reason": "manual"})),
        next(8, "compaction.ended", json!({"text": "All so far."})),
        next(9, "novel", json!({"a": 1})),
    ];
    let read = crate::support::read_lines(Dialect::OpenCodeEvents, &lines);
    assert_sound("next", &read.events);
    let told = told(&read.events);
    for line in [
        "user Go",
        "error  no more",
        "end failed",
        "call s1 bash",
        "result s1 a",
        "compaction manual",
    ] {
        assert!(told.contains(&line.to_owned()), "{line}: {told:?}");
    }
    assert_eq!(read.report.raw.get("session.next.novel"), Some(&1));
    let summary = read.events.iter().find_map(|event| match &event.payload {
        Payload::Compaction(compaction) => compaction.summary.clone(),
        _ => None,
    });
    assert_eq!(summary.as_deref(), Some("All so far."));
}
