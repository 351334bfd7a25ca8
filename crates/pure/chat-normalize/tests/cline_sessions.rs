//! What today's session files and streams of Cline hold, over small cases.

use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Detection, Dialect, detect};
use serde_json::{Value, json};

const BEGAN_MS: i64 = 1_796_032_800_000;

fn file(messages: Value) -> Value {
    json!({"version": 1, "updated_at": "2026-11-30T10:00:00.000Z", "agent": "lead", "sessionId": "c1", "messages": messages})
}

fn session(messages: Value) -> Vec<ChatEvent> {
    let file = file(messages);
    let printed = serde_json::to_string_pretty(&file).unwrap();
    assert_eq!(
        detect(printed.as_bytes(), true),
        Detection::Found(Dialect::ClineSession)
    );
    let read = read_lines(Dialect::ClineSession, &[file]);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    assert_sound("cline", &read.events);
    read.events
}

fn event(at_ms: i64, event: Value) -> Value {
    let ts = format!("2026-11-30T10:00:00.{at_ms:03}Z");
    json!({"ts": ts, "type": "agent_event", "event": event})
}

fn stream(lines: &[Value]) -> Vec<ChatEvent> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(
        detect(text.as_bytes(), true),
        Detection::Found(Dialect::ClineStream)
    );
    let read = read_lines(Dialect::ClineStream, lines);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    assert_sound("cline", &read.events);
    read.events
}

fn calls(events: &[ChatEvent]) -> Vec<(String, String)> {
    let of_call = |event: &ChatEvent| match &event.payload {
        Payload::ToolCall(call) => {
            Some((call.kind.clone()?, call.title.clone().unwrap_or_default()))
        }
        _ => None,
    };
    events.iter().filter_map(of_call).collect()
}

#[test]
fn a_session_is_told_message_by_message() {
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let gave = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "name": "t", "content": content});
    let read = json!([{"query": "/w/a:1-2", "result": "1 | x", "success": true}]);
    let ran = json!([{"query": "false", "result": "", "error": "exit 3", "success": false}]);
    let edited =
        json!({"query": "edit:/w/a", "result": "Edited /w/a", "success": true}).to_string();
    let both = json!([{"query": "a", "result": "1", "success": true}, {"query": "b", "error": "no", "success": false}]);
    let events = session(json!([
        {"id": "u1", "role": "user", "ts": BEGAN_MS, "content": [
            {"type": "text", "text": "<user_input mode=\"act\">Go</user_input>"},
            {"type": "file", "path": "/w/a", "content": "x"}]},
        {"id": "a1", "role": "assistant", "ts": BEGAN_MS + 5,
            "modelInfo": {"id": "m", "provider": "p"},
            "metrics": {"inputTokens": 10, "outputTokens": 2, "cacheReadTokens": 6, "cacheWriteTokens": 1, "cost": 0.5},
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I look."},
                call("c1", "read_files", json!({"files": [{"path": "/w/a", "start_line": 1, "end_line": 2}]})),
                call("c2", "run_commands", json!({"commands": ["false", "true"]})),
                call("c3", "editor", json!({"path": "/w/a", "old_text": "x\n", "new_text": "y\n"})),
                call("c4", "editor", json!({"path": "/w/b", "new_text": "new\n"})),
                call("c5", "apply_patch", json!({"input": "*** Begin Patch\n*** Add File: c\n+z\n*** End Patch"})),
                call("c6", "search_codebase", json!({"queries": ["a", "b"]}))]},
        {"id": "u2", "role": "user", "ts": BEGAN_MS + 6, "content": [
            gave("c1", read), gave("c2", ran), gave("c3", json!(edited)), gave("c4", json!("ok")), gave("c5", json!("ok")),
            gave("c6", both), {"type": "text", "text": "And hurry."}]},
        {"id": "n", "role": "user", "content": "Compacted", "metadata": {"displayRole": "status"}},
        {"id": "a2", "role": "assistant", "ts": BEGAN_MS + 9, "content": [{"type": "text", "text": "Done."}]},
        {"id": "u3", "role": "user", "ts": BEGAN_MS + 20, "content": "More"},
    ]));
    assert_eq!(events[0].session_id, "c1");
    let wanted = [
        "turn user",
        "user Go",
        "thinking Hm.",
        "done I look.",
        "call c1 read_files",
        "call c2 run_commands",
        "call c3 editor",
        "call c4 editor",
        "call c5 apply_patch",
        "call c6 search_codebase",
        "usage response 3/2",
        "result c1 1 | x",
        "failed c2 error",
        "result c3 Edited /w/a",
        "edit modified /w/a +1 -1",
        "result c4 ok",
        "edit created /w/b +1 -0",
        "result c5 ok",
        "edit created c +1 -0",
        "result c6 a:\n1\nb:\nno",
        "user And hurry.",
        "notice Compacted",
        "done Done.",
        "end completed",
        "turn user",
        "user More",
        "end interrupted",
    ];
    assert_eq!(told(&events), wanted);
    let ends: Vec<_> = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::TurnEnd(_)))
        .map(|event| event.timestamp)
        .collect();
    assert_eq!(
        ends[0],
        Some(BEGAN_MS + 9),
        "it ended with its last message"
    );
    let kinds = calls(&events);
    let titles: Vec<&str> = kinds.iter().map(|(_, title)| title.as_str()).collect();
    assert_eq!(titles, ["/w/a", "false; true", "/w/a", "/w/b", "c", "a, b"]);
}

