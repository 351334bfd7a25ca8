//! What the reader of AG-UI events holds: over a recorded run, and on small inputs of kinds that it lacks.

mod snapshots;

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{assert_cuts, assert_sound, read, read_lines, sources, told};

#[test]
fn a_recorded_run_is_told_cut_anywhere_and_whole() {
    for source in sources("fixtures/ag-ui", |_| true) {
        let whole = read(&source.bytes);
        assert_eq!(whole.dialect, Some(Dialect::AgUi), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
        assert_eq!(whole.events[0].session_id, "thread-1");
        let lines: Vec<String> = told(&whole.events)
            .into_iter()
            .filter(|line| !line.contains("chunk "))
            .collect();
        assert_eq!(
            lines,
            [
                "turn user",
                "thinking I should list files.",
                "done Let me look.",
                "call call_1 bash",
                "result call_1 a.txt\nb.txt",
                "done Two files.",
                "end completed",
            ]
        );
        let responses: Vec<&str> = whole
            .events
            .iter()
            .filter(|event| {
                matches!(
                    event.payload,
                    Payload::ThinkingDone(_) | Payload::AssistantDone(_) | Payload::ToolCall(_)
                )
            })
            .map(|event| event.response_id.as_deref().unwrap())
            .collect();
        // The thought, its message and the call are one response; the answer to the result is another.
        assert_eq!(responses[0], responses[1]);
        assert_eq!(responses[1], responses[2]);
        assert_ne!(responses[2], responses[3]);
    }
}

fn event(kind: &str, mut members: Value) -> Value {
    members["type"] = kind.into();
    members
}

fn run(lines: Vec<Value>) -> Vec<Value> {
    let mut all = vec![event("RUN_STARTED", json!({"threadId": "t", "runId": "r"}))];
    all.extend(lines);
    all
}

/// What is told, chunks left out.
fn said(lines: &[Value]) -> Vec<String> {
    let read = read_lines(Dialect::AgUi, lines);
    assert_sound("small", &read.events);
    told(&read.events)
        .into_iter()
        .filter(|line| !line.contains("chunk "))
        .collect()
}

#[test]
fn names_in_any_case_and_chunks_without_ends_say_the_same() {
    let lines = run(vec![
        event(
            "TEXT_MESSAGE_CHUNK",
            json!({"messageId": "m", "role": "assistant", "delta": "Hel"}),
        ),
        event("STATE_DELTA", json!({"delta": []})),
        event("TEXT_MESSAGE_CHUNK", json!({"delta": "lo"})),
        event(
            "TOOL_CALL_CHUNK",
            json!({"toolCallId": "c", "toolCallName": "search", "delta": "{\"q\":"}),
        ),
        event("TOOL_CALL_CHUNK", json!({"delta": "1}"})),
        event(
            "TOOL_CALL_RESULT",
            json!({"messageId": "x", "toolCallId": "c", "content": [{"type": "text", "text": "found"}]}),
        ),
        event(
            "REASONING_MESSAGE_CHUNK",
            json!({"messageId": "h", "delta": "Hm"}),
        ),
        event(
            "RUN_FINISHED",
            json!({"threadId": "t", "runId": "r", "usage": [{"model": "a", "inputTokens": 10, "cachedInputTokens": 4, "outputTokens": 2}]}),
        ),
    ]);
    let expected = [
        "turn user",
        "notice the state did not change",
        "done Hello",
        "call c search",
        "result c found",
        "thinking Hm",
        "usage turn 6/2",
        "end completed",
    ];
    // What is open when the run ends is closed behind its usage.
    let told = said(&lines);
    assert_eq!(told.len(), expected.len());
    for line in expected {
        assert!(told.iter().any(|told| told == line), "{line} in {told:?}");
    }
    let camel: Vec<Value> = lines
        .iter()
        .filter(|line| line["type"] != "STATE_DELTA")
        .map(|line| {
            let words = line["type"].as_str().unwrap().to_ascii_lowercase();
            let kind: String = words
                .split('_')
                .map(|word| format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..]))
                .collect();
            let mut line = line.clone();
            line["type"] = kind.into();
            line
        })
        .collect();
    let plain: Vec<Value> = lines
        .into_iter()
        .filter(|line| line["type"] != "STATE_DELTA")
        .collect();
    assert_eq!(said(&camel), said(&plain));
}

