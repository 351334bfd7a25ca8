//! What is told beside messages since 0.84, and pieces that repeat nothing. Lines as 1.6.0 writes them, or its documents.

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{assistant, entry, header, line, text, user, whole};
use crate::support::{assert_sound, read_lines, told};

fn other(kind: &str, id: &str, parent: &str, mut rest: Value) -> Value {
    rest["type"] = json!(kind);
    rest["id"] = json!(id);
    rest["parentId"] = json!(parent);
    rest["timestamp"] = json!("2026-01-01T00:00:02.000Z");
    rest
}

fn system(at: u64, added: &[&str], removed: &[&str]) -> Value {
    let named = |names: &[&str]| -> Vec<Value> {
        let names = names
            .iter()
            .map(|name| json!({"name": name, "description": "…"}));
        names.collect()
    };
    json!({"role": "system", "content": "", "sections": {"preamble": "You are …"}, "timestamp": at,
        "toolsAdded": named(added), "toolsRemoved": named(removed)})
}

/// The facts of the session, in the order in which they are told.
fn facts(events: &[ChatEvent]) -> Vec<String> {
    let mut facts = Vec::new();
    for event in events {
        if let Payload::SessionStart(start) = &event.payload {
            facts.extend(start.title.as_ref().map(|title| format!("title {title}")));
            facts.extend(start.model.as_ref().map(|model| format!("model {model}")));
            facts.extend(
                start
                    .tools
                    .as_ref()
                    .map(|tools| format!("tools {}", tools.as_text())),
            );
            let thinks = start.extra.get("thinkingLevel");
            facts.extend(thinks.map(|level| format!("thinks {}", level.as_text())));
        }
    }
    facts
}

#[test]
fn a_calls_arguments_come_in_pieces_that_repeat_nothing() {
    let update = |event: Value| {
        line(
            "message_update",
            json!({"usage": {"input": 1}, "assistantMessageEvent": event}),
        )
    };
    let call = json!({"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}});
    let mut answer = assistant(2, "toolUse", json!([call]));
    answer["stopReason"] = json!("pending");
    let lines = [
        header(),
        line("message_start", json!({"message": user(1, "Go")})),
        line("message_end", json!({"message": user(1, "Go")})),
        line("message_start", json!({"message": answer})),
        update(
            json!({"type": "toolcall_start", "contentIndex": 0, "id": "c1", "toolName": "read"}),
        ),
        update(json!({"type": "toolcall_delta", "contentIndex": 0, "delta": "{\"path\":"})),
        update(json!({"type": "toolcall_delta", "contentIndex": 0, "delta": " \"a\"}"})),
        update(json!({"type": "toolcall_end", "contentIndex": 0, "toolCall": call})),
        line(
            "message_end",
            json!({"message": assistant(2, "toolUse", json!([call]))}),
        ),
    ];
    let read = read_lines(Dialect::PiStream, &lines);
    assert_sound("pieces", &read.events);
    let pieces: Vec<_> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::ToolInputChunk(chunk) => Some((
                chunk.tool_call_id.as_str(),
                chunk.tool_name.as_str(),
                chunk.chunk.as_str(),
                chunk.offset,
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        pieces,
        [
            ("c1", "read", "{\"path\":", Some(0)),
            ("c1", "read", " \"a\"}", Some(8))
        ]
    );
}

#[test]
fn what_a_file_tells_of_the_session_is_no_part_of_its_turns() {
    let mut failed = entry("e4", Some("e3"), assistant(10, "error", json!([])));
    failed["timestamp"] = json!("2026-01-01T00:00:01.500Z");
    let lines = [
        header(),
        entry("e1", None, system(1, &["read", "bash"], &[])),
        entry("e3", Some("e1"), user(2, "Go")),
        failed,
        other(
            "context_edit",
            "e5",
            "e4",
            json!({"targetId": "e4", "replacement": null}),
        ),
        entry("e6", Some("e5"), assistant(11, "stop", text("Done."))),
        other(
            "usage",
            "e7",
            "e6",
            json!({"kind": "cache_warm", "provider": "p", "model": "m",
                "usage": {"input": 0, "output": 0, "cacheRead": 50, "cacheWrite": 0, "cost": {"total": 0.5}}}),
        ),
        entry("e8", Some("e7"), system(20, &["write"], &["read"])),
        entry("e9", Some("e8"), user(21, "Later")),
        entry("e10", Some("e9"), assistant(22, "deferred", json!([]))),
        other("session_info", "e11", "e10", json!({"name": "A title"})),
    ];
    let read = read_lines(Dialect::PiSession, &lines);
    assert_sound("file", &read.events);
    assert!(read.report.raw.is_empty(), "{:?}", read.report.raw);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "error  overloaded",
            "done Done.",
            "end completed",
            "usage response 0/0",
            "turn user",
            "user Later",
            "notice the answer is deferred",
            "end completed",
        ]
    );
    assert_eq!(
        facts(&read.events),
        [
            r#"tools ["read","bash"]"#,
            "model m",
            r#"tools ["bash","write"]"#,
            "title A title"
        ]
    );
    let cost = read.events.iter().find_map(|event| match &event.payload {
        Payload::Usage(usage) => Some((usage.cost_usd, usage.cache_read_tokens, event.id.as_str())),
        _ => None,
    });
    assert_eq!(cost, Some((Some(0.5), Some(50), "usage-e7")));
}

#[test]
fn a_prompt_of_the_system_ends_no_turn_that_was_stopped_before_it() {
    let call = json!([{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}}]);
    let mut system = entry("e3", Some("e2"), system(9_000, &["read"], &[]));
    system["timestamp"] = json!("2026-01-01T00:00:09.000Z");
    let mut later = entry("e4", Some("e3"), user(1_767_225_609_000, "Go on"));
    later["timestamp"] = json!("2026-01-01T00:00:09.000Z");
    let lines = [
        header(),
        entry("e1", None, user(1_767_225_600_100, "Sleep")),
        entry(
            "e2",
            Some("e1"),
            assistant(1_767_225_600_200, "toolUse", call),
        ),
        system,
        later,
    ];
    let events = read_lines(Dialect::PiSession, &lines).events;
    assert_sound("stopped", &events);
    let end = events.iter().find_map(|event| match &event.payload {
        Payload::TurnEnd(_) => event.timestamp,
        _ => None,
    });
    assert_eq!(end, Some(1_767_225_601_000));
}

