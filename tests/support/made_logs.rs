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
