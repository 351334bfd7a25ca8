//! What is asked, and how often.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{said, step};
use crate::support::{assert_sound, read_lines};

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
