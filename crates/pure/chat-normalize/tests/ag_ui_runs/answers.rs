//! What a run waits for, and the later run that answers it.

use chat_event::Payload;
use serde_json::{Value, json};

use super::{call, finished, interrupted, read, result, said, snapshot, started};
use crate::support::told;

/// An assistant's message that calls `ask`, and what it gave.
fn asked_and_answered(id: &str, content: &str) -> [Value; 2] {
    let made =
        json!([{"id": id, "type": "function", "function": {"name": "ask", "arguments": "{}"}}]);
    [
        json!({"id": "a1", "role": "assistant", "content": "", "toolCalls": made}),
        json!({"id": "t1", "role": "tool", "toolCallId": id, "content": content}),
    ]
}

#[test]
fn a_call_that_was_approved_has_the_result_of_the_next_run() {
    let approval = json!([{"id": "i", "reason": "tool_approval", "toolCallId": "c"}]);
    let resume = json!([{"interruptId": "i", "status": "resolved", "payload": {"approved": true}}]);
    let mut resumed = started("r2");
    resumed["input"] = json!({"resume": resume, "messages": []});
    // Some servers begin the call again before they make it.
    for again in [Vec::new(), call("c", "delete_file").to_vec()] {
        let mut lines = vec![started("r1")];
        lines.extend(call("c", "delete_file"));
        lines.extend([interrupted("r1", approval.clone()), resumed.clone()]);
        lines.extend(again);
        lines.extend([result("c", "deleted"), finished("r2")]);
        assert_eq!(
            said(&lines),
            [
                "turn user",
                "call c delete_file",
                "asked i",
                "end completed",
                "answered allow",
                "turn user",
                "result c deleted",
                "end completed",
            ]
        );
    }
}

/// Most servers do not say what a run was given.
#[test]
fn a_call_shows_whether_it_was_approved_where_no_input_says_so() {
    let approval = json!([{"id": "i", "reason": "tool_approval", "toolCallId": "c"}]);
    let again = call("c", "delete_file").to_vec();
    for (then, wanted) in [
        (vec![result("c", "deleted")], "allow"),
        (
            [&again[..], &[result("c", "denied by the disk")]].concat(),
            "allow",
        ),
        (vec![result("c", "User rejected the tool call")], "deny"),
        (vec![], "cancel"),
    ] {
        let mut lines = vec![started("r1")];
        lines.extend(call("c", "delete_file"));
        lines.extend([interrupted("r1", approval.clone()), started("r2")]);
        lines.extend(then);
        lines.push(finished("r2"));
        let said = said(&lines);
        let answers: Vec<&String> = said
            .iter()
            .filter(|line| line.starts_with("answered"))
            .collect();
        assert_eq!(answers, [&format!("answered {wanted}")], "{said:?}");
    }
}

#[test]
fn a_call_that_waited_for_a_run_in_vain_is_given_up_at_its_end() {
    let mut lines = vec![started("r1")];
    lines.extend(call("c", "ask"));
    lines.extend([finished("r1"), started("r2")]);
    // Another tool under the id is another call.
    lines.extend(call("c", "ls"));
    lines.extend([result("c", "a.rs"), finished("r2")]);
    lines.push(started("r3"));
    lines.extend(call("d", "ask"));
    lines.extend([finished("r3"), started("r4"), finished("r4")]);
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "call c ask",
            "end completed",
            "turn user",
            "failed c no_result",
            "call c~2 ls",
            "result c~2 a.rs",
            "end completed",
            "turn user",
            "call d ask",
            "end completed",
            "turn user",
            "failed d no_result",
            "end completed",
        ]
    );
}

#[test]
fn a_result_of_the_front_end_is_told_from_the_next_runs_snapshot_or_a_later_ones() {
    let [made, gave] = asked_and_answered("c", "blue");
    let messages = json!([{"id": "u1", "role": "user", "content": "Q"}, made, gave]);
    let mut lines = vec![started("r1")];
    lines.extend(call("c", "ask"));
    lines.extend([finished("r1"), started("r2")]);
    let mut late = lines.clone();
    lines.extend([snapshot(messages.clone()), finished("r2")]);
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "call c ask",
            "end completed",
            "turn user",
            "user Q",
            "result c blue",
            "end completed",
        ]
    );
    late.extend([finished("r2"), started("r3"), snapshot(messages.clone())]);
    late.extend([snapshot(messages), finished("r3")]);
    let events = read(&late);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "call c ask",
            "end completed",
            "turn user",
            "failed c no_result",
            "end completed",
            "turn user",
            "user Q",
            "result c blue",
            "end completed",
        ]
    );
    // What is of the first run stands in it.
    let turns = events.iter().filter_map(|event| match &event.payload {
        Payload::UserMessage(_) | Payload::ToolResult(_) => event.turn_id.as_deref(),
        _ => None,
    });
    assert_eq!(turns.collect::<Vec<_>>(), ["r1", "r1", "r1"]);
}

#[test]
fn what_waits_for_an_answer_hides_nothing_that_is_asked_later() {
    let which = |id: Value| {
        let mut asked = json!({"reason": "input", "message": "Which?", "responseSchema": {}});
        if !id.is_null() {
            asked["id"] = id;
        }
        asked
    };
    let unnamed = [
        started("r1"),
        interrupted("r1", json!([which(Value::Null), which(Value::Null)])),
    ];
    let again = [
        started("r2"),
        interrupted("r2", json!([which(Value::Null)])),
    ];
    let named = ["r3", "r4"].map(|run| {
        [
            started(run),
            interrupted(run, json!([which(json!("i")), which(json!("i"))])),
        ]
    });
    let mut resumed = started("r5");
    resumed["input"] =
        json!({"resume": [{"interruptId": "i", "status": "resolved", "payload": 1}]});
    let mut lines = [unnamed, again].concat();
    lines.extend(named.concat());
    lines.extend([resumed, finished("r5")]);
    let events = read(&lines);
    let questions = events.iter().filter_map(|event| match &event.payload {
        Payload::QuestionRequest(asked) => Some(format!("asks {}", asked.request_id)),
        Payload::QuestionResolved(answer) => {
            Some(format!("{} {}", answer.outcome, answer.request_id))
        }
        _ => None,
    });
    assert_eq!(
        questions.collect::<Vec<_>>(),
        [
            "asks interrupt",
            "asks interrupt~2",
            "expired interrupt",
            "expired interrupt~2",
            "asks interrupt~3",
            "expired interrupt~3",
            "asks i",
            "expired i",
            "asks i~2",
            "answered i~2",
        ]
    );
}
