//! What OpenCode's normalizers hold on small inputs, of kinds that no recording has.

mod ends;
mod next;
mod removals;
mod sessions;
mod set_backs;

use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Detection, Dialect, Report, SessionReader, detect};
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines};

/// The events of lines, and what is said of them.
fn read(lines: &[Value]) -> (Vec<ChatEvent>, Report) {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    for line in lines {
        let line = format!("{line}\n");
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
    }
    reader.finish(0, &mut events).unwrap();
    (events, reader.report())
}

/// Kilo Code says the same in the same words; from 7 on a version is its, and a run tells it by what it measures.
#[test]
fn a_session_of_kilo_code_is_told_as_its() {
    let session = |version: &str| json!({"type": "session.created", "properties": {"info": {"id": "ses_1", "version": version}}});
    let export = |version: &str| {
        let info = json!({"id": "ses_1", "version": version});
        json!({"info": info, "messages": []})
    };
    let step = |rest: Value| {
        let mut part =
            json!({"id": "prt_1", "messageID": "msg_1", "type": "step-finish", "reason": "stop"});
        for (key, value) in rest.as_object().unwrap() {
            part[key] = value.clone();
        }
        json!({"type": "step_finish", "timestamp": 1, "sessionID": "ses_1", "part": part})
    };
    let measured = json!({"metrics": {"generation": 80, "source": "computed"}});
    for (line, agents) in [
        (session("1.18.33"), vec!["OpenCode 1.18.33"]),
        (session("7.7.9"), vec!["Kilo Code 7.7.9"]),
        (session("10.0.0"), vec!["Kilo Code 10.0.0"]),
        (session("local"), vec!["OpenCode local"]),
        (export("7.7.9"), vec!["Kilo Code 7.7.9"]),
        (export("2.0.0"), vec!["OpenCode 2.0.0"]),
        (step(json!({})), vec!["OpenCode"]),
        (step(json!({"metrics": 1})), vec!["OpenCode"]),
        (step(measured), vec!["OpenCode", "Kilo Code"]),
    ] {
        let (events, _) = read(std::slice::from_ref(&line));
        assert_eq!(agents_of(&events), agents, "{line}");
    }
    // What it says of a turn besides is said by the words that it shares.
    let turn = |kind: &str| bus(kind, json!({"reason": "completed"}));
    let lines = [
        session("7.7.9"),
        turn("session.turn.open"),
        info("msg_2", Some("msg_1"), json!({})),
        bus(
            "message.part.updated",
            json!({"part": {"id": "prt_1", "messageID": "msg_2", "sessionID": "ses_1",
            "type": "text", "text": "⠋ Initializing snapshot…", "synthetic": true,
            "metadata": {"kilocode.lifecycle": "transient"}}}),
        ),
        bus(
            "message.part.removed",
            json!({"messageID": "msg_2", "partID": "prt_1"}),
        ),
        turn("session.drain.interrupted"),
        turn("session.turn.close"),
    ];
    let told = read_lines(Dialect::OpenCodeEvents, &lines);
    assert!(told.report.raw.is_empty(), "{:?}", told.report.raw);
    let is_text = |event: &ChatEvent| {
        matches!(
            event.payload,
            Payload::AssistantChunk(_) | Payload::Retract(_)
        )
    };
    assert!(!told.events.iter().any(is_text));
    // Who reads its own database knows it, whatever was built.
    let context = Context {
        agent: Some("Kilo Code".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::with_dialect(context, Dialect::OpenCodeEvents);
    let mut events = Vec::new();
    let line = format!("{}\n", session("local"));
    reader.push(line.as_bytes(), 0, &mut events).unwrap();
    assert_eq!(agents_of(&events), ["Kilo Code local"]);
}

fn agents_of(events: &[ChatEvent]) -> Vec<&str> {
    let agents = events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStart(start) => start.agent.as_deref(),
        _ => None,
    });
    agents.collect()
}

