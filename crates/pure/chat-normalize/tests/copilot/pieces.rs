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

/// What the chunks of a call say, with these lines while it runs.
fn printed(said: &[(&str, serde_json::Value)]) -> Vec<String> {
    let mut lines = super::a_command();
    for (n, (kind, data)) in (10..).zip(said) {
        let mut data = data.clone();
        data["toolCallId"] = json!("c1");
        lines.push(passing(n, kind, data));
    }
    let read = read_lines(Dialect::Copilot, &lines);
    assert_eq!(read.report.raw, BTreeMap::new());
    let chunks = read
        .events
        .into_iter()
        .filter_map(|event| match event.payload {
            Payload::ToolOutputChunk(chunk) => Some(chunk.chunk),
            _ => None,
        });
    chunks.collect()
}

#[test]
fn what_a_call_prints_is_told_once_however_often_it_is_said() {
    let all = |text: &str| {
        (
            "tool.execution_partial_result",
            json!({"partialOutput": text}),
        )
    };
    let piece = |text: &str| {
        (
            "tool.shell_output",
            json!({"stream": "stdout", "text": text}),
        )
    };
    assert_eq!(
        printed(&[all("1\n"), all("1\n2\n"), all("1\n2\n")]),
        ["1\n", "2\n"]
    );
    // Pieces, as 1.0.77 told them.
    assert_eq!(printed(&[all("1\n"), all("2\n")]), ["1\n", "2\n"]);
    assert_eq!(
        printed(&[
            piece("1\n"),
            all("1\n"),
            piece("2\n"),
            all("1\n2\n"),
            piece("1\n")
        ]),
        ["1\n", "2\n", "1\n"]
    );
    // Cut within a character of what was told.
    assert_eq!(printed(&[all("a"), all("\u{e9}a")]), ["a", "\u{e9}a"]);
}

#[test]
fn tokens_are_told_with_each_request_by_the_file_and_by_what_a_run_prints_under_one_id() {
    let figures = json!({"model": "made", "inputTokens": 100, "cacheReadTokens": 60, "outputTokens": 12, "apiCallId": "a1"});
    let usages = |line: serde_json::Value| {
        let lines = [event(1, "user.message", json!({"content": "Go"})), line];
        let read = read_lines(Dialect::Copilot, &lines);
        let usage = read
            .events
            .into_iter()
            .find_map(|event| match event.payload {
                Payload::Usage(usage) => Some((event.id, usage.input_tokens, usage.output_tokens)),
                _ => None,
            });
        usage.unwrap()
    };
    let of_file = usages(event(2, "session.usage_record", json!({"usage": figures})));
    assert_eq!(of_file, ("a1:usage".to_owned(), 40, 12));
    assert_eq!(usages(passing(3, "assistant.usage", figures)), of_file);
}

#[test]
fn pieces_of_agents_at_work_at_once_are_each_told_whole_once() {
    let of_agent = |mut line: serde_json::Value| {
        line["agentId"] = json!("a1");
        line["data"]["parentToolCallId"] = json!("c");
        line
    };
    let delta = |n: u64, id: &str, text: &str| {
        let data = json!({"messageId": id, "deltaContent": text});
        passing(n, "assistant.message_delta", data)
    };
    let whole = |n: u64, id: &str, text: &str| {
        let data = json!({"messageId": id, "content": text, "toolRequests": []});
        event(n, "assistant.message", data)
    };
    let lines = [
        event(1, "user.message", json!({"content": "Go"})),
        event(
            2,
            "tool.execution_start",
            json!({"toolCallId": "c", "toolName": "task", "arguments": {}}),
        ),
        delta(3, "m", "I "),
        of_agent(delta(4, "n", "It ")),
        delta(5, "m", "wait."),
        of_agent(delta(6, "n", "is.")),
        of_agent(whole(7, "n", "It is.")),
        whole(8, "m", "I wait."),
    ];
    let events = read_lines(Dialect::Copilot, &lines).events;
    assert_sound("agents", &events);
    let told = told(&events);
    let whole = told.iter().filter(|it| it.starts_with("done "));
    assert_eq!(whole.collect::<Vec<_>>(), ["done It is.", "done I wait."]);
}
