//! What OpenHands' dialect holds, over public files and small inputs of kinds that none of them has.

use std::collections::BTreeMap;

use crate::support::{Source, assert_cuts, assert_sound, read, read_lines, sources, told, values};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

fn all() -> Vec<Source> {
    sources("fixtures/openhands", |_| true)
}

#[test]
fn every_file_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    for source in all() {
        let whole = read(&source.bytes);
        assert_eq!(whole.verdict, Ok(()), "{}", source.name);
        assert_eq!(whole.dialect, Some(Dialect::OpenHands), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
    }
}

/// What the items of a source say, by its own words.
fn items_say(source: &Source) -> Vec<String> {
    let mut items = Vec::new();
    for value in values(&source.bytes) {
        match value["history"].as_array() {
            Some(history) => items.extend(history.clone()),
            None => items.push(value),
        }
    }
    let mut said = Vec::new();
    for item in items {
        let args = if item["args"].is_object() {
            &item["args"]
        } else {
            &item
        };
        let text = |key: &str| args[key].as_str().unwrap_or("").to_owned();
        match (item["action"].as_str(), item["observation"].as_str()) {
            (Some("message"), _) => said.push(format!("user {}", text("content"))),
            (Some("finish"), _) => said.push(format!("done {}", text("thought"))),
            (Some(_), _) => {
                said.push(format!("done {}", text("thought")));
                said.push("call".to_owned());
            }
            (None, Some(_)) => said.push(format!("result {}", item["content"].as_str().unwrap())),
            (None, None) => panic!("{item}"),
        }
    }
    said.retain(|line| line != "done ");
    said
}

fn events_say(events: &[ChatEvent]) -> Vec<String> {
    let said = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(format!("user {}", message.text.preview())),
        Payload::AssistantDone(done) => Some(format!("done {}", done.text)),
        Payload::ToolCall(_) => Some("call".to_owned()),
        Payload::ToolResult(result) => Some(format!("result {}", result.result.display_text())),
        _ => None,
    });
    said.collect()
}

#[test]
fn the_events_say_what_the_items_say() {
    for source in all() {
        let events = read(&source.bytes).events;
        assert_eq!(events_say(&events), items_say(&source), "{}", source.name);
    }
}

#[test]
fn edits_costs_and_tokens_are_those_of_the_source() {
    for source in all() {
        let events = read(&source.bytes).events;
        let edits: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::FileEdit(edit) => Some((
                    edit.file_path.as_str(),
                    edit.change_type.as_str(),
                    edit.full_diff_available,
                )),
                _ => None,
            })
            .collect();
        let cost: f64 = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::Usage(usage) => usage.cost_usd,
                _ => None,
            })
            .sum();
        let output: u64 = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::Usage(usage) => Some(usage.output_tokens),
                _ => None,
            })
            .sum();
        if source.name.ends_with("basic.json") {
            assert_eq!(edits, [("/workspace/game_2048.py", "created", true)]);
            assert_eq!(output, 1135 + 177);
        } else {
            let tasks = values(&source.bytes);
            let costs: f64 = tasks
                .iter()
                .map(|task| task["metrics"]["accumulated_cost"].as_f64().unwrap())
                .sum();
            assert!((cost - costs).abs() < 1e-9, "{cost} {costs}");
            let patched: usize = tasks
                .iter()
                .map(|task| {
                    task["git_patch"]
                        .as_str()
                        .unwrap()
                        .matches("diff --git ")
                        .count()
                })
                .sum();
            assert_eq!(edits.len(), patched);
            assert_eq!(edits[0], ("LICENSE", "created", true));
        }
    }
}

fn event(id: u64, source: &str, mut rest: Value) -> Value {
    rest["id"] = json!(id);
    rest["source"] = json!(source);
    rest["timestamp"] = json!("2026-01-01T00:00:00.5");
    rest
}

