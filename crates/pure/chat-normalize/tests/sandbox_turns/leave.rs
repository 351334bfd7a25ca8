//! Leave that was given elsewhere.

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::{Value, json};

use super::{Line, call, end, failed, message, read, result, said, start, text};
use crate::support::{read_lines, shared, told, values};

fn asked(id: &str, metadata: Value) -> Line<'static> {
    let data =
        json!({"permission_id": id, "action": "bash", "status": "requested", "metadata": metadata});
    ("root", "permission.requested", data)
}

#[test]
fn a_result_tells_that_its_call_had_leave() {
    let resolved = json!({"permission_id": "p", "action": "bash", "status": "accept"});
    let lines = [
        start("root", None),
        asked("p", json!({"toolName": "bash", "toolUseId": "c"})),
        call("c"),
        result("c", "ok"),
        // Nobody says which call is meant.
        asked("q", json!({"toolName": "bash", "input": {"command": "ls"}})),
        asked("r", json!({"toolName": "bash", "input": {"command": "rm"}})),
        call("d"),
        result("d", "ok"),
        ("root", "permission.resolved", resolved),
        asked("s", json!({"toolName": "bash", "toolUseId": "e"})),
        call("e"),
        failed("e", "no"),
        message("m", text("fin")),
        end("root"),
    ];
    assert_eq!(
        said(&lines),
        [
            "turn user",
            "asked p",
            "call c bash",
            "answered allow",
            "result c ok",
            "asked q",
            "asked r",
            "call d bash",
            "answered allow",
            "result d ok",
            "asked s",
            "call e bash",
            "answered cancel",
            "failed e ?",
            "done fin",
            "answered cancel",
            "end completed",
        ]
    );
}

#[test]
fn leave_that_a_recorded_session_was_given_over_another_channel_is_told() {
    const NAME: &str =
        "local__sandbox-agent-schema-0.1.12-rc.1__universal-from-claude-04-permission-stdio.jsonl";
    let Some(path) = shared("fixtures/sandbox-agent") else {
        return;
    };
    let bytes = std::fs::read(path.join(NAME)).unwrap();
    let events = read_lines(Dialect::SandboxAgent, &values(&bytes)).events;
    let answers = told(&events)
        .into_iter()
        .filter(|line| line.starts_with("answered"));
    assert_eq!(answers.collect::<Vec<_>>(), ["answered allow"]);
}

#[test]
fn what_is_asked_under_an_id_that_was_used_is_answered_too() {
    let accepted = |id: &str| {
        let data = json!({"permission_id": id, "action": "bash", "status": "accept"});
        ("root", "permission.resolved", data)
    };
    for first in [true, false] {
        let mut lines = vec![start("root", None)];
        for id in ["c", "d"] {
            lines.extend([
                asked("1", json!({"toolName": "bash", "toolUseId": id})),
                call(id),
            ]);
            // The result of the first call comes before its answer.
            if first && id == "c" {
                lines.extend([result(id, "ok"), accepted("1")]);
            } else {
                lines.extend([accepted("1"), result(id, "ok")]);
            }
        }
        lines.push(end("root"));
        let read = read(&lines);
        let answers = read.events.iter().filter_map(|event| match &event.payload {
            Payload::PermissionRequest(request) => Some(format!("asked {}", request.request_id)),
            Payload::PermissionResolved(answer) => {
                Some(format!("{} {}", answer.decision, answer.request_id))
            }
            _ => None,
        });
        assert_eq!(
            answers.collect::<Vec<_>>(),
            ["asked 1", "allow 1", "asked 1~2", "allow 1~2"]
        );
    }
}
