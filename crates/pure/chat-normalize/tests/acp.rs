//! What the Agent Client Protocol's reader holds: over recordings and fixtures, and on small inputs of kinds they lack.
//! One file: all of it is made of the same few lines of one wire.

use std::collections::BTreeMap;

use crate::support::{
    Source, assert_cuts, assert_sound, read, read_lines, read_lines_as_one, sessions_of, sources,
    values,
};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use proptest::prelude::*;
use serde_json::{Value, json};

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

#[test]
fn diffs_are_those_of_the_agents_own_formats() {
    for source in sources("recordings/acp-claude", |name| {
        name == "read-edit.acp.jsonl"
    }) {
        let events = read(&source.bytes).events;
        let edits: Vec<(String, String)> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::FileEdit(edit) => {
                    Some((edit.change_type.clone(), edit.diff_preview.to_string()))
                }
                _ => None,
            })
            .collect();
        assert_eq!(edits.len(), 2);
        assert_eq!(edits[0].0, "modified");
        let before = "# Demo\n\nA small project.\n";
        assert_eq!(
            chat_diff::apply(&edits[0].1, before).unwrap(),
            "# Demo\n\nA small project.\n\nAdded by the agent.\n"
        );
        assert_eq!(edits[1].0, "created");
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
fn sub_agents_stand_in_the_call_that_started_them_and_are_not_mixed_with_it() {
    let inner = |mut held: Value, parent: &str| {
        held["_meta"] = json!({"claudeCode": {"parentToolUseId": parent}});
        update(held)
    };
    let chunk = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    let call = |id: &str| json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "Task", "kind": "think", "status": "pending", "rawInput": {"prompt": "x"}});
    let ended = |id: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "rawOutput": "ok"});
    let lines = [
        prompt(1, "Go"),
        update(call("a")),
        inner(chunk("in "), "a"),
        update(chunk("out")),
        inner(chunk("a"), "a"),
        inner(call("b"), "a"),
        inner(chunk("in b"), "b"),
        inner(ended("b"), "a"),
        update(ended("a")),
        stop(1, "end_turn"),
    ];
    let read = read_lines(Dialect::Acp, &lines);
    assert_sound("sub-agents", &read.events);
    let said: Vec<(String, Option<&str>)> = read
        .events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::AssistantDone(done) => {
                Some((done.text.clone(), event.parent_tool_call_id.as_deref()))
            }
            Payload::ToolCall(call) => Some((
                format!("call {}", call.tool_call_id),
                event.parent_tool_call_id.as_deref(),
            )),
            _ => None,
        })
        .collect();
    assert_eq!(
        said,
        [
            ("call a".to_owned(), None),
            ("in a".to_owned(), Some("a")),
            ("call b".to_owned(), Some("a")),
            ("in b".to_owned(), Some("b")),
            ("out".to_owned(), None),
        ]
    );
}

#[test]
fn a_history_is_read_once_however_often_it_is_loaded() {
    let history = [
        text("user_message_chunk", "First", None),
        text("agent_message_chunk", "One.", None),
        text("user_message_chunk", "Again", None),
        text("agent_message_chunk", "Two.", None),
        text("user_message_chunk", "Again", None),
        text("agent_message_chunk", "Three.", None),
    ];
    let load = |id: u64| request(id, "session/load", json!({"cwd": "/w"}));
    let mut lines = vec![load(1)];
    lines.extend(history.clone());
    lines.push(answer(1, Value::Null));
    lines.push(prompt(2, "Now"));
    lines.push(text("agent_message_chunk", "Four.", None));
    lines.push(stop(2, "end_turn"));
    lines.push(load(3));
    lines.extend(history);
    lines.push(text("user_message_chunk", "Now", None));
    lines.push(text("agent_message_chunk", "Four.", None));
    lines.push(answer(3, json!({})));
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user First",
            "said One. in t1.r1",
            "end completed",
            "turn t2",
            "user Again",
            "said Two. in t2.r1",
            "end completed",
            "turn t3",
            "user Again",
            "said Three. in t3.r1",
            "end completed",
            "turn t4",
            "user Now",
            "said Four. in t4.r1",
            "end completed",
        ]
    );
}

/// The facts that were told of the session: its own id and its model; and all agents that were named.
fn facts(events: &[ChatEvent]) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    let starts = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => Some(start),
        _ => None,
    });
    let starts: Vec<_> = starts.collect();
    let ids = starts.iter().filter_map(|start| start.native_id.as_deref());
    let models = starts.iter().filter_map(|start| start.model.as_deref());
    let agents = events.iter().filter_map(|event| event.agent_id.as_deref());
    (ids.collect(), models.collect(), agents.collect())
}