#[test]
fn questions_delegates_and_states_are_told() {
    let state = |id: u64, state: &str| {
        event(
            id,
            "environment",
            json!({"observation": "agent_state_changed", "content": "", "extras": {"agent_state": state, "reason": "why"}}),
        )
    };
    let lines = [
        event(
            0,
            "agent",
            json!({"action": "system", "args": {"content": "You are"}}),
        ),
        event(
            1,
            "user",
            json!({"action": "message", "args": {"content": "Go", "image_urls": ["data:image/png;base64,AA"]}}),
        ),
        event(2, "user", json!({"action": "recall", "args": {}})),
        event(
            3,
            "agent",
            json!({"action": "run", "args": {"command": "rm x", "thought": "Delete.", "confirmation_state": "awaiting_confirmation"}}),
        ),
        state(4, "awaiting_user_confirmation"),
        state(5, "user_rejected"),
        event(
            6,
            "user",
            json!({"observation": "user_rejected", "content": "no", "cause": 3, "extras": {}}),
        ),
        event(
            7,
            "agent",
            json!({"action": "delegate", "args": {"agent": "Browser", "inputs": {"task": "look"}}}),
        ),
        event(
            8,
            "user",
            json!({"action": "message", "args": {"content": "look"}}),
        ),
        event(
            9,
            "agent",
            json!({"action": "browse", "args": {"url": "http://x"}}),
        ),
        event(
            10,
            "agent",
            json!({"observation": "browse", "content": "page", "cause": 9, "extras": {}}),
        ),
        event(
            11,
            "agent",
            json!({"action": "finish", "args": {"final_thought": "Looked."}}),
        ),
        event(
            12,
            "agent",
            json!({"observation": "delegate", "content": "Looked.", "cause": 7, "extras": {}}),
        ),
        event(
            13,
            "agent",
            json!({"action": "think", "args": {"thought": "Hm."}}),
        ),
        event(
            14,
            "agent",
            json!({"observation": "think", "content": "logged", "cause": 13}),
        ),
        event(
            15,
            "agent",
            json!({"action": "task_tracking", "args": {"command": "plan", "task_list": [{"title": "a", "status": "done"}]}}),
        ),
        event(
            16,
            "agent",
            json!({"observation": "error", "content": "bad", "cause": 15}),
        ),
        event(
            17,
            "agent",
            json!({"action": "run", "args": {"command": "sleep 9"}}),
        ),
        state(18, "error"),
        event(
            19,
            "user",
            json!({"action": "message", "args": {"content": "Again"}}),
        ),
        event(
            20,
            "agent",
            json!({"action": "message", "args": {"content": "Sure?", "wait_for_response": true}}),
        ),
        state(21, "awaiting_user_input"),
        state(22, "awaiting_user_input"),
    ];
    let read = read_lines(Dialect::OpenHands, &lines);
    assert_sound("states", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "done Delete.",
            "call e3 run",
            "asked e3:ask",
            "answered deny",
            "failed e3 rejected",
            "call e7 delegate",
            "user look",
            "call e9 browse",
            "result e9 page",
            "done Looked.",
            "result e7 Looked.",
            "thinking Hm.",
            "call e15 task_tracking",
            "plan 1",
            "failed e15 error",
            "call e17 run",
            "error  why",
            "failed e17 no_result",
            "end failed",
            "turn user",
            "user Again",
            "done Sure?",
            "end completed",
        ]
    );
    let within: Vec<&str> = read
        .events
        .iter()
        .filter(|event| event.parent_tool_call_id.as_deref() == Some("e7"))
        .map(ChatEvent::event_type)
        .collect();
    assert_eq!(
        within,
        ["user_message", "tool_call", "tool_result", "assistant_done"]
    );
}

