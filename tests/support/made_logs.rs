//! Logs made for a test: ChatEvents as lines, of any length, with every kind of row and rows of all heights.

use serde_json::{Value, json};

/// Writes events of one session, each with an id of its own and a second after the one before.
pub(crate) struct Writer {
    session: String,
    n_events: u64,
    lines: Vec<String>,
}

impl Writer {
    pub(crate) fn new(session: &str) -> Writer {
        Writer {
            session: session.to_owned(),
            n_events: 0,
            lines: Vec::new(),
        }
    }

    /// One more event. `place` holds `turnId` and the like.
    pub(crate) fn event(&mut self, kind: &str, place: &Value, payload: &Value) -> &mut Writer {
        self.n_events += 1;
        let mut event = json!({
            "id": format!("e{}", self.n_events),
            "timestamp": 1_703_001_234_000_u64 + self.n_events * 1000,
            "sessionId": self.session,
            "type": kind,
            "payload": payload,
        });
        if let (Some(event), Some(place)) = (event.as_object_mut(), place.as_object()) {
            event.extend(place.clone());
        }
        self.lines.push(event.to_string());
        self
    }

    /// Events so far.
    pub(crate) fn n_events(&self) -> u64 {
        self.n_events
    }

    /// What was written since the last time, as lines.
    pub(crate) fn take(&mut self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        self.lines.clear();
        text
    }

    /// One turn: a prompt, a read, an edit, a command with output, thinking, an answer in paragraphs and code.
    pub(crate) fn turn(&mut self, number: u64) -> &mut Writer {
        let turn = json!({"turnId": format!("t{number}")});
        let response = json!({"turnId": format!("t{number}"), "responseId": format!("r{number}")});
        let call = |name: &str| format!("c{number}-{name}");
        self.event("turn_start", &turn, &json!({"trigger": "user"}));
        self.event(
            "user_message",
            &turn,
            &json!({"text": format!("Prompt {number}: {}", words(number, 12 + number % 40))}),
        );
        self.event(
            "thinking_done",
            &response,
            &json!({"text": words(number + 1, 30)}),
        );
        for at in 0..4 {
            let text = format!("{} ", words(number + at, 12 + (number + at) % 30));
            self.event("assistant_chunk", &response, &json!({"text": text}));
        }
        self.event("tool_call", &response, &json!({"toolCallId": call("read"), "toolName": "Read", "kind": "read", "args": {"file_path": format!("src/part_{number}.rs")}}));
        self.event(
            "tool_result",
            &response,
            &json!({"toolCallId": call("read"), "result": lines(number, 40)}),
        );
        self.event("tool_call", &response, &json!({"toolCallId": call("run"), "toolName": "Bash", "kind": "execute", "args": {"command": format!("cargo test part_{number}")}}));
        for at in 0..3 {
            self.event(
                "tool_output_chunk",
                &response,
                &json!({"toolCallId": call("run"), "chunk": lines(number + at, 3)}),
            );
        }
        self.event("tool_result", &response, &json!({"toolCallId": call("run"), "result": lines(number, 9), "exitCode": 0, "durationMs": 1200}));
        let diff = format!(
            "--- a/src/part_{number}.rs\n+++ b/src/part_{number}.rs\n@@ -1,3 +1,4 @@\n fn a() {{}}\n-fn b() {{}}\n+fn b(x: u8) {{}}\n+fn c() {{}}\n fn d() {{}}\n"
        );
        self.event("tool_call", &response, &json!({"toolCallId": call("edit"), "toolName": "Edit", "kind": "edit", "args": {"file_path": format!("src/part_{number}.rs")}}));
        self.event("file_edit", &response, &json!({"toolCallId": call("edit"), "filePath": format!("src/part_{number}.rs"), "changeType": "modified", "linesAdded": 2, "linesRemoved": 1, "diffPreview": diff, "fullDiffAvailable": false, "fullDiffSize": diff.len()}));
        self.event(
            "tool_result",
            &response,
            &json!({"toolCallId": call("edit"), "result": "done"}),
        );
        let answer = format!(
            "{}\n\n```rust\n{}\n```\n\n{}",
            words(number + 3, 20 + number % 60),
            lines(number, 2 + number % 9),
            words(number + 5, 25)
        );
        self.event(
            "assistant_done",
            &response,
            &json!({"text": answer, "part": 1}),
        );
        self.event(
            "turn_end",
            &turn,
            &json!({"outcome": "completed", "durationMs": 4200}),
        )
    }
}

/// A red picture of 8 × 4 pixels.
pub(crate) const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAECAIAAAA8r+mnAAAAEUlEQVR4nGM4oaGBFTFQTwIA6r4jAVNWcxoAAAAASUVORK5CYII=";

