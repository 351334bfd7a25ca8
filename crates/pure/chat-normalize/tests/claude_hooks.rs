//! What Claude Code tells its hooks, as events: all recorded inputs, and small ones of kinds no recording has.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, Report, SessionReader};
use serde_json::{Value, json};

/// The recordings beside the checkout; `None`, and a word, where they are not there.
fn recordings() -> Option<PathBuf> {
    let shared = std::env::var_os("TURNREEL_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let folder = shared.join("recordings");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("no recordings at {}: nothing is held", folder.display());
    None
}

/// Every recorded file of hook inputs.
fn corpus() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let Some(root) = recordings() else {
        return found;
    };
    for folder in ["claude-code", "claude-code-2.1.197"] {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_string_lossy().ends_with(".hooks.jsonl"))
            .collect();
        paths.sort();
        for path in paths {
            let name = format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    assert!(found.len() > 30, "{}", found.len());
    found
}

fn read_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<ChatEvent>, Report) {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for piece in pieces {
        reader.push(piece, 7, &mut events).unwrap();
    }
    reader.finish(7, &mut events).unwrap();
    assert_eq!(reader.dialect(), Some(Dialect::ClaudeHooks));
    (events, reader.report())
}

fn read(lines: &[Value]) -> (Vec<ChatEvent>, Report) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    read_pieces(std::iter::once(text.as_bytes()))
}