#[test]
fn words_of_the_user_while_a_call_runs_leave_it_running() {
    let lines = [
        event(
            0,
            "user",
            json!({"action": "message", "args": {"content": "Test"}}),
        ),
        event(
            1,
            "agent",
            json!({"action": "run", "args": {"command": "pytest"}}),
        ),
        event(
            2,
            "user",
            json!({"action": "message", "args": {"content": "also lint"}}),
        ),
        event(
            3,
            "agent",
            json!({"observation": "run", "content": "3 passed", "cause": 1, "extras": {"exit_code": 0}}),
        ),
        event(
            4,
            "agent",
            json!({"action": "message", "args": {"content": "ok"}}),
        ),
        event(
            5,
            "user",
            json!({"action": "message", "args": {"content": "Now this"}}),
        ),
    ];
    let events = read_lines(Dialect::OpenHands, &lines).events;
    assert_sound("steered", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user Test",
            "call e1 run",
            "user also lint",
            "result e1 3 passed",
            "done ok",
            "end completed",
            "turn user",
            "user Now this",
            "end interrupted",
        ]
    );
    let steered: Vec<bool> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::UserMessage(message) => Some(message.extra.get("steering").is_some()),
            _ => None,
        })
        .collect();
    assert_eq!(steered, [false, true, false]);
}

#[test]
fn a_yes_that_nobody_gave_was_not_refused_by_the_user() {
    let lines = [
        event(
            0,
            "user",
            json!({"action": "message", "args": {"content": "rm it"}}),
        ),
        event(
            1,
            "agent",
            json!({"action": "run", "args": {"command": "rm x", "confirmation_state": "awaiting_confirmation"}}),
        ),
    ];
    let events = read_lines(Dialect::OpenHands, &lines).events;
    assert_sound("unanswered", &events);
    let answers: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::PermissionResolved(answer) => {
                Some((answer.decision.as_str(), answer.by.as_deref()))
            }
            _ => None,
        })
        .collect();
    assert_eq!(answers, [("cancel", None)]);
}

/// An event of the SDK.
fn sdk(kind: &str, id: &str, mut rest: Value) -> Value {
    rest["kind"] = json!(kind);
    rest["id"] = json!(id);
    rest["source"] = rest.get("source").cloned().unwrap_or(json!("agent"));
    rest["timestamp"] = json!("2026-05-01T10:00:00");
    rest
}

#[test]
fn the_calls_for_which_the_sdk_waits_are_all_asked_for_and_each_is_answered() {
    let prompt = sdk(
        "MessageEvent",
        "u1",
        json!({"source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": "Clean up"}]}}),
    );
    let action = |n: u32| {
        let args = format!("{{\"command\": \"rm {n}\"}}");
        sdk(
            "ActionEvent",
            &format!("a{n}"),
            json!({"thought": [], "action": {"kind": "TerminalAction"}, "tool_name": "terminal", "tool_call_id": format!("c{n}"),
            "tool_call": {"arguments": args}, "llm_response_id": "r1"}),
        )
    };
    let observation = |n: u32| {
        sdk(
            "ObservationEvent",
            &format!("o{n}"),
            json!({"source": "environment", "action_id": format!("a{n}"), "tool_call_id": format!("c{n}"), "tool_name": "terminal",
            "observation": {"content": [{"type": "text", "text": "gone"}], "exit_code": 0}}),
        )
    };
    let rejection = |n: u32| {
        sdk(
            "UserRejectObservation",
            &format!("o{n}"),
            json!({"source": "environment", "action_id": format!("a{n}"), "tool_call_id": format!("c{n}"), "tool_name": "terminal",
            "rejection_reason": "Keep it"}),
        )
    };
    let state = |id: &str, value: &str| {
        sdk(
            "ConversationStateUpdateEvent",
            id,
            json!({"source": "environment", "key": "execution_status", "value": value}),
        )
    };
    let waits = || state("w1", "waiting_for_confirmation");
    let asked = [
        "turn user",
        "user Clean up",
        "call c1 terminal",
        "call c2 terminal",
        "asked c1:ask",
        "asked c2:ask",
    ];
    let read = |then: &[Value]| {
        let mut lines = vec![prompt.clone(), action(1), action(2), waits()];
        lines.extend_from_slice(then);
        let events = read_lines(Dialect::OpenHands, &lines).events;
        assert_sound("confirmed", &events);
        let mut told = told(&events);
        let rest = told.split_off(asked.len());
        assert_eq!(told, asked);
        rest
    };
    let finished = state("f", "finished");
    let again = state("w2", "waiting_for_confirmation");
    assert_eq!(
        read(&[again, observation(1), rejection(2), finished.clone()]),
        [
            "answered allow",
            "result c1 gone",
            "answered deny",
            "failed c2 rejected",
            "end completed"
        ]
    );
    // That the agent runs again says yes to all that it waited for.
    let runs = [
        state("g", "running"),
        observation(1),
        observation(2),
        finished,
    ];
    assert_eq!(
        read(&runs),
        [
            "answered allow",
            "answered allow",
            "result c1 gone",
            "result c2 gone",
            "end completed"
        ]
    );
    // Who refuses is at rest before the refusals are written.
    let refused = [
        "answered deny",
        "failed c1 rejected",
        "answered deny",
        "failed c2 rejected",
        "end interrupted",
    ];
    assert_eq!(
        read(&[state("i", "idle"), rejection(1), rejection(2)]),
        refused
    );
    assert_eq!(
        read(&[]),
        [
            "answered cancel",
            "answered cancel",
            "failed c1 no_result",
            "failed c2 no_result",
            "end interrupted"
        ]
    );
}

