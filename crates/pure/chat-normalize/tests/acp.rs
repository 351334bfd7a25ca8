//! What the Agent Client Protocol's reader holds: over recordings and fixtures, and on small inputs of kinds they lack.
//! What all of it is made of, the same few lines of one wire, is here, and so is what is of no single kind; sessions, turns
//! and calls have files of their own.

mod calls;
mod sessions;
mod turns;

use std::collections::BTreeMap;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{
    Source, assert_cuts, assert_sound, read, read_lines, read_lines_as_one, sessions_of, sources,
    values,
};

fn all() -> Vec<Source> {
    let lines = |name: &str| name.ends_with(".jsonl");
    let mut all = sources("recordings/acp-claude", lines);
    all.extend(sources("recordings/acp-opencode", lines));
    all.extend(sources("fixtures/acp", lines));
    all
}

#[test]
fn every_log_is_told_cut_anywhere_and_nothing_in_it_is_unknown() {
    for source in all() {
        let whole = read(&source.bytes);
        assert_eq!(whole.verdict, Ok(()), "{}", source.name);
        assert_eq!(whole.dialect, Some(Dialect::Acp), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
    }
}

/// The updates of a log up to its first history, each with its kind.
fn updates(source: &Source) -> Vec<(String, Value)> {
    let mut made = Vec::new();
    let mut answers = 0;
    for line in values(&source.bytes) {
        let message = line.get("msg").unwrap_or(&line);
        answers += u32::from(message["result"]["stopReason"].is_string());
        let update = &message["params"]["update"];
        let kind = update["sessionUpdate"].as_str().unwrap_or("").to_owned();
        if kind == "user_message_chunk" && answers > 0 {
            break;
        }
        made.push((kind, update.clone()));
    }
    made
}

fn done(events: &[ChatEvent]) -> (String, String) {
    let (mut said, mut thought) = (String::new(), String::new());
    for event in events {
        match &event.payload {
            Payload::AssistantDone(done) => said.push_str(&done.text),
            Payload::ThinkingDone(done) => thought.push_str(&done.text),
            _ => {}
        }
    }
    (said, thought)
}

#[test]
fn texts_calls_and_tokens_are_those_of_the_log() {
    for source in all() {
        let events = read(&source.bytes).events;
        let (mut said, mut thought) = (String::new(), String::new());
        let mut ended: BTreeMap<String, bool> = BTreeMap::new();
        let mut diffs = 0;
        for (kind, update) in updates(&source) {
            let text = update["content"]["text"].as_str().unwrap_or("");
            match kind.as_str() {
                "agent_message_chunk" => said.push_str(text),
                "agent_thought_chunk" => thought.push_str(text),
                "tool_call" | "tool_call_update" => {
                    let id = update["toolCallId"].as_str().unwrap().to_owned();
                    if let Some(status @ ("completed" | "failed")) = update["status"].as_str() {
                        let edit = update["title"] != "notes.txt"
                            || update["rawOutput"]["metadata"]["diff"].is_string();
                        diffs += usize::from(
                            edit && status == "completed"
                                && update["rawOutput"]["metadata"]["diff"].is_string(),
                        );
                        // A command that ended with another code than 0 failed, though the call is completed.
                        let exit = update["rawOutput"]["metadata"]["exit"].as_i64();
                        let failed = status == "failed" || exit.is_some_and(|exit| exit != 0);
                        ended.entry(id).or_insert(failed);
                    }
                }
                _ => {}
            }
        }
        assert_eq!(done(&events), (said, thought), "{}", source.name);
        let results: BTreeMap<String, bool> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::ToolResult(result) => {
                    Some((result.tool_call_id.clone(), result.error.is_some()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(results, ended, "{}", source.name);
        let edits = events
            .iter()
            .filter(|event| matches!(&event.payload, Payload::FileEdit(edit) if edit.full_diff_available))
            .count();
        assert!(edits >= diffs, "{}: {edits} of {diffs}", source.name);

        let of_log: Vec<(u64, u64)> = values(&source.bytes)
            .iter()
            .map(|line| line.get("msg").unwrap_or(line)["result"]["usage"].clone())
            .filter(Value::is_object)
            .map(|usage| {
                (
                    usage["inputTokens"].as_u64().unwrap(),
                    // What was thought was written, too.
                    usage["outputTokens"].as_u64().unwrap()
                        + usage["thoughtTokens"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        let told: Vec<(u64, u64)> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::Usage(usage) if usage.scope == "turn" => {
                    Some((usage.input_tokens, usage.output_tokens))
                }
                _ => None,
            })
            .collect();
        assert_eq!(told, of_log, "{}", source.name);
        let last = events.iter().rev().find_map(|event| match &event.payload {
            Payload::Usage(usage) if usage.scope == "session" => Some(usage.input_tokens),
            _ => None,
        });
        if let Some(last) = last {
            assert_eq!(
                last,
                of_log.iter().map(|used| used.0).sum::<u64>(),
                "{}",
                source.name
            );
        }
    }
}

#[test]
fn one_direction_and_both_say_the_same_of_what_the_agent_did() {
    let files = sources("fixtures/acp", |name| name.contains("opencode-full"));
    let agents: Vec<Vec<String>> = files
        .iter()
        .map(|source| {
            let events = read(&source.bytes).events;
            let agents = events.iter().filter(|event| {
                matches!(
                    event.payload,
                    Payload::AssistantChunk(_)
                        | Payload::AssistantDone(_)
                        | Payload::ThinkingDone(_)
                        | Payload::ToolCall(_)
                        | Payload::ToolResult(_)
                        | Payload::TurnStart(_)
                        | Payload::TurnEnd(_)
                )
            });
            agents
                .map(|event| format!("{} {:?}", event.id, event.turn_id))
                .collect()
        })
        .collect();
    if let [agent, both] = agents.as_slice() {
        assert_eq!(agent, both);
        assert!(agent.len() > 20);
    }
}

/// A notification of the session `s`.
fn update(update: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
}

fn text(kind: &str, text: &str, message: Option<&str>) -> Value {
    let mut held = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    if let Some(message) = message {
        held["messageId"] = message.into();
    }
    update(held)
}

fn request(id: u64, method: &str, params: Value) -> Value {
    let mut params = params;
    params["sessionId"] = "s".into();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn prompt(id: u64, text: &str) -> Value {
    request(
        id,
        "session/prompt",
        json!({"prompt": [{"type": "text", "text": text}]}),
    )
}

fn answer(id: u64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn stop(id: u64, reason: &str) -> Value {
    answer(id, json!({"stopReason": reason}))
}

/// The answer to `initialize`: both sides are heard.
fn initialized() -> Value {
    answer(0, json!({"protocolVersion": 1, "agentCapabilities": {}}))
}

/// A word or two an event, those about the session and its state left out.
fn words(events: &[ChatEvent]) -> Vec<String> {
    let words = events.iter().filter_map(|event| {
        Some(match &event.payload {
            Payload::SessionStart(_) | Payload::SessionStatus(_) | Payload::SessionEnd(_) => {
                return None;
            }
            Payload::AssistantChunk(_) | Payload::ThinkingChunk(_) => return None,
            Payload::UserMessage(message) => format!("user {}", message.text.preview()),
            Payload::AssistantDone(done) => {
                format!(
                    "said {} in {}",
                    done.text,
                    event.response_id.as_deref().unwrap_or("")
                )
            }
            Payload::ThinkingDone(done) => {
                format!(
                    "thought {} in {}",
                    done.text,
                    event.response_id.as_deref().unwrap_or("")
                )
            }
            Payload::ToolCall(call) => format!("call {} {}", call.tool_call_id, call.tool_name),
            Payload::ToolResult(result) => match &result.error {
                Some(error) => format!("failed {} {}", result.tool_call_id, error.message),
                None => format!(
                    "result {} {}",
                    result.tool_call_id,
                    result.result.display_text()
                ),
            },
            Payload::ToolOutputChunk(chunk) => format!("printed {:?}", chunk.chunk),
            Payload::FileEdit(edit) => format!(
                "edit {} {} +{} -{} {}",
                edit.change_type,
                edit.file_path,
                edit.lines_added,
                edit.lines_removed,
                edit.full_diff_available
            ),
            Payload::TurnStart(_) => format!("turn {}", event.turn_id.as_deref().unwrap()),
            Payload::TurnEnd(end) => format!("end {}", end.outcome.as_deref().unwrap()),
            Payload::PermissionRequest(asked) => format!("asks {}", asked.request_id),
            Payload::PermissionResolved(answer) => {
                format!("answer {} {}", answer.request_id, answer.decision)
            }
            Payload::QuestionRequest(asked) => format!(
                "questions {}",
                asked
                    .questions
                    .iter()
                    .map(|question| format!("{}[{}]", question.id, question.options.len()))
                    .collect::<String>()
            ),
            Payload::QuestionResolved(answer) => format!("answers {}", answer.outcome),
            Payload::Plan(plan) => format!("plan {}", plan.entries.len()),
            Payload::ErrorEvent(error) => format!("error {} {}", error.code, error.message),
            Payload::Compaction(compaction) => {
                format!("compaction {}", compaction.summary.as_deref().unwrap_or(""))
            }
            other => format!("{other:?}")
                .chars()
                .take_while(|c| *c != '(')
                .collect(),
        })
    });
    words.collect()
}

fn told(lines: &[Value]) -> Vec<String> {
    let read = read_lines(Dialect::Acp, lines);
    assert_sound("small", &read.events);
    words(&read.events)
}

#[test]
fn a_thought_and_its_message_are_one_response_and_what_follows_a_result_another() {
    let lines = [
        prompt(1, "Go"),
        text("agent_thought_chunk", "Hm.", None),
        text("agent_message_chunk", "I ", None),
        text("agent_message_chunk", "read.", None),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "read_file-1795295217430", "title": "a.txt", "kind": "read", "status": "in_progress"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "read_file-1795295217430", "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "A"}}]}),
        ),
        text("agent_message_chunk", "Done.", None),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "thought Hm. in t1.r1",
            "said I read. in t1.r1",
            "call read_file-1795295217430 read_file",
            "result read_file-1795295217430 A",
            "said Done. in t1.r2",
            "end completed",
        ]
    );
}

#[test]
fn requests_are_answered_by_what_the_answer_holds_where_both_sides_use_an_id() {
    let ask = json!({"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": {"sessionId": "s",
        "toolCall": {"toolCallId": "write_file-1795295217430", "title": "a.txt", "kind": "edit", "rawInput": {"path": "a.txt"}},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_always"}, {"optionId": "n", "name": "No", "kind": "reject_once"}]}});
    let chosen = |option: &str| {
        answer(
            1,
            json!({"outcome": {"outcome": "selected", "optionId": option}}),
        )
    };
    let lines = [
        prompt(1, "Go"),
        ask.clone(),
        chosen("y"),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "write_file-1795295217430", "status": "completed",
            "content": [{"type": "diff", "path": "/w/a.txt", "oldText": null, "newText": "a\nb\n"}]}),
        ),
        stop(1, "end_turn"),
        prompt(2, "And"),
        ask,
        answer(1, json!({"outcome": {"outcome": "cancelled"}})),
        request(9, "session/cancel", json!({})),
        stop(2, "cancelled"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "call write_file-1795295217430 write_file",
            "asks 1",
            "answer 1 allow",
            "result write_file-1795295217430 ",
            "edit created /w/a.txt +2 -0 true",
            "end completed",
            "turn t2",
            "user And",
            "asks 1~2",
            "answer 1~2 cancel",
            "Interrupt",
            "end interrupted",
        ]
    );
}

#[test]
fn questions_plans_compactions_and_failures_are_told() {
    let lines = [
        prompt(1, "Go"),
        update(
            json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "pending", "priority": "high"}]}),
        ),
        update(
            json!({"sessionUpdate": "plan", "entries": [{"content": "a", "status": "pending", "priority": "high"}]}),
        ),
        request(
            5,
            "elicitation/create",
            json!({"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {
            "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]},
            "sure": {"type": "boolean"}, "name": {"type": "string"}}}}),
        ),
        answer(5, json!({"action": "accept", "content": {"colour": "r"}})),
        request(
            6,
            "elicitation/create",
            json!({"mode": "url", "message": "Log in", "url": "https://x", "elicitationId": "E"}),
        ),
        json!({"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": "E"}}),
        update(
            json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "in_progress"}),
        ),
        update(
            json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": {"type": "text", "text": "All so far."}}),
        ),
        update(
            json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "completed"}),
        ),
        update(
            json!({"sessionUpdate": "notice", "severity": "warning", "title": "Slow", "description": "very"}),
        ),
        update(json!({"sessionUpdate": "_vendor/thing", "x": 1})),
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "Internal error", "data": {"details": "overloaded"}}}),
        prompt(2, "Go on"),
        stop(2, "max_tokens"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "plan 1",
            "questions colour[2]sure[2]name[0]",
            "answers answered",
            "questions [0]",
            "answers answered",
            "compaction All so far.",
            "Notice",
            "Raw",
            "error -32603 Internal error: overloaded",
            "end failed",
            "turn t2",
            "user Go on",
            "error max_tokens the answer grew too long",
            "end failed",
        ]
    );
}