#[test]
fn a_session_that_is_gone_is_not_the_one_that_runs() {
    let in_new = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": {"sessionId": "new", "prompt": [{"type": "text", "text": "Go"}]}});
    for method in ["session/load", "session/resume"] {
        let lines = [
            initialized(),
            request(1, method, json!({"cwd": "/w"})),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "session not found"}}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/w"}}),
            answer(
                2,
                json!({"sessionId": "new", "models": {"currentModelId": "opus"}}),
            ),
            in_new(3),
            stop(3, "end_turn"),
        ];
        let events = read_lines(Dialect::Acp, &lines).events;
        assert_sound(method, &events);
        assert_eq!(facts(&events), (vec!["new"], vec!["opus"], vec![]));
        assert_eq!(
            words(&events),
            [
                "error -32602 session not found",
                "turn t1",
                "user Go",
                "end completed"
            ]
        );
        assert!(events.iter().all(|event| event.session_id == "new"));
    }
}

#[test]
fn a_session_that_is_loaded_or_only_asked_for_is_the_one_that_runs() {
    let load = request(1, "session/load", json!({"cwd": "/w"}));
    let fork = [
        request(1, "session/fork", json!({"cwd": "/w"})),
        answer(1, json!({"sessionId": "forked"})),
    ];
    let loaded = [
        load.clone(),
        text("user_message_chunk", "Hi", None),
        answer(1, json!({"models": {"currentModelId": "opus"}})),
    ];
    for (lines, id) in [
        (&loaded[..], "s"),
        (std::slice::from_ref(&load), "s"),
        (&fork[..], "forked"),
    ] {
        let events = read_lines(Dialect::Acp, lines).events;
        assert_eq!(facts(&events).0, [id]);
        assert_eq!(facts(&events).2, Vec::<&str>::new());
    }
    assert_eq!(told(&loaded), ["turn t1", "user Hi", "end completed"]);
}

#[test]
fn a_prompt_of_several_blocks_that_is_said_back_stands_once() {
    let blocks = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    let lines = [
        request(1, "session/prompt", json!({"prompt": blocks})),
        text("user_message_chunk", "one", None),
        text("user_message_chunk", "two", None),
        text("agent_message_chunk", "Three.", None),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user one\ntwo",
            "said Three. in t1.r1",
            "end completed"
        ]
    );
}

#[test]
fn an_output_without_a_word_does_not_hide_what_is_shown() {
    let ended = |output: Value| {
        told(&[
            update(
                json!({"sessionUpdate": "tool_call", "toolCallId": "k", "title": "ls", "kind": "execute", "status": "completed", "rawOutput": output, "content": [{"type": "content", "content": {"type": "text", "text": "a.txt"}}]}),
            ),
        ])[2]
            .clone()
    };
    assert_eq!(ended(json!("")), "result k a.txt");
    assert_eq!(ended(Value::Null), "result k a.txt");
    assert_eq!(ended(json!("b.txt")), "result k b.txt");
}

#[test]
fn where_only_the_agent_is_heard_the_users_words_begin_the_turns() {
    let lines = [
        text("user_message_chunk", "Fir", None),
        text("user_message_chunk", "st", None),
        text("agent_message_chunk", "One.", None),
        text("user_message_chunk", "Again", None),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "k", "title": "ls"})),
        text("user_message_chunk", "Again", None),
        text("user_message_chunk", "Third", Some("m3")),
        text("agent_message_chunk", "Three.", Some("m4")),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user First",
            "said One. in t1.r1",
            "end completed",
            "turn t2",
            "user Again",
            "call k ls",
            "failed k no result recorded",
            "end completed",
            "turn t3",
            "user Third",
            "said Three. in m4",
            "end interrupted",
        ]
    );
}

#[test]
fn what_the_agent_does_of_itself_ends_where_the_next_prompt_begins() {
    let lines = [
        prompt(1, "One"),
        text("agent_message_chunk", "First.", None),
        stop(1, "end_turn"),
        text("agent_message_chunk", "A job is done.", None),
        request(
            7,
            "session/request_permission",
            json!({"toolCall": {"toolCallId": "u", "title": "x"}, "options": []}),
        ),
        prompt(2, "Two"),
        text("agent_message_chunk", "Second.", None),
        stop(2, "end_turn"),
        prompt(3, "Three"),
        text("agent_message_chunk", "Third.", None),
        stop(3, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user One",
            "said First. in t1.r1",
            "end completed",
            "turn t2",
            "said A job is done. in t2.r1",
            "call u x",
            "asks 7",
            "failed u no result recorded",
            "answer 7 cancel",
            "end completed",
            "turn t3",
            "user Two",
            "said Second. in t3.r1",
            "end completed",
            "turn t4",
            "user Three",
            "said Third. in t4.r1",
            "end completed",
        ]
    );
}

