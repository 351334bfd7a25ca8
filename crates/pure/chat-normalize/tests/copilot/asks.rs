//! What is asked, and by whom it is answered.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::json;

use super::{event, passing};
use crate::support::{assert_sound, read_lines};

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
