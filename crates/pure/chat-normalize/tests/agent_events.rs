//! What the `agent.*` events of seed 000 hold: as they come in, as they go out, and there and back.

use crate::support::{assert_sound, read_lines, sources, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{AgentEventAdapter, AgentEventsOut, Dialect, system_event, to_agent_events};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(lines: &[Value]) -> Vec<ChatEvent> {
    let read = read_lines(Dialect::AgentEvents, lines);
    assert_sound("agent events", &read.events);
    read.events
}

fn event(kind: &str, data: Value) -> Value {
    json!({"event_type": kind, "event_data": data})
}

fn chunk(index: u64, text: &str, last: bool) -> Value {
    event(
        "agent.message_chunk",
        json!({"message_id": "m", "chunk": text, "chunk_index": index, "is_final": last}),
    )
}

/// The whole of each message, as it was written last.
fn texts(events: &[ChatEvent]) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for event in events {
        let (kind, text) = match &event.payload {
            Payload::AssistantDone(done) => ("said", done.text.clone()),
            Payload::ThinkingDone(done) => ("thought", done.text.clone()),
            _ => continue,
        };
        let key = format!("{kind} {}", event.response_id.as_deref().unwrap_or(""));
        match texts.iter_mut().find(|(known, _)| *known == key) {
            Some(known) => known.1 = text,
            None => texts.push((key, text)),
        }
    }
    texts
}

#[test]
fn chunks_find_their_place_in_whichever_order_they_come() {
    let mut orders = vec![vec![0usize]];
    for n in 1..4 {
        orders = orders
            .iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, n);
                    order
                })
            })
            .collect();
    }
    let all = [
        chunk(0, "He", false),
        chunk(1, "ll", false),
        chunk(2, "o", false),
        chunk(3, "", true),
    ];
    for order in orders {
        let mut lines: Vec<Value> = order.iter().map(|at| all[*at].clone()).collect();
        lines.push(chunk(1, "ll", false));
        let events = read(&lines);
        assert_eq!(
            texts(&events),
            [("said m".to_owned(), "Hello".to_owned())],
            "{order:?}"
        );
        let chunks: Vec<u64> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::AssistantChunk(chunk) => chunk.index,
                _ => None,
            })
            .collect();
        assert_eq!(
            chunks.len(),
            3,
            "a chunk that is sent again is not shown twice"
        );
    }
}

#[test]
fn late_chunks_are_written_as_such_and_the_whole_once_more_behind_them() {
    let dones = |lines: &[Value]| -> Vec<String> {
        let events = read(lines);
        let dones = events.iter().filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) => Some(done.text.clone()),
            _ => None,
        });
        dones.collect()
    };
    let mut lines = vec![chunk(400, "end", true)];
    lines.extend((0..399).map(|at| chunk(at, "x", false)));
    let whole = format!("{}end", "x".repeat(399));
    // One is missing until the end.
    assert_eq!(dones(&lines), ["end", &whole]);
    lines.push(chunk(399, "", false));
    assert_eq!(dones(&lines), ["end", &whole]);
}

#[test]
fn a_workers_payload_upper_case_names_and_batches_are_read() {
    let events = read(&[
        event(
            "agent.tool_completed",
            json!({"turn": 1, "tool": "Bash", "tool_input": {"command": "ls"}, "tool_response": "a.txt"}),
        ),
        json!({"event_type": "TOOL_EVENTS_BATCH", "entity_type": "sandbox", "entity_id": "s", "payload": {"count": 2, "events": [
            {"event_type": "TOOL_STARTED", "tool_id": "t", "tool_name": "Read", "tool_args": {"path": "a"}},
            {"event_type": "TOOL_FAILED", "tool_id": "t", "tool_name": "Read", "error_message": "no file", "duration_ms": 3, "success": false}]}}),
        json!({"event_type": "step_completed", "message": "Analyzed 15 files", "progress_percent": 30}),
        event("AGENT_THINKING_START", json!({})),
        event(
            "AGENT_MESSAGE_CHUNK",
            json!({"message_id": "h", "chunk": "Hm", "chunk_index": 0}),
        ),
        event("AGENT_THINKING_END", json!({})),
        event(
            "file_modified",
            json!({"file_path": "/w/a", "tool_use_id": "t", "turn": 3, "lines_added": 1, "lines_removed": 2, "diff_preview": "x"}),
        ),
        event("info", json!({"message": "ready"})),
        event("error", json!({"message": "lost"})),
    ]);
    let lines: Vec<String> = told(&events)
        .into_iter()
        .filter(|line| !line.contains("chunk"))
        .collect();
    assert_eq!(
        lines,
        [
            "turn user",
            "call call-1 Bash",
            "result call-1 a.txt",
            "call t Read",
            "failed t ?",
            "thinking Hm",
            "edit modified /w/a +1 -2",
            "notice ready",
            "error  lost",
            "end failed",
        ]
    );
    let turn = events.iter().find_map(|event| match &event.payload {
        Payload::FileEdit(edit) => edit.extra.get("turn").cloned(),
        _ => None,
    });
    assert_eq!(turn.unwrap().as_text(), "3");
}

