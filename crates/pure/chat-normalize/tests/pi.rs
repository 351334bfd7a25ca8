//! What Pi's dialects hold, over recordings and small inputs of kinds that no recording has.

mod asides;
mod nested;
mod recorded;
mod rpc;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

fn header() -> Value {
    json!({"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"})
}

fn user(at: u64, text: &str) -> Value {
    json!({"role": "user", "content": text, "timestamp": at})
}

fn assistant(at: u64, stop: &str, content: Value) -> Value {
    json!({"role": "assistant", "content": content, "stopReason": stop, "timestamp": at, "model": "m",
        "errorMessage": if stop == "error" { "overloaded" } else { "" }})
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// An event of a run.
fn line(kind: &str, mut rest: Value) -> Value {
    rest["type"] = json!(kind);
    rest
}

/// A message, begun and whole.
fn whole(message: &Value) -> [Value; 2] {
    ["message_start", "message_end"].map(|kind| line(kind, json!({"message": message})))
}

fn entry(id: &str, parent: Option<&str>, message: Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message})
}

#[test]
fn branches_compactions_and_commands_are_told() {
    let other = |kind: &str, id: &str, parent: &str, mut rest: Value| {
        rest["type"] = json!(kind);
        rest["id"] = json!(id);
        rest["parentId"] = json!(parent);
        rest["timestamp"] = json!("2026-01-01T00:00:02.000Z");
        rest
    };
    let lines = [
        header(),
        entry("e1", None, user(1, "First")),
        entry("e2", Some("e1"), assistant(2, "stop", text("One."))),
        entry("e3", Some("e2"), user(3, "Second")),
        entry("e4", Some("e3"), assistant(4, "error", json!([]))),
        entry("e5", Some("e4"), assistant(5, "stop", text("Two."))),
        entry("e5", Some("e4"), assistant(5, "stop", text("Two."))),
        other(
            "branch_summary",
            "e6",
            "e2",
            json!({"fromId": "e5", "summary": "It said two."}),
        ),
        entry("e7", Some("e6"), user(6, "Third")),
        entry("e8", Some("e7"), assistant(7, "aborted", text("Th"))),
        entry(
            "e9",
            Some("e8"),
            json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "timestamp": 8}),
        ),
        other(
            "compaction",
            "e10",
            "e9",
            json!({"summary": "All.", "firstKeptEntryId": "e7", "tokensBefore": 9}),
        ),
        other(
            "custom_message",
            "e11",
            "e10",
            json!({"customType": "x", "content": "Shown", "display": true}),
        ),
        other("custom", "e12", "e11", json!({"data": 1})),
        other("session_info", "e13", "e12", json!({"name": "A title"})),
        other("new", "e14", "e13", json!({})),
    ];
    let read = read_lines(Dialect::PiSession, &lines);
    assert_sound("branches", &read.events);
    let mut told = told(&read.events);
    assert!(told.pop().unwrap().starts_with("raw"));
    assert_eq!(
        told,
        [
            "turn user",
            "user First",
            "done One.",
            "end completed",
            "turn user",
            "user Second",
            "error  overloaded",
            "done Two.",
            "end completed",
            "notice It said two.",
            "notice the user went back: the turn before this line was left",
            "turn user",
            "user Third",
            "done Th",
            "interrupt user_cancel",
            "end interrupted",
            "call bash-024223df bash",
            "result bash-024223df a",
            "compaction ",
            "notice Shown",
        ]
    );
    assert_eq!(read.report.repeated, 1);
}

