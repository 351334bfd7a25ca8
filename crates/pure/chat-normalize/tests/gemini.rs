//! What Gemini CLI's dialects hold, over recordings, public sessions and small inputs of kinds that neither has.

mod recorded;
mod set_backs;

use chat_event::{ChatEvent, Payload};
use chat_normalize::Dialect;
use serde_json::{Value, json};

use crate::support::{assert_sound, read_lines, told};

fn header() -> Value {
    json!({"sessionId": "g1", "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": "main"})
}

fn message(id: &str, kind: &str, content: Value) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T00:00:01Z", "type": kind, "content": content})
}

#[test]
fn a_message_that_grows_is_told_once_and_its_calls_when_they_end() {
    let call = |status: &str| {
        let mut call = json!({"id": "c1", "name": "run_shell_command", "args": {"command": "false"}, "status": status});
        if status == "success" {
            call["result"] = json!([{"functionResponse": {"id": "c1", "response": {"output": "Output: x\nExit Code: 3"}}}]);
            call["resultDisplay"] = json!("x");
        }
        call
    };
    let grown = |calls: Value, tokens: u64| {
        let mut grown = message("m2", "gemini", json!("Running."));
        grown["toolCalls"] = calls;
        grown["tokens"] = json!({"input": 10, "cached": 4, "output": tokens});
        grown
    };
    let lines = [
        header(),
        message(
            "m1",
            "user",
            json!([{"text": "Run"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]),
        ),
        message("m2", "gemini", json!("Running.")),
        grown(json!([call("executing")]), 5),
        grown(json!([call("success")]), 6),
        grown(json!([call("success")]), 6),
        message("m3", "error", json!("Broken")),
    ];
    let read = read_lines(Dialect::GeminiChat, &lines);
    assert_sound("grown", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user Run",
            "done Running.",
            "usage response 6/5",
            "call c1 run_shell_command",
            "retract 1",
            "usage response 6/6",
            "failed c1 exit_code",
            "error  Broken",
            "end failed",
        ]
    );
    let code = read.events.iter().find_map(|event| match &event.payload {
        Payload::ToolResult(result) => result.exit_code,
        _ => None,
    });
    assert_eq!(code, Some(3));
}

/// A command may print the words that its exit code stands behind.
#[test]
fn the_exit_code_stands_behind_what_the_command_printed() {
    let code = |output: &str| {
        let mut answer = message("m2", "gemini", json!(""));
        answer["toolCalls"] = json!([{"id": "c1", "name": "run_shell_command", "args": {"command": "cat log"}, "status": "success",
            "result": [{"functionResponse": {"id": "c1", "response": {"output": output}}}]}]);
        let lines = [header(), message("m1", "user", json!("Run")), answer];
        let events = read_lines(Dialect::GeminiChat, &lines).events;
        let mut results = events.iter().filter_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result.exit_code),
            _ => None,
        });
        results.next().unwrap()
    };
    let behind = "Signal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 12";
    assert_eq!(
        code(&format!("Output: Exit Code: 7 (see ticket)\n{behind}")),
        None
    );
    assert_eq!(
        code(&format!("Output: Exit Code: 7\nExit Code: 2\n{behind}")),
        Some(2)
    );
    assert_eq!(
        code(&format!("Output: x\nExit Code: (none)\n{behind}")),
        None
    );
    // The whole answer may stand in tags, and behind a word on its length.
    for before in ["", "Output too large. Showing the end.\n"] {
        let output = format!(
            "{before}<untrusted_context>\nOutput: slow\nExit Code: 3\nProcess Group PGID: 12\n</untrusted_context>"
        );
        assert_eq!(code(&output), Some(3), "{output}");
    }
}

#[test]
fn calls_among_parts_are_told_with_what_the_user_is_said_to_answer() {
    let asks = |id: Value| json!([{"text": "inner", "thought": true}, {"text": "I look."}, {"functionCall": {"id": id, "name": "list_directory", "args": {}}}]);
    let gives = |id: Value, response: Value| json!([{"functionResponse": {"id": id, "name": "list_directory", "response": response}}]);
    let set = json!({"$set": {"messages": [
        message("u1", "user", json!("List")),
        message("g1", "gemini", asks(json!("c1"))),
        // Under the id of the message that made the call, as the program writes it.
        message("g1", "user", gives(json!("c1"), json!({"output": "a.py"}))),
        message("g2", "gemini", asks(Value::Null)),
        message("u2", "user", gives(Value::Null, json!({"error": "denied"}))),
        message("g3", "gemini", json!([{"text": "One file."}])),
    ]}});
    let read = read_lines(Dialect::GeminiChat, &[header(), set.clone(), set]);
    assert_sound("parts", &read.events);
    assert_eq!(
        told(&read.events),
        [
            "turn user",
            "user List",
            "thinking inner",
            "done I look.",
            "call c1 list_directory",
            "result c1 a.py",
            "thinking inner",
            "done I look.",
            "call g2:call0 list_directory",
            "failed g2:call0 error",
            "done One file.",
            "end completed",
        ]
    );
}

/// What stands beside the results of calls, and which words steer.
fn attached(events: &[ChatEvent]) -> Vec<String> {
    let lines = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => {
            let attached = result.extra.get("attachments")?.as_text();
            Some(format!("{} {attached}", result.tool_call_id))
        }
        Payload::UserMessage(message) => {
            let steers = message.extra.get("steering").map_or("", |_| "> ");
            Some(format!("{steers}{}", message.text.preview()))
        }
        _ => None,
    });
    lines.collect()
}