/// A turn with a row of every kind, and one that waits for an answer to each sort of request.
pub(crate) fn every_kind(session: &str) -> Writer {
    let mut writer = Writer::new(session);
    let start = json!({"agent": "Made 1.0", "model": "made-1", "title": "Every kind", "cwd": "/home/m/made", "gitBranch": "main"});
    writer.event("session_start", &json!({}), &start);
    writer.turn(1);
    let place = json!({"turnId": "t2", "responseId": "r2"});
    let within = json!({"turnId": "t2", "responseId": "r3", "parentToolCallId": "task"});
    let old: String = (1..=60).map(|n| format!("    step_{n}();\n")).collect();
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -27,7 +27,7 @@ fn run()\n     step_27();\n     step_28();\n     step_29();\n-    step_30();\n+    begin_30();\n     step_31();\n     step_32();\n     step_33();\n";
    let failing = "\u{1b}[32mok\u{1b}[0m one\n\u{1b}[1;31mFAILED\u{1b}[0m two\n";
    let answer = "Some *stress* and `code`, a [link](https://docs.rs/serde).\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n> quoted\n\n### A heading";
    for (kind, place, payload) in [
        ("turn_start", &place, json!({"trigger": "user"})),
        (
            "user_message",
            &place,
            json!({"text": "Mend it, please.\n\n- all of it", "attachments": [{"name": "seen.png", "mediaType": "image/png", "data": PICTURE}, {"name": "notes.txt", "mediaType": "text/plain"}]}),
        ),
        (
            "thinking_done",
            &place,
            json!({"text": "Where does it begin?"}),
        ),
        (
            "tool_call",
            &place,
            json!({"toolCallId": "task", "toolName": "Task", "kind": "agent", "args": {"description": "Look around", "subagent_type": "Explore"}}),
        ),
        (
            "tool_call",
            &within,
            json!({"toolCallId": "in", "toolName": "Grep", "kind": "search", "args": {"pattern": "begin"}}),
        ),
        (
            "tool_result",
            &within,
            json!({"toolCallId": "in", "result": "a.rs:1"}),
        ),
        (
            "tool_result",
            &place,
            json!({"toolCallId": "task", "result": "It begins in a.rs."}),
        ),
        (
            "plan",
            &place,
            json!({"entries": [{"content": "Read", "status": "completed"}, {"content": "Mend", "status": "in_progress"}, {"content": "Test", "status": "pending"}]}),
        ),
        (
            "tool_call",
            &place,
            json!({"toolCallId": "run", "toolName": "Bash", "kind": "execute", "args": {"command": "cargo test"}}),
        ),
        (
            "tool_result",
            &place,
            json!({"toolCallId": "run", "result": failing, "exitCode": 101, "error": {"message": "exit code 101"}}),
        ),
        (
            "file_edit",
            &place,
            json!({"filePath": "/home/m/made/a.rs", "changeType": "modified", "linesAdded": 1, "linesRemoved": 1, "diffPreview": diff, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len(), "oldText": old}),
        ),
        (
            "tool_call",
            &place,
            json!({"toolCallId": "look", "toolName": "Read", "kind": "read", "args": {"file_path": "/home/m/made/plot.png"}}),
        ),
        (
            "tool_result",
            &place,
            json!({"toolCallId": "look", "result": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]}),
        ),
        ("assistant_done", &place, json!({"text": answer})),
        (
            "audio_chunk",
            &place,
            json!({"data": "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==", "seq": 0}),
        ),
        ("audio_done", &place, json!({"durationMs": 1})),
        (
            "agent_message",
            &place,
            json!({"messageId": "m1", "targetAgentId": "reviewer", "targetSessionId": "s9", "message": "Look at it", "wait": true}),
        ),
        (
            "agent_callback",
            &place,
            json!({"messageId": "m1", "fromAgentId": "reviewer", "fromSessionId": "s9", "result": "Good"}),
        ),
        (
            "progress",
            &place,
            json!({"message": "Halfway", "percent": 50}),
        ),
        (
            "compaction",
            &place,
            json!({"trigger": "auto", "tokensBefore": 168_000, "summary": "So far"}),
        ),
        (
            "notice",
            &place,
            json!({"level": "warning", "text": "A hook was slow"}),
        ),
        ("raw", &place, json!({"format": "made", "value": {"a": 1}})),
        ("never_heard_of", &place, json!({"b": 2})),
        (
            "usage",
            &place,
            json!({"scope": "turn", "inputTokens": 120_000, "outputTokens": 900, "contextUsed": 120_000, "contextSize": 200_000, "costUsd": 0.5}),
        ),
        (
            "permission_request",
            &place,
            json!({"requestId": "p1", "toolName": "Bash", "args": {"command": "rm -rf old"}, "options": [{"id": "1", "label": "Allow once", "kind": "allow_once"}]}),
        ),
        (
            "question_request",
            &place,
            json!({"requestId": "q1", "questions": [{"id": "a", "text": "Which?", "options": [{"label": "This"}, {"label": "That", "description": "the other"}]}]}),
        ),
    ] {
        writer.event(kind, place, &payload);
    }
    writer
}

/// A log of at least so many events.
pub(crate) fn log_of(session: &str, n_events: u64) -> String {
    let mut writer = Writer::new(session);
    let mut number = 0;
    while writer.n_events() < n_events {
        number += 1;
        writer.turn(number);
    }
    writer.take()
}

/// So many words, the same for the same seed.
pub(crate) fn words(seed: u64, count: u64) -> String {
    const WORDS: [&str; 16] = [
        "the",
        "parser",
        "keeps",
        "a",
        "window",
        "of",
        "tokens",
        "and",
        "never",
        "looks",
        "behind",
        "it",
        "unless",
        "asked",
        "twice",
        "unconditionally",
    ];
    let mut text = String::new();
    for at in 0..count {
        if at > 0 {
            text.push(' ');
        }
        let pick = (seed.wrapping_mul(7) + at.wrapping_mul(seed % 13 + 5)) % WORDS.len() as u64;
        text.push_str(WORDS[usize::try_from(pick).unwrap_or(0)]);
    }
    text
}

/// So many lines of something like code.
pub(crate) fn lines(seed: u64, count: u64) -> String {
    let of = |at| format!("{:>4}  {}", at + 1, words(seed + at, 3 + (seed + at) % 9));
    (0..count).map(of).collect::<Vec<_>>().join("\n")
}