#[test]
fn a_run_that_waits_asks_and_the_next_ones_input_answers() {
    let lines = run(vec![
        event(
            "TOOL_CALL_START",
            json!({"toolCallId": "c", "toolCallName": "confirm"}),
        ),
        event("TOOL_CALL_END", json!({"toolCallId": "c"})),
        event(
            "RUN_FINISHED",
            json!({"threadId": "t", "runId": "r", "outcome": {"type": "interrupt", "interrupts": [
            {"id": "i", "reason": "tool_approval", "toolCallId": "c", "message": "May I?"},
            {"id": "j", "reason": "input", "message": "Which?", "responseSchema": {"type": "string"}}]}}),
        ),
        event(
            "RUN_STARTED",
            json!({"threadId": "t", "runId": "r2", "input": {"threadId": "t", "runId": "r2",
            "resume": [{"interruptId": "i", "status": "resolved", "payload": {"approved": true}}],
            "messages": [{"id": "u0", "role": "user", "content": "old"}, {"id": "a0", "role": "assistant", "content": "x"},
                {"id": "t0", "role": "tool", "toolCallId": "c", "content": "yes"}, {"id": "u1", "role": "user", "content": "Go on"}]}}),
        ),
        event("RUN_ERROR", json!({"message": "broken", "code": "E1"})),
        event("RUN_STARTED", json!({"threadId": "t", "runId": "r3"})),
        event(
            "RUN_FINISHED",
            json!({"threadId": "t", "runId": "r3", "outcome": {"type": "cancelled"}}),
        ),
    ]);
    let read = read_lines(Dialect::AgUi, &lines);
    assert_sound("waits", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "call c confirm",
            "asked i",
            "end completed",
            "answered allow",
            "result c yes",
            "turn user",
            "user Go on",
            "error E1 broken",
            "end failed",
            "turn user",
            "interrupt user_cancel",
            "end interrupted",
        ]
    );
    let questions: Vec<String> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::QuestionRequest(asked) => Some(asked.questions[0].text.clone()),
            Payload::QuestionResolved(answer) => Some(answer.outcome.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(questions, ["Which?", "expired"]);
}

#[test]
fn a_call_that_begins_under_an_id_used_before_is_another_one() {
    let call = |end: &str| {
        [
            event(
                "TOOL_CALL_START",
                json!({"toolCallId": "call_0", "toolCallName": "ls"}),
            ),
            event(
                "TOOL_CALL_ARGS",
                json!({"toolCallId": "call_0", "delta": "{}"}),
            ),
            event("TOOL_CALL_END", json!({"toolCallId": "call_0"})),
            event(
                "TOOL_CALL_RESULT",
                json!({"messageId": end, "toolCallId": "call_0", "content": end}),
            ),
            event(
                "TOOL_CALL_ARGS",
                json!({"toolCallId": "call_0", "delta": "late"}),
            ),
        ]
    };
    let mut lines = run(call("one").to_vec());
    lines.push(event(
        "RUN_FINISHED",
        json!({"threadId": "t", "runId": "r"}),
    ));
    lines.push(event(
        "RUN_STARTED",
        json!({"threadId": "t", "runId": "r2"}),
    ));
    lines.extend(call("two"));
    // A snapshot says what was told.
    let calls = json!([{"id": "call_0", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]);
    let messages = json!([{"id": "a", "role": "assistant", "content": "", "toolCalls": calls},
        {"id": "two", "role": "tool", "toolCallId": "call_0", "content": "two"}]);
    lines.push(event("MESSAGES_SNAPSHOT", json!({"messages": messages})));
    lines.push(event(
        "RUN_FINISHED",
        json!({"threadId": "t", "runId": "r2"}),
    ));
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "call call_0 ls",
            "result call_0 one",
            "end completed",
            "turn user",
            "call call_0~2 ls",
            "result call_0~2 two",
            "end completed",
        ]
    );
}

#[test]
fn each_piece_of_a_message_that_goes_on_is_a_part_of_its_own() {
    let piece = |n: usize, text: &str| {
        let call = format!("k{n}");
        [
            event("TEXT_MESSAGE_START", json!({"messageId": "m"})),
            event(
                "TEXT_MESSAGE_CONTENT",
                json!({"messageId": "m", "delta": text}),
            ),
            event("TEXT_MESSAGE_END", json!({"messageId": "m"})),
            event(
                "TOOL_CALL_START",
                json!({"toolCallId": call, "toolCallName": "ls", "parentMessageId": "m"}),
            ),
            event(
                "TOOL_CALL_RESULT",
                json!({"messageId": format!("t{n}"), "toolCallId": call, "content": "ok"}),
            ),
        ]
    };
    let mut lines = run(Vec::new());
    for (n, text) in ["One. ", "Two. ", "Three."].iter().enumerate() {
        lines.extend(piece(n, text));
    }
    let messages = json!([{"id": "m", "role": "assistant", "content": "One. Two. Three."}]);
    lines.push(event("MESSAGES_SNAPSHOT", json!({"messages": messages})));
    let events = read_lines(Dialect::AgUi, &lines).events;
    assert_sound("pieces", &events);
    let parts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) => {
                Some((done.text.as_str(), event.response_id.as_deref(), done.part))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("One. ", Some("m"), Some(0)),
            ("Two. ", Some("m"), Some(1)),
            ("Three.", Some("m"), Some(2)),
        ]
    );
}

