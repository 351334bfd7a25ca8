//! What the dialect of Kimi Code holds, over public sessions.

use std::collections::BTreeMap;

use crate::support::{assert_cuts, assert_sound, read, read_lines, sources, told, values};
use chat_event::{Payload, SetBack};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

#[test]
fn the_sessions_are_told_cut_anywhere_and_say_what_their_lines_say() {
    for source in sources("fixtures/other", |name| name.contains("kimi")) {
        let whole = read(&source.bytes);
        assert_eq!(whole.dialect, Some(Dialect::Kimi), "{}", source.name);
        assert_eq!(whole.report.unreadable, 0, "{}", source.name);
        assert_eq!(whole.report.raw, BTreeMap::new(), "{}", source.name);
        assert_sound(&source.name, &whole.events);
        assert_cuts(&source);
        let (mut said, mut output) = (Vec::new(), 0);
        for line in values(&source.bytes) {
            let event = &line["event"];
            let text = match (line["type"].as_str(), event["type"].as_str()) {
                (Some("turn.prompt"), _) => line["input"][0]["text"]
                    .as_str()
                    .map(|text| format!("user {text}")),
                (_, Some("content.part")) => match event["part"]["text"].as_str() {
                    Some(text) => Some(format!("done {text}")),
                    None => event["part"]["think"]
                        .as_str()
                        .map(|text| format!("thinking {text}")),
                },
                (_, Some("tool.call")) => {
                    Some(format!("call {}", event["toolCallId"].as_str().unwrap()))
                }
                (_, Some("tool.result")) => Some(format!(
                    "result {}",
                    event["result"]["output"].as_str().unwrap_or("")
                )),
                _ => None,
            };
            said.extend(text.filter(|text| text != "thinking "));
            if event["type"] == "step.end" || line["usageScope"] == "session" {
                let usage = event.get("usage").or_else(|| line.get("usage"));
                output += usage
                    .and_then(|usage| usage["output"].as_u64())
                    .unwrap_or(0);
            }
        }
        let (mut told, mut told_output) = (Vec::new(), 0);
        for event in &whole.events {
            match &event.payload {
                Payload::UserMessage(message) => {
                    told.push(format!("user {}", message.text.preview()))
                }
                Payload::AssistantDone(done) => told.push(format!("done {}", done.text)),
                Payload::ThinkingDone(done) => told.push(format!("thinking {}", done.text)),
                Payload::ToolCall(call) => told.push(format!("call {}", call.tool_call_id)),
                Payload::ToolResult(result) => {
                    told.push(format!("result {}", result.result.display_text()))
                }
                Payload::Usage(usage) => told_output += usage.output_tokens,
                _ => {}
            }
        }
        assert_eq!(told, said, "{}", source.name);
        assert_eq!(told_output, output, "{}", source.name);
    }
}

#[test]
fn approvals_compactions_and_strange_lines_are_told() {
    let lines = [
        json!({"type": "metadata", "protocol_version": "1.4", "created_at": 1}),
        json!({"type": "turn.prompt", "input": [{"type": "text", "text": "Go"}, {"type": "new"}], "origin": {"kind": "user"}, "time": 2}),
        event(json!({"type": "step.begin", "uuid": "s1"})),
        json!({"type": "permission.record_approval_result", "toolCallId": "c1", "toolName": "Bash", "result": {"decision": "rejected"}, "time": 6}),
        event(
            json!({"type": "tool.call", "toolCallId": "c1", "name": "Bash", "args": {"command": "rm x"}}),
        ),
        event(
            json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": "Command failed with exit code: 3.", "isError": true}}),
        ),
        event(json!({"type": "tool.result", "toolCallId": "c9", "result": 1})),
        event(json!({"type": "new"})),
        json!({"type": "full_compaction.begin", "source": "manual"}),
        json!({"type": "context.apply_compaction", "summary": "All."}),
        json!({"type": "context.append_loop_event"}),
        json!({"type": 1}),
    ];
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    let told = told(&read.events);
    assert_eq!(
        told.iter()
            .filter(|line| !line.starts_with("raw"))
            .collect::<Vec<_>>(),
        [
            "turn user",
            "user Go",
            "asked c1:ask",
            "answered deny",
            "call c1 Bash",
            "failed c1 error",
            "compaction manual",
            "end interrupted"
        ]
    );
    assert_eq!(
        told.iter().filter(|line| line.starts_with("raw")).count(),
        5
    );
}

fn event(event: Value) -> Value {
    json!({"type": "context.append_loop_event", "event": event, "time": 5})
}