#[test]
fn what_a_call_gave_beside_its_text_is_attached_to_its_result_and_no_prompt() {
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    let file = json!({"fileData": {"mimeType": "application/pdf", "fileUri": "gs://b/a.pdf"}});
    let output = json!({"output": "Binary content provided (1 item(s))."});
    let gave =
        |id: &str| json!({"functionResponse": {"id": id, "name": "read_file", "response": output}});
    let mut within = gave("c2");
    within["functionResponse"]["parts"] = json!([image]);
    let calls: Vec<Value> = ["c1", "c2", "c3"]
        .map(|id| json!({"functionCall": {"id": id, "name": "read_file", "args": {}}}))
        .into();
    let lines = [
        header(),
        message("u1", "user", json!("Look")),
        message("g1", "gemini", json!(calls)),
        // One behind its answer, one within it, and one that has both kinds.
        message(
            "u2",
            "user",
            json!([gave("c1"), image, within, gave("c3"), file, image]),
        ),
        message("g2", "gemini", json!([{"text": "Three."}])),
    ];
    let events = read_lines(Dialect::GeminiChat, &lines).events;
    assert_sound("images", &events);
    let picture = r#"{"mediaType":"image/png","data":"iVBORw0KGgo="}"#;
    let paper = r#"{"mediaType":"application/pdf","ref":"gs://b/a.pdf"}"#;
    assert_eq!(
        attached(&events),
        [
            "Look".to_owned(),
            format!("c1 [{picture}]"),
            format!("c2 [{picture}]"),
            format!("c3 [{paper},{picture}]"),
        ]
    );
    let turns = told(&events);
    assert_eq!(turns.iter().filter(|line| *line == "turn user").count(), 1);
    assert_eq!(turns.last().unwrap(), "end completed");
    // The message with the call says it in the same parts.
    let mut whole = message("g1", "gemini", json!(""));
    whole["toolCalls"] = json!([{"id": "c1", "name": "read_file", "args": {}, "status": "success",
        "result": [gave("c1"), image]}]);
    let lines = [header(), message("u1", "user", json!("Look")), whole];
    let events = read_lines(Dialect::GeminiChat, &lines).events;
    assert_eq!(attached(&events)[1], format!("c1 [{picture}]"));
}

#[test]
fn words_beside_what_calls_gave_are_told_to_the_agent_at_work() {
    let gave =
        json!({"functionResponse": {"id": "c1", "name": "glob", "response": {"output": "a.py"}}});
    let call = json!([{"functionCall": {"id": "c1", "name": "glob", "args": {}}}]);
    let lines = [
        header(),
        message("u1", "user", json!("List")),
        message("g1", "gemini", call),
        message("u2", "user", json!([gave, {"text": "Only tests"}])),
        message("g2", "gemini", json!([{"text": "None."}])),
    ];
    let events = read_lines(Dialect::GeminiChat, &lines).events;
    assert_sound("steered", &events);
    assert_eq!(
        told(&events),
        [
            "turn user",
            "user List",
            "call c1 glob",
            "result c1 a.py",
            "user Only tests",
            "done None.",
            "end completed",
        ]
    );
    assert_eq!(attached(&events), ["List", "> Only tests"]);
}

#[test]
fn a_resumed_session_that_was_stopped_in_a_call_is_not_completed_by_that() {
    let lines = [
        header(),
        message("m1", "user", json!("Run")),
        json!({"$set": {"messages": [
            message("m1", "user", json!("Run")),
            message("m2", "gemini", json!([
                {"text": "Running."},
                {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {}}},
            ])),
        ]}}),
        message("m3", "user", json!("Go on")),
    ];
    let read = read_lines(Dialect::GeminiChat, &lines);
    assert_sound("stopped in a call", &read.events);
    let ends: Vec<String> = told(&read.events)
        .into_iter()
        .filter(|line| line.starts_with("end"))
        .collect();
    assert_eq!(ends, ["end interrupted", "end interrupted"]);
}

#[test]
fn a_stream_that_stops_is_interrupted_and_warnings_are_notices() {
    let at = |seconds: u32, mut line: Value| {
        line["timestamp"] = json!(format!("2026-01-01T00:00:{seconds:02}Z"));
        line
    };
    let lines = [
        at(1, json!({"type": "init", "session_id": "g1", "model": "m"})),
        at(
            2,
            json!({"type": "message", "role": "user", "content": "Go"}),
        ),
        at(
            3,
            json!({"type": "message", "role": "assistant", "content": "Wh", "delta": true}),
        ),
        at(
            3,
            json!({"type": "message", "role": "assistant", "content": "ole.", "delta": true}),
        ),
        at(
            4,
            json!({"type": "message", "role": "assistant", "content": "Not in pieces."}),
        ),
        at(
            4,
            json!({"type": "error", "severity": "warning", "message": "Loop detected"}),
        ),
        at(
            5,
            json!({"type": "tool_use", "tool_id": "c1", "tool_name": "write_todos",
            "parameters": {"todos": [{"description": "a", "status": "cancelled"}]}}),
        ),
        at(
            6,
            json!({"type": "tool_result", "tool_id": "c9", "status": "success"}),
        ),
        at(6, json!({"type": "new", "x": 1})),
    ];
    let read = read_lines(Dialect::GeminiStream, &lines);
    assert_sound("stopped", &read.events);
    let told = told(&read.events);
    assert_eq!(
        told.iter()
            .filter(|line| !line.starts_with("raw"))
            .collect::<Vec<_>>(),
        [
            "turn user",
            "user Go",
            "chunk Wh",
            "chunk ole.",
            "done Whole.",
            "done Not in pieces.",
            "notice Loop detected",
            "call c1 write_todos",
            "plan 1",
            "failed c1 no_result",
            "end interrupted",
        ]
    );
    assert_eq!(
        told.iter().filter(|line| line.starts_with("raw")).count(),
        2
    );
}
