//! Logs of any events.

use chat_event::ChatEvent;
use chat_normalize::{OpenCodeOut, to_opencode_events};
use serde_json::json;

use crate::support::Random;
use crate::support::bus::check;

/// An event of a log that nobody wrote: few ids, so that much meets.
fn any_event(random: &mut Random, n: usize) -> ChatEvent {
    let id = |random: &mut Random, stem: &str, n: usize| format!("{stem}{}", random.below(n));
    let call = id(random, "c", 4);
    let part = [json!(null), json!(0), json!(1)][random.below(3)].clone();
    let (kind, payload) = match random.below(24) {
        0 | 1 => (
            "turn_start",
            json!({"trigger": (["user", "system"][random.below(2)])}),
        ),
        2 => (
            "turn_end",
            json!({"outcome": (["completed", "interrupted", "failed"][random.below(3)])}),
        ),
        3 => (
            "user_message",
            json!({"text": "Hi", "attachments": [{"mediaType": "a/b", "ref": "x"}, 1]}),
        ),
        4 | 5 => ("assistant_chunk", json!({"text": "ab", "part": part})),
        6 => (
            "assistant_done",
            json!({"text": id(random, "ab", 2), "part": part}),
        ),
        7 => ("thinking_chunk", json!({"text": "ab", "part": part})),
        8 => ("thinking_done", json!({"text": "", "part": part})),
        9 | 10 => (
            "tool_call",
            json!({"toolCallId": call, "toolName": "x", "args": [1], "kind": (["execute", "agent"][random.below(2)])}),
        ),
        11 => (
            "tool_input_chunk",
            json!({"toolCallId": call, "toolName": "x", "chunk": "{"}),
        ),
        12 => (
            "tool_output_chunk",
            json!({"toolCallId": call, "chunk": "out"}),
        ),
        13 | 14 => (
            "tool_result",
            json!({"toolCallId": call, "result": {"a": 1}, "exitCode": 1}),
        ),
        15 => (
            "file_edit",
            json!({"toolCallId": call, "filePath": "/a", "changeType": "renamed", "oldPath": "/b"}),
        ),
        16 => (
            "usage",
            json!({"scope": (["response", "turn", "session"][random.below(3)]), "cumulative": true, "inputTokens": u64::MAX}),
        ),
        17 => (
            "session_status",
            json!({"status": (["busy", "idle", "retrying", "x"][random.below(4)])}),
        ),
        18 => (
            "permission_request",
            json!({"requestId": call, "toolCallId": call}),
        ),
        19 => (
            "permission_resolved",
            json!({"requestId": call, "decision": "allow"}),
        ),
        20 => ("error", json!({"code": "x", "message": "y"})),
        21 => ("interrupt", json!({"reason": "user_cancel"})),
        22 => ("compaction", json!({"summary": "short"})),
        _ => [
            ("session_end", json!({"reason": ""})),
            ("session_start", json!({"model": "m", "title": "T"})),
            ("agent_switch", json!({"toAgentId": "plan"})),
            (
                "retract",
                json!({"eventIds": [format!("e{}", random.below(n + 1))]}),
            ),
            (
                "question_request",
                json!({"requestId": "q", "questions": [{"text": "?"}]}),
            ),
            (
                "question_resolved",
                json!({"requestId": "q", "outcome": "answered", "answers": {"?": 1}}),
            ),
            ("turn_end", json!({})),
        ][random.below(7)]
        .clone(),
    };
    let mut event =
        json!({"id": format!("e{n}"), "sessionId": "s", "type": kind, "payload": payload});
    if random.below(5) > 0 {
        event["timestamp"] = json!(random.below(5_000));
    }
    if random.below(4) > 0 {
        event["turnId"] = json!(id(random, "t", 3));
    }
    if random.below(2) > 0 {
        event["responseId"] = json!(id(random, "r", 4));
    }
    if random.below(4) == 0 {
        event["parentToolCallId"] = json!(id(random, "c", 4));
    }
    ChatEvent::from_json(&event.to_string()).unwrap()
}

#[test]
fn whatever_the_log_says_is_told_in_the_order_of_the_bus() {
    for seed in 1..800 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
        let n_events = 1 + random.below(60);
        let events: Vec<ChatEvent> = (0..n_events).map(|n| any_event(&mut random, n)).collect();
        let told = to_opencode_events(&events);
        check(&format!("seed {seed}"), &told, true);
        let mut out = OpenCodeOut::new();
        let mut twice = Vec::new();
        for event in &events {
            out.push(event, &mut twice);
            let n_told = twice.len();
            out.push(event, &mut twice);
            assert_eq!(twice.len(), n_told, "seed {seed}: told twice");
        }
        out.finish(&mut twice);
        let n_told = twice.len();
        out.finish(&mut twice);
        assert_eq!(twice.len(), n_told, "seed {seed}: ended twice");
        assert_eq!(twice, told, "seed {seed}");
    }
}
