//! Logs made for a test, as agents stream their work: texts, arguments and output piece by piece.

use serde_json::{Value, json};

use crate::made_logs::{Writer, lines, words};

/// A log as a page that watched it wrote it down: so many turns in pieces, the last of which goes on.
pub(crate) fn streamed_log_of(session: &str, n_turns: u64) -> String {
    let mut writer = Writer::new(session);
    for number in 1..=n_turns {
        writer.streamed_turn(number);
        if number < n_turns {
            writer.event(
                "turn_end",
                &json!({"turnId": format!("t{number}")}),
                &json!({"outcome": "completed"}),
            );
        }
    }
    writer.take()
}

/// The same log as stores keep it: without the pieces of what it has whole.
pub(crate) fn stored_log_of(session: &str, n_turns: u64) -> String {
    let log = streamed_log_of(session, n_turns);
    let whole = log.lines().filter(|line| !line.contains("_chunk\""));
    whole.flat_map(|line| [line, "\n"]).collect()
}

impl Writer {
    /// One turn as agents stream it: every text and every call's arguments piece by piece, coloured output as it is printed,
    /// edits, Markdown of several kinds. The turn goes on until `turn_end` is written.
    pub(crate) fn streamed_turn(&mut self, number: u64) -> &mut Writer {
        let turn = json!({"turnId": format!("t{number}")});
        self.event("turn_start", &turn, &json!({"trigger": "user"}));
        self.event(
            "user_message",
            &turn,
            &json!({"text": format!("Prompt {number}: {}", words(number, 20))}),
        );
        for at in 0..4 {
            let place =
                json!({"turnId": format!("t{number}"), "responseId": format!("r{number}-{at}")});
            let seed = number * 4 + at;
            let thought = format!("{}. See `part_{seed}`.", words(seed, 60));
            self.pieces(["thinking_chunk", "thinking_done"], &place, &thought);
            self.streamed_call(seed, &place);
            let answer = format!(
                "## Part {seed}\n\n{}. **{}**, see [the docs](https://docs.rs/serde).\n\n- {}\n- `{}`\n\n| a | b |\n|---|--:|\n| 1 | {seed} |\n\n```rust\n{}\n```\n\n{}",
                words(seed + 1, 40),
                words(seed + 2, 4),
                words(seed + 3, 12),
                words(seed + 4, 3),
                lines(seed, 6),
                words(seed + 5, 70),
            );
            self.pieces(["assistant_chunk", "assistant_done"], &place, &answer);
        }
        self
    }

    /// A text in pieces of a few characters, and then whole.
    fn pieces(&mut self, [piece, whole]: [&str; 2], place: &Value, text: &str) {
        let letters: Vec<char> = text.chars().collect();
        for part in letters.chunks(9) {
            self.event(
                piece,
                place,
                &json!({"text": part.iter().collect::<String>()}),
            );
        }
        self.event(whole, place, &json!({"text": text}));
    }

    /// A call whose arguments come in pieces: a command that prints, or an edit.
    fn streamed_call(&mut self, seed: u64, place: &Value) {
        let id = format!("call-{seed}");
        let path = format!("/home/m/made/src/part_{seed}.rs");
        let runs = seed.is_multiple_of(2);
        let (name, args) = match runs {
            true => (
                "Bash",
                json!({"command": format!("cargo test part_{seed}")}),
            ),
            false => (
                "Edit",
                json!({"file_path": path, "old_string": lines(seed, 2), "new_string": lines(seed + 1, 3)}),
            ),
        };
        let (text, mut offset) = (args.to_string(), 0);
        for part in text.as_bytes().chunks(16) {
            let chunk = String::from_utf8_lossy(part);
            self.event(
                "tool_input_chunk",
                place,
                &json!({"toolCallId": id, "toolName": name, "chunk": chunk, "offset": offset}),
            );
            offset += part.len();
        }
        self.event(
            "tool_call",
            place,
            &json!({"toolCallId": id, "toolName": name, "args": args}),
        );
        if !runs {
            let diff = format!(
                "@@ -1,1 +1,2 @@\n-{}\n+{}\n+new\n",
                words(seed, 5),
                words(seed, 6)
            );
            self.event(
                "file_edit",
                place,
                &json!({"toolCallId": id, "filePath": path, "changeType": "modified", "linesAdded": 2, "linesRemoved": 1, "diffPreview": diff, "fullDiff": diff, "fullDiffAvailable": true, "fullDiffSize": diff.len()}),
            );
        }
        let mut printed = String::new();
        for at in 0..4 {
            let chunk = format!(
                "   \u{1b}[1;32mCompiling\u{1b}[0m part_{at} v0.1.{seed}\n{}\n",
                lines(seed + at, 8)
            );
            if runs {
                self.event(
                    "tool_output_chunk",
                    place,
                    &json!({"toolCallId": id, "chunk": chunk}),
                );
            }
            printed.push_str(&chunk);
        }
        self.event(
            "tool_result",
            place,
            &json!({"toolCallId": id, "result": printed}),
        );
    }
}
