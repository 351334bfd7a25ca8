//! The two ways between the log and Chat Completions, held against each other: what one writes, the other reads.
//!
//! Neither package knows the other, so this stands with what holds across packages.

use std::path::PathBuf;

use chat_event::{ChatEvent, Payload};
use chat_feed::projections::{OpenAiMessage, to_openai_messages};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

fn events_of(bytes: &[u8]) -> (Vec<ChatEvent>, Option<Dialect>) {
    let mut reader = SessionReader::new(Context::default());
    let mut events = Vec::new();
    reader.push(bytes, 0, &mut events).unwrap();
    reader.finish(0, &mut events).unwrap();
    (events, reader.dialect())
}

/// Messages as events, by way of their text.
fn read_back(messages: &[OpenAiMessage]) -> Vec<ChatEvent> {
    let (events, dialect) = events_of(serde_json::to_string(messages).unwrap().as_bytes());
    assert_eq!(dialect, Some(Dialect::OpenAiChat));
    events
}

/// What was said, in order, by turn and response; ids of turns and responses only tell them apart.
fn heard(events: &[ChatEvent]) -> Vec<String> {
    let (mut turns, mut responses) = (Vec::new(), Vec::new());
    let mut heard = Vec::new();
    for event in events {
        let what = match &event.payload {
            Payload::UserMessage(message) => format!("user {}", message.text.preview()),
            Payload::AssistantDone(done) => format!("text {}", done.text),
            Payload::ToolCall(call) => format!(
                "call {} {} {}",
                call.tool_call_id,
                call.tool_name,
                call.args.as_text()
            ),
            Payload::ToolResult(result) => format!(
                "result {} {}",
                result.tool_call_id,
                result.result.display_text()
            ),
            _ => continue,
        };
        let turn = number_of(&mut turns, event.turn_id.as_ref());
        let response = match &event.payload {
            Payload::UserMessage(_) | Payload::ToolResult(_) => None,
            _ => Some(number_of(&mut responses, event.response_id.as_ref())),
        };
        heard.push(format!("{turn} {response:?} {what}"));
    }
    heard
}

fn number_of(known: &mut Vec<Option<String>>, id: Option<&String>) -> usize {
    let id = id.cloned();
    known
        .iter()
        .position(|other| *other == id)
        .unwrap_or_else(|| {
            known.push(id);
            known.len() - 1
        })
}

/// Numbers that look random and are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn text(&mut self) -> String {
        let words = ["a", "two words", "one\ntwo", " Käse ", "\"{}\"", "🦀"];
        let n_words = self.below(2) + 1;
        let words = (0..n_words).map(|_| words[usize::try_from(self.below(6)).unwrap()]);
        words.collect::<Vec<_>>().join(" ")
    }
}

/// A log of some turns: a prompt, and answers with texts, calls and their results.
fn a_log(random: &mut Random) -> Vec<ChatEvent> {
    let mut lines: Vec<Value> = Vec::new();
    let mut n_responses = 0;
    for turn in 0..=random.below(4) {
        let line = |kind: &str, response: Option<u64>, payload: Value| {
            let mut line = json!({"timestamp": 1, "sessionId": "s", "turnId": format!("t{turn}"), "type": kind, "payload": payload});
            if let Some(response) = response {
                line["responseId"] = json!(format!("r{response}"));
            }
            line
        };
        lines.push(line("turn_start", None, json!({"trigger": "user"})));
        lines.push(line("user_message", None, json!({"text": random.text()})));
        for _ in 0..random.below(4) {
            n_responses += 1;
            let response = Some(n_responses);
            let n_calls = random.below(3);
            if n_calls == 0 || random.below(2) == 0 {
                let text = random.text();
                lines.push(line(
                    "assistant_chunk",
                    response,
                    json!({"text": text, "part": 0}),
                ));
                lines.push(line(
                    "assistant_done",
                    response,
                    json!({"text": text, "part": 0}),
                ));
            }
            let id = |call: u64| format!("c{n_responses}_{call}");
            for call in 0..n_calls {
                let args = json!({"n": call, "text": random.text()});
                lines.push(line(
                    "tool_call",
                    response,
                    json!({"toolCallId": id(call), "toolName": "ls", "args": args}),
                ));
            }
            for call in 0..n_calls {
                lines.push(line(
                    "tool_result",
                    response,
                    json!({"toolCallId": id(call), "result": random.text()}),
                ));
            }
        }
        lines.push(line("turn_end", None, json!({"outcome": "completed"})));
    }
    let with_ids = lines.into_iter().enumerate().map(|(at, mut line)| {
        line["id"] = json!(format!("e{at}"));
        ChatEvent::from_json(&line.to_string()).unwrap()
    });
    with_ids.collect()
}

#[test]
fn what_was_said_comes_back_from_messages_as_it_was() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..300 {
        let log = a_log(&mut random);
        let messages = to_openai_messages(&log);
        let back = read_back(&messages);
        assert_eq!(heard(&back), heard(&log));
        assert_eq!(to_openai_messages(&back), messages);
    }
}

/// The messages of recorded sessions say the same after they were read back.
#[test]
fn messages_of_recorded_sessions_come_back_as_they_were() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
    let mut n_read = 0;
    for story in std::fs::read_dir(folder).unwrap() {
        let log = story.unwrap().path().join("events.jsonl");
        let Ok(bytes) = std::fs::read(&log) else {
            continue;
        };
        let (events, _) = events_of(&bytes);
        let messages = to_openai_messages(&events);
        if messages.is_empty() {
            continue;
        }
        let back = to_openai_messages(&read_back(&messages));
        assert_eq!(back, messages, "{}", log.display());
        n_read += 1;
    }
    assert!(n_read > 5, "{n_read}");
}