#[test]
fn what_a_run_tells_of_the_session_is_told_and_a_failure_once() {
    let appended = |entry: Value| line("entry_appended", json!({"entry": entry}));
    let mut lines = vec![header()];
    lines.extend(whole(&system(1, &["read"], &[])));
    lines.extend(whole(&user(2, "Go")));
    lines.extend(whole(&assistant(3, "error", json!([]))));
    lines.push(appended(other(
        "context_edit",
        "e1",
        "e0",
        json!({"targetId": "e0"}),
    )));
    lines.push(appended(other(
        "custom",
        "e2",
        "e1",
        json!({"customType": "x"}),
    )));
    lines.push(appended(other(
        "usage",
        "e3",
        "e2",
        json!({"kind": "cache_warm", "model": "m", "usage": {"cacheRead": 5}}),
    )));
    lines.push(appended(other("new", "e4", "e3", json!({}))));
    lines.push(line(
        "agent_end",
        json!({"messages": [], "willRetry": false}),
    ));
    lines.push(line(
        "auto_retry_end",
        json!({"success": false, "attempt": 3, "finalError": "overloaded"}),
    ));
    lines.push(line("session_info_changed", json!({"name": "A title"})));
    lines.push(line("session_info_changed", json!({})));
    lines.push(line("thinking_level_changed", json!({"level": "low"})));
    lines.push(line(
        "summarization_retry_scheduled",
        json!({"attempt": 1, "maxAttempts": 3, "errorMessage": "terminated"}),
    ));
    lines.push(line(
        "summarization_retry_attempt_start",
        json!({"source": "compaction"}),
    ));
    lines.push(line("summarization_retry_finished", json!({})));
    // Another failure than that which was told.
    lines.push(line(
        "auto_retry_end",
        json!({"success": false, "attempt": 3, "finalError": "no network"}),
    ));
    let read = read_lines(Dialect::PiStream, &lines);
    assert_sound("run", &read.events);
    let mut told = told(&read.events);
    let raw = told.iter().position(|line| line.starts_with("raw"));
    told.remove(raw.unwrap());
    assert_eq!(
        told,
        [
            "turn user",
            "user Go",
            "error  overloaded",
            "usage response 0/0",
            "end failed",
            "error retries_failed no network",
        ]
    );
    assert_eq!(
        facts(&read.events),
        [
            r#"tools ["read"]"#,
            "model m",
            "title A title",
            r#"thinks "low""#
        ]
    );
    let statuses: Vec<_> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::SessionStatus(status) => Some(status.status.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(statuses, ["busy", "idle", "retrying", "busy", "idle"]);
}