fn said(kind: &str, text: &str, by: &str, time_ms: i64) -> Value {
    json!({"type": kind, "input": [{"type": "text", "text": text}], "origin": {"kind": by}, "time": time_ms})
}

fn step(kind: &str, id: &str, reason: &str) -> Value {
    event(json!({"type": kind, "uuid": id, "finishReason": reason}))
}

#[test]
fn words_to_the_agent_at_work_stand_in_its_turn_and_a_stop_ends_it() {
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": "c1", "name": "Bash", "args": {}}),
        ),
        said("turn.steer", "Use tabs", "user", 2_000),
        said("turn.steer", "A task is done", "background_task", 2_001),
        json!({"type": "context.append_message", "message": {"role": "user"}, "time": 2_002}),
        json!({"type": "turn.cancel", "time": 3_000}),
        event(json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": "aborted"}})),
        step("step.end", "s1", "aborted"),
        json!({"type": "turn.cancel", "time": 3_001}),
        said("turn.steer", "Anew", "user", 4_000),
        step("step.begin", "s2", ""),
        step("step.end", "s2", "stop"),
    ];
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "call c1 Bash",
            "user Use tabs",
            "notice A task is done",
            "interrupt user_cancel",
            "failed c1 no_result",
            "end interrupted",
            "turn user",
            "user Anew",
            "end completed"
        ]
    );
    let steering = read.events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(message) => Some(message.extra.get("steering").is_some()),
        _ => None,
    });
    assert_eq!(steering.collect::<Vec<_>>(), [false, true, false]);
    let mut ends = read.events.iter();
    let end = ends.find(|event| matches!(event.payload, Payload::TurnEnd(_)));
    assert_eq!(end.unwrap().timestamp, Some(3_000));
}

#[test]
fn a_turn_goes_on_where_the_agent_was_told_more_before_it_was_done() {
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        said("turn.steer", "And this", "user", 2_000),
        step("step.end", "s1", "stop"),
        step("step.begin", "s2", ""),
        step("step.end", "s2", "stop"),
        said("turn.prompt", "More", "user", 3_000),
        step("step.begin", "s3", ""),
        said("turn.steer", "Too late", "user", 4_000),
        step("step.end", "s3", "stop"),
    ];
    let turns = [
        "turn user",
        "user Go",
        "user And this",
        "end completed",
        "turn user",
        "user More",
        "user Too late",
    ];
    let context = Context {
        session_id: Some("s".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::Kimi);
    let mut events = Vec::new();
    for line in &lines {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
    }
    assert_eq!(told(&events), turns);
    // What came too late does not hold the turn open.
    reader.quiet(5_000, &mut events);
    assert_eq!(told(&events).last().unwrap(), "end completed");
}

#[test]
fn the_pictures_among_a_result_are_attached_to_it() {
    let lines = [
        said("turn.prompt", "Look", "user", 1_000),
        step("step.begin", "s1", ""),
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": "c1", "name": "ReadMediaFile", "args": {"path": "a.png"}}),
        ),
        event(
            json!({"type": "tool.result", "toolCallId": "c1", "result": {"output": [
            {"type": "text", "text": "<image path=\"a.png\">"},
            {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            {"type": "video_url", "videoUrl": {"url": "ms://v1"}},
            {"type": "text", "text": "</image>"}]}}),
        ),
        step("step.end", "s1", "stop"),
    ];
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    let result = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => Some(result.clone()),
        _ => None,
    });
    let result = result.unwrap();
    assert_eq!(
        result.result.display_text(),
        "<image path=\"a.png\">\n</image>"
    );
    assert_eq!(
        result.extra.get("attachments").unwrap().to_value(),
        json!([{"mediaType": "image/png", "data": "iVBORw0KGgo="}, {"mediaType": "video/*", "ref": "ms://v1"}])
    );
}

#[test]
fn leave_asked_for_twice_for_one_call_is_two_questions() {
    let approval = |decision: &str| {
        json!({"type": "permission.record_approval_result", "toolCallId": "c1", "toolName": "Bash",
            "result": {"decision": decision}, "time": 6})
    };
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        approval("rejected"),
        approval("approved"),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("kimi", &events);
    let asked = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionRequest(asked) => Some(format!("asks {}", asked.request_id)),
        Payload::PermissionResolved(answer) => {
            Some(format!("{} {}", answer.decision, answer.request_id))
        }
        _ => None,
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [
            "asks c1:ask",
            "deny c1:ask",
            "asks c1:ask~2",
            "allow c1:ask~2"
        ]
    );
}