#[test]
fn a_turn_that_was_overtaken_goes_on_with_responses_of_new_names() {
    let lines = [
        prompt(1, "One"),
        text("agent_message_chunk", "First.", None),
        prompt(2, "Two"),
        stop(2, "end_turn"),
        text("agent_message_chunk", "Still first.", None),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user One",
            "turn t2",
            "user Two",
            "said First. in t1.r1",
            "end completed",
            "said Still first. in t1.r2",
            "end completed",
        ]
    );
}

#[test]
fn prompts_are_answered_in_any_order() {
    let mut lines = vec![initialized()];
    lines.extend((1..=4).map(|id| prompt(id, &format!("{id}"))));
    // An id that is used again while its first request waits is that of the first.
    lines.push(prompt(3, "Again"));
    lines.extend([3, 4, 1, 3, 2].map(|id| stop(id, "end_turn")));
    let read = read_lines(Dialect::Acp, &lines);
    assert_sound("any order", &read.events);
    let ends = read.events.iter().filter_map(|event| match &event.payload {
        Payload::TurnEnd(_) => event.turn_id.as_deref(),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), ["t3", "t4", "t1", "t5", "t2"]);
}

#[test]
fn a_call_or_a_message_of_an_id_used_before_is_another_one() {
    let call = |command: &str| {
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "call_0", "title": "bash", "kind": "execute", "status": "pending", "rawInput": {"command": command}}),
        )
    };
    let ended = |output: &str| {
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "call_0", "status": "completed", "rawOutput": output}),
        )
    };
    let first = [
        call("one"),
        ended("1"),
        ended("late"),
        call("two"),
        ended("2"),
        text("agent_message_chunk", "Two.", Some("msg_1")),
    ];
    let mut lines = vec![prompt(1, "Go")];
    lines.extend(first.clone());
    lines.push(stop(1, "end_turn"));
    lines.push(prompt(2, "And"));
    lines.push(call("three"));
    lines.push(request(
        7,
        "session/request_permission",
        json!({"toolCall": {"toolCallId": "call_0"}, "options": []}),
    ));
    lines.push(ended("3"));
    lines.push(text("agent_message_chunk", "Thr", Some("msg_1")));
    lines.push(text("agent_message_chunk", "ee.", Some("msg_1")));
    lines.push(stop(2, "end_turn"));
    // A history says all of it once more.
    lines.push(request(3, "session/load", json!({"cwd": "/w"})));
    lines.push(text("user_message_chunk", "Go", None));
    lines.extend(first);
    lines.push(answer(3, Value::Null));
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "call call_0 bash",
            "result call_0 1",
            "call call_0~2 bash",
            "result call_0~2 2",
            "said Two. in msg_1",
            "end completed",
            "turn t2",
            "user And",
            "call call_0~3 bash",
            "asks 7",
            "answer 7 allow",
            "result call_0~3 3",
            "said Three. in msg_1~2",
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
fn files_and_terminals_of_the_client_are_the_calls_edits_and_output() {
    let lines = [
        prompt(1, "Go"),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "e", "title": "Edit", "kind": "edit", "status": "in_progress",
            "locations": [{"path": "/w/a.txt"}]}),
        ),
        request(1, "fs/read_text_file", json!({"path": "/w/a.txt"})),
        answer(1, json!({"content": "a\nb\n"})),
        request(
            2,
            "fs/write_text_file",
            json!({"path": "/w/a.txt", "content": "a\nc\n"}),
        ),
        answer(2, Value::Null),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "e", "status": "completed"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "x", "title": "make", "kind": "execute", "status": "in_progress",
            "content": [{"type": "terminal", "terminalId": "T"}]}),
        ),
        request(3, "terminal/output", json!({"terminalId": "T"})),
        answer(3, json!({"output": "one\n", "truncated": false})),
        request(4, "terminal/output", json!({"terminalId": "T"})),
        answer(
            4,
            json!({"output": "one\ntwo\n", "truncated": false, "exitStatus": {"exitCode": 2}}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "x", "status": "completed"}),
        ),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "p", "title": "Edit", "kind": "edit", "status": "completed",
            "content": [{"type": "diff", "path": "/w/a.txt", "oldText": "c", "newText": "d"},
                        {"type": "diff", "path": "/w/b.txt", "oldText": "x", "newText": "y\nz"}]}),
        ),
        stop(1, "end_turn"),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "call e Edit",
            "result e null",
            "edit modified /w/a.txt +1 -1 true",
            "call x make",
            "printed \"one\\n\"",
            "printed \"two\\n\"",
            "failed x exit code 2",
            "call p Edit",
            "result p ",
            // Known from the write before, so that the whole diff is made; of the other file only the piece is known.
            "edit modified /w/a.txt +1 -1 true",
            "edit modified /w/b.txt +2 -1 false",
            "end completed",
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
fn version_2_ends_turns_by_its_state_and_messages_come_whole() {
    let lines = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 2, "info": {"name": "c", "version": "1"}}}),
        answer(
            0,
            json!({"protocolVersion": 2, "info": {"name": "a", "version": "2"}, "capabilities": {}, "authMethods": []}),
        ),
        prompt(1, "Go"),
        answer(1, json!({})),
        update(
            json!({"sessionUpdate": "user_message", "messageId": "u", "content": [{"type": "text", "text": "Go"}]}),
        ),
        update(json!({"sessionUpdate": "state_update", "state": "running"})),
        text("agent_message_chunk", "Hel", Some("m")),
        update(
            json!({"sessionUpdate": "agent_message", "messageId": "m", "content": [{"type": "text", "text": "Hello"}]}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "name": "bash", "kind": "execute", "status": "in_progress", "content": [{"type": "terminal", "terminalId": "T"}]}),
        ),
        update(
            json!({"sessionUpdate": "terminal_output_chunk", "terminalId": "T", "data": "4oI="}),
        ),
        update(
            json!({"sessionUpdate": "terminal_output_chunk", "terminalId": "T", "data": "rA=="}),
        ),
        update(
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "content": [
            {"type": "diff", "changes": [{"operation": "modify", "path": "/w/a.txt"}],
             "patch": {"format": "git_patch", "text": "diff --git a/w/a.txt b/w/a.txt\n--- a/w/a.txt\n+++ b/w/a.txt\n@@ -1 +1 @@\n-a\n+b\n"}}]}),
        ),
        update(
            json!({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 1, "totalTokens": 6}}),
        ),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "said Hello in m",
            "call t bash",
            "printed \"€\"",
            "result t €",
            "edit modified /w/a.txt +1 -1 true",
            "Usage",
            "Usage",
            "end completed",
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

