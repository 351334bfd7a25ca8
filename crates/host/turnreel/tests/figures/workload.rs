//! Sessions as agents write them, made up: the same seed gives the same events.
//!
//! Turns of a prompt and some steps. A step is thinking and text, token by token and then whole, and a call with its
//! arguments, output and result, now and then with an edit. By number most events are pieces of texts, by bytes most are
//! results, as in recorded sessions.

// Helpers of tests may panic as the tests do.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::VecDeque;
use std::sync::LazyLock;

use chat_event::payload::{
    AssistantChunk, AssistantDone, FileEdit, SessionStart, ThinkingChunk, ThinkingDone, ToolCall,
    ToolInputChunk, ToolOutputChunk, ToolResult, TurnEnd, TurnStart, Usage, UserMessage,
};
use chat_event::{Body, ChatEvent, Json, Payload};
use serde_json::json;

use crate::support::dice::Dice;

/// Texts are cut out of so many bytes.
const POOL_BYTES: usize = 1 << 20;

/// What a tool is called, how often of a hundred calls it is, and how long its results are, about.
const TOOLS: [(&str, u64, u64); 5] = [
    ("Bash", 30, 2600),
    ("Read", 25, 4500),
    ("Grep", 15, 2200),
    ("Edit", 20, 160),
    ("WebFetch", 10, 9000),
];

/// What all texts are cut out of.
static POOL: LazyLock<String> = LazyLock::new(pool);

const WORDS: &str = "the parser reducer event stream handler buffer session cache index offset cursor queue worker of \
    thread socket request response payload schema token scanner test failing assertion fixture module because crate \
    import export function method struct field trait async await future timeout retry latency memory before after \
    layout scroll virtual list row height measure diff patch merge branch commit revert file path directory config";

/// One session without an end.
pub(crate) struct Workload {
    dice: Dice,
    waiting: VecDeque<ChatEvent>,
    n_events: u64,
    n_turns: u64,
    n_parts: u64,
    at_ms: i64,
}

impl Workload {
    pub(crate) fn new(seed: u64) -> Workload {
        let mut workload = Workload {
            dice: Dice::new(seed),
            waiting: VecDeque::new(),
            n_events: 0,
            n_turns: 0,
            n_parts: 0,
            at_ms: 1_767_225_600_000,
        };
        let title = workload.text(40).replace('\n', " ");
        workload.push(SessionStart {
            agent: Some("made-up 1.0".to_owned()),
            model: Some("model-1".to_owned()),
            cwd: Some("/home/dev/project".to_owned()),
            title: Some(title),
            ..SessionStart::default()
        });
        workload
    }