/// A hook's input with what all of them have.
fn hook(event: &str, more: Value) -> Value {
    let mut line = json!({"session_id": "s1", "transcript_path": "/t/s1.jsonl", "cwd": "/w", "prompt_id": "p1",
        "hook_event_name": event});
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

fn tool(event: &str, id: &str, more: Value) -> Value {
    let mut line = hook(
        event,
        json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": id}),
    );
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

/// What the events say, a word each.
fn words(events: &[ChatEvent]) -> Vec<String> {
    let word = |event: &ChatEvent| {
        Some(match &event.payload {
            Payload::TurnStart(start) => format!("turn {}", start.trigger),
            Payload::TurnEnd(end) => format!("end {}", end.outcome.as_deref().unwrap_or("")),
            Payload::UserMessage(said) => format!("said {}", said.text.preview()),
            Payload::AssistantDone(done) => format!("answer {}", done.text),
            Payload::AssistantChunk(chunk) => format!("chunk {}", chunk.text),
            Payload::ToolCall(call) => format!("call {}", call.tool_call_id),
            Payload::ToolResult(result) => match &result.error {
                None => format!("result {}", result.tool_call_id),
                Some(error) => format!(
                    "failed {} {}",
                    result.tool_call_id,
                    error.code.as_deref().unwrap_or("")
                ),
            },
            Payload::FileEdit(edit) => {
                format!("edit +{} -{}", edit.lines_added, edit.lines_removed)
            }
            Payload::PermissionRequest(ask) => {
                format!("ask {}", ask.tool_call_id.as_deref().unwrap_or("?"))
            }
            Payload::PermissionResolved(answer) => format!("answered {}", answer.decision),
            Payload::QuestionRequest(ask) => format!("question {}", ask.questions[0].text),
            Payload::QuestionResolved(answer) => format!("question {}", answer.outcome),
            Payload::Interrupt(_) => "interrupt".to_owned(),
            Payload::ErrorEvent(error) => format!("error {}", error.code),
            Payload::Compaction(compaction) => format!("compaction {}", compaction.trigger),
            Payload::SessionEnd(end) => format!("over {}", end.reason),
            _ => return None,
        })
    };
    events.iter().filter_map(word).collect()
}

#[test]
fn all_recorded_inputs_are_read_and_nothing_is_left_raw() {
    for (name, bytes) in corpus() {
        let (events, report) = read_pieces(std::iter::once(bytes.as_slice()));
        assert_eq!(report.unreadable, 0, "{name}");
        assert_eq!(report.raw, BTreeMap::new(), "{name}");
        let mut ids = std::collections::BTreeSet::new();
        for event in &events {
            assert!(ids.insert(event.id.clone()), "{name}: {} twice", event.id);
        }
        let pieces = read_pieces(bytes.chunks(7)).0;
        assert_eq!(events, pieces, "{name}: another cut");
    }
}

/// The expectation is taken from the lines by other code than the reader's.
#[test]
fn what_recorded_inputs_say_comes_out_once() {
    for (name, bytes) in corpus() {
        let lines: Vec<Value> = String::from_utf8(bytes.clone())
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (events, _) = read_pieces(std::iter::once(bytes.as_slice()));
        let of = |event: &str| {
            lines
                .iter()
                .filter(|line| line["hook_event_name"] == event)
                .collect::<Vec<_>>()
        };
        let mut calls: Vec<&str> = of("PreToolUse")
            .iter()
            .map(|line| line["tool_use_id"].as_str().unwrap())
            .collect();
        let mut called = Vec::new();
        let mut ended = Vec::new();
        let mut failed = 0;
        let mut edits = 0;
        let mut answers = Vec::new();
        let mut prompts = 0;
        let mut turns: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for event in &events {
            let turn = event.turn_id.clone().unwrap_or_default();
            match &event.payload {
                Payload::ToolCall(call) => called.push(call.tool_call_id.as_str()),
                // How it ends is told by another one.
                Payload::ToolResult(result) if result.goes_on() => {}
                Payload::ToolResult(result) => {
                    ended.push(result.tool_call_id.as_str());
                    failed += u32::from(result.error.is_some());
                }
                Payload::FileEdit(_) => edits += 1,
                Payload::AssistantDone(done) => answers.push(done.text.as_str()),
                Payload::UserMessage(_) => prompts += 1,
                Payload::TurnStart(_) => turns.entry(turn).or_default().0 += 1,
                Payload::TurnEnd(_) => turns.entry(turn).or_default().1 += 1,
                _ => {}
            }
        }
        let stem = |id: &str| id.split('~').next().unwrap().to_owned();
        let mut called: Vec<String> = called.into_iter().map(stem).collect();
        let mut ended: Vec<String> = ended.into_iter().map(stem).collect();
        calls.sort_unstable();
        called.sort();
        ended.sort();
        assert_eq!(called, calls, "{name}");
        assert_eq!(ended, called, "{name}: every call has one result");
        let well = of("PostToolUse").len();
        assert_eq!(failed as usize, calls.len() - well, "{name}");
        let edited = of("PostToolUse")
            .iter()
            .filter(|line| {
                let tool = line["tool_name"].as_str().unwrap();
                matches!(tool, "Write" | "Edit" | "NotebookEdit" | "MultiEdit")
            })
            .count();
        assert_eq!(edits, edited, "{name}");
        let wanted: Vec<&str> = lines
            .iter()
            .filter(|line| {
                line["hook_event_name"] == "Stop"
                    || (line["hook_event_name"] == "SubagentStop" && line["agent_type"] != "")
            })
            .filter_map(|line| line["last_assistant_message"].as_str())
            .filter(|text| !text.is_empty())
            .collect();
        assert_eq!(answers, wanted, "{name}");
        let by_person = of("UserPromptSubmit")
            .iter()
            .filter(|line| !line["prompt"].as_str().unwrap().starts_with('<'))
            .count();
        assert_eq!(prompts, by_person, "{name}");
        for (turn, counts) in turns {
            assert_eq!(counts, (1, 1), "{name}: {turn}");
        }
    }
}

#[test]
fn a_sub_agents_work_stands_in_the_call_that_started_it() {
    let agent = json!({"agent_id": "a1", "agent_type": "helper"});
    let mut inner = tool("PreToolUse", "toolu_2", agent.clone());
    inner["agent_id"] = json!("a1");
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        hook(
            "PreToolUse",
            json!({"tool_name": "Agent", "tool_use_id": "toolu_1",
            "tool_input": {"prompt": "count", "subagent_type": "helper"}}),
        ),
        hook("SubagentStart", agent.clone()),
        inner,
        hook(
            "SubagentStop",
            json!({"agent_id": "a1", "agent_type": "helper", "last_assistant_message": "Two."}),
        ),
        hook(
            "PostToolUse",
            json!({"tool_name": "Agent", "tool_use_id": "toolu_1",
            "tool_input": {"prompt": "count", "subagent_type": "helper"},
            "tool_response": {"agentId": "a1", "status": "completed", "content": [{"type": "text", "text": "Two."}]}}),
        ),
        hook("Stop", json!({"last_assistant_message": "There are two."})),
    ];
    let (events, _) = read(&lines);
    let inside: Vec<ChatEvent> = events
        .iter()
        .filter(|event| event.parent_tool_call_id.as_deref() == Some("toolu_1"))
        .cloned()
        .collect();
    assert_eq!(
        words(&inside),
        ["call toolu_2", "answer Two.", "failed toolu_2 no_result"]
    );
    assert!(
        inside
            .iter()
            .all(|event| event.agent_id.as_deref() == Some("a1"))
    );
    assert!(
        inside
            .iter()
            .all(|event| event.turn_id.as_deref() == Some("p1"))
    );
}

#[test]
fn a_result_that_comes_first_tells_the_call_too() {
    let after = tool(
        "PostToolUse",
        "toolu_1",
        json!({"tool_response": {"stdout": "a.txt"}}),
    );
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        after.clone(),
        tool("PreToolUse", "toolu_1", json!({})),
        after,
        hook("Stop", json!({})),
    ];
    let (events, report) = read(&lines);
    assert_eq!(
        words(&events),
        [
            "turn user",
            "said Go",
            "call toolu_1",
            "result toolu_1",
            "end completed",
            "over end of file"
        ]
    );
    assert_eq!(report.repeated, 1);
}