#[test]
fn a_command_that_ends_with_another_code_than_0_failed() {
    let run = |exit: Value| {
        let state = json!({"status": "completed", "input": {"command": "x"}, "output": "oops\n", "title": "x",
            "metadata": {"output": "oops\n", "exit": exit}, "time": {"start": 1_000, "end": 2_000}});
        let lines = [
            json!({"type": "session.created", "properties": {"info": {"id": "ses_1", "version": "1.1.49"}}}),
            json!({"type": "message.updated", "properties": {"info": {"id": "msg_2", "sessionID": "ses_1", "role": "assistant"}}}),
            json!({"type": "message.part.updated", "properties": {"part": {"id": "prt_1", "sessionID": "ses_1",
                "messageID": "msg_2", "type": "tool", "tool": "bash", "callID": "call_1", "state": state}}}),
        ];
        let results = read(&lines)
            .0
            .into_iter()
            .filter_map(|event| match event.payload {
                Payload::ToolResult(result) => Some(result),
                _ => None,
            });
        let results: Vec<_> = results.collect();
        assert_eq!(results.len(), 1);
        results.into_iter().next().unwrap()
    };
    let failed = run(json!(3));
    let error = failed.error.unwrap();
    assert_eq!(
        (error.code.as_deref(), error.message.as_str()),
        (Some("exit_code"), "exit code 3")
    );
    assert_eq!(
        (failed.exit_code, failed.summary.as_deref()),
        (Some(3), Some("exit 3, 1 line"))
    );
    assert!(run(json!(0)).error.is_none());
}

/// Events of 1.1: no ids, the piece and the whole text so far in one event.
#[test]
fn pieces_within_snapshots_are_not_shown_twice() {
    let part = |text: &str, delta: Option<&str>, end: Option<u64>| {
        let mut time = json!({"start": 1_770_361_013_000_u64});
        if let Some(end) = end {
            time["end"] = json!(end);
        }
        let mut properties = json!({"part": {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_2",
            "type": "text", "text": text, "time": time}});
        if let Some(delta) = delta {
            properties["delta"] = json!(delta);
        }
        json!({"type": "message.part.updated", "properties": properties})
    };
    let lines = [
        json!({"type": "session.created", "properties": {"info": {"id": "ses_1", "version": "1.1.49",
            "time": {"created": 1_770_361_012_806_u64}}}}),
        json!({"type": "message.updated", "properties": {"info": {"id": "msg_1", "sessionID": "ses_1", "role": "user",
            "time": {"created": 1_770_361_012_812_u64}}}}),
        json!({"type": "message.part.updated", "properties": {"part": {"id": "prt_0", "sessionID": "ses_1",
            "messageID": "msg_1", "type": "text", "text": "Hi"}}}),
        json!({"type": "message.part.updated", "properties": {"part": {"id": "prt_f", "sessionID": "ses_1",
            "messageID": "msg_1", "type": "file", "mime": "image/png", "filename": "a.png",
            "url": "data:image/png;base64,AAAA"}}}),
        json!({"type": "session.status", "properties": {"sessionID": "ses_1", "status": {"type": "busy"}}}),
        json!({"type": "message.updated", "properties": {"info": {"id": "msg_2", "sessionID": "ses_1",
            "role": "assistant", "parentID": "msg_1", "time": {"created": 1_770_361_012_900_u64}}}}),
        part("Hel", Some("Hel"), None),
        part("Hello", Some("lo"), None),
        part("Hello", None, Some(1_770_361_013_500)),
        json!({"type": "message.updated", "properties": {"info": {"id": "msg_2", "sessionID": "ses_1",
            "role": "assistant", "parentID": "msg_1", "finish": "stop",
            "tokens": {"input": 5, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            "time": {"created": 1_770_361_012_900_u64, "completed": 1_770_361_013_600_u64}}}}),
        json!({"type": "session.idle", "properties": {"sessionID": "ses_1"}}),
        json!({"type": "message.removed", "properties": {"sessionID": "ses_1", "messageID": "msg_2"}}),
    ];
    let (events, _) = read(&lines);
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::UserMessage(message) => Some(format!(
                "user {} {}",
                message.text.preview(),
                message.attachments.as_ref().unwrap().to_value()[0]["data"]
            )),
            Payload::AssistantChunk(chunk) => Some(format!("chunk {}", chunk.text)),
            Payload::AssistantDone(done) => Some(format!("done {}", done.text)),
            Payload::Usage(usage) => Some(format!("usage {}", usage.output_tokens)),
            Payload::TurnEnd(end) => Some(format!("end {}", end.outcome.as_ref().unwrap())),
            Payload::Retract(retract) => Some(format!("retract {}", retract.event_ids.len())),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "user Hi \"AAAA\"",
            "chunk Hel",
            "chunk lo",
            "done Hello",
            "usage 2",
            "end completed",
            "retract 4",
        ]
    );
}