#[test]
fn a_message_that_comes_whole_again_replaces_what_it_was() {
    let whole = |kind: &str, text: &str| {
        update(
            json!({"sessionUpdate": kind, "messageId": "m", "content": [{"type": "text", "text": text}]}),
        )
    };
    let lines = [
        prompt(1, "Go"),
        text("agent_message_chunk", "Hel", Some("m")),
        whole("agent_message", "Hello"),
        whole("agent_message", "Hello, world"),
        text("agent_message_chunk", "And more.", Some("m")),
        stop(1, "end_turn"),
    ];
    let events = read_lines(Dialect::Acp, &lines).events;
    assert_sound("whole again", &events);
    let parts: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) => Some((done.text.as_str(), done.part)),
            _ => None,
        })
        .collect();
    assert_eq!(
        parts,
        [
            ("Hello", Some(0)),
            ("Hello, world", Some(0)),
            ("And more.", Some(1)),
        ]
    );
}

proptest! {
    #[test]
    fn any_order_of_messages_ends_what_it_begins(
        picks in proptest::collection::vec((0usize..18, 0usize..3, 0usize..3), 1..50)
    ) {
        let mut lines = Vec::new();
        for (kind, at, other) in picks {
            let id = u64::try_from(at).unwrap();
            let call = format!("c{at}");
            let native = ["s", "s", "child"][other];
            let status = ["completed", "failed", "in_progress"][other];
            let state = ["running", "idle", "requires_action"][other];
            let meta = json!({"claudeCode": {"parentToolUseId": format!("c{other}")}});
            let mut line = match kind {
                0 => prompt(id, "Go"),
                1 => stop(id, ["end_turn", "cancelled", "refusal"][other]),
                2 => text("agent_message_chunk", "Hi", Some(&format!("m{at}"))),
                3 => text("agent_thought_chunk", "Hm", None),
                4 => text("user_message_chunk", "Go", None),
                5 => update(json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "t", "status": "pending", "rawInput": {}, "_meta": meta})),
                6 => update(json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "rawInput": {"a": 1}, "content": 5})),
                7 => update(json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "rawOutput": {"metadata": {"sessionId": "child"}}})),
                8 => request(id, "session/load", json!({"cwd": "/w"})),
                9 => answer(id, json!({"configOptions": []})),
                10 => request(id, "session/request_permission", json!({"toolCall": {"toolCallId": call}, "options": [{"optionId": "y", "kind": "allow_once"}]})),
                11 => answer(id, json!({"outcome": {"outcome": "selected", "optionId": "y"}})),
                12 => answer(id, Value::Null),
                13 => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000}}),
                14 => request(id, "session/cancel", Value::Object(serde_json::Map::new())),
                15 => request(id, "fs/write_text_file", json!({"path": "/a", "content": "x"})),
                16 => update(json!({"sessionUpdate": "state_update", "state": state})),
                _ => update(json!({"sessionUpdate": "agent_message", "messageId": "m", "content": [{"type": "image"}]})),
            };
            if line["params"]["sessionId"] == "s" {
                line["params"]["sessionId"] = native.into();
            }
            lines.push(line);
        }
        // Each by itself, and all in one.
        sessions_of(Dialect::Acp, &lines);
        let read = read_lines_as_one(Dialect::Acp, &lines);
        prop_assert_eq!(read.verdict, Ok(()));
        assert_sound("any order", &read.events);
        let count = |of: fn(&Payload) -> bool| read.events.iter().filter(|event| of(&event.payload)).count();
        prop_assert!(
            count(|payload| matches!(payload, Payload::PermissionRequest(_)))
                <= count(|payload| matches!(payload, Payload::PermissionResolved(_)))
        );
    }
}