#[test]
fn the_list_that_a_call_writes_is_a_plan() {
    let call = |id: &str, args: Value| {
        event(
            json!({"type": "tool.call", "stepUuid": "s1", "toolCallId": id, "name": "TodoList", "args": args}),
        )
    };
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        call(
            "c1",
            json!({"todos": [{"title": "one", "status": "done"}, {"title": "two", "status": "in_progress"},
                {"title": "three", "status": "pending"}]}),
        ),
        // This one reads it.
        call("c2", json!({})),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("kimi", &events);
    let plans = events.iter().filter_map(|event| match &event.payload {
        Payload::Plan(plan) => Some(plan),
        _ => None,
    });
    let entries = plans.flat_map(|plan| &plan.entries);
    let entries: Vec<_> = entries
        .map(|entry| (entry.content.as_str(), entry.status.as_str()))
        .collect();
    assert_eq!(
        entries,
        [
            ("one", "completed"),
            ("two", "in_progress"),
            ("three", "pending")
        ]
    );
}

/// A line that says when a turn is over.
fn ended(turn: u32, reason: &str, error: Value) -> Value {
    json!({"type": "turn.ended", "agentId": "main", "turnId": turn, "reason": reason, "error": error,
        "durationMs": 5_681, "time": 9_000})
}

#[test]
fn since_1_5_a_turn_is_over_where_a_line_says_so() {
    let begins = |id: &str, turn: u32| {
        event(json!({"type": "step.begin", "uuid": id, "turnId": turn.to_string()}))
    };
    let head =
        |version: &str| json!({"type": "metadata", "protocol_version": version, "created_at": 1});
    let turn = [
        said("turn.prompt", "Go", "user", 1_000),
        begins("s1", 0),
        step("step.end", "s1", "stop"),
        json!({"type": "usage.record", "usageScope": "session", "usage": {"output": 1}}),
        ended(0, "completed", Value::Null),
    ];
    let whole = [
        "turn user",
        "user Go",
        "usage response 0/1",
        "end completed",
    ];
    let early = [
        "turn user",
        "user Go",
        "end completed",
        "usage response 0/1",
    ];
    for (version, wanted) in [
        ("1.5", whole),
        ("1.10", whole),
        ("2", whole),
        ("1.4", early),
    ] {
        let read = read_lines(Dialect::Kimi, &[&[head(version)][..], &turn].concat());
        assert_sound(version, &read.events);
        assert_eq!(told(&read.events), wanted, "{version}");
        let durations = read.events.iter().filter_map(|event| match &event.payload {
            Payload::TurnEnd(end) => Some(end.duration_ms),
            _ => None,
        });
        let wanted = Some(5_681).filter(|_| version != "1.4");
        assert_eq!(durations.collect::<Vec<_>>(), [wanted], "{version}");
    }
    let boom = json!({"code": "provider.api_error", "message": "boom"});
    let lines = [
        head("1.5"),
        said("turn.prompt", "One", "user", 1_000),
        begins("s1", 0),
        ended(0, "failed", boom),
        said("turn.prompt", "Two", "user", 2_000),
        begins("s2", 1),
        json!({"type": "turn.cancel", "time": 3_000}),
        said("turn.prompt", "Three", "user", 4_000),
        // That of the turn that was stopped comes late.
        ended(1, "cancelled", Value::Null),
        ended(2, "blocked", Value::Null),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("ended", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user One",
            "error provider.api_error boom",
            "end failed",
            "turn user",
            "user Two",
            "interrupt user_cancel",
            "end interrupted",
            "turn user",
            "user Three",
            "end interrupted",
        ]
    );
}

