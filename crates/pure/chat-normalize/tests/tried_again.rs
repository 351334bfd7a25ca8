//! Requests to model APIs that failed and were sent again.

use crate::support::{assert_sound, read_lines, told};
use chat_event::{ChatEvent, Payload};
use chat_normalize::{Context, Dialect, SessionReader};
use serde_json::{Value, json};

const DIALECTS: [Dialect; 3] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::AnthropicMessages,
];

/// A request, the error that it may be answered with, and a whole answer.
fn a_request(dialect: Dialect, asked: &[&str], nth: usize) -> [Value; 3] {
    let user = |text: &&str| json!({"role": "user", "content": text});
    let messages: Vec<Value> = asked.iter().map(user).collect();
    let error = json!({"type": "error", "error": {"type": "server_error", "message": "busy"}});
    let id = format!("r{nth}");
    match dialect {
        Dialect::OpenAiChat => [
            json!({"model": "m", "messages": messages}),
            json!({"error": {"type": "server_error", "message": "busy"}}),
            json!({"id": id, "object": "chat.completion", "choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}),
        ],
        Dialect::OpenAiResponses => [
            json!({"model": "m", "input": messages}),
            error,
            json!({"id": id, "object": "response", "status": "completed",
                "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}]}),
        ],
        _ => [
            json!({"model": "m", "max_tokens": 9, "messages": messages}),
            error,
            json!({"id": id, "type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}),
        ],
    }
}

/// Of a session that is named, so that no line is held back.
fn context() -> Context {
    Context {
        session_id: Some("s".to_owned()),
        ..Context::default()
    }
}

/// As [`told`], with what is said of the session.
fn told_with_status(events: &[ChatEvent]) -> Vec<String> {
    let one = |event: &ChatEvent| match &event.payload {
        Payload::SessionStatus(status) => {
            let why = status.message.as_deref().unwrap_or("-");
            vec![format!("{} {why}", status.status)]
        }
        _ => told(std::slice::from_ref(event)),
    };
    events.iter().flat_map(one).collect()
}

#[test]
fn a_request_that_is_sent_again_after_an_error_is_the_same_turn() {
    for dialect in DIALECTS {
        let [request, error, answer] = a_request(dialect, &["Go"], 1);
        let lines = [
            request.clone(),
            error.clone(),
            request.clone(),
            error.clone(),
            request.clone(),
            answer,
        ];
        let read = read_lines(dialect, &lines);
        assert_sound("retried", &read.events);
        let expected = [
            "turn user",
            "busy -",
            "user Go",
            "error server_error busy",
            "retrying busy",
            "error server_error busy",
            "retrying busy",
            "busy -",
            "done Hi",
            "end completed",
            "idle -",
        ];
        assert_eq!(told_with_status(&read.events), expected, "{dialect:?}");
        // Who asks for something else does not try again, and who is not answered failed.
        let [other, ..] = a_request(dialect, &["Go", "On"], 2);
        let read = read_lines(dialect, &[request, error.clone(), other, error]);
        assert_sound("failed", &read.events);
        let expected = [
            "turn user",
            "user Go",
            "error server_error busy",
            "end failed",
            "turn user",
            "user On",
            "error server_error busy",
            "end failed",
        ];
        assert_eq!(told(&read.events), expected, "{dialect:?}");
    }
}

#[test]
fn an_agent_that_failed_rests_until_it_tries_again() {
    for dialect in DIALECTS {
        let [request, error, answer] = a_request(dialect, &["Go"], 1);
        let mut reader = SessionReader::with_dialect(context(), dialect);
        let mut events = Vec::new();
        let line = |value: &Value| format!("{value}\n");
        let failed = line(&request) + &line(&error);
        reader.push(failed.as_bytes(), 1_000, &mut events).unwrap();
        reader.quiet(9_000, &mut events);
        reader.quiet(90_000, &mut events);
        let told = told_with_status(&events);
        assert_eq!(
            told[3..],
            ["error server_error busy", "idle -"],
            "{dialect:?}"
        );
        let answered = line(&request) + &line(&answer);
        reader
            .push(answered.as_bytes(), 99_000, &mut events)
            .unwrap();
        reader.finish(99_000, &mut events).unwrap();
        assert_sound("rested", &events);
        let turns = events
            .iter()
            .filter(|event| event.event_type() == "turn_start");
        assert_eq!(turns.count(), 1, "{dialect:?}");
    }
}

#[test]
fn what_failed_ended_when_it_failed() {
    for dialect in DIALECTS {
        let mut reader = SessionReader::with_dialect(context(), dialect);
        let mut events = Vec::new();
        for (nth, asked) in [&["Go"][..], &["Go", "On"]].iter().enumerate() {
            let [request, error, _] = a_request(dialect, asked, nth);
            let lines = format!("{request}\n{error}\n");
            let at_ms = 1_000 + 60_000 * i64::try_from(nth).unwrap();
            reader.push(lines.as_bytes(), at_ms, &mut events).unwrap();
        }
        reader.finish(900_000, &mut events).unwrap();
        let ends = events
            .iter()
            .filter(|event| event.event_type() == "turn_end");
        let ended: Vec<_> = ends.map(|event| event.timestamp).collect();
        assert_eq!(ended, [Some(1_000), Some(61_000)], "{dialect:?}");
    }
}