#[test]
fn a_run_is_told_event_by_event() {
    let start = json!({"ts": "2026-11-30T10:00:00.000Z", "type": "run_start", "providerId": "p", "modelId": "m", "sessionId": "c1"});
    let result = json!({"ts": "2026-11-30T10:00:00.050Z", "type": "run_result", "finishReason": "completed", "iterations": 2, "durationMs": 50, "text": "Done."});
    let text = |kind: &str, text: &str| json!({"type": kind, "contentType": "text", "text": text});
    let events = stream(&[
        start,
        event(1, json!({"type": "iteration_start", "iteration": 1})),
        event(
            2,
            json!({"type": "content_start", "contentType": "reasoning", "reasoning": "Hm."}),
        ),
        event(
            3,
            json!({"type": "content_end", "contentType": "reasoning", "reasoning": "Hm."}),
        ),
        event(4, text("content_start", "I ")),
        event(5, text("content_start", "look.")),
        event(6, text("content_end", "I look.")),
        event(
            7,
            json!({"type": "usage", "inputTokens": 9, "outputTokens": 2, "cacheReadTokens": 4, "totalInputTokens": 9}),
        ),
        event(
            8,
            json!({"type": "content_start", "contentType": "tool", "toolName": "run_commands", "toolCallId": "c1", "input": {"commands": ["ls"]}}),
        ),
        event(
            9,
            json!({"type": "content_update", "contentType": "tool", "toolCallId": "c1", "update": {"stream": "stdout", "chunk": "a\n"}}),
        ),
        event(
            10,
            json!({"type": "content_end", "contentType": "tool", "toolName": "run_commands", "toolCallId": "c1", "durationMs": 2,
            "output": [{"query": "ls", "result": "a\n", "success": true}]}),
        ),
        event(
            11,
            json!({"type": "content_start", "contentType": "tool", "toolName": "ask_question", "toolCallId": "c2", "input": {"question": "Which?", "options": ["A", "B"]}}),
        ),
        event(
            12,
            json!({"type": "content_end", "contentType": "tool", "toolName": "ask_question", "toolCallId": "c2", "output": "A"}),
        ),
        event(
            13,
            json!({"type": "error", "recoverable": true, "error": {"message": "Overloaded"}}),
        ),
        event(14, json!({"type": "iteration_start", "iteration": 2})),
        event(15, text("content_end", "Done.")),
        event(
            16,
            json!({"type": "done", "reason": "completed", "text": "Done.", "iterations": 2}),
        ),
        result,
    ]);
    let wanted = [
        "turn system",
        "thinking chunk Hm.",
        "thinking Hm.",
        "chunk I ",
        "chunk look.",
        "done I look.",
        "usage response 5/2",
        "call c1 run_commands",
        "result c1 a\n",
        "call c2 ask_question",
        "result c2 A",
        "done Done.",
        "end completed",
    ];
    assert_eq!(told(&events), wanted);
    let answers: Vec<Value> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::QuestionResolved(told) => {
                told.answers.as_ref().map(chat_event::Json::to_value)
            }
            _ => None,
        })
        .collect();
    assert_eq!(answers, [json!(["A"])]);
}

