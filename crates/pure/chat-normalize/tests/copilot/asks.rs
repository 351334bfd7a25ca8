//! What is asked, and by whom it is answered.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::json;

use super::{event, passing};
use crate::support::{assert_sound, read_lines};

/// What is asked and answered, a line each.
fn asked(events: &[chat_event::ChatEvent]) -> Vec<String> {
    let asked = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionRequest(asked) => Some(format!("leave for {:?}", asked.title)),
        Payload::PermissionResolved(answer) => Some(answer.decision.clone()),
        Payload::QuestionRequest(asked) => Some(format!(
            "{} of {}",
            asked.questions[0].text,
            asked.tool_call_id.as_deref().unwrap_or("-")
        )),
        Payload::QuestionResolved(answer) => {
            let said = answer.answers.as_ref().map(|it| it.as_text().to_string());
            Some(format!("{} {}", answer.outcome, said.unwrap_or_default()))
        }
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_file_keeps_the_call_that_asks_and_the_answer() {
    let start = |n: u64, call: &str, name: &str, args: serde_json::Value| {
        let data = json!({"toolCallId": call, "toolName": name, "arguments": args});
        event(n, "tool.execution_start", data)
    };
    let done = |n: u64, call: &str, is_well: bool| {
        let data = json!({"toolCallId": call, "success": is_well, "result": {"content": "User responded: a"}});
        event(n, "tool.execution_complete", data)
    };
    let responds = |n: u64, call: &str, response: serde_json::Value| {
        let data = json!({"requestId": format!("r{n}"), "toolCallId": call, "response": response});
        event(n, "human_response.recorded", data)
    };
    let form = json!({"message": "Pick one", "requestedSchema": {"type": "object",
        "properties": {"which": {"type": "string", "enum": ["a", "b"]}}}});
    let plan = json!({"summary": "- Do it", "planContent": "# Plan"});
    let lines = [
        event(1, "user.message", json!({"content": "Go"})),
        start(2, "c1", "ask_user", form.clone()),
        responds(
            3,
            "c1",
            json!({"responseKind": "ask_user", "content": {"which": "a"}}),
        ),
        done(4, "c1", true),
        start(
            5,
            "c2",
            "ask_user",
            json!({"question": "Which?", "choices": ["a", "b"]}),
        ),
        done(6, "c2", false),
        start(7, "c3", "exit_plan_mode", plan),
        responds(
            8,
            "c3",
            json!({"responseKind": "exit_plan_mode", "approved": false, "feedback": "no"}),
        ),
        done(9, "c3", true),
        // What a run prints says it once more.
        start(10, "c4", "ask_user", form.clone()),
        passing(
            11,
            "user_input.requested",
            json!({"requestId": "q", "toolCallId": "c4", "question": "Pick one"}),
        ),
        passing(
            12,
            "user_input.completed",
            json!({"requestId": "q", "answer": "b"}),
        ),
        done(13, "c4", true),
        start(14, "c5", "ask_user", form.clone()),
        done(15, "c5", true),
        start(16, "c6", "ask_user", form),
    ];
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("asked by calls", &read.events);
    assert_eq!(read.report.raw, std::collections::BTreeMap::new());
    let form = "Pick one\nwhich of";
    assert_eq!(
        asked(&read.events),
        [
            format!("{form} c1"),
            "answered {\"which\":\"a\"}".to_owned(),
            "Which? of c2".to_owned(),
            "expired ".to_owned(),
            "leave for Some(\"- Do it\")".to_owned(),
            "deny".to_owned(),
            format!("{form} c4"),
            "answered \"b\"".to_owned(),
            format!("{form} c5"),
            "answered ".to_owned(),
            format!("{form} c6"),
            "expired ".to_owned(),
        ]
    );
}

#[test]
fn what_is_asked_is_answered_or_closed_with_its_turn() {
    let shell = |call: &str| json!({"kind": "shell", "toolCallId": call, "fullCommandText": "rm x", "intention": "remove"});
    let asks = |n: u64, id: &str| {
        event(
            n,
            "permission.requested",
            json!({"requestId": id, "permissionRequest": shell("c")}),
        )
    };
    let answer = |n: u64, id: &str, kind: &str| {
        event(
            n,
            "permission.completed",
            json!({"requestId": id, "result": {"kind": kind}}),
        )
    };
    let lines = [
        event(1, "user.message", json!({"content": "Go"})),
        event(
            2,
            "assistant.message",
            json!({"messageId": "m", "content": "",
            "toolRequests": [{"toolCallId": "c", "name": "bash", "arguments": {"command": "rm x"}}]}),
        ),
        asks(3, "p1"),
        answer(4, "p1", "approved-for-session"),
        asks(5, "p2"),
        answer(6, "p2", "denied-by-rules"),
        passing(
            7,
            "user_input.requested",
            json!({"requestId": "q1", "question": "Which?", "choices": ["A", "B"]}),
        ),
        passing(
            8,
            "user_input.completed",
            json!({"requestId": "q1", "answer": "A"}),
        ),
        passing(
            9,
            "elicitation.requested",
            json!({"requestId": "q2", "message": "Where?", "elicitationSource": "tracker"}),
        ),
        passing(
            10,
            "elicitation.completed",
            json!({"requestId": "q2", "action": "decline"}),
        ),
        passing(
            11,
            "exit_plan_mode.requested",
            json!({"requestId": "x", "summary": "Do it", "planContent": "All.", "actions": []}),
        ),
        passing(
            12,
            "exit_plan_mode.completed",
            json!({"requestId": "x", "approved": true}),
        ),
        asks(13, "p3"),
    ];
    let events = read_lines(Dialect::Copilot, &lines).events;
    assert_sound("asks", &events);
    let asked = events.iter().filter_map(|event| match &event.payload {
        Payload::PermissionRequest(asked) => Some(format!(
            "{} {} {}",
            asked.request_id,
            asked.tool_name,
            asked.title.as_deref().unwrap_or("-")
        )),
        Payload::PermissionResolved(answer) => Some(format!(
            "{} {} by {}",
            answer.decision,
            answer.request_id,
            answer.by.as_deref().unwrap_or("-")
        )),
        Payload::QuestionRequest(asked) => {
            Some(format!("{} {}", asked.request_id, asked.questions[0].text))
        }
        Payload::QuestionResolved(answer) => {
            Some(format!("{} {}", answer.outcome, answer.request_id))
        }
        _ => None,
    });
    assert_eq!(
        asked.collect::<Vec<_>>(),
        [
            "p1 bash rm x",
            "allow p1 by user",
            "p2 bash rm x",
            "deny p2 by rule",
            "q1 Which?",
            "answered q1",
            "q2 Where?",
            "rejected q2",
            "x exit_plan_mode Do it",
            "allow x by user",
            "p3 bash rm x",
            "cancel p3 by -",
        ]
    );
}