#[test]
fn what_is_asked_in_lines_of_its_own_is_asked_once_and_closed_with_its_turn() {
    let asks = |id: &str, kind: &str, request: Value| {
        json!({"type": "interaction.request", "agentId": "main", "id": id,
        "kind": kind, "request": request})
    };
    let resolved = |id: &str, response: Value| json!({"type": "interaction.resolved", "id": id, "response": response});
    let leave = json!({"toolCallId": "c1", "toolName": "Bash", "action": "rm x"});
    let question = json!({"toolCallId": "c2", "questions": [{"question": "Which?", "header": "Pick",
        "options": [{"label": "A"}, {"label": "B", "description": "the other"}], "multiSelect": true}]});
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        asks("i1", "approval", leave.clone()),
        resolved("i1", json!({"decision": "approved", "scope": "session"})),
        json!({"type": "permission.record_approval_result", "toolCallId": "c1", "toolName": "Bash",
            "result": {"decision": "approved"}}),
        asks("q1", "question", question.clone()),
        resolved("q1", json!({"answers": {"Which?": "A"}})),
        asks("q2", "question", question),
        resolved("q2", Value::Null),
        asks("i2", "approval", leave),
        step("step.end", "s1", "stop"),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    assert_sound("asks", &events);
    let asked = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionRequest(asked) => Some(format!("leave {}", asked.request_id)),
        Payload::PermissionResolved(answer) => {
            Some(format!("{} {}", answer.decision, answer.request_id))
        }
        Payload::QuestionRequest(asked) => {
            let labels: Vec<&str> = asked.questions[0]
                .options
                .iter()
                .map(|it| it.label.as_str())
                .collect();
            Some(format!("{} {}", asked.questions[0].text, labels.join("/")))
        }
        Payload::QuestionResolved(answer) => {
            Some(format!("{} {}", answer.outcome, answer.request_id))
        }
        _ => None,
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [
            "leave c1:ask",
            "allow c1:ask",
            "Which? A/B",
            "answered q1",
            "Which? A/B",
            "rejected q2",
            "leave c1:ask~2",
            "cancel c1:ask~2",
        ]
    );
}

#[test]
fn what_the_user_takes_back_is_named_and_the_program_s_own_accounts_are_not_shown() {
    let turn = |at: i64| {
        [
            said("turn.prompt", "Go", "user", at),
            step("step.begin", "s", ""),
            step("step.end", "s", "stop"),
        ]
    };
    let mut lines = vec![
        json!({"type": "metadata", "protocol_version": "1.4", "created_at": 1}),
        json!({"type": "config.update", "cwd": "/w", "modelAlias": "made"}),
        json!({"type": "profile.bind", "modelAlias": "made", "environmentDisclosure": {"cwd": "/w"}, "activeToolNames": ["Read"]}),
        json!({"type": "permission.set_mode", "mode": "auto"}),
    ];
    lines.extend([turn(1_000), turn(2_000), turn(3_000)].concat());
    lines.push(json!({"type": "context.undo", "count": 2}));
    lines.extend(turn(4_000));
    lines.push(json!({"type": "context.clear"}));
    for kind in [
        "token_counting.turn_recorded",
        "prompt.accepted",
        "runtime.set_binding",
        "file_history.tracked",
        "task.started",
    ] {
        lines.push(json!({"type": kind, "agentId": "main"}));
    }
    let read = read_lines(Dialect::Kimi, &lines);
    assert_sound("kimi", &read.events);
    assert_eq!(read.report.raw, BTreeMap::new());
    let notices = read.events.iter().filter_map(|event| match &event.payload {
        Payload::Notice(notice) => {
            let left = notice.extra.get("leftTurnIds").unwrap();
            // Who clears goes back behind nothing.
            let is_cleared = notice.text.contains("was cleared");
            assert_eq!(SetBack::of(notice).unwrap().cleared, is_cleared);
            Some((notice.text.as_str(), left.as_text().to_string()))
        }
        _ => None,
    });
    assert_eq!(
        notices.collect::<Vec<_>>(),
        [
            (
                "the user went back: 2 turns before this line were left",
                r#"["t2000","t3000"]"#.to_owned()
            ),
            (
                "the conversation was cleared: what stands before this line was left",
                r#"["t1000","t4000"]"#.to_owned()
            ),
        ]
    );
    let cwd = read.events.iter().find_map(|event| match &event.payload {
        Payload::SessionStart(start) => start.cwd.clone(),
        _ => None,
    });
    assert_eq!(cwd.as_deref(), Some("/w"));
}

#[test]
fn that_the_model_is_asked_again_is_told() {
    let request = |attempt: &str| json!({"type": "llm.request", "kind": "loop", "attempt": attempt, "time": 5});
    let lines = [
        said("turn.prompt", "Go", "user", 1_000),
        step("step.begin", "s1", ""),
        request("1/10"),
        request("2/10"),
        event(
            json!({"type": "content.part", "stepUuid": "s1", "part": {"type": "text", "text": "Hi"}}),
        ),
        step("step.end", "s1", "stop"),
    ];
    let events = read_lines(Dialect::Kimi, &lines).events;
    let statuses = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some((status.status.as_str(), status.message.as_deref())),
        _ => None,
    });
    assert_eq!(
        statuses.collect::<Vec<_>>(),
        [
            ("busy", None),
            ("retrying", Some("attempt 2 of 10")),
            ("busy", None),
            ("idle", None)
        ]
    );
}