#[test]
fn calls_without_ids_are_known_by_tool_and_input_and_ids_used_again_name_others() {
    let use_of = |input: &str| {
        event(
            "agent.tool_use",
            json!({"tool": "Bash", "tool_input": input}),
        )
    };
    let done = |input: Option<&str>| {
        let mut data = json!({"tool": "Bash", "tool_response": "ok"});
        if let Some(input) = input {
            data["tool_input"] = input.into();
        }
        event("agent.tool_completed", data)
    };
    let named = |kind: &str| event(kind, json!({"tool_id": "t", "tool_name": "Read"}));
    let events = read(&[
        use_of("a"),
        use_of("b"),
        done(Some("b")),
        done(None),
        named("agent.tool_use"),
        named("agent.tool_completed"),
        named("agent.tool_use"),
        named("agent.tool_completed"),
    ]);
    let results: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result.tool_call_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(results, ["call-2", "call-1", "t", "t~2"]);
}

#[test]
fn what_goes_out_is_the_seeds_payload_field_by_field() {
    let session = [
        json!({"id": "e0", "timestamp": 1, "sessionId": "s", "type": "turn_start", "turnId": "t1", "payload": {"trigger": "user"}}),
        json!({"id": "e1", "timestamp": 2, "sessionId": "s", "type": "tool_call", "turnId": "t1", "payload": {"toolCallId": "c", "toolName": "Bash", "args": {"command": "x".repeat(1001), "deep": ["é".repeat(1001), "short"]}}}),
        json!({"id": "e2", "timestamp": 3, "sessionId": "s", "type": "tool_result", "turnId": "t1", "payload": {"toolCallId": "c", "result": "out", "exitCode": 0, "durationMs": 320}}),
        json!({"id": "e3", "timestamp": 4, "sessionId": "s", "type": "file_edit", "turnId": "t1", "payload": {"toolCallId": "c", "filePath": "/w/a", "changeType": "modified",
            "linesAdded": 15, "linesRemoved": 8, "diffPreview": "--- a", "fullDiff": "--- a\n", "fullDiffAvailable": true, "fullDiffSize": 6}}),
        json!({"id": "e4", "timestamp": 5, "sessionId": "s", "type": "usage", "payload": {}}),
    ];
    let mut out = AgentEventsOut::new();
    let mut told = Vec::new();
    for event in session {
        let event: ChatEvent = serde_json::from_value(event).unwrap();
        out.push(&event, &mut told);
        out.push(&event, &mut told);
    }
    assert_eq!(told.len(), 3, "an event is told once");
    assert_eq!(
        told[0],
        json!({"event_type": "agent.tool_use", "event_data": {"turn": 1, "tool_id": "c", "tool_name": "Bash",
            "tool_args": {"command": "<1001 chars>", "deep": ["<1001 chars>", "short"]}}, "event_id": "e1", "timestamp": 2})
    );
    let data = &told[1]["event_data"];
    assert_eq!(told[1]["event_type"], "agent.tool_completed");
    assert_eq!(data["result_summary"], "Exit code: 0");
    assert_eq!(
        (&data["success"], &data["duration_ms"]),
        (&json!(true), &json!(320))
    );
    assert_eq!(
        (&data["tool"], &data["tool_response"]),
        (&json!("Bash"), &json!("out"))
    );
    assert_eq!(
        told[2]["event_data"],
        json!({"turn": 1, "tool_use_id": "c", "file_path": "/w/a", "change_type": "modified", "lines_added": 15, "lines_removed": 8,
            "diff_preview": "--- a", "full_diff": "--- a\n", "full_diff_available": true, "full_diff_size": 6})
    );
    assert_eq!(out.left_out().get("usage"), Some(&1));
    let sent = system_event("sandbox", "s1", &told[2]);
    assert_eq!(
        (
            &sent["entity_type"],
            &sent["entity_id"],
            &sent["payload"]["lines_added"]
        ),
        (&json!("sandbox"), &json!("s1"), &json!(15))
    );
    assert_eq!(
        AgentEventAdapter::summarize_result("Read", "a\nb", None),
        "2 lines"
    );
}