#[test]
fn a_failed_answer_that_is_tried_again_stays_in_its_turn_and_a_steering_word_too() {
    let mut lines = vec![header(), line("agent_start", json!({}))];
    lines.extend(whole(&user(1, "Go")));
    lines.extend(whole(&assistant(2, "error", json!([]))));
    lines.push(line("agent_end", json!({"messages": []})));
    lines.push(line(
        "auto_retry_start",
        json!({"attempt": 1, "errorMessage": "overloaded"}),
    ));
    lines.push(line("agent_start", json!({})));
    let call = json!([{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "false"}}]);
    lines.extend(whole(&assistant(3, "toolUse", call)));
    lines.push(line(
        "auto_retry_end",
        json!({"success": true, "attempt": 1}),
    ));
    lines.push(line(
        "tool_execution_start",
        json!({"toolCallId": "c1", "toolName": "bash", "args": {}}),
    ));
    for printed in ["a\n", "a\nb\n", "b\nc\n"] {
        let partial = json!({"content": [{"type": "text", "text": printed}]});
        lines.push(line(
            "tool_execution_update",
            json!({"toolCallId": "c1", "toolName": "bash", "partialResult": partial}),
        ));
    }
    let result = json!({"content": [{"type": "text", "text": "c\n\nCommand exited with code 3"}]});
    lines.push(line(
        "tool_execution_end",
        json!({"toolCallId": "c1", "toolName": "bash", "result": result, "isError": true}),
    ));
    lines.extend(whole(&user(4, "Faster")));
    lines.extend(whole(&assistant(5, "error", text("Half"))));
    lines.push(line("agent_end", json!({"messages": []})));
    let read = read_lines(Dialect::PiStream, &lines);
    assert_sound("retried", &read.events);
    let end = read.events.iter().find_map(|event| match &event.payload {
        Payload::SessionEnd(end) => Some(end.reason.as_str()),
        _ => None,
    });
    assert_eq!(end, Some("end of stream"), "it ended by itself");
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "error  overloaded",
            "call c1 bash",
            "failed c1 error",
            "user Faster",
            "done Half",
            "error  overloaded",
            "end failed",
        ]
    );
    let of = |wanted: &str| -> Vec<&ChatEvent> {
        let found = read
            .events
            .iter()
            .filter(|event| event.event_type() == wanted);
        found.collect()
    };
    assert_eq!(of("tool_output_chunk").len(), 2);
    let codes: Vec<_> = of("tool_result")
        .iter()
        .map(|event| match &event.payload {
            Payload::ToolResult(result) => result.exit_code,
            _ => None,
        })
        .collect();
    assert_eq!(codes, [Some(3)]);
    let statuses: Vec<_> = of("session_status")
        .iter()
        .map(|event| match &event.payload {
            Payload::SessionStatus(status) => status.status.clone(),
            _ => String::new(),
        })
        .collect();
    assert_eq!(statuses, ["busy", "retrying", "busy", "idle"]);
}

#[test]
fn a_run_that_was_killed_ended_with_its_last_line() {
    let call = json!([{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "sleep 30"}}]);
    let mut asked = entry("m3", Some("m2"), user(1_767_225_609_000, "Go on"));
    asked["timestamp"] = json!("2026-01-01T00:00:09.000Z");
    let lines = [
        header(),
        entry("m1", None, user(1_767_225_600_100, "Sleep")),
        entry(
            "m2",
            Some("m1"),
            assistant(1_767_225_600_200, "toolUse", call),
        ),
        asked,
    ];
    let events = read_lines(Dialect::PiSession, &lines).events;
    assert_sound("killed", &events);
    let first = events.iter().find_map(|event| match &event.payload {
        Payload::TurnEnd(end) => Some((event.timestamp, end.outcome.as_deref())),
        _ => None,
    });
    assert_eq!(first, Some((Some(1_767_225_601_000), Some("interrupted"))));
}

/// Only messages bear times, and those of their beginning: what a call took is known by when the lines came.
#[test]
fn what_comes_as_it_happens_is_timed_by_its_arrival() {
    const BEGAN_MS: i64 = 1_767_225_600_000;
    let call = json!([{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "sleep 3"}}]);
    let answer = assistant(1_767_225_600_200, "toolUse", call);
    let lines = [
        (0, header()),
        (
            100,
            json!({"type": "message_start", "message": user(1_767_225_600_100, "Sleep")}),
        ),
        (300, json!({"type": "message_start", "message": answer})),
        (5_000, json!({"type": "message_end", "message": answer})),
        (
            5_000,
            json!({"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": {}}),
        ),
        (
            95_000,
            json!({"type": "tool_execution_end", "toolCallId": "c1", "toolName": "bash", "result": {"content": text("done")}, "isError": false}),
        ),
    ];
    // As it comes, and as a recording that is played an hour later.
    for (late_ms, called_ms, gave_ms, ended_ms) in
        [(0, 5_000, 95_000, 99_000), (3_600_000, 200, 200, 200)]
    {
        let mut reader = SessionReader::new(Context::default());
        let mut events = Vec::new();
        for (at_ms, line) in &lines {
            let line = format!("{line}\n");
            reader
                .push(line.as_bytes(), BEGAN_MS + late_ms + at_ms, &mut events)
                .unwrap();
        }
        reader
            .finish(BEGAN_MS + late_ms + 99_000, &mut events)
            .unwrap();
        let at = |kind: &str| {
            let event = events.iter().find(|event| event.event_type() == kind);
            event
                .unwrap_or_else(|| panic!("no {kind}: {events:?}"))
                .timestamp
                .unwrap()
                - BEGAN_MS
        };
        let told = ["tool_call", "tool_result", "session_end"].map(at);
        assert_eq!(told, [called_ms, gave_ms, ended_ms], "{late_ms} late");
    }
}