#[test]
fn what_can_be_no_time_is_none() {
    let mut lines = run(vec![event("TEXT_MESSAGE_CHUNK", json!({"delta": "x"}))]);
    lines[0]["timestamp"] = json!(1_700_000_000_000_u64);
    for no_time in [
        json!(i64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(100_000_000_000_000_u64),
    ] {
        lines[1]["timestamp"] = no_time;
        let events = read_lines(Dialect::AgUi, &lines).events;
        let wrong = events.iter().filter(|event| {
            event
                .timestamp
                .is_some_and(|ms| !(0..=1_700_000_000_000).contains(&ms))
        });
        assert_eq!(wrong.count(), 0, "{}", lines[1]);
    }
}

#[test]
fn sub_agents_stand_in_the_call_that_started_them_or_in_one_of_their_own() {
    let lines = run(vec![
        event(
            "TOOL_CALL_START",
            json!({"toolCallId": "c", "toolCallName": "task"}),
        ),
        event("TOOL_CALL_END", json!({"toolCallId": "c"})),
        event(
            "SUBAGENT_STARTED",
            json!({"subagentRunId": "s1", "name": "finder", "parentToolCallId": "c"}),
        ),
        event(
            "SUBAGENT_STARTED",
            json!({"subagentRunId": "s2", "name": "reader", "description": "Reads", "parentSubagentRunId": "s1"}),
        ),
        event(
            "TEXT_MESSAGE_CHUNK",
            json!({"messageId": "m", "delta": "in", "subagentRunId": "s2"}),
        ),
        event(
            "SUBAGENT_FINISHED",
            json!({"subagentRunId": "s2", "result": "read"}),
        ),
        event(
            "SUBAGENT_ERROR",
            json!({"subagentRunId": "s1", "message": "lost"}),
        ),
        event(
            "TOOL_CALL_RESULT",
            json!({"messageId": "x", "toolCallId": "c", "content": "ok"}),
        ),
        event("RUN_FINISHED", json!({"threadId": "t", "runId": "r"})),
    ]);
    let read = read_lines(Dialect::AgUi, &lines);
    assert_sound("sub-agents", &read.events);
    let nested: Vec<(String, Option<&str>)> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolCall(call) => Some((
                call.tool_call_id.clone(),
                event.parent_tool_call_id.as_deref(),
            )),
            Payload::AssistantDone(done) => {
                Some((done.text.clone(), event.parent_tool_call_id.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        nested,
        [
            ("c".to_owned(), None),
            ("s2".to_owned(), Some("c")),
            ("in".to_owned(), Some("s2")),
        ]
    );
}

proptest! {
    #[test]
    fn any_order_of_events_ends_what_it_begins(
        picks in proptest::collection::vec((0usize..23, 0usize..3, 0usize..3), 1..60)
    ) {
        const KINDS: [&str; 23] = ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STEP_STARTED", "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK", "TOOL_CALL_START", "TOOL_CALL_ARGS",
            "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT", "THINKING_TEXT_MESSAGE_START",
            "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT",
            "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "REASONING_MESSAGE_CHUNK", "RAW", "STATE_DELTA"];
        let lines: Vec<Value> = picks
            .into_iter()
            .map(|(kind, at, other)| {
                let role = ["user", "assistant", "tool"][other];
                let mut line = json!({"type": KINDS[kind], "delta": "x", "toolCallName": "t", "content": "c",
                    "outcome": {"type": "interrupt", "interrupts": [{"id": format!("i{at}"), "reason": "r"}]},
                    "messages": [{"id": format!("m{at}"), "role": role, "content": "z",
                        "toolCallId": "c0", "toolCalls": [{"id": format!("c{other}")}]}]});
                if other > 0 { line["messageId"] = format!("m{at}").into(); }
                if at > 0 { line["toolCallId"] = format!("c{other}").into(); }
                if other == 2 { line["subagentRunId"] = format!("s{at}").into(); }
                if at == 2 { line["runId"] = "r".into(); }
                line
            })
            .collect();
        let read = read_lines(Dialect::AgUi, &lines);
        prop_assert_eq!(read.verdict, Ok(()));
        assert_sound("any order", &read.events);
    }
}

#[test]
fn a_time_in_seconds_is_read_back_as_it_was_written() {
    let lines = [
        json!({"type": "RUN_STARTED", "timestamp": 1_795_295_217, "threadId": "t", "runId": "r"}),
        json!({"type": "RUN_FINISHED", "timestamp": 1_795_295_218, "threadId": "t", "runId": "r"}),
    ];
    let events = read_lines(Dialect::AgUi, &lines).events;
    assert!(!events.is_empty());
    for event in &events {
        // The end of the lines has the time of who reads them, which is 0 here.
        let is_end = matches!(event.payload, Payload::SessionEnd(_));
        assert!(
            is_end || event.timestamp >= Some(1_795_295_217_000),
            "{event:?}"
        );
        let again = ChatEvent::from_json(&event.to_line()).unwrap();
        assert_eq!(again, *event);
    }
}