/// What is true of a session, whichever events said it.
fn facts(events: &[ChatEvent]) -> Vec<String> {
    let mut facts = Vec::new();
    for event in events {
        facts.push(match &event.payload {
            Payload::ToolCall(call) => format!(
                "call {} {} {}",
                call.tool_call_id,
                call.tool_name,
                call.args.as_text()
            ),
            Payload::ToolResult(result) => format!(
                "result {} {} {:?} {:?}",
                result.tool_call_id,
                result.result.display_text(),
                result
                    .error
                    .as_ref()
                    .map(|error| (&error.code, &error.message)),
                result.duration_ms
            ),
            Payload::FileEdit(edit) => format!(
                "edit {} {} {} +{} -{} {} {} {}",
                edit.tool_call_id,
                edit.file_path,
                edit.change_type,
                edit.lines_added,
                edit.lines_removed,
                edit.diff_preview,
                edit.full_diff_available,
                edit.full_diff_size
            ),
            Payload::Progress(progress) => {
                format!("progress {} {:?}", progress.message, progress.percent)
            }
            Payload::ErrorEvent(error) => format!("error {} {}", error.code, error.message),
            Payload::Notice(notice) => format!("notice {} {}", notice.level, notice.text),
            _ => continue,
        });
    }
    let mut said = texts(events);
    said.sort();
    facts.extend(said.into_iter().map(|(key, text)| format!("{key}: {text}")));
    facts
}

#[test]
fn recorded_sessions_go_out_and_come_back_with_their_calls_and_texts() {
    let streams = sources("recordings/claude-code", |name| {
        name.ends_with(".stream.jsonl")
    });
    let wrote = |events: &[ChatEvent]| -> (Vec<String>, String) {
        let calls = events.iter().filter_map(|event| match &event.payload {
            // A call in the background is told when it is over.
            Payload::ToolResult(result) if result.goes_on() => None,
            Payload::ToolResult(result) => Some(format!(
                "{} {}",
                result.tool_call_id,
                result.error.is_some()
            )),
            _ => None,
        });
        let mut text: Vec<String> = texts(events).into_iter().map(|(_, text)| text).collect();
        text.sort();
        (calls.collect(), text.concat())
    };
    for source in streams {
        let events = crate::support::read(&source.bytes).events;
        let told = to_agent_events(&events);
        for report in &told {
            let kind = report["event_type"].as_str().unwrap();
            assert!(kind == kind.to_ascii_lowercase(), "{kind}");
        }
        let again = read(&told);
        let (calls, _) = wrote(&events);
        assert_eq!(wrote(&again).0, calls, "{}", source.name);
        // Parts of one response come back as messages of their own, so only what is said is compared.
        let all = |events: &[ChatEvent]| {
            let mut said: Vec<String> = events
                .iter()
                .filter_map(|event| match &event.payload {
                    Payload::AssistantDone(done) => Some(done.text.clone()),
                    _ => None,
                })
                .collect();
            said.sort();
            said
        };
        assert_eq!(all(&again), all(&events), "{}", source.name);
    }
}

proptest! {
    #[test]
    fn out_and_in_again_gives_equal_facts(
        picks in proptest::collection::vec((0usize..12, 0u64..4, 0u64..5, "[a-z \n]{0,12}"), 1..40)
    ) {
        let lines: Vec<Value> = picks
            .into_iter()
            .map(|(kind, at, n, text)| {
                let (id, message) = (format!("c{at}"), format!("m{at}"));
                match kind {
                    0 => event("agent.tool_use", json!({"tool_id": id, "tool_name": "Bash", "tool_args": {"a": text}})),
                    1 => event("agent.tool_completed", json!({"tool_id": id, "tool_name": "Bash", "result_preview": text, "duration_ms": n})),
                    2 => event("agent.tool_failed", json!({"tool_id": id, "tool_name": "Read", "error_message": format!("e{text}")})),
                    3 => event("agent.file_edited", json!({"tool_use_id": id, "file_path": "/a", "change_type": "created", "lines_added": n, "diff_preview": text, "full_diff": format!("d{text}")})),
                    4 => event("agent.file_deleted", json!({"file_path": "/a", "lines_removed": n})),
                    5 => event("agent.message_chunk", json!({"message_id": message, "chunk": text, "chunk_index": n, "is_final": n == 4})),
                    6 => event("agent.message_chunk", json!({"message_id": message, "chunk": text, "chunk_index": n, "is_thinking": true})),
                    7 => event("agent.message_end", json!({"message_id": message})),
                    8 => event("step_completed", json!({"message": format!("s{text}"), "progress_percent": n})),
                    9 => event("error", json!({"message": format!("x{text}"), "code": "k"})),
                    10 => event("info", json!({"message": format!("i{text}")})),
                    _ => event(["agent.thinking_start", "agent.thinking_end"][usize::from(n > 2)], json!({"message_id": message})),
                }
            })
            .collect();
        let once = read(&lines);
        let again = read(&to_agent_events(&once));
        prop_assert_eq!(facts(&again), facts(&once));
    }
}