#[test]
fn a_prompt_beside_what_the_agent_does_goes_back_and_one_below_it_steers() {
    let call = json!([{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}]);
    let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [], "timestamp": 5});
    let told_below = |parent: Option<&str>| {
        let lines = [
            header(),
            entry("u1", None, user(1, "First")),
            entry("a1", Some("u1"), assistant(2, "stop", text("Done."))),
            entry("u2", Some("a1"), user(3, "Second")),
            entry("a2", Some("u2"), assistant(4, "toolUse", call.clone())),
            entry("r1", Some("a2"), result.clone()),
            json!({"type": "custom", "id": "x1", "parentId": "r1", "timestamp": "2026-01-01T00:00:00Z"}),
            entry("u3", parent, user(50, "Third")),
            entry("a3", Some("u3"), assistant(51, "stop", text("Fine."))),
        ];
        let events = read_lines(Dialect::PiSession, &lines).events;
        assert_sound("pi", &events);
        let told = told(&events);
        let at = told.iter().position(|line| line.starts_with("result"));
        told[at.unwrap() + 1..].to_vec()
    };
    let steered = ["user Third", "done Fine.", "end completed"];
    assert_eq!(told_below(Some("x1")), steered);
    assert_eq!(told_below(Some("r1")), steered);
    let went_back = [
        "end interrupted",
        "notice the user went back: the turn before this line was left",
        "turn user",
        "user Third",
        "done Fine.",
        "end completed",
    ];
    assert_eq!(told_below(Some("a1")), went_back);
    let again = told_below(Some("u2"));
    assert_eq!(again[..2], ["end interrupted", "turn user"]);
}

#[test]
fn the_first_prompt_of_a_fork_is_no_word_to_the_agent_at_work() {
    let at = |second: u32, mut entry: Value| {
        entry["timestamp"] = json!(format!("2026-01-01T00:00:{second:02}.000Z"));
        entry
    };
    let call = json!([{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}]);
    let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [], "timestamp": 5});
    let told_in = |begun: u32| {
        let lines = [
            at(begun, header()),
            at(1, entry("u1", None, user(1, "First"))),
            at(
                2,
                entry("a1", Some("u1"), assistant(2, "toolUse", call.clone())),
            ),
            at(3, entry("r1", Some("a1"), result.clone())),
            at(9, entry("u2", Some("r1"), user(9, "Again"))),
            at(
                10,
                entry("a2", Some("u2"), assistant(10, "toolUse", json!([]))),
            ),
            at(11, entry("u3", Some("a2"), user(11, "Faster"))),
            at(
                12,
                entry("a3", Some("u3"), assistant(12, "stop", text("Done."))),
            ),
        ];
        let events = read_lines(Dialect::PiSession, &lines).events;
        assert_sound("fork", &events);
        let told = told(&events);
        let at = told.iter().position(|line| line.starts_with("result"));
        told[at.unwrap() + 1..].to_vec()
    };
    let words = ["user Again", "user Faster", "done Done.", "end completed"];
    assert_eq!(told_in(0), words);
    let mut forked = vec!["end interrupted", "turn user"];
    forked.extend(words);
    assert_eq!(told_in(8), forked);
}

#[test]
fn a_command_that_is_refused_is_told() {
    let refused = |command: &str| json!({"type": "response", "command": command, "success": false, "error": "No key"});
    let lines = [
        header(),
        refused("prompt"),
        json!({"type": "response", "command": "prompt", "success": true}),
        json!({"type": "message_start", "message": user(1, "Go")}),
        refused("steer"),
        json!({"type": "message_end", "message": assistant(2, "stop", text("Done."))}),
        json!({"type": "agent_end"}),
    ];
    let read = read_lines(Dialect::PiStream, &lines);
    assert_sound("pi", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "error prompt_failed No key",
            "turn user",
            "user Go",
            "notice steer: No key",
            "done Done.",
            "end completed"
        ]
    );
}

#[test]
fn strange_shapes_are_kept_and_end() {
    let update = |event: Value| json!({"type": "message_update", "message": {"role": "assistant", "timestamp": 2}, "assistantMessageEvent": event});
    let lines = [
        header(),
        update(json!({"type": "text_delta", "contentIndex": u64::MAX, "delta": "a"})),
        update(json!({"type": "text_delta", "contentIndex": -1, "delta": "b"})),
        update(json!({"type": "text_end", "contentIndex": u64::MAX, "content": 1})),
        update(json!({"type": "toolcall_start", "contentIndex": u64::MAX})),
        update(json!({"type": "toolcall_delta", "contentIndex": 3, "delta": "x"})),
        update(json!({"type": "toolcall_end", "contentIndex": 1, "toolCall": [1]})),
        update(
            json!({"type": "toolcall_end", "contentIndex": 4, "toolCall": {"id": "", "name": 1}}),
        ),
        json!({"type": "message_end", "message": {"role": "assistant", "content": {"a": 1}}}),
        json!({"type": "tool_execution_end", "toolCallId": "none", "isError": "yes"}),
        json!({"type": "tool_execution_update", "toolCallId": 1}),
        json!({"type": "message_end", "message": null}),
        json!({"type": 1}),
    ];
    for dialect in [Dialect::PiStream, Dialect::PiSession] {
        let read = read_lines(dialect, &lines);
        assert_eq!(read.verdict, Ok(()));
        assert_sound("strange", &read.events);
    }
}
