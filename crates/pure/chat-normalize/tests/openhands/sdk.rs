//! The events of OpenHands' SDK.

use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

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

fn prompt(id: &str, text: &str) -> Value {
    sdk(
        "MessageEvent",
        id,
        json!({"source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
    )
}

fn state(id: &str, value: &str) -> Value {
    sdk(
        "ConversationStateUpdateEvent",
        id,
        json!({"source": "environment", "key": "execution_status", "value": value}),
    )
}

fn call(id: &str, call: &str) -> Value {
    sdk(
        "ActionEvent",
        id,
        json!({"thought": [], "action": {"kind": "TerminalAction"}, "tool_name": "terminal", "tool_call_id": call,
        "tool_call": {"arguments": "{\"command\": \"ls\", \"security_risk\": \"LOW\", \"summary\": \"List\"}"},
        "llm_response_id": format!("r-{id}")}),
    )
}

fn result(id: &str, action: &str, call: &str) -> Value {
    sdk(
        "ObservationEvent",
        id,
        json!({"source": "environment", "action_id": action, "tool_call_id": call, "tool_name": "terminal",
        "observation": {"content": [{"type": "text", "text": "ok"}]}}),
    )
}

fn finish(id: &str) -> Value {
    sdk(
        "ActionEvent",
        id,
        json!({"thought": [], "action": {"kind": "FinishAction", "message": "Done."}, "tool_name": "finish",
        "tool_call_id": format!("{id}-call"), "llm_response_id": "r-f"}),
    )
}

fn finished(id: &str, action: &str) -> Value {
    sdk(
        "ObservationEvent",
        id,
        json!({"source": "environment", "action_id": action, "tool_call_id": format!("{action}-call"),
        "tool_name": "finish", "observation": {"content": []}}),
    )
}

fn tells(lines: &[Value]) -> Vec<String> {
    let read = read_lines(Dialect::OpenHands, lines);
    assert_sound("sdk", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    told(&read.events)
}

#[test]
fn a_turn_is_over_once_all_calls_of_the_answer_that_finishes_have_their_results() {
    let begin = [prompt("u", "Do"), call("a1", "c1"), finish("a2")];
    let expected = [
        "turn user",
        "user Do",
        "call c1 terminal",
        "done Done.",
        "result c1 ok",
        "end completed",
    ];
    let results = [result("o1", "a1", "c1"), finished("o2", "a2")];
    let other_way = [finished("o2", "a2"), result("o1", "a1", "c1")];
    for results in [results, other_way] {
        assert_eq!(tells(&[&begin[..], &results].concat()), expected);
    }
}

#[test]
fn a_turn_that_a_stop_hook_says_no_to_goes_on() {
    let hook = sdk(
        "HookExecutionEvent",
        "h",
        json!({"source": "hook", "hook_event_type": "Stop", "blocked": true, "reason": "Test first"}),
    );
    let feedback = sdk(
        "MessageEvent",
        "e",
        json!({"source": "environment", "llm_message": {"role": "user",
        "content": [{"type": "text", "text": "[Stop hook feedback] Test first"}]}}),
    );
    let lines = [
        prompt("u", "Do"),
        finish("a1"),
        finished("o1", "a1"),
        hook,
        feedback,
        call("a2", "c2"),
        result("o2", "a2", "c2"),
        prompt("u2", "Next"),
    ];
    assert_eq!(
        tells(&lines),
        [
            "turn user",
            "user Do",
            "done Done.",
            "notice Test first",
            "call c2 terminal",
            "result c2 ok",
            "end interrupted",
            "turn user",
            "user Next",
            "end interrupted",
        ]
    );
}

#[test]
fn what_the_program_says_to_a_model_that_did_nothing_is_no_prompt() {
    let answer = |id: &str, text: &str| {
        sdk(
            "MessageEvent",
            id,
            json!({"llm_message": {"role": "assistant", "content": [{"type": "text", "text": text}]}, "llm_response_id": id}),
        )
    };
    let nudge = "Your last response did not include a function call or a message. Please use a tool to proceed with the task.";
    let lines = [
        prompt("u", "Do"),
        answer("m1", ""),
        prompt("u2", nudge),
        answer("m2", "Well."),
    ];
    let notice = format!("notice {nudge}");
    assert_eq!(
        tells(&lines),
        [
            "turn user",
            "user Do",
            &notice,
            "done Well.",
            "end completed"
        ]
    );
}

#[test]
fn rest_before_any_work_ends_no_turn_and_a_pause_ends_it() {
    let lines = [
        prompt("u", "Do"),
        state("i", "idle"),
        state("r", "running"),
        call("a1", "c1"),
        result("o1", "a1", "c1"),
        state("p", "paused"),
        sdk("PauseEvent", "p2", json!({"source": "user"})),
        prompt("u2", "On"),
        sdk("InterruptEvent", "p3", json!({"source": "user"})),
    ];
    assert_eq!(
        tells(&lines),
        [
            "turn user",
            "user Do",
            "call c1 terminal",
            "result c1 ok",
            "interrupt user_cancel",
            "end interrupted",
            "turn user",
            "user On",
            "interrupt user_cancel",
            "end interrupted",
        ]
    );
}

#[test]
fn thoughts_of_the_responses_api_and_pictures_are_told_and_what_the_program_adds_is_not() {
    let picture = json!({"type": "image", "image_urls": ["data:image/gif;base64,R0lG"]});
    let mut asks = prompt("u", "Look");
    asks["llm_message"]["content"]
        .as_array_mut()
        .unwrap()
        .push(picture.clone());
    let mut acts = call("a1", "c1");
    acts["responses_reasoning_item"] = json!({"id": "rs", "summary": ["Deep.", "Deeper."]});
    let mut gives = result("o1", "a1", "c1");
    gives["observation"] = json!({"kind": "MCPToolObservation", "is_error": true, "content": [
        {"type": "text", "text": "[Tool 'look' executed.]"}, {"type": "text", "text": "no light"}, picture]});
    let risk = sdk(
        "SecurityAnalysisEvent",
        "s",
        json!({"risks": {"a1": "LOW"}}),
    );
    let read = read_lines(Dialect::OpenHands, &[asks, acts, risk, gives]);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Look",
            "thinking Deep.\n\nDeeper.",
            "call c1 terminal",
            "failed c1 error",
            "end interrupted",
        ]
    );
    let said = read.events.iter().map(|event| event.to_line());
    let said: Vec<String> = said.collect();
    let with_picture = said.iter().filter(|line| line.contains("R0lG"));
    assert_eq!(with_picture.count(), 2);
    let call = said
        .iter()
        .find(|line| line.contains("tool_call\""))
        .unwrap();
    assert!(
        !call.contains("security_risk") && !call.contains("summary"),
        "{call}"
    );
    let result = said
        .iter()
        .find(|line| line.contains("tool_result\""))
        .unwrap();
    assert!(result.contains("\"message\":\"no light\""), "{result}");
}
