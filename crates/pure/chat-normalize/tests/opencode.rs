//! What OpenCode's normalizers hold on small inputs, of kinds that no recording has.

mod next;
mod removals;
mod set_backs;

use crate::support::{assert_sound, read_lines, read_lines_as_one, sessions_of, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{AT_REST, Context, Detection, Dialect, Report, SessionReader, detect};
use serde_json::{Value, json};

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
fn what_goes_wrong_is_of_the_turn_that_runs_and_not_of_the_prompt_that_waits() {
    let lines = |name: &str| {
        let error = json!({"name": name, "data": {"message": "quota"}});
        let done = json!({"error": error, "time": {"created": 1, "completed": 2_000}});
        vec![
            info("msg_1", None, json!({})),
            text("prt_1", "msg_1", "First"),
            busy(),
            info("msg_2", Some("msg_1"), json!({})),
            info("msg_3", None, json!({})),
            text("prt_3", "msg_3", "Waits"),
            busy(),
            bus("session.error", json!({"error": error})),
            info("msg_2", Some("msg_1"), done),
            busy(),
            info("msg_4", Some("msg_3"), json!({})),
            text("prt_4", "msg_4", "Answer"),
            info(
                "msg_4",
                Some("msg_3"),
                json!({"finish": "stop", "time": {"created": 1, "completed": 3_000}}),
            ),
            bus("session.idle", json!({})),
        ]
    };
    assert_eq!(
        ends(&lines("APIError")),
        ["msg_1: APIError", "msg_1 failed", "msg_3 completed"]
    );
    assert_eq!(
        ends(&lines("MessageAbortedError")),
        ["msg_1: interrupt", "msg_1 interrupted", "msg_3 completed"]
    );
}

#[test]
fn a_run_that_was_killed_and_gone_on_with_was_interrupted() {
    let begun_ms = 1_770_361_000_000_i64;
    let at = |mut event: Value, ms: i64| {
        event["properties"]["time"] = json!(begun_ms + ms);
        event
    };
    let whole = json!({"finish": "stop", "time": {"created": 1, "completed": 9_000}});
    let runs = json!({"id": "prt_3", "sessionID": "ses_1", "messageID": "msg_2", "type": "tool", "tool": "bash",
        "callID": "call_1", "state": {"status": "running", "input": {"command": "sleep 20"}, "time": {"start": 3_000}}});
    let lines = [
        at(info("msg_1", None, json!({})), 1_000),
        at(text("prt_1", "msg_1", "First"), 1_001),
        at(info("msg_2", Some("msg_1"), json!({})), 2_000),
        at(bus("message.part.updated", json!({"part": runs})), 3_000),
        // Another program goes on with the session.
        at(info("msg_3", None, json!({})), 7_000),
        at(text("prt_4", "msg_3", "Go on"), 7_001),
        at(info("msg_4", Some("msg_3"), json!({})), 8_000),
        at(text("prt_5", "msg_4", "Went on."), 8_500),
        at(info("msg_4", Some("msg_3"), whole), 9_000),
        at(bus("session.idle", json!({})), 9_001),
    ];
    assert_eq!(ends(&lines), ["msg_1 interrupted", "msg_3 completed"]);
    let events = read(&lines).0;
    let at_end = |event: &&ChatEvent| {
        let result = matches!(event.payload, Payload::ToolResult(_));
        result || event.id == "msg_1:end"
    };
    // It was over when it last said something.
    let times: Vec<_> = events
        .iter()
        .filter(at_end)
        .map(|event| event.timestamp)
        .collect();
    assert_eq!(times, [Some(begun_ms + 3_000); 2]);
}

#[test]
fn a_prompt_that_waited_and_was_not_answered_is_not_completed() {
    let whole = json!({"finish": "stop", "time": {"created": 1, "completed": 2_000}});
    let mut lines = vec![
        info("msg_1", None, json!({})),
        text("prt_1", "msg_1", "First"),
        busy(),
        info("msg_2", Some("msg_1"), json!({})),
        info("msg_3", None, json!({})),
        text("prt_3", "msg_3", "Waits"),
        info("msg_2", Some("msg_1"), whole.clone()),
    ];
    let mut left = lines.clone();
    left.push(bus("session.idle", json!({})));
    assert_eq!(ends(&left), ["msg_1 completed", "msg_3 interrupted"]);
    // The next prompt is answered, and this one passed over.
    lines.extend([
        info("msg_4", None, json!({})),
        text("prt_4", "msg_4", "Waits, too"),
        info("msg_5", Some("msg_4"), json!({})),
        info("msg_5", Some("msg_4"), whole),
        bus("session.idle", json!({})),
    ]);
    assert_eq!(
        ends(&lines),
        ["msg_1 completed", "msg_3 interrupted", "msg_4 completed"]
    );
}

#[test]
fn answers_to_one_prompt_after_the_session_rested_are_turns_with_ids_of_their_own() {
    let whole = json!({"finish": "stop", "time": {"created": 1, "completed": 2_000}});
    let answer = |n: u64, prompt: &str| {
        [
            info(&format!("msg_a{n}"), Some(prompt), whole.clone()),
            bus("session.idle", json!({})),
        ]
    };
    let prompts = ["msg_1", "msg_1~2", "msg_1", "msg_1", "msg_1~2"];
    let lines: Vec<Value> = (0..)
        .zip(prompts)
        .flat_map(|(n, prompt)| answer(n, prompt))
        .collect();
    let wanted = ["msg_1", "msg_1~2", "msg_1~3", "msg_1~4", "msg_1~2~2"];
    let wanted = wanted.map(|id| format!("{id} completed"));
    assert_eq!(ends(&lines), wanted);
}

#[test]
fn a_turn_that_recovers_did_not_fail() {
    let whole = |id: &str, mut held: Value| {
        held["time"] = json!({"created": 1, "completed": 2_000});
        info(id, Some("msg_1"), held)
    };
    let mut lines = vec![
        info("msg_1", None, json!({})),
        text("prt_1", "msg_1", "Long"),
        busy(),
        info("msg_2", Some("msg_1"), json!({})),
        bus(
            "session.error",
            json!({"error": {"name": "ContextOverflowError", "data": {"message": "too long"}}}),
        ),
        whole("msg_2", json!({})),
        whole("msg_3", json!({"summary": true, "finish": "stop"})),
    ];
    let idle = bus("session.idle", json!({}));
    let mut stopped = lines.clone();
    stopped.push(idle.clone());
    assert_eq!(
        ends(&stopped),
        ["msg_1: ContextOverflowError", "msg_1 failed"]
    );
    lines.push(info("msg_4", Some("msg_1"), json!({})));
    lines.push(text("prt_4", "msg_4", "Done"));
    lines.push(whole("msg_4", json!({"finish": "stop"})));
    lines.push(idle);
    assert_eq!(
        ends(&lines),
        ["msg_1: ContextOverflowError", "msg_1 completed"]
    );
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

#[test]
fn in_one_session_others_of_the_bus_are_said_once_and_counted() {
    let mut lines = vec![status("ses_1", "busy")];
    for n in 2..5 {
        lines.push(status(&format!("ses_{n}"), "busy"));
        lines.push(status(&format!("ses_{n}"), "idle"));
    }
    lines.push(status("ses_1", "idle"));
    let read = read_lines_as_one(Dialect::OpenCodeEvents, &lines);
    let (events, report) = (read.events, read.report);
    let notices: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.payload {
            Payload::Notice(notice) => Some(notice.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        [
            "the bus tells of another session, too: ses_2 is not read",
            "3 other sessions of the bus were not read",
        ]
    );
    assert_eq!(report.passed_over["event of another session"], 6);
}

fn status(session: &str, kind: &str) -> Value {
    json!({"type": "session.status", "properties": {"sessionID": session, "status": {"type": kind}}})
}

#[test]
fn sessions_that_share_a_bus_are_sessions_of_their_own() {
    let created = |session: &str, parent: Option<&str>| {
        json!({"type": "session.created",
        "properties": {"info": {"id": session, "parentID": parent}}})
    };
    let message = |session: &str, id: &str, role: &str, rest: Value| {
        let mut info = json!({"id": id, "sessionID": session, "role": role});
        for (key, value) in rest.as_object().unwrap() {
            info[key] = value.clone();
        }
        json!({"type": "message.updated", "properties": {"info": info}})
    };
    let part = |session: &str, message: &str, id: &str, rest: Value| {
        let mut part = json!({"id": id, "sessionID": session, "messageID": message});
        for (key, value) in rest.as_object().unwrap() {
            part[key] = value.clone();
        }
        json!({"type": "message.part.updated", "properties": {"part": part}})
    };
    let says = |text: &str| json!({"type": "text", "text": text, "time": {"start": 1, "end": 2}});
    let task = json!({"type": "tool", "tool": "task", "callID": "c", "state": {"status": "running",
        "input": {"description": "Look"}, "metadata": {"sessionId": "ses_c"}}});
    let whole = json!({"parentID": "m1", "finish": "stop", "time": {"created": 1, "completed": 2}});
    let lines = [
        status("ses_a", "busy"),
        created("ses_b", None),
        status("ses_b", "busy"),
        message("ses_a", "ma", "assistant", json!({"parentID": "m0"})),
        message("ses_b", "mb", "assistant", json!({"parentID": "m1"})),
        part("ses_a", "ma", "p1", task),
        // Who works for another, by its call and by its own word; and who does nothing.
        message("ses_c", "mc", "assistant", json!({})),
        created("ses_d", Some("ses_b")),
        json!({"type": "session.updated", "properties": {"info": {"id": "ses_e", "title": "Old"}}}),
        part("ses_b", "mb", "p1", says("B")),
        part("ses_c", "mc", "p2", says("C")),
        part("ses_d", "md", "p3", says("D")),
        message("ses_b", "mb", "assistant", whole),
        status("ses_b", "idle"),
        status("ses_a", "busy"),
    ];
    let sessions = sessions_of(Dialect::OpenCodeEvents, &lines);
    let told: Vec<(&str, String)> = sessions
        .iter()
        .map(|(id, events)| (id.as_str(), told(events).join("; ")))
        .collect();
    assert_eq!(
        told,
        [
            (
                "ses_a",
                "turn user; call c task; done C; failed c no_result; end interrupted".to_owned()
            ),
            (
                "ses_b",
                "turn user; done B; done D; end completed".to_owned()
            ),
        ]
    );
    let statuses = |id: &str| {
        let statuses = sessions[id]
            .iter()
            .filter_map(|event| match &event.payload {
                Payload::SessionStatus(status) => Some(status.status.as_str()),
                _ => None,
            });
        statuses.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        (statuses("ses_a"), statuses("ses_b")),
        ("busy idle".to_owned(), "busy idle".to_owned())
    );
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
    let told = |dialect: Dialect, line: Value| {
        let read = read_lines(dialect, &[line]);
        assert_sound("a question", &read.events);
        let lines = read.events.iter().filter_map(|event| match &event.payload {
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
        assert_eq!(told(Dialect::OpenCodeEvents, on_bus), ["call", "result"]);
    }
}