#[test]
fn a_run_that_fails_or_is_stopped_says_so() {
    let line = |rest: Value| {
        let mut line = json!({"ts": "2026-11-30T10:00:00.000Z"});
        for (name, value) in rest.as_object().unwrap() {
            line[name] = value.clone();
        }
        line
    };
    let begins = event(1, json!({"type": "iteration_start", "iteration": 1}));
    let fails = event(
        2,
        json!({"type": "error", "recoverable": false, "error": {"message": "No key"}, "iteration": 1}),
    );
    let events = stream(&[begins.clone(), fails]);
    assert_eq!(
        told(&events),
        ["turn system", "error  No key", "end failed"]
    );
    // One that works elsewhere says why with its end alone.
    let failed = event(
        2,
        json!({"type": "done", "reason": "error", "text": "No key", "iterations": 1}),
    );
    let events = stream(&[begins.clone(), failed]);
    assert_eq!(
        told(&events),
        ["turn system", "error  No key", "end failed"]
    );
    let events = stream(&[
        begins,
        line(json!({"type": "run_abort_requested", "reason": "sigint"})),
        line(json!({"type": "run_result", "finishReason": "aborted", "iterations": 1, "text": ""})),
        line(json!({"type": "run_aborted", "reason": "local_abort", "message": "stopped"})),
    ]);
    assert_eq!(
        told(&events),
        ["turn system", "interrupt sigint", "end interrupted"]
    );
}

/// A `hook_event` of an agent: `sub` says for whom it works.
fn hook(name: &str, agent: &str, sub: bool) -> Value {
    json!({"ts": "2026-11-30T10:00:00.000Z", "type": "hook_event", "hookEventName": name, "agentId": agent,
        "parentAgentId": sub.then_some("lead")})
}

fn tool(kind: &str, name: &str, id: &str, rest: Value) -> Value {
    let mut told = json!({"type": kind, "contentType": "tool", "toolName": name, "toolCallId": id});
    for (name, value) in rest.as_object().unwrap() {
        told[name] = value.clone();
    }
    event(1, told)
}

#[test]
fn what_sub_agents_print_is_theirs_and_ends_no_turn() {
    let begins = || event(1, json!({"type": "iteration_start", "iteration": 1}));
    let costs = || {
        event(
            1,
            json!({"type": "usage", "inputTokens": 9, "outputTokens": 2}),
        )
    };
    let said = |kind: &str, text: &str| {
        event(
            1,
            json!({"type": kind, "contentType": "text", "text": text}),
        )
    };
    let done = |text: &str| {
        event(
            1,
            json!({"type": "done", "reason": "completed", "text": text}),
        )
    };
    let ran = |id: &str| {
        tool(
            "content_start",
            "run_commands",
            id,
            json!({"input": {"commands": ["ls"]}}),
        )
    };
    let spawns = |id: &str| {
        tool(
            "content_start",
            "spawn_agent",
            id,
            json!({"input": {"task": id}}),
        )
    };
    let report = |id: &str, text: &str| {
        tool(
            "content_end",
            "spawn_agent",
            id,
            json!({"output": {"text": text, "iterations": 2, "finishReason": "completed", "usage": {}}}),
        )
    };
    let events = stream(&[
        hook("agent_start", "lead", false),
        begins(),
        hook("tool_call", "lead", false),
        hook("tool_call", "lead", false),
        spawns("s1"),
        spawns("s2"),
        hook("agent_start", "a", true),
        hook("agent_start", "b", true),
        begins(),
        begins(),
        costs(),
        costs(),
        hook("tool_call", "a", true),
        ran("c1"),
        hook("tool_call", "b", true),
        ran("c2"),
        hook("tool_result", "a", true),
        tool("content_end", "run_commands", "c1", json!({"output": "x"})),
        // Which of them speaks is not known before a text is whole.
        said("content_start", "On"),
        said("content_end", "One."),
        hook("agent_end", "a", true),
        done("One."),
        hook("tool_result", "lead", false),
        report("s1", "One."),
        hook("tool_result", "b", true),
        tool("content_end", "run_commands", "c2", json!({"output": "y"})),
        begins(),
        said("content_start", "Two."),
        said("content_end", "Two."),
        hook("agent_end", "b", true),
        done("Two."),
        hook("tool_result", "lead", false),
        report("s2", "Two."),
        begins(),
        said("content_end", "Both."),
        hook("agent_end", "lead", false),
        done("Both."),
        json!({"ts": "2026-11-30T10:00:00.050Z", "type": "run_result", "finishReason": "completed", "iterations": 2,
            "text": "Both.", "model": {"id": "m", "provider": "p"}}),
    ]);
    let wanted = [
        "turn system",
        "call s1 spawn_agent",
        "call s2 spawn_agent",
        "usage response 9/2",
        "usage response 9/2",
        "call c1 run_commands",
        "call c2 run_commands",
        "result c1 x",
        "done One.",
        "result s1 One.",
        "result c2 y",
        "chunk Two.",
        "done Two.",
        "result s2 Two.",
        "done Both.",
        "end completed",
    ];
    assert_eq!(told(&events), wanted);
    let within: Vec<&str> = events
        .iter()
        .filter(|event| {
            matches!(
                event.payload,
                Payload::ToolCall(_) | Payload::AssistantDone(_)
            )
        })
        .map(|event| event.parent_tool_call_id.as_deref().unwrap_or("-"))
        .collect();
    assert_eq!(within, ["-", "-", "s1", "s2", "s1", "s2", "-"]);
    let paid = events
        .iter()
        .filter(|event| matches!(event.payload, Payload::Usage(_)));
    let paid: Vec<_> = paid.map(|event| event.response_id.as_deref()).collect();
    assert_eq!(paid, [Some("s2.r2"), Some("s2.r3")]);
    let facts = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(told) => Some((told.agent.as_deref(), told.model.as_deref())),
        _ => None,
    });
    let facts: Vec<_> = facts.collect();
    assert_eq!(facts, [(Some("Cline"), None), (None, Some("m"))]);
}