#[test]
fn a_refused_call_is_closed_when_the_turn_is_over_and_a_late_result_is_waited_for() {
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool("PreToolUse", "toolu_1", json!({})),
        hook(
            "PermissionRequest",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ),
        tool(
            "PreToolUse",
            "toolu_2",
            json!({"tool_input": {"command": "pwd"}}),
        ),
        hook("Stop", json!({"last_assistant_message": "I may not."})),
        tool(
            "PostToolUse",
            "toolu_2",
            json!({"tool_input": {"command": "pwd"}, "tool_response": {"stdout": "/w"}}),
        ),
        hook("SessionEnd", json!({"reason": "other"})),
    ];
    assert_eq!(
        words(&read(&lines).0),
        [
            "turn user",
            "said Go",
            "call toolu_1",
            "ask toolu_1",
            "call toolu_2",
            "answer I may not.",
            "answered cancel",
            "failed toolu_1 no_result",
            "end completed",
            "result toolu_2",
            "over other"
        ]
    );
}

#[test]
fn what_was_displayed_is_not_said_again_at_the_end() {
    let lines = [
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        hook(
            "MessageDisplay",
            json!({"message_id": "m", "index": 0, "final": false, "delta": "One\n"}),
        ),
        hook(
            "MessageDisplay",
            json!({"message_id": "m", "index": 1, "final": true, "delta": "Two"}),
        ),
        hook("Stop", json!({"last_assistant_message": "One\nTwo"})),
    ];
    assert_eq!(
        words(&read(&lines).0),
        [
            "turn user",
            "said Go",
            "chunk One\n",
            "chunk Two",
            "answer One\nTwo",
            "end completed",
            "over end of file"
        ]
    );
}

#[test]
fn other_happenings_are_told() {
    let lines = [
        hook("SessionStart", json!({"source": "startup"})),
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        hook(
            "Elicitation",
            json!({"mcp_server_name": "m", "message": "Which?"}),
        ),
        hook(
            "ElicitationResult",
            json!({"mcp_server_name": "m", "action": "accept", "content": {"a": 1}}),
        ),
        hook(
            "Notification",
            json!({"message": "Claude waits", "notification_type": "idle_prompt"}),
        ),
        hook(
            "PostCompact",
            json!({"trigger": "auto", "compact_summary": "So far"}),
        ),
        tool(
            "PostToolUseFailure",
            "toolu_1",
            json!({"error": "Exit code 3\nno", "is_interrupt": true}),
        ),
        hook(
            "StopFailure",
            json!({"error": "rate_limit", "last_assistant_message": "Too many"}),
        ),
        hook("SomethingNew", json!({"x": 1})),
    ];
    let (events, report) = read(&lines);
    assert_eq!(
        words(&events),
        [
            "turn user",
            "said Go",
            "question Which?",
            "question answered",
            "compaction auto",
            "call toolu_1",
            "failed toolu_1 exit_code",
            "interrupt",
            "error rate_limit",
            "end failed",
            "over end of file"
        ]
    );
    assert_eq!(report.raw, BTreeMap::from([("SomethingNew".to_owned(), 1)]));
    let told = |event: &ChatEvent| matches!(&event.payload, Payload::Notice(notice) if notice.text == "Claude waits");
    assert!(events.iter().any(told));
}