/// Questions, retries, compaction and errors of a kind that no recording holds.
#[test]
fn questions_and_compactions_are_told() {
    let event = |kind: &str, mut properties: Value| {
        properties["sessionID"] = json!("ses_1");
        json!({"type": kind, "properties": properties})
    };
    let message = |id: &str, info: Value| {
        let mut info = info;
        info["id"] = json!(id);
        info["sessionID"] = json!("ses_1");
        event("message.updated", json!({"info": info}))
    };
    let part = |id: &str, message: &str, part: Value| {
        let mut part = part;
        part["id"] = json!(id);
        part["messageID"] = json!(message);
        part["sessionID"] = json!("ses_1");
        event(
            "message.part.updated",
            json!({"part": part, "time": 1_770_361_013_000_u64}),
        )
    };
    let lines = [
        message(
            "msg_1",
            json!({"role": "user", "time": {"created": 1_770_361_012_812_u64}}),
        ),
        part(
            "prt_1",
            "msg_1",
            json!({"type": "compaction", "auto": false}),
        ),
        message(
            "msg_2",
            json!({"role": "assistant", "parentID": "msg_1", "summary": true,
            "time": {"created": 1_770_361_012_900_u64}}),
        ),
        part(
            "prt_2",
            "msg_2",
            json!({"type": "text", "text": "All so far.", "time": {"start": 1, "end": 2}}),
        ),
        message(
            "msg_2",
            json!({"role": "assistant", "parentID": "msg_1", "summary": true, "finish": "stop",
            "time": {"created": 1_770_361_012_900_u64, "completed": 1_770_361_012_990_u64}}),
        ),
        event("session.compacted", json!({})),
        event(
            "question.asked",
            json!({"id": "que_1", "questions": [{"question": "Which?", "header": "Pick",
            "options": [{"label": "A", "description": "first"}], "multiple": true}]}),
        ),
        event(
            "question.replied",
            json!({"requestID": "que_1", "answers": [["A"]]}),
        ),
        event("question.asked", json!({"id": "que_2", "questions": []})),
        event("question.rejected", json!({"requestID": "que_2"})),
        event("session.next.prompted", json!({"x": 1})),
        event("session.idle", json!({})),
    ];
    let (events, report) = read(&lines);
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::TurnStart(start) => Some(format!("turn {}", start.trigger)),
            Payload::UserMessage(_) | Payload::AssistantDone(_) => Some("said".to_owned()),
            Payload::Compaction(compaction) => Some(format!(
                "compaction {} {}",
                compaction.trigger,
                compaction.summary.as_deref().unwrap_or("")
            )),
            Payload::QuestionRequest(asked) => Some(format!("asked {}", asked.questions.len())),
            Payload::QuestionResolved(answer) => Some(format!("resolved {}", answer.outcome)),
            _ => None,
        })
        .collect();
    assert_eq!(
        told,
        [
            "turn system",
            "compaction manual All so far.",
            "asked 1",
            "resolved answered",
            "asked 0",
            "resolved rejected",
        ]
    );
    assert_eq!(report.raw.get("session.next.prompted"), Some(&1));
}

/// An event of the bus.
fn bus(kind: &str, mut properties: Value) -> Value {
    properties["sessionID"] = json!("ses_1");
    json!({"type": kind, "properties": properties})
}

/// What a message is said to be; an answer names its prompt.
fn info(id: &str, prompt: Option<&str>, mut info: Value) -> Value {
    info["id"] = json!(id);
    info["sessionID"] = json!("ses_1");
    info["role"] = json!(if prompt.is_some() {
        "assistant"
    } else {
        "user"
    });
    if let Some(prompt) = prompt {
        info["parentID"] = json!(prompt);
    }
    bus("message.updated", json!({"info": info}))
}

fn text(id: &str, message: &str, text: &str) -> Value {
    bus(
        "message.part.updated",
        json!({"part": {"id": id, "sessionID": "ses_1", "messageID": message, "type": "text", "text": text, "time": {"start": 1, "end": 2}}}),
    )
}