#[test]
fn a_turn_whose_calls_were_all_refused_is_over_once_it_is_quiet() {
    let lines = [
        sdk(
            "ActionEvent",
            "a1",
            json!({"thought": [], "action": {"kind": "TerminalAction", "command": "rm x"}, "tool_name": "terminal",
            "tool_call_id": "c1", "llm_response_id": "r1"}),
        ),
        sdk(
            "ConversationStateUpdateEvent",
            "w",
            json!({"source": "environment", "key": "execution_status", "value": "waiting_for_confirmation"}),
        ),
        sdk(
            "ConversationStateUpdateEvent",
            "i",
            json!({"source": "environment", "key": "execution_status", "value": "idle"}),
        ),
        sdk(
            "UserRejectObservation",
            "o1",
            json!({"source": "environment", "action_id": "a1", "tool_call_id": "c1", "rejection_reason": "No"}),
        ),
    ];
    let read = |lines: &[Value]| {
        let context = Context {
            session_id: Some("s".to_owned()),
            ..Context::default()
        };
        let mut reader = SessionReader::with_dialect(context, Dialect::OpenHands);
        let mut events = Vec::new();
        for line in lines {
            let line = format!("{line}\n");
            reader.push(line.as_bytes(), 0, &mut events).unwrap();
        }
        (reader, events)
    };
    let (mut reader, mut events) = read(&lines);
    assert_eq!(told(&events).last().unwrap(), "failed c1 rejected");
    reader.quiet(10_000, &mut events);
    assert_eq!(told(&events).last().unwrap(), "end interrupted");
    // Where the agent goes on, a pause is no end.
    let runs = sdk(
        "ConversationStateUpdateEvent",
        "g",
        json!({"source": "environment", "key": "execution_status", "value": "running"}),
    );
    let (mut reader, mut events) = read(&[&lines[..], &[runs]].concat());
    reader.quiet(10_000, &mut events);
    assert_eq!(told(&events).last().unwrap(), "failed c1 rejected");
}