#[test]
fn a_thought_whose_end_comes_after_the_text_is_told_once() {
    let part = |kind: &str, about: &str, key: &str, text: &str| {
        event(1, json!({"type": kind, "contentType": about, key: text}))
    };
    let events = stream(&[
        event(1, json!({"type": "iteration_start", "iteration": 1})),
        part("content_start", "reasoning", "reasoning", "Hm."),
        part("content_start", "text", "text", "So."),
        part("content_end", "text", "text", "So."),
        part("content_end", "reasoning", "reasoning", "Hm."),
        event(
            1,
            json!({"type": "done", "reason": "completed", "text": "So."}),
        ),
    ]);
    let wanted = [
        "turn system",
        "thinking chunk Hm.",
        "thinking Hm.",
        "chunk So.",
        "done So.",
        "end completed",
    ];
    assert_eq!(told(&events), wanted);
}

#[test]
fn what_failed_says_how() {
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let gave = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "name": "t", "content": content});
    let refused = "Tool \"run_commands\" requires approval in a TTY session";
    let mut denied = gave("c2", json!(json!({"error": refused}).to_string()));
    denied["is_error"] = json!(true);
    let report = json!({"text": "Nothing.", "iterations": 1, "finishReason": "completed"});
    let ran = json!([{"query": "exit 4", "result": "[Command exited with code 4]", "error": "Command exited with code 4", "success": false}]);
    let events = session(json!([
        {"id": "u1", "role": "user", "ts": BEGAN_MS, "content": "Go"},
        {"id": "a1", "role": "assistant", "ts": BEGAN_MS + 5, "content": [
            call("c1", "run_commands", json!({"commands": ["exit 4"]})),
            call("c2", "run_commands", json!({"commands": ["ls"]})),
            call("c3", "spawn_agent", json!({"task": "Look"}))]},
        {"id": "u2", "role": "user", "ts": BEGAN_MS + 6, "content": [gave("c1", ran)]},
        {"id": "u3", "role": "user", "ts": BEGAN_MS + 7, "content": [denied]},
        {"id": "u4", "role": "user", "ts": BEGAN_MS + 8, "content": [gave("c3", json!(report.to_string()))]},
        {"id": "a2", "role": "assistant", "ts": BEGAN_MS + 9, "metadata": {"displayOnly": true, "displayRole": "error"},
            "content": [{"type": "text", "text": "Bad request"}]},
    ]));
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(told) => {
            let code = told.error.as_ref().and_then(|error| error.code.clone());
            let text = told.result.to_value();
            Some(json!([told.exit_code, code, text]))
        }
        _ => None,
    });
    let results: Vec<Value> = results.collect();
    let wanted = [
        json!([4, "error", "[Command exited with code 4]"]),
        json!([null, "rejected", refused]),
        json!([null, null, "Nothing."]),
    ];
    assert_eq!(results, wanted);
    let told = told(&events);
    assert_eq!(told[told.len() - 2..], ["error  Bad request", "end failed"]);
}