    /// The next event.
    pub(crate) fn next(&mut self) -> ChatEvent {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return event;
            }
            self.turn();
        }
    }

    fn push(&mut self, payload: impl Into<Payload>) {
        self.n_events += 1;
        self.at_ms += self.dice.between(1, 60).cast_signed();
        let mut event = ChatEvent::new(format!("e{}", self.n_events), self.at_ms, "", payload);
        event.turn_id = (self.n_turns > 0).then(|| format!("t{}", self.n_turns));
        event.response_id = (self.n_parts > 0).then(|| format!("r{}", self.n_parts));
        self.waiting.push_back(event);
    }

    fn turn(&mut self) {
        self.n_turns += 1;
        self.push(TurnStart {
            trigger: "user".to_owned(),
            ..TurnStart::default()
        });
        let n_bytes = self.dice.between(40, 600);
        let text = Body::from(self.text(n_bytes));
        self.push(UserMessage {
            text,
            ..UserMessage::default()
        });
        for _ in 0..self.dice.between(3, 30) {
            self.step();
        }
        self.push(TurnEnd {
            outcome: Some("completed".to_owned()),
            ..TurnEnd::default()
        });
    }

    fn step(&mut self) {
        self.n_parts += 1;
        if self.dice.between(0, 100) < 40 {
            let n_bytes = self.dice.between(60, 900);
            let text = self.text(n_bytes);
            for (text, index) in self.pieces(&text).into_iter().zip(0..) {
                let index = Some(index);
                self.push(ThinkingChunk {
                    text,
                    index,
                    ..ThinkingChunk::default()
                });
            }
            self.push(ThinkingDone {
                text,
                ..ThinkingDone::default()
            });
        }
        if self.dice.between(0, 100) < 70 {
            let n_bytes = self.dice.between(100, 2000);
            let text = self.text(n_bytes);
            for (text, index) in self.pieces(&text).into_iter().zip(0..) {
                let index = Some(index);
                self.push(AssistantChunk {
                    text,
                    index,
                    ..AssistantChunk::default()
                });
            }
            self.push(AssistantDone {
                text,
                ..AssistantDone::default()
            });
        }
        for _ in 0..self.dice.between(1, 4) {
            self.call();
        }
        let input_tokens = self.dice.between(2000, 150_000);
        self.push(Usage {
            scope: "response".to_owned(),
            input_tokens,
            output_tokens: input_tokens / 40,
            ..Usage::default()
        });
    }

    fn call(&mut self) {
        let mut at = self.dice.between(0, 100);
        let tool = TOOLS.iter().find(|tool| {
            let is_it = at < tool.1;
            at = at.saturating_sub(tool.1);
            is_it
        });
        let (name, _, about_bytes) = *tool.unwrap();
        let tool_call_id = format!("toolu_{:016x}", self.dice.between(0, u64::MAX));
        let path = format!("src/part_{}.rs", self.dice.between(0, 400));
        let command = self.text(60);
        let args = json!({"file_path": path, "command": command});
        let pieces = self.pieces(&args.to_string());
        let mut offset = 0;
        for chunk in pieces {
            let n_chars = chunk.chars().count() as u64;
            self.push(ToolInputChunk {
                tool_call_id: tool_call_id.clone(),
                tool_name: name.to_owned(),
                chunk,
                offset: Some(offset),
                ..ToolInputChunk::default()
            });
            offset += n_chars;
        }
        self.push(ToolCall {
            tool_call_id: tool_call_id.clone(),
            tool_name: name.to_owned(),
            args: args.into(),
            ..ToolCall::default()
        });
        // Few are long: now and then one is sixteen times as long as most.
        let long = 1 << (self.dice.between(0, 16).trailing_zeros().min(4));
        let n_bytes = self.dice.between(about_bytes / 4, about_bytes) * long;
        let output = self.text(n_bytes.min(60_000));
        if name == "Bash" {
            for line in output.split_inclusive('\n').take(20) {
                self.push(ToolOutputChunk {
                    tool_call_id: tool_call_id.clone(),
                    chunk: line.to_owned(),
                    stream: Some("stdout".to_owned()),
                    ..ToolOutputChunk::default()
                });
            }
        }
        self.push(ToolResult {
            tool_call_id: tool_call_id.clone(),
            result: Json::string(&output),
            duration_ms: Some(n_bytes),
            ..ToolResult::default()
        });
        if name == "Edit" {
            let n_bytes = self.dice.between(200, 4000);
            let diff = self.text(n_bytes).replace('\n', "\n+");
            self.push(FileEdit {
                tool_call_id,
                file_path: path,
                change_type: "modified".to_owned(),
                lines_added: 7,
                diff_preview: diff.into(),
                ..FileEdit::default()
            });
        }
    }

    /// A text of about so many bytes.
    fn text(&mut self, n_bytes: u64) -> String {
        let n_bytes = n_bytes as usize;
        let from = self.dice.between(0, (POOL_BYTES - n_bytes) as u64) as usize;
        let from = POOL.floor_char_boundary(from);
        let to = POOL.floor_char_boundary(from + n_bytes);
        POOL[from..to].to_owned()
    }

    /// A text in pieces of one or some tokens.
    fn pieces(&mut self, text: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let at = rest.ceil_char_boundary(self.dice.between(3, 24) as usize);
            let (piece, behind) = rest.split_at(at.min(rest.len()));
            pieces.push(piece.to_owned());
            rest = behind;
        }
        pieces
    }
}

/// Words in lines, with what has to be escaped and what is not ASCII among them.
fn pool() -> String {
    let mut dice = Dice::new(0);
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut pool = String::with_capacity(POOL_BYTES + 64);
    while pool.len() < POOL_BYTES {
        match dice.between(0, 100) {
            0..6 => pool.push('\n'),
            6..8 => pool.push_str("\"quoted\" "),
            8 => pool.push_str("\u{1b}[32mok\u{1b}[0m "),
            9 => pool.push_str("naïve café → 修复 "),
            10 => pool.push_str("C:\\tmp\t"),
            _ => {
                pool.push_str(words[dice.between(0, words.len() as u64) as usize]);
                pool.push(' ');
            }
        }
    }
    pool
}