#[test]
fn the_events_of_the_sdk_are_told() {
    let action = |id: &str, call: &str, thought: &str| {
        sdk(
            "ActionEvent",
            id,
            json!({"thought": [{"type": "text", "text": thought}], "reasoning_content": null,
            "action": {"kind": "TerminalAction", "command": "ls"}, "tool_name": "terminal", "tool_call_id": call,
            "tool_call": {"id": call, "arguments": "{\"command\": \"ls\"}"}, "llm_response_id": "r1"}),
        )
    };
    let lines = [
        sdk("SystemPromptEvent", "s", json!({})),
        sdk(
            "MessageEvent",
            "u1",
            json!({"source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": "List"}]}}),
        ),
        action("a1", "c1", "Both."),
        action("a2", "c2", ""),
        sdk(
            "ObservationEvent",
            "o2",
            json!({"source": "environment", "action_id": "a2", "tool_call_id": "c2", "tool_name": "terminal",
            "observation": {"kind": "TerminalObservation", "content": [{"type": "text", "text": "b"}], "exit_code": 0}}),
        ),
        sdk(
            "AgentErrorEvent",
            "o1",
            json!({"error": "broken", "tool_call_id": "c1", "tool_name": "terminal"}),
        ),
        sdk(
            "ActionEvent",
            "a3",
            json!({"thought": [], "action": {"kind": "FileEditorAction"}, "tool_name": "file_editor", "tool_call_id": "c3",
            "tool_call": {"arguments": "{\"command\": \"str_replace\", \"path\": \"/w/a\"}"}, "llm_response_id": "r2"}),
        ),
        sdk(
            "ObservationEvent",
            "o3",
            json!({"source": "environment", "action_id": "a3", "tool_call_id": "c3", "tool_name": "file_editor",
            "observation": {"content": [{"type": "text", "text": "ok"}], "path": "/w/a", "prev_exist": true, "old_content": "a\n", "new_content": "b\n"}}),
        ),
        sdk(
            "Condensation",
            "k",
            json!({"source": "environment", "forgotten_event_ids": ["a1"], "summary": "All."}),
        ),
        sdk("StreamingDeltaEvent", "d", json!({"content": "Do"})),
        sdk(
            "ActionEvent",
            "a4",
            json!({"thought": [], "action": {"kind": "FinishAction", "message": "Done."}, "tool_name": "finish", "tool_call_id": "c4", "llm_response_id": "r3"}),
        ),
        sdk(
            "ObservationEvent",
            "o4",
            json!({"source": "environment", "action_id": "a4", "tool_call_id": "c4", "tool_name": "finish", "observation": {"content": []}}),
        ),
        sdk(
            "ConversationStateUpdateEvent",
            "x",
            json!({"source": "environment", "key": "execution_status", "value": "finished"}),
        ),
        sdk("NewEvent", "n", json!({})),
    ];
    let read = read_lines(Dialect::OpenHands, &lines);
    assert_sound("sdk", &read.events);
    let mut told = told(&read.events);
    assert!(told.pop().unwrap().starts_with("raw"));
    assert_eq!(
        told,
        [
            "turn user",
            "user List",
            "done Both.",
            "call c1 terminal",
            "call c2 terminal",
            "result c2 b",
            "failed c1 error",
            "call c3 file_editor",
            "result c3 ok",
            "edit modified /w/a +1 -1",
            "compaction auto",
            "done Done.",
            "end completed",
        ]
    );
}

fn told_of(lines: &[Value]) -> Vec<String> {
    let read = read_lines(Dialect::OpenHands, lines);
    assert_sound("openhands", &read.events);
    told(&read.events)
}