fn busy() -> Value {
    bus("session.status", json!({"status": {"type": "busy"}}))
}

/// How the turns ended, and what went wrong in which.
fn ends(lines: &[Value]) -> Vec<String> {
    let events = read(lines).0;
    let ends = events.iter().filter_map(|event| {
        let turn = event.turn_id.as_deref().unwrap_or("no turn");
        match &event.payload {
            Payload::ErrorEvent(error) => Some(format!("{turn}: {}", error.code)),
            Payload::Interrupt(_) => Some(format!("{turn}: interrupt")),
            Payload::TurnEnd(end) => Some(format!("{turn} {}", end.outcome.as_deref().unwrap())),
            _ => None,
        }
    });
    ends.collect()
}

#[test]
fn a_run_is_given_its_prompt_from_outside() {
    let line = json!({"sessionID": "ses_1", "timestamp": 1_770_361_013_000_u64, "part": {"id": "prt_1", "type": "text",
        "messageID": "msg_1", "sessionID": "ses_1", "text": "Hello"}, "type": "text"})
    .to_string();
    assert_eq!(
        detect(line.as_bytes(), true),
        Detection::Found(Dialect::OpenCodeRun)
    );
    let context = Context {
        prompt: Some("Say hello".to_owned()),
        ..Context::default()
    };
    let mut reader = SessionReader::new(context);
    let mut events = Vec::new();
    reader.push(line.as_bytes(), 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    let types: Vec<&str> = events.iter().map(ChatEvent::event_type).collect();
    assert_eq!(
        types,
        [
            "session_start",
            "turn_start",
            "session_status",
            "user_message",
            "assistant_done",
            "turn_end",
            "session_status",
            "session_end"
        ]
    );
    // It never came to its end.
    assert!(events.iter().any(|event| matches!(&event.payload,
        Payload::TurnEnd(end) if end.outcome.as_deref() == Some("interrupted"))));
}

fn status(session: &str, kind: &str) -> Value {
    json!({"type": "session.status", "properties": {"sessionID": session, "status": {"type": kind}}})
}

/// The largest numbers there are: nothing is counted beyond them.
#[test]
fn numbers_without_an_end_do_no_harm() {
    let tool = json!({"type": "tool_use", "timestamp": i64::MAX, "sessionID": "ses_1", "part": {"id": "prt_1",
        "sessionID": "ses_1", "messageID": "msg_1", "type": "tool", "callID": "c1", "tool": "read", "state": {
            "status": "completed", "input": {"filePath": "a"}, "output": "x", "title": "a",
            "metadata": {"display": {"totalLines": u64::MAX, "lineStart": 0, "lineEnd": u64::MAX}},
            "time": {"start": i64::MIN, "end": i64::MAX}}}});
    let step = |id: &str| {
        json!({"type": "step_finish", "timestamp": 1, "sessionID": "ses_1", "part": {"id": id,
        "sessionID": "ses_1", "messageID": "msg_1", "type": "step-finish", "reason": "stop", "cost": 1e308,
        "tokens": {"input": u64::MAX, "output": u64::MAX, "reasoning": u64::MAX,
            "cache": {"read": u64::MAX, "write": u64::MAX}}}})
    };
    let (events, _) = read(&[tool, step("prt_2"), step("prt_3"), step("prt_4")]);
    let summary = events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.summary.clone(),
        _ => None,
    });
    assert_eq!(summary.as_deref(), Some("18,446,744,073,709,551,615 lines"));
    for event in events {
        let again = ChatEvent::from_json(&event.to_line()).unwrap();
        assert!(again == event, "{}", event.id);
    }
}