#[test]
fn the_prompt_of_a_log_without_it_comes_from_outside() {
    let mut reader = SessionReader::new(Context {
        prompt: Some("Go".to_owned()),
        ..Context::default()
    });
    let mut events = Vec::new();
    for line in [text("agent_message_chunk", "Hi", None), stop(3, "end_turn")] {
        reader
            .push(format!("{line}\n").as_bytes(), 0, &mut events)
            .unwrap();
    }
    reader.finish(0, &mut events).unwrap();
    assert_eq!(
        words(&events),
        ["turn t1", "user Go", "said Hi in t1.r1", "end completed"]
    );
}

#[test]
fn what_stops_in_the_middle_is_closed() {
    let lines = [
        prompt(1, "Go"),
        text("agent_message_chunk", "I ", None),
        update(
            json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "bash", "status": "pending", "rawInput": {}}),
        ),
        request(
            2,
            "session/request_permission",
            json!({"toolCall": {"toolCallId": "u", "title": "x"}, "options": []}),
        ),
    ];
    assert_eq!(
        told(&lines),
        [
            "turn t1",
            "user Go",
            "said I  in t1.r1",
            "call u x",
            "asks 2",
            "call t bash",
            "failed t stopped before it ended",
            "failed u stopped before it ended",
            "answer 2 cancel",
            "end interrupted",
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

/// Gemini says nothing more of a call that was refused, and of what it read not what it was.
#[test]
fn a_refused_call_is_told_as_that_where_the_agent_says_nothing_more() {
    let ask = |id: u64, call: &str| {
        let options = json!([{"optionId": "y", "name": "Yes", "kind": "allow_once"}, {"optionId": "cancel", "name": "Reject", "kind": "reject_once"}]);
        json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {"sessionId": "s", "options": options,
            "toolCall": {"toolCallId": call, "status": "pending", "title": call, "kind": "execute", "content": []}}})
    };
    let chosen = |id: u64, option: &str| {
        let outcome = json!({"outcome": "selected", "optionId": option});
        answer(id, json!({"outcome": outcome}))
    };
    let read = json!({"sessionUpdate": "tool_call", "toolCallId": "r", "status": "completed", "title": "a.md", "kind": "read", "content": []});
    let lines = [
        prompt(1, "Go"),
        update(read),
        ask(7, "b"),
        chosen(7, "cancel"),
        ask(8, "c"),
        chosen(8, "y"),
        text("agent_message_chunk", "Done.", None),
        stop(1, "end_turn"),
    ];
    let events = read_lines(Dialect::Acp, &lines).events;
    assert_sound("gemini", &events);
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => {
            let code = result.error.as_ref().and_then(|error| error.code.clone());
            Some((result.tool_call_id.as_str(), code, result.result.is_null()))
        }
        _ => None,
    });
    let of = |code: &str| Some(code.to_owned());
    assert_eq!(
        results.collect::<Vec<_>>(),
        [
            ("r", None, true),
            ("b", of("rejected"), false),
            ("c", of("no_result"), false)
        ]
    );
}