#[test]
fn a_failure_is_told_once_with_its_reason_and_in_its_turn() {
    let event = |at: u64, kind: &str, mut rest: Value| {
        rest["kind"] = kind.into();
        rest["id"] = format!("{kind}{at}").into();
        rest["source"] = "environment".into();
        rest["timestamp"] = format!("2026-01-01T00:00:0{at}").into();
        rest
    };
    let go = |at: u64| {
        let mut go = event(
            at,
            "MessageEvent",
            json!({"llm_message": {"role": "user", "content": "Go"}}),
        );
        go["source"] = "user".into();
        go
    };
    let failed = event(
        1,
        "ConversationStateUpdateEvent",
        json!({"key": "execution_status", "value": "error"}),
    );
    let why = event(
        2,
        "ConversationErrorEvent",
        json!({"code": "LLMAuthenticationError", "detail": "bad key"}),
    );
    let with_reason = [
        "turn user",
        "user Go",
        "error LLMAuthenticationError bad key",
        "end failed",
    ];
    let without = [
        "turn user",
        "user Go",
        "error  the agent failed",
        "end failed",
    ];
    assert_eq!(told_of(&[go(0), failed.clone(), why.clone()]), with_reason);
    assert_eq!(told_of(&[go(0), why, failed.clone()]), with_reason);
    assert_eq!(told_of(&[go(0), failed.clone()])[..], without);
    // The next event ends the turn, at the time at which it failed.
    let lines = [go(0), failed.clone(), go(9)];
    assert_eq!(told_of(&lines)[..4], without);
    let events = read_lines(Dialect::OpenHands, &lines).events;
    let mut ends = events.iter();
    let end = ends.find(|event| matches!(event.payload, Payload::TurnEnd(_)));
    assert_eq!(end.unwrap().timestamp, Some(1_767_225_601_000));
    // So does a quiet period.
    let context = Context {
        session_id: Some("s".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::OpenHands);
    let mut events = Vec::new();
    for line in [go(0), failed] {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
    }
    assert_eq!(told(&events).len(), 2);
    reader.quiet(5_000, &mut events);
    assert_eq!(told(&events), without);
}

#[test]
fn histories_of_pairs_are_read_and_many_open_calls_cost_no_more() {
    let pair = |n: u64| json!([{"action": "run", "args": {"command": format!("{n}")}}, {"observation": "run", "content": "x", "extras": {"exit_code": 0}}]);
    let history: Vec<Value> = (0..3).map(pair).collect();
    let line =
        json!({"instance_id": "django__django-1", "history": history, "error": "out of budget"});
    let read = read_lines(Dialect::OpenHands, &[line]);
    assert_sound("pairs", &read.events);
    assert_eq!(
        told(&read.events)
            .iter()
            .filter(|line| line.starts_with("result"))
            .count(),
        3
    );
    assert!(told(&read.events).contains(&"end failed".to_owned()));
    assert_eq!(read.events[0].session_id, "django__django-1");
    let mut flat: Vec<Value> = (0..10_000)
        .map(|_| json!({"action": "run", "command": "x"}))
        .collect();
    flat.extend((0..10_000).map(|_| json!({"observation": "run", "content": "x"})));
    let read = read_lines(
        Dialect::OpenHands,
        &[json!({"instance_id": "i", "history": flat})],
    );
    assert_sound("many", &read.events);
}

#[test]
fn a_delegate_that_is_done_ends_no_turn() {
    let state = |id: u64, state: &str| {
        event(
            id,
            "agent",
            json!({"observation": "agent_state_changed", "content": "", "extras": {"agent_state": state, "reason": "why"}}),
        )
    };
    let story = |states: &[&str], kind: &str| {
        let mut lines = vec![
            event(
                1,
                "user",
                json!({"action": "message", "args": {"content": "Go"}}),
            ),
            event(
                2,
                "agent",
                json!({"action": "delegate", "args": {"agent": "Browser", "inputs": {}}}),
            ),
        ];
        lines.extend((3..).zip(states).map(|(id, name)| state(id, name)));
        lines.push(event(
            8,
            "agent",
            match kind {
                "delegate" => json!({"observation": kind, "content": "Looked.", "extras": {}}),
                _ => json!({"observation": kind, "content": "Looked.", "cause": 2, "extras": {}}),
            },
        ));
        lines.push(event(
            9,
            "agent",
            json!({"action": "run", "args": {"command": "ls"}}),
        ));
        let read = read_lines(Dialect::OpenHands, &lines);
        assert_sound("a delegate", &read.events);
        let of_run = read.events.iter().find(
            |event| matches!(&event.payload, Payload::ToolCall(call) if call.tool_name == "run"),
        );
        assert_eq!(of_run.unwrap().parent_tool_call_id, None);
        let mut told = told(&read.events);
        told.truncate(told.len() - 2);
        told
    };
    let begun = ["turn user", "user Go", "call e2 delegate"];
    let ended = ["result e2 Looked.", "call e9 run"];
    assert_eq!(
        story(&["finished", "stopped"], "delegate"),
        [&begun[..], &ended[..]].concat()
    );
    assert_eq!(
        story(&["error", "stopped"], "delegate"),
        [&begun[..], &["error  why"], &ended[..]].concat()
    );
    let refused = ["failed e2 rejected", "call e9 run"];
    assert_eq!(
        story(&["finished"], "user_rejected"),
        [&begun[..], &refused[..]].concat()
    );
}