#[test]
fn an_edit_is_told_with_its_diff() {
    let input = json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"});
    let response = json!({"filePath": "/w/a", "oldString": "x", "newString": "y", "originalFile": "x\n",
        "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-x", "+y"]}]});
    let lines = [hook(
        "PostToolUse",
        json!({"tool_name": "Edit", "tool_input": input, "tool_response": response, "tool_use_id": "toolu_1",
            "duration_ms": 12}),
    )];
    let (events, _) = read(&lines);
    let said = words(&events);
    assert!(said.contains(&"edit +1 -1".to_owned()), "{said:?}");
    let result = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result),
        _ => None,
    });
    assert_eq!(result.unwrap().duration_ms, Some(12));
}

#[test]
fn wrong_types_everywhere_do_no_harm() {
    let events = [
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "PermissionRequest",
        "PermissionDenied",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "MessageDisplay",
        "PostCompact",
        "PreCompact",
        "Elicitation",
        "ElicitationResult",
        "CwdChanged",
        "PostModelSwitch",
        "Notification",
        "SessionEnd",
    ];
    let kinds = [
        json!(null),
        json!(1),
        json!("x"),
        json!([1]),
        json!({"a": {}}),
    ];
    let keys = [
        "prompt",
        "prompt_id",
        "tool_name",
        "tool_input",
        "tool_response",
        "tool_use_id",
        "agent_id",
        "agent_type",
        "last_assistant_message",
        "message_id",
        "delta",
        "final",
        "mcp_server_name",
        "background_tasks",
    ];
    let mut lines = Vec::new();
    for event in events {
        for kind in &kinds {
            let mut line = hook(event, json!({}));
            for key in keys {
                line[key] = kind.clone();
            }
            lines.push(line);
        }
    }
    let (events, report) = read(&lines);
    assert!(!events.is_empty());
    assert_eq!(report.unreadable, 0);
}

/// Lines of two sessions in one file, or words that come late: each turn begins once, whichever prompt its end names.
#[test]
fn an_end_that_names_another_prompt_ends_the_open_turn() {
    let of = |prompt: &str, event: &str, more: Value| {
        let mut line = hook(event, more);
        line["prompt_id"] = json!(prompt);
        line
    };
    let mut late = tool("PreToolUse", "toolu_1", json!({}));
    late["prompt_id"] = json!("p2");
    let lines = [
        of("p1", "UserPromptSubmit", json!({"prompt": "One"})),
        of("p2", "UserPromptSubmit", json!({"prompt": "Two"})),
        of("p1", "Stop", json!({"last_assistant_message": "Done."})),
        late,
        hook("SessionEnd", json!({"reason": "other"})),
        // A prompt with the name that the second turn of another has.
        of("p2~2", "UserPromptSubmit", json!({"prompt": "Three"})),
    ];
    let turns: Vec<_> = read(&lines)
        .0
        .into_iter()
        .filter(|event| matches!(event.payload, Payload::TurnStart(_)))
        .filter_map(|event| event.turn_id)
        .collect();
    assert_eq!(turns, ["p1", "p2", "p2~2", "p2~2~2"]);
}