#[test]
fn of_an_export_that_breaks_off_the_line_is_told_in_which_that_is() {
    let message = |n: u32| json!({"info": {"id": format!("msg_{n}"), "role": "user", "sessionID": "ses_1", "time": {"created": n}}, "parts": [{"id": format!("prt_{n}"), "type": "text", "text": format!("Prompt {n}")}]});
    let export = json!({"info": {"id": "ses_1", "title": "Cut"}, "messages": [message(1), message(2), message(3)]});
    let text = serde_json::to_string_pretty(&export).unwrap();
    let third = text.find("\"msg_3\"").unwrap();
    let begins = text
        .lines()
        .enumerate()
        .filter(|(_, line)| *line == "    {");
    let begins = begins.map(|(at, _)| at + 1).nth(2).unwrap();
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader
        .push(&text.as_bytes()[..third + 20], AT_REST, &mut events)
        .unwrap();
    reader.finish(AT_REST, &mut events).unwrap();
    let said = events.iter().find_map(|event| match &event.payload {
        Payload::Notice(notice) => Some(notice.text.clone()),
        _ => None,
    });
    let expected =
        format!("Line 1 could not be read: it ends too early, in what begins in line {begins}");
    assert_eq!(said, Some(expected));
}

#[test]
fn a_question_outside_the_bus_is_asked_by_its_call_and_answered_by_its_end() {
    let part = |state: Value| {
        let mut state = state;
        state["input"] = json!({"questions": [{"question": "Which?", "header": "Pick", "multiple": true,
            "options": [{"label": "A", "description": "First"}, {"label": "B"}]}]});
        state["time"] = json!({"start": 1_770_361_013_000_u64, "end": 1_770_361_014_000_u64});
        json!({"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool", "tool": "question",
            "callID": "call_1", "state": state})
    };
    let run = |part: &Value| json!({"type": "tool_use", "timestamp": 1_770_361_014_000_u64, "sessionID": "ses_1", "part": part});
    let export = |part: &Value| {
        let info = |id: &str, role: &str| json!({"id": id, "sessionID": "ses_1", "role": role, "time": {"created": 1_770_361_012_000_u64}});
        json!({"info": {"id": "ses_1", "version": "1.18.34"}, "messages": [
            {"info": info("msg_1", "user"), "parts": [{"id": "prt_0", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "Go"}]},
            {"info": info("msg_2", "assistant"), "parts": [part]}]})
    };
    let told_of = |events: &[ChatEvent]| {
        assert_sound("a question", events);
        let lines = events.iter().filter_map(|event| match &event.payload {
            Payload::QuestionRequest(asked) => Some(format!(
                "{} asks {} {:?}",
                asked.tool_call_id.as_deref().unwrap_or("-"),
                asked.questions[0].text,
                asked.questions[0].multi
            )),
            Payload::QuestionResolved(answer) => {
                let answers = answer
                    .answers
                    .as_ref()
                    .map(|json| json.as_text().to_string());
                Some(format!(
                    "{} {}",
                    answer.outcome,
                    answers.as_deref().unwrap_or("-")
                ))
            }
            Payload::ToolCall(_) => Some("call".to_owned()),
            Payload::ToolResult(_) => Some("result".to_owned()),
            _ => None,
        });
        lines.collect::<Vec<String>>()
    };
    let told = |dialect: Dialect, line: Value| told_of(&read_lines(dialect, &[line]).events);
    let asked = "call_1 asks Which? Some(true)";
    for (state, answer) in [
        (
            json!({"status": "completed", "output": "User has answered your questions: \"Which?\"=\"A, B\".",
                "metadata": {"answers": [["A", "B"]]}}),
            "answered [[\"A\",\"B\"]]",
        ),
        (
            json!({"status": "error", "error": "The user dismissed this question"}),
            "rejected -",
        ),
        (
            json!({"status": "error", "error": "Tool execution aborted"}),
            "expired -",
        ),
    ] {
        let part = part(state);
        let wanted = ["call", asked, answer, "result"];
        assert_eq!(told(Dialect::OpenCodeRun, run(&part)), wanted);
        assert_eq!(told(Dialect::OpenCodeExport, export(&part)), wanted);
        // On the bus an event of its own asks.
        let on_bus = bus("message.part.updated", json!({ "part": part }));
        let line = format!("{on_bus}\n");
        assert_eq!(told(Dialect::OpenCodeEvents, on_bus), ["call", "result"]);
        // In a database nothing else does.
        let context = Context {
            agent: Some("OpenCode".to_owned()),
            ..Context::default()
        };
        let mut reader = SessionReader::with_dialect(context, Dialect::OpenCodeEvents);
        let mut events = Vec::new();
        reader.push(line.as_bytes(), 0, &mut events).unwrap();
        reader.finish(0, &mut events).unwrap();
        assert_eq!(told_of(&events), wanted);
    }
}
