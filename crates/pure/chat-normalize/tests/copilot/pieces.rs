//! What a run prints as it works.

use std::collections::BTreeMap;

use chat_event::Payload;
use chat_normalize::Dialect;
use serde_json::json;

use super::{event, passing};
use crate::support::{assert_sound, read_lines, told};

#[test]
fn what_a_run_prints_comes_in_pieces_and_counts_its_tokens_once() {
    let usage = json!({"model": "made", "inputTokens": 100, "cacheReadTokens": 60, "cacheWriteTokens": 10, "outputTokens": 12});
    let lines = [
        passing(0, "session.mcp_servers_loaded", json!({"servers": []})),
        event(1, "user.message", json!({"content": "Go"})),
        passing(
            2,
            "assistant.reasoning_delta",
            json!({"reasoningId": "r", "deltaContent": "H"}),
        ),
        passing(
            3,
            "assistant.reasoning_delta",
            json!({"reasoningId": "r", "deltaContent": "m."}),
        ),
        passing(4, "assistant.message_start", json!({"messageId": "m"})),
        passing(
            5,
            "assistant.message_delta",
            json!({"messageId": "m", "deltaContent": "I l"}),
        ),
        passing(
            6,
            "assistant.message_delta",
            json!({"messageId": "m", "deltaContent": "ook."}),
        ),
        event(
            7,
            "assistant.message",
            json!({"messageId": "m", "content": "I look.", "reasoningText": "Hm.", "outputTokens": 12,
            "toolRequests": [{"toolCallId": "c", "name": "bash", "arguments": {"command": "ls"}}]}),
        ),
        passing(
            8,
            "assistant.reasoning",
            json!({"reasoningId": "r", "content": "Hm."}),
        ),
        passing(9, "assistant.usage", usage),
        passing(
            10,
            "tool.execution_progress",
            json!({"toolCallId": "c", "progressMessage": "looking"}),
        ),
        passing(
            11,
            "tool.execution_partial_result",
            json!({"toolCallId": "c", "partialOutput": "a.txt"}),
        ),
        event(
            12,
            "tool.execution_complete",
            json!({"toolCallId": "c", "success": true, "result": {"content": "a.txt"}}),
        ),
        passing(
            13,
            "model.call_failure",
            json!({"errorMessage": "overloaded"}),
        ),
        passing(
            14,
            "assistant.message_delta",
            json!({"messageId": "n", "deltaContent": "One f"}),
        ),
        passing(15, "session.idle", json!({})),
        json!({"type": "result", "timestamp": "2026-01-01T00:00:00Z", "sessionId": "s", "exitCode": 1, "usage": {}}),
    ];
    let read = read_lines(Dialect::Copilot, &lines);
    assert_sound("a run", &read.events);
    assert_eq!(read.report.raw, BTreeMap::new());
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Go",
            "thinking chunk H",
            "thinking chunk m.",
            "chunk I l",
            "chunk ook.",
            "thinking Hm.",
            "done I look.",
            "call c bash",
            "usage response 30/12",
            "result c a.txt",
            "chunk One f",
            "done One f",
            "end interrupted",
        ]
    );
    let statuses = read.events.iter().filter_map(|event| match &event.payload {
        Payload::SessionStatus(status) => Some((status.status.as_str(), status.message.as_deref())),
        _ => None,
    });
    assert_eq!(
        statuses.collect::<Vec<_>>(),
        [
            ("busy", None),
            ("retrying", Some("overloaded")),
            ("busy", None),
            ("idle", None)
        ]
    );
}