/// Older programs name no prompt, so the same lines can come again.
#[test]
fn the_same_words_without_a_prompts_id_begin_another_turn() {
    let without = |event: &str, more: Value| {
        let mut line = hook(event, more);
        line.as_object_mut().unwrap().remove("prompt_id");
        line
    };
    let lines = [
        without("UserPromptSubmit", json!({"prompt": "Go"})),
        without("Stop", json!({"last_assistant_message": "Done."})),
        without("UserPromptSubmit", json!({"prompt": "Go"})),
        without("Stop", json!({"last_assistant_message": "Done."})),
    ];
    let (events, _) = read(&lines);
    let turns = |begun: bool| -> Vec<_> {
        let of = events.iter().filter(|event| match event.payload {
            Payload::TurnStart(_) => begun,
            Payload::TurnEnd(_) => !begun,
            _ => false,
        });
        of.map(|event| event.turn_id.clone().unwrap()).collect()
    };
    assert_eq!(turns(true).len(), 2);
    assert_ne!(turns(true)[0], turns(true)[1]);
    assert_eq!(turns(true), turns(false));
}

#[test]
fn what_a_sub_agent_does_in_the_background_outlives_a_prompt() {
    let of_agent = |event: &str| tool(event, "t2", json!({"agent_id": "a1"}));
    let (events, _) = read(&[
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool(
            "PreToolUse",
            "t1",
            json!({"tool_name": "Agent", "tool_input": {"description": "d", "prompt": "p"}}),
        ),
        tool(
            "PostToolUse",
            "t1",
            json!({"tool_name": "Agent", "tool_input": {"description": "d", "prompt": "p"},
            "tool_response": {"agentId": "a1", "status": "async_launched"}}),
        ),
        hook(
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "general-purpose"}),
        ),
        hook("Stop", json!({})),
        of_agent("PreToolUse"),
        hook(
            "UserPromptSubmit",
            json!({"prompt": "And?", "prompt_id": "p2"}),
        ),
        of_agent("PostToolUse"),
    ]);
    let words = words(&events);
    let of_call: Vec<&String> = words.iter().filter(|word| word.ends_with(" t2")).collect();
    assert_eq!(of_call, ["call t2", "result t2"], "{words:?}");
}

#[test]
fn an_agent_whose_kind_is_not_named_has_what_it_does() {
    let (events, _) = read(&[
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool(
            "PreToolUse",
            "t1",
            json!({"tool_name": "Agent", "tool_input": {"description": "d", "prompt": "p"}}),
        ),
        hook(
            "SubagentStart",
            json!({"agent_id": "a1", "agent_type": "general-purpose"}),
        ),
        tool("PreToolUse", "t2", json!({"agent_id": "a1"})),
    ]);
    let call = events.iter().find(
        |event| matches!(&event.payload, Payload::ToolCall(call) if call.tool_call_id == "t2"),
    );
    assert_eq!(call.unwrap().parent_tool_call_id.as_deref(), Some("t1"));
}

#[test]
fn pictures_of_results_are_pictures() {
    let source = json!({"type": "base64", "data": "iVBORw0KGgo=", "media_type": "image/png"});
    let picture = json!({"type": "image", "source": source});
    let read_file = json!({"type": "image", "file": {"base64": "iVBORw0KGgo=", "type": "image/png", "originalSize": 8}});
    let of_server = json!([{"type": "text", "text": "The page"}, picture]);
    for (response, wanted) in [
        (read_file, json!([picture])),
        (json!({"content": of_server}), of_server.clone()),
        (of_server.clone(), of_server),
    ] {
        let (events, _) = read(&[tool(
            "PostToolUse",
            "t1",
            json!({"tool_name": "Read", "tool_input": {"file_path": "a.png"}, "tool_response": response}),
        )]);
        let results: Vec<Value> = events
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::ToolResult(result) => Some(result.result.to_value()),
                _ => None,
            })
            .collect();
        assert_eq!(results, [wanted]);
    }
}

/// The hook behind a call runs where the call ran.
#[test]
fn a_call_that_was_let_run_and_failed_was_not_refused() {
    let (events, _) = read(&[
        hook("UserPromptSubmit", json!({"prompt": "Go"})),
        tool("PreToolUse", "t1", json!({})),
        hook(
            "PermissionRequest",
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}),
        ),
        tool(
            "PostToolUseFailure",
            "t1",
            json!({"error": "Request failed with status code 404"}),
        ),
    ]);
    let words = words(&events);
    assert_eq!(
        words[2..6],
        ["call t1", "ask t1", "answered allow", "failed t1 "],
        "{words:?}"
    );
}
